package stream

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
)

// TestCorpus: what is in the corpora of accepted and rejected schedules, and served here.
func TestCorpus(t *testing.T) {
	outcomes := map[verify.Outcome]int{}
	for _, pattern := range []string{"accept/*.json", "reject/*/*.json"} {
		files, err := filepath.Glob("../../testdata/schedules/" + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := native.ReadSolution(file, bytes.NewReader(b))
			require.NoError(t, err)
			if _, err := New(context.Background(), s.Problem, s.Schedule.Form, s.Schedule.Routes); err != nil {
				require.ErrorIs(t, err, ErrNotServed)
				continue
			}
			outcomes[agree(t, s.Problem, s.Schedule, 3)]++
		}
	}
	require.Greater(t, outcomes[verify.Proved], 5)
	require.Greater(t, outcomes[verify.Refuted], 50)
}

// TestMalformed: what cannot be followed is refuted with its place.
func TestMalformed(t *testing.T) {
	p := allGather(t, "ring:4", model.Pipelined)
	good := model.Transfer{Chunk: 0, Src: 0, Dst: 1, Route: 0, Start: 5, End: 6}
	for want, change := range map[string]func(*model.Transfer){
		"chunk 4 does not exist":                 func(x *model.Transfer) { x.Chunk = 4 },
		"from rank 0 to rank 4":                  func(x *model.Transfer) { x.Dst = 4 },
		"to itself":                              func(x *model.Transfer) { x.Dst = 0 },
		"route 8 does not exist":                 func(x *model.Transfer) { x.Route = 8 },
		"operation 2 does not exist":             func(x *model.Transfer) { x.Op = 2 },
		"starts at 4 after one that starts at 5": func(x *model.Transfer) { x.Start = 4 },
		"want an end after the start":            func(x *model.Transfer) { x.End = 5 },
	} {
		c, err := New(context.Background(), p, model.Timed, routes(p))
		require.NoError(t, err)
		bad := good
		change(&bad)
		require.True(t, c.Add([]model.Transfer{good, bad}))
		require.False(t, c.Add([]model.Transfer{good}))
		v := c.Verdict()
		require.Equal(t, verify.Refuted, v.Outcome)
		require.Equal(t, verify.Malformed, v.Violations[0].Code)
		require.Contains(t, v.Violations[0].String(), want)
		require.Contains(t, v.Violations[0].String(), "transfer 1")
	}
	_, err := New(context.Background(), p, model.Timed, [][]int{{8}})
	require.ErrorContains(t, err, "link 8 does not exist")
	_, err = New(context.Background(), p, model.Timed, [][]int{{}})
	require.Error(t, err)
	_, err = New(context.Background(), p, model.InRounds, routes(p))
	require.ErrorIs(t, err, ErrNotServed)
	for _, c := range []model.Collective{{Kind: model.AllReduce, Group: []int{0, 1}}, {Kind: model.Custom}} {
		p.Collective = c
		_, err = New(context.Background(), p, model.Timed, routes(p))
		require.ErrorIs(t, err, ErrNotServed)
		_, err = Memory(p, model.Timed, routes(p))
		require.ErrorIs(t, err, ErrNotServed)
	}
}

// TestNothing: a schedule of no transfers is refuted, and soon.
func TestNothing(t *testing.T) {
	c, err := New(context.Background(), allGather(t, "ring:4", model.Pipelined), model.Timed, nil)
	require.NoError(t, err)
	v := c.Verdict()
	require.Equal(t, verify.Refuted, v.Outcome)
	require.Len(t, v.Violations, verify.MaxViolations)
}

func allGather(t testing.TB, name string, cost model.CostModel) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(tp.Ranks) << 20, Cost: cost}
	return p.WithChunks(p.DefaultChunks(1))
}

func routes(p *model.Problem) [][]int {
	var all [][]int
	for l := range p.Topology.Links {
		all = append(all, []int{l})
	}
	return all
}

// around yields the usual allgather on a ring of links u -> u+1, step after step.
func around(p *model.Problem, yield func([]model.Transfer) bool) {
	n := p.Topology.Ranks
	var batch []model.Transfer
	at := model.Time(0)
	for step := range n - 1 {
		batch = batch[:0]
		for l, k := range p.Topology.Links {
			if k.Dst != (k.Src+1)%n {
				continue
			}
			batch = append(batch, model.Transfer{Chunk: int32((k.Src - step + n) % n), Src: int32(k.Src), Dst: int32(k.Dst), Route: int32(l), Start: at, End: at + p.Topology.Duration([]int{l}, 1<<20)})
		}
		at = batch[0].End
		if !yield(batch) {
			return
		}
	}
}

// TestMemory: no more is needed than was said, and it does not depend on the number of
// transfers.
func TestMemory(t *testing.T) {
	p := allGather(t, "uniring:3000", model.Pipelined)
	all := routes(p)
	said, err := Memory(p, model.Timed, all)
	require.NoError(t, err)
	require.Less(t, said, int64(4<<20), "a bit a slot, and little else")
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := New(context.Background(), p, model.Timed, all)
	require.NoError(t, err)
	around(p, c.Add)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), said)
	v := c.Verdict()
	require.Equal(t, verify.Proved, v.Outcome, v.Violations)
	require.Equal(t, p.Topology.Duration([]int{0}, 1<<20)*2999, v.Makespan)
	require.EqualValues(t, 3000*2999, c.count)
}

func BenchmarkAdd(b *testing.B) {
	p := allGather(b, "uniring:2000", model.Blocking)
	all := routes(p)
	for b.Loop() {
		c, err := New(context.Background(), p, model.Timed, all)
		require.NoError(b, err)
		around(p, c.Add)
		require.Equal(b, verify.Proved, c.Verdict().Outcome)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000/1999, "ns/transfer")
}

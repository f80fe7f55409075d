package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/msccl/msccltest"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/replay"
)

// uneven cuts a problem into chunks of up to 4 units.
func uneven(rng *rand.Rand, p *model.Problem) *model.Problem {
	q := *p
	shards := p.Shards()
	share := 1 + rng.IntN(6)
	unit := int64(1 + rng.IntN(1000))
	q.Size = int64(shards*share) * unit
	if p.Collective.Kind == model.AllToAll {
		q.Size /= int64(len(p.Members()))
	}
	q.Chunks = nil
	at := int64(0)
	for range shards {
		for left := share; left > 0; {
			n := 1 + rng.IntN(min(left, 4))
			q.Chunks = append(q.Chunks, model.Chunk{Offset: at, Size: int64(n) * unit})
			at += int64(n) * unit
			left -= n
		}
	}
	return &q
}

// slowMethods search; the schedules of a few are enough.
var slowMethods = []string{"exact", "rolling", "exact-reward", "sat", "sat-barrier", "sat-trees"}

// TestWriteRandom: what methods make on random networks, for every collective, in chunks
// of equal and of different sizes, in the three forms, is written as MSCCL-IR that
// is proved in every mode that it declares, and loads.
func TestWriteRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	written, refused := map[string]int{}, map[string]int{}
	kinds := map[model.Kind]int{}
	most, back := 0, map[bool]int{}
	for seed := range uint64(48) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := &model.Problem{
			Topology:   solvetest.RandomNetwork(rng),
			Collective: model.Collective{Kind: model.Kinds()[seed%8]},
			Size:       100000 + rng.Int64N(100000),
			Cost:       []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}[rng.IntN(4)],
		}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = rng.IntN(p.Topology.Ranks)
		}
		switch rng.IntN(3) {
		case 0:
			p = p.WithChunks(p.DefaultChunks(1 + rng.IntN(3)))
		case 1:
			p = uneven(rng, p)
		}
		require.NoError(t, p.Validate())
		for _, m := range certify.Methods() {
			if m.Serves(p) != nil || slices.Contains(slowMethods, m.Name()) && (seed%10 != 0 || p.Topology.Ranks > 3) {
				continue
			}
			r, err := m.Solve(context.Background(), p, solve.Options{Seed: seed, Tries: 1, Threads: 1, TimeLimit: time.Minute})
			if errors.Is(err, solve.ErrNotServed) {
				continue
			}
			require.NoError(t, err)
			if r.Schedule == nil || replay.Check(context.Background(), r.Problem, r.Schedule).Outcome != verify.Proved {
				continue
			}
			s := r.Schedule
			if rng.IntN(3) == 0 {
				if o := inOrder(s); replay.Check(context.Background(), r.Problem, o).Outcome == verify.Proved {
					s = o
				}
			}
			d := &MSCCL{InPlace: []string{"", "no", "both"}[rng.IntN(3)]}
			if p.Collective.Kind == model.AllToAll {
				d.InPlace = ""
			}
			where := fmt.Sprintf("seed %d: %s: %v, inplace=%q", seed, m.Name(), r.Problem, d.InPlace)
			var b bytes.Buffer
			_, err = d.Write(context.Background(), &b, r.Problem, s)
			if errors.Is(err, assign.ErrNotServed) {
				reason, _, _ := strings.Cut(err.Error(), ":")
				refused[reason]++
				t.Log(where, err)
				continue
			}
			require.NoError(t, err, where)
			most = max(most, provedXML(t, b.Bytes(), r.Problem, where))
			back[thereAndBack(t, b.Bytes(), r.Problem, where)]++
			written[m.Name()]++
			kinds[p.Collective.Kind]++
		}
	}
	t.Log(written, kinds, refused, "threadblocks", most, "read back", back)
	require.Greater(t, back[true], 6*back[false])
	require.Len(t, kinds, 8)
	for _, name := range []string{"tacos", "stragglar", "exact", "ring"} {
		require.Positive(t, written[name], name)
	}
}

// provedXML reads a file and has it verified in every mode that it declares. It returns
// how many threadblocks a rank has.
func provedXML(t *testing.T, b []byte, p *model.Problem, where string) int {
	a, err := msccl.Read("t.xml", bytes.NewReader(b))
	require.NoError(t, err, where)
	loads, most := 0, 0
	for _, r := range msccl.Runtimes() {
		l := a.Load(r)
		if len(l.Refusals) == 0 {
			loads++
			require.Empty(t, l.Notes, where)
		}
	}
	require.Positive(t, loads, where)
	modes := 0
	for _, in := range []bool{true, false} {
		if in && !a.InPlace || !in && !a.OutPlace {
			continue
		}
		modes++
		program, err := a.Program(model.Meaning{InPlace: in, Root: max(0, slices.Index(p.Members(), p.Collective.Root))})
		require.NoError(t, err, where)
		r := order.Check(context.Background(), program)
		require.Equal(t, verify.Proved, r.Verdict.Outcome, "%s: %v\n%s", where, r.Verdict.Violations, b)
		require.NotEqual(t, verify.Unknown, r.Result, where)
		require.Zero(t, r.RemoteOnly, where)
		for n := 1; n <= max(1, r.MaxCount()); n++ {
			require.True(t, r.Completes(2, n), where)
		}
		if !p.Collective.Kind.Rooted() && a.ChunksPerLoop <= 400 { // the dumb interpreter agrees
			rng := rand.New(rand.NewPCG(1, 1))
			for range 3 {
				require.Empty(t, msccltest.Run(a, in, rng), where)
			}
		}
	}
	require.Positive(t, modes, where)
	for i := range a.GPUs {
		most = max(most, len(a.GPUs[i].TBs))
	}
	return most
}

// TestWriteKnown: methods on machines, within all runtimes' limits.
func TestWriteKnown(t *testing.T) {
	for _, c := range []struct {
		topology, method string
		kind             model.Kind
		chunks           int
	}{
		{"dgx1", "tacos", model.AllReduce, 0},
		{"dgx1", "tacos", model.AllGather, 4},
		{"dgx1", "forest", model.AllGather, 24},
		{"ring:4", "exact", model.AllReduce, 0},
		{"ring:4", "sat", model.AllGather, 0},
		{"switch:8", "stragglar", model.AllReduce, 0},
		{"switch:16", "double-binary-tree", model.AllReduce, 0},
		{"switch:16", "recursive-doubling", model.AllReduce, 0},
		{"ring:8", "ring", model.AllReduce, 0},
		{"torus:4x4", "tacos", model.AllToAll, 0},
		{"torus:3x3", "tacos", model.ReduceScatter, 2},
		{"full:40", "direct", model.AllToAll, 0},
	} {
		topology, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: c.kind}, Size: 8 << 20, Cost: model.Pipelined}
		list, err := certify.MethodsListed(c.method)
		require.NoError(t, err)
		r, err := list[0].Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 8, Chunks: c.chunks})
		require.NoError(t, err)
		var b bytes.Buffer
		note, err := (&MSCCL{}).Write(context.Background(), &b, r.Problem, r.Schedule)
		require.NoError(t, err, "%v", c)
		provedXML(t, b.Bytes(), r.Problem, note)
		if c.method != "forest" { // of this many chunks in an order, races are not looked for
			require.True(t, thereAndBack(t, b.Bytes(), r.Problem, note), note)
		}
		t.Log(c.topology, c.method, note)
	}
}

// thereAndBack reads a file as a program, which makes the same file, and as a schedule, if
// it is one: that is right, and makes another file that is right.
func thereAndBack(t *testing.T, b []byte, p *model.Problem, where string) bool {
	a, err := msccl.Read("t.xml", bytes.NewReader(b))
	require.NoError(t, err, where)
	root := max(0, slices.Index(p.Members(), p.Collective.Root))
	if !p.Collective.Kind.Rooted() {
		root = 0
	}
	meaning := model.Meaning{InPlace: a.InPlace, Root: root}
	program, err := a.Program(meaning)
	require.NoError(t, err, where)
	same, err := msccl.FromProgram(program, msccl.Header{Name: a.Name, Proto: a.Proto, Coll: a.Coll, InPlace: a.InPlace, OutPlace: a.OutPlace, MinBytes: a.MinBytes, MaxBytes: a.MaxBytes})
	require.NoError(t, err, where)
	var again bytes.Buffer
	require.NoError(t, same.Write(&again))
	require.Equal(t, string(b), again.String(), where)

	topology, err := topo.Parse(fmt.Sprintf("full:%d", a.Ranks), topo.Options{})
	require.NoError(t, err)
	m, err := a.Import(meaning, topology, 0)
	if errors.Is(err, msccl.ErrNoSchedule) {
		return false
	}
	require.NoError(t, err, where)
	require.Empty(t, m.Objections, where)
	v := replay.Check(context.Background(), m.Problem, m.Schedule)
	require.Equal(t, verify.Proved, v.Outcome, "%s: %v", where, v)
	again.Reset()
	_, err = (&MSCCL{}).Write(context.Background(), &again, m.Problem, m.Schedule)
	require.NoError(t, err, where)
	provedXML(t, again.Bytes(), m.Problem, where)
	return true
}

// TestWaitsAreNeeded: without any one of its waits a program may go wrong, or what it
// does comes right only because of messages through other ranks.
func TestWaitsAreNeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		topology, method string
		kind             model.Kind
		waits            int // at least
	}{
		{"dgx1", "tacos", model.AllReduce, 50},
		{"switch:8", "recursive-doubling", model.AllReduce, 50},
		{"switch:8", "double-binary-tree", model.AllReduce, 10},
		{"torus:3x3", "tacos", model.ReduceScatter, 10},
		{"torus:3x3", "tacos", model.AllToAll, 2},
	} {
		topology, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: c.kind}, Size: 8 << 20, Cost: model.Pipelined}
		list, err := certify.MethodsListed(c.method)
		require.NoError(t, err)
		r, err := list[0].Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 8, Chunks: 8})
		require.NoError(t, err)
		l := msccl.LimitsOf(msccl.Runtimes()...)
		program, err := assign.Assign(r.Problem, r.Schedule, assign.Options{InPlace: c.kind != model.AllToAll, OutOfPlace: c.kind == model.AllToAll, Limits: assign.Limits{
			Threadblocks: l.Threadblocks, Steps: l.Steps, Channels: l.Channels, Peers: l.Peers, Elements: l.Elements, Chunks: l.Chunks, Count: l.Count}})
		require.NoError(t, err)
		require.Equal(t, verify.Proved, order.Check(context.Background(), program).Verdict.Outcome)
		waits, wrong, remote := 0, 0, 0
		for i := range program.Processes {
			for j := range program.Processes[i].Steps {
				s := &program.Processes[i].Steps[j]
				all := s.Waits
				for k := range all {
					s.Waits = slices.Delete(slices.Clone(all), k, k+1)
					waits++
					switch v := order.Check(context.Background(), program); {
					case v.Verdict.Outcome != verify.Proved:
						wrong++
					case v.RemoteOnly > 0:
						remote++
					}
				}
				s.Waits = all
			}
		}
		t.Log(c.topology, c.method, c.kind, "waits", waits, "wrong without", wrong, "right through others without", remote)
		require.GreaterOrEqual(t, waits, c.waits)
		require.Equal(t, waits, wrong+remote)
	}
}

// TestWriteExchange: ranks that exchange chunks of two units have them in scratch until both
// have been read, in place and out of place: no connection needs room for two.
func TestWriteExchange(t *testing.T) {
	topology, err := topo.Parse("full:2", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: model.AllReduce}, Size: 300, Cost: model.LinkRounds,
		Chunks: []model.Chunk{{Offset: 0, Size: 200}, {Offset: 200, Size: 100}}}
	s := &model.Schedule{Form: model.InRounds, Routes: [][]int{{0}, {1}}}
	for c := range int32(2) {
		for r := range int32(2) {
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: c, Src: r, Dst: 1 - r, Route: r, Op: model.Reduction, Start: model.Time(c), End: model.Time(c) + 1})
		}
	}
	require.Equal(t, verify.Proved, replay.Check(context.Background(), p, s).Outcome)
	for _, mode := range []string{"yes", "no", "both"} {
		var b bytes.Buffer
		note, err := (&MSCCL{InPlace: mode}).Write(context.Background(), &b, p, s)
		require.NoError(t, err)
		require.Contains(t, b.String(), `cnt="2"`, note)
		require.Contains(t, b.String(), `type="re" srcbuf="s"`, note)
		require.Equal(t, mode != "yes", strings.Contains(b.String(), `type="cpy" srcbuf="i"`), note)
		provedXML(t, b.Bytes(), p, note)
		require.True(t, thereAndBack(t, b.Bytes(), p, note))
	}
}

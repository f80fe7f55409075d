package assign

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/tacos"
)

// wide are limits that nothing reaches here.
var wide = Limits{Threadblocks: 64, Steps: 64, Channels: 32, Peers: 32, Elements: 4096, Chunks: 32767, Count: 71}

func solved(t *testing.T, m solve.Solver, network string, kind model.Kind, chunks int) solve.Result {
	topology, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
	if chunks > 0 {
		p = p.WithChunks(p.DefaultChunks(chunks))
	}
	r, err := m.Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 4})
	require.NoError(t, err)
	return r
}

func method(t *testing.T, name string) solve.Solver {
	for _, m := range classic.All() {
		if m.Name() == name {
			return m
		}
	}
	require.Fail(t, "no method", name)
	return nil
}

// TestParallel: what goes over two links between two ranks takes two channels, and so two threadblocks, which send at
// the same time; where there is no room for them it takes one.
func TestParallel(t *testing.T) {
	tp := &model.Topology{Name: "pair", Ranks: 2}
	for _, l := range [][2]int{{0, 1}, {0, 1}, {1, 0}, {1, 0}} {
		tp.Links = append(tp.Links, model.Link{Src: l[0], Dst: l[1], Bandwidth: 1e9})
	}
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 4096, Cost: model.Pipelined}
	p = p.WithChunks(p.DefaultChunks(2))
	s := &model.Schedule{Form: model.Timed, Routes: [][]int{{0}, {1}, {2}, {3}}}
	for c := range p.Chunks {
		src := int32(c / 2)
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(c), Src: src, Dst: 1 - src, Route: int32(c), End: tp.Duration([]int{c}, p.Chunks[c].Size)})
	}
	channels := func(limits Limits) int {
		program, err := Assign(p, s, Options{Limits: limits, InPlace: true})
		require.NoError(t, err)
		most := 0
		for _, q := range program.Processes {
			most = max(most, q.Channel)
		}
		return most + 1
	}
	require.Equal(t, 2, channels(wide))
	narrow := wide
	narrow.Channels = 1
	require.Equal(t, 1, channels(narrow))
}

// TestRing: a ring is one threadblock a rank, whose steps receive, add and send on.
func TestRing(t *testing.T) {
	r := solved(t, method(t, "ring"), "ring:4", model.AllReduce, 1)
	p, err := Assign(r.Problem, r.Schedule, Options{Limits: wide, InPlace: true})
	require.NoError(t, err)
	require.NoError(t, p.Validate())
	require.Len(t, p.Processes, 4)
	for i := range p.Processes {
		var names []string
		for _, s := range p.Processes[i].Steps {
			names = append(names, s.Name)
			require.Empty(t, s.Waits)
			require.Equal(t, output, s.Dst.Buffer)
		}
		require.Equal(t, []string{"s", "rrs", "rrs", "rrcs", "rcs", "rcs", "r"}, names)
		require.Zero(t, p.Buffers[i][scratch].Cells)
	}
}

// TestOutOfPlace: the input is only read, and what nobody sends is copied.
func TestOutOfPlace(t *testing.T) {
	for _, kind := range []model.Kind{model.AllGather, model.AllReduce, model.ReduceScatter, model.AllToAll} {
		name := "ring"
		if kind == model.AllToAll {
			name = "direct"
		}
		r := solved(t, method(t, name), "full:4", kind, 1)
		p, err := Assign(r.Problem, r.Schedule, Options{Limits: wide, OutOfPlace: true})
		require.NoError(t, err)
		copies := 0
		for i := range p.Processes {
			for _, s := range p.Processes[i].Steps {
				if s.Verb&model.Writes != 0 {
					require.NotEqual(t, input, s.Dst.Buffer)
				}
				if s.Name == "cpy" {
					copies++
				}
			}
		}
		require.Equal(t, map[model.Kind]int{model.AllGather: 4, model.AllToAll: 4}[kind], copies, kind)
	}
}

// TestConnections: threadblocks have one peer each way, and each end of a connection
// belongs to one; of a connection there are as many sends as receives.
func TestConnections(t *testing.T) {
	r := solved(t, tacos.New(), "torus:3x3", model.AllReduce, 2)
	p, err := Assign(r.Problem, r.Schedule, Options{Limits: wide, InPlace: true})
	require.NoError(t, err)
	balance := map[[3]int]int{}
	ends := map[[4]int]bool{}
	for i := range p.Processes {
		q := &p.Processes[i]
		out, in := [4]int{0, q.Rank, q.SendTo, q.Channel}, [4]int{1, q.RecvFrom, q.Rank, q.Channel}
		require.False(t, q.SendTo >= 0 && ends[out], "%v", out)
		require.False(t, q.RecvFrom >= 0 && ends[in], "%v", in)
		ends[out], ends[in] = true, true
		for _, s := range q.Steps {
			if s.Verb&model.Sends != 0 {
				balance[[3]int{q.Rank, q.SendTo, q.Channel}]++
			}
			if s.Verb&model.Receives != 0 {
				balance[[3]int{q.RecvFrom, q.Rank, q.Channel}]--
			}
			for _, w := range s.Waits {
				require.NotEqual(t, q.ID, w.Process)
			}
		}
	}
	for name, n := range balance {
		require.Zero(t, n, "%v", name)
	}
	again, err := Assign(r.Problem, r.Schedule, Options{Limits: wide, InPlace: true})
	require.NoError(t, err)
	require.Equal(t, p, again)
}

// TestLimits: they are kept, or named.
func TestLimits(t *testing.T) {
	r := solved(t, tacos.New(), "full:6", model.AllReduce, 4)
	for _, c := range []struct {
		change func(*Limits)
		holds  func(p *model.Program) bool
		reason string
	}{
		{func(l *Limits) { l.Steps = 16 }, func(p *model.Program) bool {
			return !slices.ContainsFunc(p.Processes, func(q model.Process) bool { return len(q.Steps) > 16 })
		}, ""},
		{func(l *Limits) { l.Threadblocks = 9 }, func(p *model.Program) bool {
			return !slices.ContainsFunc(p.Processes, func(q model.Process) bool { return q.ID >= 9 })
		}, ""},
		{func(l *Limits) { l.Threadblocks = 1 }, nil, "threadblocks"},
		{func(l *Limits) { l.Elements = 20 }, nil, "elements"},
		{func(l *Limits) { l.Chunks = 5 }, nil, "common unit"},
		{func(l *Limits) { l.Steps, l.Channels = 4, 1 }, nil, "for 4 steps per threadblock"},
	} {
		l := wide
		c.change(&l)
		p, err := Assign(r.Problem, r.Schedule, Options{Limits: l, InPlace: true})
		if c.reason != "" {
			require.ErrorIs(t, err, ErrNotServed)
			require.ErrorContains(t, err, c.reason)
			require.Equal(t, c.reason != "common unit", errors.Is(err, ErrLimit))
			continue
		}
		require.NoError(t, err, "%+v", l)
		require.True(t, c.holds(p), "%+v", l)
	}
	custom := *r.Problem
	custom.Collective = model.Collective{Kind: model.Custom}
	_, err := Assign(&custom, r.Schedule, Options{Limits: wide, InPlace: true})
	require.ErrorContains(t, err, "custom")
	most := *r.Problem
	most.Collective.Op = model.Max
	_, err = Assign(&most, r.Schedule, Options{Limits: wide, InPlace: true})
	require.ErrorContains(t, err, "max")
	a2a := solved(t, method(t, "direct"), "full:3", model.AllToAll, 1)
	_, err = Assign(a2a.Problem, a2a.Schedule, Options{Limits: wide, InPlace: true})
	require.ErrorContains(t, err, "out of place")
}

// TestUnits: what a chunk counts.
func TestUnits(t *testing.T) {
	topology, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	for _, c := range []struct {
		kind  model.Kind
		sizes []int64
		want  int // 0: none
	}{
		{model.Broadcast, []int64{1000}, 1},
		{model.Broadcast, []int64{300, 600, 300}, 4},
		{model.Broadcast, []int64{334, 333, 333}, 3}, // rounded, the other way round
		{model.Broadcast, []int64{30, 63}, 31},       // 30 bytes are no third of 93
		{model.Broadcast, []int64{100, 201}, 3},
		{model.Broadcast, []int64{30, 61}, 3},              // as whole bytes of 91/3
		{model.Broadcast, []int64{10007, 20011, 30013}, 6}, // rounded more than once
		{model.Broadcast, []int64{1000003, 1999000}, 0},
		{model.AllGather, []int64{250, 125, 125, 250, 250}, 8},
		{model.AllReduce, []int64{250, 125, 125, 250, 250}, 8},
	} {
		p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: c.kind}, Cost: model.Pipelined}
		for _, size := range c.sizes {
			p.Chunks = append(p.Chunks, model.Chunk{Offset: p.Size, Size: size})
			p.Size += size
		}
		require.NoError(t, p.Validate())
		got, err := Units(p, 100)
		if c.want == 0 {
			require.ErrorIs(t, err, ErrNotServed)
			continue
		}
		require.NoError(t, err, "%v", c.sizes)
		require.Equal(t, c.want, got, "%v", c.sizes)
	}
	p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: model.AllToAll}, Size: 1 << 20, Cost: model.Pipelined}
	got, err := Units(p.WithChunks(32), 1000)
	require.NoError(t, err)
	require.Equal(t, 32, got)
}

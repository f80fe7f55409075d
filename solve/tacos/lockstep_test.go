package tacos

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func never() bool { return false }

// swept makes the transfers of a problem in lockstep.
func swept(t require.TestingT, n *network.Network, pt *network.Pattern, seed uint64, threads int) []model.Transfer {
	e := newSweep(n, pt, seed)
	require.NotNil(t, e)
	moves := []model.Transfer{}
	require.True(t, e.run(threads, never, func(list []model.Transfer) bool {
		moves = append(moves, list...)
		return true
	}))
	require.True(t, slices.IsSortedFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }))
	return moves
}

// drawEven draws a network of links that are alike, and a problem that floods.
func drawEven(t *rapid.T) *model.Problem {
	name := rapid.SampledFrom([]string{"torus:3x4", "mesh:4x4", "hypercube:4", "uniring:7", "ring:5", "full:6", "torus:3x3x3", "line:5", "mesh:17x31"}).Draw(t, "name")
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: rapid.SampledFrom([]model.Kind{model.AllGather, model.Broadcast}).Draw(t, "kind")},
		Size: rapid.SampledFrom([]int64{5000, 1 << 20}).Draw(t, "size") * int64(tp.Ranks), Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds}).Draw(t, "cost")}
	p.Size += rapid.Int64Range(0, 1).Draw(t, "more")
	return p.WithChunks(p.DefaultChunks(rapid.IntRange(1, 2).Draw(t, "chunks")))
}

// TestLockstep: its schedules are right, and the same with any number of goroutines.
func TestLockstep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawEven(t)
		n := network.New(p, false)
		pt, err := network.Spreading(p)
		require.NoError(t, err)
		seed := rapid.Uint64().Draw(t, "seed")
		moves := swept(t, n, pt, seed, 1)
		if len(moves) < 1<<14 {
			require.NoError(t, solvetest.Right(p, &model.Schedule{Form: model.FormFor(p.Cost), Routes: n.Routes, Transfers: moves}))
		}
		require.Equal(t, moves, swept(t, n, pt, seed, rapid.IntRange(2, 5).Draw(t, "threads")))
	})
}

// TestLockstepBackwards: what floods the mirrored network is a reduction read backwards.
func TestLockstepBackwards(t *testing.T) {
	for _, name := range []string{"torus:4x5", "uniring:6", "mesh:3x3"} {
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds} {
			tp, err := topo.Parse(name, topo.Options{})
			require.NoError(t, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.ReduceScatter}, Size: int64(tp.Ranks)<<16 + 1, Cost: cost}
			p = p.WithChunks(p.DefaultChunks(1))
			n := network.New(p, true)
			moves := swept(t, n, network.Trees(p, 0), 1, 2)
			end := solve.End(moves)
			for i := range moves {
				x := &moves[i]
				x.Start, x.End, x.Op = end-x.End, end-x.Start, model.Reduction
			}
			require.NoError(t, solvetest.Right(p, &model.Schedule{Form: model.FormFor(cost), Routes: n.Routes, Transfers: moves}), name)
		}
	}
}

// TestLockstepNearTheBound: large tori end one slot after the lower bound.
func TestLockstepNearTheBound(t *testing.T) {
	for _, name := range []string{"torus:24x24", "torus:32x32", "torus:8x8x8", "mesh:24x24", "hypercube:9"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(tp.Ranks) << 20, Cost: model.Blocking}
		p = p.WithChunks(tp.Ranks)
		n := network.New(p, false)
		pt, err := network.Spreading(p)
		require.NoError(t, err)
		moves := swept(t, n, pt, 1, 2)
		require.Len(t, moves, tp.Ranks*(tp.Ranks-1))
		require.LessOrEqual(t, solve.End(moves), n.Floor(pt)+n.Lasts(&n.Hops[0], 0), name)
	}
}

// TestLockstepNotServed: hops that share links, or differ, or are too few.
func TestLockstepNotServed(t *testing.T) {
	for _, name := range []string{"switch:4", "mesh:3x3", "fattree:2x2"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(tp.Ranks) << 20, Cost: model.Blocking}
		if name == "mesh:3x3" {
			tp.Links[0].Bandwidth /= 2
		}
		p = p.WithChunks(tp.Ranks)
		pt, err := network.Spreading(p)
		require.NoError(t, err)
		require.Nil(t, newSweep(network.New(p, false), pt, 1), name)
	}
	tp := &model.Topology{Name: "one way", Ranks: 3, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e9}, {Src: 1, Dst: 2, Bandwidth: 1e9}}}
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 300, Cost: model.Blocking}
	p = p.WithChunks(3)
	pt, err := network.Spreading(p)
	require.NoError(t, err)
	count := 0
	take := func(list []model.Transfer) bool { count += len(list); return true }
	require.False(t, newSweep(network.New(p, false), pt, 1).run(1, never, take), "rank 0 gets nothing")
	require.Equal(t, 3, count)
	require.False(t, newSweep(network.New(p, false), pt, 1).run(2, func() bool { return true }, take))
	require.False(t, newSweep(network.New(p, false), pt, 1).run(2, never, func([]model.Transfer) bool { return false }))
}

// TestStream: what is handed out is right and in order of starts, whatever the network.
func TestStream(t *testing.T) {
	handed := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"torus:3x4", "mesh:4x4", "uniring:7", "switch:5", "fattree:2x2", "dgx1", "mesh:3x5;2", "torus:4x4;2"}).Draw(t, "name")
		name, mixed, _ := strings.Cut(name, ";")
		o := topo.Options{}
		if mixed != "" {
			o.Bandwidth = []int64{50e9, 75e9}
		}
		tp, err := topo.Parse(name, o)
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: rapid.SampledFrom([]model.Kind{model.AllGather, model.Broadcast}).Draw(t, "kind")},
			Size: rapid.Int64Range(1000, 1<<22).Draw(t, "size"), Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}).Draw(t, "cost")}
		if rapid.Bool().Draw(t, "late") {
			p.Release = make([]model.Time, tp.Ranks)
			p.Release[1] = 30 * model.Microsecond
		}
		st, err := New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Seed: rapid.Uint64().Draw(t, "seed"), Chunks: rapid.IntRange(1, 3).Draw(t, "chunks")})
		require.NoError(t, err)
		moves := []model.Transfer{}
		stop, err := st.Run(context.Background(), func(list []model.Transfer) bool {
			moves = append(moves, list...)
			return true
		})
		require.NoError(t, err)
		require.Equal(t, solve.Done, stop)
		require.True(t, slices.IsSortedFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }))
		require.EqualValues(t, st.Transfers, len(moves))
		require.NoError(t, solvetest.Right(st.Problem, &model.Schedule{Form: st.Form, Routes: st.Routes, Transfers: moves}))
		handed[st.Note[:5]]++
		half := 0
		stop, err = st.Run(context.Background(), func(list []model.Transfer) bool { half++; return false })
		require.NoError(t, err)
		require.Equal(t, solve.Interrupted, stop)
		require.Equal(t, 1, half)
	})
	require.Greater(t, handed["in sl"], 5)
	require.Greater(t, handed["event"], 5)
	tp, err := topo.Parse("torus:3x3", topo.Options{})
	require.NoError(t, err)
	_, err = New().(solve.Streamer).Stream(context.Background(), &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllToAll}, Size: 900, Cost: model.Blocking}, solve.Options{})
	require.ErrorIs(t, err, solve.ErrNotServed)
}

// TestStreamReducing: so is what reduces, on links that are alike, and it is the same with any
// number of goroutines.
func TestStreamReducing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tp, err := topo.Parse(rapid.SampledFrom([]string{"torus:3x4", "mesh:4x4", "uniring:7", "hypercube:3", "ring:9", "full:4"}).Draw(t, "name"), topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: rapid.SampledFrom([]model.Kind{model.Reduce, model.ReduceScatter, model.AllReduce}).Draw(t, "kind")},
			Size: rapid.Int64Range(50000, 1<<22).Draw(t, "size"), Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds}).Draw(t, "cost")}
		if p.Collective.Kind == model.Reduce {
			p.Collective.Root = 2
		}
		o := solve.Options{Seed: rapid.Uint64().Draw(t, "seed"), Chunks: rapid.IntRange(1, 3).Draw(t, "chunks"), Threads: 1}
		var before []model.Transfer
		for range 2 {
			st, err := New().(solve.Streamer).Stream(context.Background(), p, o)
			require.NoError(t, err)
			moves := []model.Transfer{}
			stop, err := st.Run(context.Background(), func(list []model.Transfer) bool {
				moves = append(moves, list...)
				return true
			})
			require.NoError(t, err)
			require.Equal(t, solve.Done, stop)
			require.True(t, slices.IsSortedFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }))
			require.EqualValues(t, st.Transfers, len(moves))
			require.NoError(t, solvetest.Right(st.Problem, &model.Schedule{Form: st.Form, Routes: st.Routes, Transfers: moves}))
			if before != nil {
				require.Equal(t, before, moves)
			}
			before, o.Threads = moves, 3
			calls := 0
			stop, err = st.Run(context.Background(), func([]model.Transfer) bool { calls++; return false })
			require.NoError(t, err)
			require.Equal(t, solve.Interrupted, stop)
			require.Equal(t, 1, calls)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			stop, err = st.Run(ctx, func([]model.Transfer) bool { calls++; return true })
			require.NoError(t, err)
			require.Equal(t, solve.Interrupted, stop)
			require.Equal(t, 1, calls)
		}
	})
	tp, err := topo.Parse("switch:4", topo.Options{})
	require.NoError(t, err)
	_, err = New().(solve.Streamer).Stream(context.Background(), &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.ReduceScatter}, Size: 900, Cost: model.Blocking}, solve.Options{})
	require.ErrorIs(t, err, solve.ErrNotServed)
}

//go:build !js

package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// failing returns a search for an allreduce on a network of which something has failed.
func failing(t *testing.T, name, fail string, size int64, cost model.CostModel, bound model.Time) *search {
	network, err := instance.Generated(name, "", "")
	require.NoError(t, err)
	network, err = instance.Failed(network, []string{fail})
	require.NoError(t, err)
	s := newSearch(context.Background(), &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: cost}, solve.Options{Bound: bound})
	s.begin()
	return s
}

// Generations are right with any number of parts and generations, wherever roots are, whether trees are levelled or not; each has the same hops, and in a
// period no machine is busy for longer than it lasts.
func TestGenerations(t *testing.T) {
	levelled := 0
	for _, c := range []struct {
		name, fail string
		cost       model.CostModel
	}{
		{"dgxh100:4", "rank:3", model.Pipelined},
		{"dgxh100:4", "link:0-36", model.Pipelined},
		{"dgxh100:2", "rank:3", model.Blocking},
		{"dgx2:2", "rank:3", model.Pipelined},
		{"dgxa100:3", "rank:9", model.LinkRounds},
	} {
		s := failing(t, c.name, c.fail, 1_000_003, c.cost, 1)
		n := s.p.Topology.Ranks
		uneven := &shares{of: make([]float64, n)}
		for v := range n {
			uneven.of[v] = 1 - float64(v%5)/4 // some have none
		}
		k := sketches(s.p.Topology)[0]
		for _, of := range []*shares{nil, uneven} {
			for halved := range 3 {
				g := s.newGenerations(k, cut{parts: 2, ratio: 1, halved: halved, shares: of}, nil)
				require.NotNil(t, g)
				before := g.busy
				g.balance(context.Background(), 1)
				require.LessOrEqual(t, g.busy, before)
				if g.busy < before {
					levelled++
				}
				require.Len(t, g.t.parts, len(g.first)<<halved)
				x := g.plan(context.Background())
				require.NoError(t, solvetest.Right(g.t.p, x.emit(g.t.p)), "%v %v %v", c, of, halved)
				x.justifyAll(context.Background())
				require.NoError(t, solvetest.Right(g.t.p, x.emit(g.t.p)), "%v %v %v", c, of, halved)

				again := s.newGenerations(k, cut{parts: 2, ratio: 1, halved: halved + 1, shares: of}, g)
				require.Equal(t, len(g.hops), len(again.hops))
				z := again.plan(context.Background())
				require.Len(t, z.jobs, len(g.hops)<<(halved+1))
				require.NoError(t, solvetest.Right(again.t.p, z.emit(again.t.p)), "%v %v %v", c, of, halved)
				load := make(loads, len(x.s.lanes))
				y := &plan{s: x.s, parts: g.first, jobs: g.hops}
				for i := range y.jobs {
					load.add(y, &y.jobs[i], 1)
				}
				for _, busy := range load {
					require.LessOrEqual(t, busy, g.period)
				}
				at := func(i int) model.Time { return g.period*model.Time(g.stage[i]) + g.start[i] }
				for i, list := range y.waits() { // what a hop waits for is there when it is sent
					for _, k := range list {
						j := &y.jobs[k]
						require.GreaterOrEqual(t, at(i), at(int(k))+y.s.at(y.s.step(j).way, &y.parts[j.part]).lasts)
					}
				}
			}
		}
	}
	require.Positive(t, levelled)
}

// Where a GPU or a NIC of one of four machines has failed, no symmetry makes hops matchings, and sums load links that copies do not. Generations are
// over within 6 % of the bound all the same.
func TestInGenerations(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, fail := range []string{"rank:3", "link:0-36"} {
		s := failing(t, "dgxh100:4", fail, 1<<30, model.Pipelined, 4_174_000_000) // what is needed inside of machines
		s.o.Enough = s.bound + s.bound/16
		s.inGenerations()
		require.NotNil(t, s.best)
		require.LessOrEqual(t, s.best.best.end, s.o.Enough, fail)
		require.NoError(t, solvetest.Right(s.best.p, s.best.best.emit(s.best.p)))
	}
}

// A search for generations that its context ends goes on where it was.
func TestGenerationsGoOn(t *testing.T) {
	s := failing(t, "dgxh100:4", "rank:3", 1<<20, model.Pipelined, 8_000_000)
	s.o.MostTransfers = 1 << 14
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.ctx = ctx
	s.inGenerations()
	require.Nil(t, s.lines)
	s.ctx = context.Background()
	s.lines = s.promising()
	require.NotEmpty(t, s.lines)
	first := s.lines[0]
	s.ctx = ctx
	s.inGenerations()
	require.Same(t, first, s.lines[0])
	s.ctx = context.Background()
	s.inGenerations()
	require.Empty(t, s.lines)
	require.NotNil(t, s.best)
}

// Where there is no time to verify even one generation there are none.
func TestTooManyGenerations(t *testing.T) {
	s := failing(t, "dgxh100:4", "rank:3", 1<<20, model.Pipelined, 8_000_000)
	s.o.MostTransfers = 100
	s.lines = s.promising()
	require.NotEmpty(t, s.lines)
	s.inGenerations()
	require.Nil(t, s.best)
	require.False(t, s.grew, "others follow sketches instead")
	require.NotContains(t, s.trials, (*trial)(nil))
}

// Shares are rounded to parts of one size, and each chunk has its root where its owner is.
func TestShares(t *testing.T) {
	x := &shares{of: []float64{1, 0.74, 0, 0.5}}
	c := cut{parts: 4, ratio: 1, shares: x}
	by, all := x.counts(c)
	require.Equal(t, []int{4, 3, 0, 2}, by)
	require.Equal(t, 9, all)
	by, all = x.counts(c.half())
	require.Equal(t, []int{8, 6, 0, 4}, by)
	require.Equal(t, 18, all)

	s := failing(t, "full:5", "rank:4", 1000, model.Pipelined, 1)
	p := c.apply(s.p)
	require.Len(t, p.Chunks, 9)
	require.Equal(t, [][]int{{0, 1, 2, 3}, {4, 5, 6}, nil, {7, 8}}, x.owned(c, p))
	require.True(t, c.fits(s.p))
	s.p.Size = 8
	require.False(t, c.fits(s.p))
	found := false
	for _, y := range s.shops {
		if y.s.g.Order() == 1 {
			found = true
			owned := map[int]int{}
			for _, part := range y.s.divide(p, nil, c) {
				owned[part.root]++
			}
			require.Equal(t, map[int]int{0: 4, 1: 3, 3: 2}, owned)
		}
	}
	require.True(t, found)
}

package broadcast

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestEjected: ejections shorten what is sent on at once, from any root, by as much as is known to be possible.
func TestEjected(t *testing.T) {
	for _, c := range []struct {
		name string
		root int
		size int64
		us   float64
	}{{"fattree:4x4", 0, 64 << 10, 5.1}, {"dragonfly:3x2x2", 5, 64 << 10, 5.1}, {"dgx2:2", 3, 16 << 10, 4.3}} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size
		near := newNeighbours(p)
		r := coarsest(p)
		g := started(context.Background(), r.cut(p), near, r)
		newEjection(g).run(context.Background(), ejections/16, 0)
		g = g.halved()
		newEjection(g).run(context.Background(), ejections/16, 0)
		require.Empty(t, g.pool)
		g.check(t)
		require.NoError(t, solvetest.Right(g.p, g.schedule()))
		require.LessOrEqual(t, float64(g.p.Makespan(g.schedule()))/1e6, c.us, c.name)
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 64 << 10
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Nil(t, ejected(over, p, started(over, coarsest(p).cut(p), newNeighbours(p), coarsest(p)), solve.Options{}).Schedule)
}

// TestLongerSlots: where there would be too many slots they are longer.
func TestLongerSlots(t *testing.T) {
	p := problem(t, "dragonfly:3x2x2", model.Broadcast)
	p.Size = 16
	r := coarsest(p)
	r.slots = r.unit
	g := started(context.Background(), r.cut(p), newNeighbours(p), r)
	require.Less(t, g.raster.slots, r.slots)
	require.LessOrEqual(t, len(g.owner), mostSlots/4)
	require.Empty(t, g.pool)
	g.check(t)
	require.NoError(t, solvetest.Right(g.p, g.schedule()))
}

// TestGridRandom: on random networks with switches a grid on which everything is done, and halved and searched, is right.
func TestGridRandom(t *testing.T) {
	found := 0
	for seed := range uint64(300) {
		p := random(rand.New(rand.NewPCG(seed, 29)), model.Pipelined)
		if p == nil {
			continue
		}
		near := newNeighbours(p)
		if near == nil {
			continue
		}
		for i := range p.Topology.Links {
			p.Topology.Links[i].Alpha = model.Time(1+i%4) * 100_000
		}
		p.Size = max(1, fastestOf(p.Topology)*3/1e7) // 300 ns
		r := raster{100_000, model.Time(1 + seed%3), model.Time(1 + seed/3%2)}
		g := started(context.Background(), r.cut(p), near, r)
		if g == nil {
			continue
		}
		found++
		before := g.ends()
		e := newEjection(g)
		e.run(context.Background(), 1<<16, 0)
		g.check(t)
		e.checkPrices(t)
		require.NoError(t, solvetest.Right(g.p, g.schedule()), "seed %d", seed)
		require.LessOrEqual(t, g.ends(), before)
	}
	require.Greater(t, found, 10)
}

// check: jobs are done after those that they are made from, links have an owner exactly where they are busy, and the pool
// has what is not done.
func (g *grid) check(t *testing.T) {
	busy := 0
	for x := range int32(len(g.by)) {
		if g.by[x] < 0 {
			require.True(t, g.place[x] >= 0 || g.at[x] == 0 || !g.wanted(x))
			continue
		}
		l := &g.lanes[g.by[x]]
		require.Less(t, g.place[x], int32(0))
		require.GreaterOrEqual(t, g.start[x], g.at[g.source(x, l)])
		require.Equal(t, g.start[x]+l.lasts, g.at[x])
		for i, link := range l.links {
			for j := range l.width {
				busy++
				require.Equal(t, x, g.owner[g.index(link, g.start[x]+l.off[i]+j)])
				require.NotZero(t, g.taken(link, g.start[x]+l.off[i]+j)&1)
			}
		}
	}
	for i, y := range g.owner {
		if y >= 0 {
			busy--
			require.Equal(t, g.penalty[y], g.fine[i])
		} else {
			require.Zero(t, g.fine[i])
		}
	}
	require.Zero(t, busy)
}

// checkPrices: what a lane costs is the penalties of all jobs that use one of its links then, one by one.
func (e *ejection) checkPrices(t *testing.T) {
	for i := range e.lanes {
		l := &e.lanes[i]
		from, slots := int32(i)%e.period, 2*e.period-1
		if e.period > e.horizon { // nothing is repeated
			from, slots = 0, e.horizon-l.lasts
		}
		for at, cost := range e.price(l, from, slots) {
			want := int32(0)
			for j, link := range l.links {
				met := map[int32]bool{-1: true}
				for k := range l.width {
					if y := e.owner[e.index(link, from+int32(at)+l.off[j]+k)]; !met[y] {
						want, met[y] = want+e.penalty[y], true
					}
				}
			}
			require.Equal(t, want, cost)
		}
	}
}

// wanted reports whether a job is for a member.
func (g *grid) wanted(x int32) bool { return len(g.into[int(x)%g.ranks]) > 0 }

// TestEjectedMore: a search that a time limit ends goes on, and its schedules are no longer and right.
func TestEjectedMore(t *testing.T) {
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 64 << 10
	near, r := newNeighbours(p), coarsest(p)
	x := &ejecting{g: started(context.Background(), r.cut(p), near, r), best: solve.Result{Problem: p, Stop: solve.Done}}
	over, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	first := x.run(over, solve.Options{})
	require.Equal(t, solve.TimeLimit, first.Stop)
	require.NotNil(t, first.More)
	enough := first.Makespan() - first.Makespan()/20
	second, err := first.More(context.Background(), solve.Options{Enough: enough})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(second.Problem, second.Schedule))
	require.LessOrEqual(t, second.Makespan(), enough)
	require.Nil(t, second.More)
}

//go:build cgo

package quotient

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/meeting"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestMeeting: allreduces that take the patterns of a program are right, near the bound before ejections, and nearer after some.
func TestMeeting(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name        string
		size        int64
		near, after float64 // times the bound
	}{
		{"mesh:3x3", 512 << 10, 1.07, 1.05},
		{"mesh:3x4", 100_003, 1.07, 1.07},
		{"line:4", 1 << 18, 1.03, 1.03},
		{"dgx1", 1 << 20, 1.05, 1.03},
	} {
		s := searching(t, context.Background(), c.name, model.AllReduce, c.size, 0)
		s.begin()
		require.True(t, s.meets(), c.name)
		x := s.newMeeting(amples[0])
		require.NotNil(t, x, c.name)
		end := func() float64 {
			require.Zero(t, x.g.Missing(), c.name)
			y := x.g.plan()
			require.True(t, y.holds(), c.name)
			require.NoError(t, solvetest.Right(x.t.p, y.emit(x.t.p)), c.name)
			return float64(y.end) / float64(s.bound)
		}
		before := end()
		require.Less(t, before, c.near, c.name)
		x.e.Run(s.ctx, 1<<23, 0)
		after := end()
		t.Log(c.name, before, after)
		require.LessOrEqual(t, after, before, c.name)
		require.Less(t, after, c.after, c.name)
	}
}

// TestMeets: there are no patterns over switches, where latencies do not count, chunks are given, or little effort is asked for.
func TestMeets(t *testing.T) {
	meets := func(name string, size int64, kind model.Kind, chunks int, effort int) bool {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
		if chunks > 0 {
			p = solve.Cut(p, chunks)
		}
		s := newSearch(context.Background(), p, solve.Options{Effort: effort})
		s.begin()
		return s.meets()
	}
	require.False(t, meets("switch:4", 1<<18, model.AllReduce, 0, 0))
	require.True(t, meets("mesh:3x3", 1<<18, model.AllReduce, 0, 0))
	require.False(t, meets("mesh:3x3", 1<<33, model.AllReduce, 0, 0))
	require.False(t, meets("mesh:3x3", 1<<18, model.AllGather, 0, 0))
	require.False(t, meets("mesh:3x3", 1<<18, model.AllReduce, 9, 0))
	require.False(t, meets("mesh:3x3", 1<<18, model.AllReduce, 0, -1))
}

// TestNoMeeting: there is no program where the first plans are near the bound, or not far from it where that has many latencies, nor a grid once the
// search is stopped.
func TestNoMeeting(t *testing.T) {
	begun := func(ctx context.Context, name string, size int64, bound model.Time) *search {
		s := searching(t, ctx, name, model.AllReduce, size, bound)
		s.begin()
		require.True(t, s.meets(), name)
		return s
	}
	for _, c := range []struct {
		name  string
		size  int64
		bound model.Time
	}{{"dgx1", 1 << 20, 12_933_387}, {"mi250", 4 << 20, 25_866_794}} {
		s := begun(context.Background(), c.name, c.size, c.bound)
		s.meet()
		require.Nil(t, s.patterns, c.name)
		require.NotNil(t, s.best, c.name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := begun(ctx, "line:4", 1<<18, 0)
	require.NotNil(t, s.newMeeting(amples[0]))
	x := s.meetingCut(s.widest())
	cancel()
	require.Nil(t, s.place(x))
}

// TestPatternsGoOn: a program that carries no more is followed by one that ends later, in time still. When the time is over, what was found remains.
func TestPatternsGoOn(t *testing.T) {
	s := searching(t, context.Background(), "mesh:3x3", model.AllReduce, 1<<18, 0)
	s.begin()
	x := s.meetingCut(s.widest())
	require.NotNil(t, x)
	of := s.newPatterns(context.Background(), x, amples[0])
	require.NotNil(t, of)
	require.Greater(t, of.whole, nearlyWhole)
	more := math.Inf(1)
	first := of.program.Bins
	for of.program.Bins < first+2 {
		bins, whole := of.program.Bins, of.whole
		require.True(t, of.solve(context.Background(), more))
		require.LessOrEqual(t, of.program.Bins, of.most)
		require.True(t, of.program.Bins > bins || of.whole > whole)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	before := of.whole
	require.True(t, of.solve(ctx, more))
	require.InDelta(t, before, of.whole, 1e-9)
	require.NotEmpty(t, of.list)

	of.most = of.program.Bins // the last one
	for whole := 0.0; of.whole > whole; {
		whole = of.whole
		require.True(t, of.solve(context.Background(), more))
		require.Equal(t, of.most, of.program.Bins)
	}
}

// TestBinsUntil: bins divide the unit and end a little after the bound.
func TestBinsUntil(t *testing.T) {
	for _, c := range []struct {
		bound float64
		unit  model.Time
		hops  int
	}{{1000, 100, 6}, {5000, 100, 28}, {777, 300, 6}, {900, 1000, 2}} {
		bin, bins := binsUntil(c.bound, c.unit, c.hops)
		require.Positive(t, bins)
		require.Greater(t, float64(bins)*bin, c.bound)
		require.Less(t, float64(bins)*bin, latestEnd*c.bound)
		parts := float64(c.unit) / bin
		require.InDelta(t, math.Round(parts), parts, 1e-9)
	}
	_, bins := binsUntil(10, 1000, 6)
	require.Zero(t, bins, "no bin of an eighth of the unit ends soon after")
}

// TestDeal: each pattern gets as many pairs of parts as its share is worth, in the order in which they meet, and those that meet in one bin do so one
// after the other.
func TestDeal(t *testing.T) {
	s, x := begun(t, "mesh:3x3", model.AllReduce, 1<<18, 0, 4, central)
	require.NotNil(t, s)
	y := ejecting{t: x, pairs: make([][2]int32, 10)}
	of := &patterns{program: &meeting.Program{Instance: meeting.Instance{Bin: 20}}, list: []meeting.Pattern{{Share: 0.25, Meets: 7}, {Share: 0.5, Meets: 3}, {Share: 0.5, Meets: 7, Root: 1}}, whole: 1.25}
	list, late := y.deal(of)
	count := map[int32]int{}
	seen := map[float64]bool{}
	for i, p := range list {
		if p.Meets == 3 {
			require.Less(t, i, 4)
			continue
		}
		count[p.Root]++
		require.False(t, seen[late[i]])
		seen[late[i]] = true
		require.Less(t, late[i], 20.0)
	}
	require.Equal(t, map[int32]int{0: 2, 1: 4}, count)
	require.Len(t, late, 10)
}

// TestBook: a hop is done over the arc from its parent that is free first, no sooner than a little before its slot.
func TestBook(t *testing.T) {
	ways := []ejection.Way{{Stays: []ejection.Stay{{Machine: 0, Width: 2}}, Lasts: 5}, {Stays: []ejection.Stay{{Machine: 1, Width: 2}}, Lasts: 5}}
	shop := ejection.Shop{Ranks: 2, Machines: 2, Roots: []int32{0, 0, 0}, Kinds: []int32{0, 0, 0}, Horizon: 40,
		Arcs: [][][]ejection.Arc{{nil, {{Parent: 0, Way: 0}, {Parent: 0, Way: 1}}}}, Ways: [][][]ejection.Way{{ways}}}
	g := &grid{Grid: ejection.New(shop)}
	for part := range int32(3) {
		g.Want(g.Job(int(part), 0, 1))
		g.book(booking{slot: 10, part: part, Hop: meeting.Hop{Rank: 1, By: 1}}, 3)
	}
	require.Zero(t, g.Missing())
	var starts []int32
	for _, h := range g.Hops() {
		starts = append(starts, h.Start)
	}
	require.Equal(t, []int32{7, 7, 9}, starts)
}

package ejection

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

// shops draws shops in which every rank can reach every other one, with one direction or two, that repeat or do not, no sooner than two
// hops take that are in the way of each other: they would count twice.
func shops(t *rapid.T) Shop {
	s := Shop{Ranks: rapid.IntRange(2, 5).Draw(t, "ranks"), Machines: rapid.IntRange(1, 6).Draw(t, "machines"), Horizon: 400}
	dirs := rapid.IntRange(1, 2).Draw(t, "directions")
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		s.Roots = append(s.Roots, int32(rapid.IntRange(0, s.Ranks-1).Draw(t, "root")))
		s.Kinds = append(s.Kinds, int32(rapid.IntRange(0, 1).Draw(t, "kind")))
	}
	if dirs == 1 && rapid.Bool().Draw(t, "repeats") {
		s.Period = int32(rapid.IntRange(12, 70).Draw(t, "period"))
	}
	small := func(label string, least int) int32 { return int32(rapid.IntRange(least, 6).Draw(t, label)) }
	for range dirs {
		arcs, kinds, ways := make([][]Arc, s.Ranks), make([][]Way, 2), int32(0)
		arc := func(from, to int) {
			arcs[to] = append(arcs[to], Arc{Parent: int32(from), Way: ways})
			ways++
			stays := rapid.IntRange(1, min(3, s.Machines)).Draw(t, "stays")
			for kind := range kinds {
				w := Way{Lasts: small("lasts", 1)}
				for i := range stays {
					v := Stay{Machine: int32((int(ways) + i) % s.Machines), Off: small("off", 0), Width: small("width", 1)}
					w.Stays, w.Lasts = append(w.Stays, v), max(w.Lasts, v.Off+v.Width)
				}
				kinds[kind] = append(kinds[kind], w)
			}
		}
		for v := range s.Ranks {
			arc(v, (v+1)%s.Ranks)
		}
		for range rapid.IntRange(0, 6).Draw(t, "arcs") {
			from := rapid.IntRange(0, s.Ranks-1).Draw(t, "from")
			arc(from, (from+rapid.IntRange(1, s.Ranks-1).Draw(t, "to"))%s.Ranks)
		}
		s.Arcs, s.Ways = append(s.Arcs, arcs), append(s.Ways, kinds)
	}
	if dirs == 2 && rapid.Bool().Draw(t, "twins") {
		for _, root := range s.Roots { // the next rank, which an arc leads to
			s.Twins = append(s.Twins, (root+1)%int32(s.Ranks))
		}
	}
	if dirs == 2 && rapid.Bool().Draw(t, "images") {
		mirror(t, &s)
	}
	return s
}

// mirror has the hops of direction 1 be images of those of direction 0.
func mirror(t *rapid.T, s *Shop) {
	for m := range int32(s.Machines) {
		back := m ^ 1
		if back >= int32(s.Machines) || rapid.Bool().Draw(t, "its own") && m&1 == 0 {
			back = m
		}
		if m&1 == 1 && s.Back[m-1] == m-1 {
			back = m
		}
		lag := int32(rapid.IntRange(0, 4).Draw(t, "lag"))
		if back < m {
			lag = s.Lag[back]
		}
		s.Back, s.Lag = append(s.Back, back), append(s.Lag, lag)
	}
	s.Arcs[1], s.Ways[1] = s.Arcs[0], make([][]Way, len(s.Ways[0]))
	for kind, ways := range s.Ways[0] {
		for i := range ways {
			w := Way{Lasts: ways[i].Lasts}
			for _, v := range ways[i].Stays {
				v.Machine, v.Off = s.Back[v.Machine], v.Off+s.Lag[v.Machine]
				w.Stays, w.Lasts = append(w.Stays, v), max(w.Lasts, v.Off+v.Width)
			}
			ways[i].Lasts = w.Lasts
			s.Ways[1][kind] = append(s.Ways[1][kind], w)
		}
	}
}

// consistent fails unless what a grid keeps is what its jobs make it.
func consistent(t require.TestingT, g *Grid, blocked func(machine, slot int32) bool) {
	owner, fine, begins := slices.Repeat([]int32{-1}, len(g.owner)), make([][]int32, g.dirs), make([][]int32, g.dirs)
	for d := range g.dirs {
		fine[d], begins[d] = make([]int32, len(g.owner)), make([]int32, len(g.owner))
	}
	set := func(list []int32, machine, slot, value int32) {
		for at := slot % g.Period; at < g.row; at += g.Period {
			list[machine*g.row+at] = value
		}
	}
	children := map[int32]int{}
	for x, by := range g.by {
		x := int32(x)
		if by < 0 && g.penalty[x] == unmoved {
			require.Equal(t, int32(3), g.at[x], "what is there before stays so")
			require.False(t, g.Wanted(x))
			continue
		}
		if by < 0 {
			require.Equal(t, !g.isRoot(x) && g.at[x] != Nowhere, g.first[x] >= 0 && !g.isRoot(x), "what is missing is to be there if something waits for it")
			continue
		}
		require.False(t, g.Wanted(x))
		a, d := &g.arcs(x)[by], g.Dir(x)
		w, from := g.way(x, a), g.over(x, a)
		children[from]++
		require.GreaterOrEqual(t, g.start[x], g.Ready(x, by), "it waits for its parent")
		require.Equal(t, g.start[x]+w.Lasts, g.at[x])
		keeps := func(d, machine, from, width int32) {
			for i := range width {
				at := from + i
				forward := at
				if d == 1 {
					forward = g.Horizon - 1 - at
				}
				require.Less(t, owner[machine*g.row+forward%g.Period], int32(0), "two jobs at a time")
				require.False(t, blocked(machine, forward))
				set(owner, machine, forward, x)
				set(fine[d], machine, at, g.penalty[x])
				if i == 0 {
					set(begins[d], machine, at, g.penalty[x])
				}
				if g.both {
					set(fine[1-d], machine, g.Horizon-1-at, g.penalty[x])
					if i == width-1 {
						set(begins[1-d], machine, g.Horizon-1-at, g.penalty[x])
					}
				}
			}
		}
		for _, v := range w.Stays {
			keeps(d, v.Machine, g.start[x]+v.Off, v.Width)
			if g.Back != nil {
				lag := g.Lag[v.Machine] * (1 - 2*d)
				keeps(1-d, g.Back[v.Machine], g.start[x]+v.Off+lag, v.Width)
			}
		}
	}
	for machine := range int32(g.Machines) {
		for slot := range g.Horizon {
			x := g.owned(0, machine, slot)
			i := machine*g.row + slot%g.Period
			right := x >= 0 == (g.taken(0, machine, slot)&1 != 0) && (x == g.wall) == blocked(machine, slot)
			for d := range g.dirs {
				right = right && (x == g.wall || fine[d][i] == g.fine[d][i] && begins[d][i] == g.begins[d][i] && owner[i] == x)
			}
			if !right {
				require.Fail(t, "what a machine does is wrong", "machine %d, slot %d", machine, slot)
			}
		}
	}
	for x := range g.by {
		for y := g.first[x]; y >= 0; y = g.next[y] {
			children[int32(x)]--
		}
		require.Zero(t, children[int32(x)], "a job is not in the list of what waits")
	}
}

// prices fails unless what a hop costs is the penalties of all jobs that are in its way, one by one.
func prices(t require.TestingT, e *Search) {
	for d, kinds := range e.Ways {
		for _, ways := range kinds {
			for i := range ways {
				w, from := &ways[i], int32(0)
				slots := e.Horizon - w.Lasts
				if e.periodic() {
					from, slots = int32(i)%e.Period, 2*e.Period
				}
				for at, cost := range e.price(int32(d), w, from, slots) {
					want := int32(0)
					for _, v := range w.Stays {
						met := map[int32]bool{-1: true}
						for k := range v.Width {
							if y := e.owned(int32(d), v.Machine, from+int32(at)+v.Off+k); !met[y] {
								want, met[y] = want+e.penalty[y], true
							}
						}
					}
					barred := slices.ContainsFunc(w.bars, func(b [2]int32) bool { return b[0] <= from+int32(at) && from+int32(at) <= b[1] })
					switch {
					case barred:
						require.GreaterOrEqual(t, cost, int32(unmoved))
					case e.Back != nil: // a job and its image may both be in the way
						require.GreaterOrEqual(t, cost, want)
						require.Equal(t, want == 0, cost == 0)
					case want != cost:
						require.Equal(t, want, cost)
					}
				}
			}
		}
	}
}

// placed does the jobs of a direction that start no earlier than a slot, each as soon as its parent has the part.
func placed(g *Grid, dir, least int32) {
	for i := 0; i < g.Missing(); i++ {
		x := g.pool[i]
		if g.Dir(x) != dir {
			continue
		}
		for by, a := range g.arcs(x) {
			from := max(least, g.Has(g.over(x, &a)))
			if at := g.Opens(x, int32(by), from, g.Horizon-20); from < g.Horizon && at >= 0 {
				g.Do(x, int32(by), at)
				i = -1
				break
			}
		}
	}
}

// TestSearch: on random shops all is done, what a grid keeps is at any time what its jobs make it, also where some is kept busy or
// there before, and more work is never worse.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := New(shops(t))
		for part, root := range g.Roots {
			for d := range g.dirs {
				for v := range g.ranks {
					if v != root {
						g.Want(g.Job(part, d, v))
					}
				}
			}
		}
		if g.both { // sums end before copies begin
			placed(g, 1, g.Horizon/2)
			placed(g, 0, 0)
		}
		blocked := func(int32, int32) bool { return false }
		if !g.both && !g.periodic() && rapid.Bool().Draw(t, "goes on") {
			until := int32(rapid.IntRange(1, 20).Draw(t, "until"))
			g.Block(0, 0, until)
			blocked = func(machine, slot int32) bool { return machine == 0 && slot < until }
			if x := g.pool[0]; g.Missing() > 1 {
				g.Hold(x, 3)
				defer func() { require.Negative(t, g.by[x]) }()
			}
		}
		e, best := NewSearch(g, rand.New(rand.NewPCG(1, 1))), int32(Nowhere)
		for range 3 {
			whole := e.Run(context.Background(), 1<<14, 0)
			consistent(t, g, blocked)
			prices(t, e)
			if whole {
				require.LessOrEqual(t, g.Lasts(), best)
				best = g.Lasts()
			}
		}
		if !g.periodic() {
			require.Zero(t, g.Missing())
		}
	})
}

// TestHold: what is there before is sent on, never undone, and nothing goes through what is kept busy.
func TestHold(t *testing.T) {
	way := []Way{{Stays: []Stay{{0, 0, 2}}, Lasts: 3}, {Stays: []Stay{{1, 0, 2}}, Lasts: 3}}
	g := New(Shop{Ranks: 3, Machines: 2, Roots: []int32{0}, Kinds: []int32{0}, Horizon: 50,
		Arcs: [][][]Arc{{nil, {{Parent: 0, Way: 0}}, {{Parent: 0, Way: 0}, {Parent: 1, Way: 1}}}}, Ways: [][][]Way{{way}}})
	g.Want(1)
	g.Want(2)
	g.Hold(1, 4)
	g.Block(0, 0, 30)
	require.True(t, NewSearch(g, rand.New(rand.NewPCG(1, 1))).Run(context.Background(), 1<<12, 0))
	require.Equal(t, []Hop{{Part: 0, Rank: 2, By: 1, Start: 4, End: 7}}, g.Hops())
}

// TestHoldNowhere: nothing goes over a rank that is not to have it, however much sooner it would come.
func TestHoldNowhere(t *testing.T) {
	way := []Way{{Stays: []Stay{{0, 0, 1}}, Lasts: 3}, {Stays: []Stay{{1, 0, 1}}, Lasts: 9}}
	g := New(Shop{Ranks: 3, Machines: 2, Roots: []int32{0}, Kinds: []int32{0}, Horizon: 50,
		Arcs: [][][]Arc{{nil, {{Parent: 0, Way: 0}}, {{Parent: 1, Way: 0}, {Parent: 0, Way: 1}}}}, Ways: [][][]Way{{way}}})
	g.Want(1)
	g.Want(2)
	g.Hold(1, Nowhere)
	g.Do(2, 1, 20)
	require.True(t, NewSearch(g, rand.New(rand.NewPCG(1, 1))).Shorten(t.Context(), 1<<10, 10, 0))
	require.Equal(t, []Hop{{Part: 0, Rank: 2, By: 1, Start: 0, End: 9}}, g.Hops())
}

// TestShorten: what is on a grid lasts less until it lasts enough, or until that is of no use any more, or until ctx is done.
func TestShorten(t *testing.T) {
	late := func() *Search {
		way := []Way{{Stays: []Stay{{0, 0, 2}}, Lasts: 3}}
		g := New(Shop{Ranks: 3, Machines: 1, Roots: []int32{0}, Kinds: []int32{0}, Horizon: 50,
			Arcs: [][][]Arc{{nil, {{Parent: 0}}, {{Parent: 1}, {Parent: 0}}}}, Ways: [][][]Way{{way}}})
		g.Want(1)
		g.Want(2)
		g.Do(1, 0, 30)
		g.Do(2, 0, 40)
		return NewSearch(g, rand.New(rand.NewPCG(1, 1)))
	}
	e := late()
	require.True(t, e.Shorten(t.Context(), 1<<6, 1<<10, 45))
	require.Equal(t, int32(43), e.Lasts())
	require.True(t, e.Shorten(t.Context(), 1<<6, 1<<10, 20))
	require.LessOrEqual(t, e.Lasts(), int32(20))
	require.True(t, e.Shorten(t.Context(), 1<<6, 20, 0))
	require.Equal(t, int32(5), e.Lasts()) // two hops, both over the one machine
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e = late()
	require.False(t, e.Shorten(over, 1<<6, 20, 0))
	require.Equal(t, int32(43), e.Lasts())
}

// TestWay: a hop takes each link for as long as its slowest one, when its first byte is there.
func TestWay(t *testing.T) {
	n := &model.Topology{Links: []model.Link{{Alpha: 500, Bandwidth: 2e12}, {Alpha: 250, Bandwidth: 1e12}, {Alpha: 250, Bandwidth: 4e12}}}
	r := Raster{Unit: 250, Slots: 5}
	require.Equal(t, Way{Stays: []Stay{{0, 0, 3}, {1, 10, 3}, {2, 15, 3}}, Lasts: 23}, r.Way(n, []int{0, 1, 2}, 101))
	require.Equal(t, Way{Stays: []Stay{{2, 0, 1}}, Lasts: 6}, r.Way(n, []int{2}, 1))
}

// TestStopped: a search whose context is done leaves the best that was found.
func TestStopped(t *testing.T) {
	way := []Way{{Stays: []Stay{{0, 0, 2}}, Lasts: 3}}
	g := New(Shop{Ranks: 2, Machines: 1, Roots: []int32{0}, Kinds: []int32{0}, Horizon: 50, Arcs: [][][]Arc{{nil, {{Parent: 0}}}}, Ways: [][][]Way{{way}}})
	g.Want(1)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	e := NewSearch(g, rand.New(rand.NewPCG(1, 1)))
	require.False(t, e.Run(over, 1<<12, 0))
	require.True(t, e.Run(context.Background(), 1<<12, 0))
	require.Equal(t, int32(3), g.Lasts())
}

// TestRaster: slots begin no earlier than their part of the unit, and the longest unit divides all latencies.
func TestRaster(t *testing.T) {
	r := Raster{Unit: 500_000, Slots: 16}
	require.Equal(t, []int32{3, 16, 19}, []int32{r.Up(93_133), r.Up(500_000), r.Up(593_133)})
	for slot := range int32(100) {
		require.Equal(t, slot, r.Slot(r.Time(slot)))
		require.Equal(t, slot, r.Up(model.Time(slot)*r.Unit/r.Slots))
	}
	require.True(t, r.Counts(model.Second))
	require.False(t, r.Counts(1e6*model.Second))
	for _, c := range []struct{ a, b, unit model.Time }{{6, 4, 2}, {0, 5, 5}, {0, 0, 0}, {1 << 40, 1 << 41, 0}} {
		require.Equal(t, c.unit, UnitOf(&model.Topology{Links: []model.Link{{Alpha: c.a}, {Alpha: c.b}}}))
	}
}

// TestCharge: what is charged for ranges of slots, some of them beyond those that were looked at, adds up slot by slot.
func TestCharge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.Int32Range(1, 20).Draw(t, "slots")
		e := &Search{Grid: &Grid{penalty: []int32{3, 5}}, steps: make([]int32, slots+1)}
		want := make([]int32, slots)
		for range rapid.IntRange(0, 6).Draw(t, "charges") {
			from, before := rapid.Int32Range(-5, 25).Draw(t, "from"), rapid.Int32Range(-5, 25).Draw(t, "before")
			x := rapid.Int32Range(0, 1).Draw(t, "job")
			e.charge(from, before, x)
			for i := max(0, from); i < min(before, slots); i++ {
				want[i] += e.penalty[x]
			}
		}
		sum := int32(0)
		for i := range want {
			sum += e.steps[i]
			require.Equal(t, want[i], sum)
		}
		require.Zero(t, sum+e.steps[slots])
	})
}

package dual

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

// drawn is a problem with a chunk or two per rank on a small random network: each rank and switch
// on a cycle, with more links, some ports, and now and then a late rank.
func drawn(r *rand.Rand) *model.Problem {
	for {
		n := 2 + r.IntN(3)
		x := &model.Topology{Name: "random", Ranks: n, Switches: make([]model.Switch, r.IntN(2))}
		link := func(u, v int) {
			if u != v {
				x.Links = append(x.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(3) * 500), Bandwidth: 1e9 * (1 + r.Int64N(2))})
			}
		}
		order := r.Perm(x.Nodes())
		for i, u := range order {
			link(u, order[(i+1)%len(order)])
		}
		for range r.IntN(3 * n) {
			link(r.IntN(x.Nodes()), r.IntN(x.Nodes()))
		}
		for range r.IntN(2) {
			if links := x.Out()[r.IntN(x.Nodes())]; len(links) > 0 {
				x.Ports = append(x.Ports, model.Port{Links: links, Capacity: 1 + r.IntN(2)})
			}
		}
		p := &model.Problem{Topology: x, Size: int64(n*n) + r.Int64N(500), Cost: model.CostModel(1 + r.IntN(4))}
		kinds := model.Kinds()
		if p.Collective.Kind = kinds[r.IntN(len(kinds))]; p.Collective.Kind == model.Custom {
			continue
		}
		if r.IntN(4) == 0 {
			p.Release = make([]model.Time, n)
			p.Release[r.IntN(n)] = model.Time(r.IntN(2000))
		}
		if p = p.WithChunks(p.DefaultChunks(1)); p.Validate() == nil {
			return p
		}
	}
}

// TestFind: what is found is a dual solution, in which no group of demands shares out more than
// there is; and the end before which it claims no schedule to end is not after that of a schedule.
func TestFind(t *testing.T) {
	if highs.Available() != nil {
		t.Skip("no HiGHS in this build: nothing is looked for")
	}
	r := rand.New(rand.NewPCG(9, 9))
	found, set := 0, 0
	for i := range 40 {
		p := drawn(r)
		all, err := Find(t.Context(), p, Options{Columns: 700, TimeLimit: time.Minute})
		if err != nil {
			require.ErrorIs(t, err, solve.ErrNotServed, "case %d: %v", i, p)
			continue
		}
		last := model.Time(0)
		for _, f := range all {
			found++
			feasible(t, p, &f.Witness)
			require.Greater(t, f.Excess, 1.0)
			last = max(last, f.End)
		}
		if last == 0 || tacos.New().Serves(p) != nil {
			continue
		}
		s, err := tacos.New().Solve(t.Context(), p, solve.Options{Seed: 1, Tries: 1})
		require.NoError(t, err)
		if !slices.Equal(s.Problem.Chunks, p.Chunks) {
			continue
		}
		require.NoError(t, solvetest.Right(s.Problem, s.Schedule), "case %d", i)
		require.LessOrEqual(t, last, s.Makespan(), "case %d: %v on %+v", i, p, p.Topology)
		set++
	}
	t.Logf("%d found, %d problems with a schedule beside them", found, set)
	require.Greater(t, found, 20)
	require.Greater(t, set, 8)
}

// feasible requires that prices are in order, and that of each link, with the ports and ranks that
// it passes, no group shares out more than its price at any instant.
func feasible(t *testing.T, p *model.Problem, w *model.LPDual) {
	require.True(t, slices.IsSorted(w.Instants) && len(slices.Compact(slices.Clone(w.Instants))) == len(w.Instants), "instants %v", w.Instants)
	low := make([]int, len(p.Topology.Links)) // the lowest of the links that are alike
	ports := p.Topology.PortsOf()
	for l := range low {
		low[l] = slices.IndexFunc(p.Topology.Links, func(k model.Link) bool { return k == p.Topology.Links[l] })
		for m := range l {
			if p.Topology.Links[m] == p.Topology.Links[l] && slices.Equal(ports[m], ports[l]) {
				low[l] = m
				break
			}
		}
		if !slices.Equal(ports[low[l]], ports[l]) {
			low[l] = l
		}
	}
	type at struct{ link, instant int }
	price := map[at]int64{}
	list := func(what string, prices []model.InstantPrice, links func(of int) []int) {
		for i, x := range prices {
			require.Positive(t, x.Price, what)
			require.True(t, 0 <= x.Instant && x.Instant < len(w.Instants), what)
			if i > 0 {
				before := prices[i-1]
				require.True(t, before.Of < x.Of || before.Of == x.Of && before.Instant < x.Instant, "%s: %v", what, prices)
			}
			for _, l := range links(x.Of) {
				price[at{l, x.Instant}] += x.Price
			}
		}
	}
	alike := func(keep func(l int) bool) (links []int) {
		for l := range low {
			if low[l] == l && keep(l) {
				links = append(links, l)
			}
		}
		return links
	}
	list("links", w.Links, func(of int) []int {
		require.Equal(t, of, low[of], "a price of a link that is not the lowest of those alike")
		return []int{of}
	})
	list("ports", w.Ports, func(of int) []int { return alike(func(l int) bool { return slices.Contains(ports[l], of) }) })
	list("sends", w.Sends, func(of int) []int { return alike(func(l int) bool { return p.Topology.Links[l].Src == of }) })
	list("receives", w.Receives, func(of int) []int { return alike(func(l int) bool { return p.Topology.Links[l].Dst == of }) })
	seen := map[int]bool{}
	for _, g := range w.Groups {
		for _, k := range g.Chunks {
			require.False(t, seen[k], "chunk %d is in two groups", k)
			seen[k] = true
		}
		shared := map[at]int64{}
		for _, d := range g.Demands {
			require.True(t, len(g.Demands) > 1 == (d.Shares != nil))
			for _, x := range d.Shares {
				require.Positive(t, x.Price)
				shared[at{x.Of, x.Instant}] += x.Price
			}
		}
		for k, sum := range shared {
			require.LessOrEqual(t, sum, price[k], "link %d, instant %d", k.link, k.instant)
		}
	}
}

// TestAsked: nothing is looked for at or below what is known, nor when the time is up; what is not
// served is refused as such.
func TestAsked(t *testing.T) {
	if highs.Available() != nil {
		t.Skip("no HiGHS in this build: nothing is looked for")
	}
	x, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: x, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
	_, err = Find(t.Context(), p, Options{})
	require.ErrorIs(t, err, solve.ErrNotServed)
	p = p.WithChunks(4)
	all, err := Find(t.Context(), p, Options{})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	best := slices.MaxFunc(all, func(a, b Found) int { return int(a.End - b.End) })
	again, err := Find(t.Context(), p, Options{Known: best.End, Below: best.End})
	require.NoError(t, err)
	require.Empty(t, again)
	for _, f := range all {
		require.LessOrEqual(t, f.Columns, DefaultColumns)
	}
	_, err = Find(t.Context(), p, Options{Columns: 1})
	require.ErrorIs(t, err, solve.ErrNotServed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none, err := Find(ctx, p, Options{})
	require.NoError(t, err)
	require.Empty(t, none)
	one := p.WithChunks(4)
	one.Size = -1
	_, err = Find(t.Context(), one, Options{})
	require.Error(t, err)
}

// TestGrid: points ascend from 0 and are as far apart as asked; each time belongs to the last point
// before it; and what a start occupies it occupies for sure, whenever in its span it starts.
func TestGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	occupied := 0
	for i := range 40 {
		n, err := newNetwork(drawn(r))
		if err != nil || len(n.tasks) == 0 || n.reach == model.MaxTime {
			continue
		}
		end := n.reach + 1 + model.Time(r.Int64N(int64(n.reach)+1))
		sums := n.sums(end)
		for _, gap := range []model.Time{1, max(1, end/7)} {
			g := n.grid(end, gap, sums)
			at := fmt.Sprintf("case %d, %v, gap %v: %v", i, end, gap, g.points)
			require.Zero(t, g.points[0], at)
			for j, x := range g.points {
				require.Less(t, x, end, at)
				require.True(t, j == 0 || x-g.points[j-1] >= gap, at)
				require.Equal(t, j, g.index(x), at)
				require.Equal(t, j, g.index(g.look(j)), at)
				require.True(t, g.look(j) == end-1 || g.index(g.look(j)+1) == j+1, at)
			}
			for k := range g.tasks {
				for a := range g.arcs {
					g.starts(&g.tasks[k], a, func(s start) {
						h := &g.hops[g.groups[g.tasks[k].group].size][a]
						require.True(t, s.lo <= s.hi && g.index(s.lo) == s.from && g.index(s.hi) == s.from, at)
						require.LessOrEqual(t, g.points[s.to], s.lo+h.duration, at)
						for b := range g.arcs[a].Bundles {
							first, last := g.occupies(&g.tasks[k], a, b, s)
							for j := first; j <= last; j++ {
								look := g.look(j) + g.offset[g.arcs[a].Bundles[b]]
								for _, x := range []model.Time{s.lo, s.hi} {
									require.True(t, x+h.busy[b].From <= look && look < x+h.busy[b].To, "%s: a start at %v", at, x)
								}
								occupied++
							}
						}
					})
				}
			}
		}
	}
	require.Greater(t, occupied, 1000)
}

// TestTasks: when what is demanded can be at a rank, and how long it takes from there, are least
// over all chains of hops.
func TestTasks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	checked := 0
	for range 40 {
		p := drawn(r)
		n, err := newNetwork(p)
		if err != nil {
			continue
		}
		for i := range n.tasks {
			k := &n.tasks[i]
			hops := n.hops[n.groups[k.group].size]
			early := slices.Repeat([]model.Time{model.MaxTime}, p.Topology.Ranks)
			var walk func(rank int, at model.Time, on []bool)
			walk = func(rank int, at model.Time, on []bool) {
				early[rank] = min(early[rank], at)
				on[rank] = true
				for a := range n.arcs {
					if n.arcs[a].Src == rank && !on[n.arcs[a].Dst] {
						walk(n.arcs[a].Dst, max(at, p.ReleaseOf(rank), p.ReleaseOf(n.arcs[a].Dst))+hops[a].duration, on)
					}
				}
				on[rank] = false
			}
			for rank, has := range k.source {
				if has {
					walk(rank, p.ReleaseOf(rank), make([]bool, p.Topology.Ranks))
				}
			}
			require.Equal(t, early, k.early)
			require.Zero(t, k.late[k.dest])
			for a, h := range hops {
				require.LessOrEqual(t, k.late[n.arcs[a].Src], k.late[n.arcs[a].Dst].Add(h.duration))
			}
			checked++
		}
	}
	require.Greater(t, checked, 100)
}

// TestSums: all sums of steps from the starts, and no other times.
func TestSums(t *testing.T) {
	got, ok := sums([]model.Time{0, 5}, []model.Time{7, 10}, 25, 1)
	require.True(t, ok)
	require.Equal(t, []model.Time{0, 5, 7, 10, 12, 14, 15, 17, 19, 20, 21, 22, 24, 25}, got)
	_, ok = sums([]model.Time{0}, []model.Time{1}, 2*maxSums, 1)
	require.False(t, ok)
	got, ok = sums([]model.Time{0}, []model.Time{1}, 2*maxSums, 4)
	require.True(t, ok)
	require.LessOrEqual(t, len(got), maxSums)
}

// TestRounding: values that are multiples of one another become small whole numbers, others do not
// exceed what is fine enough; and shares are cut to what there is, by as little as can be.
func TestRounding(t *testing.T) {
	for _, x := range []struct {
		values []float64
		want   float64
	}{{[]float64{0.5, 0.25, 1}, 4}, {[]float64{1.0 / 3, 2.0 / 3}, 3}, {[]float64{0.3, 0.2}, 10}, {[]float64{7}, 1.0 / 7}, {[]float64{1, 0, 1e-12}, 1}} {
		require.InEpsilon(t, x.want, scale(x.values, slices.Max(x.values)), 1e-9, "%v", x.values)
	}
	require.InEpsilon(t, fine/3.14159, scale([]float64{1.0000123, 2.7182818, 3.14159}, 3.14159), 1e-9)
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var list []sharing
		sum := int64(0)
		for i := range 1 + r.IntN(4) {
			list = append(list, sharing{i, r.Int64N(20)})
			sum += list[i].price
		}
		before := slices.Clone(list)
		total := r.Int64N(30)
		cut(list, total)
		after := int64(0)
		for i, x := range list {
			require.Equal(t, before[i].demand, x.demand)
			require.True(t, 0 <= x.price && x.price <= before[i].price)
			after += x.price
		}
		require.Equal(t, min(sum, total), after)
	}
}

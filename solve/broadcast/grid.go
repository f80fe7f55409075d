package broadcast

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
)

// grid is a broadcast in slots of time: its jobs are those of an ejection.Grid, whose parts are the chunks, whose machines are the
// links, and whose arcs are lanes. It may be one period of a broadcast that repeats.
type grid struct {
	*ejection.Grid
	p      *model.Problem
	raster raster
	chunks int
	lanes  []lane
	into   [][]ejection.Arc // by rank: lanes
}

// lane is a route from a member to another one, in slots.
type lane struct {
	ejection.Way
	from, to int32
	route    []int
	width    int32 // for how long each link is busy
}

// newGrid returns a grid in which everything is to be done, within a horizon, over routes between members that do not take longer
// than that. It returns nil if there is none to some member.
func newGrid(p *model.Problem, r raster, horizon int32) *grid {
	out := solve.Outsiders(p)
	between := slices.DeleteFunc(routes(p.Topology, p.Chunks[0].Size), func(route []int) bool {
		return out[p.Topology.Links[route[0]].Src] || out[p.Topology.Links[route[len(route)-1]].Dst]
	})
	return newGridOver(between, p, r, horizon)
}

// newGridOver is newGrid over some routes.
func newGridOver(routes [][]int, p *model.Problem, r raster, horizon int32) *grid {
	t := p.Topology
	g := &grid{p: p, raster: r, into: make([][]ejection.Arc, t.Ranks)}
	size := p.Chunks[0].Size
	for _, route := range routes {
		if t.Duration(route, size) > r.Time(horizon) { // nothing comes over it in time, and slots might not count it
			continue
		}
		u, v := t.Links[route[0]].Src, t.Links[route[len(route)-1]].Dst
		l := lane{Way: r.Way(t, route, size), from: int32(u), to: int32(v), route: route}
		l.width = l.Stays[0].Width
		g.into[v] = append(g.into[v], ejection.Arc{Parent: int32(u), Way: int32(len(g.lanes))})
		g.lanes = append(g.lanes, l)
	}
	for _, v := range p.Members() {
		if v != p.Collective.Root && len(g.into[v]) == 0 {
			return nil
		}
	}
	return g.empty(horizon, len(p.Chunks), 0)
}

// empty returns a grid of the same lanes in which the first chunks are to be done, within a horizon, and which is repeated after
// a period, no shorter than any lane keeps a link busy, unless that is 0.
func (g *grid) empty(horizon int32, chunks int, period int32) *grid {
	h := *g
	h.chunks = chunks
	ways := make([]ejection.Way, len(g.lanes))
	for i := range ways {
		ways[i] = g.lanes[i].Way
	}
	h.Grid = ejection.New(ejection.Shop{Ranks: g.p.Topology.Ranks, Machines: len(g.p.Topology.Links),
		Roots: slices.Repeat([]int32{int32(g.p.Collective.Root)}, chunks), Kinds: make([]int32, chunks),
		Arcs: [][][]ejection.Arc{g.into}, Ways: [][][]ejection.Way{{ways}}, Horizon: horizon, Period: period})
	for k := range chunks {
		for _, v := range g.p.Members() {
			if v != g.p.Collective.Root {
				h.Want(h.Job(k, 0, int32(v)))
			}
		}
	}
	return &h
}

// lane returns the one by which a hop is done.
func (g *grid) lane(h ejection.Hop) *lane { return &g.lanes[g.into[h.Rank][h.By].Way] }

// squeezed makes a grid last less until it takes at most enough slots, or there was no progress for an amount of work.
func (g *grid) squeezed(ctx context.Context, patience int64, enough int32) {
	e := ejection.NewSearch(g.Grid, rand.New(rand.NewPCG(1, 1)))
	for again := true; again && ctx.Err() == nil; {
		before, whole := g.Lasts(), g.Missing() == 0
		again = e.Run(ctx, patience, enough) && (!whole || g.Lasts() < before)
	}
}

// routes returns routes between ranks over as few links as there can be, and of those the quickest: a number for each pair,
// if there are that many, and fewer if there are many pairs. Each rank prefers other ones.
func routes(t *model.Topology, size int64) (all [][]int) {
	most := max(2, min(mostWays, mostRoutes/(t.Ranks*t.Ranks)))
	out, in := t.Out(), t.In()
	for v := range t.Ranks {
		far := linksTo(t, in, v)
		for u := range t.Ranks {
			if u == v || far[u] < 0 || far[u] > maxSwitchHops {
				continue
			}
			first, least := len(all), model.MaxTime
			for i := range most {
				r := walk(t, out, far, u, i)
				if r == nil {
					break
				}
				all, least = append(all, r), min(least, t.Duration(r, size))
			}
			pair := slices.DeleteFunc(all[first:], func(r []int) bool { return t.Duration(r, size) > least })
			all = all[:first+len(pair)]
		}
	}
	return all
}

// mostRoutes is how many routes there are for all pairs of ranks, about, if there are two for each.
const mostRoutes = 1 << 17

// linksTo returns over how few links each node reaches a rank with no other rank on the way: 0 for itself, -1 for those that
// do not.
func linksTo(t *model.Topology, in [][]int, v int) []int32 {
	far, queue := slices.Repeat([]int32{-1}, t.Nodes()), []int{v}
	far[v] = 0
	for i := 0; i < len(queue); i++ {
		w := queue[i]
		if i > 0 && t.IsRank(w) {
			continue
		}
		for _, l := range in[w] {
			if u := t.Links[l].Src; far[u] < 0 {
				far[u] = far[w] + 1
				queue = append(queue, u)
			}
		}
	}
	return far
}

// walk returns the i-th route from a rank over the fewest links to the rank that nodes are so far from, nil if there are
// no more than i.
func walk(t *model.Topology, out [][]int, far []int32, u, i int) (route []int) {
	shift := u
	for at := u; far[at] > 0; at = t.Links[route[len(route)-1]].Dst {
		nearer := func(l int) bool {
			to := t.Links[l].Dst
			return far[to] == far[at]-1 && (far[to] == 0 || !t.IsRank(to))
		}
		n := 0
		for _, l := range out[at] {
			if nearer(l) {
				n++
			}
		}
		pick := (i + shift) % n
		i /= n
		for _, l := range out[at] {
			if nearer(l) {
				if pick == 0 {
					route = append(route, l)
					break
				}
				pick--
			}
		}
	}
	if i > 0 {
		return nil
	}
	return route
}

// schedule returns the schedule of jobs that are all done.
func (g *grid) schedule() *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(g.p.Cost)}
	for _, h := range g.done() {
		g.emit(s, g.p, h, int32(h.Part), g.raster.Time(h.Start))
	}
	return s
}

// emit adds a hop of a chunk of p to a schedule.
func (g *grid) emit(s *model.Schedule, p *model.Problem, h ejection.Hop, chunk int32, at model.Time) {
	l := g.lane(h)
	s.Transfers = append(s.Transfers, model.Transfer{Chunk: chunk, Src: l.from, Dst: l.to, Route: int32(len(s.Routes)), Op: model.Copy,
		Start: at, End: at + p.Topology.Duration(l.route, p.Chunks[chunk].Size)})
	s.Routes = append(s.Routes, l.route)
}

// done returns the hops that are done, in the order of their starts.
func (g *grid) done() []ejection.Hop {
	order := g.Hops()
	slices.SortStableFunc(order, func(x, y ejection.Hop) int { return cmp.Compare(x.Start, y.Start) })
	return order
}

// follow does jobs as a schedule of the same chunks does them, each as soon as it can after the one before it there.
func (g *grid) follow(s *model.Schedule) {
	order := slices.Clone(s.Transfers)
	slices.SortStableFunc(order, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	for _, t := range order {
		x := g.Job(int(t.Chunk), 0, t.Dst)
		from := g.Has(g.Job(int(t.Chunk), 0, t.Src))
		if !g.Wanted(x) || from == ejection.Nowhere {
			continue
		}
		best, by := int32(ejection.Nowhere), int32(-1)
		for j, a := range g.into[t.Dst] {
			if a.Parent != t.Src {
				continue
			}
			lasts := g.lanes[a.Way].Lasts
			if at := g.Opens(x, int32(j), max(from, g.raster.Slot(t.Start)), min(best-1, g.Horizon)-lasts); at >= 0 {
				best, by = at+lasts, int32(j)
			}
		}
		if by >= 0 {
			g.Do(x, by, best-g.lanes[g.into[t.Dst][by].Way].Lasts)
		}
	}
}

// halved returns a grid with slots and chunks half as long, on which the halves of a chunk take the ways of the whole.
func (g *grid) halved() *grid {
	r := g.raster
	r.Slots *= 2
	ways := make([][]int, len(g.lanes))
	for i := range ways {
		ways[i] = g.lanes[i].route
	}
	h := newGridOver(ways, r.cut(g.p), r, 2*g.Horizon) // which has all of them: none takes longer than before
	for _, x := range g.done() {
		l := h.lane(x)
		for i := range 2 {
			k := 2*x.Part + i
			if k >= h.chunks {
				continue
			}
			y := h.Job(k, 0, l.to)
			from := h.Has(h.Job(k, 0, l.from))
			if at := h.Opens(y, x.By, max(from, 2*x.Start+int32(i)*l.width), h.Horizon-l.Lasts); at >= 0 {
				h.Do(y, x.By, at)
			}
		}
	}
	return h
}

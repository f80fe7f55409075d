package broadcast

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// grid is a broadcast in slots of time: which chunk comes to which rank, by which lane and when. Some ranks may lack
// some chunks; what they lack is in the pool. A rank may pass on a chunk that it lacks: then it must get it before it
// first does so, and nothing else changes where it gets it from elsewhere.
//
// A job is a chunk and a rank that is to get it, numbered chunk*ranks + rank.
//
// A grid may be one period of a broadcast that repeats: then links are free only where they are so in all periods, which is
// to say modulo the period (Rau, MICRO 1994), and all other times count from the begin of the first period.
type grid struct {
	p                    *model.Problem
	raster               raster
	ranks, chunks, words int
	horizon              int32 // slots: no lane is in use from then on
	period               int32 // slots; as long as all of the grid, if nothing is repeated
	lanes                []lane
	into                 [][]int32 // by rank: lanes
	busy                 []uint64  // by link: a bit for each slot of the period and, again, of its first slots
	owner                []int32   // by link and slot: the job that keeps it busy, or -1
	fine                 []int32   // by link and slot: the penalty of that job, or 0
	penalty              []int32   // by job: what it costs to undo it
	at                   []int32   // by job: the slot from which on the rank has the chunk, or is to have it; never if it has no use for it
	start, by            []int32   // by job: the slot in which its transfer starts, and the lane; -1
	first, next, prev    []int32   // by job: those that are made from it, as a list; -1
	pool                 []int32   // jobs that are to be done
	place                []int32   // by job: where in the pool it is, or -1
}

// never is later than any slot.
const never = math.MaxInt32 / 2

// lane is a route from a member to another one, in slots.
type lane struct {
	from, to   int32
	route      []int
	links, off []int32 // each link is busy from its offset on
	width      int32   // for that long
	lasts      int32
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
	g := &grid{p: p, raster: r, ranks: t.Ranks, into: make([][]int32, t.Ranks)}
	size := p.Chunks[0].Size
	for _, route := range routes {
		before, beta := model.Time(0), model.Time(0)
		for _, k := range route {
			before = before.Add(t.Links[k].Alpha)
			beta = max(beta, model.TransferTime(size, t.Links[k].Bandwidth))
		}
		if before.Add(beta) > r.time(horizon) { // nothing comes over it in time, and slots might not count it
			continue
		}
		u, v := t.Links[route[0]].Src, t.Links[route[len(route)-1]].Dst
		l := lane{from: int32(u), to: int32(v), route: route}
		before = 0
		for _, k := range route {
			l.links, l.off = append(l.links, int32(k)), append(l.off, r.up(before))
			before += t.Links[k].Alpha
		}
		l.width = max(1, r.up(beta))
		l.lasts = r.up(before) + l.width
		g.into[v] = append(g.into[v], int32(len(g.lanes)))
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
	h := &grid{p: g.p, raster: g.raster, ranks: g.ranks, chunks: chunks, horizon: horizon, period: period, lanes: g.lanes, into: g.into}
	if period == 0 {
		longest := int32(0)
		for i := range h.lanes {
			longest = max(longest, h.lanes[i].lasts+h.lanes[i].width)
		}
		h.period = horizon + longest
	}
	links, jobs := len(h.p.Topology.Links), h.ranks*h.chunks
	h.words = int(h.period)/64 + 3
	h.busy = make([]uint64, links*h.words)
	h.owner = slices.Repeat([]int32{-1}, links*int(h.period))
	h.fine = make([]int32, len(h.owner))
	h.at, h.penalty = slices.Repeat([]int32{never}, jobs), slices.Repeat([]int32{1}, jobs)
	none := slices.Repeat([]int32{-1}, jobs)
	h.start, h.by, h.first, h.next, h.prev, h.place = none, slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none)
	for k := range h.chunks {
		for _, v := range h.p.Members() {
			x := int32(k*h.ranks + v)
			if v == h.p.Collective.Root {
				h.at[x] = 0
				continue
			}
			h.put(x)
		}
	}
	return h
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

// put puts a job into the pool.
func (g *grid) put(x int32) {
	g.place[x] = int32(len(g.pool))
	g.pool = append(g.pool, x)
}

// source returns the job from which another one is done over a lane.
func (g *grid) source(x int32, l *lane) int32 { return x - l.to + l.from }

// in returns a slot modulo the period.
func (g *grid) in(slot int32) int32 {
	if slot >= g.period {
		slot %= g.period
	}
	return slot
}

// index returns where a slot on a link is in owner and fine.
func (g *grid) index(link, slot int32) int { return int(link)*int(g.period) + int(g.in(slot)) }

// get takes a job out of the pool.
func (g *grid) get(x int32) {
	i, last := g.place[x], g.pool[len(g.pool)-1]
	g.pool[i], g.place[last] = last, i
	g.pool, g.place[x] = g.pool[:len(g.pool)-1], -1
}

// taken returns which of 64 slots from one on a link is busy in.
func (g *grid) taken(link, slot int32) uint64 {
	slot = g.in(slot)
	i := int(link)*g.words + int(slot>>6)
	low := uint(slot & 63)
	return g.busy[i]>>low | g.busy[i+1]<<1<<(63-low)
}

// opens returns the first slot, no earlier than one and no later than another, in which a lane is free, or -1.
func (g *grid) opens(l *lane, from, last int32) int32 {
	last = min(last, from+g.period-1)
	for ; from <= last; from += 64 {
		free := ^uint64(0)
		for i, link := range l.links {
			at := from + l.off[i]
			for j := range l.width {
				free &^= g.taken(link, at+j)
			}
			if free == 0 {
				break
			}
		}
		if free != 0 {
			if at := from + int32(bits.TrailingZeros64(free)); at <= last {
				return at
			}
			return -1
		}
	}
	return -1
}

// need returns the slot in which a job must be done for what is made from it.
func (g *grid) need(x int32) int32 {
	least := int32(never)
	for y := g.first[x]; y >= 0; y = g.next[y] {
		least = min(least, g.start[y])
	}
	return least
}

// do does a job of the pool over a lane that is free.
func (g *grid) do(x, by, start int32) {
	g.get(x)
	l := &g.lanes[by]
	g.mark(l, start, x)
	g.by[x], g.start[x], g.at[x] = by, start, start+l.lasts
	from := g.source(x, l)
	g.prev[x], g.next[x] = -1, g.first[from]
	if g.first[from] >= 0 {
		g.prev[g.first[from]] = x
	}
	g.first[from] = x
	if g.place[from] >= 0 { // then it is to have the chunk
		g.at[from] = min(g.at[from], start)
	}
}

// mark has a job keep a lane busy from a slot on, or nobody, if it is -1.
func (g *grid) mark(l *lane, start, x int32) {
	fine := int32(0)
	if x >= 0 {
		fine = g.penalty[x]
	}
	for i, link := range l.links {
		row := g.busy[int(link)*g.words:][:g.words]
		for j := range l.width {
			slot := g.in(start + l.off[i] + j)
			for at := int(slot); at < 64*g.words; at += int(g.period) {
				if x >= 0 {
					row[at>>6] |= uint64(1) << (at & 63)
				} else {
					row[at>>6] &^= uint64(1) << (at & 63)
				}
			}
			k := int(link)*int(g.period) + int(slot)
			g.owner[k], g.fine[k] = x, fine
		}
	}
}

// weigh sets what it costs to undo a job.
func (g *grid) weigh(x, penalty int32) {
	if g.penalty[x] = penalty; g.by[x] >= 0 {
		g.mark(&g.lanes[g.by[x]], g.start[x], x)
	}
}

// undo puts a job back into the pool. What is made from it stays.
func (g *grid) undo(x int32) {
	l := &g.lanes[g.by[x]]
	g.mark(l, g.start[x], -1)
	from := g.source(x, l)
	if g.prev[x] >= 0 {
		g.next[g.prev[x]] = g.next[x]
	} else {
		g.first[from] = g.next[x]
	}
	if g.next[x] >= 0 {
		g.prev[g.next[x]] = g.prev[x]
	}
	if g.place[from] >= 0 {
		g.at[from] = g.need(from)
	}
	g.by[x], g.start[x], g.at[x] = -1, -1, g.need(x)
	g.put(x)
}

// ends returns the slot in which the last job ends that is done.
func (g *grid) ends() int32 {
	last := int32(0)
	for x, by := range g.by {
		if by >= 0 {
			last = max(last, g.at[x])
		}
	}
	return last
}

// schedule returns the schedule of jobs that are all done.
func (g *grid) schedule() *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(g.p.Cost)}
	for _, x := range g.done() {
		l, k := &g.lanes[g.by[x]], x/int32(g.ranks)
		at := g.raster.time(g.start[x])
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: k, Src: l.from, Dst: l.to, Route: int32(len(s.Routes)), Op: model.Copy,
			Start: at, End: at + g.p.Topology.Duration(l.route, g.p.Chunks[k].Size)})
		s.Routes = append(s.Routes, l.route)
	}
	return s
}

// done returns the jobs that are done, in the order of their starts.
func (g *grid) done() (order []int32) {
	for x, by := range g.by {
		if by >= 0 {
			order = append(order, int32(x))
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(g.start[x], g.start[y]) })
	return order
}

// follow does jobs as a schedule of the same chunks does them, each as soon as it can after the one before it there.
func (g *grid) follow(s *model.Schedule) {
	order := slices.Clone(s.Transfers)
	slices.SortStableFunc(order, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	for _, t := range order {
		x := t.Chunk*int32(g.ranks) + t.Dst
		from := x - t.Dst + t.Src
		if g.place[x] < 0 || g.at[from] == never {
			continue
		}
		best, by := int32(never), int32(-1)
		for _, j := range g.into[t.Dst] {
			l := &g.lanes[j]
			if l.from != t.Src {
				continue
			}
			after := max(g.at[from], int32(t.Start*g.raster.slots/g.raster.unit))
			if at := g.opens(l, after, min(best-1, g.horizon)-l.lasts); at >= 0 {
				best, by = at+l.lasts, j
			}
		}
		if by >= 0 {
			g.do(x, by, best-g.lanes[by].lasts)
		}
	}
}

// halved returns a grid with slots and chunks half as long, on which the halves of a chunk take the ways of the whole.
func (g *grid) halved() *grid {
	r := g.raster
	r.slots *= 2
	ways := make([][]int, len(g.lanes))
	for i := range ways {
		ways[i] = g.lanes[i].route
	}
	h := newGridOver(ways, r.cut(g.p), r, 2*g.horizon) // which has all of them: none takes longer than before
	for _, x := range g.done() {
		l := &h.lanes[g.by[x]]
		for i := range int32(2) {
			k := 2*(x/int32(g.ranks)) + i
			if int(k) >= h.chunks {
				continue
			}
			y := k*int32(h.ranks) + l.to
			if at := h.opens(l, max(h.at[h.source(y, l)], 2*g.start[x]+i*l.width), h.horizon-l.lasts); at >= 0 {
				h.do(y, g.by[x], at)
			}
		}
	}
	return h
}

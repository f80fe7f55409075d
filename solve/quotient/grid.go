package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/ejection"
)

// grid is a plan in slots of time: its jobs are those of an ejection.Grid, whose machines are those of the shop.
type grid struct {
	*ejection.Grid
	s      *shop
	parts  []part
	raster ejection.Raster
	ops    []model.Op     // by direction
	images *images        // nil: all parts are on the grid
	shop   *ejection.Shop // what the grid is made of, once it is open
}

// newGrid returns a grid of the jobs of a plan, each in the slots of its time or later, if those are free. It has only the first part of each of some
// pairs, if there are any, and the other ones are their images. It returns nil if machines have several lanes, hops have to wait for late ranks, there
// would be more than mostSlots, or hops have no images.
func newGrid(x *plan, r ejection.Raster, pairs [][2]int32, rng *rand.Rand) *grid {
	if float64(x.end)*float64(r.Slots)/float64(r.Unit)*float64(len(x.s.lanes)) > mostSlots {
		return nil
	}
	for _, n := range x.s.lanes {
		if n != 1 {
			return nil
		}
	}
	g := &grid{s: x.s, parts: x.parts, raster: r}
	for _, op := range []model.Op{model.Copy, model.Reduction} {
		if slices.ContainsFunc(x.jobs, func(j job) bool { return j.op == op }) {
			g.ops = append(g.ops, op)
		}
	}
	spare := r.Up(x.end/spareTime) + 2 // for hops that find no room in time
	var twins []int32
	if len(g.ops) == 2 {
		twins = x.twins(rng)
	}
	if !g.open(twins, pairs, r.Up(x.end)+2*spare) {
		return nil
	}
	g.Grid = ejection.New(*g.shop)
	g.follow(x, spare)
	return g
}

// open makes the shop of a grid of some slots, whose parts have twins, and reports whether there is one.
func (g *grid) open(twins []int32, pairs [][2]int32, slots int32) bool {
	shop := &ejection.Shop{Ranks: g.s.t.Ranks, Machines: len(g.s.lanes), Horizon: slots}
	if pairs == nil {
		shop.Twins = twins
		for i := range g.parts {
			shop.Roots, shop.Kinds = append(shop.Roots, int32(g.parts[i].root)), append(shop.Kinds, g.parts[i].kind)
		}
	} else {
		for _, pair := range pairs {
			a, b := &g.parts[pair[0]], &g.parts[pair[1]]
			if a.root != b.root {
				return false
			}
			shop.Roots, shop.Kinds, shop.Twins = append(shop.Roots, int32(a.root)), append(shop.Kinds, a.kind), append(shop.Twins, twins[pair[0]])
		}
	}
	for _, op := range g.ops {
		arcs := g.s.arcs(op)
		if arcs == nil {
			return false
		}
		shop.Arcs, shop.Ways = append(shop.Arcs, arcs), append(shop.Ways, g.s.bookings(g.raster, op == model.Reduction))
	}
	if pairs != nil {
		if g.images = newImages(shop, g.parts, pairs); g.images == nil {
			return false
		}
	}
	g.shop = shop
	return true
}

const (
	// spareTime is one of as many parts of a plan's time by which its grid is longer, before and after.
	spareTime = 33
	// mostSlots is how many slots all machines have together at most.
	mostSlots = 1 << 21
)

// arcs returns the hops to each rank, or nil if some have to wait for late ranks.
func (s *shop) arcs(op model.Op) [][]ejection.Arc {
	list := make([][]ejection.Arc, s.t.Ranks)
	for v, parents := range s.parents()[op] {
		for _, p := range parents {
			from := p.rank
			if op == model.Reduction {
				from = int32(v)
			}
			st := &s.out[s.class[from]][p.step]
			if st.wait > 0 {
				return nil
			}
			list[v] = append(list[v], ejection.Arc{Parent: p.rank, Step: p.step, Way: st.way})
		}
	}
	return list
}

// bookings returns how each kind of parts takes each way, read backwards for sums.
func (s *shop) bookings(r ejection.Raster, backwards bool) (list [][]ejection.Way) {
	for kind := range len(s.ways[0].times) {
		var ways []ejection.Way
		for w := range s.ways {
			tm := &s.ways[w].times[kind]
			b := ejection.Way{Lasts: r.Up(tm.lasts)}
			for i, v := range s.ways[w].visits {
				from := r.Slot(tm.spans[i].From)
				b.Stays = append(b.Stays, ejection.Stay{Machine: v.machine, Off: from, Width: max(1, r.Up(tm.spans[i].To-tm.spans[i].From))})
				b.Lasts = max(b.Lasts, from+b.Stays[i].Width)
			}
			for i := range b.Stays {
				if v := &b.Stays[i]; backwards {
					v.Off = b.Lasts - v.Off - v.Width
				}
			}
			ways = append(ways, b)
		}
		list = append(list, ways)
	}
	return list
}

// follow does the jobs of a plan: sums from the last to the first, then copies from the first on.
func (g *grid) follow(x *plan, spare int32) {
	begin := g.Horizon - spare - g.raster.Up(x.end)
	if len(g.ops) == 1 {
		begin = 0
	}
	slot := func(j *job) int32 {
		if j.op == model.Reduction {
			return max(0, g.Horizon-begin-g.raster.Up(j.end))
		}
		return begin + g.raster.Slot(j.start)
	}
	order := x.order(func(j *job) model.Time { // sums come first
		return model.Time(slot(j)) - model.Time(j.op)<<32
	})
	number := g.images.numbers(len(x.parts))
	for _, i := range order {
		j := &x.jobs[i]
		part := number[j.part]
		if part < 0 {
			continue
		}
		dir := int32(slices.Index(g.ops, j.op))
		k, parent := g.Job(part, dir, j.child()), j.src+j.dst-j.child()
		g.Want(k)
		by := slices.IndexFunc(g.Arcs[dir][j.child()], func(a ejection.Arc) bool { return a.Parent == parent && a.Step == j.step })
		if by < 0 {
			continue
		}
		way := &g.Ways[dir][g.Kinds[part]][g.Arcs[dir][j.child()][by].Way]
		if from := g.Ready(k, int32(by)); from < ejection.Nowhere {
			if at := g.Opens(k, int32(by), max(from, slot(j)), g.Horizon-way.Lasts); at >= 0 {
				g.Do(k, int32(by), at)
			}
		}
	}
}

// plan returns the jobs that are done as a plan.
func (g *grid) plan() *plan {
	x := &plan{s: g.s, parts: g.parts}
	add := func(h ejection.Hop, part int32) {
		a := &g.Arcs[h.Dir][h.Rank][h.By]
		j := job{part: part, src: a.Parent, dst: h.Rank, step: a.Step, op: g.ops[h.Dir], start: g.raster.Time(h.Start)}
		if j.op == model.Reduction {
			j.src, j.dst = j.dst, j.src
			j.start = g.raster.Time(g.Horizon - h.End)
		}
		x.jobs = append(x.jobs, j)
	}
	for _, h := range g.Hops() {
		if g.images == nil {
			add(h, int32(h.Part))
			continue
		}
		pair := g.images.pairs[h.Part]
		add(h, pair[0])
		h.By, h.Dir = g.images.arcs[h.Dir][h.Rank][h.By], 1-h.Dir
		add(h, pair[1])
	}
	x.settle()
	x.shift()
	return x
}

// settle has jobs that begin with slots end when they do, and starts them as early as it can, in order, if they do not hold then.
func (x *plan) settle() {
	x.end = 0
	for i := range x.jobs {
		j := &x.jobs[i]
		j.end = j.start + x.s.at(x.s.step(j).way, &x.parts[j.part]).lasts
		x.end = max(x.end, j.end)
	}
	if !x.holds() { // offsets that are no slots
		x.early(x.waits(), nil)
	}
}

// holds reports whether jobs wait for what they need, and never meet on a machine.
func (x *plan) holds() bool {
	busy, waits := x.s.books(), x.waits()
	for _, i := range x.order(func(j *job) model.Time { return j.start }) {
		for _, k := range waits[i] {
			if x.jobs[k].end > x.jobs[i].start {
				return false
			}
		}
		if !x.take(busy, &x.jobs[i]) {
			return false
		}
	}
	return true
}

package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/heap"
)

// cycle is what the schedule of a broadcast repeats: in each period every one of some trees carries a chunk, and all
// chunks have one size. A transfer of the first period starts when its chunk has come and its links are free in every
// period, which is to say free modulo the period (Rau, "Iterative modulo scheduling", MICRO 1994, without going back).
// So the time for a schedule does not grow with the number of chunks, and the makespan is that of the fluid limit, if
// trees fit into a period, and the time in which one period is at the last rank.
type cycle struct {
	p     *model.Problem
	trees int
	steps []step
	first []int32 // steps from the root
	skew  model.Time
	slots int       // into how many equal places the period is divided; 0: they are as long as transfers
	work  int       // routes that place has looked at
	ways  []packing // that are tried
	seats []int     // by step: its place if it is seated
	full  []bool    // by step: whether it has a link that is nearly full
}

// packing is how transfers whose place in a period is open are put into it.
type packing uint8

const (
	soon    packing = iota // as soon as they can
	aligned                // then, at a multiple of their time after the begin of a period: they leave no gaps too short for others
	seated                 // at places that are an edge colouring, so that a period has room for all
	mixed                  // so only on links that are nearly full, and as soon as they can on others
)

// step is a hop of a tree, over one of some routes.
type step struct {
	tree, from, to int
	routes         [][]int
	colour         int        // the place in the period at which it starts if that is free; -1: any
	next           []int32    // steps of the same tree from its end
	height         model.Time // latencies behind it

	route      int // chosen
	start, end model.Time
}

// bough is an arc of a tree of equal weight with others, with the routes that it may take.
type bough struct {
	from, to int
	routes   [][]int
	colour   int // see step
}

// newCycle returns the cycle of a period: trees, each a list of arcs from the root on.
func newCycle(p *model.Problem, x period) *cycle {
	trees := x.trees
	c := &cycle{p: p, trees: len(trees), slots: x.slots}
	root := p.Collective.Root
	for i, arcs := range trees {
		into := map[int]int32{}
		for _, a := range arcs {
			n := int32(len(c.steps))
			if a.from == root {
				c.first = append(c.first, n)
			} else {
				before := &c.steps[into[a.from]]
				before.next = append(before.next, n)
			}
			into[a.to] = n
			c.steps = append(c.steps, step{tree: i, from: a.from, to: a.to, routes: a.routes, colour: a.colour})
		}
	}
	for n := len(c.steps) - 1; n >= 0; n-- {
		s := &c.steps[n]
		for _, m := range s.next {
			s.height = max(s.height, c.steps[m].height)
		}
		s.height += c.p.Topology.Duration(s.routes[0], 0)
	}
	c.skew, c.ways = c.skewed(), []packing{soon, aligned}
	if c.seat() {
		c.ways = []packing{mixed, seated, soon, aligned}
	}
	c.reorder()
	return c
}

// seat gives the steps without a colour seats, if some have colours, and reports whether they have.
func (c *cycle) seat() bool {
	s, open := make(shape, c.trees), 0
	for _, x := range c.steps {
		if x.colour < 0 {
			s[x.tree] = append(s[x.tree], link{x.from, x.to, -1})
			open++
		}
	}
	if open == 0 || open == len(c.steps) {
		return false
	}
	s.colour(c.p.Topology.Ranks)
	at := make([]int, c.trees)
	for _, x := range c.steps {
		seat := x.colour
		if seat < 0 {
			seat = s[x.tree][at[x.tree]].colour
			at[x.tree]++
		}
		c.seats = append(c.seats, seat)
	}
	load := c.load(c.p.Space())
	most := slices.Max(load)
	for _, x := range c.steps {
		c.full = append(c.full, slices.ContainsFunc(x.routes[0], func(l int) bool { return float64(load[l]) > nearlyFull*float64(most) }))
	}
	return true
}

// nearlyFull is from which part of the load of the busiest link on a link hardly has room for what comes at any time.
const nearlyFull = 0.85

// skewed returns by how much the times differ after which transfers of no bytes come to a link, at most; or the longest time
// that divides all such differences, in which transfers that have places in a period are in step on all links.
func (c *cycle) skewed() (skew model.Time) {
	soonest, latest := make([]model.Time, len(c.p.Topology.Links)), make([]model.Time, len(c.p.Topology.Links))
	for l := range soonest {
		soonest[l] = model.MaxTime
	}
	var busy []model.Interval
	divides := model.Time(0)
	for i := range c.steps {
		for _, route := range c.steps[i].routes {
			busy = c.p.Topology.Busy(c.p.Cost, route, 0, busy[:0])
			for j, l := range route {
				if from := busy[j].From; soonest[l] < model.MaxTime {
					divides = model.Time(arborescence.GCD(int64(divides), int64(max(from-soonest[l], soonest[l]-from))))
				}
				soonest[l], latest[l] = min(soonest[l], busy[j].From), max(latest[l], busy[j].From)
			}
		}
	}
	if c.slots > 0 {
		return divides
	}
	for l := range soonest {
		skew = max(skew, latest[l]-soonest[l])
	}
	return skew
}

// shortest returns the time for which chunks of a size keep the busiest link busy in a period, at least: of hops with a choice of
// routes those links count that are at the ends of all, and those that lead out of a rank, or into one, together.
func (c *cycle) shortest(size int64) model.Time {
	type end struct {
		rank int
		into bool
	}
	type ends struct {
		busy  model.Time
		links map[int]bool
	}
	all := map[end]*ends{}
	var busy []model.Interval
	for i := range c.steps {
		s := &c.steps[i]
		for _, e := range []end{{s.from, false}, {s.to, true}} {
			x := all[e]
			if x == nil {
				x = &ends{links: map[int]bool{}}
				all[e] = x
			}
			least := model.MaxTime
			for _, r := range s.routes {
				at := 0
				if e.into {
					at = len(r) - 1
				}
				busy = c.p.Topology.Busy(c.p.Cost, r, size, busy[:0])
				x.links[r[at]], least = true, min(least, busy[at].To-busy[at].From)
			}
			x.busy += least
		}
	}
	longest := slices.Max(c.load(size))
	for _, x := range all {
		longest = max(longest, x.busy/model.Time(len(x.links)))
	}
	return longest
}

// load returns for how long chunks of a size keep each link busy in a period: see shortest.
func (c *cycle) load(size int64) []model.Time {
	load := make([]model.Time, len(c.p.Topology.Links))
	var busy []model.Interval
	for i := range c.steps {
		routes := c.steps[i].routes
		r := routes[0]
		busy = c.p.Topology.Busy(c.p.Cost, r, size, busy[:0])
		for j, l := range r {
			if !slices.ContainsFunc(routes, func(other []int) bool { return !slices.Contains(other, l) }) {
				load[l] += busy[j].To - busy[j].From
			}
		}
	}
	return load
}

// readyStep is a step whose chunk has come.
type readyStep struct {
	comes model.Time
	step  int32
}

// Before orders a heap: the earliest comes first.
func (r readyStep) Before(s readyStep) bool {
	return r.comes < s.comes || r.comes == s.comes && r.step < s.step
}

// place gives each step a start for chunks of a size; it fails if some step finds no room in the period. Those go
// first whose chunk comes first.
func (c *cycle) place(ctx context.Context, size int64, period model.Time, way packing) bool {
	lines := make([]line, len(c.p.Topology.Links))
	var ready heap.Heap[readyStep]
	add := func(n int32, comes model.Time) {
		ready.Push(readyStep{comes, n})
	}
	for _, n := range c.first {
		add(n, 0)
	}
	var busy []model.Interval
	for done := 0; len(ready) > 0; done++ {
		if done%1024 == 0 && ctx.Err() != nil {
			return false
		}
		r := ready.Pop()
		s := &c.steps[r.step]
		s.start = model.MaxTime
		for i, route := range s.routes {
			c.work++
			busy = c.p.Topology.Busy(c.p.Cost, route, size, busy[:0])
			comes, grid := r.comes, model.Time(1)
			lasts := busy[0].To - busy[0].From
			if c.slots > 0 {
				lasts = max(lasts, period/model.Time(c.slots))
			}
			colour := s.colour
			if way == seated || way == mixed && c.full[r.step] {
				colour = c.seats[r.step]
			}
			if colour >= 0 {
				comes += ((model.Time(colour)*lasts-comes)%period + period) % period
				grid = max(1, lasts)
			} else if way == aligned && lasts > 0 {
				grid = lasts
				comes = align(comes, grid, period)
			}
			if at, ok := opens(lines, route, busy, comes, period, grid); ok && at < s.start {
				s.start, s.route = at, i
				if at == comes {
					break
				}
			}
		}
		if s.start == model.MaxTime {
			return false
		}
		route := s.routes[s.route]
		for i, b := range c.p.Topology.Busy(c.p.Cost, route, size, busy[:0]) {
			lines[route[i]].take((s.start+b.From)%period, b.To-b.From, period)
		}
		s.end = s.start + c.p.Topology.Duration(route, size)
		for _, n := range s.next {
			add(n, s.end)
		}
	}
	return true
}

// slacks is by which parts of itself a period is longer than what its busiest link needs.
var slacks = []float64{0, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.75, 1}

// mostRepeated is how many links the transfers of a periodic schedule usually cross at most, which is what it takes to verify
// them: a million in a sixth of a second.
const mostRepeated = 10 << 20

// linksRepeated returns how many links the transfers of a periodic schedule cross at most: each crosses two or more where ranks are at switches.
func linksRepeated(p *model.Problem, o solve.Options) int {
	each := 1
	if len(p.Topology.Switches) > 0 {
		each = 2
	}
	return each * o.AtMost(mostRepeated/each)
}

// crossed returns how many links the transfers of a period cross.
func (c *cycle) crossed() (links int) {
	for i := range c.steps {
		links += len(c.steps[i].routes[0])
	}
	return links
}

// beat is a choice of the times of a cycle.
type beat struct {
	c      *cycle
	chunks int64
	period model.Time
	way    packing
	ends   model.Time
}

// ends returns when the last chunk has come, after place.
func (c *cycle) ends(chunks int64, period model.Time) model.Time {
	_, end := shares(c.comes(), chunks, period)
	return end
}

// comes returns when the first chunk of each tree has come to all, after place.
func (c *cycle) comes() []model.Time {
	first := make([]model.Time, c.trees)
	for i := range c.steps {
		s := &c.steps[i]
		first[s.tree] = max(first[s.tree], s.end)
	}
	return first
}

// heights returns how long a chunk of no bytes takes down each tree.
func (c *cycle) heights() []model.Time {
	list := make([]model.Time, c.trees)
	for _, n := range c.first {
		s := &c.steps[n]
		list[s.tree] = max(list[s.tree], s.height)
	}
	return list
}

// shares returns how many of some chunks each tree carries so that the last one has come as soon as can be, and when that is, if the first
// chunk of a tree comes at some time and then one a period: a tree whose chunks come soon carries some when others carry none any more.
func shares(first []model.Time, chunks int64, period model.Time) (of []int64, end model.Time) {
	period = max(1, period)
	least := slices.Min(first)
	by := func(end model.Time, tree int) int64 { // how many chunks of a tree have come
		if end < first[tree] {
			return 0
		}
		return int64((end-first[tree])/period) + 1
	}
	end = least + model.Time(sort.Search(int(slices.Max(first)-least+model.Time(chunks/int64(len(first)))*period), func(after int) bool {
		sum := int64(0)
		for i := range first {
			sum += by(least+model.Time(after), i)
		}
		return sum >= chunks
	}))
	of = make([]int64, len(first))
	surplus := -chunks
	for i := range of {
		of[i] = by(end, i)
		surplus += of[i]
	}
	for i := range of {
		if surplus > 0 && by(end-1, i) < of[i] {
			of[i]--
			surplus--
		}
	}
	return of, end
}

// numbered returns the numbers of some chunks by tree and period.
func (c *cycle) numbered(chunks int64, period model.Time) (of [][]int32) {
	all, _ := shares(c.comes(), chunks, period)
	of = make([][]int32, c.trees)
	for n, k := int64(0), int32(0); int64(k) < chunks; n++ {
		for i, share := range all {
			if n < share {
				of[i] = append(of[i], k)
				k++
			}
		}
	}
	return of
}

// periods returns periods to be tried, ascending, for trees that need a time at least. Transfers that come to a link
// after different times are out of step with each other, unless that is a number of periods; else once a period a
// link is idle for as long.
func (c *cycle) periods(least model.Time) (list []model.Time) {
	for _, slack := range slacks {
		list = append(list, least+model.Time(float64(least)*slack))
	}
	if c.skew > 0 {
		list = append(list, least+c.skew)
		if least <= c.skew {
			list = append(list, c.skew/(c.skew/least))
		}
		slices.Sort(list)
	}
	return list
}

// inStep returns how many chunks there are, not many fewer than a number, whose period divides the skew: a few more than fill it,
// since times are whole, and the places in it, too.
func (c *cycle) inStep(chunks int64) int64 {
	least := c.shortest(solve.Evenly(c.p.Space(), chunks)[0].Size)
	if c.skew == 0 || least == 0 || least > c.skew {
		return chunks
	}
	period := c.skew / (c.skew / least)
	places := model.Time(max(1, c.slots))
	exact := float64(chunks) * float64(least) / float64(period)
	for slack := leastSlack; ; slack *= 2 {
		n := int64(math.Ceil(exact * (1 + slack)))
		if slack > mostSlack || c.shortest(solve.Evenly(c.p.Space(), n)[0].Size) <= period/places*places {
			return n
		}
	}
}

// leastSlack and mostSlack are by which part chunks are smaller than what a period that divides the skew has room for.
const leastSlack, mostSlack = 1e-6, 1e-3

// best returns the shortest schedule of the cycle with a number of chunks, if any is shorter than another one.
func (c *cycle) best(ctx context.Context, chunks int64, than beat) (best beat) {
	best = than
	cut := solve.Evenly(c.p.Space(), chunks)
	size, periods := cut[0].Size, model.Time((len(cut)+c.trees-1)/c.trees)
	least, quickest := c.shortest(size), slices.Min(c.heights())
	for _, period := range c.periods(least) {
		if max((periods-1)*period+quickest, model.Time(len(cut))*least/model.Time(c.trees)) >= best.ends || ctx.Err() != nil {
			break
		}
		for _, way := range c.ways {
			if !c.place(ctx, size, period, way) {
				continue
			}
			if ends := c.ends(int64(len(cut)), period); ends < best.ends {
				best = beat{c, int64(len(cut)), period, way, ends}
			}
		}
	}
	return best
}

// schedule writes the schedule of a beat.
func (b beat) schedule(ctx context.Context) solve.Result {
	c := b.c
	q := *c.p
	q.Chunks = solve.Evenly(c.p.Space(), b.chunks)
	if !c.place(ctx, q.Chunks[0].Size, b.period, b.way) {
		return solve.Result{}
	}
	s := &model.Schedule{Form: model.FormFor(q.Cost)}
	last := q.Chunks[len(q.Chunks)-1].Size
	steps := make([]int, len(c.steps))
	for i := range c.steps {
		steps[i] = i
		s.Routes = append(s.Routes, c.steps[i].routes[c.steps[i].route])
	}
	period := max(1, b.period)
	slices.SortStableFunc(steps, func(i, j int) int {
		return cmp.Or(cmp.Compare(c.steps[i].start%period, c.steps[j].start%period), cmp.Compare(c.steps[j].start, c.steps[i].start))
	})
	latest := 0 // in which period of the schedule a step of the first chunks starts
	for _, i := range steps {
		latest = max(latest, int(c.steps[i].start/period))
	}
	of := c.numbered(b.chunks, b.period)
	periods := len(slices.MaxFunc(of, func(a, b []int32) int { return len(a) - len(b) }))
	s.Transfers = make([]model.Transfer, 0, len(q.Chunks)*(len(steps)/c.trees))
	for now := range periods + latest { // so they are in order without being sorted
		for _, i := range steps {
			x := &c.steps[i]
			n := now - int(x.start/period)
			if n < 0 || n >= len(of[x.tree]) {
				continue
			}
			k := int(of[x.tree][n])
			t := model.Transfer{Chunk: int32(k), Src: int32(x.from), Dst: int32(x.to), Route: int32(i), Op: model.Copy, Start: x.start + model.Time(n)*b.period}
			t.End = t.Start + x.end - x.start
			if k == len(q.Chunks)-1 && last < q.Chunks[0].Size {
				t.End = t.Start + q.Topology.Duration(s.Routes[i], last)
			}
			s.Transfers = append(s.Transfers, t)
		}
	}
	return solve.Result{Problem: &q, Schedule: s, Stop: solve.Done, Note: fmt.Sprintf("%d trees, each with a chunk a period, %d periods", c.trees, periods)}
}

// period is equal trees that carry a chunk each in a period; see cycle.slots.
type period struct {
	trees [][]bough
	slots int
}

// regular returns trees over regions and clusters, those that are quickly placed first.
func regular(p *model.Problem) iter.Seq[period] {
	return func(yield func(period) bool) {
		if near := newNeighbours(p); near != nil {
			if trees := stars(p, near); !yield(period{trees, len(trees)}) {
				return
			}
		}
		c := newClusters(p)
		if c == nil {
			return
		}
		for _, s := range c.shapes() {
			if !yield(period{trees: c.trees(s)}) {
				return
			}
		}
	}
}

// numbers returns how many periods are tried whose transfers cross at most a number of links: where a period is divided into
// places, those numbers for which it is a part of the skew.
func (c *cycle) numbers(most int) (list []int64) {
	n := max(1, int64(most/c.crossed()))
	if c.slots > 0 && c.skew > 0 {
		all := c.shortest(c.p.Space() / int64(c.trees))
		for parts := int64(1); len(list) < mostParts; parts += max(1, parts/4) {
			periods := int64(float64(all)/float64(c.skew)*float64(parts)) + 1
			if periods > n {
				break
			}
			list = append(list, periods)
		}
	}
	return append(list, slices.Compact([]int64{n, max(1, n/4), max(1, n/16)})...)
}

// mostParts is how many numbers of periods in a skew are tried.
const mostParts = 24

// repeated returns the best periodic schedule of a broadcast, if any, of several choices of trees, whose transfers cross at most
// a number of links.
func repeated(ctx context.Context, p *model.Problem, periods iter.Seq[period], most int) solve.Result {
	best, work := beat{ends: model.MaxTime}, 0
	for x := range periods {
		if ctx.Err() != nil || work > max(leastWorked, most/worked) {
			break
		}
		if len(x.trees) == 0 {
			continue
		}
		c := newCycle(p, x)
		for _, n := range c.numbers(most) {
			chunks := n * int64(c.trees)
			n := c.inStep(chunks)
			if c.slots == 0 || c.skew == 0 {
				best = c.best(ctx, chunks, best)
			}
			if n != chunks { // else places that transfers come to out of step are taken
				best = c.best(ctx, n, best)
			}
		}
		work += c.work
	}
	if best.c == nil {
		return solve.Result{}
	}
	for best.chunks > 1 { // fewer chunks if they are as good
		fewer := best.c.best(ctx, best.c.inStep(best.chunks/2), beat{ends: best.ends + best.ends/littleLater})
		if fewer.c == nil {
			break
		}
		best = fewer
	}
	return best.schedule(context.WithoutCancel(ctx)) // that is soon done
}

// worked is how many links may be crossed for each route that is looked at, and leastWorked how many routes at least, until no
// other trees are tried.
const worked, leastWorked = 3, 1 << 18

// littleLater is the part of its time by which a schedule may be later than one with twice the chunks.
const littleLater = 2000

// equal returns trees of equal weight, as many of each as it has parts.
func equal(trees []arborescence.Tree) (list [][]bough) {
	unit := int64(0)
	for _, x := range trees {
		unit = arborescence.GCD(unit, x.Weight)
	}
	for _, x := range trees {
		for range x.Weight / unit {
			if len(list) == mostEqual {
				return nil
			}
			var arcs []bough
			for _, a := range x.Arcs {
				arcs = append(arcs, bough{a.From, a.To, [][]int{a.Route}, -1})
			}
			list = append(list, arcs)
		}
	}
	return list
}

// mostEqual is up to how many equal trees are repeated.
const mostEqual = 256

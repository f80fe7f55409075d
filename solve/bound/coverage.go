package bound

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Limits of the search for coverages.
const (
	// maxCovered is up to how many members times links it is made for.
	maxCovered = 1 << 25
	// coverSteps limits the work: one step looks at one time, link or part of the problem.
	coverSteps = 60_000_000
	// maxThresholds is how many subsets of the ranks outside, and inside, are tried for a set.
	maxThresholds = 6
	// maxAlone is for how many ranks of a set only their own needs are counted, and up to how many
	// nodes that is done of every set.
	maxAlone = 8
)

// covering is what the search for coverages asks of a problem again and again.
type covering struct {
	*finder
	s      *search
	least  int64
	far    [][]model.Time // D: by member, when what it contributes can be at each rank
	onto   [][]way        // by node x: ranks from which x is reached over switches alone, and how soon
	colour []uint64       // by node: what it looks like from where it stands
	known  map[uint64]model.Time
	close  map[string]bool // sets that were looked at closely

	best    model.Time // and what yields it
	witness model.Coverage
}

// way leads to a rank, or from it, over switches, in so much latency.
type way struct {
	rank  int
	alpha model.Time
}

// coverage returns the best bound of what has to enter a set of nodes, of those contributions
// that can have met by then, for those needs that can still be met: see package cert. What
// goes from one rank to all, or from all to one, is read backwards, too: what enters a set for the last time there
// enters what is left for the first time here.
func (f *finder) coverage() (model.Time, model.Witness) {
	if f.p.Collective.Kind == model.Custom || len(f.members) < 2 || len(f.members)*len(f.t.Links) > maxCovered {
		return 0, nil
	}
	q, turns := solve.Reverse(f.p)
	if !turns || f.copies || f.fromAll == f.toAll { // the reverse of a copy is a sum that other collectives do not have
		return f.covered()
	}
	back := newFinder(f.budget, q)
	if back == nil {
		return f.covered()
	}
	budget := f.budget
	share, done := budget.Share(2)
	if f.fromAll { // what goes to all is the direction in which most is found
		back.budget = share
		t, w := f.later(back, 0, nil)
		done()
		if u, x := f.covered(); u > t {
			return u, x
		}
		return t, w
	}
	f.budget = share
	t, w := f.covered()
	done()
	f.budget = budget
	return f.later(back, t, w)
}

// later returns a coverage of the problem read backwards as one of what leaves a set for the first time, if it yields more than t,
// which w does.
func (f *finder) later(back *finder, t model.Time, w model.Witness) (model.Time, model.Witness) {
	u, x := back.covered()
	if u <= t {
		return t, w
	}
	c := x.(model.Coverage)
	inside := make([]bool, f.t.Nodes())
	for _, v := range c.Nodes {
		inside[v] = true
	}
	first := model.Coverage{Nodes: members(complement(inside)), From: c.To, To: c.From, First: true}
	if u = f.newCovering().of(first); u <= t { // hops over switches may be a little shorter this way
		return t, w
	}
	return u, first
}

// of returns what a coverage yields.
func (c *covering) of(w model.Coverage) model.Time {
	inside := make([]bool, c.t.Nodes())
	for _, v := range w.Nodes {
		inside[v] = true
	}
	outside, within := c.ends(inside)
	if w.From != nil {
		outside = slices.DeleteFunc(outside, func(i int) bool { return !slices.Contains(w.From, c.members[i]) })
	}
	if w.To != nil {
		within = slices.DeleteFunc(within, func(r int) bool { return !slices.Contains(w.To, r) })
	}
	return c.entering(inside, w.First).worth(outside, within)
}

// covered is coverage in the problem's own direction. The sets are
// single nodes, parts of the network that hang together without slow links, without links of
// high latency, or without one switch, balls, and what these become by moving single nodes.
func (f *finder) covered() (model.Time, model.Witness) {
	c := f.newCovering()
	if c.far = c.distant(nil); c.far == nil {
		return 0, nil
	}
	c.paint()
	s := c.s
	s.alike = c.colour
	if f.t.Nodes() <= maxAlone {
		s.everySet()
	} else {
		s.singles()
		c.bestClosely() // something good is known early if the time is short
		c.split()
		s.clusters()
		s.balls()
		s.climb()
	}
	s.left = coverSteps / 4
	c.bestClosely()
	return c.best, c.witness
}

// bestClosely looks closely at the best sets that it has not looked at before.
func (c *covering) bestClosely() {
	for _, x := range c.s.best {
		if key := string(packed(x.inside)); !c.close[key] {
			c.close[key] = true
			c.closely(x.inside)
		}
	}
}

func (f *finder) newCovering() *covering {
	c := &covering{finder: f, known: map[uint64]model.Time{}, close: map[string]bool{}, onto: make([][]way, f.t.Nodes()), least: math.MaxInt64}
	for _, h := range f.shapes {
		c.least = min(c.least, h.least)
	}
	c.s = &search{finder: f, value: c.value, left: coverSteps, seen: map[string]bool{}}
	return c
}

// distant returns, by member, when what it contributes can be at each rank, over links between
// nodes of a set, nil for all; nil if the time is over.
func (c *covering) distant(among []bool) (far [][]model.Time) {
	set := make([]bool, c.t.Ranks)
	for _, w := range c.members {
		if c.budget.Spent() {
			return nil
		}
		set[w] = true
		far = append(far, c.reachAmong(among, c.starts(set, true), c.least, false, true).full)
		set[w] = false
	}
	return far
}

// split tries the parts into which the network falls without the links of each latency or more,
// and without each switch.
func (c *covering) split() {
	var latencies []model.Time
	for i := range c.t.Links {
		latencies = append(latencies, c.t.Links[i].Alpha)
	}
	slices.Sort(latencies)
	for _, alpha := range slices.Compact(latencies) {
		c.fall(func(l *model.Link) bool { return l.Alpha < alpha })
	}
	for v := c.t.Ranks; v < c.t.Nodes() && !c.s.stopped(); v++ {
		c.fall(func(l *model.Link) bool { return l.Src != v && l.Dst != v })
	}
}

// fall tries the sets of nodes that hang together by some of the links.
func (c *covering) fall(by func(l *model.Link) bool) {
	seen := make([]bool, c.t.Nodes())
	found := 0
	for first := range seen {
		if seen[first] || c.s.stopped() || found == mostParts {
			continue
		}
		found++
		set := make([]bool, c.t.Nodes())
		seen[first], set[first] = true, true
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			for _, links := range [][]int{c.out[queue[0]], c.in[queue[0]]} {
				c.s.left -= len(links)
				for _, i := range links {
					l := &c.t.Links[i]
					if v := l.Src + l.Dst - queue[0]; !seen[v] && by(l) {
						seen[v], set[v] = true, true
						queue = append(queue, v)
					}
				}
			}
		}
		c.s.try(set)
		c.s.try(complement(set))
	}
}

// paint gives nodes colours, equal ones to nodes that look alike in a few steps' distance.
func (c *covering) paint() {
	c.colour = make([]uint64, c.t.Nodes())
	for v := range c.t.Nodes() {
		switch {
		case c.t.Reduces(v) != model.NoReducing:
			c.colour[v] = 5 + uint64(c.t.Reduces(v))
		case c.t.Copies(v):
			c.colour[v] = 2
		case !c.t.IsRank(v):
			c.colour[v] = 1
		default:
			c.colour[v] = mixed(3, uint64(c.p.ReleaseOf(v)))
		}
	}
	for _, r := range c.members {
		c.colour[r] = mixed(c.colour[r], 4)
	}
	if c.p.Collective.Kind.Rooted() {
		c.colour[c.p.Collective.Root] = mixed(c.colour[c.p.Collective.Root], 5)
	}
	for range 4 {
		c.colour = c.refined(c.colour)
	}
}

// refined returns colours that also tell the links of a node and the colours at their ends.
func (c *covering) refined(colour []uint64) []uint64 {
	next := slices.Clone(colour)
	for i := range c.t.Links {
		l := &c.t.Links[i]
		link := mixed(uint64(l.Alpha), uint64(l.Bandwidth))
		next[l.Src] += mixed(mixed(6, colour[l.Dst]), link) // a sum: in any order
		next[l.Dst] += mixed(mixed(7, colour[l.Src]), link)
	}
	for v := range next {
		next[v] = mixed(next[v], 8)
	}
	return next
}

// mixed returns a number that is another one for other arguments, as good as always.
func mixed(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// look returns a number that is the same for sets that are images of each other under a
// symmetry of the problem, and another one for others, as good as always.
func (c *covering) look(inside []bool) uint64 {
	colour := slices.Clone(c.colour)
	for v, in := range inside {
		if in {
			colour[v] = mixed(colour[v], 9)
		}
	}
	for range 3 {
		colour = c.refined(colour)
	}
	sum := uint64(0)
	for _, x := range colour {
		sum += mixed(x, 10)
	}
	return sum
}

// value returns what a set yields with all ranks counted, or those outside that are far, or, of what a root sends,
// those inside that are deep, and on small networks with one rank inside: others that need the same elsewhere may have more time.
func (c *covering) value(inside []bool) model.Time {
	c.s.left -= 4 * (len(c.t.Links) + c.t.Nodes())
	key := c.look(inside)
	if t, known := c.known[key]; known {
		return t
	}
	outside, within := c.ends(inside)
	t := model.Time(0)
	if len(outside) > 0 && len(within) > 0 {
		e := c.entering(inside, false)
		if t = c.take(e, outside, within, true, true); t != model.MaxTime && !c.fromAll {
			for _, w := range thresholds(outside, e.distances(outside)) {
				t = max(t, c.take(e, w, within, false, true))
			}
		}
		if kind := c.p.Collective.Kind; t != model.MaxTime && (kind == model.Broadcast || kind == model.Scatter) {
			for _, v := range thresholds(within, e.depths(within)) {
				t = max(t, c.take(e, outside, v, true, false))
			}
		}
		if c.t.Nodes() <= maxAlone {
			for _, v := range alone(within, e.depths(within)) {
				t = max(t, c.take(e, outside, v, true, false))
			}
		}
	}
	c.known[key] = t
	return t
}

// take values a set for the contributions of some members outside and the needs of some ranks
// inside, which may be all that count, and keeps it if it is the best.
func (c *covering) take(e *entering, outside, within []int, allOutside, allWithin bool) model.Time {
	t := e.worth(outside, within)
	if t <= c.best || t == model.MaxTime {
		return t
	}
	c.best, c.witness = t, model.Coverage{Nodes: members(e.inside)}
	if !allOutside {
		for _, m := range outside {
			c.witness.From = append(c.witness.From, c.members[m])
		}
		slices.Sort(c.witness.From)
	}
	if !allWithin {
		c.witness.To = slices.Sorted(slices.Values(within))
	}
	return t
}

// ends returns the members outside that contribute something, as indices of members, and
// the ranks inside that need something.
func (c *covering) ends(inside []bool) (outside, within []int) {
	kind, root := c.p.Collective.Kind, c.p.Collective.Root
	for i, r := range c.members {
		if !inside[r] && (r == root || kind != model.Broadcast && kind != model.Scatter) {
			outside = append(outside, i)
		}
		if inside[r] && (r == root || kind != model.Gather && kind != model.Reduce) {
			within = append(within, r)
		}
	}
	return outside, within
}

// closely values a set for the ranks outside that are far and the ranks inside that are deep, or one of those.
func (c *covering) closely(inside []bool) {
	outside, within := c.ends(inside)
	if len(outside) == 0 || len(within) == 0 || c.s.stopped() {
		return
	}
	e := c.entering(inside, false)
	sources := append([][]int{outside}, thresholds(outside, e.distances(outside))...)
	depths := e.depths(within)
	dests := slices.Concat([][]int{within}, thresholds(within, depths), alone(within, depths))
	for i, w := range sources {
		for k, v := range dests {
			if c.s.stopped() {
				return
			}
			c.take(e, w, v, i == 0, k == 0)
		}
	}
}

// thresholds returns the subsets of a list whose distances are those of a quantile or more,
// without the whole.
func thresholds(list []int, distance []model.Time) (sets [][]int) {
	steps := slices.Compact(slices.Sorted(slices.Values(distance)))[1:]
	n := len(steps)
	for i := range min(n, maxThresholds) {
		at := steps[i*n/min(n, maxThresholds)]
		var set []int
		for j, x := range list {
			if distance[j] >= at {
				set = append(set, x)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// alone returns each of the ranks of a list whose depths are greatest, if there are several.
func alone(list []int, depth []model.Time) (sets [][]int) {
	places := make([]int, len(list))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(depth[b], depth[a]) })
	for _, i := range places[:min(len(places), maxAlone)] {
		if len(list) > 1 {
			sets = append(sets, []int{list[i]})
		}
	}
	return sets
}

// entry is links into a set that are alike.
type entry struct {
	src, dst  int
	alpha     model.Time
	bandwidth uint64 // of all
}

// entering is a set with what it takes to value it.
type entering struct {
	*covering
	inside  []bool
	entries []entry
	lanes   []lane
	adds    bool           // a switch may add before links into the set
	copies  bool           // one may copy behind them
	far     [][]model.Time // as covering has them, or outside alone
	onto    [][]way
	inward  map[int][]way        // by node y: ranks of the set that are reached from it over switches
	served  map[int][]model.Time // D', by rank z of those
}

// entering looks at a set where ways enter it for the first time, or for the last time.
func (c *covering) entering(inside []bool, first bool) *entering {
	e := &entering{covering: c, inside: inside, adds: c.adds, far: c.far, onto: c.onto, inward: map[int][]way{}, served: map[int][]model.Time{}}
	var before []bool
	behind := inside
	if first {
		before, behind = complement(inside), nil
		e.far, e.onto, e.adds = c.distant(before), make([][]way, c.t.Nodes()), false
	}
	for v := range inside {
		e.adds = e.adds || first && !inside[v] && c.t.Reduces(v) != model.NoReducing
		e.copies = e.copies || (first || inside[v]) && c.t.Copies(v)
	}
	type ends struct {
		src, dst int
		alpha    model.Time
	}
	known := map[ends]int{}
	for i := range c.t.Links {
		l := &c.t.Links[i]
		if inside[l.Src] || !inside[l.Dst] {
			continue
		}
		a := lane{link: i, bandwidth: l.Bandwidth}
		if c.p.Cost != model.Pipelined {
			a.beside = l.Alpha
		}
		e.lanes = append(e.lanes, a)
		k := ends{l.Src, l.Dst, l.Alpha}
		j, seen := known[k]
		if !seen || e.entries[j].bandwidth > math.MaxInt64 {
			j = len(e.entries)
			known[k] = j
			e.entries = append(e.entries, entry{src: l.Src, dst: l.Dst, alpha: l.Alpha})
			if e.onto[l.Src] == nil {
				e.onto[l.Src] = c.ways(l.Src, before, true)
			}
			if e.inward[l.Dst] == nil {
				e.inward[l.Dst] = c.ways(l.Dst, behind, false)
			}
		}
		e.entries[j].bandwidth += uint64(l.Bandwidth)
	}
	start := slices.Repeat([]model.Time{model.MaxTime}, c.t.Ranks)
	for _, list := range e.inward {
		for _, w := range list {
			if e.served[w.rank] == nil {
				start[w.rank] = 0
				e.served[w.rank] = c.reachAmong(behind, start, c.least, false, false).full
				start[w.rank] = model.MaxTime
				c.s.left -= len(c.t.Links)
			}
		}
	}
	return e
}

// ways returns the ranks that are reached from a node over switches of a set, nil for all, or
// backwards, with the least latency; a rank itself reaches itself alone.
func (f *finder) ways(from int, among []bool, back bool) []way {
	if f.t.IsRank(from) {
		return []way{{from, 0}}
	}
	links := f.out
	if back {
		links = f.in
	}
	least := map[int]model.Time{from: 0}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		if f.t.IsRank(u) {
			continue
		}
		for _, i := range links[u] {
			l := &f.t.Links[i]
			v := l.Src + l.Dst - u
			if among != nil && !among[v] {
				continue
			}
			if old, known := least[v]; !known || least[u].Add(l.Alpha) < old {
				least[v] = least[u].Add(l.Alpha)
				queue = append(queue, v)
			}
		}
	}
	var list []way
	for v, alpha := range least {
		if f.t.IsRank(v) {
			list = append(list, way{v, alpha})
		}
	}
	slices.SortFunc(list, func(a, b way) int { return cmp.Compare(a.rank, b.rank) })
	return list
}

// distances returns how soon what members contribute can be at the set's links.
func (e *entering) distances(outside []int) []model.Time {
	d := slices.Repeat([]model.Time{model.MaxTime}, len(outside))
	for _, x := range e.entries {
		for _, u := range e.onto[x.src] {
			for i, w := range outside {
				d[i] = min(d[i], e.far[w][u.rank].Add(u.alpha).Add(x.alpha))
			}
		}
	}
	e.s.left -= len(outside) * len(e.entries)
	return d
}

// depths returns how soon ranks can have what entered the set.
func (e *entering) depths(within []int) []model.Time {
	d := slices.Repeat([]model.Time{model.MaxTime}, len(within))
	soonest := map[int]model.Time{} // by rank, on the way from any entry
	for _, ways := range e.inward {
		for _, z := range ways {
			if at, known := soonest[z.rank]; !known || z.alpha < at {
				soonest[z.rank] = z.alpha
			}
		}
	}
	for z, alpha := range soonest {
		served := e.served[z]
		for i, v := range within {
			d[i] = min(d[i], served[v].Add(alpha))
		}
	}
	e.s.left -= len(within) * len(e.entries)
	return d
}

// lowest returns, of lists of times, the least first ones, second ones and so on, when each list is
// sorted: by when how many of one list are over. It returns one where most is 1.
func (e *entering) lowest(lists [][]model.Time, all bool) []model.Time {
	var low []model.Time
	for _, list := range lists {
		e.s.left -= 4 * len(list)
		if !all {
			list = []model.Time{slices.Min(list)}
		}
		slices.Sort(list)
		for i, at := range list {
			if i == len(low) {
				low = append(low, at)
			} else {
				low[i] = min(low[i], at)
			}
		}
	}
	return low
}

// load returns what has to pass: each part as often as it has pairs.
func (e *entering) load(outside, within []int) *load {
	l := &load{}
	w, v := int64(len(outside)), int64(len(within))
	switch {
	case e.fromAll && e.toAll:
		for i := range e.parts {
			l.add(e.shape(int32(i)), w*v)
		}
	case e.toAll:
		for _, m := range outside {
			for _, i := range e.bySrc[e.members[m]] {
				l.add(e.shape(i), v)
			}
		}
	case e.fromAll:
		for _, r := range within {
			for _, i := range e.byDst[r] {
				l.add(e.shape(i), w)
			}
		}
	default:
		in := make([]bool, e.t.Ranks)
		for _, r := range within {
			in[r] = true
		}
		for _, m := range outside {
			e.s.left -= len(e.bySrc[e.members[m]])
			for _, i := range e.bySrc[e.members[m]] {
				if in[e.parts[i].dst] {
					l.add(e.shape(i), 1)
				}
			}
		}
	}
	e.s.left -= len(outside) + len(within)
	return l
}

// worth returns the bound of the set for the contributions of some members, which are outside,
// and the needs of some ranks, which are inside.
func (e *entering) worth(outside, within []int) model.Time {
	l := e.load(outside, within)
	if l.count == 0 {
		return 0
	}
	if len(e.entries) == 0 {
		return model.MaxTime
	}
	p := e.passage(e.lanes, l)
	best := e.by(outside, within, p.bytes, false)
	if !e.free {
		best = max(best, e.by(outside, within, p.need, true))
	}
	return best
}

// by returns the least T at which what can have entered reaches an area. occupied tells that
// the area has what occupies links beside their bytes.
func (e *entering) by(outside, within []int, need area, occupied bool) model.Time {
	type ends struct {
		node    int
		arrival model.Time
	}
	heads, tails := map[ends][]model.Time{}, map[int][]model.Time{}
	slope := map[model.Time]area{}
	for _, x := range e.entries {
		if e.budget.Spent() {
			return 0
		}
		k := ends{node: x.src}
		if e.t.IsRank(x.dst) {
			k.arrival = e.p.ReleaseOf(x.dst)
		}
		if heads[k] == nil {
			var lists [][]model.Time
			for _, u := range e.onto[x.src] {
				list := make([]model.Time, len(outside))
				for i, w := range outside {
					list[i] = max(e.far[w][u.rank], k.arrival).Add(u.alpha)
				}
				if e.adds && len(lists) > 0 {
					for i, at := range list {
						lists[0][i] = min(lists[0][i], at)
					}
					continue
				}
				lists = append(lists, list)
			}
			heads[k] = e.lowest(lists, e.fromAll)
		}
		if tails[x.dst] == nil {
			var lists [][]model.Time
			for _, z := range e.inward[x.dst] {
				list := make([]model.Time, len(within))
				for i, v := range within {
					list[i] = e.served[z.rank][v].Add(z.alpha)
				}
				if e.copies && len(lists) > 0 {
					for i, at := range list {
						lists[0][i] = min(lists[0][i], at)
					}
				} else {
					lists = append(lists, list)
				}
			}
			tails[x.dst] = e.lowest(lists, e.toAll)
		}
		alpha := x.alpha
		if occupied && e.p.Cost != model.Pipelined {
			alpha = 0
		}
		for _, h := range runs(heads[k]) {
			for _, t := range runs(tails[x.dst]) {
				at := h.at.Add(t.at).Add(alpha)
				slope[at] = slope[at].plus(area{0, x.bandwidth}.times(h.n * t.n))
			}
		}
	}
	bends := make([]model.Time, 0, len(slope))
	for at := range slope {
		if at != model.MaxTime {
			bends = append(bends, at)
		}
	}
	slices.Sort(bends)
	var have, rate area // what can have entered by last, and how fast that grows
	last := model.Time(0)
	for _, at := range bends {
		next := have.plus(rate.times(int64(at - last)))
		if !next.less(need) {
			break
		}
		have, last = next, at
		rate = rate.plus(slope[at])
	}
	if rate == (area{}) {
		return model.MaxTime
	}
	left, speed := new(big.Int).Sub(need.big(), have.big()), rate.big()
	left.Add(left, speed).Sub(left, big.NewInt(1)).Div(left, speed)
	if !left.IsInt64() {
		return model.MaxTime
	}
	return last.Add(model.Time(left.Int64()))
}

// run is n times that are equal.
type run struct {
	at model.Time
	n  int64
}

// runs counts equal ones of sorted times.
func runs(times []model.Time) (list []run) {
	for _, at := range times {
		if n := len(list); n > 0 && list[n-1].at == at {
			list[n-1].n++
		} else {
			list = append(list, run{at, 1})
		}
	}
	return list
}

func (a area) big() *big.Int {
	x := new(big.Int).SetUint64(a.hi)
	return x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(a.lo))
}

package bound

import (
	"cmp"
	"math"
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
	onto   []*reach       // by node x: what it is reached from over switches
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
	c := &covering{finder: f, known: map[uint64]model.Time{}, close: map[string]bool{}, onto: make([]*reach, f.t.Nodes()), least: math.MaxInt64}
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

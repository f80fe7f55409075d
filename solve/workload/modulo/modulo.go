// Package modulo schedules periodic workloads on the links of their network: iterative modulo scheduling (Rau,
// "Iterative modulo scheduling", International Journal of Parallel Programming 24, 1996), in which what a period's
// operations use is booked on a circle of the length of the period. Each collective has a program, which is moved as a
// whole, so that collectives of several jobs overlap where their transfers leave each other's links free. Computations
// begin on all their ranks at once.
//
// From a period that is as short as any can be on, longer ones are tried until one has room for all, and then some between it and the
// last that had none. Collectives that share ranks begin there in one order, as libraries need it. Nothing here is
// trusted: verify/workload decides.
package modulo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// Limits of the search.
const (
	maxNodes  = 1 << 14
	maxUses   = 1 << 21
	growth    = 32 // a period that has no room is followed by one longer by this part of it
	attempts  = 160
	bisection = 6  // periods that are tried between one that has room and one that has none
	budget    = 12 // placements of each operation, on average, before a period is given up
)

// use is a resource that a node keeps: one of several of the same kind, from a time after its start.
type use struct {
	choice, end int32
	from, lasts model.Time
}

// wait has a node begin no sooner than a time after another one, periods before.
type wait struct {
	from, to int
	delay    model.Time // from start to start
	periods  int
}

// node is an iteration of an operation in a period.
type node struct {
	op, iteration int
	first, last   map[int]model.Time // by rank, from its start on
	uses          []use
	collective    bool  // among several
	into, out     []int // waits
}

// span is where a resource is kept, on the circle.
type span struct {
	from, to model.Time
	owner    int
}

// table is what a search has.
type table struct {
	ctx    context.Context
	w      *wl.Workload
	nodes  []*node
	waits  []wait
	period model.Time
	lines  [][]span // by resource, in order
	at     []model.Time
	placed []bool
	before []model.Time // where a node was when it was displaced
	tried  []bool
	height []model.Time
}

// Schedule returns a schedule of a periodic workload whose collectives have programs and cuts. No period is shorter
// than least. Once ctx is done it returns its error.
func Schedule(ctx context.Context, w *wl.Workload, programs []*model.Schedule, least model.Time) (*wl.Schedule, error) {
	if !w.Periodic {
		return nil, solve.NotServed("serves what goes on for ever")
	}
	t := &table{ctx: ctx, w: w}
	if err := t.list(programs); err != nil {
		return nil, err
	}
	room, none := model.Time(0), max(least, t.longest())-1
	var best []model.Time
	for try := range attempts {
		period := none + 1
		if try > 0 {
			period = none.Add(max(1, none/growth))
		}
		ok, err := t.search(period)
		if err != nil {
			return nil, err
		}
		if ok {
			room, best = period, slices.Clone(t.at)
			break
		}
		none = period
	}
	if best == nil {
		return nil, solve.NotServed("no period up to %v has room for all", none)
	}
	for range bisection {
		period := none + (room-none)/2
		if period <= none {
			break
		}
		ok, err := t.search(period)
		if err != nil {
			break // what there is, is right
		}
		if ok {
			room, best = period, slices.Clone(t.at)
		} else {
			none = period
		}
	}
	return t.schedule(room, best, programs), nil
}

// list makes the nodes and the waits.
func (t *table) list(programs []*model.Schedule) error {
	board := timing.NewBoard(&model.Problem{Topology: t.w.Topology, Cost: t.w.Cost})
	of := make([][]int, len(t.w.Ops))
	most := int32(0)
	total := 0
	for i := range t.w.Ops {
		op := &t.w.Ops[i]
		_, collective := op.Kind.Collective()
		if collective && (programs[i] == nil || op.Chunks == nil) {
			return fmt.Errorf("%s has no program, or no chunks", op.ID)
		}
		var uses []use
		first, last := map[int]model.Time{}, map[int]model.Time{}
		members := t.w.Members(op.Group)
		switch {
		case op.Kind == wl.Compute:
			for m, v := range members {
				first[v], last[v] = 0, t.w.DurationOn(i, m)
				uses = append(uses, use{int32(-1 - v), 0, 0, last[v]})
			}
		case collective:
			p := t.w.Problem(i)
			var of []network.Use
			for k := range programs[i].Transfers {
				x := &programs[i].Transfers[k]
				route := programs[i].Routes[x.Route]
				ranks := []int{int(x.Src)}
				for _, l := range route {
					if v := t.w.Topology.Links[l].Dst; t.w.Topology.IsRank(v) {
						ranks = append(ranks, v)
					}
				}
				for _, v := range ranks {
					if _, there := last[v]; !there {
						first[v] = x.Start
					}
					first[v], last[v] = min(first[v], x.Start), max(last[v], x.End)
				}
				of = board.Uses(route, p.Chunks[x.Chunk].Size, of[:0])
				for _, u := range of {
					uses = append(uses, use{u.Choice, u.ChoiceEnd, x.Start + u.From, u.Extra})
				}
			}
			uses = merged(uses)
		}
		for _, v := range members {
			if _, there := last[v]; !there { // it passes when it is placed
				first[v], last[v] = 0, 0
			}
		}
		for _, u := range uses {
			most = max(most, u.end)
		}
		for k := range t.w.Iterations(i) {
			of[i] = append(of[i], len(t.nodes))
			t.nodes = append(t.nodes, &node{op: i, iteration: k, first: first, last: last, uses: uses, collective: collective && len(members) > 1})
			total += len(uses)
		}
		if len(t.nodes) > maxNodes || total > maxUses {
			return solve.NotServed("more than %d operations, or %d uses of links, in a period", maxNodes, maxUses)
		}
	}
	for _, n := range t.nodes { // ranks come after links
		for k := range n.uses {
			if u := &n.uses[k]; u.choice < 0 {
				u.choice = most - 1 - u.choice
				u.end = u.choice + 1
			}
		}
	}
	t.lines = make([][]span, int(most)+t.w.Topology.Ranks)
	for _, e := range t.w.Edges {
		for k, to := range of[e.To] {
			n := len(of[e.From])
			back := k - e.Height
			periods := (back - (back%n+n)%n) / n // at most 0
			t.wait(&e, of[e.From][(back%n+n)%n], to, -periods)
		}
	}
	return nil
}

// merged joins what follows each other on one resource.
func merged(uses []use) []use {
	slices.SortFunc(uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.choice, b.choice), cmp.Compare(a.end, b.end), cmp.Compare(a.from, b.from))
	})
	var all []use
	for _, u := range uses {
		if u.lasts == 0 {
			continue
		}
		if k := len(all) - 1; k >= 0 && u.end == u.choice+1 && all[k].choice == u.choice && all[k].end == u.end && u.from <= all[k].from+all[k].lasts {
			all[k].lasts = max(all[k].lasts, u.from+u.lasts-all[k].from)
			continue
		}
		all = append(all, u)
	}
	return all
}

// wait adds what an edge has a node wait for. A chunk waits as the whole does.
func (t *table) wait(e *wl.Edge, from, to, periods int) {
	a, b := t.nodes[from], t.nodes[to]
	ends := a.last
	if e.FromStart {
		ends = map[int]model.Time{}
		for v, at := range a.first {
			ends[v] = at + e.Offset
		}
	}
	delay, waits := -model.MaxTime, false
	for _, v := range t.w.Members(t.w.Ops[b.op].Group) {
		for _, u := range t.w.Members(t.w.Ops[a.op].Group) {
			if u == v || e.Scope == wl.ByAll {
				delay, waits = max(delay, ends[u]-b.first[v]), true
			}
		}
	}
	if waits {
		a.out, b.into = append(a.out, len(t.waits)), append(b.into, len(t.waits))
		t.waits = append(t.waits, wait{from, to, delay, periods})
	}
}

// longest returns the longest that a resource is kept without a break, and the most that any is kept in all.
func (t *table) longest() model.Time {
	kept := map[[2]int32]model.Time{}
	least := model.Time(1)
	for _, n := range t.nodes {
		for _, u := range n.uses {
			key := [2]int32{u.choice, u.end}
			kept[key] += u.lasts
			least = max(least, u.lasts, (kept[key]+model.Time(u.end-u.choice)-1)/model.Time(u.end-u.choice))
		}
	}
	return least
}

// heights sets the longest way from each node on; ok is false if a cycle takes longer than its periods.
func (t *table) heights() (ok bool) {
	t.height = make([]model.Time, len(t.nodes))
	for range len(t.nodes) + 1 {
		changed := false
		for _, w := range t.waits {
			if h := t.height[w.to] + w.delay - t.period.Mul(int64(w.periods)); h > t.height[w.from] {
				t.height[w.from], changed = h, true
			}
		}
		if !changed {
			return true
		}
	}
	return false
}

// search looks for a place of each node in a period.
func (t *table) search(period model.Time) (ok bool, err error) {
	if err := t.ctx.Err(); err != nil {
		return false, err
	}
	t.period = period
	if !t.heights() {
		return false, nil
	}
	n := len(t.nodes)
	t.at, t.placed, t.before, t.tried = make([]model.Time, n), make([]bool, n), make([]model.Time, n), make([]bool, n)
	for i := range t.lines {
		t.lines[i] = t.lines[i][:0]
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.height[b], t.height[a]) })
	for range budget*n + 32 {
		if err := t.ctx.Err(); err != nil {
			return false, err
		}
		k := slices.IndexFunc(order, func(i int) bool { return !t.placed[i] })
		if k < 0 {
			return true, nil
		}
		i := order[k]
		soonest := model.Time(0)
		for _, e := range t.nodes[i].into {
			if w := &t.waits[e]; w.from != i && t.placed[w.from] {
				soonest = max(soonest, t.at[w.from]+w.delay-t.period.Mul(int64(w.periods)))
			}
		}
		at, free := t.first(i, soonest)
		if !free {
			at = soonest
			if t.tried[i] && soonest <= t.before[i] {
				at = t.before[i] + max(1, period/growth)
			}
			if !t.clear(i, at) {
				return false, nil
			}
		}
		if at > model.MaxEnd/4 {
			return false, nil
		}
		t.put(i, at)
	}
	return false, nil
}

// fits reports whether a use is free if its node begins at a time, on which resource, and else how much later it could be.
func (t *table) fits(u *use, at model.Time) (choice int32, later model.Time, ok bool) {
	later = model.MaxTime
	for c := u.choice; c < u.end; c++ {
		l := t.conflict(c, at+u.from, u.lasts, nil)
		if l == 0 {
			return c, 0, true
		}
		later = min(later, l)
	}
	return 0, later, false
}

// conflict returns how much later than a time something could begin on a resource so that the first that is in its way
// is over; 0: nothing is. Where visit is not nil, it is called with all owners in the way.
func (t *table) conflict(c int32, at, lasts model.Time, visit func(owner int)) (later model.Time) {
	if lasts > t.period {
		return t.period
	}
	from := at % t.period
	for _, turn := range []model.Time{0, t.period} { // what goes past the end of the period begins it
		lo, hi := from-turn, from-turn+lasts
		line := t.lines[c]
		i, _ := slices.BinarySearchFunc(line, lo, func(s span, lo model.Time) int { return cmp.Compare(s.to, lo+1) })
		for ; i < len(line) && line[i].from < hi; i++ {
			if visit == nil {
				return line[i].to - lo
			}
			visit(line[i].owner)
		}
	}
	return 0
}

// turned returns how much later than at node i would have to be so that it begins on all ranks that it shares with a
// collective before it, or on all after it; 0: it does.
func (t *table) turned(i, j int, at model.Time) model.Time {
	a, b := t.nodes[i], t.nodes[j]
	lo, hi := model.MaxTime, -model.MaxTime
	for v, x := range a.first {
		if y, shared := b.first[v]; shared {
			d := at + x - t.at[j] - y
			lo, hi = min(lo, d), max(hi, d)
		}
	}
	if lo >= hi {
		return 0
	}
	k := lo / t.period // the next whole period above lo
	if lo < 0 && lo%t.period != 0 {
		k--
	}
	if next := (k + 1) * t.period; next < hi {
		return next - lo
	}
	return 0
}

// first returns the first time from soonest on at which node i has room.
func (t *table) first(i int, soonest model.Time) (at model.Time, ok bool) {
	n := t.nodes[i]
	at = soonest
search:
	for at < soonest+t.period {
		for k := range n.uses {
			if _, later, ok := t.fits(&n.uses[k], at); !ok {
				at += later
				continue search
			}
		}
		for j, m := range t.nodes {
			if n.collective && m.collective && t.placed[j] {
				if later := t.turned(i, j, at); later > 0 {
					at += later
					continue search
				}
			}
		}
		if !t.alone(i, at) { // it is in its own way, in the next period or at a port with several places
			at += max(1, t.period/growth)
			continue
		}
		return at, true
	}
	return 0, false
}

// alone reports whether a node leaves room for itself in the next periods.
func (t *table) alone(i int, at model.Time) bool {
	n := t.nodes[i]
	whole := true
	for k := range n.uses {
		c, _, ok := t.fits(&n.uses[k], at)
		if !ok {
			whole = false
			break
		}
		t.keep(c, at+n.uses[k].from, n.uses[k].lasts, i)
	}
	t.release(i)
	return whole
}

// keep books a resource.
func (t *table) keep(c int32, at, lasts model.Time, owner int) {
	from := at % t.period
	add := func(s span) {
		k, _ := slices.BinarySearchFunc(t.lines[c], s.from, func(x span, from model.Time) int { return cmp.Compare(x.from, from) })
		t.lines[c] = slices.Insert(t.lines[c], k, s)
	}
	if from+lasts > t.period {
		add(span{0, from + lasts - t.period, owner})
		lasts = t.period - from
	}
	add(span{from, from + lasts, owner})
}

// release gives back what a node has booked.
func (t *table) release(i int) {
	for k := range t.nodes[i].uses {
		u := &t.nodes[i].uses[k]
		for c := u.choice; c < u.end; c++ {
			t.lines[c] = slices.DeleteFunc(t.lines[c], func(s span) bool { return s.owner == i })
		}
	}
}

// displace takes a node out.
func (t *table) displace(i int) {
	t.release(i)
	t.placed[i] = false
}

// clear displaces what is in the way of node i; ok is false if that is the node itself.
func (t *table) clear(i int, at model.Time) (ok bool) {
	n := t.nodes[i]
	for k := range n.uses {
		u := &n.uses[k]
		if _, _, free := t.fits(u, at); free {
			continue
		}
		if u.lasts > t.period {
			return false
		}
		var owners []int
		t.conflict(u.choice, at+u.from, u.lasts, func(owner int) { owners = append(owners, owner) })
		for _, j := range owners {
			if t.placed[j] {
				t.displace(j)
			}
		}
	}
	for j, m := range t.nodes {
		if n.collective && m.collective && t.placed[j] && t.turned(i, j, at) > 0 {
			t.displace(j)
		}
	}
	return t.alone(i, at)
}

// put places a node, and displaces those for which it comes too late.
func (t *table) put(i int, at model.Time) {
	n := t.nodes[i]
	for k := range n.uses {
		if c, _, ok := t.fits(&n.uses[k], at); ok {
			t.keep(c, at+n.uses[k].from, n.uses[k].lasts, i)
		}
	}
	t.at[i], t.placed[i], t.before[i], t.tried[i] = at, true, at, true
	for _, e := range n.out {
		if w := &t.waits[e]; w.to != i && t.placed[w.to] && t.at[w.to] < at+w.delay-t.period.Mul(int64(w.periods)) {
			t.displace(w.to)
		}
	}
}

// schedule returns the schedule, from the first whole period on in which nobody is late.
func (t *table) schedule(period model.Time, at []model.Time, programs []*model.Schedule) *wl.Schedule {
	s := &wl.Schedule{Workload: t.w, Period: period}
	late := model.Time(0)
	for i, n := range t.nodes {
		for v, first := range n.first {
			late = max(late, t.w.ReleaseOf(n.op, v)-at[i]-first)
		}
	}
	shift := period.Mul(int64((late + period - 1) / period))
	index := map[*model.Schedule]int{}
	for i, n := range t.nodes {
		p := wl.Placement{Op: n.op, Iteration: n.iteration, Program: -1}
		start := at[i] + shift
		switch op := &t.w.Ops[n.op]; {
		case op.Kind == wl.Compute:
			for range t.w.Members(op.Group) {
				p.Starts = append(p.Starts, start)
			}
		case programs[n.op] == nil:
			p.At = start
		default:
			k, known := index[programs[n.op]]
			if !known {
				k = len(s.Programs)
				index[programs[n.op]], s.Programs = k, append(s.Programs, programs[n.op])
			}
			p.At, p.Program = start, k
		}
		s.Placed = append(s.Placed, p)
	}
	return s
}

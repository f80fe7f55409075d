package quotient

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// inserting puts the parts of an all-to-all into a plan one after the other, each on the way on which it arrives first beside
// those that are there, gaps included: the A* algorithm (Hart, Nilsson, Raphael, IEEE Transactions on Systems Science and Cybernetics
// 4, 1968) with what machines do already, and the time that is left where they do nothing. Then it takes some out again, those that
// arrive last among them, and puts them back in another order; what is no worse stays (P. Shaw, "Using constraint programming and
// local search methods to solve vehicle routing problems", CP 1998). Conveying balances loads and leaves the times to a rule; here ways
// are chosen with their times, so that what has far to go takes links that are hardly used when it needs them. It is what package flows does
// for chunks, for the few parts that a group leaves.
type inserting struct {
	*plan // without jobs until it is over
	busy  []book
	ways  [][]job      // by part: its hops, in order
	ends  []model.Time // by part: when it arrives
	alone []model.Time // by part: when it would arrive if there were no others
	from  [][]parent   // by rank: whence a part can come there
	rests map[[2]int32][]model.Time
	rng   *rand.Rand
	work  *counter

	label []model.Time // scratch of insert, by rank: when the part is there
	via   []hop        // the hop that brings it
	done  []bool
	open  heap.Heap[reached]
}

// Limits of insertions.
const (
	insertGap    = 0.004   // above the bound that the best plan is at least
	mostInserted = 1 << 13 // parts

	// insertLatencies is how long schedules are for which there are insertions, at most: in longer ones latencies count little, and other
	// methods are as good.
	insertLatencies = 40
	insertWork      = 3    // times half of the usual work is for one cut, at most
	allInserts      = 10   // times the usual work is for all of them, about
	idleInserts     = 8000 // as many changes in turn that gain nothing end it
	insertStride    = 400  // one of as many parts of the time is what a plan is to become shorter by at a time
	mostLate        = 8    // parts that arrive late and are taken out at a time
	mostInserts     = 24   // and others
)

// insert has insertions make plans of an all-to-all with more and more parts, as long as that gains something.
func (s *search) insert() {
	if s.p.Collective.Kind != model.AllToAll || s.p.Cost.Synchronous() || len(s.shops) == 0 || s.gap() < insertGap {
		return
	}
	c, shortest := cut{parts: 1, ratio: 1}, never
	if s.p.Chunks != nil {
		c.parts = 0
	}
	shop := s.freest()
	if shop < 0 {
		return
	}
	x := s.shops[shop].s
	if float64(s.bound) >= insertLatencies*float64(x.time(&x.ways[0], 1, 1).lasts) {
		return
	}
	until := s.work + allInserts*s.usual
	var last *plan // of parts that are twice as large
	for idle := 0; idle < 3 && s.gap() >= insertGap && s.work < until && s.ctx.Err() == nil; c.parts *= 2 {
		t := s.trialOf(shop, c)
		if t == nil {
			return
		}
		if t.divide(); len(t.parts) > mostInserted {
			return
		}
		w := &counter{ctx: s.ctx, limit: insertWork * s.usual / 2}
		y := newInserting(t, w)
		var whole *plan
		if last != nil {
			whole = last.halves(t.x.s, t.parts, true)
			whole.early(whole.waits(), nil)
		}
		y.run(max(s.bound, s.o.Enough), t.best, whole)
		s.work += w.n
		s.budget += w.n
		if y.end > 0 {
			t.keep(y.plan)
			s.note(t)
			last = t.best
		}
		if idle++; t.best != nil && float64(t.best.end) < 0.999*float64(shortest) {
			idle, shortest = 0, t.best.end
		}
		if c.parts == 0 {
			return
		}
	}
}

// freest returns the largest group of which copies of no hop meet, so that none have to wait for each other; -1 if machines have several
// lanes, of which what is put back may find none.
func (s *search) freest() int {
	if slices.ContainsFunc(s.shops[0].s.lanes, func(n int32) bool { return n != 1 }) {
		return -1
	}
	meet := func(w way) bool { return w.batches > 1 }
	return max(0, slices.IndexFunc(s.shops, func(x *reducing) bool { return !slices.ContainsFunc(x.s.ways, meet) }))
}

// trialOf returns the trial of a cut with one of the groups, a new one if there is none yet; nil if it is too large.
func (s *search) trialOf(shop int, c cut) *trial {
	for _, t := range s.trials {
		if t.x.index == shop && t.cut == c {
			return t
		}
	}
	return s.add(shop, c, anywhere, false)
}

func newInserting(t *trial, work *counter) *inserting {
	s := t.x.s
	n := s.t.Ranks
	x := &inserting{plan: &plan{s: s, parts: t.parts}, busy: s.books(), ways: make([][]job, len(t.parts)), ends: make([]model.Time, len(t.parts)),
		alone: make([]model.Time, len(t.parts)), from: s.parents()[model.Copy], rests: map[[2]int32][]model.Time{}, rng: t.rng, work: work,
		label: make([]model.Time, n), via: make([]hop, n), done: make([]bool, n)}
	return x
}

// run makes a plan, and makes it shorter until it ends at the goal, or that is of no use any more. The plan has no jobs if there is no
// time to make one.
func (x *inserting) run(goal model.Time, from ...*plan) {
	order := make([]int32, len(x.parts))
	for i := range x.parts {
		order[i] = int32(i)
		if to := int32(x.parts[i].to); x.parts[i].root != int(to) {
			x.alone[i] = x.rest(to, x.parts[i].kind)[x.parts[i].root]
		}
	}
	x.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, x.farther)
	for _, i := range order {
		if !x.insert(i) || x.work.stop() {
			return
		}
	}
	for _, y := range from {
		if y != nil && y.end < x.last() {
			x.follow(y)
		}
	}
	x.improve(goal)
	for i := range x.ways {
		x.jobs = append(x.jobs, x.ways[i]...)
	}
	x.end = x.last()
	for x.work.ctx.Err() == nil && x.justify(nil) {
		x.work.n += 4 * hopWork * int64(len(x.jobs))
	}
}

// follow takes over the ways and times of a plan of the same parts.
func (x *inserting) follow(y *plan) {
	for i := range x.parts {
		x.remove(int32(i))
	}
	for _, i := range y.order(func(j *job) model.Time { return j.start }) {
		j := y.jobs[i]
		x.book(&j, true)
		x.ways[j.part] = append(x.ways[j.part], j)
		x.ends[j.part] = max(x.ends[j.part], j.end)
	}
}

// farther puts parts first that have farther to go.
func (x *inserting) farther(i, j int32) int { return cmp.Compare(x.alone[j], x.alone[i]) }

// improve changes what is there until it ends at the goal, or many changes in turn gain nothing.
func (x *inserting) improve(goal model.Time) {
	end := x.last()
	target := end - end/insertStride
	late := x.late(target)
	for idle := 0; idle < idleInserts && end > goal && !x.work.stop(); idle++ {
		if less := x.change(x.chosen(target), target, late); less < late {
			late, idle = less, 0
		}
		if late == 0 {
			end = x.last()
			target = end - end/insertStride
			late = x.late(target)
		}
	}
}

// last returns when all parts have arrived.
func (x *inserting) last() model.Time { return slices.Max(x.ends) }

// late returns by how much parts arrive after a time, in all.
func (x *inserting) late(target model.Time) (sum model.Time) {
	for _, end := range x.ends {
		sum += max(0, end-target)
	}
	return sum
}

// chosen returns the parts to be taken out: some of those that arrive after a time, and others.
func (x *inserting) chosen(target model.Time) []int32 {
	var late, out []int32
	for i, end := range x.ends {
		if end > target {
			late = append(late, int32(i))
		}
	}
	x.rng.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	out = append(out, late[:min(len(late), 1+x.rng.IntN(mostLate))]...)
	for range 1 + x.rng.IntN(max(4, min(mostInserts, len(x.parts)/8))) {
		if i := int32(x.rng.IntN(len(x.parts))); !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// change takes parts out and puts them back, in the order of how far they go, those that were late first, or in any order. It returns how
// late parts are then, which is no more than before: else all stays as it was.
func (x *inserting) change(out []int32, target, before model.Time) model.Time {
	ways, ends := make([][]job, len(out)), make([]model.Time, len(out))
	after := before
	for n, i := range out {
		ways[n], ends[n] = x.ways[i], x.ends[i]
		after -= max(0, x.ends[i]-target)
		x.remove(i)
	}
	order := slices.Clone(out)
	switch x.rng.IntN(3) {
	case 0:
		slices.SortStableFunc(order, x.farther)
	case 1:
		x.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, i := range order {
		x.insert(i)
		if after += max(0, x.ends[i]-target); after > before {
			break
		}
	}
	if after <= before {
		return after
	}
	for _, i := range out {
		x.remove(i)
	}
	for n, i := range out {
		x.ways[i], x.ends[i] = ways[n], ends[n]
		for k := range x.ways[i] {
			x.book(&x.ways[i][k], true)
		}
	}
	return before
}

// remove takes a part out.
func (x *inserting) remove(i int32) {
	for k := range x.ways[i] {
		x.book(&x.ways[i][k], false)
	}
	x.ways[i], x.ends[i] = nil, 0
}

// book enters a hop into the books, or takes it out. What follows at once is one interval.
func (x *inserting) book(j *job, in bool) {
	w := x.s.step(j).way
	tm := x.s.at(w, &x.parts[j.part])
	for i, v := range x.s.ways[w].visits {
		span := model.Interval{From: j.start + tm.spans[i].From, To: j.start + tm.spans[i].To}
		if in {
			x.busy[v.machine][0].join(span)
		} else {
			x.busy[v.machine][0].split(span)
		}
	}
}

// insert puts a part in that is out, on the way on which it arrives first. It returns false if there is none.
func (x *inserting) insert(i int32) bool {
	p := &x.parts[i]
	from, to := int32(p.root), int32(p.to)
	if from == to {
		return true
	}
	rest := x.rest(to, p.kind)
	if rest[from] == never {
		return false
	}
	for v := range x.label {
		x.label[v], x.done[v] = never, false
	}
	x.label[from] = 0
	x.open = append(x.open[:0], reached{rest[from], from})
	for v := x.nearest(); v != to; v = x.nearest() {
		x.done[v] = true
		x.leave(v, p, rest)
	}
	way := []job(nil)
	for v := to; v != from; v = x.via[v].src {
		h := x.via[v]
		j := job{part: i, src: h.src, dst: h.dst, step: h.step, end: x.label[v]}
		j.start = j.end - x.s.at(x.s.step(&j).way, p).lasts
		way = append(way, j)
	}
	slices.Reverse(way)
	for k := range way {
		x.book(&way[k], true)
	}
	x.ways[i], x.ends[i] = way, x.label[to]
	return true
}

// nearest returns the rank, of those that the part has reached and not left, by which it may arrive first. An entry of a rank that was
// reached sooner since is no longer the first of that rank, so that the rank is done when it comes.
func (x *inserting) nearest() int32 {
	for {
		if v := x.open.Pop().rank; !x.done[v] {
			return v
		}
	}
}

// reached is a rank that a part has reached, and when the part may arrive by it.
type reached struct {
	arrives model.Time
	rank    int32
}

// Before orders a heap: the rank by which a part may arrive first comes first.
func (r reached) Before(s reached) bool {
	return r.arrives < s.arrives || r.arrives == s.arrives && r.rank < s.rank
}

// leave finds when a part that is at a rank can be at those to which hops lead, where that may help to be at the end of its way sooner.
func (x *inserting) leave(v int32, p *part, rest []model.Time) {
	steps, by := x.s.out[x.s.class[v]], x.s.g.Nodes(int(x.s.element[v]))
	for k := range steps {
		st := &steps[k]
		next := by[st.to]
		if x.done[next] || rest[next] == never {
			continue
		}
		tm := x.s.at(st.way, p)
		before := x.label[next] // it is to be there sooner
		if goal := x.label[p.to]; goal < never {
			before = min(before, goal-rest[next])
		}
		at := max(x.label[v], st.wait)
		if at+tm.lasts >= before {
			continue
		}
		x.work.n += insertLook
		if at = x.s.opens(x.busy, st.way, tm, at, before-tm.lasts); at+tm.lasts < before {
			x.label[next], x.via[next] = at+tm.lasts, hop{v, next, int32(k)}
			x.open.Push(reached{at + tm.lasts + rest[next], next})
		}
	}
	x.work.n += int64(len(steps))
}

// insertLook is what it takes to find when machines can do a hop.
const insertLook = 10

// rest returns how long a part of a kind takes from each rank to another one, if there are no others; never if there is no way.
func (x *inserting) rest(to, kind int32) []model.Time {
	key := [2]int32{to, kind}
	if list := x.rests[key]; list != nil {
		return list
	}
	list := slices.Repeat([]model.Time{never}, x.s.t.Ranks)
	list[to] = 0
	for done := make([]bool, len(list)); ; {
		v := -1
		for u, at := range list {
			if !done[u] && at < never && (v < 0 || at < list[v]) {
				v = u
			}
		}
		if v < 0 {
			break
		}
		done[v] = true
		for _, q := range x.from[v] {
			w := x.s.out[x.s.class[q.rank]][q.step].way
			list[q.rank] = min(list[q.rank], list[v]+x.s.ways[w].times[kind].lasts)
		}
	}
	x.rests[key] = list
	return list
}

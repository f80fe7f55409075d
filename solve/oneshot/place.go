package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// hop is a pair of a step of a course, how long a small chunk takes from its start to the end of all, how much of that is left
// once it has come, and its rank in the order in which hops are placed.
type hop struct {
	step, pair       int32
	tail, rest, rank model.Time
}

// hops returns the pairs of a course, those first after whose start most time is needed. What a member sends before something
// comes is before that, unless both are exchanged in one step.
func (g *guide) hops(c *course) (all []hop) {
	if c.hops != nil {
		return c.hops
	}
	after := make([]model.Time, len(g.members)) // what is sent by a member in later steps, or sent on in this one
	for s := len(c.steps) - 1; s >= 0; s-- {
		x := &c.steps[s]
		sent := after
		if x.phase == exchanging {
			sent = slices.Clone(after)
		}
		for i := len(x.pairs) - 1; i >= 0; i-- {
			w := x.pairs[i]
			rest := after[w.to]
			tail := g.t.Duration(g.ways.routes[w.route], 1) + rest
			sent[w.from] = max(sent[w.from], tail)
			all = append(all, hop{int32(s), int32(i), tail, rest, tail})
		}
		after = sent
	}
	c.order(len(g.members), all)
	slices.SortFunc(all, func(a, b hop) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.step, b.step), cmp.Compare(a.pair, b.pair))
	})
	c.hops = all
	return all
}

// hops returns how many hops courses take.
func (s *search) hops(courses []*course) (n int) {
	for _, c := range courses {
		n += len(s.guide.hops(c))
	}
	return n
}

// order raises the ranks of the hops of a course among n members, which are in any order, where they are too low: a hop is placed before
// what its receiver sends on, before what comes to its receiver in later steps, and before what comes to its sender in later steps.
func (c *course) order(n int, hops []hop) {
	by := make([][]*hop, len(c.steps)) // by step and pair
	for s, x := range c.steps {
		by[s] = make([]*hop, len(x.pairs))
	}
	for i := range hops {
		by[hops[i].step][hops[i].pair] = &hops[i]
	}
	goes := make([]model.Time, n)  // the rank of what is sent by a member in later steps, or sent on in this one
	comes := make([]model.Time, n) // the rank of what comes to it in later steps
	for s := len(c.steps) - 1; s >= 0; s-- {
		x := &c.steps[s]
		went, come := goes, slices.Clone(comes)
		if x.phase == exchanging {
			went = slices.Clone(goes)
		}
		for i := len(x.pairs) - 1; i >= 0; i-- {
			w, h := x.pairs[i], by[s][i]
			h.rank = max(h.rank, goes[w.to]+1, comes[w.from]+1, comes[w.to]+1)
			went[w.from], come[w.to] = max(went[w.from], h.rank), max(come[w.to], h.rank)
		}
		goes, comes = went, come
	}
}

// moment is what is known of a member in a step of a chunk.
type moment struct {
	end   model.Time // when the last that comes has come
	came  model.Time // when the first has
	first int32      // its transfer
	start model.Time // when it sends for the last time
	stale bool
}

// item is a hop of a chunk, and its number among all.
type item struct {
	hop
	k, n int32
}

// reorder adds times to the ranks of the hops of a chunk by step, and no more than leaves all of a step before those of later ones.
func reorder(items []item, more []model.Time) {
	first := make([]model.Time, len(more)+1) // by step: the least rank that those before it may have
	for s := len(more) - 1; s >= 0; s-- {
		first[s] = first[s+1]
		for i := range items {
			if x := &items[i]; int(x.step) == s {
				x.rank = max(x.rank+more[s], first[s+1]+1)
				first[s] = max(first[s], x.rank)
			}
		}
	}
}

// undo is what a transfer changed.
type undo struct {
	from, to       *moment
	oldFrom, oldTo moment
}

// mostRewound is how often all are placed again at most because hops were too late.
const mostRewound = 4

// place places all chunks, each on its course, those hops first after whose start most time is needed: the serial list
// schedule of critical paths (Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited",
// European Journal of Operational Research 90, 1996). A member that exchanges has to have begun to send to all before the
// first of the others' has come: if a hop is too late for that it is placed sooner, and all since then is placed again. Where
// that happens often, or latencies do not count, all of a step is placed together. It returns false if that does not help or they are not over before
// some time.
func (b *builder) place(courses []*course, more [][]model.Time, before model.Time) bool {
	return b.placeFrom(0, courses, more, before)
}

// placeFrom places the chunks from one on, if those before it have been placed.
func (b *builder) placeFrom(first int, courses []*course, more [][]model.Time, before model.Time) bool {
	var items []item
	for k, c := range courses {
		for i, h := range b.guide.hops(c) {
			if b.ranks != nil {
				h.rank = b.ranks[k][i]
			}
			items = append(items, item{h, int32(k), int32(len(items))})
		}
		if more != nil {
			reorder(items[len(items)-len(c.hops):], more[k])
		}
	}
	if b.b.Spent() {
		return false
	}
	slices.SortFunc(items, func(x, y item) int { return cmp.Or(cmp.Compare(y.rank, x.rank), cmp.Compare(x.n, y.n)) })
	mark := len(b.transfers)
	late := !b.leading && b.ranks == nil || b.serial(first, courses, slices.Clone(items), len(items), before)
	if late {
		if b.cancel(mark); b.b.Spent() {
			return false
		}
		together(items, courses)
		late = b.serial(first, courses, items, mostRewound*len(items), before)
	}
	return !late && len(b.transfers) == mark+len(items)
}

// together has the hops of each step of a chunk follow each other, after those of the steps before it.
func together(items []item, courses []*course) {
	ranks := make([][]model.Time, len(courses)) // by chunk and step
	for k, c := range courses {
		ranks[k] = make([]model.Time, len(c.steps)+1)
	}
	for _, x := range items {
		ranks[x.k][x.step] = max(ranks[x.k][x.step], x.rank)
	}
	for _, list := range ranks {
		for s := len(list) - 2; s >= 0; s-- {
			list[s] = max(list[s], list[s+1]+1)
		}
	}
	for i := range items {
		items[i].rank = ranks[items[i].k][items[i].step]
	}
	slices.SortStableFunc(items, func(x, y item) int {
		return cmp.Or(cmp.Compare(y.rank, x.rank), cmp.Compare(x.k, y.k), cmp.Compare(x.step, y.step))
	})
}

// needs reports whether a hop must not be placed before another one of an earlier step, at whose end it comes. It would add what the
// other one is to send or get before.
func needs(courses []*course, x, y item) bool {
	if x.k != y.k || y.step >= x.step {
		return false
	}
	to := courses[x.k].steps[x.step].pairs[x.pair].to
	w := courses[y.k].steps[y.step].pairs[y.pair]
	return w.from == to || w.to == to
}

// serial places items in turn, and returns true if too many had to be placed again, or one cannot be placed sooner. If that cannot end
// in time it stops early.
func (b *builder) serial(first int, courses []*course, items []item, most int, before model.Time) (late bool) {
	n, base := b.n(), len(b.transfers)
	at := make([][]moment, len(courses)) // by chunk, step and member
	for k, c := range courses {
		at[k] = make([]moment, len(c.steps)*n)
		for i := range at[k] {
			at[k][i] = moment{came: model.MaxTime, start: -1}
		}
		for s, x := range c.steps {
			for _, v := range x.stale {
				at[k][s*n+v].stale = true
			}
		}
	}
	var log []undo
	for i := 0; i < len(items); i++ {
		x := items[i]
		c := courses[x.k]
		step := &c.steps[x.step]
		w := step.pairs[x.pair]
		member := func(s int32, v int) *moment { return &at[x.k][int(s)*n+v] }
		from, to := member(x.step, w.from), member(x.step, w.to)
		length := b.of(first+int(x.k), w).length
		if b.clash || b.b.Spent() {
			return false
		}
		start, after := model.Time(0), model.Time(-1) // what comes has to end after that
		for s := range x.step {
			start = max(start, member(s, w.from).end)
			m := member(s, w.to)
			after = max(after, m.start)
			if m.came < model.MaxTime && (m.stale || c.steps[s].phase == spreading) {
				after = max(after, m.came)
			}
		}
		op := model.Reduction
		switch step.phase {
		case exchanging:
			after = max(after, to.start)
		case spreading:
			op = model.Copy
			start = max(start, from.end)
		case collecting:
			start = max(start, from.end)
		}
		t := b.send(first+int(x.k), w, op, max(start, after+1-length))
		if to.stale && t.End == to.came {
			b.cancel(len(b.transfers) - 1)
			t = b.send(first+int(x.k), w, op, t.Start+1)
		}
		if t.End+x.rest >= before {
			b.cancel(len(b.transfers) - 1)
			return false
		}
		if step.phase == exchanging && t.Start >= from.came { // too late: go back to before what came first
			mark := int(from.first) - base
			most -= i - mark
			if most < 0 || slices.ContainsFunc(items[mark:i], func(y item) bool { return needs(courses, x, y) }) {
				return true
			}
			b.cancel(base + mark)
			for len(log) > mark {
				u := log[len(log)-1]
				*u.to, *u.from = u.oldTo, u.oldFrom
				log = log[:len(log)-1]
			}
			copy(items[mark+1:i+1], items[mark:i])
			items[mark] = x
			i = mark - 1
			continue
		}
		log = append(log, undo{from, to, *from, *to})
		from.start = max(from.start, t.Start)
		to.end = max(to.end, t.End)
		if t.End < to.came {
			to.came, to.first = t.End, int32(len(b.transfers)-1)
		}
	}
	for k := range at {
		for i := range at[k] {
			if m := &at[k][i]; m.stale && m.came < model.MaxTime {
				b.transfers[m.first].Op = model.Copy
			}
		}
	}
	return false
}

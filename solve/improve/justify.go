package improve

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// justify starts all transfers as late as they can, and then as early as they can, or the other
// way round: what was in the way of others moves into gaps.
//
// Nothing ends later than the last, or starts earlier than the first did: every move can stay
// where it is.
func (r *repair) justify(lateFirst bool) {
	if lateFirst {
		r.push(true)
		r.push(false)
	} else {
		r.push(false)
		r.push(true)
	}
	r.recount()
}

// push starts every move as late as the others and the end of the schedule allow, from the last
// to the first, or as early as they and its beginning do, from the first to the last.
func (r *repair) push(late bool) {
	order := make([]int32, 0, r.count)
	first, last := model.MaxTime, -model.MaxTime
	for _, list := range r.of {
		for _, i := range list {
			first, last = min(first, r.moves[i].start), max(last, r.moves[i].end)
			order = append(order, i)
		}
	}
	if r.pivot == nil { // trees of one side begin at 0
		if r.sides[0].reduces {
			last = max(last, 0)
		} else {
			first = 0
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		if late {
			return cmp.Or(cmp.Compare(r.moves[j].end, r.moves[i].end), cmp.Compare(i, j))
		}
		return cmp.Or(cmp.Compare(r.moves[i].start, r.moves[j].start), cmp.Compare(i, j))
	})
	// By rank and tree: when at the latest the chunk must be there, or at the earliest it can be
	// sent, for those transfers that have been moved.
	bound := make([]model.Time, len(r.by))
	for at := range bound {
		if bound[at] = first; late {
			bound[at] = last
		}
	}
	for _, i := range order {
		m := &r.moves[i]
		class := r.class(m.tree)
		lasts := m.end - m.start
		r.cancel(i)
		m.places = nil
		if late {
			m.start = r.latest(m.hop, class, bound[r.place(m, r.n.Hops[m.hop].Dst)]-lasts)
			from := &bound[r.place(m, r.n.Hops[m.hop].Src)]
			*from = min(*from, m.start)
		} else {
			m.start = r.earliest(m.hop, class, bound[r.place(m, r.n.Hops[m.hop].Src)])
			to := &bound[r.place(m, r.n.Hops[m.hop].Dst)]
			*to = max(*to, m.start+lasts)
		}
		m.end = m.start + lasts
		r.book(i)
	}
}

// place returns the index in repair.by of what a move reads or writes at a rank. The trees of
// a chunk meet at their root.
func (r *repair) place(m *move, v int32) int {
	tree := int(m.tree)
	if r.pivot != nil && *r.slot(v, m.tree) == origin {
		tree %= r.chunks
	}
	return int(v)*len(r.of) + tree
}

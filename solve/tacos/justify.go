package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// justify starts every move as late as the others and the end of the schedule allow, from
// the last to the first, and then as early as possible, from the first to the last: what
// was in the way of others moves into gaps (Valls, Ballestín and Quintanilla, "Justification
// and RCPSP", European Journal of Operational Research, 2005). Nothing ends later than the
// last move did.
func (r *repair) justify() {
	end := r.last()
	order := make([]int32, 0, r.count)
	for _, list := range r.of {
		order = append(order, list...)
	}
	by := make([]model.Time, len(r.by)) // when a rank must hold a chunk
	for i := range by {
		by[i] = end
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(r.moves[j].end, r.moves[i].end), cmp.Compare(i, j))
	})
	for _, i := range order {
		m := &r.moves[i]
		x := &r.n.Hops[m.lane]
		class := r.n.Class[m.chunk]
		r.cancel(i)
		m.places = nil
		m.start = r.closes(m.lane, class, by[int(x.Dst)*r.chunks+int(m.chunk)]-r.n.Lasts(x, class))
		r.book(i)
		from := &by[int(x.Src)*r.chunks+int(m.chunk)]
		*from = min(*from, m.start)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(r.moves[i].start, r.moves[j].start), cmp.Compare(i, j))
	})
	for _, i := range order {
		m := &r.moves[i]
		x := &r.n.Hops[m.lane]
		class := r.n.Class[m.chunk]
		r.cancel(i)
		m.places = nil
		m.start = r.opens(m.lane, class, r.has(x.Src, m.chunk))
		m.end = m.start + r.n.Lasts(x, class)
		r.book(i)
	}
	r.aim(r.due, r.limit)
}

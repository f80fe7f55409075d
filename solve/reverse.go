package solve

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Reverse returns the problem whose schedules, read backwards, are schedules of
// p: links are turned round, reducescatter becomes allgather, reduce broadcast,
// gather scatter, and the other way round. ok is false where there is no such
// problem here: for allreduce, alltoall and custom collectives, and where ranks
// are late. Time reversal keeps the makespan under every cost model.
func Reverse(p *model.Problem) (q *model.Problem, ok bool) {
	if p.Late() {
		return nil, false
	}
	r := *p
	switch p.Collective.Kind {
	case model.ReduceScatter:
		r.Collective.Kind = model.AllGather
	case model.AllGather:
		r.Collective.Kind = model.ReduceScatter
	case model.Reduce:
		r.Collective.Kind = model.Broadcast
	case model.Broadcast:
		r.Collective.Kind = model.Reduce
	case model.Gather:
		r.Collective.Kind = model.Scatter
	case model.Scatter:
		r.Collective.Kind = model.Gather
	default:
		return nil, false
	}
	r.Topology = p.Topology.Reversed()
	return &r, true
}

// ReverseSchedule reads s, a Timed or InRounds schedule of some problem q with
// q, _ = Reverse(p), backwards as a schedule of p: what started last starts
// first. Copies become reductions where p reduces, and copies otherwise; but where
// a rank has nothing of a chunk to add to, being outside the group, what comes
// first is copied.
func ReverseSchedule(p *model.Problem, s *model.Schedule) *model.Schedule {
	op := model.Copy
	if p.Collective.Reduces() {
		op = model.Reduction
	}
	end := model.Time(0)
	for i := range s.Transfers {
		end = max(end, s.Transfers[i].End)
	}
	r := &model.Schedule{Form: s.Form, Routes: make([][]int, len(s.Routes)), Transfers: slices.Clone(s.Transfers)}
	for i, route := range s.Routes {
		r.Routes[i] = slices.Clone(route)
		slices.Reverse(r.Routes[i])
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		t.Src, t.Dst = t.Dst, t.Src
		t.Start, t.End = end-t.End, end-t.Start
		t.Op = op
	}
	slices.Reverse(r.Transfers)
	if op == model.Reduction {
		copyFirst(p, r)
	}
	return r
}

// copyFirst turns the reduction that ends first at a slot that holds nothing at the
// start into a copy.
func copyFirst(p *model.Problem, s *model.Schedule) {
	type slot struct{ rank, chunk int32 }
	defined := map[slot]bool{}
	for k := range p.Chunks {
		for r := range p.Start(k) {
			defined[slot{int32(r), int32(k)}] = true
		}
	}
	first := map[slot]int{}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		at := slot{t.Dst, t.Chunk}
		if defined[at] {
			continue
		}
		if j, known := first[at]; !known || t.End < s.Transfers[j].End {
			first[at] = i
		}
	}
	for _, i := range first {
		s.Transfers[i].Op = model.Copy
	}
}

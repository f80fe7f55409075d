package solve

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Reverse returns the problem whose schedules, read backwards, are schedules of
// p: links are turned round, reducescatter becomes allgather, reduce broadcast,
// gather scatter, and the other way round. ok is false where there is no such
// problem here: for allreduce, alltoall and custom collectives, where ranks are
// late, and where pipelined hops share a port whose links have unequal latencies.
// Elsewhere time reversal keeps the makespan under every cost model.
//
// A pipelined hop keeps a link busy from when its first byte enters to when its last one
// does. Backwards, that span begins a latency of the link later. All users of one link are
// late by the same time, but those of a port only if its links are alike.
func Reverse(p *model.Problem) (q *model.Problem, ok bool) {
	if p.Late() || p.Cost == model.Pipelined && unequalPort(p.Topology) {
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

// unequalPort reports whether a port of t that limits anything has links of unequal
// latencies: one with room for a transfer on each of its links limits nothing.
func unequalPort(t *model.Topology) bool {
	for _, port := range t.Ports {
		if port.Capacity >= len(port.Links) {
			continue
		}
		for _, l := range port.Links {
			if t.Links[l].Alpha != t.Links[port.Links[0]].Alpha {
				return true
			}
		}
	}
	return false
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
	end := End(s.Transfers)
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
		CopyFirst(p, r.Transfers, func(t *model.Transfer) model.Time { return t.End })
	}
	return r
}

// Outsiders reports of each rank whether it is outside the group.
func Outsiders(p *model.Problem) []bool {
	out := slices.Repeat([]bool{true}, p.Topology.Ranks)
	for _, r := range p.Members() {
		out[r] = false
	}
	return out
}

// CopyFirst makes copies of those transfers of a reduction that are the first to bring a rank
// outside the group a chunk, by a time of theirs, and reductions of the others to such ranks:
// these have nothing to add to.
func CopyFirst(p *model.Problem, transfers []model.Transfer, by func(*model.Transfer) model.Time) {
	out := Outsiders(p)
	type slot struct{ rank, chunk int32 }
	first := map[slot]int{}
	for i := range transfers {
		t := &transfers[i]
		if !out[t.Dst] {
			continue
		}
		t.Op = model.Reduction
		at := slot{t.Dst, t.Chunk}
		if j, known := first[at]; !known || by(t) < by(&transfers[j]) {
			first[at] = i
		}
	}
	for _, i := range first {
		transfers[i].Op = model.Copy
	}
}

// End returns the latest end of some transfers, or 0 if there are none.
func End(transfers []model.Transfer) model.Time {
	end := model.Time(0)
	for i := range transfers {
		end = max(end, transfers[i].End)
	}
	return end
}

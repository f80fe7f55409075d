package solve

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Reverse returns the problem whose schedules, read backwards, are schedules of
// p: links are turned round, reducescatter becomes allgather, reduce broadcast,
// gather scatter, and the other way round. A custom collective that sums up, of each shard, what all
// members have at one of them, such as reducescatterv, becomes one that spreads what that one has.
// ok is false where there is no such problem here: for allreduce, alltoall and other custom
// collectives, where ranks are late, and where pipelined hops share a port whose links have unequal latencies.
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
	case model.Custom:
		if r.Collective, ok = spreading(p); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	r.Topology = p.Topology.Reversed()
	for i := range r.Topology.Switches {
		if p.Topology.Adds(p.Topology.Ranks+i, &p.Collective) == model.NoReducing {
			r.Topology.Switches[i].Copies = false
		}
	}
	return &r, true
}

// SumsUp reports whether p is a custom collective that sums up, of each shard, what all members have
// at one of them.
func SumsUp(p *model.Problem) bool {
	if p.Collective.Kind != model.Custom {
		return false
	}
	_, ok := spreading(p)
	return ok
}

// spreading returns the custom collective that is that of p read backwards, if p sums up what all
// members have at one of them, shard by shard.
func spreading(p *model.Problem) (model.Collective, bool) {
	c := p.Collective
	members := p.Members()
	sum := model.Once(members)
	roots := make([]int, c.Chunks) // 1 + the rank that wants the shard
	for _, d := range c.Post {
		if roots[d.Chunk] != 0 || !d.Value.Equal(sum) {
			return c, false
		}
		roots[d.Chunk] = 1 + d.Rank
	}
	counts := make([]int, c.Chunks)
	for _, d := range c.Pre {
		if r, single := d.Value.Single(); !single || r != d.Rank {
			return c, false
		}
		counts[d.Chunk]++
	}
	c.Pre, c.Post = nil, nil
	sorted := slices.Sorted(slices.Values(members))
	for k, root := range roots {
		if root == 0 || counts[k] != len(members) {
			return c, false
		}
		v := model.Unit(root - 1)
		c.Pre = append(c.Pre, model.Condition{Rank: root - 1, Chunk: k, Value: v})
		for _, r := range sorted {
			c.Post = append(c.Post, model.Condition{Rank: r, Chunk: k, Value: v})
		}
	}
	return c, true
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

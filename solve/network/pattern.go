package network

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Pattern is who holds each chunk at the start and who must get it: what is left of
// a collective that does not reduce.
type Pattern struct {
	From [][]int32 // by chunk: at least one rank
	To   [][]int32 // by chunk; nil: all ranks of the topology
}

// Goals returns the ranks that must get a chunk.
func (pt *Pattern) Goals(k, ranks int) []int32 {
	if pt.To != nil {
		return pt.To[k]
	}
	all := make([]int32, ranks)
	for r := range all {
		all[r] = int32(r)
	}
	return all
}

// Deliveries returns how many transfers the pattern needs at least, about.
func (pt *Pattern) Deliveries(n *Network) int {
	if pt.To == nil {
		return len(pt.From) * n.Problem.Topology.Ranks
	}
	count := 0
	for _, to := range pt.To {
		count += len(to)
	}
	return count
}

// Everyone reports whether the members are all ranks of the topology.
func Everyone(p *model.Problem) bool { return len(p.Members()) == p.Topology.Ranks }

// Spreading returns the pattern of a collective that does not reduce. Of custom collectives that
// is an error where values would have to become others.
func Spreading(p *model.Problem) (*Pattern, error) {
	pt := &Pattern{}
	dense := Everyone(p) && (p.Collective.Kind == model.AllGather || p.Collective.Kind == model.Broadcast)
	for k := range p.Chunks {
		var from, to []int32
		var value model.Value
		if !dense {
			for r, v := range p.Goal(k) {
				if len(to) > 0 && !equal(v, value) {
					return nil, solve.NotServed("chunk %d must become different values at ranks %d and %d: only values that are there at the start are moved", k, to[0], r)
				}
				value, to = v, append(to, int32(r))
			}
		}
		for r, v := range p.Start(k) {
			if dense || len(to) > 0 && equal(v, value) {
				from = append(from, int32(r))
			}
		}
		if len(from) == 0 {
			if len(to) > 0 {
				return nil, solve.NotServed("what rank %d wants of chunk %d is nowhere at the start: no custom collective is served that reduces", to[0], k)
			}
			from = []int32{0} // nobody wants it
		}
		pt.From = append(pt.From, from)
		if !dense {
			pt.To = append(pt.To, to)
		}
	}
	return pt, nil
}

// equal reports whether two values are the same multiset.
func equal(a, b model.Value) bool {
	if model.Identical(a, b) {
		return true
	}
	if a.Len() != b.Len() {
		return false
	}
	counts := map[int]int{}
	for r, n := range a.Terms() {
		counts[r] = n
	}
	for r, n := range b.Terms() {
		if counts[r] != n {
			return false
		}
	}
	return true
}

// Trees returns the pattern that spreads each chunk from one member, its root, to all:
// read backwards from all to the root it is a reduction. The roots of an allreduce
// are free: turn moves them on, by that number of members.
func Trees(p *model.Problem, turn int) *Pattern {
	members := p.Members()
	pt := &Pattern{}
	var all []int32
	if !Everyone(p) {
		for _, r := range members {
			all = append(all, int32(r))
		}
		slices.Sort(all)
	}
	for k := range p.Chunks {
		root := p.Collective.Root
		switch p.Collective.Kind {
		case model.ReduceScatter:
			_, root = p.Owner(k)
		case model.Custom: // the one rank that wants the sum
			for root = range p.Goal(k) {
			}
		case model.AllReduce:
			root = members[(k*len(members)/len(p.Chunks)+turn)%len(members)]
		}
		pt.From = append(pt.From, []int32{int32(root)})
		if all != nil {
			pt.To = append(pt.To, all)
		}
	}
	return pt
}

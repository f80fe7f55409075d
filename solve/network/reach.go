package network

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// connected returns an error that names a rank which cannot be reached from another
// one, where the collective needs it to be, or nil. Custom collectives are looked at
// later, chunk by chunk. It takes O(nodes + links).
func Connected(p *model.Problem) error {
	t := p.Topology
	members := p.Members()
	hub := members[0]
	out, in := true, true
	switch p.Collective.Kind {
	case model.Broadcast, model.Scatter:
		hub, in = p.Collective.Root, false
	case model.Gather, model.Reduce:
		hub, out = p.Collective.Root, false
	case model.Custom:
		return nil
	}
	if out {
		seen := reach(t, hub, t.Out(), func(l int) int { return t.Links[l].Dst })
		for _, r := range members {
			if !seen[r] {
				return solve.NotServed("rank %d cannot reach rank %d on %s", hub, r, t.Name)
			}
		}
	}
	if in {
		seen := reach(t, hub, t.In(), func(l int) int { return t.Links[l].Src })
		for _, r := range members {
			if !seen[r] {
				return solve.NotServed("rank %d cannot reach rank %d on %s", r, hub, t.Name)
			}
		}
	}
	return nil
}

// reach says of each node whether it can be reached from one over links, of which
// lists has those at each node.
func reach(t *model.Topology, from int, lists [][]int, end func(l int) int) []bool {
	seen := make([]bool, t.Nodes())
	seen[from] = true
	stack := []int{from}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, l := range lists[v] {
			if w := end(l); !seen[w] {
				seen[w] = true
				stack = append(stack, w)
			}
		}
	}
	return seen
}

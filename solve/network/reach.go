package network

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Connected returns an error that names a rank which cannot be reached from another
// one, where the collective needs it to be, or nil. Custom collectives are looked at
// later, chunk by chunk. It takes O(nodes + links).
func Connected(p *model.Problem) error {
	t := p.Topology
	members := p.Members()
	centre := members[0]
	out, in := true, true
	switch p.Collective.Kind {
	case model.Broadcast, model.Scatter:
		centre, in = p.Collective.Root, false
	case model.Gather, model.Reduce:
		centre, out = p.Collective.Root, false
	case model.Custom:
		return nil
	}
	if out {
		seen := Reached(t, centre, true)
		for _, r := range members {
			if !seen[r] {
				return solve.NotServed("rank %d cannot reach rank %d on %s", centre, r, t.Name)
			}
		}
	}
	if in {
		seen := Reached(t, centre, false)
		for _, r := range members {
			if !seen[r] {
				return solve.NotServed("rank %d cannot reach rank %d on %s", r, centre, t.Name)
			}
		}
	}
	return nil
}

// Reached reports of each node whether it can be reached from a node over links or, backwards,
// whether that can be reached from it. It takes O(nodes + links).
func Reached(t *model.Topology, from int, forwards bool) []bool {
	lists, end := t.Out(), func(l int) int { return t.Links[l].Dst }
	if !forwards {
		lists, end = t.In(), func(l int) int { return t.Links[l].Src }
	}
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

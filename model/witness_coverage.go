package model

import "cmp"

// Coverage is a set of nodes. Every byte that one rank outside contributes and a rank inside
// needs is a pair, and each pair has to enter the set over some link, after it came to that
// link and before it goes on inside. What enters early is a sum of few contributions, and
// what enters late can serve few ranks, so that no transfer covers more than this many pairs
// with a byte.
//
// From restricts the pairs to what these ranks contribute, and To to what these ranks need. First
// has each pair enter the set for the first time, on a way outside until then, and else for the last
// time, on a way inside from then on. Backwards in time the one is the other.
type Coverage struct {
	Nodes []int `json:"nodes" range:"0,"`          // ascending
	From  []int `json:"from,omitempty" range:"0,"` // ranks, ascending; nil: all
	To    []int `json:"to,omitempty" range:"0,"`   // ranks, ascending; nil: all
	First bool  `json:"first,omitempty"`
}

var _ = witness(Coverage{})

// Kind implements Witness.
func (Coverage) Kind() string { return "coverage" }

func (w Coverage) validate(p *Problem) error {
	return cmp.Or(ascending("nodes", "node", w.Nodes, p.Topology.Nodes()),
		ascending("from", "rank", w.From, p.Topology.Ranks), ascending("to", "rank", w.To, p.Topology.Ranks))
}

package model

import "cmp"

// Cut is a set of nodes. What must leave it must pass the links that leave it,
// after it came to them from where it is at the start, and before it goes on from
// them to where it is needed.
//
// From restricts what is counted to what these ranks contribute, and To to what these
// ranks need. The fewer they are, the less must pass the links, but the longer are
// the paths to the links and from them.
type Cut struct {
	Nodes []int `json:"nodes" range:"0,"`          // ascending
	From  []int `json:"from,omitempty" range:"0,"` // ranks, ascending; nil: all
	To    []int `json:"to,omitempty" range:"0,"`   // ranks, ascending; nil: all
}

// Ingress is a rank: what it must receive must pass the links that enter it.
type Ingress struct {
	Rank int `json:"rank" range:"0,"`
}

// Egress is a rank: what must leave it must pass the links that leave it.
type Egress struct {
	Rank int `json:"rank" range:"0,"`
}

var _, _, _ = witness(Cut{}), witness(Ingress{}), witness(Egress{})

// Kind implements Witness.
func (Cut) Kind() string { return "cut" }

// Kind implements Witness.
func (Ingress) Kind() string { return "ingress" }

// Kind implements Witness.
func (Egress) Kind() string { return "egress" }

func (w Cut) validate(p *Problem) error {
	return cmp.Or(ascending("nodes", "node", w.Nodes, p.Topology.Nodes()),
		ascending("from", "rank", w.From, p.Topology.Ranks), ascending("to", "rank", w.To, p.Topology.Ranks))
}

func (w Ingress) validate(p *Problem) error { return rankExists(p, "rank", w.Rank) }

func (w Egress) validate(p *Problem) error { return rankExists(p, "rank", w.Rank) }

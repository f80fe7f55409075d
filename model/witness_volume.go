package model

// Volume is the collective as a whole: the receives that it needs, over all
// links that enter ranks.
type Volume struct{}

// Partition is several disjoint sets of nodes, ascending, with every rank in one of them:
// the transfers that the collective needs between them, over all links that enter or leave
// them. A switch may be in none.
type Partition struct {
	Parts [][]int `json:"parts" range:"0,"`
}

// Crossing is a partition, as for Partition, of which the times of transfers count: what goes from one part to another
// early carries few contributions of a part, and what comes late reaches few ranks of one.
type Crossing struct {
	Parts [][]int `json:"parts" range:"0,"`
}

var _, _, _ = witness(Volume{}), witness(Partition{}), witness(Crossing{})

// Kind implements Witness.
func (Volume) Kind() string { return "volume" }

// Kind implements Witness.
func (Partition) Kind() string { return "partition" }

// Kind implements Witness.
func (Crossing) Kind() string { return "crossing" }

func (Volume) validate(*Problem) error { return nil }

func (w Partition) validate(p *Problem) error { return disjoint(p, w.Parts) }

func (w Crossing) validate(p *Problem) error { return disjoint(p, w.Parts) }

// disjoint checks sets of nodes, each ascending, that have none in common.
func disjoint(p *Problem, parts [][]int) error {
	part := map[int]int{}
	for i, nodes := range parts {
		if err := ascending(Element("parts", i), "node", nodes, p.Topology.Nodes()); err != nil {
			return err
		}
		for _, v := range nodes {
			if j, taken := part[v]; taken {
				return wrong(Element("parts", i), "node %d is also in part %d", v, j)
			}
			part[v] = i
		}
	}
	return nil
}

package model

import "math"

// Distance is a contribution that must travel from where it is at the start to
// a rank that needs it. Potential and Head hold two times for each node, a feasible
// dual of the shortest path: before Potential no transfer can have brought the
// whole of it there, before Head not even its first byte. Both are no more than the
// release time where the contribution is at the start, and rise along each link by
// no more than the time that it takes. For ranks only Potential counts.
type Distance struct {
	Chunk     int    `json:"chunk" range:"-1,"` // -1 where the problem has no chunks: then a byte of Shard
	Shard     int    `json:"shard" range:"0,"`
	Source    int    `json:"source" range:"0,"` // the rank whose contribution it is
	Dest      int    `json:"dest" range:"0,"`   // the rank that needs it
	Potential []Time `json:"potential_ps"`
	Head      []Time `json:"head_ps,omitempty"` // nil where there are no switches
}

var _ = witness(Distance{})

// Kind implements Witness.
func (Distance) Kind() string { return "distance" }

// maxPotential keeps sums of two potentials from overflowing.
const maxPotential = math.MaxInt64 / 2

func (w Distance) validate(p *Problem) error {
	if err := contributionExists(p, w.Chunk, w.Shard, w.Source); err != nil {
		return err
	}
	if n := p.Topology.Nodes(); len(w.Potential) != n {
		return wrong("potential", "%d times, want one for each of %d nodes", len(w.Potential), n)
	} else if w.Head != nil && len(w.Head) != n {
		return wrong("head", "%d times, want one for each of %d nodes", len(w.Head), n)
	}
	for _, list := range []struct {
		place string
		times []Time
	}{{"potential", w.Potential}, {"head", w.Head}} {
		for v, t := range list.times {
			if t < -maxPotential || t > maxPotential {
				return wrong(Element(list.place, v), "%d ps, want %d to %d", int64(t), int64(-maxPotential), int64(maxPotential))
			}
		}
	}
	return rankExists(p, "dest", w.Dest)
}

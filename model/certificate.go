package model

import "errors"

// Certificate claims that every right schedule of a problem has a makespan of at
// least Bound, and carries what a checker needs to see it.
//
// Where Problem has no chunks, the claim holds for every way of cutting it.
// Where Witness is of a kind that only holds for one cut, Problem has chunks.
type Certificate struct {
	Problem *Problem
	Bound   Time
	Witness Witness
}

// Witness is the evidence of a Certificate. The types below are all there are.
type Witness interface {
	// Kind returns the name used in files and on the command line: "cut".
	Kind() string
}

// Cut is a set of nodes. What must leave it must pass the links that leave it.
type Cut struct {
	Nodes []int // ascending
}

// Ingress is a rank: what it must receive must pass the links that enter it.
type Ingress struct{ Rank int }

// Egress is a rank: what must leave it must pass the links that leave it.
type Egress struct{ Rank int }

// Volume is the collective as a whole: the receives that it needs, over all
// links that enter ranks.
type Volume struct{}

// Distance is a contribution that must travel from where it is at the start to
// a rank that needs it. Potential holds a time for each node, a feasible dual of
// the shortest path: no more than 0 where the contribution is at the start (or
// the release time there), and rising along each link by no more than the time
// that the chunk needs for it.
type Distance struct {
	Chunk     int // -1 where the problem has no chunks: then the first byte of Shard
	Shard     int
	Source    int // the rank whose contribution it is
	Dest      int // the rank that needs it
	Potential []Time
}

// Doubling is a contribution that many ranks need: where every rank sends to at
// most one other at a time, the ranks that hold it at most double each round.
type Doubling struct {
	Chunk  int // -1 where the problem has no chunks
	Shard  int
	Source int
}

// Kind implements Witness.
func (Cut) Kind() string { return "cut" }

// Kind implements Witness.
func (Ingress) Kind() string { return "ingress" }

// Kind implements Witness.
func (Egress) Kind() string { return "egress" }

// Kind implements Witness.
func (Volume) Kind() string { return "volume" }

// Kind implements Witness.
func (Distance) Kind() string { return "distance" }

// Kind implements Witness.
func (Doubling) Kind() string { return "doubling" }

// Validate reports the first thing that makes c meaningless: a node, rank, chunk
// or shard that does not exist. It does not say whether the witness yields the
// bound; verify/cert does. It takes O(problem + witness) time.
func (c *Certificate) Validate() error {
	if c.Problem == nil {
		return wrong("problem", "missing")
	}
	if err := c.Problem.Validate(); err != nil {
		return within("problem", err)
	}
	if c.Bound < 0 {
		return wrong("bound", "%d ps, want 0 or more", int64(c.Bound))
	}
	return within("witness", c.validateWitness())
}

func (c *Certificate) validateWitness() error {
	p := c.Problem
	rank := func(place string, r int) error {
		if r < 0 || r >= p.Topology.Ranks {
			return wrong(place, "rank %d does not exist, want 0 to %d", r, p.Topology.Ranks-1)
		}
		return nil
	}
	path := func(chunk, shard, source int) error {
		switch {
		case chunk < -1 || chunk >= len(p.Chunks):
			return wrong("chunk", "chunk %d does not exist, want -1 (none) to %d", chunk, len(p.Chunks)-1)
		case shard < 0 || shard >= p.Shards():
			return wrong("shard", "shard %d does not exist, want 0 to %d", shard, p.Shards()-1)
		}
		return rank("source", source)
	}
	switch w := c.Witness.(type) {
	case nil:
		return errors.New("missing")
	case Cut:
		for i, v := range w.Nodes {
			if v < 0 || v >= p.Topology.Nodes() {
				return wrong(element("nodes", i), "node %d does not exist, want 0 to %d", v, p.Topology.Nodes()-1)
			}
			if i > 0 && v <= w.Nodes[i-1] {
				return wrong(element("nodes", i), "node %d after node %d, want ascending order", v, w.Nodes[i-1])
			}
		}
	case Ingress:
		return rank("rank", w.Rank)
	case Egress:
		return rank("rank", w.Rank)
	case Distance:
		if err := path(w.Chunk, w.Shard, w.Source); err != nil {
			return err
		}
		if len(w.Potential) != p.Topology.Nodes() {
			return wrong("potential", "%d times, want one for each of %d nodes", len(w.Potential), p.Topology.Nodes())
		}
		return rank("dest", w.Dest)
	case Doubling:
		return path(w.Chunk, w.Shard, w.Source)
	}
	return nil
}

// Solution is a problem with a schedule for it, as it is kept in a file.
type Solution struct {
	Problem  *Problem
	Schedule *Schedule
	Origin   Origin
}

// Origin says where a schedule came from. It is a remark, not evidence: whoever
// reads it checks again.
type Origin struct {
	Method  string            // name of the method, empty if unknown
	Seed    uint64            // its seed
	Tool    string            // program and version
	Verdict map[string]string // engine to "proved", "refuted" or "unknown", when it was written
	Partial bool              // the run was interrupted; transfers are missing
	Note    string
}

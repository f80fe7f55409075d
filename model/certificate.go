package model

import (
	"cmp"
	"encoding/hex"
	"errors"
	"strings"
)

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

// Cut is a set of nodes. What must leave it must pass the links that leave it,
// after it came to them from where it is at the start, and before it goes on from
// them to where it is needed.
//
// From and To leave out of account what other ranks contribute, and what other
// ranks need. The fewer they are, the less must pass the links, but the longer are
// the ways to them and from them.
type Cut struct {
	Nodes []int // ascending
	From  []int // ranks, ascending; nil: all
	To    []int // ranks, ascending; nil: all
}

// Ingress is a rank: what it must receive must pass the links that enter it.
type Ingress struct{ Rank int }

// Egress is a rank: what must leave it must pass the links that leave it.
type Egress struct{ Rank int }

// Volume is the collective as a whole: the receives that it needs, over all
// links that enter ranks.
type Volume struct{}

// Partition is several disjoint sets of nodes, ascending, with every rank in one of them:
// the transfers that the collective needs between them, over all links that enter or leave
// them. A switch may be in none.
type Partition struct{ Parts [][]int }

// Prices holds a price for each link. Each chunk has to pay, for the time that it
// occupies links, at least for the cheapest way to a rank that needs it, and all
// links together can sell no more than their time. It is a feasible dual of the
// maximum concurrent flow, of which cuts are special cases.
type Prices struct {
	Links []int64 // by link, each >= 0
}

// Distance is a contribution that must travel from where it is at the start to
// a rank that needs it. Potential and Head hold two times for each node, a feasible
// dual of the shortest path: before Potential no transfer can have brought the
// whole of it there, before Head not even its first byte. Both are no more than the
// release time where the contribution is at the start, and rise along each link by
// no more than the time that it takes. For ranks only Potential counts.
type Distance struct {
	Chunk     int // -1 where the problem has no chunks: then a byte of Shard
	Shard     int
	Source    int // the rank whose contribution it is
	Dest      int // the rank that needs it
	Potential []Time
	Head      []Time // nil where there are no switches
}

// Doubling is a contribution that many ranks need: where every rank sends to at
// most one other at a time, the ranks that hold it at most double each round.
type Doubling struct {
	Chunk  int // -1 where the problem has no chunks
	Shard  int
	Source int
}

// Spread is a rank that alone holds, of many chunks, what others need. Where it
// sends one chunk a round, the last of them to leave it starts late, and then has
// to spread by doubling.
type Spread struct{ Source int }

// Combine is a rank that must end, for many chunks, with what many ranks
// contribute. Where it receives one chunk a round, the first of them to be complete
// there took rounds to be combined, and the rest come after it.
type Combine struct{ Dest int }

// Refutation is a proof that the formula of section 10 of verify/SPEC.md, which says
// that the problem has a schedule within some epochs, or some rounds, is false. The
// formula is not kept: who checks the proof makes it anew.
type Refutation struct {
	Epoch   Time   // ps; 0: the horizon counts rounds
	Horizon int    // epochs or rounds, at least 1
	Steps   int    // into how many steps the rounds may fall; 0: any number
	Proof   string // name of the file beside the certificate that holds the proof, in the format LRAT
	SHA256  string // of that file, in 64 hexadecimal digits
}

// Kind implements Witness.
func (Refutation) Kind() string { return "lrat" }

// Kind implements Witness.
func (Cut) Kind() string { return "cut" }

// Kind implements Witness.
func (Ingress) Kind() string { return "ingress" }

// Kind implements Witness.
func (Egress) Kind() string { return "egress" }

// Kind implements Witness.
func (Volume) Kind() string { return "volume" }

// Kind implements Witness.
func (Partition) Kind() string { return "partition" }

// Kind implements Witness.
func (Prices) Kind() string { return "prices" }

// Kind implements Witness.
func (Distance) Kind() string { return "distance" }

// Kind implements Witness.
func (Doubling) Kind() string { return "doubling" }

// Kind implements Witness.
func (Spread) Kind() string { return "broadcast" }

// Kind implements Witness.
func (Combine) Kind() string { return "combine" }

// Validate reports the first thing that makes c meaningless: a node, rank, chunk
// or shard that does not exist. It does not say whether the witness yields the
// bound; verify/cert does. It takes O(problem + witness) time.
func (c *Certificate) Validate() error {
	if c.Problem == nil {
		return wrong("problem", "missing")
	}
	if err := c.Problem.Validate(); err != nil {
		return Within("problem", err)
	}
	if c.Bound < 0 {
		return wrong("bound", "%d ps, want 0 or more", int64(c.Bound))
	}
	return Within("witness", c.validateWitness())
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
		return cmp.Or(ascending("nodes", "node", w.Nodes, p.Topology.Nodes()),
			ascending("from", "rank", w.From, p.Topology.Ranks), ascending("to", "rank", w.To, p.Topology.Ranks))
	case Ingress:
		return rank("rank", w.Rank)
	case Egress:
		return rank("rank", w.Rank)
	case Partition:
		part := map[int]int{}
		for i, nodes := range w.Parts {
			if err := ascending(Element("parts", i), "node", nodes, p.Topology.Nodes()); err != nil {
				return err
			}
			for _, v := range nodes {
				if j, taken := part[v]; taken {
					return wrong(Element("parts", i), "node %d is in part %d, too", v, j)
				}
				part[v] = i
			}
		}
	case Distance:
		if err := path(w.Chunk, w.Shard, w.Source); err != nil {
			return err
		}
		if n := p.Topology.Nodes(); len(w.Potential) != n {
			return wrong("potential", "%d times, want one for each of %d nodes", len(w.Potential), n)
		} else if w.Head != nil && len(w.Head) != n {
			return wrong("head", "%d times, want one for each of %d nodes", len(w.Head), n)
		}
		return rank("dest", w.Dest)
	case Prices:
		if n := len(p.Topology.Links); len(w.Links) != n {
			return wrong("links", "%d prices, want one for each of %d links", len(w.Links), n)
		}
		for i, price := range w.Links {
			if price < 0 {
				return wrong(Element("links", i), "price %d, want 0 or more", price)
			}
		}
	case Doubling:
		return path(w.Chunk, w.Shard, w.Source)
	case Spread:
		return rank("source", w.Source)
	case Combine:
		return rank("dest", w.Dest)
	case LPDual:
		return w.validate(p)
	case Refutation:
		return w.validate(p)
	}
	return nil
}

func (w Refutation) validate(p *Problem) error {
	switch hash, err := hex.DecodeString(w.SHA256); {
	case w.Horizon < 1:
		return wrong("horizon", "%d, want 1 or more", w.Horizon)
	case w.Epoch < 0 || (w.Epoch == 0) != p.Cost.Synchronous():
		return wrong("epoch_ps", "%d under %v, want 0 where time is counted in rounds, else more", int64(w.Epoch), p.Cost)
	case w.Steps < 0 || w.Steps > 0 && w.Epoch > 0:
		return wrong("steps", "%d, want 0 or, in rounds, more", w.Steps)
	case w.Proof == "" || w.Proof == "." || w.Proof == ".." || strings.ContainsAny(w.Proof, "/\\\x00") || len(w.Proof) > 255:
		return wrong("proof", "%q is not the name of a file beside the certificate", w.Proof)
	case err != nil || len(hash) != 32 || strings.ToLower(w.SHA256) != w.SHA256:
		return wrong("sha256", "%q, want 64 hexadecimal digits", w.SHA256)
	case p.Chunks == nil:
		return errors.New("of kind lrat needs a problem with chunks")
	}
	return nil
}

// ascending reports the first of a list of nodes or ranks that does not exist or is
// out of order.
func ascending(place, what string, list []int, n int) error {
	for i, v := range list {
		if v < 0 || v >= n {
			return wrong(Element(place, i), "%s %d does not exist, want 0 to %d", what, v, n-1)
		}
		if i > 0 && v <= list[i-1] {
			return wrong(Element(place, i), "%s %d after %s %d, want ascending order", what, v, what, list[i-1])
		}
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

package model

// Doubling is a contribution that many ranks need: where every rank sends to at
// most one other at a time, the ranks that hold it at most double each round.
type Doubling struct {
	Chunk  int `json:"chunk" range:"-1,"` // -1 where the problem has no chunks
	Shard  int `json:"shard" range:"0,"`
	Source int `json:"source" range:"0,"`
}

// Spread is a rank that alone holds, of many chunks, what others need. Where it
// sends one chunk a round, the last of them to leave it starts late, and then has
// to spread by doubling.
type Spread struct {
	Source int `json:"source" range:"0,"`
}

// Combine is a rank that must end, for many chunks, with what many ranks
// contribute. Where it receives one chunk a round, the first of them to be complete
// there took rounds to be combined, and the rest come after it.
type Combine struct {
	Dest int `json:"dest" range:"0,"`
}

var _, _, _ = witness(Doubling{}), witness(Spread{}), witness(Combine{})

// Kind implements Witness.
func (Doubling) Kind() string { return "doubling" }

// Kind implements Witness.
func (Spread) Kind() string { return "broadcast" }

// Kind implements Witness.
func (Combine) Kind() string { return "combine" }

func (w Doubling) validate(p *Problem) error {
	return contributionExists(p, w.Chunk, w.Shard, w.Source)
}

func (w Spread) validate(p *Problem) error { return rankExists(p, "source", w.Source) }

func (w Combine) validate(p *Problem) error { return rankExists(p, "dest", w.Dest) }

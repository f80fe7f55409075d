package model

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

// Validate reports the first thing that makes c meaningless: a node, rank, chunk
// or shard that does not exist. It does not decide whether the witness yields the
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
	if c.Witness == nil {
		return wrong("witness", "missing")
	}
	return Within("witness", c.Witness.validate(c.Problem))
}

// Solution is a problem with a schedule for it, as it is kept in a file.
type Solution struct {
	Problem  *Problem
	Schedule *Schedule
	Origin   Origin
}

// Origin says where a schedule came from. It is a remark, not evidence: a
// reader checks again.
type Origin struct {
	Method  string            // name of the method, empty if unknown
	Seed    uint64            // its seed
	Tool    string            // program and version
	Verdict map[string]string // engine to "proved", "refuted" or "unknown", when it was written
	Partial bool              // the run was interrupted; transfers are missing
	Note    string
}

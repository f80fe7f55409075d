// Package verify holds what every verifier answers with: a Verdict, and the
// catalogue of the violations that refute a schedule. SPEC.md says in words and
// formulas what is decided.
//
// The verifiers themselves are in the packages below: replay executes a
// schedule exactly, smt states the same claim as a formula, cert checks
// certificates of lower bounds. None of them imports anything of solve, and no
// solver imports any of them.
package verify

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Outcome is the answer to a claim. Its zero value is Unknown: nothing is
// established by default.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota
	Proved
	Refuted
)

// String returns "unknown", "proved" or "refuted".
func (o Outcome) String() string {
	switch o {
	case Proved:
		return "proved"
	case Refuted:
		return "refuted"
	}
	return "unknown"
}

// Verdict is what an engine says of a schedule.
type Verdict struct {
	Outcome    Outcome
	Engine     string      // "replay", "smt"; of several: those that established the outcome
	Claim      string      // what was proved or refuted, in words
	Reason     string      // why the outcome is unknown; of several engines also which of them gave up, and why
	Violations []Violation // why it is refuted: at least one, at most MaxViolations
	Makespan   model.Time  // by the problem's cost model; 0 for a schedule without times

	// Decides lists the violations that the engine looks for, which are those that Proved
	// rules out; nil: all of them.
	Decides []Code
}

// MaxViolations is how many violations an engine reports at most. One refutes.
const MaxViolations = 10

// Violation is one thing that is wrong, with the place.
type Violation struct {
	Code    Code
	Where   string // in the words of the field: "rank 3, chunk 1", "transfer 7"
	Message string // what is there, and what was wanted
	// Transfer is the index of the transfer at which it went wrong, or -1.
	Transfer int
	// Rank and Chunk name the slot that is concerned, or are -1.
	Rank, Chunk int
}

// String returns the code, the place and the message on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Code, v.Where, v.Message)
}

// Claim states what a proof of s being right for p establishes.
func Claim(p *model.Problem, s *model.Schedule) string {
	switch s.Form {
	case model.Ordered:
		return fmt.Sprintf("every interleaving performs %v", p)
	default:
		return fmt.Sprintf("performs %v", p)
	}
}

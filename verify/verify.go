// Package verify holds what every verifier answers with: a Verdict, and the
// catalogue of the violations that refute a schedule. SPEC.md says in words and
// formulas what is decided.
//
// The engines are the packages below. Each takes a problem with what is claimed of it and
// returns a Verdict, and each ends with its context:
//
//	replay  executes a schedule exactly; the fast path
//	smt     states the claim about the data as formulas, decided by a solver (smt/z3)
//	stream  verifies a schedule while it is read, in memory that is known before
//	orbit   verifies a schedule that is the same for all ranks by looking at one
//	order   programs of MSCCL-IR: races, deadlocks, matching, results, for every interleaving;
//	        smt/concurrent states the same as formulas, deploy combines the two and adds sizes and runtimes
//	plan    execution plans of MSCCL++: the same, where operations are ordered by joins and signals alone
//	epoch   schedules given by epochs: whether links have the capacity that is used
//	cert    certificates of lower bounds, each kind with its lemma and proof
//	cnf     makes the formula that a refutation of a horizon is about, and lrat checks the refutation
//	dossier a directory of claims: schedules, certificates and what is concluded from both
//
// Combine makes one verdict of several, and Below sets a proved makespan against a bound. A
// contradiction between engines is an error, and nothing is proved or refuted then.
//
// No engine imports anything of solve, and no solver imports any engine.
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

// Claim states what a proof of s being right for p establishes.
func Claim(p *model.Problem, s *model.Schedule) string {
	switch s.Form {
	case model.Ordered:
		return fmt.Sprintf("performs %v, whatever order the transfers run in", p)
	default:
		return fmt.Sprintf("performs %v", p)
	}
}

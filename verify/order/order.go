// Package order decides whether a program of concurrent processes performs its
// collective whatever the timing: processes of one rank order their instructions by
// waiting for each other, processes of different ranks by messages through FIFO
// channels. It reports whether the result is right, whether two accesses to one cell
// are unordered, whether the processes can wait for each other for ever, and how
// many messages a channel must be able to hold for that; verify/SPEC.md, section
// Order, has the semantics and the argument why one execution and vector clocks
// decide about all of them.
//
// It knows nothing of where programs come from: what waits for what is in the
// model.Program.
package order

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name in verdicts.
const Engine = "order"

// Report is what is decided about a program. A property is Unknown where another
// violation leaves it without a meaning: a program that gets stuck has no result.
type Report struct {
	Verdict verify.Verdict

	Result    verify.Outcome // every rank ends with what it must have
	Races     verify.Outcome // proved: every two conflicting accesses are ordered
	Deadlock  verify.Outcome // proved: no process waits for ever, with channels as large as need be
	Matching  verify.Outcome // every message that is sent is received, as long as it is
	Bounds    verify.Outcome // accesses stay inside buffers
	Ownership verify.Outcome // a connection belongs to one process at each end
	Defined   verify.Outcome // nothing is read before it is written

	// Conditions are what may matter beside the verdict: inputs that are written,
	// ranks that combine in different orders, waits that end later than they say.
	Conditions []verify.Violation
	// Consistent reports whether all ranks combine in the same order, so that they end
	// with the same bits; Unknown if no value is combined for two ranks.
	Consistent verify.Outcome
	// RemoteOnly counts pairs of conflicting accesses of one rank that are ordered
	// only by messages through other ranks; Conditions has the first of them.
	RemoteOnly int

	// Counts has how often each code was found, also where not all are reported.
	Counts map[verify.Code]int

	m *machine
}

// Release forgets the program and its execution, which take most of a report's memory
// and which only Slots, MaxCount and Completes need: these must not be called any more.
func (r *Report) Release() { r.m = nil }

// perCode is how many violations of one code are reported.
const perCode = 3

// Check decides about a program, which must be valid. It takes time in proportion to
// the cells that the instructions access, and to instructions times the processes
// of a rank. Once ctx is done everything is Unknown, whatever has been found by then.
func Check(ctx context.Context, p *model.Program) *Report {
	r := &Report{Counts: map[verify.Code]int{}}
	r.Verdict = verify.Verdict{Engine: Engine, Claim: Claim(p)}
	if err := p.Validate(); err != nil {
		r.violate(verify.Wrong(verify.Malformed, p.Name, err.Error()))
		r.Verdict.Outcome = verify.Refuted
		return r
	}
	m := newMachine(ctx, p, r)
	r.m = m
	m.owners()
	if m.run(); !m.work.Go(1) {
		return interrupted(p, m.work)
	}
	r.Bounds, r.Defined, r.Matching = m.proved(verify.OutOfBounds), m.proved(verify.UninitialisedRead), m.proved(verify.UnmatchedSend, verify.CountMismatch)
	r.Ownership = m.proved(verify.SharedConnection)
	m.stuck()
	r.Deadlock = m.proved(verify.Deadlock, verify.NeverSignalled)
	if r.Ownership == verify.Refuted {
		for _, o := range []*verify.Outcome{&r.Deadlock, &r.Matching} { // which message is whose is open
			if *o == verify.Proved {
				*o = verify.Unknown
			}
		}
	} else {
		m.races()
		r.Races = m.proved(verify.ReadWriteRace, verify.WriteWriteRace)
		if r.Deadlock == verify.Refuted && r.Races == verify.Proved {
			r.Races = verify.Unknown // what is never executed may race
		}
		if r.Deadlock == verify.Proved {
			m.result()
		}
	}
	if !m.work.Go(1) {
		return interrupted(p, m.work)
	}
	slices.SortStableFunc(r.Verdict.Violations, func(a, b verify.Violation) int { return slices.Index(chief, a.Code) - slices.Index(chief, b.Code) })
	r.Verdict.Violations = r.Verdict.Violations[:min(len(r.Verdict.Violations), verify.MaxViolations)]
	r.conclude(p)
	return r
}

// interrupted is the report of a check that had to stop.
func interrupted(p *model.Program, work *verify.Work) *Report {
	return &Report{Counts: map[verify.Code]int{}, Verdict: verify.Verdict{Engine: Engine, Claim: Claim(p), Reason: work.Why()}}
}

// chief orders codes by what follows from what.
var chief = []verify.Code{verify.SharedConnection, verify.OutOfBounds, verify.NeverSignalled, verify.Deadlock, verify.CountMismatch, verify.UnmatchedSend,
	verify.ReadWriteRace, verify.WriteWriteRace, verify.WrongValue, verify.DoubleContribution, verify.MissingContribution, verify.UninitialisedRead}

// conclude is the one place that accepts.
func (r *Report) conclude(p *model.Program) {
	all := []verify.Outcome{r.Result, r.Races, r.Deadlock, r.Matching, r.Bounds, r.Ownership, r.Defined}
	worst := verify.Proved
	for _, o := range all {
		if o == verify.Refuted || worst == verify.Proved {
			worst = o
		}
		if worst == verify.Refuted {
			break
		}
	}
	r.Verdict.Outcome = worst
	if worst == verify.Unknown && len(p.Wants) == 0 {
		r.Verdict.Reason = "the file does not say what the program must do (coll=custom): its result is not decided, all else is right"
	}
}

// Claim states what a proof establishes.
func Claim(p *model.Program) string {
	return fmt.Sprintf("performs %v on %d ranks, whatever order the processes run in", p.Kind, p.Ranks)
}

// violate notes a violation, unless there are enough of its code.
func (r *Report) violate(v verify.Violation) {
	r.Counts[v.Code]++
	if r.Counts[v.Code] <= perCode {
		r.Verdict.Violations = append(r.Verdict.Violations, v)
	}
}

// condition notes what does not refute.
func (r *Report) condition(v verify.Violation) {
	r.Counts[v.Code]++
	if r.Counts[v.Code] <= perCode {
		r.Conditions = append(r.Conditions, v)
	}
}

// proved is Refuted if one of the codes was found.
func (m *machine) proved(codes ...verify.Code) verify.Outcome {
	for _, c := range codes {
		if m.r.Counts[c] > 0 {
			return verify.Refuted
		}
	}
	return verify.Proved
}

// step names an instruction: "gpu 2 tb 4 step 1 (rcs, line 17)".
func (m *machine) step(proc, step int32) string {
	q := &m.p.Processes[proc]
	s := &q.Steps[step]
	var b strings.Builder
	fmt.Fprintf(&b, "gpu %d tb %d step %d (%s", q.Rank, q.ID, s.Label, s.Name)
	if s.Line > 0 {
		fmt.Fprintf(&b, ", line %d", s.Line)
	}
	return b.String() + ")"
}

// cell names a cell as the program's buffers do: "o[2]". Of two names it takes that
// of the output.
func (m *machine) cell(rank int, c int32) string {
	name := fmt.Sprintf("cell %d", c)
	for _, b := range m.p.Buffers[rank] {
		if int(c) >= b.Base && int(c) < b.Base+b.Cells {
			name = b.Name + m.chunk(int(c)-b.Base)
		}
	}
	return name
}

// chunk names a cell of a buffer: "[2]", or "[2.1]" for a part of a chunk.
func (m *machine) chunk(cell int) string {
	if m.p.Grain == 1 {
		return fmt.Sprintf("[%d]", cell)
	}
	return fmt.Sprintf("[%d.%d]", cell/m.p.Grain, cell%m.p.Grain)
}

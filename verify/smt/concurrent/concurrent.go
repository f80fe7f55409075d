// Package concurrent states the claim that a program of concurrent processes performs
// its collective, whatever the timing, as formulas, and lets a solver decide them. It
// executes nothing and shares nothing with package order but the model.Program: what
// waits for what, which message is received where, and which accesses meet in a cell
// are read off the program.
//
// # The formulas
//
// Deadlock: the unknowns are Booleans b_e, "step e never happens". Some b_e holds; and a
// step that never happens has its predecessor, the step that sends its message, or
// all steps that could release one of its waits among those. Such a set is what a
// deadlock leaves; without one there is none (SPEC.md, section 12.4).
//
// Slots: the same with a step for each transfer. A transfer that never happens may
// also wait for the receipt of the one that is as many before it as a channel has
// slots; how many is unknown, and asked in cases from the largest number down.
//
// Races: the unknowns d_e, "step e has happened", hold at an instant of some
// execution: with a step its predecessor, the one that sends its message, and one that
// releases each wait. Of two accesses that must be in order, it never is the case that the
// later has happened without the earlier; which is the later is chosen along
// some order of all steps, and each pair is a case.
//
// Result: the inputs are unknown integers, what steps write are definitions, in the
// order that the races have been asked about. The claim is refuted by inputs for which a
// cell ends with another number than the wanted sum, or by a read of a cell that is
// undefined (SPEC.md, section 7 explains why this decides about multisets).
package concurrent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// Options steer Check. The zero value is a good choice.
type Options struct {
	Timeout time.Duration // wall time for the whole check; 0: no limit
	// Transfers is how many chunks a transfer carries, for the slots; 0: any number.
	Transfers int
}

// Report is what the solver decided. Properties that were not asked about, because
// another one is refuted, are Unknown.
type Report struct {
	Verdict                 verify.Verdict
	Deadlock, Races, Result verify.Outcome
	Slots                   int // the least number of slots for which all processes end; 0: not decided
}

// MaxSteps is how many steps a program may have.
const MaxSteps = 20_000

// errUndecided carries the reason why a question has no answer.
type errUndecided string

func (e errUndecided) Error() string { return string(e) }

// decides lists what a proof rules out: structure is not asked about.
var decides = append([]verify.Code{verify.Deadlock, verify.NeverSignalled, verify.UnmatchedSend, verify.CountMismatch, verify.OutOfBounds, verify.UninitialisedRead}, verify.Data...)

// Check decides about a program. Structure is not its business: of a program with
// accesses out of bounds, connections with several owners, or unequal messages the
// verdict is Unknown.
func Check(ctx context.Context, p *model.Program, backend smt.Backend, o Options) Report {
	r := Report{Verdict: verify.Verdict{Engine: smt.Engine, Decides: decides, Claim: "no order of the steps deadlocks, races, reads what is undefined or ends wrong"}}
	if o.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		ctx = limited
	}
	e, err := newEncoder(p)
	if err == nil {
		err = e.decide(ctx, backend, o, &r)
	}
	var undecided errUndecided
	switch {
	case errors.As(err, &undecided):
		r.Verdict.Reason = err.Error()
	case err != nil:
		r.Verdict.Reason = fmt.Sprintf("%s: %v", backend.Name(), err)
	case r.Deadlock == verify.Proved && r.Races == verify.Proved && r.Result == verify.Proved:
		r.Verdict.Outcome = verify.Proved
	}
	if len(r.Verdict.Violations) > 0 {
		r.Verdict.Outcome, r.Verdict.Reason = verify.Refuted, ""
	}
	return r
}

// decide asks the questions one after the other.
func (e *encoder) decide(ctx context.Context, backend smt.Backend, o Options, r *Report) error {
	ask := func(q smt.Question) (smt.Answer, error) {
		a, err := backend.Solve(ctx, q)
		if err == nil && a.Status == smt.Undecided {
			err = errUndecided(a.Reason)
		}
		return a, err
	}
	q := e.deadlock()
	a, err := ask(q)
	if err != nil {
		return err
	}
	if a.Status == smt.Sat {
		r.Deadlock = verify.Refuted
		r.Verdict.Violations = append(r.Verdict.Violations, e.stuck(q, a))
		return nil
	}
	r.Deadlock = verify.Proved
	if err := e.arrange(); err != nil { // the solver is wrong
		r.Deadlock = verify.Unknown
		return err
	}
	if q, ok := e.slots(o.Transfers); ok {
		if r.Slots = 1; len(q.Cases) > 0 {
			a, err := ask(q)
			if err != nil {
				return err
			}
			if a.Status == smt.Sat { // the largest number that is too small
				r.Slots = len(q.Cases) - a.Case + 1
			}
		}
	}
	r.Races = verify.Proved
	if pairs := e.pairs(); len(pairs) > 0 {
		if a, err = ask(e.races(pairs)); err != nil {
			r.Races = verify.Unknown
			return err
		}
		if a.Status == smt.Sat {
			r.Races = verify.Refuted
			r.Verdict.Violations = append(r.Verdict.Violations, e.race(pairs[a.Case]))
			return nil
		}
	}
	if len(e.p.Wants) == 0 {
		return errUndecided("what the program must do is not said")
	}
	q, cells := e.result()
	if a, err = ask(q); err != nil {
		return err
	}
	if a.Status == smt.Unsat {
		r.Result = verify.Proved
		return nil
	}
	r.Result = verify.Refuted
	r.Verdict.Violations = append(r.Verdict.Violations, e.wrong(a, cells))
	return nil
}

// name names an instruction as reports do.
func (e *encoder) name(i int) string {
	q := &e.p.Processes[e.step[i].proc]
	s := &q.Steps[e.step[i].step]
	at := ""
	if s.Line > 0 {
		at = fmt.Sprintf(", line %d", s.Line)
	}
	return fmt.Sprintf("gpu %d tb %d step %d (%s%s)", q.Rank, q.ID, s.Label, s.Name, at)
}

// stuck reads a deadlock off the solver's model.
func (e *encoder) stuck(q smt.Question, a smt.Answer) verify.Violation {
	first, n := -1, 0
	for i, name := range q.Constants {
		if a.Values[name].Sign() > 0 {
			if first < 0 {
				first = i
			}
			n++
		}
	}
	return verify.Wrong(verify.Deadlock, e.name(max(first, 0)), fmt.Sprintf("never happens, with %d steps that wait for each other, or for nothing", n))
}

func (e *encoder) race(pair [2]int) verify.Violation {
	code := verify.ReadWriteRace
	if e.bothWrite(pair) {
		code = verify.WriteWriteRace
	}
	return verify.Wrong(code, e.name(pair[1]), fmt.Sprintf("may happen without %s, and both access a cell that one of them writes", e.name(pair[0])))
}

// Script returns all questions as one text for any SMT solver, with the answer that
// proves the claim beside each.
func Script(p *model.Program) (string, error) {
	e, err := newEncoder(p)
	if err != nil {
		return "", err
	}
	if err := e.arrange(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("(set-logic QF_LIA)\n")
	write := func(title string, q smt.Question) {
		fmt.Fprintf(&b, "; %s: expect unsat\n(push 1)\n%s", title, q.Script)
		if len(q.Cases) == 0 {
			b.WriteString("(check-sat)\n")
		}
		for _, c := range q.Cases {
			fmt.Fprintf(&b, "(check-sat-assuming (%s))\n", c)
		}
		b.WriteString("(pop 1)\n")
	}
	write("deadlock", e.deadlock())
	if pairs := e.pairs(); len(pairs) > 0 {
		write("races", e.races(pairs))
	}
	if len(p.Wants) > 0 {
		q, _ := e.result()
		write("result", q)
	}
	return b.String(), nil
}

package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Data holds the codes of what a schedule does with the data: what ends where, and whether
// that is left to chance. An engine that looks at no network decides these.
var Data = []Code{MissingContribution, DoubleContribution, WrongValue, SendUndefined, ReduceUndefined, ReadWriteRace, WriteWriteRace, Malformed}

// decides reports whether v, if it is proved, rules out violations of a code.
func (v *Verdict) decides(c Code) bool { return v.Decides == nil || slices.Contains(v.Decides, c) }

// within reports whether w decides all that v decides.
func (v *Verdict) within(w *Verdict) bool {
	return w.Decides == nil || v.Decides != nil && !slices.ContainsFunc(v.Decides, func(c Code) bool { return !w.decides(c) })
}

// Basis returns the outcome with the engines that established it, and what the others gave
// up for: "proved by replay; smt undecided: the time limit was reached".
func (v Verdict) Basis() string {
	text := v.Outcome.String()
	if v.Outcome != Unknown {
		text += " by " + v.Engine
	}
	if v.Reason != "" {
		text += "; " + v.Reason
	}
	return text
}

// Combine returns what the verdicts of independent engines on the same claim about the same
// schedule or program establish together. It is
//
//   - refuted if an engine refutes it;
//   - proved if what each engine decides is also decided by an engine that proves it: an
//     engine that gives up takes nothing from the proof of one that decides as much;
//   - else unknown. Combine() is unknown.
//
// Engine names those that established the outcome, Reason explains why others gave up.
//
// Where an engine refutes what another one proves, or two prove different makespans, one of
// them is wrong. That is a *Contradiction, and nothing is established: the verdict is then
// zero. An engine that refutes a schedule for something that the other does not decide
// contradicts nothing.
func Combine(verdicts ...Verdict) (Verdict, error) {
	for i := range verdicts {
		for j := range verdicts {
			if err := contradict(&verdicts[i], &verdicts[j]); err != nil {
				return Verdict{}, err
			}
		}
	}
	var all Verdict
	switch {
	case slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Outcome == Refuted }):
		all.Outcome = Refuted
	case len(verdicts) > 0 && !slices.ContainsFunc(verdicts, func(v Verdict) bool { return !provedIn(&v, verdicts) }):
		all.Outcome = Proved
	}
	var by, undecided []string
	for i, v := range verdicts {
		if i == 0 || all.Decides != nil && v.Decides == nil {
			all.Claim, all.Decides = v.Claim, v.Decides
		}
		all.Makespan = max(all.Makespan, v.Makespan)
		all.Violations = append(all.Violations, v.Violations...)
		switch v.Outcome {
		case Unknown:
			undecided = append(undecided, fmt.Sprintf("%s undecided: %s", v.Engine, v.Reason))
		case all.Outcome:
			by = append(by, v.Engine)
		}
	}
	all.Engine, all.Reason = strings.Join(by, ", "), strings.Join(undecided, "; ")
	return all, nil
}

// provedIn reports whether some verdict proves all that v decides.
func provedIn(v *Verdict, verdicts []Verdict) bool {
	return slices.ContainsFunc(verdicts, func(w Verdict) bool { return w.Outcome == Proved && v.within(&w) })
}

// contradict returns an error if w refutes what v proves, or proves another makespan.
func contradict(v, w *Verdict) error {
	if v.Outcome != Proved || w.Outcome == Unknown {
		return nil
	}
	if w.Outcome == Proved {
		if v.Makespan > 0 && w.Makespan > 0 && v.Makespan != w.Makespan {
			return &Contradiction{fmt.Sprintf("%s proves a makespan of %v, %s one of %v", v.Engine, v.Makespan, w.Engine, w.Makespan)}
		}
		return nil
	}
	for _, x := range w.Violations {
		if v.decides(x.Code) {
			return &Contradiction{fmt.Sprintf("%s proves what %s refutes (%v)", v.Engine, w.Engine, x)}
		}
	}
	if len(w.Violations) == 0 {
		return &Contradiction{fmt.Sprintf("%s proves what %s refutes", v.Engine, w.Engine)}
	}
	return nil
}

// All returns the verdict on a claim of several parts, of which each verdict decides one:
// refuted if a part is, proved if all parts are, else unknown. As they decide different
// things, the verdicts cannot contradict each other. All() is unknown.
func All(parts ...Verdict) Verdict {
	var all Verdict
	if len(parts) > 0 {
		all.Outcome, all.Claim, all.Decides = Proved, parts[0].Claim, parts[0].Decides
	}
	for _, v := range parts {
		if v.Outcome == Refuted || v.Outcome == Unknown && all.Outcome == Proved {
			all.Outcome = v.Outcome
		}
		all.Makespan = max(all.Makespan, v.Makespan)
		all.Violations = append(all.Violations, v.Violations...)
	}
	var by, reasons []string
	for _, v := range parts {
		if v.Outcome == all.Outcome && v.Engine != "" {
			by = append(by, v.Engine)
		}
		if v.Reason != "" {
			reasons = append(reasons, v.Reason)
		}
	}
	all.Engine, all.Reason = strings.Join(by, ", "), strings.Join(reasons, "; ")
	return all
}

// Below returns a *Contradiction if a proved schedule ends before a bound whose certificate
// is proved, and nil otherwise. by is the kind of the certificate.
func Below(makespan, bound model.Time, by string) error {
	if makespan >= bound {
		return nil
	}
	return &Contradiction{fmt.Sprintf("a proved schedule of %v is below the certified %s bound of %v", makespan, by, bound)}
}

// Contradiction is the error where two checkers establish what cannot both be: one of them
// has a defect, so that nothing may be taken from either.
type Contradiction struct {
	What string // that contradicts each other, in words
}

func (c *Contradiction) Error() string {
	return c.What + ": one of the two checkers is wrong; please report this"
}

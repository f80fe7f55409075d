package certify

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// Known is what is known below the makespans of a cut.
type Known struct {
	EveryCut *model.Certificate // the largest bound for every cut, checked; nil: none
	Bound    *model.Certificate // the largest one for this cut, checked, which may be every; nil: none
}

// ForCut reports whether more is known for the cut than for every cut.
func (b Known) ForCut() bool {
	return b.Bound != nil && b.Bound.Bound > 0 && (b.EveryCut == nil || b.Bound.Bound > b.EveryCut.Bound)
}

// Optimal returns the kind of the bound for every cut if a makespan meets it, or "".
func (b Known) Optimal(makespan model.Time) string {
	if b.EveryCut != nil && makespan == b.EveryCut.Bound {
		return b.EveryCut.Witness.Kind()
	}
	return ""
}

// NoneFaster returns the kind of the bound for the cut if a makespan meets it, or "".
func (b Known) NoneFaster(makespan model.Time) string {
	if b.Bound != nil && makespan == b.Bound.Bound {
		return b.Bound.Witness.Kind()
	}
	return ""
}

// Row is a method with what it found and what the verifiers say of that.
type Row struct {
	Method   string
	Given    bool // it is one of Evaluator.Given, and Method is its name
	Result   solve.Result
	Seed     uint64
	Makespan model.Time
	Verification
	Known
	Refuted    *model.Certificate // the largest horizon of this row's cut that a proof refutes; nil: none
	ProofBytes int64              // bytes of the proof that bound names, if it names one
	Solving    time.Duration
	Fit        *Fitting // nil: nothing was to be fitted

	fresh []int // see unlike; nil: not asked for yet
	idle  bool  // the method went on and found nothing sooner over
	leads bool  // the method usually finds the best schedule of such problems
}

// Gap returns how far the makespan is above the largest bound that holds for every cut, +Inf
// where there is none.
func (r *Row) Gap() model.Gap {
	if r.EveryCut == nil {
		return model.GapOf(r.Makespan, 0)
	}
	return model.GapOf(r.Makespan, r.EveryCut.Bound)
}

// Within reports whether the schedule is proved to be at most a part of the bound for every
// cut above it, 0.005 for half a percent.
func (r *Row) Within(part float64) bool {
	return r.Outcome() == verify.Proved && r.EveryCut != nil && float64(r.Gap()) <= part
}

// Outcome is what all engines together establish.
func (r *Row) Outcome() verify.Outcome { return r.Verdict.Outcome }

// Optimal names the evidence that no schedule of any cut is quicker: the kind of a checked
// certificate for every cut whose bound the makespan meets, or "".
func (r *Row) Optimal() string {
	if r.Outcome() != verify.Proved {
		return ""
	}
	return r.Known.Optimal(r.Makespan)
}

// NoneFaster names the evidence that no schedule of the same cut is quicker: the kind of a
// checked certificate whose bound the makespan meets, "solver" if only a solver claims it, or
// "". That there are fewer rounds in none is another thing: see fewest.
func (r *Row) NoneFaster() string {
	switch {
	case r.Outcome() != verify.Proved:
		return ""
	case r.Known.NoneFaster(r.Makespan) != "":
		return r.Known.NoneFaster(r.Makespan)
	case r.Result.Stop == solve.Optimal && r.briefest():
		return "solver"
	}
	return ""
}

// Fewest names the evidence that no schedule of the same cut has fewer rounds, with late
// ranks fewer after the last arrival, or returns "". Rounds need not be equally long, so
// that one with as many or more can be quicker.
func (r *Row) Fewest() string {
	switch {
	case r.Outcome() != verify.Proved || !r.Result.Problem.Cost.Synchronous():
		return ""
	case r.Bound != nil && cert.FewestRounds(context.Background(), r.Bound, r.Result.Problem, r.Result.Schedule):
		return r.Bound.Witness.Kind()
	case r.Result.Stop == solve.Optimal:
		return "solver"
	}
	return ""
}

// briefest reports whether a solver that found no schedule with fewer rounds, where time is
// counted in rounds, has found none that is quicker: no rank is late, and no round of r
// lasts longer than any round does that moves something.
func (r *Row) briefest() bool {
	p := r.Result.Problem
	if !p.Cost.Synchronous() {
		return true
	}
	size, least := int64(model.MaxSize), model.MaxTime
	for _, c := range p.Chunks {
		size = min(size, c.Size)
	}
	for _, l := range p.Topology.Links {
		least = min(least, l.Alpha.Add(model.TransferTime(size, l.Bandwidth)))
	}
	return !p.Late() && r.Makespan == least.Mul(int64(r.Result.Schedule.Rounds()))
}

// LeftOut is a method that did not run, or found nothing, with the reason; or a schedule that
// was given and has no row.
type LeftOut struct {
	Method, Reason string
	Stop           solve.Stop // TimeLimit or Interrupted if that is the reason
	Given, Refuted bool       // it is a schedule that was given; and it is refuted
}

// Report is a problem with what the methods make of it.
type Report struct {
	Problem *model.Problem
	Rows    []*Row // the proved ones first, by makespan
	LeftOut []LeftOut
	Tried   []Tried            // what the methods of a portfolio found, in their order; see Evaluator.Enough
	Bound   *model.Certificate // the best for every cut, checked; nil: none

	// Free is the best of all, if Fits was asked for, and it does not fit or lasts longer than another one once it is
	// loaded; not in Rows.
	Free  *Row
	found []*Row // by the methods of a portfolio, if Fits was asked for

	// BoundEnded reports that the search for Bound ended with its time: there may be a
	// larger one.
	BoundEnded bool

	// Stopped is TimeLimit or Interrupted if that ended the work before all was done that
	// might have improved the report, and 0 otherwise.
	Stopped solve.Stop
}

// soFar returns a copy of the report, sorted, with the bound of every cut in all rows.
func (ev *Report) soFar() *Report {
	now := *ev
	now.Rows, now.LeftOut = nil, slices.Clone(ev.LeftOut)
	for _, r := range ev.Rows {
		row := *r
		row.EveryCut, row.Bound = ev.Bound, ev.Bound
		now.Rows = append(now.Rows, &row)
	}
	now.sort()
	return &now
}

func (ev *Report) sort() {
	slices.SortStableFunc(ev.Rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Makespan, b.Makespan))
	})
}

func (r *Row) StopReason() string {
	s := r.Result.Stop.String()
	if r.Result.Raw != "" {
		s += " (" + r.Result.Raw + ")"
	}
	if r.Result.Note != "" {
		s += ": " + r.Result.Note
	}
	return s
}

// rank puts what is not proved last.
func rank(r *Row) int {
	if r.Outcome() == verify.Proved {
		return 0
	}
	return 1
}

// Best returns the proved row with the least makespan, or nil.
func (ev *Report) Best() *Row {
	var best *Row
	for _, r := range ev.Rows {
		if r.Outcome() == verify.Proved && (best == nil || r.Makespan < best.Makespan) {
			best = r
		}
	}
	return best
}

// OnlyBest returns ev with its best row alone, if there is one.
func (ev *Report) OnlyBest() *Report {
	one := *ev
	if r := ev.Best(); r != nil {
		one.Rows = []*Row{r}
	}
	return &one
}

// EndedFor returns ev as ended early, for a reason, if it does not name another one.
func (ev *Report) EndedFor(why solve.Stop) *Report {
	one := *ev
	if one.Stopped == 0 {
		one.Stopped = why
	}
	return &one
}

// Undecided returns why there is no proved schedule, if that is only for want of time:
// TimeLimit or Interrupted, and 0 otherwise.
func (ev *Report) Undecided() solve.Stop {
	if ev.Best() != nil {
		return 0
	}
	if ev.Stopped != 0 {
		return ev.Stopped
	}
	for _, l := range ev.LeftOut {
		if l.Stop == solve.TimeLimit || l.Stop == solve.Interrupted {
			return l.Stop
		}
	}
	return 0
}

// AnyRefuted reports whether a verifier refuted what a method of ours returned, or what was given.
func (ev *Report) AnyRefuted() bool {
	return slices.ContainsFunc(ev.LeftOut, func(l LeftOut) bool { return l.Refuted }) || slices.ContainsFunc(ev.Rows, func(r *Row) bool { return r.Outcome() == verify.Refuted })
}

// Note joins what the method and the engines remarked.
func (r *Row) Note() string {
	var notes []string
	if r.Result.Note != "" {
		notes = append(notes, r.Result.Note)
	}
	if r.Verdict.Reason != "" {
		notes = append(notes, r.Verdict.Basis())
	}
	return strings.Join(notes, "; ")
}

// Solution returns what the method found with its verdicts, as written by a tool, such as
// "oraccl v1.2.3".
func (r *Row) Solution(tool string) *model.Solution {
	s := &model.Solution{Problem: r.Result.Problem, Schedule: r.Result.Schedule, Origin: model.Origin{
		Method: r.Method, Seed: r.Seed, Tool: tool, Verdict: map[string]string{}, Note: r.Result.Note,
	}}
	for engine, v := range r.Verdicts {
		s.Origin.Verdict[engine] = v.Outcome.String()
	}
	return s
}

// Package deploy decides whether a deployable schedule, such as MSCCL-IR, may be deployed:
// whether it performs its collective whatever order its threadblocks run in, which runtimes
// load it and for which calls they pick it, and for which sizes its connections have slots
// enough. Every verb that reads such a file has its verdict from Check:
//
//	a, err := msccl.Read("ring.xml", f)
//	r, err := deploy.Check(ctx, a.Deployable(), deploy.Options{})
//
// CheckPlan is Check for execution plans, such as those of MSCCL++, about which package plan decides.
//
// Package order decides about calls in place and out of place, package smt/concurrent as well
// where a solver is given. Sizes are those of the larger buffer, in bytes; but runtimes, and
// so a model.Selection, count the smaller one of a gather or scatter.
package deploy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/plan"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
)

// Mode is for which calls a schedule is judged.
type Mode uint8

// The modes.
const (
	AsDeclared Mode = iota
	InPlace
	OutOfPlace
)

// Options say by what a schedule is judged. The zero value is what it declares.
type Options struct {
	Collective string // that it must perform, by a name of the format; empty: what it declares
	Root       int    // of a rooted collective
	Mode       Mode
	Runtime    string        // that must load it as it is built; empty: any of them, or one that is built with more room
	Size       int64         // of the buffer that it must serve; 0: no such question
	Formulas   smt.Backend   // the solver of the smt engine; nil: the order engine decides alone
	TimeLimit  time.Duration // of the smt engine, for each of the calls; 0: none
}

// Report is what is decided about a deployable schedule. Its zero value decides nothing.
type Report struct {
	// Verdict is proved if every call is, a runtime loads the schedule, or would if it were
	// built with more room, and the size that was asked about, if any, does not deadlock.
	Verdict verify.Verdict
	Kind    order.Kind
	// Proviso is what a proof of a call depends on, such as the size of the buffer: what the
	// claim of a proved schedule goes on with. It is empty of what is not proved.
	Proviso string

	File       string            // that was judged, for those who print the report; Check leaves it empty
	Schedule   *model.Deployable // what was judged; nil if it could not be read
	Collective string            // by which it was judged
	Guess      string            // how that was guessed, if it was
	Size       int64             // that was asked about, or 0
	Loadings   []model.Loading   // of the runtimes that were asked about
	Calls      []Call
	Plan       *plan.Report // of an execution plan, which has no calls; else nil
	Findings   []Finding    // the gravest first

	named bool // a runtime was asked about by name
}

// Call is what is decided about calls in place, or out of place.
type Call struct {
	InPlace  bool
	Order    *order.Report
	Formulas *concurrent.Report // nil: not asked
	Slots    Slots
}

// String returns "in place" or "out of place".
func (c *Call) String() string {
	if c.InPlace {
		return "in place"
	}
	return "out of place"
}

// Reject is the kind of what no runtime that was asked about loads, even if it were built
// with more room.
const Reject order.Kind = "reject"

// Check decides about a deployable schedule. An error is about the options, or a
// *verify.Contradiction of two engines. Check takes the time of order.Check for each
// call, and O(log steps) further executions for the slots.
func Check(ctx context.Context, d *model.Deployable, o Options) (*Report, error) {
	r := &Report{Schedule: d, Collective: o.Collective, Size: o.Size, named: o.Runtime != ""}
	if o.Root != 0 && (o.Root < 0 || o.Root >= d.Ranks) {
		return nil, fmt.Errorf("root %d: want 0 to %d", o.Root, d.Ranks-1)
	}
	for _, l := range d.Loadings {
		if o.Runtime == "" || o.Runtime == l.Runtime {
			r.Loadings = append(r.Loadings, l)
		}
	}
	if len(r.Loadings) == 0 {
		return nil, fmt.Errorf("runtime %q: does not exist", o.Runtime)
	}
	if r.Collective == "" {
		r.guess(ctx, o.Root)
	}
	read := r.Collective
	if r.Collective == "" {
		r.Collective = d.Collective
	}
	var meaning error // why there is no program
	for _, in := range r.modes(o.Mode) {
		var p *model.Program
		if p, meaning = d.Program(model.Meaning{Collective: read, InPlace: in, Root: o.Root}); meaning != nil {
			break
		}
		c := Call{InPlace: in, Order: order.Check(ctx, p)}
		c.Slots = slotsOf(c.Order, d, r.shares())
		if o.Formulas != nil {
			f := concurrent.Check(ctx, p, o.Formulas, concurrent.Options{Timeout: o.TimeLimit})
			c.Formulas = &f
		}
		r.Calls = append(r.Calls, c)
	}
	if err := r.conclude(meaning); err != nil {
		return nil, err
	}
	r.find()
	return r, nil
}

// Unreadable returns the report on a file that no runtime can read: what it is meant to be ("is
// MSCCL-IR"), the line, and what is wrong there.
func Unreadable(claim string, line int, message string) *Report {
	r := &Report{Kind: Reject, Verdict: verify.Verdict{Outcome: verify.Refuted, Engine: "import", Claim: claim, Violations: []verify.Violation{
		verify.Wrong(verify.Malformed, fmt.Sprintf("line %d", line), message).AtLine(line)}}}
	r.find()
	return r
}

// modes returns for which calls the schedule is judged: in place, or not.
func (r *Report) modes(m Mode) []bool {
	switch d := r.Schedule; {
	case m == InPlace:
		return []bool{true}
	case m == OutOfPlace || !d.InPlace:
		return []bool{false}
	case d.OutOfPlace:
		return []bool{true, false}
	}
	return []bool{true}
}

// Release forgets the program and its execution, which are in proportion to the file: what
// is left is for printing.
func (r *Report) Release() {
	if r.Schedule != nil {
		r.Schedule.Program = nil
	}
	for i := range r.Calls {
		r.Calls[i].Order.Release()
	}
}

// customs are the collectives that a schedule that is declared as custom may perform.
var customs = []string{"alltonext", "alltonextbackward", "allreduce", "alltoall", "broadcast", "reduce"}

// guess finds the collective that a schedule which is declared as custom comes close to: in
// place or out of place, its canonical execution is right for more than half of the cells.
// What such a guess refutes alone is not refuted.
func (r *Report) guess(ctx context.Context, root int) {
	if r.Schedule.Collective != "custom" {
		return
	}
	most := 0.5
	for _, coll := range customs {
		for _, in := range []bool{false, true} {
			p, err := r.Schedule.Program(model.Meaning{Collective: coll, InPlace: in, Root: root})
			if err != nil {
				return
			}
			right, wanted := performs(ctx, p)
			if share := float64(right) / float64(max(wanted, 1)); share > most {
				most, r.Collective = share, coll
				r.Guess = fmt.Sprintf("coll=custom: judged as %s, which it performs for %d of %d chunks %v; --collective names another", coll, right, wanted, &Call{InPlace: in})
			}
		}
	}
}

// performs returns for how many cells a program does what it should, and for how many
// it should do something.
func performs(ctx context.Context, p *model.Program) (right, wanted int) {
	r := order.Check(ctx, p)
	if r.Result == verify.Unknown {
		return 0, 0
	}
	for _, post := range p.Post {
		for _, w := range post {
			if w >= 0 {
				wanted++
			}
		}
	}
	right = wanted
	for _, c := range []verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue} {
		right -= r.Counts[c]
	}
	return right, wanted
}

// Grade is how far the runtime that is nearest to it is from loading the schedule. One that
// was named must load it as it is built; else it may be built with more room.
func (r *Report) Grade() model.Grade {
	nearest := model.Unreadable
	for _, l := range r.Loadings {
		nearest = min(nearest, l.Grade)
	}
	if r.named && nearest == model.NoRoom {
		nearest = model.Refused
	}
	return nearest
}

// shares is how many of what the runtimes count the larger buffer has: one, or a rank's part
// of a gather or scatter each.
func (r *Report) shares() int64 {
	if r.Collective == "gather" || r.Collective == "scatter" {
		return int64(max(1, r.Schedule.Ranks))
	}
	return 1
}

// Picked reports whether a runtime picks the schedule for the size that was asked about.
func (r *Report) Picked(s model.Selection) bool {
	n := r.Size / r.shares()
	return s.Never == "" && n >= s.Min && (s.Max < 0 || n <= s.Max)
}

// Consistent reports whether all ranks add in the same order: proved if they do in all
// calls, refuted if not in one, unknown where nothing is added.
func (r *Report) Consistent() verify.Outcome {
	all := verify.Unknown
	for _, c := range r.Calls {
		if all != verify.Refuted && c.Order.Consistent != verify.Unknown {
			all = c.Order.Consistent
		}
	}
	return all
}

// loaders returns the loadings of the runtimes that may carry the schedule out: those that
// load it or, if none does, those that would if they had more room.
func (r *Report) loaders() []model.Loading {
	grade := r.Grade()
	if grade > model.NoRoom {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Loadings), func(l model.Loading) bool { return l.Grade > grade })
}

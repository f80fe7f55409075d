package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// Progress is told how far the work has come.
type Progress interface {
	// Begin is called before a method starts, and may set o.Progress.
	Begin(method string, o *solve.Options)
	// Note states what is being done.
	Note(text string)
	// End is called when the work is done.
	End()
}

// Silent reports nothing.
type Silent struct{}

func (Silent) Begin(string, *solve.Options) {}

func (Silent) Note(string) {}

func (Silent) End() {}

// Evaluator runs methods on a problem.
type Evaluator struct {
	Methods []solve.Solver
	Named   bool    // the methods were asked for by name
	Given   []Given // schedules that become rows beside those of the methods, by their names
	Options solve.Options
	SMT     smt.Options
	SMTMost int    // transfers above which a schedule is proved by replay alone; 0: any number
	Scratch string // a directory for proofs; empty: none are written
	Refute  bool   // proofs are wanted where other bounds say as much, too
	// Horizons holds, by cut, the checked certificate of the largest horizon without a
	// schedule.
	Horizons map[string]*model.Certificate
	// Bounds returns what is known below the makespan before a method begins; nil: Bound.
	Bounds   func(context.Context, *model.Problem) (*model.Certificate, error)
	Progress Progress

	// WarmStart has quick methods find a schedule for a method to begin from that can, if
	// it is not to run after others.
	WarmStart bool

	// Enough, if above zero, asks for the best schedule alone: methods run until one is
	// proved to be at most that far above the bound, 0.005 for half a percent, and only what
	// may be the best is proved and becomes a row. See UsuallyEnough. 0: all methods run, and
	// all that they find is proved.
	Enough float64

	// Fits, if not nil, asks for schedules that fit, beside those that are best: of each method
	// that finds one which does not, the best with fewer chunks that does; and with Enough the
	// best of all methods.
	Fits *Fits

	// ChooseCuts has the cut searched, where p and Options leave it open, for methods that
	// choose none. Methods that begin from a schedule get one chunk a member, as all others do
	// where this is not set.
	ChooseCuts bool

	// MostWritten, if above zero, is how many transfers there is time to write to a file in the end: methods that obey
	// solve.Options.MostTransfers make no more.
	MostWritten int

	// Found, if not nil, is called when the bound is known, and after each row, with the
	// report as it is then and a copy of each row.
	Found func(*Report)

	of       *model.Problem           // that Horizons and searched are about; nil: the first one
	searched map[string]search        // by cut
	begun    time.Time                // when the methods began
	paces    map[string]time.Duration // by engine: how long a transfer takes, as measured
	alike    time.Duration            // how long the solver takes for one of a chunk that is like one before, as measured; 0: it is not
}

// Grace is how long at most what was found when the time is over is verified and bounded: what is left of a second is for it to be written.
const Grace = 500 * time.Millisecond

// Close removes what was left in the directory for proofs.
func (e *Evaluator) Close() {
	if e.Scratch != "" {
		os.RemoveAll(e.Scratch)
	}
}

// Evaluate runs every method that serves p, verifies what they find, and bounds
// it. A method that fails is left out with its reason.
//
// A method that begins from the best schedule of the others is left out, unless it was asked for
// by name, if nothing of its cuts is shorter; otherwise it works no longer than the others
// together did, or two seconds.
//
// Options.TimeLimit is for all of it. Each method gets an equal share of what is left when
// it begins, most of it to find a schedule and the rest to have it verified, so that what quick methods
// leave is for those after them. When the time is over, or ctx is done, Evaluate returns
// within Grace, and the report has what there is by then.
func (e *Evaluator) Evaluate(ctx context.Context, p *model.Problem) (*Report, error) {
	b, cancel := e.Options.Budget(ctx)
	defer cancel()
	if e.of != nil && e.of != p {
		e.Horizons, e.searched = nil, nil // of another problem
	}
	e.of, e.paces, e.alike = p, nil, 0
	ev := &Report{Problem: p}
	methods := e.serving(b, p, ev)
	if err := e.boundAll(b, ev); err != nil {
		return nil, err
	}
	if e.Found != nil {
		e.Found(ev.soFar())
	}
	if err := e.addGiven(b, ev); err != nil {
		return nil, err
	}
	if e.Enough > 0 {
		if err := e.answer(b, p, methods, ev); err != nil {
			return nil, err
		}
		methods = nil
	}
	e.begun = time.Now()
	for i, m := range methods {
		if stop := b.Stop(); stop != 0 {
			ev.Stopped = stop
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: tooLate(stop), Stop: stop})
			continue
		}
		if !e.Named && m.About().WarmStart {
			if reason := e.cannotWin(b, m, p, ev); reason != "" {
				ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: reason})
				continue
			}
		}
		share, done := shareOf(b, len(methods)-i)
		if !e.Named && m.About().WarmStart && b.Left() != math.MaxInt64 {
			limit := max(1, min(share.Left(), max(leastLong, time.Since(e.begun))))
			done()
			share, done = solve.NewBudget(b.Context(), limit, b.Threads())
		}
		r, err := e.run(share, m, p, ev.Rows)
		done()
		var wrong *verify.Contradiction
		switch {
		case errors.As(err, &wrong):
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		case err != nil && (errors.Is(err, solve.ErrNotServed) || len(e.Methods) > 1):
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: err.Error()})
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		case r.Result.Schedule == nil:
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: "found no schedule: " + r.StopReason(), Stop: r.Result.Stop})
		default:
			ev.Rows = append(ev.Rows, r)
			if e.Found != nil {
				e.Found(ev.soFar())
			}
			if err := e.addFitting(b, len(methods)-i, m, p, r, ev); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name(), err)
			}
		}
	}
	err := e.boundRows(b, ev)
	if stop := b.Stop(); stop != 0 && (e.Enough == 0 || !e.enough(b, p, ev)) {
		ev.Stopped = stop
	}
	return ev, err
}

// serving returns the methods that are to run, and notes in ev why others are not.
func (e *Evaluator) serving(b *solve.Budget, p *model.Problem, ev *Report) (methods []solve.Solver) {
	for _, m := range e.Methods {
		about := m.About()
		if !e.Named && !p.Late() && about.LateOnly {
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: "no rank is late (name it in --methods to have it all the same)"})
			continue
		}
		if !e.Named && (about.ComparisonOnly || about.SwitchesOnly && !slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool { return s.Copies || s.Reduces != model.NoReducing })) {
			continue
		}
		if b.Stop() == 0 {
			if err := m.Serves(p); err != nil {
				ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: err.Error()})
				continue
			}
		}
		methods = append(methods, m)
	}
	return methods
}

// tooLate is why a method does not begin.
func tooLate(stop solve.Stop) string {
	if stop == solve.Interrupted {
		return "interrupted before it began"
	}
	return "the time limit was reached before it began"
}

// leastLong is for how long at least a method that begins from what others found may look for
// something better.
const leastLong = 2 * time.Second

// mostReserve limits the time that is kept for what comes after the methods.
const mostReserve = 5 * time.Second

// shareOf returns the share of the time that the first of several methods gets. An eighth
// is kept for what comes after them.
func shareOf(b *solve.Budget, methods int) (*solve.Budget, context.CancelFunc) {
	left := b.Left()
	if left == math.MaxInt64 {
		return solve.NewBudget(b.Context(), 0, b.Threads())
	}
	left -= min(left/8, mostReserve)
	return solve.NewBudget(b.Context(), max(1, left/time.Duration(methods)), b.Threads())
}

// Run runs one method and verifies what it finds, within Options.TimeLimit and Grace.
func (e *Evaluator) Run(ctx context.Context, m solve.Solver, p *model.Problem, before []*Row) (*Row, error) {
	b, cancel := e.Options.Budget(ctx)
	defer cancel()
	return e.run(b, m, p, before)
}

// run is Run within a budget.
func (e *Evaluator) run(b *solve.Budget, m solve.Solver, p *model.Problem, before []*Row) (*Row, error) {
	r, err := e.find(b, m, p, before)
	if err != nil || r.Result.Schedule == nil {
		return r, err
	}
	return r, e.prove(b, r)
}

// better is how many times as close to the bound a method may come before it is told to stop
// as Enough asks for: of what is quick to find, a little more is taken.
const better = 5

// find runs one method, with one cut after the other where it is one of those that work long on
// one, and returns the best of what it finds.
func (e *Evaluator) find(b *solve.Budget, m solve.Solver, p *model.Problem, before []*Row) (*Row, error) {
	if !e.triesCuts(m, p) {
		return e.findFor(b, m, p, before)
	}
	cuts := e.cutsToTry(b, m, p, before)
	if len(cuts) == 0 {
		cuts = []int{1}
	}
	var best *Row
	var stopped solve.Stop // of one of the cuts
	for i, k := range cuts {
		share, done := b.Share(len(cuts) - i)
		r, err := e.findFor(share, m, solve.Cut(p, k), before)
		done()
		switch {
		case err != nil && best != nil: // too large, though its least horizon is not
			return best, nil
		case err != nil:
			return nil, err
		}
		if r.Result.Stop == solve.TimeLimit || r.Result.Stop == solve.Interrupted {
			stopped = r.Result.Stop
		}
		if best == nil || r.Result.Schedule != nil && (best.Result.Schedule == nil || r.Makespan < best.Makespan) {
			if best != nil {
				r.Solving += best.Solving
			}
			best = r
		} else {
			best.Solving += r.Solving
		}
		if b.Stop() != 0 || best.Result.Schedule != nil && e.near(b, p, best.Makespan) {
			break
		}
	}
	if best.Result.Stop == solve.Done && stopped != 0 { // there may be more
		best.Result.Stop = stopped
	}
	return best, nil
}

// findFor runs one method on p, whose cut is searched or left to the method if it is open.
func (e *Evaluator) findFor(b *solve.Budget, m solve.Solver, p *model.Problem, before []*Row) (*Row, error) {
	after, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	o := e.Options
	about := m.About()
	e.Progress.Begin(m.Name(), &o)
	defer e.Progress.End()
	for _, r := range before {
		if r.Outcome() == verify.Proved && (o.Best == 0 || r.Makespan < o.Best) {
			o.Best = r.Makespan
		}
	}
	cutNote, choosing, chosen := "", time.Duration(0), solve.Result{}
	if about.NeedsCut != nil && about.NeedsCut(p) {
		k := max(1, o.Chunks)
		if e.searchesCut(m, p) {
			e.Progress.Note("choosing the cut")
			start := time.Now()
			k, chosen, cutNote = e.chooseCut(b, m, p)
			choosing = time.Since(start)
		}
		p = solve.Cut(p, k)
	}
	if best := bestStart(p, before); best != nil {
		o.Start, o.StartFrom = &best.Result, best.Method
	} else if e.WarmStart && about.WarmStart {
		o.Start, o.StartFrom = e.warmStart(b, p)
	}
	e.goals(b, p, &o)
	o.Scratch, o.Refute = e.Scratch, e.Refute
	e.Progress.Note("solving")
	start := time.Now()
	result, err := solveFrom(b, m, p, o, chosen)
	if err != nil {
		return nil, err
	}
	if cutNote != "" && result.Schedule != nil {
		result.Note = strings.TrimPrefix(result.Note+"; "+cutNote, "; ")
	}
	return e.row(after, m.Name(), p, result, choosing+time.Since(start))
}

// forWriting is the part of the time that is left to write a file, and perWritten how long that takes for a transfer, rather more than less.
const forWriting, perWritten = 6, 1500 * time.Nanosecond

// ToWrite has time be left to write the best schedule to a file, of a limit and some more after that, and returns the context for Evaluate: methods
// make no more transfers than can be written in it. It returns ctx where there is no limit.
func (e *Evaluator) ToWrite(ctx context.Context, limit, more time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	e.MostWritten = int((limit/forWriting + more) / perWritten)
	return context.WithTimeout(ctx, limit-limit/forWriting)
}

// goals sets what a method is told of what can be found, and of what is enough, and the time that it has.
func (e *Evaluator) goals(b *solve.Budget, p *model.Problem, o *solve.Options) {
	if c, err := e.boundBefore(b, p); err == nil && c != nil { // for every cut, where p leaves it open
		o.Bound = c.Bound
	}
	if c := e.Horizons[CutKey(p)]; c != nil {
		o.Bound = max(o.Bound, c.Bound)
	}
	if e.Enough > 0 {
		o.Enough = o.Bound + model.Time(e.Enough/better*float64(o.Bound))
	}
	if o.TimeLimit, o.MostTransfers = 0, 0; b.Left() != math.MaxInt64 {
		o.TimeLimit = max(1, b.Left()/5*4) // the rest is for the verifiers
		o.MostTransfers = max(1, int((b.Left()-o.TimeLimit+Grace)/usually["replay"]))
	}
	if e.MostWritten > 0 {
		o.MostTransfers = min(cmp.Or(o.MostTransfers, e.MostWritten), e.MostWritten)
	}
}

// goOn has a method go on that was stopped by its share of the time, for p as findFor had it. It has all of the time of b, and makes no more transfers
// than most, if that is above zero and the method obeys solve.Options.MostTransfers.
func (e *Evaluator) goOn(b *solve.Budget, p *model.Problem, r *Row, most int) (*Row, error) {
	after, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	o := e.Options
	e.Progress.Begin(r.Method, &o)
	defer e.Progress.End()
	e.goals(b, p, &o)
	o.TimeLimit = b.Left()
	if most > 0 {
		o.MostTransfers = min(cmp.Or(o.MostTransfers, most), most)
	}
	e.Progress.Note("solving")
	start := time.Now()
	result, err := r.Result.More(b.Context(), o)
	if err != nil {
		return nil, err
	}
	return e.row(after, r.Method, p, result, r.Solving+time.Since(start))
}

// row returns what a method answered for p, once that is checked for what verifiers do not see.
func (e *Evaluator) row(ctx context.Context, method string, p *model.Problem, result solve.Result, solving time.Duration) (*Row, error) {
	if result.Schedule != nil {
		for _, remark := range []string{result.Problem.Unused(result.Schedule), result.Problem.Untyped(result.Schedule)} {
			if remark != "" {
				result.Note = strings.TrimPrefix(result.Note+"; "+remark, "; ")
			}
		}
	}
	r := &Row{Method: method, Result: result, Seed: e.Options.Seed, Solving: solving}
	if err := e.keepRefuted(ctx, result); err != nil {
		return nil, err
	}
	if result.Schedule == nil {
		return r, nil
	}
	if !p.SameUpToCut(result.Problem) {
		return nil, fmt.Errorf("answered another problem: %v", result.Problem)
	}
	if err := result.Problem.Validate(); err != nil { // times of a fine cut may be beyond what numbers hold
		return nil, solve.NotServed("the cut that it chose, %d chunks: %v", len(result.Problem.Chunks), err)
	}
	if result.Schedule.Form == model.Ordered { // its verifiers look at no capacity
		return nil, errors.New("answered with an order, want times or rounds")
	}
	r.Makespan = result.Makespan()
	return r, nil
}

// solveFrom has a method solve p. What was found when the cut was chosen is the answer if no option has an effect on the
// method, so that it would find that again, or if its time ends before it has found what is as short.
func solveFrom(b *solve.Budget, m solve.Solver, p *model.Problem, o solve.Options, chosen solve.Result) (solve.Result, error) {
	switch {
	case chosen.Schedule == nil:
		return m.Solve(b.Context(), p, o)
	case m.About().Uses == 0:
		return chosen, nil
	}
	if chosen.Stop = b.Stop(); chosen.Stop != 0 {
		return chosen, nil
	}
	r, err := m.Solve(b.Context(), p, o)
	if err != nil || r.Schedule != nil && r.Makespan() <= chosen.Makespan() {
		return r, err
	}
	chosen.Stop = r.Stop
	return chosen, nil
}

// boundBefore returns the bound of p that a method is told.
func (e *Evaluator) boundBefore(b *solve.Budget, p *model.Problem) (*model.Certificate, error) {
	e.Progress.Note("bounding")
	share, done := b.Share(4)
	defer done()
	if e.Bounds != nil {
		return e.Bounds(share.Context(), p)
	}
	s, err := e.search(share.Context(), p)
	return s.best, err
}

// mostWarm limits the time for a warm start.
const mostWarm = time.Second

// warmStart returns the best that quick methods find for the cut of p in a tenth of the
// time, and which of them found it; nil if none does. Nothing has verified it: what a method
// makes of it is verified.
func (e *Evaluator) warmStart(b *solve.Budget, p *model.Problem) (best *solve.Result, from string) {
	e.Progress.Note("looking for a start")
	limit := mostWarm
	if b.Left() != math.MaxInt64 {
		limit = min(limit, max(1, b.Left()/10))
	}
	share, done := solve.NewBudget(b.Context(), limit, b.Threads())
	defer done()
	for _, m := range Methods() {
		about := m.About()
		if about.WarmStart || about.ComparisonOnly || about.LateOnly && !p.Late() || share.Stop() != 0 || m.Serves(p) != nil {
			continue
		}
		r, err := m.Solve(share.Context(), p, solve.Options{Seed: e.Options.Seed, Threads: e.Options.Threads})
		if err == nil && r.Schedule != nil && r.Problem.SameUpToCut(p) && slices.Equal(r.Problem.Chunks, p.Chunks) &&
			r.Schedule.Form != model.Ordered && (best == nil || r.Makespan() < best.Makespan()) {
			best, from = &r, m.Name()
		}
	}
	return best, from
}

// bestStart returns the best proved row so far of the cut of p, of any cut where p leaves it
// open, or nil.
func bestStart(p *model.Problem, before []*Row) *Row {
	var best *Row
	for _, r := range before {
		if r.Outcome() == verify.Proved && (p.Chunks == nil || slices.Equal(r.Result.Problem.Chunks, p.Chunks)) &&
			(best == nil || r.Makespan < best.Makespan) {
			best = r
		}
	}
	return best
}

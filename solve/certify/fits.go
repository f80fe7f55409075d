package certify

import (
	"context"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
)

// Fits is what a schedule must be beside right: a runtime loads it.
type Fits struct {
	Name string // of the runtime: "msccl"

	// Check returns, if a schedule fits, which is right for its problem, how long what the runtime loads takes; or why it
	// does not fit.
	Check func(context.Context, *model.Problem, *model.Schedule) (Loaded, error)
}

// Loaded is what a runtime makes of a schedule.
type Loaded struct {
	Lasts model.Time // its makespan; 0: not known
	Note  string     // with which times, or why it is not known
}

// Fitting is whether a schedule fits.
type Fitting struct {
	Name string // of what it was to fit
	Err  error  // why it does not; nil: it does
	Loaded
}

// OK reports whether the schedule fits. Where nothing was asked all do.
func (f *Fitting) OK() bool { return f == nil || f.Err == nil }

// fits finds out whether what a method found fits.
func (e *Evaluator) fits(ctx context.Context, r *Row) bool {
	if e.Fits == nil || r.Result.Schedule == nil {
		return true
	}
	if r.Fit == nil {
		loaded, err := e.Fits.Check(ctx, r.Result.Problem, r.Result.Schedule)
		r.Fit = &Fitting{Name: e.Fits.Name, Err: err, Loaded: loaded}
	}
	return r.Fit.OK()
}

// idleFits is how many cuts one after the other that do not fit end the search of a method: more
// chunks need more of everything.
const idleFits = 2

// findFitting returns the best of what a method finds that fits, nil if nothing does. Where the
// cut is open, it gets one cut after the other, with more and more chunks, except those whose
// own bound is no better than below, if that is above zero, or than what was found.
func (e *Evaluator) findFitting(b *solve.Budget, m solve.Solver, p *model.Problem, before []*Row, below model.Time) (best *Row) {
	late, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	fit := slices.DeleteFunc(slices.Clone(before), func(r *Row) bool { return !r.Fit.OK() })
	idle, spent := 0, time.Duration(0)
	for _, k := range fitCuts(p) {
		q := solve.Cut(p, k)
		if b.Stop() != 0 || k > 1 && p.Chunks == nil && len(q.Chunks) < q.DefaultChunks(k) || m.Serves(q) != nil {
			break
		}
		if below > 0 && quickEstimate(b.Context(), q) >= below {
			continue
		}
		share, done := b.Share(2)
		r, err := e.findFor(share, m, q, fit)
		done()
		if err != nil || r.Result.Schedule == nil {
			break
		}
		spent += r.Solving
		if !e.fits(late, r) {
			if idle++; idle == idleFits {
				break
			}
			continue
		}
		idle = 0
		if below == 0 || r.Makespan < below {
			best, below = r, r.Makespan
		}
		if e.near(b, p, below) {
			break
		}
	}
	if best != nil {
		best.Solving = spent
	}
	return best
}

// fitCuts returns the numbers of chunks a member that are tried for what fits.
func fitCuts(p *model.Problem) []int {
	switch {
	case p.Chunks != nil || p.Collective.Kind == model.Custom || p.Cost.Synchronous():
		return []int{1}
	case p.DefaultChunks(1) == 1:
		return wholeCuts
	}
	return append(slices.Clone(triedCuts), 24, 32)
}

// fitting looks, after the best of all is known, for the best that fits. If that is another one,
// the best of all becomes ev.Free.
func (e *Evaluator) fitting(b *solve.Budget, p *model.Problem, methods []solve.Solver, ev *Report) error {
	free := ev.Best()
	late, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	if free == nil || e.fits(late, free) {
		return nil
	}
	ev.KeepFitting()
	for i, m := range methods {
		best := ev.Best()
		if b.Stop() != 0 || best != nil && (e.near(b, p, best.Makespan) || float64(best.Makespan) <= (1+UsuallyEnough)*float64(free.Makespan)) {
			break
		}
		below := model.Time(0)
		if best != nil {
			below = best.Makespan
		}
		share, done := fallingShare(b, len(methods)-i)
		r := e.findFitting(share, m, p, ev.Rows, below)
		done()
		if r == nil {
			continue
		}
		if err := e.proveBest(b, []*Row{r}, ev); err != nil {
			return err
		}
	}
	if ev.Best() == nil && b.Stop() != 0 {
		ev.Stopped = b.Stop()
	}
	return nil
}

// addFitting adds, where the row r that a method m found does not fit, the best row of m that
// does. methods is how many methods have to share the time.
func (e *Evaluator) addFitting(b *solve.Budget, methods int, m solve.Solver, p *model.Problem, r *Row, ev *Report) error {
	late, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	if r.Outcome() != verify.Proved || e.fits(late, r) || m.About().WarmStart {
		return nil
	}
	share, done := shareOf(b, methods)
	defer done()
	fit := e.findFitting(share, m, p, nil, 0)
	if fit == nil {
		return nil
	}
	ev.Rows = append(ev.Rows, fit)
	return e.prove(share, fit)
}

// KeepFitting makes the best of all rows Free, if it does not fit, and drops what else does not.
// It does nothing where no runtime was named.
func (ev *Report) KeepFitting() {
	if best := ev.Best(); best != nil && !best.Fit.OK() {
		ev.Free = best
	}
	ev.Rows = slices.DeleteFunc(slices.Clone(ev.Rows), func(r *Row) bool { return !r.Fit.OK() && r.Outcome() == verify.Proved })
}

// Slower returns by which part of the best makespan of all the best that fits is longer, 0 if it is
// the best. ok is false where there is none, or none was asked for.
func (ev *Report) Slower() (slower float64, ok bool) {
	fit := ev.BestFitting()
	if fit == nil || fit.Fit == nil {
		return 0, false
	}
	free := fit
	for _, r := range append(slices.Clone(ev.Rows), ev.Free) {
		if r != nil && r.Outcome() == verify.Proved && r.Makespan < free.Makespan {
			free = r
		}
	}
	return float64(fit.Makespan)/float64(free.Makespan) - 1, true
}

// BestFitting returns the proved row with the least makespan that fits, or nil. Where nothing was
// asked of any row it is Best.
func (ev *Report) BestFitting() *Row {
	asked := slices.ContainsFunc(ev.Rows, func(r *Row) bool { return r.Fit != nil })
	fit := Report{Rows: slices.DeleteFunc(slices.Clone(ev.Rows), func(r *Row) bool { return !r.Fit.OK() || asked && r.Fit == nil })}
	return fit.Best()
}

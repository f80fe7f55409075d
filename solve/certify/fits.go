package certify

import (
	"cmp"
	"context"
	"fmt"
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
	File  []byte     // what it loads
	About string     // lines about the file
}

// Fitting is whether a schedule fits.
type Fitting struct {
	Name string // of what it was to fit
	Err  error  // why it does not; nil: it does
	Loaded
}

// OK reports whether the schedule fits. Where nothing was asked all do.
func (f *Fitting) OK() bool { return f == nil || f.Err == nil }

// Lasts returns how long what a runtime loads takes: what was found when it was asked whether the schedule fits, and
// the makespan where nothing was asked, or that is not known.
func (r *Row) Lasts() model.Time {
	if r.lastsKnown() {
		return r.Fit.Lasts
	}
	return r.Makespan
}

func (r *Row) lastsKnown() bool { return r.Fit != nil && r.Fit.OK() && r.Fit.Lasts > 0 }

// compareLasts puts what lasts least first, and where that is not known last.
func compareLasts(x, y *Row) int {
	rank := map[bool]int{true: 0, false: 1}
	return cmp.Or(cmp.Compare(rank[x.lastsKnown()], rank[y.lastsKnown()]), cmp.Compare(x.Lasts(), y.Lasts()))
}

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

// idleFits is how many cuts one after the other that bring nothing end the search of a method.
const idleFits = 2

// tried is what came of a cut.
type tried uint8

const (
	gained  tried = iota
	useless       // it is no better than what is known
	tooMany       // there is no schedule, or it does not fit: fewer chunks may do
	over          // there is no need, or no time, to go on
)

// findFitting returns, of what a method finds, what fits and lasts least, nil if nothing fits or lasts less than below,
// if that is above zero. Where the cut is open, it begins with many chunks, takes more as long as that is better, and then fewer,
// except those whose own bound is no better than below, or than what was found.
func (e *Evaluator) findFitting(b *solve.Budget, m solve.Solver, p *model.Problem, before []*Row, below model.Time) (best *Row) {
	late, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	// What is shorter than it lasts would end methods too soon.
	fit := slices.DeleteFunc(slices.Clone(before), func(r *Row) bool { return !r.Fit.OK() || r.Lasts() > r.Makespan })
	spent := time.Duration(0)
	attempt := func(k int) tried {
		q := solve.Cut(p, k)
		switch {
		case b.Stop() != 0:
			return over
		case k > 1 && p.Chunks == nil && len(q.Chunks) < q.DefaultChunks(k) || m.Serves(q) != nil:
			return tooMany
		case below > 0 && quickEstimate(b.Context(), q) >= below:
			return useless
		}
		share, done := b.Share(2)
		r, err := e.findFor(share, m, q, fit)
		done()
		if err != nil || r.Result.Schedule == nil {
			return tooMany
		}
		spent += r.Solving
		switch {
		case below > 0 && r.Makespan >= below:
			return useless
		case !e.fits(late, r):
			return tooMany
		case below > 0 && (!r.lastsKnown() || r.Lasts() >= below):
			return useless
		}
		if best = r; !r.lastsKnown() {
			return gained
		}
		if below = r.Lasts(); e.near(b, p, below) {
			return over
		}
		return gained
	}
	cuts := fitCuts(p)
	from, came := len(cuts)*3/4, gained
	idle := 0
	next := func(k int) {
		if came = attempt(k); came == gained {
			idle = 0
		} else if came == useless {
			idle++
		}
	}
	for i := from; i < len(cuts) && came <= useless && idle < idleFits; i++ {
		next(cuts[i])
	}
	idle = 0
	for i := from - 1; i >= 0 && came != over && idle < idleFits; i-- {
		next(cuts[i])
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

// fitting looks, after the best of all is known, for what fits and lasts least: of all that the methods found first, and
// then of what they find with fewer chunks. If that is another one than the best of all, the best of all becomes ev.Free.
func (e *Evaluator) fitting(b *solve.Budget, p *model.Problem, methods []solve.Solver, ev *Report) error {
	free := ev.Best()
	if free == nil {
		return nil
	}
	b, done := shareOf(b, 1)
	defer done()
	late, cancel := solve.Grace(b.Context(), Grace)
	e.fits(late, free)
	cancel()
	if err := e.loadBest(b, ev.found, ev); err != nil {
		return err
	}
	order := func(m solve.Solver) int { // what won first, then what usually does, and what was quick, and is loaded, last
		switch about := m.About(); {
		case m.Name() == free.Method:
			return -1
		case about.Quick:
			return 2
		case about.Leads != nil && about.Leads(p):
			return 0
		}
		return 1
	}
	methods = slices.Clone(methods)
	slices.SortStableFunc(methods, func(l, m solve.Solver) int { return cmp.Compare(order(l), order(m)) })
	for i, m := range methods {
		best, below := ev.BestFitting(), model.Time(0)
		if best != nil && best.lastsKnown() {
			below = best.Lasts()
		}
		if b.Stop() != 0 || below > 0 && (e.near(b, p, below) || float64(below) <= (1+UsuallyEnough)*float64(free.Makespan)) {
			break
		}
		pieces := len(methods) - i
		if i == 0 { // what won
			pieces = min(pieces, winners)
		}
		share, done := fallingShare(b, pieces)
		r := e.findFitting(share, m, p, ev.Rows, below)
		done()
		if r == nil {
			continue
		}
		if err := e.loadBest(b, []*Row{r}, ev); err != nil {
			return err
		}
	}
	ev.KeepFitting()
	if ev.Best() == nil && b.Stop() != 0 {
		ev.Stopped = b.Stop()
	}
	return nil
}

// winners is among how many methods the time is shared at most while the one that won without a runtime looks for what fits: it has half.
const winners = 4

// loadBest has those of some found schedules verified that fit and last less than the row that fits, the one that
// lasts least first, until one is proved, and keeps that as the row beside the best of all. Where none does in time, it asks for
// the one of the fewest transfers.
func (e *Evaluator) loadBest(b *solve.Budget, found []*Row, ev *Report) error {
	late, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(x, y *Row) int { return cmp.Compare(x.Makespan, y.Makespan) })
	best, fit := ev.BestFitting(), []*Row(nil)
	for i, r := range found {
		if i > 0 && b.Stop() != 0 || best != nil && r.Makespan >= best.Lasts() {
			break
		}
		if slices.ContainsFunc(found[:i], func(f *Row) bool {
			return f.Method == r.Method && !f.Fit.OK() && len(f.Result.Schedule.Transfers) <= len(r.Result.Schedule.Transfers)
		}) {
			continue // like one that does not fit
		}
		if e.fits(b.Context(), r) && (best == nil || compareLasts(r, best) < 0) {
			fit, best = append(fit, r), r
		}
	}
	rest := slices.DeleteFunc(found, func(r *Row) bool { return r.Fit != nil })
	if best == nil && len(rest) > 0 { // the time was over: what is asked for soonest is better than nothing
		slices.SortStableFunc(rest, func(x, y *Row) int { return len(x.Result.Schedule.Transfers) - len(y.Result.Schedule.Transfers) })
		if e.fits(late, rest[0]) {
			fit = append(fit, rest[0])
		}
	}
	slices.SortStableFunc(fit, compareLasts)
	for _, r := range fit {
		if r.Verdicts == nil {
			if err := e.proveShortly(b, 2, r); err != nil {
				return fmt.Errorf("%s: %w", r.Method, err)
			}
		}
		if !slices.Contains(ev.Rows, r) {
			ev.Rows = append(ev.Rows, r)
		}
		if r.Outcome() == verify.Proved {
			return nil
		}
	}
	return nil
}

// addFitting adds, where the row r that a method m found does not fit, the row of m that fits and lasts least. Where m is the
// only method, and what fits lasts longer than its makespan, or it is not known how long, it does so, too. methods is how many methods have to share the time.
func (e *Evaluator) addFitting(b *solve.Budget, methods int, m solve.Solver, p *model.Problem, r *Row, ev *Report) error {
	late, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	if e.Fits == nil || r.Outcome() != verify.Proved || m.About().WarmStart {
		return nil
	}
	below := model.Time(0)
	if e.fits(late, r) {
		if len(e.Methods) > 1 || r.lastsKnown() && float64(r.Lasts()) <= (1+UsuallyEnough)*float64(r.Makespan) {
			return nil
		}
		if r.lastsKnown() {
			below = r.Lasts()
		}
	}
	share, done := shareOf(b, methods)
	defer done()
	fit := e.findFitting(share, m, p, nil, below)
	if fit == nil {
		return nil
	}
	ev.Rows = append(ev.Rows, fit)
	return e.prove(share, fit)
}

// KeepFitting keeps, of the proved rows, the one that fits and lasts least, and makes the best of all Free if that is
// another one. It does nothing where no runtime was named.
func (ev *Report) KeepFitting() {
	best, fit := ev.Best(), ev.BestFitting()
	if best == nil || best.Fit == nil {
		return
	}
	if best != fit {
		ev.Free = best
	}
	ev.Rows = slices.DeleteFunc(slices.Clone(ev.Rows), func(r *Row) bool { return r.Outcome() == verify.Proved && r != fit })
}

// Slower returns by which part what fits and lasts least lasts longer than the best makespan of all, 0 if it does
// not. ok is false where there is none, or none was asked for.
func (ev *Report) Slower() (slower float64, ok bool) {
	fit := ev.BestFitting()
	if fit == nil || fit.Fit == nil {
		return 0, false
	}
	least := fit.Makespan
	for _, r := range append(slices.Clone(ev.Rows), ev.Free) {
		if r != nil && r.Outcome() == verify.Proved {
			least = min(least, r.Makespan)
		}
	}
	return float64(fit.Lasts())/float64(least) - 1, true
}

// BestFitting returns the proved row that fits and lasts least, or nil. Where nothing was asked of any row it is Best.
func (ev *Report) BestFitting() *Row {
	asked := slices.ContainsFunc(ev.Rows, func(r *Row) bool { return r.Fit != nil })
	var best *Row
	for _, r := range ev.Rows {
		if r.Outcome() == verify.Proved && r.Fit.OK() && (!asked || r.Fit != nil) && (best == nil || compareLasts(r, best) < 0) {
			best = r
		}
	}
	return best
}

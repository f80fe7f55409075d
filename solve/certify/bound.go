package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// Bound returns the best lower bound for p that is found before ctx is done, as the checker
// values it, or nil. A witness that the checker does not accept is a defect, and an error.
func Bound(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	s, err := searchFor(ctx, p)
	return s.best, err
}

// search is the best bound of a cut, and whether the search for it came to its end.
type search struct {
	best     *model.Certificate // nil: none
	complete bool
}

func searchFor(ctx context.Context, p *model.Problem) (search, error) {
	found, err := proposals(ctx, p)
	if err != nil || len(found.all) == 0 {
		return search{complete: found.complete}, err
	}
	c, first, err := firstValued(ctx, found.all, Value)
	return search{c, found.complete && first}, err
}

// proposed is what a search for bounds has found.
type proposed struct {
	all      []*bound.Proposal // the largest estimate first
	complete bool              // the search came to its end
}

// proposals returns the best proposal of each kind. Prices that change with time are those of linear programs, where the cut
// is open and they yield more than all others. An allreduce is looked at as a whole first, which mostly yields more than what one rank
// contributes; that is then looked for from there on, which takes less time than from what was known before.
func proposals(ctx context.Context, p *model.Problem) (proposed, error) {
	found, err := unshared(ctx, p)
	if err != nil || len(found.all) == 0 || p.Chunks != nil {
		return found, err
	}
	if _, err := Value(ctx, found.all[0]); err != nil { // programs may take the time for it
		return proposed{}, err
	}
	if _, err = found.share(ctx, false); err == nil && p.Collective.Kind == model.AllReduce {
		_, err = found.share(ctx, true)
	}
	return found, err
}

// unshared returns the proposals without prices and costs of what is copied or added up on its way.
func unshared(ctx context.Context, p *model.Problem) (proposed, error) {
	budget, cancel := solve.NewBudget(ctx, 0, 1)
	defer cancel()
	pieces := 1
	if p.Chunks == nil && servedOverTime(p) {
		pieces = 2 // the rest is for linear programs
	}
	share, done := budget.Share(pieces)
	all, complete, err := bound.All(share.Context(), p)
	done()
	if err != nil || len(all) == 0 || p.Chunks != nil {
		return proposed{all, complete}, err
	}
	w, estimate, err := overTime(ctx, p, all[0].Estimate)
	if err != nil && !errors.Is(err, solve.ErrNotServed) {
		return proposed{}, err
	}
	if w != nil && estimate > all[0].Estimate {
		all = slices.DeleteFunc(all, func(x *bound.Proposal) bool { return x.Witness.Kind() == w.Kind() })
		all = slices.Insert(all, 0, &bound.Proposal{Problem: p, Witness: *w, Estimate: estimate})
	}
	return proposed{all, complete && ctx.Err() == nil}, nil
}

// share adds prices and costs of what is copied or added up on its way, if they yield more than all others, which is looked for
// from the largest on; of an allreduce those of what one rank contributes, if one is set. refused is why the checker does not
// accept those that are left out.
func (f *proposed) share(ctx context.Context, one bool) (refused, err error) {
	known := f.all[0].Estimate
	for _, detour := range detours {
		x, estimate, complete, err := sharedOverTime(ctx, f.all[0].Problem, known, detour, one)
		f.complete = f.complete && complete
		switch {
		case errors.Is(err, solve.ErrNotServed): // too large
			return refused, nil
		case err != nil:
			return refused, err
		case x == nil && !complete:
			return refused, nil
		case x == nil || estimate <= f.all[0].Estimate: // there is no more to find
			return nil, nil
		}
		if refused = f.take(ctx, x); refused == nil {
			break
		}
	}
	return refused, nil
}

// detours are how many links more than necessary hops of programs have. Those with more cost more; but
// where transfers need them to get round what is narrow, the checker refuses what programs without them yield.
var detours = []int{1, 2, 4}

// take asks the checker what prices and costs yield, puts them first if that is most, and returns why it does
// not accept them. Where there is no time to know that, the search is not complete.
func (f *proposed) take(ctx context.Context, w *model.TimedPotentials) error {
	late, cancel := solve.Grace(ctx, Grace/4)
	defer cancel()
	p := f.all[0].Problem
	yield, err := cert.Yield(late, &model.Certificate{Problem: p, Witness: *w})
	switch {
	case err == nil && yield > f.all[0].Estimate:
		f.all = slices.Insert(f.all, 0, &bound.Proposal{Problem: p, Witness: *w, Estimate: yield, Yield: yield})
	case err != nil && late.Err() != nil:
		f.complete = false
	case err != nil:
		return err
	}
	return nil
}

// firstValued returns the certificate of the first of some proposals, the best one. If valuing
// that takes longer than ctx and half of Grace it is the next one's, which has half as long after
// ctx, and so on: something simple is better than nothing. It is nil if none was valued in time.
func firstValued(ctx context.Context, all []*bound.Proposal, value func(context.Context, *bound.Proposal) (*model.Certificate, error)) (*model.Certificate, bool, error) {
	while := Grace / 2
	for i, w := range all {
		late, cancel := solve.Grace(ctx, while)
		c, err := value(late, w)
		cancel()
		if c != nil || err != nil {
			return c, i == 0, err
		}
		while /= 2
	}
	return nil, false, nil
}

// Value returns the certificate of a proposal, with the bound that the checker finds its witness
// to yield, or nil if ctx ends before that is known. That it yields nothing is an error. A
// witness that there is no schedule at all stands for the bound that was expected of it.
func Value(ctx context.Context, w *bound.Proposal) (*model.Certificate, error) {
	c := &model.Certificate{Problem: w.Problem, Witness: w.Witness, Bound: w.Yield}
	if w.Yield > 0 {
		return c, nil
	}
	yield, err := cert.Yield(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("a witness of kind %s is none: %w", w.Witness.Kind(), err)
	case yield == model.MaxTime:
		yield = w.Estimate
	}
	c.Bound, w.Yield = yield, yield
	return c, nil
}

// Checked returns c if the checker accepts its certificate, and nil if ctx ends before that
// is known. That the checker does not accept it is an error.
func Checked(ctx context.Context, c *model.Certificate) (*model.Certificate, error) {
	switch v := cert.Check(ctx, c); {
	case v.Outcome == verify.Proved:
		return c, nil
	case v.Outcome == verify.Unknown && ctx.Err() != nil:
		return nil, nil
	default:
		return nil, fmt.Errorf("the %s bound of %v failed its check and is not used: %s", c.Witness.Kind(), c.Bound, v.Reason)
	}
}

// QuickBound returns a lower bound that is found and checked quickly even on networks with
// a million links, or nil.
func QuickBound(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	late, cancel := solve.Grace(ctx, Grace/2)
	defer cancel()
	w, err := bound.Quick(ctx, p)
	if err != nil || w == nil {
		return nil, err
	}
	return Value(late, w)
}

// QuickBounds returns what QuickBound finds for every cut, and for that of p.
func QuickBounds(ctx context.Context, p *model.Problem) (Known, error) {
	every, err := QuickBound(ctx, AnyCut(p))
	if err != nil {
		return Known{}, err
	}
	own, err := QuickBound(ctx, p)
	if own == nil || every != nil && own.Bound <= every.Bound {
		own = every
	}
	return Known{EveryCut: every, Bound: own}, err
}

// Bounds returns the best checked certificate of each kind that is found before ctx is done,
// the largest bound first; and, if there was no time for all of the search, why. Where p has
// a cut, prices at instants are looked for, too, for DualTime at most.
func Bounds(ctx context.Context, p *model.Problem) (all []*model.Certificate, stopped solve.Stop, err error) {
	found, err := proposals(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	late, cancel := solve.Grace(ctx, Grace)
	defer cancel()
	known := model.Time(0)
	for _, w := range found.all {
		c, err := Value(late, w)
		if err != nil {
			return nil, 0, err
		}
		if c != nil {
			all, known = append(all, c), max(known, c.Bound)
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Certificate) int { return cmp.Compare(b.Bound, a.Bound) })
	c, err := DualBound(ctx, p, known, 0)
	if c != nil {
		all = slices.Insert(all, 0, c)
	}
	if stopped = solve.StopOf(ctx); stopped == 0 && !found.complete {
		stopped = solve.TimeLimit // of a kind
	}
	return all, stopped, err
}

// search returns the best bound of p, which it looks for only once.
func (e *Evaluator) search(ctx context.Context, p *model.Problem) (search, error) {
	key := CutKey(p)
	if known, ok := e.searched[key]; ok || ctx.Err() != nil {
		return known, nil
	}
	s, err := searchFor(ctx, p)
	if err != nil {
		return s, err
	}
	if e.searched == nil {
		e.searched = map[string]search{}
	}
	e.searched[key] = s
	return s, nil
}

// boundAll gives ev the certified bound of every cut, looked for in a quarter of the time.
func (e *Evaluator) boundAll(b *solve.Budget, ev *Report) error {
	e.Progress.Note("bounding")
	defer e.Progress.End()
	share, done := b.Share(4)
	defer done()
	s, err := e.search(share.Context(), AnyCut(ev.Problem))
	ev.Bound, ev.BoundEnded = s.best, !s.complete
	return err
}

// boundRows gives every row the certified bounds of every cut and of its own, and sorts the
// rows by makespan. When the time is over, a cut has the bounds that were found before.
func (e *Evaluator) boundRows(b *solve.Budget, ev *Report) error {
	e.Progress.Note("bounding")
	defer e.Progress.End()
	byCut := map[string]*model.Certificate{}
	var cuts []*model.Problem
	for _, r := range ev.Rows {
		if key := CutKey(r.Result.Problem); byCut[key] == nil {
			byCut[key] = &model.Certificate{}
			cuts = append(cuts, r.Result.Problem)
		}
	}
	limit := DualTime
	if !e.Named {
		limit = min(limit, max(leastLong, time.Since(e.begun)))
	}
	for i, p := range cuts {
		if best := ev.Best(); e.Enough > 0 && best != nil && ev.Bound != nil && e.within(best.Makespan, ev.Bound.Bound) {
			byCut[CutKey(p)] = ev.Bound // more would not matter
			continue
		}
		share, done := shareOf(b, len(cuts)-i)
		c, err := e.boundOfCut(share.Context(), p, ev, limit)
		done()
		if err != nil {
			return err
		}
		byCut[CutKey(p)] = c
	}
	if c := byCut[CutKey(AnyCut(ev.Problem))]; c != nil { // there is one cut
		ev.Bound = c
	}
	for _, r := range ev.Rows {
		key := CutKey(r.Result.Problem)
		r.EveryCut, r.Bound, r.Refuted = ev.Bound, byCut[key], e.Horizons[key]
		if r.Bound != nil {
			r.ProofBytes = e.ProofSize(r.Bound)
		}
		if r.Outcome() != verify.Proved {
			continue
		}
		for _, c := range []*model.Certificate{r.EveryCut, r.Bound} {
			if c == nil {
				continue
			}
			if err := verify.Below(r.Makespan, c.Bound, c.Witness.Kind()); err != nil {
				return fmt.Errorf("%s: %w", r.Method, err)
			}
		}
	}
	if r := ev.Free; r != nil {
		r.EveryCut, r.Bound = ev.Bound, ev.Bound
		if c := ev.Bound; c != nil {
			if err := verify.Below(r.Makespan, c.Bound, c.Witness.Kind()); err != nil {
				return fmt.Errorf("%s: %w", r.Method, err)
			}
		}
	}
	ev.sort()
	return nil
}

// boundOfCut returns the best certified bound for the cut of p: that of every cut unless one
// for this cut alone is larger, or shows that more rounds are needed. Prices at instants are
// looked for until limit.
func (e *Evaluator) boundOfCut(ctx context.Context, p *model.Problem, ev *Report, limit time.Duration) (*model.Certificate, error) {
	s, err := e.search(ctx, p)
	if err != nil {
		return nil, err
	}
	c := s.best
	better := func(a, b *model.Certificate) bool {
		return a != nil && (b == nil || a.Bound > b.Bound || cert.LeastRounds(a) > cert.LeastRounds(b))
	}
	if !better(c, ev.Bound) {
		c = ev.Bound
	}
	if no := e.Horizons[CutKey(p)]; better(no, c) {
		c = no
	}
	if e.Enough > 0 { // the answer is wanted; gap looks for what takes ten seconds
		return c, nil
	}
	if best := ev.Best(); best != nil && !slices.Equal(best.Result.Problem.Chunks, p.Chunks) {
		return c, nil // another cut is better
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return e.improved(ctx, c, p, ev.Rows)
}

// AnyCut returns p with its cut left open. A custom collective has only one, and keeps it.
func AnyCut(p *model.Problem) *model.Problem {
	if !p.Collective.Cuttable() {
		return solve.Cut(p, 1)
	}
	q := *p
	q.Chunks = nil
	return &q
}

// DualTime is how long at most a bound by prices at instants is looked for.
const DualTime = 10 * time.Second

// DualBound returns the best certificate of kind lp-dual that beats what is known, if
// one is found within DualTime and before ctx is done, or nil. below is a makespan that is reached, beyond
// which there is nothing to find, or 0. The bound is what the checker finds the witness
// to yield, and the certificate has passed its check.
func DualBound(ctx context.Context, p *model.Problem, known, below model.Time) (*model.Certificate, error) {
	if p.Chunks == nil || below > 0 && known >= below {
		return nil, nil
	}
	after, cancel := solve.Grace(ctx, Grace/2)
	defer cancel()
	found, err := dualWitnesses(ctx, p, known, below)
	if err != nil && !errors.Is(err, solve.ErrNotServed) && len(found) == 0 {
		return nil, err
	}
	var best *model.Certificate
	for _, w := range found {
		c := &model.Certificate{Problem: p, Witness: w}
		yield, err := cert.Yield(after, c)
		if after.Err() != nil {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("a witness of kind %s is none: %w", w.Kind(), err)
		}
		if yield > known && yield < model.MaxTime {
			c.Bound, known, best = yield, yield, c
		}
	}
	if best == nil {
		return nil, nil
	}
	return Checked(after, best)
}

// wellKnown is which part of a bound a makespan is above it at most for no better bound to be
// looked for: a thousandth.
const wellKnown = 1000

// improved returns a certificate of kind lp-dual if one is found that beats c for the cut
// of p, and c otherwise. Nothing is looked for where a row's makespan meets c already.
func (e *Evaluator) improved(ctx context.Context, c *model.Certificate, p *model.Problem, rows []*Row) (*model.Certificate, error) {
	known, below := model.Time(0), model.Time(0)
	if c != nil {
		known = c.Bound
	}
	for _, r := range rows {
		if r.Outcome() == verify.Proved && slices.Equal(r.Result.Problem.Chunks, p.Chunks) && (below == 0 || r.Makespan < below) {
			below = r.Makespan
		}
	}
	if ctx.Err() != nil || below == 0 || below-known <= known/wellKnown {
		return c, nil
	}
	d, err := DualBound(ctx, p, known, below)
	if d == nil {
		d = c
	}
	return d, err
}

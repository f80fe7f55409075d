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
	"github.com/oraccl/oraccl/solve/dual"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// Bound returns the best lower bound for p whose certificate the checker
// accepts. A certificate that it does not accept is a defect, and an error.
func Bound(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	c, err := bound.Best(ctx, p)
	if err != nil || c == nil {
		return nil, err
	}
	return c, CheckBound(ctx, c)
}

// CheckBound returns an error if the checker does not accept a certificate, even after ctx
// is done. Then it is a defect of what found it, and is not used.
func CheckBound(ctx context.Context, c *model.Certificate) error {
	if v := cert.Check(context.WithoutCancel(ctx), c); v.Outcome != verify.Proved {
		return fmt.Errorf("the %s bound of %v failed its check and is not used: %s", c.Witness.Kind(), c.Bound, v.Reason)
	}
	return nil
}

// QuickBound returns a lower bound that is found and checked quickly even on networks with
// a million links, or nil.
func QuickBound(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	c, err := bound.Quick(ctx, p)
	if err != nil || c == nil {
		return nil, err
	}
	return c, CheckBound(ctx, c)
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

// Bounds returns the best checked certificate of each kind that is found, the largest bound
// first. Where p has a cut, prices at instants are looked for, too, for DualTime at most.
func Bounds(ctx context.Context, p *model.Problem) ([]*model.Certificate, error) {
	all, _, err := bound.All(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if err := CheckBound(ctx, c); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Certificate) int { return cmp.Compare(b.Bound, a.Bound) })
	known := model.Time(0)
	if len(all) > 0 {
		known = all[0].Bound
	}
	c, err := DualBound(ctx, p, known, 0, DualTime)
	if c != nil {
		all = slices.Insert(all, 0, c)
	}
	return all, err
}

// boundRows gives every row the certified bounds of every cut and of its own, and sorts the
// rows by makespan.
func (e *Evaluator) boundRows(ctx context.Context, ev *Report) error {
	e.Progress.Note("bounding")
	defer e.Progress.End()
	interrupted := ctx
	ctx = context.WithoutCancel(ctx) // after Ctrl-C what was found still gets its bound
	var err error
	if ev.Bound, err = Bound(ctx, AnyCut(ev.Problem)); err != nil {
		return err
	}
	byCut := map[string]*model.Certificate{}
	for _, r := range ev.Rows {
		key := CutKey(r.Result.Problem)
		if _, known := byCut[key]; !known {
			if byCut[key], err = e.boundOfCut(ctx, interrupted, r.Result.Problem, ev); err != nil {
				return err
			}
		}
		r.Bound, r.Refuted = byCut[key], e.Horizons[key]
		if r.Bound != nil {
			r.ProofBytes = e.ProofSize(r.Bound)
		}
	}
	if c := byCut[CutKey(AnyCut(ev.Problem))]; c != nil { // there is one cut
		ev.Bound = c
	}
	for _, r := range ev.Rows {
		r.EveryCut = ev.Bound
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
	slices.SortStableFunc(ev.Rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Makespan, b.Makespan))
	})
	return nil
}

// boundOfCut returns the best certified bound for the cut of p: that of every cut unless one
// for this cut alone is larger, or shows that more rounds are needed.
func (e *Evaluator) boundOfCut(ctx, interrupted context.Context, p *model.Problem, ev *Report) (*model.Certificate, error) {
	c, err := Bound(ctx, p)
	if err != nil {
		return nil, err
	}
	better := func(a, b *model.Certificate) bool {
		return a != nil && (b == nil || a.Bound > b.Bound || cert.LeastRounds(a) > cert.LeastRounds(b))
	}
	if !better(c, ev.Bound) {
		c = ev.Bound
	}
	if no := e.Horizons[CutKey(p)]; better(no, c) {
		c = no
	}
	return e.improved(interrupted, c, p, ev.Rows)
}

// AnyCut returns p with its cut left open. A custom collective has only one, and keeps it.
func AnyCut(p *model.Problem) *model.Problem {
	if p.Collective.Kind == model.Custom {
		return solve.Cut(p, 1)
	}
	q := *p
	q.Chunks = nil
	return &q
}

// DualTime is how long at most a bound by prices at instants is looked for.
const DualTime = 10 * time.Second

// DualBound returns the best certificate of kind lp-dual that beats what is known, as far
// as one is found within the limits, or nil. below is a makespan that is reached, beyond
// which there is nothing to find, or 0. The bound is what the checker finds the witness
// to yield, and the certificate has passed its check.
func DualBound(ctx context.Context, p *model.Problem, known, below model.Time, limit time.Duration) (*model.Certificate, error) {
	if p.Chunks == nil || below > 0 && known >= below {
		return nil, nil
	}
	found, err := dual.Find(ctx, p, dual.Options{TimeLimit: min(limit, DualTime), Known: known, Below: below})
	if err != nil && !errors.Is(err, solve.ErrNotServed) && len(found) == 0 {
		return nil, err
	}
	var best *model.Certificate
	for _, f := range found {
		c := &model.Certificate{Problem: p, Witness: f.Witness}
		yield, err := cert.Yield(context.WithoutCancel(ctx), c)
		if err != nil {
			return nil, fmt.Errorf("a witness of kind %s is none: %w", f.Witness.Kind(), err)
		}
		if yield > known && yield < model.MaxTime {
			c.Bound, known, best = yield, yield, c
		}
	}
	if best == nil {
		return nil, nil
	}
	return best, CheckBound(ctx, best)
}

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
	if ctx.Err() != nil || below == 0 {
		return c, nil
	}
	d, err := DualBound(ctx, p, known, below, e.Options.TimeLimit)
	if d == nil {
		d = c
	}
	return d, err
}

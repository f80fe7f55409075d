// Package dual looks for bounds of kind lp-dual: prices of links and ports at instants,
// shared out among the demands of each chunk (model.LPDual). They are the optimal dual
// of a linear program on a grid of epochs, solved in floating point and rounded to whole
// numbers. What they prove is for verify/cert to say, which counts with exact times and
// knows nothing of the grid; nobody has to believe this package.
//
// Times are picoseconds.
package dual

import (
	"context"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Options say what is known and how hard to work.
type Options struct {
	TimeLimit time.Duration // 0: none
	Known     model.Time    // a bound; only larger ones are looked for
	Below     model.Time    // a makespan that is reached, so that there is no larger bound; 0: not known
	Columns   int           // of the largest program to be solved; 0: DefaultColumns
}

// DefaultColumns is a size of program that takes seconds to solve.
const DefaultColumns = 60_000

// Found is a witness with the grid that it comes from.
type Found struct {
	Witness model.LPDual
	End     model.Time // the relaxed problem cannot be solved before; the witness may prove a little less, being rounded
	Points  int        // of the grid
	Columns int        // of the program
	Excess  float64    // how much more than all there is would be needed; > 1
}

// Find returns witnesses whose bounds should be larger than what is known, in the order
// in which they were found. An error explains why none can be looked for: solve.ErrNotServed
// is in it where the problem is of a kind, or of a size, for which this does not work.
// When the time is up or ctx is done it returns what it has.
//
// The program has a flow for each demand through the time-expanded network, and asks for
// the least z so that z times the capacity is enough; with more than 1 there is no
// schedule within the horizon. It is the relaxation of TE-CCL's model (Liu et al.,
// SIGCOMM 2024) in which a chunk's flows share what they occupy, as in the LPs of
// directed Steiner trees (R. T. Wong, Mathematical Programming 28, 1984).
func Find(ctx context.Context, p *model.Problem, o Options) ([]Found, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Chunks == nil {
		return nil, solve.NotServed("the problem has no chunks")
	}
	if v, adds := p.Topology.Reducer(); adds {
		return nil, solve.NotServed("%s, which adds: a hop may wait there, or pass it twice", p.Topology.NodeName(v))
	}
	if err := highs.Available(); err != nil {
		return nil, solve.NotServed("%v", err)
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	if o.Columns == 0 {
		o.Columns = DefaultColumns
	}
	n, err := newNetwork(p)
	if err != nil {
		return nil, err
	}
	if len(n.groups) == 0 {
		return nil, nil
	}
	if len(n.tasks) == 0 || n.reach == model.MaxTime {
		return nil, nil // nothing to do, or what no time is enough for
	}
	return n.search(ctx, o)
}

// search looks for the latest end by which the relaxed problem cannot be solved: in
// strides that double among the ends that can matter, then by halves. A makespan that is
// reached is tried first.
func (n *network) search(ctx context.Context, o Options) ([]Found, error) {
	if o.Below > 0 && o.Below <= o.Known {
		return nil, nil
	}
	known := max(o.Known, n.reach)
	limit := o.Below
	if limit == 0 {
		limit = known.Mul(2)
	}
	sums := n.sums(limit)
	ends := slices.DeleteFunc(slices.Clone(sums), func(t model.Time) bool { return t <= known })
	if o.Below > 0 && (len(ends) == 0 || ends[len(ends)-1] < o.Below) {
		ends = append(ends, o.Below)
	}
	var all []Found
	try := func(i int) (bool, error) {
		f, err := n.try(ctx, ends[i], sums, o.Columns)
		if f != nil {
			all = append(all, *f)
		}
		return f != nil, err
	}
	if len(ends) == 0 {
		return nil, nil
	}
	low, high := -1, len(ends) // the last that is known to be out of reach, the first that may not be
	if o.Below > 0 {
		out, err := try(len(ends) - 1)
		if out || err != nil || ctx.Err() != nil {
			return all, err
		}
		high--
	}
	for stride := 1; low+1 < high && ctx.Err() == nil; {
		i := min(low+stride, high-1)
		if stride < 0 {
			i = (low + high) / 2
		}
		out, err := try(i)
		switch {
		case err != nil:
			return all, err
		case out:
			low = i
			stride *= 2
		default:
			high = i
			stride = -1
		}
	}
	return all, nil
}

// try asks whether the relaxed problem can be solved before end, on the finest grid whose
// program is not too large. It returns nil if it can, or if the time is up.
func (n *network) try(ctx context.Context, end model.Time, sums []model.Time, most int) (*Found, error) {
	g := n.grid(end, 1, sums)
	columns := g.columns(most)
	for gap := end / 1024; columns > most; gap *= 2 {
		if ctx.Err() != nil {
			return nil, nil
		}
		if gap > end/2 {
			return nil, solve.NotServed("more than %d columns on the coarsest grid up to %v", most, end)
		}
		g = n.grid(end, max(1, gap), sums)
		columns = g.columns(most)
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	e := g.encode()
	options := highs.Options{Threads: 1}
	if columns > 3000 {
		options.Method = "ipm"
	}
	r, err := highs.Solve(ctx, &e.Model, options)
	if err != nil && options.Method != "" { // its interior point method fails now and then
		r, err = highs.Solve(ctx, &e.Model, highs.Options{Threads: 1})
	}
	if err != nil || r.Status != highs.Optimal || r.RowDuals == nil || r.Objective <= 1+tolerance {
		return nil, err
	}
	return &Found{Witness: e.witness(r.RowDuals), End: end, Points: len(g.points), Columns: columns, Excess: r.Objective}, nil
}

// tolerance is how far above 1 the least z must be for its dual to be worth rounding.
const tolerance = 1e-5

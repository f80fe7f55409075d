package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/pace"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// Uncertain is a problem on networks of which some figures are known within ranges alone, one for each
// axis. At returns the problem for values of them; it must differ in its links' figures alone, and links that
// are alike at both ends of all ranges are alike throughout, to the picosecond by which halves of a latency may differ.
//
// Bounds. Every rule of package cert but the dual prices at instants is a minimum over what a schedule may do,
// of sums and quotients that only grow with latencies and with the times of bytes: what it yields on the fastest network of a
// part of the ranges, it yields on every other one there, for timed costs. In rounds a rule may yield less on a slower
// network, where it takes the larger of two counts and rounds up; there the bound holds since the very rounds of a
// schedule are one on the fastest network, too, and take no longer. So the least bound of a part is that of
// its fastest network. The figure of the slowest network is what is known there; a
// better certificate might exist.
//
// Schedules keep the order in which they use links, whatever the figures are: pace.Enclosure bounds their
// ends from both sides. That the fastest network has the earliest end, and the slowest one the
// latest, holds for one link after another but not behind switches, so neither is taken for granted. In rounds it holds.
//
// The ranges are divided into parts, more of them as long as there is time, and the intervals of all parts
// are joined.
type Uncertain struct {
	Axes []Axis
	At   func(values []int64) (*model.Problem, error)
}

// Axis is a range of a figure.
type Axis struct {
	Words      string // as it was given
	Fast, Slow int64
}

// Span is an interval of gaps and one of ends that hold throughout.
type Span struct {
	Method              string
	Earliest, Latest    model.Time
	GapLeast, GapAtMost model.Gap
	Err                 error // why they are not known
}

// Within reports whether the gap is at most a part throughout.
func (s *Span) Within(part float64) bool { return s.Err == nil && float64(s.GapAtMost) <= part }

// Throughout is what holds for every network of an Uncertain.
type Throughout struct {
	Words       []string
	Least, Most model.Time // bound on the fastest and on the slowest network
	Kind        string     // of the certificate of Least; "": none
	Parts       int        // into how many the ranges were divided
	Rows        []Span
}

// throughoutTime is how long parts are divided further, maxParts how many there are at most, and maxHeld
// of how many links in all.
const (
	throughoutTime = 5 * time.Second
	maxParts       = 256
	maxHeld        = 1 << 22
)

// HoldsThroughout reports whether a bound of the fastest network holds on all slower ones.
func HoldsThroughout(c *model.Certificate) bool {
	_, dual := c.Witness.(model.LPDual)
	return !dual
}

// Bounds returns the largest of the bounds of the fastest network, and what is known on the slowest one.
func (u *Uncertain) Bounds(ctx context.Context, found []*model.Certificate) (*Throughout, error) {
	w := &throughout{Uncertain: u, known: map[string]*corner{}, cut: func(p *model.Problem) *model.Problem { return p }}
	fast, _, err := w.ends(0, 1)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		if fast.asked = true; fast.bound == nil || c.Bound > fast.bound.Bound {
			fast.bound = c
		}
	}
	return w.bounds(ctx)
}

// Beyond returns the names that Report.Beyond does, by the largest gap of all networks of the range.
func (t *Throughout) Beyond(ev *Report, part float64) (names []string) {
	given, passes := false, false
	for _, l := range ev.LeftOut {
		if l.Given {
			names, given = append(names, l.Method), true
		}
	}
	at := 0
	for _, r := range ev.Rows {
		within := false
		if r.Outcome() == verify.Proved {
			within = t.Rows[at].Within(part)
			at++
		}
		passes = passes || within
		if given = given || r.Given; r.Given && !within {
			names = append(names, r.Method)
		}
	}
	if !given && !passes {
		names = append(names, "the best schedule")
	}
	return names
}

// Evaluate returns what holds for the schedules of a report, which are proved for the problem of some values
// within the ranges.
func (u *Uncertain) Evaluate(ctx context.Context, ev *Report) (*Throughout, error) {
	begun := time.Now()
	w := &throughout{Uncertain: u, known: map[string]*corner{}, cut: AnyCut}
	all, err := w.bounds(ctx)
	if err != nil {
		return nil, err
	}
	fast, slow, err := w.ends(0, 1)
	if err != nil {
		return nil, err
	}
	var rows []*enclosed
	for _, r := range ev.Rows {
		if r.Outcome() != verify.Proved {
			continue
		}
		x := &enclosed{Span: Span{Method: r.Method}, p: r.Result.Problem, s: r.Result.Schedule}
		if x.s.Form != model.InRounds {
			if x.e, x.Err = pace.Enclose(x.p, x.s, nil, fast.p.Topology, slow.p.Topology); x.Err == nil {
				x.Err = x.probe(ctx, fast, slow)
			}
			var wrong *verify.Contradiction
			if errors.As(x.Err, &wrong) {
				return nil, x.Err
			}
		}
		rows = append(rows, x)
	}
	for side, last := 1, time.Duration(0); ; side *= 2 {
		parts := 1
		for range u.Axes {
			parts *= side
		}
		spent := time.Since(begun)
		if side > 1 && (parts > maxParts || parts*len(fast.p.Topology.Links) > maxHeld || spent+last<<len(u.Axes) > throughoutTime || ctx.Err() != nil) {
			break
		}
		at := time.Now()
		if err := w.level(ctx, rows, side, parts); err != nil {
			if side > 1 && ctx.Err() != nil {
				break
			}
			return nil, err
		}
		all.Parts, last = parts, time.Since(at)
	}
	for _, x := range rows {
		if x.Err == nil {
			x.Err = x.unknown
		}
		all.Rows = append(all.Rows, x.Span)
	}
	return all, nil
}

// throughout is the work on an Uncertain.
type throughout struct {
	*Uncertain
	known map[string]*corner
	cut   func(*model.Problem) *model.Problem // of the bounds
	pool  []model.Witness
}

// corner is the problem for some values, with the best bound that is known there for every cut.
type corner struct {
	p     *model.Problem
	bound *model.Certificate
	asked bool

	inside bool // it is between the ends of a range
}

// enclosed is a row.
type enclosed struct {
	Span
	p *model.Problem
	s *model.Schedule
	e *pace.Enclosure // nil: in rounds

	unknown error // why its parts so far are too large
}

// bounds fills in what holds without a schedule.
func (w *throughout) bounds(ctx context.Context) (*Throughout, error) {
	all := &Throughout{Parts: 1}
	for _, a := range w.Axes {
		all.Words = append(all.Words, a.Words)
	}
	fast, slow, err := w.ends(0, 1)
	if err != nil {
		return nil, err
	}
	if all.Least, err = w.bound(ctx, fast); err != nil {
		return nil, err
	}
	if all.Least > 0 {
		all.Kind = fast.bound.Witness.Kind()
	}
	if all.Most, err = w.bound(ctx, slow); err != nil {
		return nil, err
	}
	all.Most = max(all.Least, all.Most) // a bound of the fastest network holds on the slowest one, too
	return all, nil
}

// ends returns the fastest and the slowest problem of a part, of side parts along each axis.
func (w *throughout) ends(part, side int) (fast, slow *corner, err error) {
	low, high := make([]int64, len(w.Axes)), make([]int64, len(w.Axes))
	for i, a := range w.Axes {
		k := part % side
		part /= side
		low[i] = a.Fast + (a.Slow-a.Fast)/int64(side)*int64(k)
		high[i] = a.Fast + (a.Slow-a.Fast)/int64(side)*int64(k+1)
		if k == side-1 {
			high[i] = a.Slow
		}
	}
	if fast, err = w.corner(low); err == nil {
		slow, err = w.corner(high)
	}
	return fast, slow, err
}

func (w *throughout) corner(values []int64) (*corner, error) {
	key := fmt.Sprint(values)
	if c := w.known[key]; c != nil {
		return c, nil
	}
	p, err := w.At(values)
	if err != nil {
		return nil, err
	}
	c := &corner{p: p}
	for i, a := range w.Axes {
		c.inside = c.inside || values[i] != a.Fast && values[i] != a.Slow
	}
	w.known[key] = c
	return c, nil
}

// bound returns the bound of a corner, 0 for none: the best that is found for the ends of all ranges, and between
// them the best that the witnesses found there yield.
func (w *throughout) bound(ctx context.Context, c *corner) (model.Time, error) {
	if !c.asked {
		p := w.cut(c.p)
		if !c.inside {
			if err := w.search(ctx, c, p); err != nil {
				return 0, err
			}
		}
		for _, witness := range w.pool {
			x := &model.Certificate{Problem: p, Witness: witness}
			// one that is wrong here, as distances are on a faster network, yields nothing
			if yield, err := cert.Yield(ctx, x); err == nil && yield < model.MaxTime && (c.bound == nil || yield > c.bound.Bound) {
				x.Bound, c.bound = yield, x
			}
		}
		c.asked = ctx.Err() == nil
	}
	if c.bound == nil {
		return 0, nil
	}
	return c.bound.Bound, nil
}

// pooled is how many witnesses of each end are tried between the ends.
const pooled = 4

// search looks for bounds of a corner, and puts the witnesses of the largest into the pool.
func (w *throughout) search(ctx context.Context, c *corner, p *model.Problem) error {
	if len(p.Topology.Links) >= wideNetwork {
		best, err := QuickBound(ctx, p)
		if best != nil {
			c.bound, w.pool = best, append(w.pool, best.Witness)
		}
		return err
	}
	found, _, err := bound.All(ctx, p)
	for i := 0; i < len(found) && i < pooled && err == nil; i++ {
		var x *model.Certificate
		if x, err = Value(ctx, found[i]); x != nil {
			w.pool = append(w.pool, x.Witness)
			if c.bound == nil || x.Bound > c.bound.Bound {
				c.bound = x
			}
		}
	}
	return err
}

// level narrows the intervals of rows by those of smaller parts.
func (w *throughout) level(ctx context.Context, rows []*enclosed, side, parts int) error {
	joined := make([]Span, len(rows))
	for i := range joined {
		joined[i] = Span{Earliest: model.MaxTime, GapLeast: model.Gap(math.Inf(1))}
	}
	for part := range parts {
		fast, slow, err := w.ends(part, side)
		if err != nil {
			return err
		}
		least, err := w.bound(ctx, fast)
		if err != nil {
			return err
		}
		most, err := w.bound(ctx, slow)
		if err != nil {
			return err
		}
		for i, x := range rows {
			if x.Err != nil {
				continue
			}
			low, high, err := x.within(ctx, fast.p.Topology, slow.p.Topology)
			if err != nil {
				joined[i].Err = err
				continue
			}
			j := &joined[i]
			j.Earliest, j.Latest = min(j.Earliest, low), max(j.Latest, high)
			j.GapAtMost = max(j.GapAtMost, model.GapOf(high, least))
			j.GapLeast = min(j.GapLeast, max(0, model.GapOf(low, max(least, most))))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for i, x := range rows {
		j := &joined[i]
		switch {
		case x.Err != nil:
			continue
		case j.Err != nil: // smaller parts may know
			if x.Latest == 0 {
				x.unknown = j.Err
			}
			continue
		case x.Latest == 0:
			x.unknown = nil
			x.Earliest, x.Latest, x.GapLeast, x.GapAtMost = j.Earliest, j.Latest, j.GapLeast, j.GapAtMost
			continue
		}
		x.Earliest, x.Latest = max(x.Earliest, j.Earliest), min(x.Latest, j.Latest)
		x.GapLeast, x.GapAtMost = max(x.GapLeast, j.GapLeast), min(x.GapAtMost, j.GapAtMost)
	}
	return nil
}

// within returns bounds on the end of a row on the networks of a part.
func (x *enclosed) within(ctx context.Context, fast, slow *model.Topology) (low, high model.Time, err error) {
	if x.e != nil {
		return x.e.Within(ctx, fast, slow)
	}
	p := *x.p
	p.Topology = fast
	low = p.Makespan(x.s)
	p.Topology = slow
	return low, p.Makespan(x.s), nil
}

// probe has the schedule executed on the fastest and the slowest network, at the times that its order has there.
func (x *enclosed) probe(ctx context.Context, corners ...*corner) error {
	for _, c := range corners {
		s, err := x.e.On(ctx, c.p.Topology)
		if err != nil {
			return err
		}
		p := *x.p
		p.Topology = c.p.Topology
		if v := replay.Check(ctx, &p, s); v.Outcome != verify.Proved {
			return fmt.Errorf("at the ends of the ranges it is not right in its order: %v %s", v.Violations, v.Reason)
		}
		if c.bound != nil {
			if err := verify.Below(p.Makespan(s), c.bound.Bound, c.bound.Witness.Kind()); err != nil {
				return err
			}
		}
	}
	return nil
}

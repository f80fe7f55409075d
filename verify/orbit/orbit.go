// Package orbit decides whether a schedule that is the same for all ranks, translated, is
// feasible and right, by looking at one rank and at the chunks that one rank owns: see
// model.Orbit. What takes minutes transfer by transfer takes milliseconds here. Section 14
// of verify/SPEC.md explains why it is enough.
package orbit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "orbit"

// check is the state of one call of Check.
type check struct {
	p          *model.Problem
	o          *model.Orbit
	moved      *model.Translations
	own        []int32   // the chunks of rank 0, by part
	sizes      [][]int64 // by part: the different sizes, the largest last
	work       *verify.Work
	violations []verify.Violation
	reason     string // why the answer is unknown
}

// Check decides whether the schedule that o states is right for p. It is Unknown where the
// problem is not the same seen from every rank, with late ranks, and where switches copy.
// It takes O(links·sides + chunks + t·log t) time for t turns, times the different sizes of
// chunks of one part, and for reducing collectives as much again for each different sum
// that ranks end with. It is Unknown, too, once ctx is done.
func Check(ctx context.Context, p *model.Problem, o *model.Orbit) verify.Verdict {
	v := verify.Verdict{Engine: Engine}
	if err := p.Validate(); err != nil {
		return malformed(v, "problem", err)
	}
	if err := o.Validate(p); err != nil {
		return malformed(v, "orbit", err)
	}
	moved, err := o.Translations(p.Topology)
	if err != nil {
		return malformed(v, "orbit", err)
	}
	if n := len(o.Turns); n > 0 && p.Cost.Synchronous() && o.Turns[n-1].Start >= model.Time(1024+16*o.Transfers()) {
		return malformed(v, "orbit", fmt.Errorf("round %d, want a round below %d", int64(o.Turns[n-1].Start), 1024+16*o.Transfers()))
	}
	v.Claim = verify.Claim(p, &model.Schedule{Form: model.FormFor(p.Cost)})
	c := &check{p: p, o: o, moved: moved, work: verify.Begin(ctx, 0)}
	if v.Reason = c.differs(); v.Reason != "" {
		return v
	}
	c.capacity()
	c.data()
	if !c.work.Go(1) {
		v.Reason = c.work.Why()
		return v
	}
	if v.Reason = c.reason; v.Reason != "" && len(c.violations) == 0 {
		return v
	}
	v.Reason = ""
	v.Violations = c.violations[:min(len(c.violations), verify.MaxViolations)]
	v.Makespan = c.makespan()
	if v.Outcome = verify.Proved; len(v.Violations) > 0 {
		v.Outcome = verify.Refuted
	}
	return v
}

func malformed(v verify.Verdict, where string, err error) verify.Verdict {
	v.Outcome = verify.Refuted
	v.Claim = "is a well-formed schedule"
	v.Violations = []verify.Violation{verify.Wrong(verify.Malformed, where, err.Error())}
	return v
}

// maxSizes limits how many different sizes chunks with one number may have.
const maxSizes = 64

// differs says how the problem differs from rank to rank, or returns "". It notes the
// sizes of the parts.
func (c *check) differs() string {
	if c.p.Late() {
		return "some ranks are late: want what is the same for all"
	}
	for i := range c.p.Topology.Switches {
		if v := c.p.Topology.Ranks + i; c.p.Topology.Copies(v) {
			return fmt.Sprintf("%s copies: want no multicast", c.p.Topology.NodeName(v))
		}
	}
	if v, adds := c.p.Topology.Reducer(); adds {
		return fmt.Sprintf("%s adds: want no sums in switches", c.p.Topology.NodeName(v))
	}
	parts, each := c.o.Parts(c.p)
	c.own = parts[:each]
	c.sizes = make([][]int64, each)
	for i, k := range parts {
		if !c.work.Go(1) {
			return c.work.Why()
		}
		q, size := i%each, c.p.Chunks[k].Size
		at, known := slices.BinarySearch(c.sizes[q], size)
		if !known {
			c.sizes[q] = slices.Insert(c.sizes[q], at, size)
		}
		if len(c.sizes[q]) > maxSizes {
			return fmt.Sprintf("the chunks with number %d of the ranks have more than %d different sizes", q, maxSizes)
		}
	}
	return ""
}

// largest returns the size of the largest chunk of a part.
func (c *check) largest(part int32) int64 { return c.sizes[part][len(c.sizes[part])-1] }

// to returns the rank that rank 0 sends to in a turn.
func (c *check) to(t *model.Turn) int {
	route := c.o.Routes[t.Route]
	return c.p.Topology.Links[route[len(route)-1]].Dst
}

func (c *check) report(code verify.Code, i int, format string, args ...any) {
	if len(c.violations) < verify.MaxViolations {
		t := &c.o.Turns[i]
		where := fmt.Sprintf("turn %d (%v of part %d of rank %d, 0->%d, from %v on, and its translates)", i, t.Op, t.Part, t.Owner, c.to(t), t.Start)
		c.violations = append(c.violations, verify.Wrong(code, where, fmt.Sprintf(format, args...)).AtRank(0))
	}
}

// capacity checks that of each class of links one carries one chunk at a time (SPEC 4.1),
// and, under rounds, that rank 0 sends once a round at most (SPEC 4.2). A turn keeps each
// link of the classes that its route passes busy, for chunks of every size of its part.
func (c *check) capacity() {
	type use struct {
		model.Interval
		turn int
	}
	uses := make([][]use, c.moved.Classes())
	var busy []model.Interval
	last := model.Time(-1)
	for i := range c.o.Turns {
		if !c.work.Go(1) {
			return
		}
		t := &c.o.Turns[i]
		if c.p.Cost == model.Rounds && t.Start == last {
			c.report(verify.PortOverload, i, "rank 0 sends another chunk in round %d, and receives another, want one", int64(t.Start))
		}
		last = t.Start
		route := c.o.Routes[t.Route]
		if !c.p.Cost.Synchronous() {
			busy = c.p.Topology.Busy(c.p.Cost, route, c.largest(t.Part), busy[:0])
		}
		for j, l := range route {
			span := model.Interval{From: t.Start, To: t.Start + 1}
			if !c.p.Cost.Synchronous() {
				span = model.Interval{From: t.Start.Add(busy[j].From), To: t.Start.Add(busy[j].To)}
			}
			class := c.moved.Class(l)
			uses[class] = append(uses[class], use{span, i})
		}
	}
	for _, list := range uses {
		slices.SortStableFunc(list, func(a, b use) int { return cmp.Compare(a.From, b.From) })
		until := model.Time(0)
		for _, x := range list {
			if x.From < until {
				c.report(verify.LinkOverlap, x.turn, "a link that it takes is busy until %v, with another turn's chunk", until)
			}
			until = max(until, x.To)
		}
	}
}

// makespan returns the end of the last transfer, in rounds that of the last round.
func (c *check) makespan() model.Time {
	var end, longest, at, round model.Time
	for i := range c.o.Turns {
		t := &c.o.Turns[i]
		lasts := c.p.Topology.Duration(c.o.Routes[t.Route], c.largest(t.Part))
		if !c.p.Cost.Synchronous() {
			end = max(end, t.Start.Add(lasts))
			continue
		}
		if t.Start != round {
			at, longest, round = at.Add(longest), 0, t.Start
		}
		longest = max(longest, lasts)
		end = at.Add(longest)
	}
	return end
}

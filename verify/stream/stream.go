// Package stream decides whether a schedule is feasible and right while it is read, in
// memory that is known before: for schedules that are larger than memory. It follows
// verify/SPEC.md as verify/replay does, and shares no code with it.
//
// It serves the standard collectives, with times or in rounds. Where every chunk starts at one
// rank and is copied, it keeps one bit of each slot, whether it is defined: at the start one
// slot of a chunk is, with its owner's contribution, and what a copy writes is what it has
// read, so that every slot of the chunk that is ever defined holds that contribution, once.
// The postcondition is then that the slots it names are defined. Of reducing collectives among
// all ranks it decides schedules that add along trees and copy only what is complete, with
// two bits a slot: see trees. Others are left unknown.
//
// Transfers must come in order of their starts. At the start of one all that ended by then
// has been written, and what comes later starts no earlier; so of a transfer nothing
// need be kept but its end, its destination and its chunk, and that until its end. Of the
// spans in which a link is busy those are kept that are not over.
//
// It takes O(T·l·log d) time for T transfers over routes of l links with d different
// durations, two bits of which lie anywhere in memory for each.
package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "stream"

// ErrNotServed is wrapped by the errors of New and Memory for problems that this engine
// does not decide.
var ErrNotServed = errors.New("not decided by streaming")

// serves explains why a problem is not decided here.
func serves(p *model.Problem, form model.Form) error {
	switch p.Collective.Kind {
	case model.Custom:
		return fmt.Errorf("%v: want one of the standard collectives: %w", p.Collective.Kind, ErrNotServed)
	case model.Reduce, model.ReduceScatter, model.AllReduce:
		if p.Collective.Group != nil {
			return fmt.Errorf("%v among some: want it among all ranks: %w", p.Collective.Kind, ErrNotServed)
		}
	}
	if p.Chunks == nil {
		return model.ErrNoChunks
	}
	if form != model.FormFor(p.Cost) {
		return fmt.Errorf("form %v under %v: want %v: %w", form, p.Cost, model.FormFor(p.Cost), ErrNotServed)
	}
	for s := range p.Topology.Switches {
		if v := p.Topology.Ranks + s; p.Topology.Copies(v) {
			return fmt.Errorf("%s copies: want no multicast: %w", p.Topology.NodeName(v), ErrNotServed)
		}
	}
	if v, adds := p.Topology.Reducer(); adds {
		return fmt.Errorf("%s adds: want no sums in switches: %w", p.Topology.NodeName(v), ErrNotServed)
	}
	return nil
}

// Checker decides one schedule.
type Checker struct {
	p      *model.Problem
	t      *model.Topology
	form   model.Form
	routes [][]int
	paths  []path
	times  times
	slots
	capacity

	now        model.Time // the latest start so far
	count      int64
	last       model.Time // the latest end so far
	spans      spans
	violations []verify.Violation
	malformed  *verify.Violation
	undecided  string
	work       *verify.Work
}

// path is what is known of a route.
type path struct {
	src, dst int32
	kind     int32  // in times
	wrong    string // why it is no path, or ""
}

// New begins the check of a schedule of p, which must be valid and have chunks, with the
// routes that its transfers will have. It takes O(links + routes) time and as much memory
// as Memory says. Once ctx is done Add returns false, and the verdict is Unknown.
func New(ctx context.Context, p *model.Problem, form model.Form, routes [][]int) (*Checker, error) {
	if err := serves(p, form); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	c := &Checker{work: verify.Begin(ctx, 0), p: p, t: p.Topology, form: form, routes: routes}
	s := &model.Schedule{Form: form, Routes: routes}
	if err := s.Validate(p); err != nil {
		return nil, err
	}
	c.times = newTimes(p, form)
	c.paths = make([]path, len(routes))
	for i, route := range routes {
		links := c.t.Links
		c.paths[i] = path{int32(links[route[0]].Src), int32(links[route[len(route)-1]].Dst), c.times.kindOf(route), c.notAPath(route)}
	}
	c.capacity = newCapacity(p, form, routes, c.paths, &c.times)
	c.slots = newSlots(p)
	return c, nil
}

// Memory returns how many bytes New and what follows need at most for a feasible
// schedule, beside the problem, the routes and what is read.
func Memory(p *model.Problem, form model.Form, routes [][]int) (int64, error) {
	if err := serves(p, form); err != nil {
		return 0, err
	}
	ranks, links := int64(p.Topology.Ranks), int64(len(p.Topology.Links))
	bits := (ranks + 7) / 8 * 8 * ((int64(len(p.Chunks)) + 63) / 64) * 8
	t := newTimes(p, form)
	inFlight := make([]int64, links)
	for _, route := range routes {
		if l := route[0]; l >= 0 && int64(l) < links {
			inFlight[l] = max(inFlight[l], t.atOnce(t.kindOf(route)))
		}
	}
	flights := int64(0)
	for _, n := range inFlight {
		flights += n
	}
	if reduces(p.Collective.Kind) {
		bits = 2*bits + 8*int64(len(p.Chunks))
	}
	return bits + 4*int64(len(p.Chunks)) + 24*links + 32*int64(len(routes)) + 4*flightSize*flights + 1<<20, nil
}

// notAPath explains why a route is not a simple path that the cost model allows, or "" (SPEC 3.1).
func (c *Checker) notAPath(route []int) string {
	at := c.t.Links[route[0]].Src
	visited := map[int]bool{at: true}
	for i, l := range route {
		k := c.t.Links[l]
		switch {
		case k.Src != at:
			return fmt.Sprintf("link %d leaves %s, want one that leaves %s", l, c.t.NodeName(k.Src), c.t.NodeName(at))
		case visited[k.Dst]:
			return fmt.Sprintf("its route visits %s twice", c.t.NodeName(k.Dst))
		case c.p.Cost == model.LinkRounds && i+1 < len(route) && c.t.IsRank(k.Dst):
			return fmt.Sprintf("its route passes %s, want one hop a round under link-rounds", c.t.NodeName(k.Dst))
		}
		at = k.Dst
		visited[at] = true
	}
	return ""
}

// Add goes on with the next transfers, whose starts must not decrease within a call or
// from one to the next. It returns false if the answer is there before the end.
func (c *Checker) Add(batch []model.Transfer) bool {
	for i := range batch {
		if c.malformed != nil || c.undecided != "" || len(c.violations) >= verify.MaxViolations || !c.work.Go(1) {
			return false
		}
		c.transfer(&batch[i])
		c.count++
	}
	return true
}

// malform notes that what is read is no schedule.
func (c *Checker) malform(v verify.Violation) { c.malformed = &v }

// transfer looks at one transfer.
func (c *Checker) transfer(t *model.Transfer) {
	if why := c.shape(t); why != "" {
		c.malform(verify.Wrong(verify.Malformed, fmt.Sprintf("transfer %d", c.count), why).AtTransfer(c.index()))
		return
	}
	if t.Op != model.Copy && !reduces(c.p.Collective.Kind) {
		c.undecided = fmt.Sprintf("%s is a reduction; streaming follows copies only", c.about(t))
		return
	}
	if t.Start > c.now {
		c.land(t.Start, c.race)
		c.lose()
		c.now = t.Start
	}
	c.last = max(c.last, t.End)
	q := &c.paths[t.Route]
	switch {
	case q.wrong != "":
		c.report(verify.NoSuchLink, t, t.Src, "%s", q.wrong)
	case q.src != t.Src || q.dst != t.Dst:
		c.report(verify.NoSuchLink, t, t.Src, "its route leads from %s to %s, want from rank %d to rank %d", c.t.NodeName(int(q.src)), c.t.NodeName(int(q.dst)), t.Src, t.Dst)
	}
	route, class := c.routes[t.Route], c.times.class(t.Chunk)
	figures := c.times.figures(q.kind, class)
	if c.form == model.Timed {
		switch d := t.End - t.Start; {
		case d < figures.lasts:
			c.report(verify.TooFast, t, t.Src, "lasts %v, want %v for %d bytes", d, figures.lasts, c.p.Chunks[t.Chunk].Size)
		case d > figures.lasts:
			c.report(verify.TooSlow, t, t.Src, "lasts %v, want %v for %d bytes", d, figures.lasts, c.p.Chunks[t.Chunk].Size)
		}
		if c.p.Release != nil {
			c.arrived(t, route)
		}
	} else {
		c.spans.add(c.p, t, route, figures.lasts)
	}
	if q.wrong == "" {
		c.occupy(t, route, figures.busy)
	}
	if reduces(c.p.Collective.Kind) {
		c.reduce(t)
		return
	}
	if !c.defined(t.Src, t.Chunk) {
		c.report(verify.SendUndefined, t, t.Src, "rank %d holds nothing of chunk %d when it sends it", t.Src, t.Chunk)
		return
	}
	c.launch(t.End, t.End-t.Start, t.Dst, t.Chunk)
}

// shape states what makes a transfer meaningless, or "" (SPEC 2).
func (c *Checker) shape(t *model.Transfer) string {
	switch {
	case t.Chunk < 0 || int(t.Chunk) >= len(c.p.Chunks):
		return fmt.Sprintf("chunk %d does not exist, want 0 to %d", t.Chunk, len(c.p.Chunks)-1)
	case t.Src < 0 || int(t.Src) >= c.t.Ranks || t.Dst < 0 || int(t.Dst) >= c.t.Ranks:
		return fmt.Sprintf("from rank %d to rank %d, want 0 to %d", t.Src, t.Dst, c.t.Ranks-1)
	case t.Src == t.Dst:
		return fmt.Sprintf("from rank %d to itself, want another", t.Src)
	case t.Route < 0 || int(t.Route) >= len(c.routes):
		return fmt.Sprintf("route %d does not exist, want 0 to %d", t.Route, len(c.routes)-1)
	case t.Op > model.Reduction:
		return fmt.Sprintf("operation %d does not exist, want copy or reduce", t.Op)
	case t.Start < c.now:
		return fmt.Sprintf("starts at %d after one that starts at %d, want order of starts", int64(t.Start), int64(c.now))
	case t.End <= t.Start || t.End > model.MaxTime/2:
		return fmt.Sprintf("from %d to %d, want an end after the start, of at most %d", int64(t.Start), int64(t.End), int64(model.MaxTime/2))
	case c.form == model.InRounds && t.End != t.Start+1:
		return fmt.Sprintf("rounds %d to %d, want one round", int64(t.Start), int64(t.End))
	}
	return ""
}

// arrived checks that the ranks on the way are there (SPEC 3.3).
func (c *Checker) arrived(t *model.Transfer, route []int) {
	if r := c.p.Release[t.Src]; t.Start < r {
		c.report(verify.BeforeRelease, t, t.Src, "rank %d arrives at %v", t.Src, r)
	}
	for _, l := range route {
		if v := c.t.Links[l].Dst; c.t.IsRank(v) && t.Start < c.p.Release[v] {
			c.report(verify.BeforeRelease, t, int32(v), "rank %d arrives at %v", v, c.p.Release[v])
		}
	}
}

// Verdict ends the check: it compares what is there with the postcondition.
func (c *Checker) Verdict() verify.Verdict {
	v := verify.Verdict{Engine: Engine, Claim: verify.Claim(c.p, &model.Schedule{Form: c.form})}
	if rounds := model.Time(1024 + 16*c.count); c.malformed == nil && c.form == model.InRounds && c.last > rounds {
		c.malform(verify.Wrong(verify.Malformed, "schedule", fmt.Sprintf("round %d, want a round below %d", int64(c.last-1), int64(rounds))))
	}
	if c.malformed == nil && c.undecided == "" && len(c.violations) < verify.MaxViolations {
		c.land(model.MaxTime, c.race)
		c.lose()
	}
	switch {
	case !c.work.Go(1):
		v.Reason = c.work.Why()
		return v
	case c.malformed != nil:
		v.Outcome, v.Claim = verify.Refuted, "is a well-formed schedule"
		v.Violations = []verify.Violation{*c.malformed}
		return v
	case c.undecided != "" && len(c.violations) == 0:
		v.Reason = c.undecided
		return v
	case c.undecided == "" && len(c.violations) < verify.MaxViolations:
		c.compare()
		v.Makespan = c.last
		if c.form == model.InRounds {
			v.Makespan = c.spans.end()
		}
		if !c.work.Go(1) {
			return verify.Verdict{Engine: Engine, Claim: v.Claim, Reason: c.work.Why()}
		}
	}
	if v.Violations = c.violations; len(v.Violations) > verify.MaxViolations {
		v.Violations = v.Violations[:verify.MaxViolations]
	}
	if v.Outcome = verify.Proved; len(v.Violations) > 0 {
		v.Outcome = verify.Refuted
	}
	return v
}

// race notes that a slot is written twice at one instant.
func (c *Checker) race(end model.Time, x slot) {
	c.reportSlot(verify.WriteWriteRace, int(x.rank), int(x.chunk), "is written by two copies that end at %v: what remains there is left to chance", end)
}

// compare sets the slots against the postcondition (SPEC 6.3).
func (c *Checker) compare() {
	if reduces(c.p.Collective.Kind) {
		c.compareSums()
		return
	}
	full := c.left == 0
	for k := range c.p.Chunks {
		for r, want := range c.p.Goal(k) {
			owner, single := want.Single()
			switch {
			case len(c.violations) >= verify.MaxViolations || !c.work.Go(1):
				return
			case !single || int32(owner) != c.owner[k]:
				c.reportSlot(verify.WrongValue, r, k, "can only end with what rank %d contributes, which is not wanted", c.owner[k])
			case !full && !c.defined(int32(r), int32(k)):
				c.reportSlot(verify.MissingContribution, r, k, "ends undefined, want x%d: nothing was ever written there", owner)
			}
			if full {
				break // the goals of a chunk want the same of all their ranks
			}
		}
	}
}

func (c *Checker) index() int { return int(min(c.count, 1<<62)) }

// about names a transfer: "transfer 7 (copy of chunk 1, 3->0, 1us to 2us)".
func (c *Checker) about(t *model.Transfer) string {
	when := fmt.Sprintf("%v to %v", t.Start, t.End)
	if c.form == model.InRounds {
		when = fmt.Sprintf("round %d", int64(t.Start))
	}
	return fmt.Sprintf("transfer %d (%v of chunk %d, %d->%d, %s)", c.count, t.Op, t.Chunk, t.Src, t.Dst, when)
}

// report notes a violation by the transfer that is being looked at.
func (c *Checker) report(code verify.Code, t *model.Transfer, rank int32, format string, args ...any) {
	c.violations = append(c.violations, verify.Wrong(code, c.about(t), fmt.Sprintf(format, args...)).AtTransfer(c.index()).AtSlot(int(rank), int(t.Chunk)))
}

// reportSlot notes a violation at a slot.
func (c *Checker) reportSlot(code verify.Code, rank, chunk int, format string, args ...any) {
	c.violations = append(c.violations, verify.Wrong(code, fmt.Sprintf("rank %d, chunk %d", rank, chunk), fmt.Sprintf(format, args...)).AtSlot(rank, chunk))
}

// Package replay executes a schedule exactly and decides whether it is feasible
// and right. It follows verify/SPEC.md section by section: routes and durations
// (3), capacity (4), order (5), data and postcondition (6).
//
// It takes O(U + T·w + U log U) time for T transfers whose routes have U links in all,
// w = ⌈ranks/64⌉ being the words of a set of contributions, and the logarithm only where
// the transfers of a chunk or link do not come in order of time, as those of most
// schedules do. It executes chunks until it has found enough that is wrong. Beside the
// schedule it needs some 16 bytes a transfer, and the sets of the chunks that are being
// executed. A form of order takes O(chains) for each transfer and each entry of After
// instead of the logarithm: see SPEC 5. What would take far more than that, or more memory
// than limits.go allows, is unknown.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "replay"

// Check decides whether s is a feasible schedule that reaches the postcondition
// of p. An Ordered schedule is right if every execution that its order allows
// is; where that is too large to decide the outcome is Unknown, with the reason.
// Neither p nor s is changed. Once ctx is done the outcome is Unknown, whatever has been
// found by then.
func Check(ctx context.Context, p *model.Problem, s *model.Schedule) verify.Verdict {
	v := verify.Verdict{Engine: Engine}
	if err := p.Validate(); err != nil {
		return malformed(v, "problem", err)
	}
	if err := s.Validate(p); err != nil {
		return malformed(v, "schedule", err)
	}
	v.Claim = verify.Claim(p, s)
	c := &check{p: p, s: s, t: p.Topology, work: verify.Begin(ctx, steps(p, s))}

	c.routes()
	paths := len(c.violations) == 0
	c.timing()
	if paths { // what has no path from source to destination occupies nothing that one could name
		c.capacity()
	}
	feasibility := c.violations
	c.violations = nil
	c.order()
	stopped := c.data()
	if !c.work.Go(1) {
		stopped = c.work.Why()
	}
	if stopped != "" {
		v.Reason = stopped
		return v
	}

	v.Violations = merge(feasibility, c.violations)
	v.Makespan = p.Makespan(s)
	switch {
	case len(v.Violations) > 0:
		v.Outcome = verify.Refuted
	case c.undecided != "":
		v.Reason = c.undecided
	default:
		v.Outcome = verify.Proved
	}
	return v
}

func malformed(v verify.Verdict, where string, err error) verify.Verdict {
	v.Outcome = verify.Refuted
	v.Claim = "is a well-formed schedule"
	v.Violations = []verify.Violation{verify.Wrong(verify.Malformed, where, err.Error())}
	return v
}

// merge returns at most MaxViolations: what is infeasible first, but not so much
// of it that wrong data goes unmentioned.
func merge(feasibility, data []verify.Violation) []verify.Violation {
	if n := verify.MaxViolations - min(len(data), verify.MaxViolations/2); len(feasibility) > n {
		feasibility = feasibility[:n]
	}
	all := append(feasibility, data...)
	return all[:min(len(all), verify.MaxViolations)]
}

// check is the state of one call of Check.
type check struct {
	p *model.Problem
	s *model.Schedule
	t *model.Topology

	work *verify.Work // of what is done before the chunks are executed

	sequence   []int32 // Ordered: an order of execution
	violations []verify.Violation
	undecided  string // what was not looked at, and why
}

// goes reports whether to go on for n more steps: the work has not ended, and not enough
// violations are found.
func (c *check) goes(n int) bool {
	return c.work.Go(n) && len(c.violations) < verify.MaxViolations
}

// report adds a violation, up to the limit.
func (c *check) report(code verify.Code, transfer int, rank, chunk int, where, format string, args ...any) {
	if len(c.violations) < verify.MaxViolations {
		c.violations = append(c.violations, verify.Wrong(code, where, fmt.Sprintf(format, args...)).AtTransfer(transfer).AtSlot(rank, chunk))
	}
}

// about names a transfer: "transfer 7 (copy of chunk 1, 3->0, at 41.9us)".
func (c *check) about(i int) string {
	t := &c.s.Transfers[i]
	when := ""
	switch c.s.Form {
	case model.Timed:
		when = fmt.Sprintf(", %v to %v", t.Start, t.End)
	case model.InRounds:
		when = fmt.Sprintf(", round %d", t.Start)
	}
	return fmt.Sprintf("transfer %d (%v of chunk %d, %d->%d%s)", i, t.Op, t.Chunk, t.Src, t.Dst, when)
}

// routes checks that every route in use is a path of links from the source to the
// destination that visits no node twice (SPEC 3.1).
func (c *check) routes() {
	first, last := make([]int32, len(c.s.Routes)), make([]int32, len(c.s.Routes))
	why := make([]string, len(c.s.Routes))
	visited, passed := make([]int32, c.t.Nodes()), make([]int32, len(c.t.Links)) // 1 + the route that was there last
	for i, route := range c.s.Routes {
		if !c.work.Go(len(route)) {
			return
		}
		why[i] = c.notAPath(route, visited, passed, int32(i+1))
		first[i], last[i] = int32(c.t.Links[route[0]].Src), int32(c.t.Links[route[len(route)-1]].Dst)
	}
	for i := range c.s.Transfers {
		if !c.goes(1) {
			return
		}
		t := &c.s.Transfers[i]
		switch {
		case why[t.Route] != "":
			c.report(verify.NoSuchLink, i, int(t.Src), int(t.Chunk), c.about(i), "%s", why[t.Route])
		case first[t.Route] != t.Src || last[t.Route] != t.Dst:
			c.report(verify.NoSuchLink, i, int(t.Src), int(t.Chunk), c.about(i), "its route leads from %s to %s, want from rank %d to rank %d",
				c.t.NodeName(int(first[t.Route])), c.t.NodeName(int(last[t.Route])), t.Src, t.Dst)
		}
	}
}

// notAPath returns why route is not a path that visits no node twice, except for switches that
// turn sums round, and no link, or "". It marks the nodes that it
// visits with a mark that no other route has.
func (c *check) notAPath(route []int, visited, passed []int32, mark int32) string {
	at := c.t.Links[route[0]].Src
	visited[at] = mark
	for _, l := range route {
		link := c.t.Links[l]
		if passed[l] == mark {
			return fmt.Sprintf("its route passes link %d twice", l)
		}
		passed[l] = mark
		if link.Src != at {
			return fmt.Sprintf("link %d leaves %s, want one that leaves %s", l, c.t.NodeName(link.Src), c.t.NodeName(at))
		}
		at = link.Dst
		if visited[at] == mark && c.t.Reduces(at) != model.SumsTurned {
			return fmt.Sprintf("its route visits %s twice", c.t.NodeName(at))
		}
		visited[at] = mark
	}
	if c.p.Cost == model.LinkRounds {
		for _, l := range route[:len(route)-1] {
			if v := c.t.Links[l].Dst; c.t.IsRank(v) {
				return fmt.Sprintf("its route passes %s, want one hop a round under link-rounds", c.t.NodeName(v))
			}
		}
	}
	return ""
}

// waits reports whether a transfer over a route may wait at its switch (SPEC 3.2).
func (c *check) waits(route []int) bool {
	return c.s.Form == model.Timed && len(route) == 2 && c.t.Reduces(c.t.Links[route[0]].Dst) == model.SumsRead
}

// timing checks durations and arrivals of ranks (SPEC 3.2, 3.3).
func (c *check) timing() {
	if c.s.Form != model.Timed {
		return // rounds wait for their ranks and last as long as they must
	}
	type known struct {
		size     int64
		duration model.Time
	}
	cache := make([]known, len(c.s.Routes))
	for i := range c.s.Transfers {
		if !c.goes(1) {
			return
		}
		t := &c.s.Transfers[i]
		size := c.p.Chunks[t.Chunk].Size
		k := &cache[t.Route]
		if k.size != size {
			c.work.Go(len(c.s.Routes[t.Route]))
			*k = known{size, c.t.Duration(c.s.Routes[t.Route], size)}
		}
		switch d := t.End - t.Start; {
		case d < k.duration:
			c.report(verify.TooFast, i, int(t.Src), int(t.Chunk), c.about(i), "lasts %v, want %v for %d bytes", d, k.duration, size)
		case d > k.duration && !c.waits(c.s.Routes[t.Route]):
			c.report(verify.TooSlow, i, int(t.Src), int(t.Chunk), c.about(i), "lasts %v, want %v for %d bytes", d, k.duration, size)
		}
		if c.p.Release == nil {
			continue
		}
		if r := c.p.Release[t.Src]; t.Start < r {
			c.report(verify.BeforeRelease, i, int(t.Src), int(t.Chunk), c.about(i), "rank %d arrives at %v", t.Src, r)
		}
		c.work.Go(len(c.s.Routes[t.Route]))
		for _, l := range c.s.Routes[t.Route] {
			if v := c.t.Links[l].Dst; c.t.IsRank(v) && t.Start < c.p.Release[v] {
				c.report(verify.BeforeRelease, i, v, int(t.Chunk), c.about(i), "rank %d arrives at %v", v, c.p.Release[v])
			}
		}
	}
}

// byChunk groups the transfers: those of chunk k are at[from[k]:from[k+1]], in the
// order of the schedule.
func (c *check) byChunk() (at, from []int32) {
	from = make([]int32, len(c.p.Chunks)+1)
	for i := range c.s.Transfers {
		from[c.s.Transfers[i].Chunk+1]++
	}
	for k := range c.p.Chunks {
		from[k+1] += from[k]
	}
	at = make([]int32, len(c.s.Transfers))
	next := slices.Clone(from)
	put := func(i int32) {
		k := c.s.Transfers[i].Chunk
		at[next[k]] = i
		next[k]++
	}
	if c.s.Form == model.Ordered {
		for _, i := range c.sequence {
			put(i)
		}
		return at, from
	}
	for i := range c.s.Transfers {
		put(int32(i))
	}
	return at, from
}

// sortBy sorts transfers by a time, and then by index, if they are not yet sorted. Once
// the work has ended their order is of no importance.
func (c *check) sortBy(work *verify.Work, list []int32, time func(*model.Transfer) model.Time) {
	less := func(i, j int32) int {
		if !work.Go(1) {
			return 0
		}
		return cmp.Or(cmp.Compare(time(&c.s.Transfers[i]), time(&c.s.Transfers[j])), cmp.Compare(i, j))
	}
	if !slices.IsSortedFunc(list, less) {
		slices.SortFunc(list, less)
	}
}

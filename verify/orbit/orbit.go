// Package orbit decides whether a schedule that is the same for all ranks, translated, is
// feasible and right, by looking at one rank: see model.Orbit. What takes minutes transfer by
// transfer takes milliseconds here. Section 14 of verify/SPEC.md says why it is enough.
package orbit

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "orbit"

// check is the state of one call of Check.
type check struct {
	p          *model.Problem
	o          *model.Orbit
	sizes      []int64 // by part
	violations []verify.Violation
}

// Check decides whether the schedule that o states is right for p. It is Unknown where the
// problem is not the same seen from every rank: with late ranks, under the cost model
// rounds, with chunks of one number that differ in size. It takes O(links + chunks +
// turns) time.
func Check(p *model.Problem, o *model.Orbit) verify.Verdict {
	v := verify.Verdict{Engine: Engine}
	if err := p.Validate(); err != nil {
		return malformed(v, "problem", err)
	}
	if err := o.Validate(p); err != nil {
		return malformed(v, "orbit", err)
	}
	if _, err := o.Translates(p.Topology); err != nil {
		return malformed(v, "orbit", err)
	}
	if n := len(o.Turns); n > 0 && p.Cost.Synchronous() && o.Turns[n-1].Start >= model.Time(1024+16*o.Transfers()) {
		return malformed(v, "orbit", fmt.Errorf("round %d, want a round below %d", int64(o.Turns[n-1].Start), 1024+16*o.Transfers()))
	}
	v.Claim = verify.Claim(p, &model.Schedule{Form: model.FormFor(p.Cost)})
	c := &check{p: p, o: o}
	if v.Reason = c.differs(); v.Reason != "" {
		return v
	}
	c.timing()
	c.capacity()
	c.data()
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
	v.Violations = []verify.Violation{{Code: verify.Malformed, Where: where, Message: err.Error(), Transfer: -1, Rank: -1, Chunk: -1}}
	return v
}

// differs says how the problem differs from rank to rank, or returns "". It notes the
// sizes of the parts.
func (c *check) differs() string {
	switch {
	case c.p.Late():
		return "some ranks are late: want what is the same for all"
	case c.p.Cost == model.Rounds:
		return "under rounds ranks have ports: want links alone"
	}
	for _, k := range c.o.Parts(c.p, 0) {
		c.sizes = append(c.sizes, c.p.Chunks[k].Size)
	}
	number := make([]int, c.p.Topology.Ranks)
	for k, chunk := range c.p.Chunks {
		r, _ := c.p.Owner(k)
		if want := c.sizes[number[r]]; chunk.Size != want {
			return fmt.Sprintf("chunk %d of rank %d has %d bytes, that of rank 0 %d: want what is the same for all", number[r], r, chunk.Size, want)
		}
		number[r]++
	}
	return ""
}

func (c *check) report(code verify.Code, i int, format string, args ...any) {
	if len(c.violations) < verify.MaxViolations {
		t := &c.o.Turns[i]
		c.violations = append(c.violations, verify.Violation{
			Code: code, Where: fmt.Sprintf("turn %d (part %d of rank %d, %d->%d, %v to %v, and its translates)", i, t.Part, t.Owner, 0, c.p.Topology.Links[t.Link].Dst, t.Start, t.End),
			Message: fmt.Sprintf(format, args...), Transfer: -1, Rank: 0, Chunk: int(c.o.Parts(c.p, int(t.Owner))[t.Part]),
		})
	}
}

// timing checks durations (SPEC 3.2).
func (c *check) timing() {
	if c.p.Cost.Synchronous() {
		return
	}
	for i := range c.o.Turns {
		t := &c.o.Turns[i]
		want := c.p.Topology.Duration([]int{int(t.Link)}, c.sizes[t.Part])
		switch d := t.End - t.Start; {
		case d < want:
			c.report(verify.TooFast, i, "lasts %v, want %v for %d bytes", d, want, c.sizes[t.Part])
		case d > want:
			c.report(verify.TooSlow, i, "lasts %v, want %v for %d bytes", d, want, c.sizes[t.Part])
		}
	}
}

// capacity checks that the links that leave rank 0 carry one chunk at a time (SPEC 4.1).
func (c *check) capacity() {
	until := map[int32]model.Time{}
	var busy []model.Interval
	for i := range c.o.Turns {
		t := &c.o.Turns[i]
		end := t.Start + 1
		if !c.p.Cost.Synchronous() {
			busy = c.p.Topology.Busy(c.p.Cost, []int{int(t.Link)}, c.sizes[t.Part], busy[:0])
			end = t.Start.Add(busy[0].To)
		}
		if t.Start < until[t.Link] {
			c.report(verify.LinkOverlap, i, "link %d is still busy until %v", t.Link, until[t.Link])
		}
		until[t.Link] = max(until[t.Link], end)
	}
}

// data follows what rank 0 holds of what rank d owns, which is what rank r holds of what
// rank r + d owns (SPEC 5, 6).
func (c *check) data() {
	parts := len(c.sizes)
	type write struct {
		slot int
		end  model.Time
	}
	first := make([]model.Time, c.p.Topology.Ranks*parts) // when it is there; MaxTime: never
	for i := range first {
		first[i] = model.MaxTime
		if i < parts {
			first[i] = 0
		}
	}
	writes := make(map[write]bool, len(c.o.Turns))
	for i := range c.o.Turns {
		t := &c.o.Turns[i]
		if first[int(t.Owner)*parts+int(t.Part)] > t.Start {
			c.report(verify.SendUndefined, i, "rank 0 holds nothing of it when it sends it")
			continue
		}
		slot := c.o.Sub(int(t.Owner), c.p.Topology.Links[t.Link].Dst)*parts + int(t.Part)
		first[slot] = min(first[slot], t.End)
		w := write{slot, t.End}
		if writes[w] {
			c.report(verify.WriteWriteRace, i, "another turn writes the same slots at that instant: what remains there is left to chance")
		}
		writes[w] = true
	}
	for i, at := range first {
		if at == model.MaxTime && len(c.violations) < verify.MaxViolations {
			k := c.o.Parts(c.p, i/parts)[i%parts]
			c.violations = append(c.violations, verify.Violation{
				Code: verify.MissingContribution, Where: fmt.Sprintf("rank 0, chunk %d", k), Transfer: -1, Rank: 0, Chunk: int(k),
				Message: fmt.Sprintf("ends undefined, want x%d: nothing was ever written there, nor at its translates", i/parts),
			})
		}
	}
}

// makespan returns the end of the last turn, in rounds that of the last round.
func (c *check) makespan() model.Time {
	var end, longest, at model.Time
	round := model.Time(0)
	for i := range c.o.Turns {
		t := &c.o.Turns[i]
		if !c.p.Cost.Synchronous() {
			end = max(end, t.End)
			continue
		}
		if t.Start != round {
			at, longest, round = at.Add(longest), 0, t.Start
		}
		longest = max(longest, c.p.Topology.Duration([]int{int(t.Link)}, c.sizes[t.Part]))
		end = at.Add(longest)
	}
	return end
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakReplay sets replay, smt and stream against a naive execution: random problems of
// all cost models with right schedules in all forms, and five that come of each by random
// changes, one to three.
func TestSoakReplay(t *testing.T) {
	soak(t, 2000, map[string]float64{"proved": 0.8, "refuted": 2, "streamed": 0.3, "custom": 0.3,
		"blocking timed": 0.1, "pipelined timed": 0.1, "rounds rounds": 0.1, "link-rounds rounds": 0.1, "pipelined order": 0.02}, func(c *trial) error {
		p, s, ok := verifytest.Draw(c.Rand)
		if !ok {
			c.count("not drawn")
			return nil
		}
		if f := verifytest.Execute(p, s); !f.Right() {
			return fmt.Errorf("drawn as right, but %v\n%s", f.All().Sorted(), show(p, s))
		}
		if err := agree(c, p, s); err != nil {
			return err
		}
		for range 5 {
			q, m := p, s
			for range 1 + c.IntN(3) {
				q, m = verifytest.Mutate(c.Rand, q, m)
			}
			if err := agree(c, q, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// show writes a problem and its schedule as a file has them, unless that names contributions
// thousands of times.
func show(p *model.Problem, s *model.Schedule) string {
	terms := 0
	for _, list := range [][]model.Condition{p.Collective.Pre, p.Collective.Post} {
		for _, d := range list {
			for _, n := range d.Value.Terms() {
				terms += n
			}
		}
	}
	if terms > 1000 {
		start, goal := verifytest.Conditions(p)
		return fmt.Sprintf("%v\n%+v\nat first %v\nwanted %v\n%+v", p, p.Topology, start, goal, s)
	}
	var b bytes.Buffer
	if err := native.WriteSolution(&b, &model.Solution{Problem: p, Schedule: s}); err != nil {
		return fmt.Sprintf("%v\n%+v\n%+v\n%+v", err, p.Topology, p, s)
	}
	return b.String()
}

// agree returns an error if an engine does not decide about s as the reference does, with the
// smallest part of p and s for which that is so.
func agree(c *trial, p *model.Problem, s *model.Schedule) error {
	err := compare(c, p, s)
	if err == nil {
		return nil
	}
	none := &trial{c.Rand, c.seed, map[string]int{}}
	p, s = verifytest.Shrink(p, s, func(q *model.Problem, t *model.Schedule) bool { return compare(none, q, t) != nil })
	return fmt.Errorf("%w; made smaller: %w\n%s", err, compare(none, p, s), show(p, s))
}

// compare is agree for p and s as they are.
func compare(c *trial, p *model.Problem, s *model.Schedule) error {
	f := verifytest.Execute(p, s)
	c.count("schedules")
	if p.Collective.Kind == model.Custom {
		c.count("custom")
	}
	c.count(fmt.Sprintf("%v %v", p.Cost, s.Form))
	want := verify.Refuted
	if f.Right() {
		want = verify.Proved
	}
	c.count(want.String())
	if f.Sums > 0 {
		c.count("sums " + want.String())
	}
	v := replay.Check(context.Background(), p, s)
	if err := decided(f, want, v); err != nil {
		return err
	}
	ofData := verify.Refuted
	if f.DataRight() {
		ofData = verify.Proved
	}
	if v := smt.Check(context.Background(), p, s, z3.New(), smt.Options{Threads: 1}); v.Outcome != ofData {
		return fmt.Errorf("smt: %v %s %v, want %v: %v", v.Outcome, v.Reason, v.Violations, ofData, f.All().Sorted())
	}
	return streamed(c, p, s, f, want)
}

// decided compares a verdict that is to give a reason for each kind of violation.
func decided(f *verifytest.Findings, want verify.Outcome, v verify.Verdict) error {
	if v.Outcome != want {
		return fmt.Errorf("%s: %v %s %v, want %v: %v", v.Engine, v.Outcome, v.Reason, v.Violations, want, f.All().Sorted())
	}
	if want == verify.Proved && v.Makespan != f.Makespan {
		return fmt.Errorf("%s: makespan %v, want %v", v.Engine, v.Makespan, f.Makespan)
	}
	all := f.All()
	named := verifytest.Codes{}
	for _, x := range v.Violations {
		named[x.Code] = true
		if !all[x.Code] && !(f.Raced() && ofData(x.Code)) { // what a race leaves is not determined
			return fmt.Errorf("%s: %v, want only %v", v.Engine, x, all.Sorted())
		}
	}
	if len(v.Violations) >= verify.MaxViolations || f.Malformed || all[verify.NoSuchLink] {
		return nil
	}
	race := func(code verify.Code) bool { return code == verify.ReadWriteRace || code == verify.WriteWriteRace }
	if f.Raced() && !named[verify.ReadWriteRace] && !named[verify.WriteWriteRace] {
		return fmt.Errorf("%s: no race in %v", v.Engine, v.Violations)
	}
	for code := range all {
		switch {
		case named[code], race(code): // where there is a race others need not be found
		case f.Raced() && ofData(code):
		case code == verify.PortOverload && named[verify.LinkOverlap]: // what overlaps on a link may count once
		default:
			return fmt.Errorf("%s: no %s in %v", v.Engine, code, v.Violations)
		}
	}
	return nil
}

// ofData reports whether a violation is one of what slots hold.
func ofData(code verify.Code) bool {
	return slices.Contains([]verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined, verify.ReduceUndefined}, code)
}

// streamed has stream read a schedule in order of starts. It must decide about copies, and
// may leave reductions undecided.
func streamed(c *trial, p *model.Problem, s *model.Schedule, f *verifytest.Findings, want verify.Outcome) error {
	served := s.Form != model.Ordered && p.Collective.Kind != model.Custom
	for _, x := range p.Topology.Switches {
		served = served && !x.Copies && x.Reduces == model.NoReducing
	}
	reduces := p.Collective.Kind.Reduces()
	if reduces && p.Collective.Group != nil {
		served = false
	}
	x, err := stream.New(context.Background(), p, s.Form, s.Routes)
	if err != nil {
		if served && !f.Malformed {
			return fmt.Errorf("stream: %w", err)
		}
		return nil
	}
	list := slices.Clone(s.Transfers)
	slices.SortStableFunc(list, func(a, b model.Transfer) int { return int(a.Start - b.Start) })
	for len(list) > 0 {
		n := 1 + c.IntN(len(list))
		if !x.Add(list[:n]) {
			break
		}
		list = list[n:]
	}
	v := x.Verdict()
	if v.Outcome == verify.Unknown && (reduces || slices.ContainsFunc(s.Transfers, func(t model.Transfer) bool { return t.Op == model.Reduction })) {
		c.count("stream leaves open")
		return nil
	}
	c.count("streamed")
	if v.Outcome != want {
		return fmt.Errorf("stream: %v %s %v, want %v: %v", v.Outcome, v.Reason, v.Violations, want, f.All().Sorted())
	}
	if want == verify.Proved && v.Makespan != f.Makespan {
		return fmt.Errorf("stream: makespan %v, want %v", v.Makespan, f.Makespan)
	}
	return nil
}

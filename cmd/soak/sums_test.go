package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/forest"
	"github.com/oraccl/oraccl/solve/innetwork"
	"github.com/oraccl/oraccl/solve/overtime"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakSums sets replay and smt against a naive execution on networks of switches that
// add: schedules of sums and multicasts, and six that come of each by random changes.
func TestSoakSums(t *testing.T) {
	soak(t, 200, map[string]float64{"sums proved": 0.4, "sums refuted": 0.5, "stale": 0.01, "overlap": 0.5, "overload": 0.02, "timed": 0.3, "rounds": 0.2}, func(c *trial) error {
		p, s, ok := verifytest.DrawSums(c.Rand)
		if !ok {
			c.count("not drawn")
			return nil
		}
		if f := verifytest.Execute(p, s); !f.Right() {
			return fmt.Errorf("drawn as right, but %v\n%s", f.All().Sorted(), show(p, s))
		}
		c.count(s.Form.String())
		if err := below(c, p, s); err != nil {
			return err
		}
		if err := agree(c, p, s); err != nil {
			return err
		}
		for range 6 {
			q, m := p, s
			for range 1 + c.IntN(2) {
				q, m = verifytest.Mutate(c.Rand, q, m)
			}
			f := verifytest.Execute(q, m)
			for code, name := range map[verify.Code]string{verify.StaleSum: "stale", verify.LinkOverlap: "overlap", verify.PortOverload: "overload"} {
				if f.Network[code] {
					c.count(name)
				}
			}
			if err := agree(c, q, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// below returns an error if a certificate claims that a right schedule is not possible: all
// that solve/bound finds, and random ones, for its cut and for any.
func below(c *trial, p *model.Problem, s *model.Schedule) error {
	makespan := verifytest.Execute(p, s).Makespan
	open := *p
	open.Chunks = nil
	for _, q := range []*model.Problem{p, &open} {
		all, _, err := bound.All(context.Background(), q)
		if err != nil {
			return fmt.Errorf("bound.All: %w\n%s", err, show(p, s))
		}
		for range 24 {
			w := drawWitness(c.Rand, q)
			all = append(all, &bound.Proposal{Problem: q, Witness: w})
			for range 8 {
				all = append(all, &bound.Proposal{Problem: q, Witness: changeWitness(c.Rand, q, w)})
			}
		}
		for _, made := range all {
			if made == nil {
				continue
			}
			yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: made.Problem, Witness: made.Witness})
			switch {
			case err != nil && made.Estimate > 0:
				return fmt.Errorf("solve/bound: %s of %v: %w\n%s", made.Witness.Kind(), made.Estimate, err, show(p, s))
			case err != nil:
				continue
			case yield < made.Estimate:
				return fmt.Errorf("solve/bound: %s of %v, which yields %v\n%s", made.Witness.Kind(), made.Estimate, yield, show(p, s))
			case yield > makespan:
				return fmt.Errorf("%#v yields %v, above %v\n%s", made.Witness, yield, makespan, show(p, s))
			case yield == makespan:
				c.count("met by " + made.Witness.Kind())
			}
			c.count("bounds")
		}
	}
	return nil
}

// TestSoakInNetwork: what the in-network method finds on random machines is right, by a naive
// execution, replay and smt, and above every bound.
func TestSoakInNetwork(t *testing.T) {
	soak(t, 120, map[string]float64{"priced": 0.05, "served": 0.4, "sums": 0.1, "allreduce": 0.1, "reduce": 0.05, "reducescatter": 0.05, "broadcast": 0.05, "allgather": 0.05}, func(c *trial) error {
		p := &model.Problem{Topology: verifytest.DrawMachines(c.Rand), Size: 1 + c.Int64N(60), Cost: []model.CostModel{model.Blocking, model.Pipelined}[c.IntN(2)]}
		kinds := []model.Kind{model.AllReduce, model.AllReduce, model.Reduce, model.ReduceScatter, model.Broadcast, model.AllGather}
		p.Collective = model.Collective{Kind: kinds[c.IntN(len(kinds))], Op: model.Operator(c.IntN(4))}
		if c.IntN(3) == 0 {
			p.Collective.Group = c.Perm(p.Topology.Ranks)[:1+c.IntN(p.Topology.Ranks)]
		}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = p.Members()[c.IntN(len(p.Members()))]
		}
		p.Size = max(p.Size, int64(len(p.Members())))
		if c.IntN(4) == 0 {
			p.Size *= 20 // so that some chunks are apart
		}
		if err := p.Validate(); err != nil {
			return err
		}
		o := solve.Options{}
		if c.IntN(2) == 0 {
			o.Chunks = 1 + c.IntN(4)
		}
		return found(c, innetwork.All()[0], p, o)
	})
}

// found checks what a method finds for p, and counts it.
func found(c *trial, m solve.Solver, p *model.Problem, o solve.Options) error {
	got, err := m.Solve(context.Background(), p, o)
	if errors.Is(err, solve.ErrNotServed) {
		c.count("not served")
		return nil
	}
	if err != nil {
		return err
	}
	if got.Schedule == nil {
		c.count("none")
		return nil
	}
	c.count("served")
	c.count(p.Collective.Kind.String())
	f := verifytest.Execute(got.Problem, got.Schedule)
	if !f.Right() {
		return fmt.Errorf("%v\n%s", f.All().Sorted(), show(got.Problem, got.Schedule))
	}
	if f.Sums > 0 {
		c.count("sums")
	}
	if p.Collective.Group != nil {
		c.count("grouped")
	}
	if err := agree(c, got.Problem, got.Schedule); err != nil {
		return err
	}
	if err := priced(c, got.Problem, got.Schedule); err != nil {
		return err
	}
	return below(c, got.Problem, got.Schedule)
}

// priced returns an error if prices that change with time, where transfers share links, claim that a right schedule is not possible.
func priced(c *trial, p *model.Problem, s *model.Schedule) error {
	makespan := verifytest.Execute(p, s).Makespan
	for _, known := range []model.Time{makespan / 3, makespan * 2 / 3} {
		w, _, _, err := overtime.FindShared(context.Background(), p, known, 1, false)
		if err != nil && !errors.Is(err, solve.ErrNotServed) {
			return fmt.Errorf("overtime.FindShared: %w\n%s", err, show(p, s))
		}
		if w == nil {
			continue
		}
		c.count("priced")
		switch yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: *w}); {
		case err != nil: // hops that look alike may differ
			c.count("prices refused")
		case yield > makespan:
			return fmt.Errorf("%#v yields %v, above %v\n%s", w, yield, makespan, show(p, s))
		case yield == makespan:
			c.count("met by prices")
		}
	}
	return nil
}

// TestSoakJoint: trees through switches that add, on random machines, some of whose links have
// failed or are slower than others, are right and above every bound, as in-network's schedules are.
func TestSoakJoint(t *testing.T) {
	soak(t, 40, map[string]float64{"served": 0.4, "sums": 0.15, "grouped": 0.1, "uneven": 0.2}, func(c *trial) error {
		p := &model.Problem{Topology: verifytest.DrawMachines(c.Rand), Size: 1 + c.Int64N(60), Cost: []model.CostModel{model.Blocking, model.Pipelined}[c.IntN(2)]}
		p.Collective = model.Collective{Kind: model.AllReduce, Op: model.Operator(c.IntN(4))}
		if c.IntN(3) == 0 {
			p.Collective.Group = c.Perm(p.Topology.Ranks)[:1+c.IntN(p.Topology.Ranks)]
		}
		if t := p.Topology; c.IntN(2) == 0 {
			for i := range t.Links {
				if t.Reduces(t.Links[i].Src) != model.SumsRead && t.Reduces(t.Links[i].Dst) != model.SumsRead {
					t.Links[i].Bandwidth *= 1 + c.Int64N(3)
					t.Links[i].Alpha += model.Time(c.IntN(3))
				}
			}
			c.count("uneven")
		}
		if err := p.Validate(); err != nil {
			return err
		}
		o := solve.Options{}
		if c.IntN(2) == 0 {
			o.Chunks = 1 + c.IntN(4)
		}
		return found(c, forest.New(), p, o)
	})
}

// TestReadsFirst: what other machines send to a rank comes when that has read the sum of its own
// machine, of which its slot is a part.
func TestReadsFirst(t *testing.T) {
	tp := &model.Topology{Ranks: 9}
	for range 3 {
		tp.Switches = append(tp.Switches, model.Switch{Copies: true, Reduces: model.SumsRead})
	}
	tp.Switches = append(tp.Switches, make([]model.Switch, 3)...)
	duplex := func(r, v int, down model.Time, bandwidth int64) {
		tp.Links = append(tp.Links, model.Link{Src: r, Dst: v, Alpha: 2, Bandwidth: bandwidth}, model.Link{Src: v, Dst: r, Alpha: down, Bandwidth: bandwidth})
	}
	for r := range 9 {
		duplex(r, 9+r/3, 0, 1e12)
		duplex(r, 12+r%3, 2, 25e10)
	}
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined} {
		for chunks := 1; chunks <= 24; chunks++ {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(chunks), Cost: cost}
			r, err := innetwork.All()[0].Solve(context.Background(), p, solve.Options{Chunks: chunks})
			if err != nil {
				t.Fatal(err)
			}
			if v := replay.Check(context.Background(), r.Problem, r.Schedule); v.Outcome != verify.Proved {
				t.Errorf("%v, %d chunks: %v", cost, chunks, v.Violations)
			}
		}
	}
}

// TestInNetworkIsRight: mixtures among the ranks of one machine, and chunks that cross before sums are read, or after they are written, are right.
func TestInNetworkIsRight(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name string
		size int64
		note string
	}{
		{"dgxh100-nvls", 1 << 20, "adds up others before"},
		{"switch:3:read", 1 << 20, "adds up others before"},
		{"switch:5:read", 100_003, "adds up others before"},
		{"dgxh100-nvls:2", 8 << 20, "some before sums are read and after they are written"},
		{"dgxh100-nvls:4", 8 << 20, "some before sums are read and after they are written"},
		{"dgxh100-nvls:3", 32 << 20, "sums and copies in turns"},
		{"dgxh100-nvls:3:rails+spine", 1_000_003, "sums and copies in turns"},
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: c.size, Cost: model.Pipelined}
		r, err := innetwork.All()[0].Solve(context.Background(), p, solve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Note, c.note) {
			t.Errorf("%s, %d bytes: %s, want %s", c.name, c.size, r.Note, c.note)
		}
		if v := replay.Check(context.Background(), r.Problem, r.Schedule); v.Outcome != verify.Proved {
			t.Errorf("%s, %d bytes: %v", c.name, c.size, v.Violations)
		}
	}
}

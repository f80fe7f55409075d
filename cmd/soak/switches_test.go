package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakSwitches: what methods find on random machines whose switches add and copy is right, by
// a naive execution, replay and smt, and above every bound.
func TestSoakSwitches(t *testing.T) {
	soak(t, 30, map[string]float64{"served": 0.3, "joined": 0.05}, func(c *trial) error {
		p := &model.Problem{Topology: verifytest.DrawMachines(c.Rand), Size: 1 + c.Int64N(20), Cost: model.CostModel(1 + c.IntN(4))}
		if p.Topology.Ranks > 6 {
			c.count("large")
			return nil
		}
		kinds := []model.Kind{model.AllReduce, model.Reduce, model.ReduceScatter, model.Broadcast, model.AllGather, model.Scatter, model.AllToAll}
		p.Collective = model.Collective{Kind: kinds[c.IntN(len(kinds))], Op: model.Operator(c.IntN(4))}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = c.IntN(p.Topology.Ranks)
		}
		p.Size = max(p.Size, int64(len(p.Members())))
		if err := p.Validate(); err != nil {
			return err
		}
		methods, err := certify.MethodsNamed([]string{"exact", "rolling", "tacos", "forest"}[c.IntN(4)])
		if err != nil {
			return err
		}
		got, err := methods[0].Solve(context.Background(), p, solve.Options{Chunks: 1 + c.IntN(2), TimeLimit: time.Second, Tries: 2})
		if errors.Is(err, solve.ErrNotServed) || err == nil && got.Schedule == nil {
			c.count("not served")
			return nil
		}
		if err != nil {
			return err
		}
		c.count("served")
		c.count(methods[0].Name())
		if _, joined := got.Problem.Joined(got.Schedule); joined {
			c.count("joined")
		}
		if f := verifytest.Execute(got.Problem, got.Schedule); !f.Right() {
			return fmt.Errorf("%s: %v\n%s", methods[0].Name(), f.All().Sorted(), show(got.Problem, got.Schedule))
		}
		if err := agree(c, got.Problem, got.Schedule); err != nil {
			return err
		}
		return below(c, got.Problem, got.Schedule)
	})
}

// TestSoakExactSwitch: on a switch that adds or copies, or both, exact needs as many rounds as a
// search that tries every set of multicasts and sums in each.
func TestSoakExactSwitch(t *testing.T) {
	soak(t, 30, map[string]float64{"copies": 0.3, "sums": 0.1}, func(c *trial) error {
		w := model.Switch{Copies: c.IntN(4) > 0, Reduces: []model.Reducing{model.NoReducing, model.SumsRead, model.SumsTurned}[c.IntN(3)]}
		if w.Reduces != model.NoReducing && c.IntN(3) == 0 {
			w.Sums = 1
		}
		tp := &model.Topology{Name: "star", Ranks: 3, Switches: []model.Switch{w}}
		for r := range 3 {
			tp.Links = append(tp.Links, model.Link{Src: r, Dst: 3, Bandwidth: 1e12}, model.Link{Src: 3, Dst: r, Bandwidth: 1e12})
		}
		kinds := []model.Kind{model.Reduce, model.Broadcast, model.AllGather, model.Scatter}
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kinds[c.IntN(len(kinds))]}, Cost: []model.CostModel{model.Rounds, model.LinkRounds}[c.IntN(2)]}
		chunks := 1 + c.IntN(2)
		if !p.Collective.Kind.Rooted() || p.Collective.Kind == model.Scatter {
			chunks = 3
		}
		p.Size = int64(chunks)
		p = p.WithChunks(chunks)
		methods, err := certify.MethodsNamed("exact")
		if err != nil {
			return err
		}
		got, err := methods[0].Solve(context.Background(), p, solve.Options{Effort: -1})
		if err != nil {
			return err
		}
		if f := verifytest.Execute(p, got.Schedule); !f.Right() {
			return fmt.Errorf("%v\n%s", f.All().Sorted(), show(p, got.Schedule))
		}
		if p.Collective.Kind.Reduces() && w.Reduces != model.NoReducing {
			c.count("sums")
		}
		if !p.Collective.Kind.Reduces() && w.Copies {
			c.count("copies")
		}
		if want := starRounds(p); got.Schedule.Rounds() != want {
			return fmt.Errorf("%d rounds, want %d\n%s", got.Schedule.Rounds(), want, show(p, got.Schedule))
		}
		return nil
	})
}

// starMove is a multicast or a sum at the switch of a star, or one transfer over it.
type starMove struct {
	chunk    int
	from, to uint8 // ranks
	reduces  bool
	counts   bool  // as a sum
	up, down uint8 // ranks whose links it takes
}

// starRounds returns the least number of rounds of p on a star, by trying everything.
func starRounds(p *model.Problem) int {
	w := p.Topology.Switches[0]
	n, chunks := p.Topology.Ranks, len(p.Chunks)
	reads := w.Reduces == model.SumsRead
	var moves []starMove
	for k := range chunks {
		for from := uint8(1); from < 1<<n; from++ {
			for to := uint8(1); to < 1<<n; to++ {
				sources, dests := ones(from), ones(to)
				if from&to != 0 || sources > 1 && dests > 1 || dests > 1 && !w.Copies || sources > 1 && w.Reduces == model.NoReducing {
					continue
				}
				m := starMove{chunk: k, from: from, to: to, up: from, down: to, counts: sources > 1}
				if reads && sources > 1 {
					m.up |= to
				}
				if reads && dests > 1 {
					m.down |= from
				}
				if sources == 1 {
					moves = append(moves, m)
				}
				if m.reduces = true; p.Collective.Kind.Reduces() {
					moves = append(moves, m)
				}
			}
		}
	}
	type state string
	slot := func(r, k int) int { return r*chunks + k }
	first := make([]byte, n*chunks)
	for k := range chunks {
		for r, v := range p.Start(k) {
			for j := range v.Terms() {
				first[slot(r, k)] |= 1 << j
			}
		}
	}
	done := func(s state) bool {
		for k := range chunks {
			for r, v := range p.Goal(k) {
				want := byte(0)
				for j := range v.Terms() {
					want |= 1 << j
				}
				if s[slot(r, k)] != want {
					return false
				}
			}
		}
		return true
	}
	seen := map[state]bool{state(first): true}
	now := []state{state(first)}
	for rounds := 0; ; rounds++ {
		var next []state
		for _, s := range now {
			if done(s) {
				return rounds
			}
			var choose func(i int, up, down uint8, sums int, picked []starMove)
			choose = func(i int, up, down uint8, sums int, picked []starMove) {
				if i == len(moves) {
					if after, ok := starAfter(string(s), picked, slot); ok && !seen[state(after)] {
						seen[state(after)] = true
						next = append(next, state(after))
					}
					return
				}
				choose(i+1, up, down, sums, picked)
				m := moves[i]
				if up&m.up != 0 || down&m.down != 0 || m.counts && w.Sums > 0 && sums == w.Sums {
					return
				}
				for r := range n {
					held := s[slot(r, m.chunk)]
					if m.from>>r&1 == 1 && held == 0 || m.to>>r&1 == 1 && held != 0 && !m.reduces && !p.Collective.Kind.Reduces() {
						return
					}
				}
				if m.counts {
					sums++
				}
				choose(i+1, up|m.up, down|m.down, sums, append(picked[:len(picked):len(picked)], m))
			}
			choose(0, 0, 0, 0, nil)
		}
		now = next
		if len(now) == 0 {
			return -1
		}
	}
}

func ones(s uint8) (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

// starAfter returns the state after a round, or ok false if a contribution would come twice, or
// something is added to what is not there.
func starAfter(s string, picked []starMove, slot func(r, k int) int) (string, bool) {
	after := []byte(s)
	for _, m := range picked {
		for r := range 3 {
			if m.to>>r&1 == 0 {
				continue
			}
			at := slot(r, m.chunk)
			if !m.reduces {
				after[at] = s[slot(trailing(m.from), m.chunk)]
				continue
			}
			for f := range 3 {
				if m.from>>f&1 == 0 {
					continue
				}
				v := s[slot(f, m.chunk)]
				if after[at] == 0 || after[at]&v != 0 {
					return "", false
				}
				after[at] |= v
			}
		}
	}
	return string(after), true
}

func trailing(s uint8) int {
	r := 0
	for s>>r&1 == 0 {
		r++
	}
	return r
}

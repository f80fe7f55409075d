package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakFormulas sets the formulas of section 10 of the specification against schedules of
// tiny problems, the best ones where a search finds them. The formula whose claim such a
// schedule contradicts must be satisfiable. Of the others many must not be; some of these are
// refuted by CaDiCaL, where that is installed, and the proof must be accepted for the
// claim, and not for larger ones that are false.
func TestSoakFormulas(t *testing.T) {
	often := map[string]float64{"must be satisfiable": 0.8, "refutable": 0.3, "with steps": 0.05,
		"blocking": 0.05, "pipelined": 0.05, "rounds": 0.05, "link-rounds": 0.05, "allreduce": 0.01}
	if _, err := cadical.Find(); err == nil {
		often["proof accepted"] = 0.02
	}
	soak(t, 250, often, func(c *trial) error {
		p, _ := drawTiny(c.Rand)
		for i := range p.Topology.Switches {
			p.Topology.Switches[i].Copies = false
		}
		if p.Cost.Synchronous() || p.Collective.Kind.Reduces() {
			p.Release = nil
		}
		if p.Cost.Synchronous() && c.IntN(4) == 0 {
			p.Collective = model.Collective{Kind: model.AllReduce, Op: p.Collective.Op}
			p = p.WithChunks(1 + c.IntN(min(2, int(p.Size))))
		}
		if _, err := section10(p, model.Refutation{Epoch: b2t(!p.Cost.Synchronous()), Horizon: 1}); err != nil {
			c.count("not served")
			return nil
		}
		if p.Cost.Synchronous() {
			return roundFormulas(c, p)
		}
		at, err := optimum(c.Rand, p, nil, c.budget())
		if err != nil || at.least == 0 {
			return err
		}
		best, least := at.best, at.least
		for _, epoch := range []model.Time{1, 2, model.Time(1 + c.IntN(4))} {
			h := int(least / epoch) // (h+1)·epoch > least
			for _, w := range []model.Refutation{{Horizon: h}, {Horizon: h + 1 + c.IntN(2)}, {Horizon: h - 1}, {Horizon: h - 1 - c.IntN(3)}} {
				w.Epoch = epoch
				if err := ask(c, p, w, model.Time(w.Horizon+1)*epoch > least, best); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// b2t returns 1 for true.
func b2t(b bool) model.Time {
	if b {
		return 1
	}
	return 0
}

// roundFormulas is the part of TestSoakFormulas about rounds and steps.
func roundFormulas(c *trial, p *model.Problem) error {
	var known []*model.Schedule
	for range 4 {
		if s, ok := verifytest.Attempt(c.Rand, p); ok {
			known = append(known, s)
		}
	}
	steps := []int{0, 0, 1, 2, 3}[c.IntN(5)]
	for _, n := range []int{0, steps} {
		if s, tiny := newSearch(p, c.budget()); tiny {
			if best, decided := s.fewest(n, 6); decided && best != nil {
				known = append(known, best)
			}
		}
	}
	for _, s := range known {
		if f := verifytest.Execute(p, s); !f.Right() {
			return fmt.Errorf("drawn or searched for, but wrong: %v\n%s", f.All().Sorted(), show(p, s))
		}
	}
	if len(known) == 0 {
		return nil
	}
	least := slices.MinFunc(known, func(a, b *model.Schedule) int { return roundsOf(a) - roundsOf(b) })
	for _, s := range known {
		for _, w := range []model.Refutation{
			{Horizon: roundsOf(s)}, {Horizon: roundsOf(s), Steps: stepsOf(s)}, {Horizon: roundsOf(s) + c.IntN(2), Steps: stepsOf(s) + c.IntN(2)},
		} {
			if err := ask(c, p, w, true, s); err != nil {
				return err
			}
		}
	}
	for range 3 {
		w := model.Refutation{Horizon: roundsOf(least) - 1 - c.IntN(2), Steps: steps * c.IntN(2)}
		if err := ask(c, p, w, false, least); err != nil {
			return err
		}
	}
	w := model.Refutation{Horizon: roundsOf(least), Steps: stepsOf(least) - 1}
	if w.Steps == 0 {
		return nil
	}
	return ask(c, p, w, false, least)
}

// roundsOf returns how many rounds there are in which something is moved.
func roundsOf(s *model.Schedule) int {
	rounds := map[model.Time]bool{}
	for _, t := range s.Transfers {
		rounds[t.Start] = true
	}
	return len(rounds)
}

// stepsOf returns into how few steps the rounds fall: each goes on for as long as nothing is
// read that is written in it.
func stepsOf(s *model.Schedule) int {
	rounds := map[model.Time][]model.Transfer{}
	for _, t := range s.Transfers {
		rounds[t.Start] = append(rounds[t.Start], t)
	}
	steps, written := min(1, len(rounds)), map[[2]int32]bool{}
	for _, at := range slices.Sorted(maps.Keys(rounds)) {
		if slices.ContainsFunc(rounds[at], func(t model.Transfer) bool { return written[[2]int32{t.Src, t.Chunk}] }) {
			steps++
			clear(written)
		}
		for _, t := range rounds[at] {
			written[[2]int32{t.Dst, t.Chunk}] = true
		}
	}
	return steps
}

// ask decides about one formula, which must be satisfiable if the schedule s contradicts its
// claim. Whatever the claim, no proof of it may be accepted that yields more than s takes.
func ask(c *trial, p *model.Problem, w model.Refutation, contradicted bool, s *model.Schedule) error {
	if w.Horizon < 1 {
		return nil
	}
	f, err := section10(p, w)
	if err != nil {
		return nil // allreduce has no steps
	}
	c.count("formulas")
	c.count(p.Cost.String())
	if w.Steps > 0 {
		c.count("with steps")
	}
	if p.Collective.Kind == model.AllReduce {
		c.count("allreduce")
	}
	sat, decided, err := f.satisfiable(2000)
	if err != nil {
		return err
	}
	if !decided {
		c.count("undecided")
		return nil
	}
	at := func() string {
		return fmt.Sprintf("epochs of %d ps, horizon %d, %d steps\n%s", int64(w.Epoch), w.Horizon, w.Steps, show(p, s))
	}
	switch {
	case contradicted && !sat:
		return fmt.Errorf("the formula cannot be satisfied, but there is this schedule: %s", at())
	case contradicted:
		c.count("must be satisfiable")
	case sat:
		c.count("can be satisfied")
	default:
		c.count("refutable")
		if c.IntN(12) == 0 {
			if err := refute(c, p, w, f, s); err != nil {
				return fmt.Errorf("%w: %s", err, at())
			}
		}
	}
	return nil
}

// refute has a refutation made and checked, for its claim and for others.
func refute(c *trial, p *model.Problem, w model.Refutation, f *formula, s *model.Schedule) error {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "proof.lrat")
	r, err := cadical.Solve(context.Background(), f, cadical.Options{Proof: file})
	if errors.Is(err, cadical.ErrMissing) {
		return nil
	} else if err != nil {
		return err
	}
	if r.Answer != cadical.Unsatisfiable {
		return fmt.Errorf("CaDiCaL answers %v to a formula that cannot be satisfied", r.Answer)
	}
	proof, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	makespan := verifytest.Execute(p, s).Makespan
	check := func(p *model.Problem, w model.Refutation, proof []byte) (verify.Verdict, model.Time, error) {
		sum := sha256.Sum256(proof)
		w.Proof, w.SHA256 = "proof.lrat", hex.EncodeToString(sum[:])
		made := &model.Certificate{Problem: p, Witness: w}
		y, err := cert.Yield(context.Background(), made)
		if err != nil {
			return verify.Verdict{}, 0, err
		}
		made.Bound = y
		return cert.CheckIn(context.Background(), made, fstest.MapFS{"proof.lrat": {Data: proof}}), y, nil
	}
	v, y, err := check(p, w, proof)
	if err != nil {
		return err
	}
	if v.Outcome != verify.Proved {
		return fmt.Errorf("cert does not accept CaDiCaL's proof: %v %s %v", v.Outcome, v.Reason, v.Violations)
	}
	if y > makespan {
		return fmt.Errorf("cert accepts a bound of %d ps, but the schedule ends at %d ps", int64(y), int64(makespan))
	}
	c.count("proof accepted")
	for range 6 { // the same proof, or what is left of it, for another claim
		x, text := w, proof
		switch c.IntN(5) {
		case 0:
			x.Horizon += 1 + c.IntN(3)
		case 1:
			x.Epoch += b2t(x.Epoch > 0)
		case 2:
			x.Steps = max(0, x.Steps+c.IntN(3)-1)
		case 3: // a line less
			lines := strings.SplitAfter(string(proof), "\n")
			i := c.IntN(len(lines))
			text = []byte(strings.Join(slices.Delete(lines, i, i+1), ""))
			x.Horizon += c.IntN(2)
		default: // another number
			text = bytes.Clone(proof)
			if len(text) > 0 {
				i := c.IntN(len(text))
				if text[i] >= '0' && text[i] <= '9' {
					text[i] = byte('0' + c.IntN(10))
				}
			}
			x.Horizon += c.IntN(2)
		}
		v, y, err := check(p, x, text)
		if err != nil || v.Outcome != verify.Proved {
			c.count("other proof refused")
			continue
		}
		c.count("other proof accepted")
		rounds := p.Cost.Synchronous() && x.Horizon >= roundsOf(s) && (x.Steps == 0 || x.Steps >= stepsOf(s))
		if y > makespan || rounds {
			return fmt.Errorf("cert accepts a changed proof, of epochs of %d ps, horizon %d, %d steps, and a bound of %d ps", int64(x.Epoch), x.Horizon, x.Steps, int64(y))
		}
	}
	return nil
}

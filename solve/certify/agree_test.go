package certify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// agreements is how many random schedules both engines must agree on, fewer with -short.
func agreements() int {
	if testing.Short() {
		return 400
	}
	return 4000
}

// TestEnginesAgree sets the two verifiers, which share no code, against each
// other on random schedules: right ones, and right ones with up to three random
// changes. What concerns the data must be refuted by both or by neither.
func TestEnginesAgree(t *testing.T) {
	bases, err := bases()
	require.NoError(t, err)
	var proved, refuted, infeasible atomic.Int64
	backend := z3.New()
	g := new(errgroup.Group)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range agreements() {
		g.Go(func() error {
			rng := rand.New(rand.NewPCG(uint64(i), 20260101))
			base := bases[rng.IntN(len(bases))]
			p, s := base.Problem, clone(base.Schedule)
			for range rng.IntN(4) {
				mutate(rng, p, s)
			}
			r := replay.Check(context.Background(), p, s)
			z := smt.Check(context.Background(), p, s, backend, smt.Options{Threads: 1})
			if err := agree(r, z); err != nil {
				return fmt.Errorf("schedule %d of %v: %w\nreplay: %+v\nsmt: %+v", i, p, err, r, z)
			}
			switch {
			case r.Outcome == verify.Proved:
				proved.Add(1)
			case z.Outcome == verify.Refuted:
				refuted.Add(1)
			default:
				infeasible.Add(1)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("both proved %d, both refuted %d, only infeasible %d", proved.Load(), refuted.Load(), infeasible.Load())
	require.Greater(t, proved.Load(), int64(agreements()/10), "too few right schedules to mean anything")
	require.Greater(t, refuted.Load(), int64(agreements()/4), "too few wrong schedules to mean anything")
}

// agree states what is wrong with a pair of verdicts. The smt engine decides what
// concerns the data; the replay decides that and feasibility.
func agree(r, z verify.Verdict) error {
	if r.Outcome == verify.Unknown || z.Outcome == verify.Unknown {
		return fmt.Errorf("an engine does not decide: replay %q, smt %q", r.Reason, z.Reason)
	}
	data := slices.ContainsFunc(r.Violations, func(v verify.Violation) bool { return concernsData(v.Code) })
	full := len(r.Violations) == verify.MaxViolations
	switch {
	case data && z.Outcome != verify.Refuted:
		return fmt.Errorf("replay finds wrong data, smt does not")
	case !data && !full && z.Outcome == verify.Refuted:
		return fmt.Errorf("smt finds wrong data, replay does not")
	}
	return nil
}

// concernsData reports whether a violation is about what the slots hold, and when.
func concernsData(c verify.Code) bool {
	return slices.Contains([]verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined, verify.ReduceUndefined,
		verify.ReadWriteRace, verify.WriteWriteRace, verify.Malformed}, c)
}

// bases returns right schedules of many kinds, small ones. They are made once for all tests.
var bases = sync.OnceValues(func() ([]solve.Result, error) {
	var all []solve.Result
	for _, name := range []string{"ring:3", "full:4", "switch:4", "hypercube:2", "mesh:2x3", "ring:5"} {
		tp, err := topo.Parse(name, topo.Options{})
		if err != nil {
			return nil, err
		}
		for _, kind := range model.Kinds() {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 16, Cost: cost}
				for _, m := range Methods() {
					slow := strings.HasPrefix(m.Name(), "sat") && (tp.Ranks > 4 || cost == model.Rounds) // without a bound to start from
					slow = slow || slices.Contains([]string{"exact", "exact-reward", "rolling"}, m.Name())
					if slow || m.Serves(p) != nil {
						continue
					}
					r, err := m.Solve(context.Background(), p, solve.Options{Seed: 1, Chunks: 1})
					if errors.Is(err, solve.ErrNotServed) {
						continue // an exchange over one port in rounds, say
					}
					if err != nil || r.Schedule == nil {
						return nil, fmt.Errorf("%s: %v: no schedule: %w", m.Name(), p, err)
					}
					all = append(all, r)
				}
			}
		}
	}
	if len(all) <= 300 {
		return nil, fmt.Errorf("%d schedules, want more than 300", len(all))
	}
	return all, nil
})

func clone(s *model.Schedule) *model.Schedule {
	c := *s
	c.Transfers = slices.Clone(s.Transfers)
	c.Routes = slices.Clone(s.Routes)
	return &c
}

// mutate makes one random change to s that keeps it well-formed for p.
func mutate(rng *rand.Rand, p *model.Problem, s *model.Schedule) {
	if len(s.Transfers) == 0 {
		return
	}
	i := rng.IntN(len(s.Transfers))
	t := &s.Transfers[i]
	switch rng.IntN(7) {
	case 0: // removed
		s.Transfers = slices.Delete(s.Transfers, i, i+1)
	case 1: // doubled, at another time
		again := *t
		shift := s.Transfers[rng.IntN(len(s.Transfers))].Start - t.Start
		again.Start, again.End = again.Start+shift, again.End+shift
		s.Transfers = append(s.Transfers, again)
	case 2: // operation changed
		t.Op = model.Reduction - t.Op
	case 3: // chunk changed
		t.Chunk = int32(rng.IntN(len(p.Chunks)))
	case 4: // swapped in time with another
		u := &s.Transfers[rng.IntN(len(s.Transfers))]
		t.Start, u.Start = u.Start, t.Start
		t.End, u.End = u.End, t.End
	case 5: // retargeted: takes the ends and the route of another
		u := s.Transfers[rng.IntN(len(s.Transfers))]
		t.Src, t.Dst, t.Route = u.Src, u.Dst, u.Route
	case 6: // begun when another begins
		d := t.End - t.Start
		t.Start = s.Transfers[rng.IntN(len(s.Transfers))].Start
		t.End = t.Start + d
	}
}

// TestEnginesCombine: whatever order alone a schedule keeps, the engines do not contradict
// each other, so that one that is refuted for what the other does not decide is no defect.
func TestEnginesCombine(t *testing.T) {
	bases, err := bases()
	require.NoError(t, err)
	var outcomes [3]atomic.Int64
	backend := z3.New()
	g := new(errgroup.Group)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range agreements() / 16 {
		g.Go(func() error {
			rng := rand.New(rand.NewPCG(uint64(i), 20260102))
			base := bases[rng.IntN(len(bases))]
			p, s := base.Problem, clone(base.Schedule)
			for range rng.IntN(3) {
				mutate(rng, p, s)
			}
			if rng.IntN(4) > 0 {
				loosen(rng, s)
			}
			v, err := verify.Combine(replay.Check(context.Background(), p, s), smt.Check(context.Background(), p, s, backend, smt.Options{Threads: 1}))
			if err != nil {
				return fmt.Errorf("schedule %d of %v: %w\n%+v", i, p, err, s)
			}
			outcomes[v.Outcome].Add(1)
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("unknown %d, proved %d, refuted %d", outcomes[verify.Unknown].Load(), outcomes[verify.Proved].Load(), outcomes[verify.Refuted].Load())
	require.Greater(t, outcomes[verify.Proved].Load(), int64(agreements()/100), "too few right schedules to mean anything")
	require.Greater(t, outcomes[verify.Refuted].Load(), int64(agreements()/100), "too few wrong schedules to mean anything")
}

// loosen keeps of the times of s an order: transfers of one chunk keep theirs where one reads
// or writes what the other writes, and now and then one is lost.
func loosen(rng *rand.Rand, s *model.Schedule) {
	after := make([][]int32, len(s.Transfers))
	for i := range s.Transfers {
		for j := range s.Transfers {
			a, b := &s.Transfers[i], &s.Transfers[j]
			if a.Chunk == b.Chunk && b.End <= a.Start && (a.Dst == b.Dst || a.Src == b.Dst || a.Dst == b.Src) && rng.IntN(200) > 0 {
				after[i] = append(after[i], int32(j))
			}
		}
	}
	for i := range s.Transfers {
		s.Transfers[i].Start, s.Transfers[i].End = 0, 0
	}
	s.Form, s.After = model.Ordered, after
}

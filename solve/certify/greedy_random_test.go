package certify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// greedyNetworks returns on how many random networks the greedy method is tried, on fewer with -short.
func greedyNetworks() int {
	if testing.Short() {
		return 60
	}
	return 300
}

// TestGreedyOnRandomNetworks: on hundreds of random strongly connected networks, with links
// that differ and are not alike both ways, parallel ones, switches and ports, every
// collective and a custom one are proved by both engines under both cost models with times,
// and none ends before the certified bound, whose certificate is checked. In a part of them
// some ranks are late, or not all take part, or chunks are of unequal sizes.
func TestGreedyOnRandomNetworks(t *testing.T) {
	var proved, tight, late, switches, groups atomic.Int64
	g := new(errgroup.Group)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for seed := range uint64(greedyNetworks()) {
		g.Go(func() error {
			rng := rand.New(rand.NewPCG(seed, 41))
			network := solvetest.RandomNetwork(rng)
			if len(network.Switches) > 0 {
				switches.Add(1)
			}
			for _, p := range everyCollective(rng, network) {
				if p.Late() {
					late.Add(1)
				}
				if p.Collective.Group != nil {
					groups.Add(1)
				}
				equal, err := greedily(p, seed)
				if err != nil {
					return fmt.Errorf("network %d: %v on %+v: %w", seed, p, network, err)
				}
				proved.Add(1)
				if equal {
					tight.Add(1)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("%d proved on %d networks, %d of them with switches; %d with late ranks, %d among some of the ranks; %d at the bound",
		proved.Load(), greedyNetworks(), switches.Load(), late.Load(), groups.Load(), tight.Load())
	require.Equal(t, int64(greedyNetworks()*9*2), proved.Load())
	require.Greater(t, switches.Load(), int64(greedyNetworks()/5))
	require.Greater(t, late.Load(), int64(greedyNetworks()))
	require.Greater(t, groups.Load(), int64(greedyNetworks()))
	require.Greater(t, tight.Load(), int64(greedyNetworks()), "the bound says little")
}

// everyCollective returns a problem of each kind on a network.
func everyCollective(rng *rand.Rand, network *model.Topology) []*model.Problem {
	var group []int
	if network.Ranks > 2 && rng.IntN(4) == 0 {
		group = rng.Perm(network.Ranks)[:2+rng.IntN(network.Ranks-2)]
	}
	var release []model.Time
	if rng.IntN(4) == 0 {
		for range network.Ranks {
			release = append(release, model.Time(rng.IntN(3)*rng.IntN(8))*model.Microsecond)
		}
	}
	var all []*model.Problem
	for _, kind := range append(model.Kinds(), model.Custom) {
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined} {
			p := &model.Problem{
				Topology:   network,
				Collective: model.Collective{Kind: kind, Group: group, Op: model.Operator(rng.IntN(4))},
				Size:       20_000 + rng.Int64N(200_000),
				Cost:       cost,
				Release:    release,
			}
			if kind.Rooted() {
				p.Collective.Root = p.Members()[rng.IntN(len(p.Members()))]
			}
			if kind == model.Custom {
				p.Collective = somePattern(rng, network.Ranks)
			}
			all = append(all, p.WithChunks(p.DefaultChunks(1+rng.IntN(2))))
		}
	}
	return all
}

// somePattern returns a custom collective in which some ranks want what one or two hold.
func somePattern(rng *rand.Rand, ranks int) model.Collective {
	c := model.Collective{Kind: model.Custom, Chunks: 1 + rng.IntN(4)}
	for k := range c.Chunks {
		order := rng.Perm(ranks)
		holders := 1 + rng.IntN(2)
		for i, r := range order[:max(2, min(ranks, holders+rng.IntN(ranks)))] {
			d := model.Condition{Rank: r, Chunk: k, Value: model.Unit(order[0])}
			if i < holders {
				c.Pre = append(c.Pre, d)
			}
			if i > 0 {
				c.Post = append(c.Post, d)
			}
		}
	}
	model.SortConditions(c.Pre)
	model.SortConditions(c.Post)
	return c
}

// greedily has a problem solved by the greedy method, and returns what is wrong with that,
// if anything is; equal says that the bound is reached.
func greedily(p *model.Problem, seed uint64) (equal bool, err error) {
	ctx := context.Background()
	if err := p.Validate(); err != nil {
		return false, err
	}
	c, err := Bound(ctx, p)
	if err != nil {
		return false, err
	}
	o := solve.Options{Seed: seed, Threads: 1, Tries: 2, Effort: -1}
	if seed%8 == 1 {
		o.Effort = 1 // schedules are repaired, too, which takes longer
	}
	r, err := tacos.New().Solve(ctx, p, o)
	if err != nil {
		return false, err
	}
	by, err := Verify(ctx, r.Problem, r.Schedule, smt.Options{Threads: 1}, Engines)
	if err != nil {
		return false, err
	}
	for engine, v := range by.Verdicts {
		if v.Outcome != verify.Proved {
			return false, fmt.Errorf("%s: %+v", engine, v)
		}
	}
	switch {
	case c == nil:
		return r.Makespan() == 0, nil
	case r.Makespan() < c.Bound:
		return false, fmt.Errorf("ends at %v, before the %s bound of %v", r.Makespan(), c.Witness.Kind(), c.Bound)
	}
	return r.Makespan() == c.Bound, nil
}

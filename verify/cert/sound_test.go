package cert_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// A longer search for bounds that are too large: go test -run TestSound -problems 100000 -budget 300000
var (
	firstSeed = flag.Uint64("first", 0, "seed of the first random problem")
	problems  = flag.Int("problems", 600, "random problems to try")
	budget    = flag.Int("budget", 4000, "states to look at for each of them")
)

// yields returns what every witness of p yields, without those that prove nothing.
func yields(p *model.Problem) (list []model.Time, by []model.Witness) {
	for _, w := range witnesses(p) {
		if y, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w}); err == nil {
			list, by = append(list, y), append(by, w)
		}
	}
	return list, by
}

// TestSound sets every witness of random tiny problems, with the cut and with the
// cut left free, against the optimum: none may yield more. The optimal schedules are
// replayed, so that brute itself is not taken at its word.
func TestSound(t *testing.T) {
	decided, tight, slack := 0, 0, map[string]int{}
	for _, p := range special() {
		b := newBrute(p, 1_000_000)
		least, state, exhausted := b.optimum(40)
		require.False(t, exhausted, "%v", p)
		require.NotNil(t, state)
		list, by := yields(p)
		for i, y := range list {
			require.LessOrEqual(t, y, least, "%v yields %v by %#v, but there is a schedule that ends at %v", p, y, by[i], least)
		}
	}
	for seed := *firstSeed; seed < *firstSeed+uint64(*problems); seed++ {
		p := tiny(rand.New(rand.NewPCG(seed, 8)))
		b := newBrute(p, *budget)
		least, state, exhausted := b.optimum(40)
		if exhausted {
			continue
		}
		if state == nil {
			least = 41 // or more: there may be no schedule at all
		}
		decided++
		best := model.Time(0)
		free := *p
		free.Chunks = nil
		for _, q := range []*model.Problem{p, &free} {
			list, by := yields(q)
			for i, y := range list {
				if state == nil {
					continue
				}
				require.LessOrEqual(t, y, least, "seed %d: %v\n%+v\nyields %v by %#v, but there is a schedule that ends at %v: %+v",
					seed, p, p.Topology, y, by[i], least, b.schedule(state))
				best = max(best, y)
			}
		}
		if state == nil {
			continue
		}
		if least > 0 {
			v := replay.Check(context.Background(), p, b.schedule(state))
			require.Equal(t, verify.Proved, v.Outcome, "seed %d: %v", seed, v.Violations)
			require.Equal(t, least, v.Makespan, "seed %d", seed)
		}
		slack[fmt.Sprint(p.Cost, " +", least-best)]++
		if best == least {
			tight++
		}
	}
	t.Logf("%d of %d decided, %d of them met by a bound; %v", decided, *problems, tight, slack)
	require.Greater(t, decided, *problems/4)
	require.Greater(t, tight, decided/2)
}

// special returns tiny problems that chance does not make, or rarely, and in which
// some lemma would fail without one of its conditions.
func special() []*model.Problem {
	link := func(u, v int) model.Link { return model.Link{Src: u, Dst: v, Bandwidth: 1e12} }
	full := func(n int) *model.Topology {
		t := &model.Topology{Name: "full", Ranks: n}
		for u := range n {
			for v := range n {
				if u != v {
					t.Links = append(t.Links, link(u, v))
				}
			}
		}
		return t
	}
	star := func(n int) *model.Topology { // only rank 0 can send, to all at once
		t := &model.Topology{Name: "star", Ranks: n, Switches: []model.Switch{{Copies: true}}, Links: []model.Link{link(0, n)}}
		for v := 1; v < n; v++ {
			t.Links = append(t.Links, link(n, v))
		}
		return t
	}
	var all []*model.Problem
	add := func(t *model.Topology, c model.Collective, size int64, chunks int, cost model.CostModel, release ...model.Time) {
		p := &model.Problem{Topology: t, Collective: c, Size: size, Cost: cost, Release: release}
		all = append(all, p.WithChunks(chunks))
	}
	chain := &model.Topology{Name: "chain", Ranks: 4, Links: []model.Link{link(3, 2), link(2, 1), link(1, 0)}}
	add(chain, model.Collective{Kind: model.Reduce}, 1, 1, model.Rounds, 9, 0, 0, 0) // combined before the root arrives
	two := model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 1})
	three := model.Multiset(model.Term{Rank: 0, Count: 1}, model.Term{Rank: 1, Count: 1}, model.Term{Rank: 2, Count: 1})
	add(full(3), model.Collective{Kind: model.Custom, Chunks: 1, // two contributions are together at the start
		Pre:  []model.Condition{{Rank: 0, Chunk: 0, Value: two}, {Rank: 2, Chunk: 0, Value: model.Unit(2)}},
		Post: []model.Condition{{Rank: 2, Chunk: 0, Value: three}}}, 1, 1, model.Rounds)
	add(&model.Topology{Name: "one link", Ranks: 3, Links: []model.Link{link(0, 2)}}, model.Collective{Kind: model.Custom, Chunks: 1, // the same
		Pre:  []model.Condition{{Rank: 0, Chunk: 0, Value: two}, {Rank: 2, Chunk: 0, Value: model.Unit(2)}},
		Post: []model.Condition{{Rank: 2, Chunk: 0, Value: three}}}, 1, 1, model.Pipelined)
	add(full(3), model.Collective{Kind: model.Custom, Chunks: 1, // one contribution is at two ranks, one of them late
		Pre:  []model.Condition{{Rank: 0, Chunk: 0, Value: model.Unit(0)}, {Rank: 1, Chunk: 0, Value: model.Unit(0)}},
		Post: []model.Condition{{Rank: 2, Chunk: 0, Value: model.Unit(0)}}}, 1, 1, model.Rounds, 9, 0, 0)
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
		add(star(4), model.Collective{Kind: model.Broadcast}, 2, 2, cost)             // one send for three receives
		add(full(4), model.Collective{Kind: model.Broadcast}, 1, 1, cost, 0, 0, 9, 0) // spread before the last one arrives
		add(full(3), model.Collective{Kind: model.Custom, Chunks: 2,                  // the holder needs it itself
			Pre:  []model.Condition{{Rank: 0, Chunk: 0, Value: model.Unit(0)}, {Rank: 0, Chunk: 1, Value: model.Unit(0)}},
			Post: []model.Condition{{Rank: 0, Chunk: 0, Value: model.Unit(0)}, {Rank: 1, Chunk: 1, Value: model.Unit(0)}}}, 2, 2, cost)
	}
	return all
}

package tacos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

// randomTopology draws a strongly connected network: a ring through all nodes in a
// random order, more links, parallel ones among them, switches and ports.
func randomTopology(t *rapid.T) *model.Topology {
	tp := &model.Topology{Name: "random", Ranks: rapid.IntRange(1, 7).Draw(t, "ranks")}
	for range rapid.IntRange(0, 2).Draw(t, "switches") {
		tp.Switches = append(tp.Switches, model.Switch{})
	}
	link := func(u, v int) {
		tp.Links = append(tp.Links, model.Link{
			Src: u, Dst: v, Alpha: model.Time(rapid.SampledFrom([]int{0, 1, 500, 700, 40000}).Draw(t, "alpha")),
			Bandwidth: rapid.SampledFrom([]int64{1 << 30, 3 << 30, 50e9, 7}).Draw(t, "bandwidth") + 1e6,
		})
	}
	n := tp.Nodes()
	if n > 1 {
		order := rapid.Permutation(seq(n)).Draw(t, "ring")
		for i, u := range order {
			link(u, order[(i+1)%n])
		}
		for range rapid.IntRange(0, 3*n).Draw(t, "links") {
			u := rapid.IntRange(0, n-1).Draw(t, "from")
			link(u, (u+rapid.IntRange(1, n-1).Draw(t, "by"))%n)
		}
	}
	out, in := tp.Out(), tp.In()
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		v := rapid.IntRange(0, n-1).Draw(t, "port")
		lists := out
		if rapid.Bool().Draw(t, "receives") {
			lists = in
		}
		if len(lists[v]) > 1 {
			tp.Ports = append(tp.Ports, model.Port{Links: lists[v], Capacity: rapid.IntRange(1, len(lists[v])).Draw(t, "capacity")})
		}
	}
	return tp
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// randomProblem draws a collective among some ranks of a random network.
func randomProblem(t *rapid.T) *model.Problem {
	tp := randomTopology(t)
	p := &model.Problem{
		Topology: tp, Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}).Draw(t, "cost"),
		Collective: model.Collective{Kind: rapid.SampledFrom(model.Kinds()).Draw(t, "kind"), Op: model.Operator(rapid.IntRange(0, 3).Draw(t, "op"))},
		Size:       rapid.Int64Range(500, 100_000).Draw(t, "size"),
	}
	if rapid.Bool().Draw(t, "group") {
		p.Collective.Group = rapid.Permutation(seq(tp.Ranks)).Draw(t, "members")[:rapid.IntRange(1, tp.Ranks).Draw(t, "of")]
	}
	if p.Collective.Kind.Rooted() {
		p.Collective.Root = rapid.SampledFrom(p.Members()).Draw(t, "root")
	}
	if rapid.IntRange(0, 2).Draw(t, "late") == 0 {
		for range tp.Ranks {
			p.Release = append(p.Release, model.Time(rapid.SampledFrom([]int{0, 0, 1, 20_000_000, 30_000_000_000}).Draw(t, "release")))
		}
	}
	switch k := rapid.IntRange(0, 3).Draw(t, "chunks"); {
	case k > 0 && p.Collective.Kind == model.AllReduce:
		p = p.WithChunks(rapid.IntRange(1, 9).Draw(t, "cut"))
	case k > 0:
		p = p.WithChunks(p.DefaultChunks(k))
	}
	require.NoError(t, p.Validate())
	return p
}

// TestRandom: on any network every collective is right and feasible, and the same
// in a second run; and so it is when it is improved once more.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		o := solve.Options{Seed: rapid.Uint64().Draw(t, "seed"), Threads: 1}
		r, err := tacos.New().Solve(context.Background(), p, o)
		require.NoError(t, err)
		require.NotNil(t, r.Schedule)
		require.Equal(t, solve.Done, r.Stop)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		o.Threads = 3
		again, err := tacos.New().Solve(context.Background(), p, o)
		require.NoError(t, err)
		require.Equal(t, r.Schedule, again.Schedule)
		better := improve.Schedule(context.Background(), r.Problem, r.Schedule, improve.Options{Seed: o.Seed + 1})
		require.NoError(t, solvetest.Right(r.Problem, better))
		require.LessOrEqual(t, r.Problem.Makespan(better), r.Makespan())
	})
}

// TestCustom: values that are there at the start are moved to wherever they are
// wanted; nothing else is served.
func TestCustom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tp := randomTopology(t)
		chunks := rapid.IntRange(1, 6).Draw(t, "chunks")
		c := model.Collective{Kind: model.Custom, Chunks: chunks}
		for k := range chunks {
			value := model.Unit(rapid.IntRange(0, tp.Ranks-1).Draw(t, "of"))
			if tp.Ranks > 1 && rapid.Bool().Draw(t, "sum") {
				value = model.Once([]int{0, tp.Ranks - 1})
			}
			held := rapid.Permutation(seq(tp.Ranks)).Draw(t, "holders")[:rapid.IntRange(1, tp.Ranks).Draw(t, "held")]
			for i, r := range held {
				if i == 0 || rapid.Bool().Draw(t, "same") {
					c.Pre = append(c.Pre, model.Condition{Rank: r, Chunk: k, Value: value})
				} else {
					c.Pre = append(c.Pre, model.Condition{Rank: r, Chunk: k, Value: model.Multiset(model.Term{Rank: r, Count: 2})})
				}
			}
			for r := range tp.Ranks {
				if rapid.Bool().Draw(t, "wanted") {
					c.Post = append(c.Post, model.Condition{Rank: r, Chunk: k, Value: value})
				}
			}
		}
		model.SortConditions(c.Pre)
		model.SortConditions(c.Post)
		p := &model.Problem{Topology: tp, Collective: c, Size: 4096, Cost: model.Pipelined}
		if len(c.Post) == 0 {
			t.Skip("no custom collective wants nothing at all")
		}
		require.NoError(t, p.Validate())
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))

		last := &c.Post[len(c.Post)-1]
		last.Value = model.Multiset(model.Term{Rank: 0, Count: 3})
		require.ErrorIs(t, tacos.New().Serves(p), solve.ErrNotServed)
	})
}

package certify

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
)

// TestCutsAreChosen: a method that chooses no cut gets the one with which it is best, unless
// the caller or the problem gives one.
func TestCutsAreChosen(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		topology string
		kind     model.Kind
		gap      float64 // at most, in percent, with the cut chosen
		one      float64 // at least, with one chunk per rank
	}{
		{"dgx1", model.AllGather, 0.1, 70},
		{"dgx1", model.ReduceScatter, 0.1, 70},
		{"line:6", model.Broadcast, 2, 300},
	} {
		tp, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: 8 << 20, Cost: model.Pipelined}
		everyCut, err := Bound(context.Background(), p)
		require.NoError(t, err)
		run := func(o solve.Options, choose bool, p *model.Problem) *Row {
			o.Seed = 1
			e := &Evaluator{Options: o, Progress: Silent{}, ChooseCuts: choose}
			r, err := e.Run(context.Background(), mustName(t, "tacos")[0], p, nil)
			require.NoError(t, err)
			require.Equal(t, verify.Proved, r.Outcome())
			r.EveryCut = everyCut
			return r
		}
		chosen := run(solve.Options{}, true, p)
		require.LessOrEqual(t, 100*float64(chosen.Gap()), c.gap, "%s %v: %s", c.topology, c.kind, chosen.Note())
		require.Contains(t, chosen.Note(), "best cut of 1, 2")
		require.Equal(t, chosen.Result.Schedule, run(solve.Options{}, true, p).Result.Schedule, "equal seeds give equal schedules")

		for _, one := range []*Row{run(solve.Options{Chunks: 1}, true, p), run(solve.Options{}, false, p), run(solve.Options{}, true, p.WithChunks(p.DefaultChunks(1)))} {
			require.Len(t, one.Result.Problem.Chunks, p.DefaultChunks(1))
			require.GreaterOrEqual(t, 100*float64(one.Gap()), c.one, "%s %v", c.topology, c.kind)
		}
	}
}

// TestCutsFit: no cut has more chunks than there are bytes, and rounds are not counted with
// other cuts than asked for.
func TestCutsFit(t *testing.T) {
	tp, err := topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	for _, cost := range []model.CostModel{model.Pipelined, model.LinkRounds} {
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 17, Cost: cost}
		e := &Evaluator{Methods: mustName(t, "tacos"), Named: true, Options: solve.Options{Seed: 1}, Progress: Silent{}, ChooseCuts: true}
		ev, err := e.Evaluate(context.Background(), p)
		require.NoError(t, err)
		require.NotNil(t, ev.Best())
		require.LessOrEqual(t, len(ev.Best().Result.Problem.Chunks), 16)
		if cost == model.LinkRounds {
			require.Len(t, ev.Best().Result.Problem.Chunks, 8)
		}
	}
}

// hasty is a method whose time ends once the cut is chosen.
type hasty struct{ solve.Solver }

func (h hasty) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if o.Effort >= 0 { // which is less where cuts are tried
		return solve.Result{Problem: p, Stop: solve.TimeLimit}, nil
	}
	return h.Solver.Solve(ctx, p, o)
}

// TestCutsKeepWhatTheyFound: what was found when the cut was chosen is the answer of a method
// that has no time for more.
func TestCutsKeepWhatTheyFound(t *testing.T) {
	tp, err := topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 8 << 20, Cost: model.Pipelined}
	e := &Evaluator{Options: solve.Options{Seed: 1}, Progress: Silent{}, ChooseCuts: true}
	r, err := e.Run(context.Background(), hasty{mustName(t, "tacos")[0]}, p, nil)
	require.NoError(t, err)
	require.NotNil(t, r.Result.Schedule)
	require.Equal(t, verify.Proved, r.Outcome())
	require.Equal(t, solve.TimeLimit, r.Result.Stop)
	require.Contains(t, r.Note(), "best cut of 1, 2")
}

// TestCutsAreShort: a method whose cut has times beyond what numbers hold is left out, and the others stay.
func TestCutsAreShort(t *testing.T) {
	tp, err := topo.Ring(8, topo.Wire{Alpha: 1_000_000_000_000_000, Bandwidth: 1e9})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllToAll}, Size: 1 << 10, Cost: model.Pipelined}
	e := &Evaluator{Methods: mustName(t, "flows", "direct"), Progress: Silent{}}
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	require.Len(t, ev.Rows, 1)
	require.Len(t, ev.LeftOut, 1)
	require.Contains(t, ev.LeftOut[0].Reason, "beyond what times can express")
}

package certify

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
)

// atMost is what fits: schedules of as many transfers.
func atMost(transfers int, asked *int) *Fits {
	return &Fits{Name: "few", Check: func(_ context.Context, p *model.Problem, s *model.Schedule) (Loaded, error) {
		*asked++
		if len(s.Transfers) > transfers {
			return Loaded{}, errors.New("too many transfers")
		}
		return Loaded{Lasts: p.Makespan(s)}, nil
	}}
}

// TestFits: of a broadcast along a line, the more chunks the shorter; what fits has as many as
// there is room for, and is compared with the best of all.
func TestFits(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	tp, err := topo.Parse("line:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 1 << 30, Cost: model.Pipelined}
	evaluate := func(q *model.Problem, f *Fits, enough float64, methods ...string) *Report {
		e := &Evaluator{Methods: mustName(t, methods...), Named: true, Options: solve.Options{Seed: 1}, Progress: Silent{}, ChooseCuts: true, Enough: enough, Fits: f}
		ev, err := e.Evaluate(context.Background(), q)
		require.NoError(t, err)
		return ev
	}
	asked := 0
	for _, enough := range []float64{0, UsuallyEnough} {
		ev := evaluate(p, atMost(60, &asked), enough, "quotient", "tacos")
		ev.KeepFitting()
		best := ev.Best()
		require.NotNil(t, best)
		require.Equal(t, verify.Proved, best.Outcome())
		require.LessOrEqual(t, len(best.Result.Schedule.Transfers), 60)
		require.Len(t, best.Result.Problem.Chunks, 16, "3 transfers each, of the cuts that are tried the largest that fits")
		require.NotNil(t, ev.Free)
		require.Greater(t, len(ev.Free.Result.Schedule.Transfers), 60)
		require.NotNil(t, ev.Free.EveryCut)
		slower, ok := ev.Slower()
		require.True(t, ok)
		require.InDelta(t, float64(best.Makespan)/float64(ev.Free.Makespan)-1, slower, 1e-12)
		require.Greater(t, slower, 0.01)
		for _, r := range ev.Rows {
			require.True(t, r.Fit.OK())
		}
	}
	require.Positive(t, asked)

	ev := evaluate(p, atMost(1<<20, &asked), UsuallyEnough, "quotient")
	require.Nil(t, ev.Free)
	slower, ok := ev.Slower()
	require.True(t, ok)
	require.Zero(t, slower)

	ev = evaluate(p, atMost(1, &asked), UsuallyEnough, "quotient")
	ev.KeepFitting()
	require.Empty(t, ev.Rows)
	require.EqualError(t, ev.Free.Fit.Err, "too many transfers")
	_, ok = ev.Slower()
	require.False(t, ok)

	ev = evaluate(solve.Cut(p, 40), atMost(60, &asked), UsuallyEnough, "quotient")
	require.Nil(t, ev.BestFitting(), "the cut is given")

	ev = evaluate(p, nil, UsuallyEnough, "quotient")
	ev.KeepFitting()
	require.NotNil(t, ev.Best())
	_, ok = ev.Slower()
	require.False(t, ok)
}

// TestFitsSlowly: where it takes all the time to ask for one schedule, one is asked for in the end that is smaller.
func TestFitsSlowly(t *testing.T) {
	tp, err := topo.Parse("line:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 1 << 30, Cost: model.Pipelined}
	asked := 0
	slow := &Fits{Name: "slow", Check: func(ctx context.Context, p *model.Problem, s *model.Schedule) (Loaded, error) {
		if asked++; asked == 1 {
			<-ctx.Done()
			return Loaded{}, ctx.Err()
		}
		return Loaded{Lasts: p.Makespan(s)}, nil
	}}
	e := &Evaluator{Methods: mustName(t, "quotient", "tacos", "binomial"), Options: solve.Options{Seed: 1, TimeLimit: 2 * time.Second}, Progress: Silent{}, ChooseCuts: true, Enough: UsuallyEnough, Fits: slow}
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	require.NotNil(t, ev.BestFitting())
}

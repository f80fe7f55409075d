package certify

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// fine is a method whose schedule has a coarser one, which is later by a microsecond.
type fine struct{ *copied }

func (f fine) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	r, err := f.copied.Solve(ctx, p, o)
	late := *f.copied
	late.late += model.Microsecond
	coarser, failed := late.Solve(ctx, p, o)
	if r.Coarser = &coarser; failed != nil {
		err = failed
	}
	return r, err
}

// TestPortfolioKeepsTheCoarser: where replay does not end for what a method found, its coarser schedule is the answer. Without
// a time limit nothing but the best is replayed.
func TestPortfolioKeepsTheCoarser(t *testing.T) {
	const best = 10 * model.Microsecond // how late it is
	for _, c := range []struct {
		limit   time.Duration
		ends    bool // replay of the best
		late    model.Time
		replays int
	}{
		{time.Hour, false, best + model.Microsecond, 3}, // the best once more at the end
		{time.Hour, true, best, 2},
		{0, true, best, 1},
	} {
		var ran []string
		m := &copied{name: "fine", late: best}
		p := problemOf(t, &ran, m)
		e := &Evaluator{Options: solve.Options{Seed: 1, TimeLimit: c.limit}, Progress: Silent{}, Enough: UsuallyEnough, Methods: []solve.Solver{fine{m}}}
		replays, ask := 0, asked["replay"]
		restore := ReplaceEngine("replay", func(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options) verify.Verdict {
			replays++
			first := model.MaxTime
			for i := range s.Transfers {
				first = min(first, s.Transfers[i].Start)
			}
			if !c.ends && first == best {
				return verify.Verdict{Engine: "replay", Reason: "the time limit was reached"}
			}
			return ask(ctx, p, s, o)
		})
		ev, err := e.Evaluate(context.Background(), p)
		restore()
		require.NoError(t, err)
		require.NotNil(t, ev.Best())
		require.InDelta(t, int64(ev.Bound.Bound+c.late), int64(ev.Best().Makespan), 1, "%+v", c)
		require.Equal(t, c.replays, replays, "%+v", c)
	}
}

// TestPutOff: the solver is not asked where it would not end at its pace, and comes to its verdict later, without another replay.
func TestPutOff(t *testing.T) {
	m := &copied{name: "slow"}
	var ran []string
	p := problemOf(t, &ran, m)
	found, err := m.Solve(t.Context(), p, solve.Options{})
	require.NoError(t, err)
	b, cancel := solve.NewBudget(t.Context(), time.Hour, 1)
	defer cancel()
	putOff := func(e *Evaluator) *Row {
		r := &Row{Method: "slow", Makespan: found.Makespan(), Result: found}
		require.NoError(t, e.proveShortly(b, 2, r))
		require.Equal(t, verify.Proved, r.Outcome())
		require.Equal(t, verify.Unknown, r.Verdicts["smt"].Outcome)
		return r
	}
	putOff(&Evaluator{Progress: Silent{}, alike: time.Hour})
	e := &Evaluator{Progress: Silent{}, paces: map[string]time.Duration{"smt": time.Hour}}
	r := putOff(e)
	require.True(t, r.open())
	before := r.Verdicts
	defer ReplaceEngine("replay", func(context.Context, *model.Problem, *model.Schedule, smt.Options) verify.Verdict {
		panic("was asked before")
	})()
	require.NoError(t, e.prove(b, r))
	require.Equal(t, verify.Proved, r.Verdicts["smt"].Outcome)
	require.Equal(t, verify.Unknown, before["smt"].Outcome, "a report that was made before has its own verdicts")
}

// TestPaces: the pace of the solver is that of what it proved, even where it did not come to its end: of chunks that are like none
// before. The others hardly take any time. Where those that are like none before are few, it is the usual one: most of the time was for others.
func TestPaces(t *testing.T) {
	const few, each = 4, leastUnlike
	schedule := func(alike bool, chunks, each int) *model.Schedule {
		s := &model.Schedule{Form: model.Timed}
		for i := range chunks * each {
			k := i / each
			start, lasts := model.Time(i%each+1000*k), model.Time(1)
			if !alike { // some begin while others last
				lasts += model.Time(k)
			}
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(k), Start: start, End: start + lasts})
		}
		return s
	}
	for _, c := range []struct {
		outcome verify.Outcome
		proved  int64
		takes   time.Duration
		alike   bool
		chunks  int
		each    int
		fresh   int // transfers of chunks like none before, of those that are proved; 0: the pace is the usual one
	}{
		{verify.Proved, 0, longMeasured, false, few, each, few * each},
		{verify.Unknown, 2, longMeasured, false, few, each, 2 * each},
		{verify.Proved, 0, longMeasured, true, few, each, each},
		{verify.Unknown, 2, longMeasured, true, few, each, each},
		{verify.Proved, 0, longMeasured, true, few, each - 1, 0},
		{verify.Proved, 0, longMeasured, true, leastAlike/leastMeasured - 1, leastMeasured, 0},
		{verify.Proved, 0, longMeasured, true, leastAlike / leastMeasured, leastMeasured, 0},
		{verify.Unknown, 1, longMeasured, false, few, each - 1, 0},
		{verify.Unknown, 0, longMeasured, false, few, each, 0},
		{verify.Proved, 0, 0, false, few, each, 0},
	} {
		restore := ReplaceEngine("smt", func(_ context.Context, _ *model.Problem, _ *model.Schedule, o smt.Options) verify.Verdict {
			time.Sleep(c.takes)
			o.Proved.Add(c.proved)
			return verify.Verdict{Engine: "smt", Outcome: c.outcome}
		})
		p := &model.Problem{Topology: &model.Topology{Ranks: 2}, Chunks: make([]model.Chunk, c.chunks)}
		r := &Row{Result: solve.Result{Problem: p, Schedule: schedule(c.alike, c.chunks, c.each)}}
		const replayed, recognised = 300 * time.Nanosecond, 600 * time.Nanosecond
		e := &Evaluator{paces: map[string]time.Duration{"replay": replayed}}
		v := &Verification{Verdicts: map[string]verify.Verdict{}, Checking: map[string]time.Duration{}}
		e.ask(t.Context(), "smt", r, v)
		restore()
		if c.fresh == 0 {
			require.Equal(t, usually["smt"], e.pace("smt"))
			each := recognised
			if n := c.chunks * c.each; n >= leastAlike {
				each = v.Checking["smt"] / time.Duration(n)
				require.Greater(t, each, recognised)
			}
			require.Equal(t, each, e.recognised())
			continue
		}
		proved := c.chunks
		if c.proved > 0 {
			proved = int(c.proved)
		}
		pace := (v.Checking["smt"] - recognised*time.Duration(proved*each)) / time.Duration(c.fresh)
		require.Equal(t, pace+pace/4, e.pace("smt"))
		all := c.chunks * each
		if c.alike {
			all = each
		}
		require.Equal(t, (pace+pace/4)*time.Duration(all)+recognised*time.Duration(c.chunks*each), e.takes("smt", r))
	}
}

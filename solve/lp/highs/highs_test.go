//go:build cgo

package highs_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

func solve(t *testing.T, m *lp.Model, o highs.Options) highs.Result {
	t.Helper()
	res, err := highs.Solve(context.Background(), m, o)
	require.NoError(t, err)
	return res
}

// requireSolution checks that the values are feasible up to 1e-6 and have the
// objective that is reported.
func requireSolution(t *testing.T, m *lp.Model, res highs.Result) {
	t.Helper()
	require.True(t, res.HasSolution)
	x, err := m.Round(res.Values)
	require.NoError(t, err)
	vs, err := m.Check(x)
	require.NoError(t, err)
	for _, v := range vs {
		amount, _ := v.Amount.Float64()
		require.Less(t, amount, 1e-6, v.String())
	}
	obj, err := m.Objective(x)
	require.NoError(t, err)
	f, _ := obj.Float64()
	require.InDelta(t, f, res.Objective, 1e-6*max(1, math.Abs(f)))
}

// dual is Dantzig's problem of two products and three resources:
// maximise 3x+5y, x <= 4, 2y <= 12, 3x+2y <= 18. Optimum 36 at (2, 6), with the
// duals 0, 3/2, 1.
func dual(sense lp.Sense) *lp.Model {
	m := &lp.Model{Sense: sense}
	sign := int64(1)
	if sense == lp.Minimise {
		sign = -1
	}
	x := m.AddNonNegative("x", lp.Int(3*sign))
	y := m.AddNonNegative("y", lp.Int(5*sign))
	m.AddLE("a", lp.Int(4), lp.T(x, 1))
	m.AddLE("b", lp.Int(12), lp.T(y, 2))
	m.AddLE("c", lp.Int(18), lp.T(x, 3), lp.T(y, 2))
	return m
}

func TestLPWithDuals(t *testing.T) {
	for _, c := range []struct {
		sense lp.Sense
		sign  float64
	}{{lp.Maximise, 1}, {lp.Minimise, -1}} {
		for _, method := range []string{"", "simplex", "ipm"} {
			m := dual(c.sense)
			res := solve(t, m, highs.Options{Method: method})
			require.Equal(t, highs.Optimal, res.Status)
			require.Equal(t, "Optimal", res.RawStatus)
			requireSolution(t, m, res)
			require.InDelta(t, 36*c.sign, res.Objective, 1e-9)
			require.Equal(t, res.Objective, res.DualBound)
			require.Zero(t, res.Gap)
			require.InDeltaSlice(t, []float64{2, 6}, res.Values, 1e-9)
			require.InDeltaSlice(t, []float64{0, 1.5 * c.sign, 1 * c.sign}, res.RowDuals, 1e-9)
			require.InDeltaSlice(t, []float64{0, 0}, res.ReducedCosts, 1e-9)

			// The duals prove the optimum exactly.
			y := []lp.Rat{lp.Int(0), lp.Frac(int64(3*c.sign), 2), lp.Int(int64(c.sign))}
			bound, err := m.DualBound(y)
			require.NoError(t, err)
			require.Zero(t, bound.Cmp(lp.AtInt(int64(36*c.sign))))
		}
	}
}

func TestMIP(t *testing.T) {
	// A knapsack: optimum 21, of items 1, 2 and 3.
	m := &lp.Model{Sense: lp.Maximise, Offset: lp.Int(100)}
	var weight []lp.Term
	for j, v := range []int64{8, 11, 6, 4} {
		weight = append(weight, lp.T(m.AddBinary("", lp.Int(v)), []int64{5, 7, 4, 3}[j]))
	}
	m.AddLE("capacity", lp.Int(14), weight...)
	res := solve(t, m, highs.Options{})
	require.Equal(t, highs.Optimal, res.Status)
	requireSolution(t, m, res)
	require.InDelta(t, 121, res.Objective, 1e-9)
	require.InDelta(t, 121, res.DualBound, 1e-6)
	require.InDeltaSlice(t, []float64{0, 1, 1, 1}, res.Values, 1e-6)
	require.Nil(t, res.RowDuals)
	require.Nil(t, res.ReducedCosts)
}

func TestInfeasibleAndUnbounded(t *testing.T) {
	for _, integer := range []bool{false, true} {
		m := &lp.Model{}
		x := m.AddColumn(lp.Column{Lower: lp.AtInt(0), Upper: lp.PlusInf, Integer: integer, Cost: lp.Int(1)})
		y := m.AddColumn(lp.Column{Lower: lp.AtInt(0), Upper: lp.PlusInf, Integer: integer, Cost: lp.Int(1)})
		m.AddGE("", lp.Int(5), lp.T(x, 1), lp.T(y, 1))
		m.AddLE("", lp.Int(4), lp.T(x, 1), lp.T(y, 1))
		res := solve(t, m, highs.Options{})
		require.Equal(t, highs.Infeasible, res.Status, res.RawStatus)
		require.False(t, res.HasSolution)
		require.Nil(t, res.Values)
		require.True(t, math.IsInf(res.DualBound, 1))
		require.True(t, math.IsNaN(res.Objective))

		m = &lp.Model{}
		x = m.AddColumn(lp.Column{Lower: lp.AtInt(0), Upper: lp.PlusInf, Integer: integer, Cost: lp.Int(-1)})
		y = m.AddColumn(lp.Column{Lower: lp.AtInt(0), Upper: lp.PlusInf, Integer: integer, Cost: lp.Int(1)})
		m.AddLE("", lp.Int(1), lp.T(x, 1), lp.T(y, -1))
		m.SetCost(y, lp.Frac(1, 2))
		res = solve(t, m, highs.Options{})
		require.Contains(t, []highs.Status{highs.Unbounded, highs.InfeasibleOrUnbounded}, res.Status, res.RawStatus)
		require.True(t, math.IsInf(res.DualBound, -1))
	}
	// An integer column between two whole numbers.
	m := &lp.Model{}
	m.AddColumn(lp.Column{Lower: lp.At(lp.Frac(1, 4)), Upper: lp.At(lp.Frac(3, 4)), Integer: true})
	require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)
}

func TestOddModels(t *testing.T) {
	for _, integer := range []bool{false, true} {
		column := func(cost, lower, upper int64) lp.Column {
			return lp.Column{Cost: lp.Int(cost), Lower: lp.AtInt(lower), Upper: lp.AtInt(upper), Integer: integer}
		}
		// No columns.
		m := &lp.Model{Offset: lp.Int(7)}
		res := solve(t, m, highs.Options{})
		require.Equal(t, highs.Optimal, res.Status)
		require.Equal(t, 7.0, res.Objective)
		require.Equal(t, 7.0, res.DualBound)
		require.True(t, res.HasSolution)
		m.AddRow("", lp.AtInt(-1), lp.AtInt(1))
		require.Equal(t, highs.Optimal, solve(t, m, highs.Options{}).Status)
		m.AddRow("", lp.AtInt(1), lp.PlusInf)
		require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)

		// No rows, of which one column costs nothing.
		m = &lp.Model{Sense: lp.Maximise}
		m.AddColumn(column(2, -3, 4))
		m.AddColumn(column(-1, -3, 4))
		m.AddColumn(column(0, 2, 2))
		res = solve(t, m, highs.Options{})
		require.Equal(t, highs.Optimal, res.Status)
		require.InDelta(t, 11, res.Objective, 1e-9)
		requireSolution(t, m, res)

		// No costs: not a sum of ones.
		m = &lp.Model{}
		x, y := m.AddColumn(column(0, 0, 9)), m.AddColumn(column(0, 0, 9))
		m.AddGE("", lp.Int(12), lp.T(x, 1), lp.T(y, 1))
		res = solve(t, m, highs.Options{})
		require.Equal(t, highs.Optimal, res.Status)
		require.Zero(t, res.Objective)
		requireSolution(t, m, res)

		// No costs and infeasible: not "infeasible or unbounded".
		m.AddLE("", lp.Int(11), lp.T(x, 1), lp.T(y, 1))
		require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)

		// Terms of one column are summed, those that cancel vanish, and rows may be empty.
		m = &lp.Model{}
		x = m.AddColumn(column(1, 0, 100))
		y = m.AddColumn(column(1, 0, 100))
		m.AddGE("", lp.Int(12), lp.T(x, 1), lp.T(y, 5), lp.T(x, 2), lp.T(y, -5))
		m.AddRow("", lp.AtInt(-1), lp.PlusInf)
		m.AddRow("", lp.MinusInf, lp.PlusInf, lp.T(y, 1))
		m.AddGE("", lp.Int(0), lp.T(y, 5), lp.T(y, -5))
		res = solve(t, m, highs.Options{})
		require.Equal(t, highs.Optimal, res.Status)
		require.InDelta(t, 4, res.Objective, 1e-9)
		requireSolution(t, m, res)
		m.AddGE("", lp.Int(1))
		require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)

		// Bounds that cross.
		m = &lp.Model{}
		m.AddColumn(column(1, 3, 2))
		require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)
		m = &lp.Model{}
		x = m.AddColumn(column(1, 0, 9))
		m.AddRow("", lp.AtInt(2), lp.AtInt(1), lp.T(x, 1))
		require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)
		m.SetRowBounds(0, lp.PlusInf, lp.PlusInf)
		require.Equal(t, highs.Infeasible, solve(t, m, highs.Options{}).Status)
		m.SetRowBounds(0, lp.AtInt(2), lp.PlusInf)
		require.Equal(t, highs.Optimal, solve(t, m, highs.Options{}).Status)
	}
}

// hard returns a multidimensional knapsack that keeps HiGHS busy for minutes.
func hard(seed uint64) *lp.Model { return knapsack(seed, 100, 12) }

func knapsack(seed uint64, items, dims int) *lp.Model {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &lp.Model{Sense: lp.Maximise}
	rows := make([][]lp.Term, dims)
	sums := make([]int64, dims)
	for range items {
		j := m.AddBinary("", lp.Int(500+r.Int64N(500)))
		for d := range rows {
			w := 1 + r.Int64N(1000)
			rows[d] = append(rows[d], lp.T(j, w))
			sums[d] += w
		}
	}
	for d := range rows {
		m.AddLE("", lp.Int(sums[d]/2), rows[d]...)
	}
	return m
}

func TestTimeLimitKeepsIncumbentAndBound(t *testing.T) {
	m := hard(1)
	begin := time.Now()
	var last highs.Progress
	reports := 0
	var log bytes.Buffer
	res := solve(t, m, highs.Options{TimeLimit: 1500 * time.Millisecond, Log: &log,
		Progress: func(p highs.Progress) { last = p; reports++ }})
	require.Less(t, time.Since(begin), 15*time.Second)
	require.Equal(t, highs.TimeLimit, res.Status, res.RawStatus)
	requireSolution(t, m, res)
	require.GreaterOrEqual(t, res.DualBound, res.Objective)
	require.False(t, math.IsInf(res.DualBound, 0))
	require.InDelta(t, (res.DualBound-res.Objective)/res.Objective, res.Gap, 1e-9)
	require.Positive(t, reports)
	require.Positive(t, last.Incumbents)
	require.LessOrEqual(t, last.Objective, res.Objective)
	require.GreaterOrEqual(t, last.DualBound, res.DualBound)
	require.Contains(t, log.String(), "Solving report")
}

func TestCancellation(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "later": 700 * time.Millisecond} {
		m := hard(2)
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(after, cancel)
		if after == 0 {
			cancel()
		}
		begin := time.Now()
		res, err := highs.Solve(ctx, m, highs.Options{})
		timer.Stop()
		cancel()
		require.NoError(t, err)
		require.Equal(t, highs.Interrupted, res.Status, name)
		require.Less(t, time.Since(begin), 15*time.Second)
		if after > 0 {
			requireSolution(t, m, res)
			require.GreaterOrEqual(t, res.DualBound, res.Objective)
			require.False(t, math.IsInf(res.DualBound, 0))
		} else {
			require.False(t, res.HasSolution)
			require.True(t, math.IsInf(res.DualBound, 1))
		}
	}
	// The context's deadline is a time limit.
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	res, err := highs.Solve(ctx, hard(2), highs.Options{})
	require.NoError(t, err)
	require.Equal(t, highs.TimeLimit, res.Status)
}

// TestEndIsNoFailure: whenever the time of a program ends, that is no failure, whatever the method makes of it.
func TestEndIsNoFailure(t *testing.T) {
	m := flows(40, false)
	ends := 0
	for _, method := range []string{"", "ipm"} {
		for limit := time.Millisecond; limit < time.Second; limit += limit / 4 {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			res, err := highs.Solve(ctx, m, highs.Options{Method: method})
			cancel()
			require.NoError(t, err, "%s after %v", method, limit)
			if res.Status == highs.Optimal {
				break
			}
			require.Contains(t, []highs.Status{highs.TimeLimit, highs.Interrupted}, res.Status, res.RawStatus)
			ends++
		}
	}
	require.Positive(t, ends)
}

// behind is a context that ends some time after its deadline, as on a busy machine.
type behind struct {
	context.Context
	deadline time.Time
}

func (b behind) Deadline() (time.Time, bool) { return b.deadline, true }

// What ends at the deadline returns when the context has ended, too: callers ask it whether time is up.
func TestDeadlineIsTheContexts(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 600*time.Millisecond)
	defer cancel()
	late := behind{ctx, time.Now().Add(200 * time.Millisecond)}
	res, err := highs.Solve(late, hard(2), highs.Options{})
	require.NoError(t, err)
	require.Equal(t, highs.TimeLimit, res.Status)
	require.Error(t, late.Err())
}

func TestStartTargetCutoffAndNodeLimit(t *testing.T) {
	m := knapsack(3, 60, 8)
	first := solve(t, m, highs.Options{NodeLimit: 1})
	require.Equal(t, highs.NodeLimit, first.Status, first.RawStatus)
	requireSolution(t, m, first)

	// The start is kept, whether it is in the options or in the model.
	best := first.Objective
	res := solve(t, m, highs.Options{Start: first.Values, Target: &best})
	require.Equal(t, highs.Target, res.Status, res.RawStatus)
	require.GreaterOrEqual(t, res.Objective, best-1e-6)
	require.Zero(t, res.LPIterations, "the start alone reaches the target")
	x, err := m.Round(first.Values)
	require.NoError(t, err)
	m.Start = x
	res = solve(t, m, highs.Options{Target: &best})
	require.Equal(t, highs.Target, res.Status, res.RawStatus)
	require.Zero(t, res.LPIterations)

	// A start that is not feasible does no harm.
	ones := make([]float64, m.NumColumns())
	for j := range ones {
		ones[j] = 1
	}
	res = solve(t, m, highs.Options{Start: ones, NodeLimit: 1})
	requireSolution(t, m, res)
	ones[3] = math.NaN()
	res = solve(t, m, highs.Options{Start: ones, NodeLimit: 1})
	requireSolution(t, m, res)

	m.Start = nil
	all := 1e6 // more than all items together
	res = solve(t, m, highs.Options{Cutoff: &all})
	require.Equal(t, highs.Infeasible, res.Status)
	require.Equal(t, all, res.DualBound)
	res = solve(t, m, highs.Options{Cutoff: &best, NodeLimit: 1})
	require.GreaterOrEqual(t, res.DualBound, best)
	if res.HasSolution {
		require.GreaterOrEqual(t, res.Objective, best-1e-3)
	}

	// With a cutoff that can be reached the optimum is the same.
	k := dual(lp.Minimise)
	thirty := -30.0
	res = solve(t, k, highs.Options{Cutoff: &thirty})
	require.Equal(t, highs.Optimal, res.Status)
	require.InDelta(t, -36, res.Objective, 1e-9)
	require.Nil(t, res.RowDuals)
	forty := -40.0
	res = solve(t, k, highs.Options{Cutoff: &forty})
	require.Equal(t, highs.Infeasible, res.Status)
	require.Equal(t, forty, res.DualBound)
}

func TestSameAnswerForSameSeedAndAnyThreads(t *testing.T) {
	m := knapsack(4, 40, 5)
	want := solve(t, m, highs.Options{NodeLimit: 10, Seed: 7})
	for _, threads := range []int{0, 1, 2} {
		got := solve(t, m, highs.Options{NodeLimit: 10, Seed: 7, Threads: threads})
		require.Equal(t, want.Values, got.Values, "%d threads", threads)
		require.Equal(t, want.DualBound, got.DualBound)
	}
}

func TestManyGoroutinesAndThreads(t *testing.T) {
	m := dual(lp.Maximise)
	k := knapsack(5, 30, 5)
	want := solve(t, k, highs.Options{NodeLimit: 1})
	var wg sync.WaitGroup
	errs := make(chan string, 1000)
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				res, err := highs.Solve(context.Background(), m, highs.Options{Threads: 1 + (g+i)%2})
				if err != nil || res.Status != highs.Optimal || math.Abs(res.Objective-36) > 1e-9 {
					errs <- res.RawStatus
				}
			}
			res, err := highs.Solve(context.Background(), k, highs.Options{Threads: 1 + g%2, NodeLimit: 1})
			if err != nil || res.Objective != want.Objective {
				errs <- res.RawStatus
			}
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		t.Error(e)
	}
}

func TestBadQuestions(t *testing.T) {
	ok := dual(lp.Minimise)
	nan, big := math.NaN(), 1e300
	for want, o := range map[string]highs.Options{
		"time limit":       {TimeLimit: -1},
		"threads":          {Threads: -1},
		"1000000 threads":  {Threads: 1000000},
		"MIP gap":          {MIPGap: nan},
		"node limit":       {NodeLimit: -1},
		"cutoff NaN":       {Cutoff: &nan},
		"target NaN":       {Target: &nan},
		"method \"magic\"": {Method: "magic"},
		"start has 1":      {Start: []float64{1}},
	} {
		_, err := highs.Solve(context.Background(), ok, o)
		require.ErrorContains(t, err, want)
	}
	_, err := highs.Solve(context.Background(), ok, highs.Options{Target: &big})
	require.NoError(t, err)

	for want, change := range map[string]func(*lp.Model){
		"coefficient of column 0 (x) 1/10000000000": func(m *lp.Model) { m.AddLE("tiny", lp.Int(1), lp.Term{Col: 0, Coef: lp.Frac(1, 1e10)}) },
		"row 3 (huge)":                    func(m *lp.Model) { m.AddLE("huge", lp.Int(1), lp.T(0, 1e16)) },
		"row 3 (far): upper bound":        func(m *lp.Model) { m.AddLE("far", lp.Int(1e18).Mul(lp.Int(1000)), lp.T(0, 1)) },
		"column 1 (y): cost":              func(m *lp.Model) { m.SetCost(1, lp.Int(1e18).Mul(lp.Int(1000))) },
		"model's start has 1 values":      func(m *lp.Model) { m.Start = make([]lp.Rat, 1) },
		"column 0 (x): lower bound -1000": func(m *lp.Model) { m.SetBounds(0, lp.At(lp.Int(-1e18).Mul(lp.Int(1000))), lp.PlusInf) },
	} {
		m := dual(lp.Minimise)
		change(m)
		_, err := highs.Solve(context.Background(), m, highs.Options{})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestRounded(t *testing.T) {
	m := dual(lp.Minimise)
	require.Zero(t, solve(t, m, highs.Options{}).Rounded)
	m.AddLE("", lp.Frac(100, 3), lp.Term{Col: 0, Coef: lp.Frac(1, 3)}, lp.T(1, 1))
	require.Equal(t, 2, solve(t, m, highs.Options{}).Rounded)
}

func TestVersion(t *testing.T) {
	require.Regexp(t, `^1\.\d+\.\d+$`, highs.Version())
}

// The MPS file of a model asks HiGHS' own reader the same question.
func TestMPSIsReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	optimal := 0
	for range 200 {
		m := randomModel(r)
		want := solve(t, m, highs.Options{})
		if err := m.WriteMPS(io.Discard); err != nil { // an empty range: MPS cannot say it
			require.Equal(t, highs.Infeasible, want.Status)
			continue
		}
		got, err := highs.SolveMPS(m)
		require.NoError(t, err, text(m))
		require.Equal(t, want.Status == highs.Optimal, got.Status == highs.Optimal, "%s %s\n%s", want.RawStatus, got.RawStatus, text(m))
		if want.Status == highs.Optimal {
			optimal++
			require.InDelta(t, want.Objective, got.Objective, 1e-6*max(1, math.Abs(want.Objective)), text(m))
		}
	}
	require.Greater(t, optimal, 50)
}

// Package exact schedules jobs that share GPUs in turns by mixed-integer programs, which HiGHS
// solves: Periodic in the throughput form, in which the reciprocal of the period is a variable, so
// that no two variables are multiplied; Finite by time, with a variable for each start at each tick.
// What the solver says is trusted in nothing: of a periodic solution its orders are taken, and the times
// made from them in whole picoseconds; of a finite one the starts; and package verify/workload
// decides. That there is nothing shorter is the solver's claim alone.
package exact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits on the programs.
const (
	MaxPairs   = 2000  // of starts that share a resource, of a periodic program
	MaxColumns = 30000 // of a finite one: starts times ticks
)

// Options steer a run.
type Options struct {
	TimeLimit time.Duration
	Seed      uint64
}

// Result is what came of a program.
type Result struct {
	Schedule *crossover.Schedule // shorter than the incumbent; nil: none was found
	Closed   bool                // the solver claims that there is none shorter than the best of both
}

// ErrTooLarge is wrapped by the error for jobs whose program would be too large.
var ErrTooLarge = errors.New("too large for exact")

// Periodic looks for a schedule with a shorter period than an incumbent's.
func Periodic(ctx context.Context, jobs []crossover.Job, incumbent *crossover.Schedule, o Options) (*Result, error) {
	if err := highs.Available(); err != nil {
		return nil, err
	}
	starts, lengths, pairs, waits := crossover.Events(jobs)
	if len(pairs) > MaxPairs {
		return nil, fmt.Errorf("%d pairs of starts share a resource, want at most %d: %w", len(pairs), MaxPairs, ErrTooLarge)
	}
	// Times are in units of the best bound, so that alpha, the bound over the period, is at most 1.
	unit := int64(crossover.Bounds(jobs)[0].Value)
	m := &lp.Model{Name: "crossover-periodic", Sense: lp.Maximise}
	alpha := m.AddColumn(lp.Column{Name: "alpha", Cost: lp.Int(1), Upper: lp.AtInt(1)})
	var u []int
	for range starts {
		u = append(u, m.AddColumn(lp.Column{Name: "u", Upper: lp.AtInt(2)}))
	}
	times := func(t model.Time) lp.Term { return lp.Term{Col: alpha, Coef: lp.Frac(-int64(t), unit)} }
	for _, w := range waits { // u_to - u_from - length·alpha >= -height
		terms := []lp.Term{times(w.Length)}
		if w.From != w.To {
			terms = append(terms, lp.T(u[w.To], 1), lp.T(u[w.From], -1))
		}
		m.AddGE("wait", lp.Int(int64(-w.Height)), terms...)
	}
	var h []int
	for _, p := range pairs {
		k := m.AddColumn(lp.Column{Name: "h", Lower: lp.AtInt(-2), Upper: lp.AtInt(3), Integer: true})
		h = append(h, k)
		m.AddGE("first", lp.Int(0), lp.T(u[p.B], 1), lp.T(u[p.A], -1), times(lengths[p.A]), lp.T(k, 1))
		m.AddGE("second", lp.Int(-1), lp.T(u[p.A], 1), lp.T(u[p.B], -1), times(lengths[p.B]), lp.T(k, -1))
	}
	options := highs.Options{TimeLimit: o.TimeLimit, Seed: o.Seed, Threads: 1}
	if incumbent != nil {
		T := float64(incumbent.Period)
		values := make([]float64, m.NumColumns())
		values[alpha] = float64(unit) / T
		at := map[crossover.Start]float64{}
		for _, x := range incumbent.Starts {
			t := float64(x.At) / T
			x.At = 0
			at[x] = t
		}
		for i, x := range starts {
			values[u[i]] = at[x]
		}
		for i, p := range pairs { // the least height that fits
			for k := -2; k <= 3; k++ {
				values[h[i]] = float64(k)
				if at[starts[p.B]]-at[starts[p.A]]-float64(lengths[p.A])/T+float64(k) >= -1e-9 {
					break
				}
			}
		}
		options.Start = values
	}
	r, err := highs.Solve(ctx, m, options)
	if err != nil {
		return nil, err
	}
	out := &Result{Closed: r.Status == highs.Optimal}
	if !r.HasSolution {
		return out, nil
	}
	heights := make([]int, len(pairs))
	for i, k := range h {
		heights[i] = int(round(r.Values[k]))
	}
	limit := model.MaxTime / 4
	if incumbent != nil {
		limit = incumbent.Period
	}
	out.Schedule = crossover.Arrange(jobs, heights, limit)
	return out, nil
}

func round(x float64) int64 {
	if x < 0 {
		return -int64(-x + 0.5)
	}
	return int64(x + 0.5)
}

// Finite looks for a schedule of Rate iterations of each job that ends before an incumbent, which is a
// right one.
func Finite(ctx context.Context, jobs []crossover.Job, incumbent *crossover.Schedule, o Options) (*Result, error) {
	if err := highs.Available(); err != nil {
		return nil, err
	}
	starts, lengths, _, waits := crossover.Events(jobs)
	tick := model.Time(0)
	for _, t := range lengths {
		tick = gcd(tick, t)
	}
	for _, w := range waits {
		tick = gcd(tick, w.Length)
	}
	end := incumbent.End(jobs)
	horizon := int((end - 1) / tick) // ticks, if it is to end earlier
	least := int64((crossover.BoundFinite(jobs).Value + tick - 1) / tick)
	if least > int64(horizon) {
		return &Result{Closed: true}, nil // the incumbent meets a bound
	}
	// Heads and tails: the longest paths within jobs, so that many starts are out of the question.
	head, tail := make([]int, len(starts)), make([]int, len(starts))
	for i := range starts {
		tail[i] = int(lengths[i] / tick)
	}
	for range starts {
		for _, w := range waits {
			if w.Height == 0 {
				head[w.To] = max(head[w.To], head[w.From]+int(w.Length/tick))
				tail[w.From] = max(tail[w.From], tail[w.To]+int(w.Length/tick))
			}
		}
	}
	columns := 0
	for i := range starts {
		if n := horizon - tail[i] - head[i] + 1; n > 0 {
			columns += n
		} else {
			return &Result{Closed: true}, nil // a job alone takes as long
		}
		if columns > MaxColumns {
			return nil, fmt.Errorf("%d starts at %d ticks of %v, want at most %d columns: %w", len(starts), horizon, tick, MaxColumns, ErrTooLarge)
		}
	}
	m := &lp.Model{Name: "crossover-finite"}
	last := m.AddColumn(lp.Column{Name: "end", Cost: lp.Int(1), Lower: lp.AtInt(least), Upper: lp.AtInt(int64(horizon)), Integer: true})
	x := make([][]int, len(starts)) // by start and tick from its head
	for i := range starts {
		var one, ends []lp.Term
		for t := head[i]; t <= horizon-tail[i]; t++ {
			c := m.AddBinary("x", lp.Int(0))
			x[i] = append(x[i], c)
			one = append(one, lp.T(c, 1))
			ends = append(ends, lp.T(c, -int64(t+int(lengths[i]/tick))))
		}
		m.AddEQ("once", lp.Int(1), one...)
		m.AddGE("end", lp.Int(0), append(ends, lp.T(last, 1))...)
	}
	until := func(i, t int, sign int64) (terms []lp.Term) {
		for k := head[i]; k <= t && k-head[i] < len(x[i]); k++ {
			terms = append(terms, lp.T(x[i][k-head[i]], sign))
		}
		return terms
	}
	for _, w := range waits {
		for t := head[w.To]; w.Height == 0 && t <= horizon-tail[w.To]; t++ {
			m.AddLE("wait", lp.Int(0), append(until(w.To, t, 1), until(w.From, t-int(w.Length/tick), -1)...)...)
		}
	}
	for t := range horizon {
		for _, network := range []bool{false, true} {
			var busy []lp.Term
			for i, s := range starts {
				if (s.Bucket >= 0) != network {
					continue
				}
				for k := max(head[i], t-int(lengths[i]/tick)+1); k <= t && k-head[i] < len(x[i]); k++ {
					busy = append(busy, lp.T(x[i][k-head[i]], 1))
				}
			}
			if len(busy) > 1 {
				m.AddLE("one", lp.Int(1), busy...)
			}
		}
	}
	r, err := highs.Solve(ctx, m, highs.Options{TimeLimit: o.TimeLimit, Seed: o.Seed, Threads: 1})
	if err != nil {
		return nil, err
	}
	out := &Result{Closed: r.Status == highs.Optimal || r.Status == highs.Infeasible}
	if !r.HasSolution {
		return out, nil
	}
	values, err := m.Round(r.Values)
	if err != nil {
		return out, nil
	}
	if wrong, err := m.Check(values); err != nil || len(wrong) > 0 {
		return out, nil
	}
	out.Schedule = &crossover.Schedule{}
	for i, s := range starts {
		for k, c := range x[i] {
			if r.Values[c] > 0.5 {
				s.At = tick.Mul(int64(head[i] + k))
			}
		}
		out.Schedule.Starts = append(out.Schedule.Starts, s)
	}
	return out, nil
}

func gcd(a, b model.Time) model.Time {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

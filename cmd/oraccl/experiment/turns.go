package experiment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/workload"
)

// sharing is what is known of jobs that share GPUs in turns.
type sharing struct {
	Time, Bound, Slicing     model.Time // a period, or a makespan
	Kind, Method, Proved     string
	Best, Worst              model.Time // in lock-step; 0: not computed
	Given, First, Short, Any model.Time // finite: round-robin in the given order, and in the best one; first come; shortest first
	Shorter                  string     // what the engines say of the same schedule in a period that is shorter by 1 ps
	Seconds                  float64
}

// sharedJobs measures how jobs share GPUs in turns: see oraccl crossover.
func sharedJobs() *Measure {
	return &Measure{"jobs, in the words of crossover, share GPUs in turns, with rates and iterations as its flags: time is the proved period or makespan, slicing that of one job after another, lockstep and lockstep_worst those of the best and the worst order with barriers, given, best_order, first_come and shortest of finite policies, shorter what the engines say of the schedule in a period less by 1 ps",
		[]string{"time", "bound", "slicing", "lockstep", "lockstep_worst", "given", "best_order", "first_come", "shortest", "shorter", "method", "proved", "kind", "seconds", "reason"},
		"the schedule of the jobs is verified by three engines as it is computed; oraccl crossover -o writes it",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			if s["jobs"] == "" {
				return nil, errors.New("measure crossover: no jobs, want words such as \"A=7ms/4ms B=5ms/6ms\"")
			}
			k, err := keep(ctx, x, s.label("crossover"), "crossover "+s.key(), func(*evidence) (*sharing, error) { return share(ctx, s) })
			if err != nil {
				return nil, err
			}
			some := func(t model.Time) expression.Value {
				if t == 0 {
					return expression.Value{}
				}
				return expression.Number(t)
			}
			return expression.Record{
				"time": some(k.Time), "bound": some(k.Bound), "slicing": some(k.Slicing), "lockstep": some(k.Best), "lockstep_worst": some(k.Worst),
				"given": some(k.Given), "best_order": some(k.Any), "first_come": some(k.First), "shortest": some(k.Short), "shorter": expression.Text(k.Shorter),
				"method": expression.Text(k.Method), "proved": expression.Text(k.Proved), "kind": expression.Text(k.Kind), "seconds": expression.Float(k.Seconds), "reason": expression.Text(""),
			}, nil
		}}
}

// share computes what sharedJobs measures.
func share(ctx context.Context, s spec) (*sharing, error) {
	begin := time.Now()
	asked := turns.Asked{Rates: s["rates"], Cost: model.Pipelined}
	if s["iterations"] != "" {
		n, err := strconv.Atoi(s["iterations"])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("iterations %q: want a whole number from 1 on", s["iterations"])
		}
		asked.Iterations = n
	}
	jobs, err := turns.Read(ctx, strings.Fields(s["jobs"]), asked)
	if err != nil {
		return nil, err
	}
	r, err := turns.Compare(ctx, jobs, asked)
	if err != nil {
		return nil, err
	}
	v := r.Verified.Verdict
	if v.Outcome != verify.Proved {
		return nil, fmt.Errorf("%s: the schedule is not proved: %v %s %s", s["jobs"], v.Outcome, v.Reason, strings.Join(r.Violations, "; "))
	}
	k := &sharing{Time: v.Makespan, Bound: r.Bound.Value, Kind: r.Bound.Kind, Slicing: r.Slicing, Method: "crossover", Proved: r.Verified.Verdict.Engine}
	for _, row := range r.Rows {
		switch row.Method {
		case "lock-step, best order":
			k.Best = row.Period
		case "round-robin":
			k.Given = row.Period
		case "round-robin, best order":
			k.Any = row.Period
		case "first come, first served":
			k.First = row.Period
		case "shortest computation first":
			k.Short = row.Period
		}
	}
	if k.Best > 0 && len(jobs.All) <= crossover.MaxOrders {
		crossover.Orders(len(jobs.All), func(order []int) { k.Worst = max(k.Worst, crossover.LockStep(jobs.All, order)) })
	}
	if r.Periodic {
		shorter := r.Timetable()
		shorter.Period--
		again, _, err := workload.Check(ctx, shorter)
		if err != nil {
			return nil, err
		}
		k.Shorter = again.Outcome.String()
	}
	k.Seconds = time.Since(begin).Seconds()
	return k, nil
}

package experiment

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
)

// breakeven measures the least delay, in picoseconds, from which on a method takes no longer
// after the arrival of the late rank than another one. It is a multiple of step, up to most.
func breakeven() *Measure {
	return &Measure{"after: the least delay, ps, from which on method takes no longer than other after the arrival; a multiple of step, up to most", []string{"after", "bound_after", "reason"},
		"the schedules at the delays that were tried are kept; that longer delays change nothing is not proved",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			most, err := strconv.ParseInt(s["most"], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("most %q: want a whole number of picoseconds", s["most"])
			}
			step, err := s.whole("step", 1)
			if err != nil || step == 0 {
				return nil, fmt.Errorf("step %q: want a whole number of picoseconds", s["step"])
			}
			of := maps.Clone(s)
			for _, argument := range []string{"method", "other", "most", "step"} {
				delete(of, argument)
			}
			after := func(delay int64, method string, uncut bool) (expression.Value, error) {
				at := maps.Clone(of)
				at["delay"], at["bounds"] = fmt.Sprintf("%dps", delay), "none"
				if uncut {
					delete(at, "total_chunks")
				}
				r, err := x.best(ctx, at, []string{method})
				if err == nil && !r["after"].Known() {
					err = fmt.Errorf("%s", r["reason"])
				}
				return r["after"], err
			}
			worse := func(delay int64) (bool, error) {
				a, err := after(delay, s["method"], false)
				if err != nil {
					return false, err
				}
				b, err := after(delay, s["other"], true)
				if err != nil {
					return false, err
				}
				return a.Rat().Cmp(b.Rat()) > 0, nil
			}
			low, high := int64(0), most/int64(step) // steps: not worse at high
			if yes, err := worse(int64(step)); err != nil {
				return nil, err
			} else if !yes {
				high = 0
			}
			for low+1 < high {
				mid := (low + high) / 2
				yes, err := worse(int64(step) * mid)
				if err != nil {
					return nil, err
				}
				if yes {
					low = mid
				} else {
					high = mid
				}
			}
			return expression.Record{"after": expression.Number(int64(step) * high), "bound_after": {}, "reason": expression.Text("")}, nil
		}}
}

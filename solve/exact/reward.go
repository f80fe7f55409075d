package exact

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/ten"
)

// rewarded maximises the reward in half as many epochs again as n has, a network of q, within
// which s is a schedule. It returns s if the solver finds nothing. Transfers that nobody
// needs, which cost no reward, are left out: read backwards they would be sums of nothing.
func (r *run) rewarded(q *model.Problem, n *ten.Network, s *model.Schedule) *model.Schedule {
	n.Horizon += (n.Horizon + 1) / 2
	e := encodeFor(n, r.w, func(chunk, rank, epoch int) lp.Rat {
		if !n.Wants(chunk, rank) {
			return lp.Int(0)
		}
		return lp.Frac(1, int64(epoch+1))
	}, false)
	if stop := r.budget.Stop(); stop != 0 {
		r.stop = stop
		r.notes = append(r.notes, "no time was left for the reward: any schedule of the least horizon")
		return s
	}
	result, err := highs.Solve(r.budget.Context(), &e.Model, highs.Options{Seed: r.options.Seed, Threads: max(0, r.options.Threads)})
	r.raw, r.stop = result.RawStatus, solve.Done
	switch {
	case err != nil:
		r.notes = append(r.notes, err.Error())
		return s
	case !result.HasSolution:
		r.notes = append(r.notes, fmt.Sprintf("nothing found for the reward in %d epochs: any schedule of the least horizon", n.Horizon))
		return s
	}
	best, err := e.decode(result.Values)
	if err != nil {
		r.notes = append(r.notes, err.Error())
		return s
	}
	r.notes = append(r.notes, fmt.Sprintf("reward %.4f, at most %.4f according to the solver, in %d epochs of %v, %v", result.Objective, result.DualBound, n.Horizon, n.Epoch, e.Dims()))
	best.Transfers = useful(q, best.Transfers)
	return best
}

package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// maxStates is how many states a search over orders looks at.
const maxStates = 1 << 18

// orders values Ops on Rank: the computation and the collective of each of some jobs.
//
// Lemma. On a rank as that of the lemma on waiting, let each job's collective wait for the end of its
// computation, and its next computation for the end of the collective. Take one entry of each iteration of each
// collective. Computations and entries are then two machines, each of which does one thing at a time, and each job is
// a row of tasks that go from the one to the other. Put the tasks of a right schedule in the order of their starts,
// and each as early as the machine and the job allow after those before it: none ends later. So the least end over all
// orders, which this returns, is a bound. Proof that no order is left out: a state is how far each job is, when
// each machine is free, and when each job is. From each state every job's next task is tried. A state is left
// out if another one with the same tasks done has every one of these times at most as late, for what follows it
// can follow the other one no later. ∎
func orders(w *wl.Workload, b *wl.Bound) (model.Time, error) {
	if w.Periodic || len(b.Ops) == 0 || len(b.Ops)%2 != 0 {
		return 0, fmt.Errorf("want a workload that ends, and a computation and a collective of each job")
	}
	if err := alone(w, b.Rank); err != nil {
		return 0, err
	}
	type job struct {
		tasks int
		takes [2]model.Time
	}
	var jobs []job
	total := 0
	seen := map[int]bool{}
	for k := 0; k < len(b.Ops); k += 2 {
		compute, entry, err := turnOf(w, b.Rank, b.Ops[k], b.Ops[k+1], true)
		if err != nil {
			return 0, err
		}
		if seen[b.Ops[k]] || seen[b.Ops[k+1]] {
			return 0, fmt.Errorf("%s or %s is named twice", w.Ops[b.Ops[k]].ID, w.Ops[b.Ops[k+1]].ID)
		}
		seen[b.Ops[k]], seen[b.Ops[k+1]] = true, true
		jobs = append(jobs, job{2 * w.Iterations(b.Ops[k]), [2]model.Time{compute, entry}})
		total += 2 * w.Iterations(b.Ops[k])
	}
	// Times of a state: of the two machines, then of each job.
	type state struct {
		done  []int
		times []model.Time
	}
	level := map[string][]state{"": {{make([]int, len(jobs)), make([]model.Time, 2+len(jobs))}}}
	states := 0
	for range total {
		next := map[string][]state{}
		for _, list := range level {
			for _, s := range list {
				for j := range jobs {
					if s.done[j] == jobs[j].tasks {
						continue
					}
					if states++; states > maxStates {
						return 0, fmt.Errorf("more than %d states: %w", maxStates, model.ErrTooLarge)
					}
					n := state{slices.Clone(s.done), slices.Clone(s.times)}
					machine := s.done[j] % 2
					end := max(s.times[machine], s.times[2+j]).Add(jobs[j].takes[machine])
					n.done[j]++
					n.times[machine], n.times[2+j] = end, end
					key := strings.Trim(fmt.Sprint(n.done), "[]")
					worse := func(a, b state) bool { // a is no better than b
						for i := range a.times {
							if a.times[i] < b.times[i] {
								return false
							}
						}
						return true
					}
					if slices.ContainsFunc(next[key], func(o state) bool { return worse(n, o) }) {
						continue
					}
					next[key] = append(slices.DeleteFunc(next[key], func(o state) bool { return worse(o, n) }), n)
				}
			}
		}
		level = next
	}
	least := model.MaxTime
	for _, list := range level {
		for _, s := range list {
			least = min(least, slices.Max(s.times))
		}
	}
	return least, nil
}

// mostOrders is for how many states of jobs Bounds proposes a search over orders.
const mostOrders = 1 << 11

// searches proposes a search over the orders of all jobs that have a computation and a collective.
func searches(w *wl.Workload) *wl.Bound {
	b := flows(w)
	if b == nil || alone(w, b.Rank) != nil {
		return nil
	}
	states := 1
	for k := 0; k < len(b.Ops); k += 2 {
		if states *= 2*w.Iterations(b.Ops[k]) + 1; states > mostOrders {
			return nil
		}
	}
	return &wl.Bound{Kind: "order", Rank: b.Rank, Ops: b.Ops}
}

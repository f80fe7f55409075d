// Package bound proposes witnesses of lower bounds on the makespan of every schedule of a
// problem: a set of nodes, a rank, a path, prices of links, constant or not. It searches, in floating point
// where that is quicker, and estimates what each witness yields. An estimate is no bound:
// package verify/cert, which shares no code with this one, alone values witnesses, and
// proves why what it computes holds.
//
// Where a problem has chunks, the proposals are for that cut; where it has none, for
// every one.
package bound

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Proposal is a witness of a lower bound on every schedule of a problem.
type Proposal struct {
	Problem  *model.Problem
	Witness  model.Witness
	Estimate model.Time // what the search expects the witness to yield
	Yield    model.Time // what the checker has found that it yields; 0 before it was asked
}

// Best returns the proposal with the largest estimate, or nil if there is none
// above zero. An error means that p is not valid.
func Best(ctx context.Context, p *model.Problem) (*Proposal, error) {
	all, _, err := All(ctx, p)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// All returns the best proposal of each kind that yields something, the largest
// estimate first. Each kind is looked for in a share of the time until the deadline of ctx; when
// that is over, or ctx is done, the best found by then is taken, and complete is false. It is
// deterministic where it is complete. It takes milliseconds for some 10 nodes, and
// seconds for some 1000: see the limits in search.go.
func All(ctx context.Context, p *model.Problem) (all []*Proposal, complete bool, err error) {
	if err := p.Validate(); err != nil {
		return nil, false, err
	}
	budget, cancel := solve.NewBudget(ctx, 0, 1)
	defer cancel()
	f := newFinder(budget, p)
	if f == nil {
		return nil, false, nil
	}
	searches := []func() (model.Time, model.Witness){f.volume, f.ingress, f.egress, f.distance}
	if p.Cost == model.Rounds {
		searches = append(searches, f.doubling, f.spread, f.combine)
	}
	if f.fromAll && f.toAll { // of other collectives these yield nothing, and would have a share of the time
		searches = append(searches, f.partition, f.crossing)
	}
	searches = append(searches, f.cuts)
	if f.kind == model.AllToAll {
		searches = append(searches, f.prices, f.timed)
	}
	searches = append(searches, f.coverage) // it has the time that the others leave
	complete = true
	for i, search := range searches {
		share, done := budget.Share(min(2, len(searches)-i)) // most searches need little of it
		f.budget = share
		if estimate, w := search(); estimate > 0 && estimate < model.MaxTime {
			all = append(all, &Proposal{Problem: p, Witness: w, Estimate: estimate})
		}
		complete = complete && share.Stop() == 0
		done()
	}
	slices.SortStableFunc(all, func(a, b *Proposal) int {
		return cmp.Or(cmp.Compare(b.Estimate, a.Estimate), cmp.Compare(simplicity(a.Witness), simplicity(b.Witness)))
	})
	return all, complete, nil
}

// simplicity orders witnesses that yield the same: the one that is easier to see
// comes first.
func simplicity(w model.Witness) int {
	kinds := []string{"ingress", "egress", "distance", "volume", "cut", "partition", "crossing", "coverage", "doubling", "broadcast", "combine", "prices", "timed-prices"}
	return slices.Index(kinds, w.Kind())
}

// Package bound finds lower bounds on the makespan of every schedule of a problem,
// each as a certificate: a set of nodes, a rank, a path, prices of links. It
// searches, in floating point where that is quicker; what a witness yields it then
// computes in exact integers. Nobody has to believe it: package verify/cert, which
// shares no code with this one, computes the bound a second time and proves why it holds.
//
// Where a problem has chunks, the bounds are for that cut; where it has none, they
// hold for every one.
package bound

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Best returns the certificate with the largest bound, or nil if there is none
// above zero. An error means that p is not valid.
func Best(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	all, _, err := All(ctx, p)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// All returns the best certificate of each kind that yields something, the largest
// bound first. Each kind is looked for in a share of the time until the deadline of ctx; when
// that is over, or ctx is done, the best found by then is taken, and complete is false. It is
// deterministic where it is complete. It takes milliseconds for some 10 nodes, and
// seconds for some 1000: see the limits in search.go.
func All(ctx context.Context, p *model.Problem) (all []*model.Certificate, complete bool, err error) {
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
	searches = append(searches, f.coverage, f.partition, f.cuts, f.prices)
	complete = true
	for i, search := range searches {
		share, done := budget.Share(len(searches) - i)
		f.budget = share
		if bound, w := search(); bound > 0 && bound < model.MaxTime {
			all = append(all, &model.Certificate{Problem: p, Bound: bound, Witness: w})
		}
		complete = complete && share.Stop() == 0
		done()
	}
	slices.SortStableFunc(all, func(a, b *model.Certificate) int {
		return cmp.Or(cmp.Compare(b.Bound, a.Bound), cmp.Compare(simplicity(a.Witness), simplicity(b.Witness)))
	})
	return all, complete, nil
}

// simplicity orders witnesses that yield the same: the one that is easier to see
// comes first.
func simplicity(w model.Witness) int {
	kinds := []string{"ingress", "egress", "distance", "volume", "cut", "partition", "coverage", "doubling", "broadcast", "combine", "prices"}
	return slices.Index(kinds, w.Kind())
}

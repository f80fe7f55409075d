// Package bound finds lower bounds on the makespan of every schedule of a problem,
// each as a certificate: a set of nodes, a rank, a path, prices of links. It
// searches, in floating point where that is quicker; what a witness yields it then
// computes in exact integers. Nobody has to believe it: package verify/cert, which
// shares no code with this one, computes the same again and proves why it is a bound.
//
// Where a problem has chunks, the bounds are for that cut; where it has none, they
// hold for every one.
package bound

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Best returns the certificate with the largest bound, or nil if there is none
// above zero. An error means that p is not valid.
func Best(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	all, err := All(ctx, p)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// All returns the best certificate of each kind that yields something, the largest
// bound first. The search for sets of nodes and for prices stops early when ctx is
// done; what it has by then is returned. It is deterministic otherwise. It takes
// milliseconds for some 10 nodes, and seconds for some 1000: see the limits in
// search.go.
func All(ctx context.Context, p *model.Problem) ([]*model.Certificate, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	f := newFinder(p)
	var all []*model.Certificate
	add := func(bound model.Time, w model.Witness) {
		if bound > 0 && bound < model.MaxTime {
			all = append(all, &model.Certificate{Problem: p, Bound: bound, Witness: w})
		}
	}
	add(f.ranks(true))
	add(f.ranks(false))
	add(f.volume())
	add(f.partition(ctx))
	add(f.distance())
	if p.Cost == model.Rounds {
		add(f.doubling())
		add(f.spread())
		add(f.combine())
	}
	add(f.cuts(ctx))
	add(f.prices(ctx))
	slices.SortStableFunc(all, func(a, b *model.Certificate) int {
		return cmp.Or(cmp.Compare(b.Bound, a.Bound), cmp.Compare(simplicity(a.Witness), simplicity(b.Witness)))
	})
	return all, nil
}

// simplicity orders witnesses that yield the same: the one that is easier to see
// comes first.
func simplicity(w model.Witness) int {
	kinds := []string{"ingress", "egress", "distance", "volume", "cut", "partition", "doubling", "broadcast", "combine", "prices"}
	return slices.Index(kinds, w.Kind())
}

package bound

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// maxPathCosts is up to how many members times links Quick looks for what an alltoall pays where
// all links have the same price.
const maxPathCosts = 1 << 22

// Quick returns the best of a few proposals that are found in O(links·log links +
// chunks·members) time, for problems that are too large for All: what must enter or leave the
// members with the narrowest links, what all links together must carry, of a smaller
// alltoall at equal prices, and how far the contribution of a member on the periphery has to go. When ctx is done it returns the best
// of those that it has. It returns nil if none is above zero. Custom collectives are served
// where they are like a standard one, and get nil elsewhere.
func Quick(ctx context.Context, p *model.Problem) (*Proposal, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	budget, cancel := solve.NewBudget(ctx, 0, 1)
	defer cancel()
	f := newFinder(budget, p)
	if f == nil || f.kind == model.Custom {
		return nil, nil
	}
	best := &Proposal{Problem: p}
	better := func(estimate model.Time, w model.Witness) {
		if estimate > best.Estimate {
			best.Estimate, best.Witness = estimate, w
		}
	}
	for _, ingress := range []bool{true, false} {
		if budget.Spent() {
			break
		}
		links := f.out
		if ingress {
			links = f.in
		}
		r := f.narrow(links)
		inside := slices.Repeat([]bool{ingress}, f.t.Nodes())
		inside[r] = !ingress
		l := f.newLoad()
		if f.leaving(&scope{inside: inside}, l); l.count == 0 {
			continue
		}
		bound := f.passage(f.lanes(links[r], l, true, nil), l).by()
		if ingress {
			better(bound, model.Ingress{Rank: r})
		} else {
			better(bound, model.Egress{Rank: r})
		}
	}
	if f.kind == model.AllReduce || f.kind == model.AllToAll { // of others no more than a rank's
		better(f.volume())
	}
	if f.kind == model.AllToAll && len(f.t.Links) > 0 && len(f.members)*len(f.t.Links) <= maxPathCosts {
		better(f.priced(slices.Repeat([]float64{1}, len(f.t.Links))))
	}
	outer := f.members[0]
	for i := 0; i < 2 && !budget.Spent(); i++ { // the farthest from anywhere is on the periphery
		parts := f.from(outer)
		if len(parts) == 0 {
			break
		}
		largest := parts[0]
		for _, i := range parts {
			if f.shape(i).most > f.shape(largest).most {
				largest = i
			}
		}
		size := f.shape(largest).most
		wanted := slices.Repeat([]int32{-1}, f.t.Ranks) // by rank: a part that it must receive
		for _, i := range parts {
			if f.shape(i).most == size && !f.toAll {
				wanted[f.parts[i].dst] = i
			}
		}
		for _, d := range f.members {
			if f.toAll {
				wanted[d] = largest
			}
		}
		set := make([]bool, f.t.Ranks)
		set[outer] = true
		at := f.reach(f.starts(set, true), size, false, true)
		far := outer
		for _, d := range f.members {
			if wanted[d] >= 0 && d != outer && at.full[d] < model.MaxTime && (far == outer || at.full[d] > at.full[far]) {
				far = d
			}
		}
		if far == outer {
			break
		}
		if at.full[far] > best.Estimate {
			w := model.Distance{Source: outer, Dest: far, Potential: finite(at.full)}
			w.Chunk, w.Shard = f.name(wanted[far])
			if len(f.t.Switches) > 0 {
				w.Head = finite(at.head)
			}
			better(at.full[far], w)
		}
		outer = far
	}
	if best.Witness == nil || best.Estimate <= 0 || best.Estimate >= model.MaxTime {
		return nil, nil
	}
	return best, nil
}

// narrow returns the member whose links have the least bandwidth in all.
func (f *finder) narrow(links [][]int) int {
	narrow, least := -1, int64(0)
	for _, r := range f.members {
		sum := int64(0)
		for _, l := range links[r] {
			sum += min(f.t.Links[l].Bandwidth, 1<<50)
		}
		if narrow < 0 || sum < least {
			narrow, least = r, sum
		}
	}
	return narrow
}

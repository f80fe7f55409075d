package bound

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Quick returns the best of a few certificates that are found in O(links·log links +
// chunks·members) time, for problems that are too large for All: what must enter the member
// with the narrowest links, and how far the contribution of a member on the rim has to go.
// It returns nil if none is above zero. Custom collectives are not served, and get nil.
func Quick(p *model.Problem) (*model.Certificate, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Collective.Kind == model.Custom {
		return nil, nil
	}
	f := newFinder(p)
	narrow, least := -1, int64(0)
	for _, r := range f.members {
		sum := int64(0)
		for _, l := range f.in[r] {
			sum += min(f.t.Links[l].Bandwidth, 1<<50)
		}
		if narrow < 0 || sum < least {
			narrow, least = r, sum
		}
	}
	inside := slices.Repeat([]bool{true}, f.t.Nodes())
	inside[narrow] = false
	l := f.newLoad()
	f.leaving(&scope{inside: inside}, l)
	best := &model.Certificate{Problem: p}
	if l.count > 0 {
		best.Bound, best.Witness = f.passage(f.lanes(f.in[narrow], l, true, nil), l).by(), model.Ingress{Rank: narrow}
	}
	rim := f.members[0]
	for range 2 { // the farthest from anywhere is on the rim
		parts := f.from(rim)
		if len(parts) == 0 {
			break
		}
		largest := parts[0]
		for _, i := range parts {
			if f.shape(i).most > f.shape(largest).most {
				largest = i
			}
		}
		to := f.members
		if !f.toAll {
			to = []int{int(f.parts[largest].dst)}
		}
		set := make([]bool, f.t.Ranks)
		set[rim] = true
		at := f.reach(f.starts(set, true), f.shape(largest).most, false, true)
		far := rim
		for _, d := range to {
			if d != rim && at.full[d] < model.MaxTime && (far == rim || at.full[d] > at.full[far]) {
				far = d
			}
		}
		if far == rim {
			break
		}
		if at.full[far] > best.Bound {
			w := model.Distance{Source: rim, Dest: far, Potential: finite(at.full)}
			w.Chunk, w.Shard = f.name(largest)
			if len(f.t.Switches) > 0 {
				w.Head = finite(at.head)
			}
			best.Bound, best.Witness = at.full[far], w
		}
		rim = far
	}
	if best.Witness == nil || best.Bound <= 0 || best.Bound >= model.MaxTime {
		return nil, nil
	}
	return best, nil
}

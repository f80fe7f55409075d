package cert

import (
	"github.com/oraccl/oraccl/model"
)

// volume checks the bound that the number of receives yields. Every transfer has a
// last link, which enters its destination; two transfers share it only if they
// follow each other, for the branches of a multicast part before. So by (d), with
// all links that enter ranks, the receives that a collective needs take their time.
//
// How many receives does a unit need? Every rank that must end with something
// other than what it has needs one. Where contributions are reduced, there are
// more:
//
// Lemma. Let each of m >= 2 contributions be at one rank at the start, at different
// ranks, and let g ranks have to end with all of them. Then there are at least
// m-1 + g-1 transfers.
//
// Proof. Let f be a rank that is the first to hold all m, at t0. [Some rank comes
// to it, since g >= 1 and m >= 2.] Each of the holders other than f, m-1 at least,
// has sent a transfer that was part of how its contribution came to f. [These have
// different sources, so they are different.] They end at or before t0. Each of the
// g-1 or more other ranks that must hold all m is brought to it by a receive that
// ends at or after t0. [f was first.] Such a receive is none of the former: what
// it brings would have to be sent on, by a transfer that ends after t0, to come to
// f. [Transfers last longer than 0.] So the two kinds are different.
func (p question) volume(bound model.Time) string {
	var n need
	for u, c := range p.units.Chunks {
		if receives := int64(receives(p.units, u)); receives > 0 {
			n.add(receives, c.Size)
		}
	}
	if n.count == 0 {
		return "no rank must receive anything"
	}
	groups := make([][]int, p.Topology.Ranks)
	for i, l := range p.Topology.Links {
		if p.Topology.IsRank(l.Dst) {
			groups[l.Dst] = append(groups[l.Dst], i)
		}
	}
	return p.passing(n, groups, p.Cost == model.Rounds, bound)
}

// receives returns a number of receives that a unit needs at least.
func receives(q *model.Problem, unit int) int {
	at := map[int]model.Value{}
	for r, v := range q.Start(unit) {
		at[r] = v
	}
	switch kind := q.Collective.Kind; {
	case kind.Reduces() && len(at) >= 2: // the lemma: every member has its own contribution
		goals := 0
		for range q.Goal(unit) {
			goals++
		}
		return len(at) - 1 + goals - 1
	default:
		n := 0
		for r, want := range q.Goal(unit) {
			if has, ok := at[r]; !ok || !contains(has, want) {
				n++
			}
		}
		return n
	}
}

// contains says whether every contribution of want is in has.
func contains(has, want model.Value) bool {
	in := map[int]bool{}
	for j := range has.Terms() {
		in[j] = true
	}
	for j := range want.Terms() {
		if !in[j] {
			return false
		}
	}
	return true
}

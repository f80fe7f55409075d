package cert

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// times holds for each node the least time at which something can be there: full,
// the whole of a chunk; head, its first byte; origin, the start of the hop that
// brings it. For a rank all three are the time at which it can send on.
type times struct{ full, head, origin []model.Time }

// arrivals returns the least times at which chunks of size bytes or more can be at
// each node that are at rank r from start[r] on; MaxTime is never. Ranks arrive at
// release, nil for 0. It takes O(links·nodes), and mostly O(links·diameter).
//
// Lemma (times). In every schedule, a transfer of such a chunk that occupies a link
// leaving node v begins to do so at head[v] or later, in a hop that starts at
// origin[v] or later; and where v is a rank that does not have the chunk at the
// start, no transfer has brought it there before full[v].
//
// Proof, by induction on the number of links that a piece of the chain of (arrive)
// has passed, its hops one after the other. At a rank where it starts: by (late).
// Let a link lead from u to v. [The loop below ended without lowering a value along
// it, so the values at v are at most those computed from u.] The first byte is at v
// α after it was at u. Where v is a switch, the hop goes on, and its origin is that
// at u. Where v is a rank, the hop ends; by (hop) that is at s + Σα + τ', τ' being
// the greatest τ so far: no earlier than α + τ after the head was at u, and no
// earlier than α after the sum of the links before, which full[u] bounds likewise;
// and since s is no earlier than v's release [(late)], no earlier than that + α + τ.
func (j *job) arrivals(t *model.Topology, release, start []model.Time, size int64) times {
	never := slices.Repeat([]model.Time{model.MaxTime}, t.Nodes())
	a := times{never, slices.Clone(never), slices.Clone(never)}
	tau := make([]model.Time, len(t.Links))
	for i, l := range t.Links {
		tau[i] = model.TransferTime(size, l.Bandwidth)
	}
	at := func(r int) model.Time {
		if release == nil {
			return 0
		}
		return release[r]
	}
	lowered := false
	lower := func(v *model.Time, to model.Time) {
		if to < *v {
			*v, lowered = to, true
		}
	}
	for r, s := range start {
		if s != model.MaxTime {
			s = max(s, at(r))
			a.full[r], a.head[r], a.origin[r] = s, s, s
		}
	}
	for again := true; again && j.work.Go(len(t.Links)); again = lowered {
		lowered = false
		for i, l := range t.Links {
			if a.head[l.Src] == model.MaxTime {
				continue
			}
			head := a.head[l.Src].Add(l.Alpha)
			full := max(a.full[l.Src].Add(l.Alpha), head.Add(tau[i]))
			origin := a.origin[l.Src]
			if t.IsRank(l.Dst) {
				full = max(full, at(l.Dst).Add(l.Alpha).Add(tau[i]))
				head, origin = full, full
			}
			lower(&a.full[l.Dst], full)
			lower(&a.head[l.Dst], head)
			lower(&a.origin[l.Dst], origin)
		}
	}
	return a
}

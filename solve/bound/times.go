package bound

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// reached holds for each node when something can be there at the earliest: the whole
// of it, its first byte, and the start of the hop that brings it.
type reached struct{ full, head, origin []model.Time }

// reach returns when a chunk of size bytes can be where, that is at rank r from
// start[r] on (MaxTime: never). With late, ranks arrive when the problem says; with
// back, links are walked backwards. It corrects labels from a queue of nodes, which
// takes O(links) where paths with few links are short.
func (f *finder) reach(start []model.Time, size int64, back, late bool) reached {
	return f.reachAmong(nil, start, size, back, late)
}

// reachAmong is reach over links between nodes of a set, nil for all.
func (f *finder) reachAmong(among []bool, start []model.Time, size int64, back, late bool) reached {
	n := f.t.Nodes()
	never := slices.Repeat([]model.Time{model.MaxTime}, n)
	r := reached{never, slices.Clone(never), slices.Clone(never)}
	arrives := func(v int) model.Time {
		if !late {
			return 0
		}
		return f.p.ReleaseOf(v)
	}
	var queue []int
	queued := make([]bool, n)
	push := func(v int) {
		if !queued[v] {
			queued[v] = true
			queue = append(queue, v)
		}
	}
	for v, at := range start {
		if at < model.MaxTime {
			at = max(at, arrives(v))
			r.full[v], r.head[v], r.origin[v] = at, at, at
			push(v)
		}
	}
	links := f.out
	if back {
		links = f.in
	}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		queued[u] = false
		for _, i := range links[u] {
			l := &f.t.Links[i]
			v := l.Src + l.Dst - u
			if among != nil && !(among[u] && among[v]) {
				continue
			}
			beta := model.TransferTime(size, l.Bandwidth)
			head := r.head[u].Add(l.Alpha)
			full := max(head.Add(beta), r.full[u].Add(l.Alpha))
			origin := r.origin[u]
			if f.t.IsRank(v) {
				full = max(full, arrives(v).Add(l.Alpha).Add(beta))
				head, origin = full, full
			}
			if full < r.full[v] || head < r.head[v] || origin < r.origin[v] {
				r.full[v], r.head[v], r.origin[v] = min(full, r.full[v]), min(head, r.head[v]), min(origin, r.origin[v])
				push(v)
			}
		}
	}
	return r
}

// starts returns when each rank of a set can send: as soon as it has arrived.
func (f *finder) starts(set []bool, late bool) []model.Time {
	at := make([]model.Time, len(set))
	for r, in := range set {
		switch {
		case !in:
			at[r] = model.MaxTime
		case late:
			at[r] = f.p.ReleaseOf(r)
		}
	}
	return at
}

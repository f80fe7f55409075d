package bound

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// distance returns the bound of the contribution that has farthest to go.
func (f *finder) distance() (model.Time, model.Witness) {
	var best model.Time
	var witness model.Distance
	type way struct {
		part   int32
		source int
		at     []int // the ranks that have it
		dest   []int // the ranks that need it
	}
	type key struct {
		source int
		size   int64
	}
	var last key
	var at reached
	try := func(w way) {
		if len(w.at) == 0 || len(w.dest) == 0 || f.budget.Spent() {
			return
		}
		if k := (key{w.source, f.shape(w.part).most}); k != last || f.custom != nil || at.full == nil {
			set := make([]bool, f.t.Ranks)
			for _, r := range w.at {
				set[r] = true
			}
			at, last = f.reach(f.starts(set, true), k.size, false, true), k
		}
		for _, d := range w.dest {
			if slices.Contains(w.at, d) || at.full[d] == model.MaxTime || at.full[d] <= best {
				continue
			}
			best = at.full[d]
			witness = model.Distance{Source: w.source, Dest: d, Potential: finite(at.full)}
			witness.Chunk, witness.Shard = f.name(w.part)
			if len(f.t.Switches) > 0 {
				witness.Head = finite(at.head)
			}
		}
	}
	switch {
	case f.custom != nil:
		for i := range f.custom {
			d := &f.custom[i]
			for c := range f.t.Ranks {
				if f.budget.Spent() {
					break
				}
				w := way{int32(i), c, nil, nil}
				for j, r := range d.src {
					if has(d.pre[j], c) {
						w.at = append(w.at, r)
					}
				}
				for j, r := range d.dst {
					if has(d.post[j], c) {
						w.dest = append(w.dest, r)
					}
				}
				try(w)
			}
		}
	default:
		for _, r := range f.members {
			if f.budget.Spent() {
				break
			}
			dests := map[int]int32{} // to the part with the largest chunk that goes there from r
			for _, i := range f.from(r) {
				to := f.members
				if !f.toAll {
					to = []int{int(f.parts[i].dst)}
				}
				for _, d := range to {
					if j, ok := dests[d]; !ok || f.shape(i).most > f.shape(j).most {
						dests[d] = i
					}
				}
			}
			byPart := map[int32][]int{}
			for _, d := range f.members {
				if i, ok := dests[d]; ok {
					byPart[i] = append(byPart[i], d)
				}
			}
			var parts []int32
			for i := range byPart {
				parts = append(parts, i)
			}
			slices.Sort(parts)
			for _, i := range parts {
				try(way{i, r, []int{r}, byPart[i]})
			}
		}
	}
	return best, witness
}

// name returns how a witness names the largest chunk of a part.
func (f *finder) name(i int32) (chunk, shard int) {
	k := int(f.parts[i].first)
	if f.p.Chunks == nil {
		return -1, k
	}
	for f.p.Chunks[k].Size != f.shape(i).most {
		k++
	}
	return k, f.p.Shard(k)
}

// finite replaces times that are never reached by ones that every path keeps.
func finite(times []model.Time) []model.Time {
	const far = model.MaxTime / 16
	list := slices.Clone(times)
	for i := range list {
		list[i] = min(list[i], far)
	}
	return list
}

package bound

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// doubling returns the bound of how fast the ranks that have a contribution can grow
// in number: they at most double in a round.
func (f *finder) doubling() (model.Time, model.Witness) {
	var best model.Time
	var witness model.Doubling
	if f.copies {
		return 0, nil
	}
	try := func(i int32, source int, holders []int, n int) {
		if n <= len(holders) {
			return
		}
		first := model.MaxTime
		for _, r := range holders {
			first = min(first, f.p.ReleaseOf(r))
		}
		if t := first.Add(f.round(f.shape(i).most, -1, -1).Mul(int64(logarithm(n, len(holders))))); t > best && t < model.MaxTime {
			best, witness = t, model.Doubling{Source: source}
			witness.Chunk, witness.Shard = f.name(i)
		}
	}
	if f.custom == nil {
		for _, r := range f.members {
			if f.budget.Spent() {
				break
			}
			most := int32(-1) // of the parts from r the one with the largest chunk
			for _, i := range f.from(r) {
				if most < 0 || f.shape(i).most > f.shape(most).most {
					if f.dependants(i, r) > 0 {
						most = i
					}
				}
			}
			if most >= 0 {
				try(most, r, []int{r}, f.dependants(most, r)+1)
			}
		}
		return best, witness
	}
	for i := range f.custom {
		if f.budget.Spent() {
			break
		}
		d := &f.custom[i]
		for c := range f.t.Ranks {
			var holders []int
			all := map[int]bool{}
			for j, r := range d.src {
				if has(d.pre[j], c) {
					holders = append(holders, r)
					all[r] = true
				}
			}
			for j, r := range d.dst {
				if has(d.post[j], c) {
					all[r] = true
				}
			}
			if len(holders) > 0 {
				try(int32(i), c, holders, len(all))
			}
		}
	}
	return best, witness
}

// logarithm returns ⌈log2(n/h)⌉.
func logarithm(n, h int) int {
	r := 0
	for h < n {
		h *= 2
		r++
	}
	return r
}

// round returns the least time of a round in which size bytes leave rank src and
// enter rank dst over one link or several, -1 being any rank.
func (f *finder) round(size int64, src, dst int) model.Time {
	least := model.MaxTime
	for i := range f.t.Links {
		l := &f.t.Links[i]
		if (src < 0 || l.Src == src) && (dst < 0 || l.Dst == dst) && (src >= 0 || dst >= 0 || f.t.IsRank(l.Src)) {
			least = min(least, f.beside(i).Add(model.TransferTime(size, l.Bandwidth)))
		}
	}
	return least
}

// stages collects parts by how many rounds each of their chunks needs, from 1 on: a
// part is in every stage up to that.
type stages []load

func (s *stages) add(rounds int, h *shape) {
	for len(*s) < rounds {
		*s = append(*s, load{})
	}
	for r := range rounds {
		(*s)[r].add(h, 1)
	}
}

// each calls with for every stage: how long its own rounds take, and the others.
func (f *finder) each(s stages, src, dst int, with func(own, more model.Time)) {
	for r := range s {
		l := &s[r]
		own := model.Time(0)
		for _, z := range l.sizes {
			own = own.Add(f.round(z.size, src, dst).Mul(z.n))
		}
		if f.free {
			own = f.round(l.bytes, src, dst)
		}
		more := model.Time(0)
		if r > 0 {
			more = f.round(l.least, -1, -1).Mul(int64(r))
		}
		with(own, more)
	}
}

// spread returns the bound of a rank that alone has what others need.
func (f *finder) spread() (model.Time, model.Witness) {
	var best model.Time
	var witness model.Witness
	for h := range f.t.Ranks {
		if f.budget.Spent() {
			break
		}
		var s stages
		add := func(i int32) {
			if n := f.dependants(i, h); n > 0 && f.copies {
				s.add(1, f.shape(i))
			} else if n > 0 {
				s.add(logarithm(n+1, 1), f.shape(i))
			}
		}
		for i := range f.custom {
			add(int32(i))
		}
		if f.custom == nil {
			for _, i := range f.from(h) {
				add(i)
			}
		}
		f.each(s, h, -1, func(own, more model.Time) {
			if t := f.p.ReleaseOf(h).Add(own).Add(more); t > best && t < model.MaxTime {
				best, witness = t, model.Spread{Source: h}
			}
		})
	}
	return best, witness
}

// dependants returns how many other ranks need of a part what rank h alone has.
func (f *finder) dependants(i int32, h int) int {
	if f.custom == nil { // and h is where it comes from
		switch {
		case f.toAll:
			return len(f.members) - 1
		case int(f.parts[i].dst) == h:
			return 0
		}
		return 1
	}
	d := &f.custom[i]
	most := 0
	for c := range f.t.Ranks {
		mine, others, n := false, false, 0
		for j, r := range d.src {
			if has(d.pre[j], c) {
				mine, others = mine || r == h, others || r != h
			}
		}
		for j, r := range d.dst {
			if r != h && has(d.post[j], c) {
				n++
			}
		}
		if mine && !others {
			most = max(most, n)
		}
	}
	return most
}

// rounds returns how many rounds a rank needs to have as many contributions as are wanted, if
// each rank has some at first.
func (f *finder) rounds(want, have int) int {
	if f.adds {
		return 1
	}
	return max(1, logarithm(want, have))
}

// combine returns the bound of a rank that must end with what many have.
func (f *finder) combine() (model.Time, model.Witness) {
	var best model.Time
	var witness model.Witness
	first := model.MaxTime
	for r := range f.t.Ranks {
		first = min(first, f.p.ReleaseOf(r))
	}
	for d := range f.t.Ranks {
		if f.budget.Spent() {
			break
		}
		var s stages
		for i := range f.custom {
			c := &f.custom[i]
			if !f.unsettled(int32(i), d) || len(c.src) == 0 {
				continue
			}
			have, want := 0, c.post[slices.Index(c.dst, d)].Len()
			for _, v := range c.pre {
				have = max(have, v.Len())
			}
			s.add(f.rounds(want, have), f.shape(int32(i)))
		}
		if f.custom == nil {
			for _, i := range f.to(d) {
				switch {
				case !f.unsettled(i, d):
				case f.fromAll:
					s.add(f.rounds(len(f.members), 1), f.shape(i))
				default:
					s.add(1, f.shape(i))
				}
			}
		}
		f.each(s, -1, d, func(own, more model.Time) {
			if t := max(f.p.ReleaseOf(d), first.Add(more)).Add(own); t > best && t < model.MaxTime {
				best, witness = t, model.Combine{Dest: d}
			}
		})
	}
	return best, witness
}

package bound

import "github.com/oraccl/oraccl/model"

func (f *finder) ingress() (model.Time, model.Witness) { return f.ranks(true) }
func (f *finder) egress() (model.Time, model.Witness)  { return f.ranks(false) }

// ranks returns the best bound of what must enter, or leave, one rank.
func (f *finder) ranks(ingress bool) (model.Time, model.Witness) {
	var best model.Time
	var witness model.Witness
	s := scope{inside: make([]bool, f.t.Nodes())}
	for r := range f.t.Ranks {
		if f.budget.Spent() {
			break
		}
		for v := range s.inside {
			s.inside[v] = (v == r) != ingress
		}
		l := f.newLoad()
		f.leaving(&s, l)
		links := f.out[r]
		if ingress {
			links = f.in[r]
			f.changing(&s, r, l)
		}
		if l.count == 0 {
			continue
		}
		if t := f.passage(f.lanes(links, l, true, nil), l).by(); t > best {
			best = t
			if witness = (model.Egress{Rank: r}); ingress {
				witness = model.Ingress{Rank: r}
			}
		}
	}
	return best, witness
}

// changing adds to l the parts that need not enter a rank for a contribution that
// only others have, but whose slot there must change all the same. Only custom
// collectives have such.
func (f *finder) changing(s *scope, rank int, l *load) {
	for i := range f.custom {
		one := &load{}
		if f.leavingCustom(s, i, one); one.count > 0 || !f.unsettled(int32(i), rank) {
			continue
		}
		l.add(f.shape(int32(i)), 1)
		l.dst[rank] = true
		for _, r := range f.custom[i].src {
			l.src[r] = true
		}
	}
}

// volume returns the bound of the transfers that the collective needs: one for each
// rank that must end with something else than it has, and, for those that combine
// the contributions of m ranks for g ranks, m-1 + g-1.
func (f *finder) volume() (model.Time, model.Witness) {
	l := f.newLoad()
	for i := range f.parts {
		if n := f.transfers(int32(i)); n > 0 {
			l.add(f.shape(int32(i)), int64(n))
		}
		if f.custom != nil {
			for _, r := range f.custom[i].src {
				l.src[r] = true
			}
		} else if !f.fromAll {
			l.src[f.parts[i].src] = true
		}
	}
	for _, r := range f.members {
		l.src[r] = l.src[r] || f.fromAll
	}
	best := f.entering(l)
	if best == 0 {
		return 0, nil
	}
	for _, since := range f.lateTimes() {
		if f.budget.Spent() {
			break
		}
		best = max(best, f.entering(f.lateLoad(since)))
	}
	return max(best, f.readingRanks()), model.Volume{}
}

// entering returns by when a load can have passed the links that enter ranks, and those
// that leave ranks.
func (f *finder) entering(l *load) model.Time {
	for r := range l.dst {
		l.dst[r] = true
	}
	if l.count == 0 {
		return 0
	}
	var in, out []int
	for i := range f.t.Links {
		if f.t.IsRank(f.t.Links[i].Dst) {
			in = append(in, i)
		}
		if f.t.IsRank(f.t.Links[i].Src) {
			out = append(out, i)
		}
	}
	if f.copies && f.adds {
		return f.reading(f.lanes(append(in, out...), l, true, nil), l)
	}
	return f.either(in, out, l, !f.adds, !f.copies)
}

// either returns by when a load can have passed the links in, and the links out, where what
// it counts passes them one by one.
func (f *finder) either(in, out []int, l *load, apartIn, apartOut bool) (best model.Time) {
	if apartIn {
		best = f.passage(f.lanes(in, l, true, nil), l).by()
	}
	if apartOut {
		best = max(best, f.passage(f.lanes(out, l, true, nil), l).by())
	}
	return best
}

// transfers returns how many transfers each chunk of a part needs at least.
func (f *finder) transfers(i int32) int {
	n := len(f.members)
	if f.custom == nil {
		q := &f.parts[i]
		switch {
		case f.fromAll && f.toAll:
			return 2 * (n - 1)
		case f.fromAll || f.toAll:
			return n - 1
		case q.src == q.dst:
			return 0
		}
		return 1
	}
	if m, g := combined(&f.custom[i]); m >= 2 && g >= 1 {
		return m - 1 + g - 1
	}
	n = 0
	for _, r := range f.custom[i].dst {
		if f.unsettled(i, r) {
			n++
		}
	}
	return n
}

// combined returns how many single contributions there are at first and how many
// ranks must end with all of them, m = 0 if not all are single and different.
func combined(d *conditions) (m, g int) {
	at := map[int]bool{}
	for _, v := range d.pre {
		c, single := v.Single()
		if !single || at[c] {
			return 0, 0
		}
		at[c] = true
	}
	for _, want := range d.post {
		n := 0
		for c := range want.Terms() {
			if at[c] {
				n++
			}
		}
		if n == len(at) {
			g++
		}
	}
	return len(at), g
}

func has(v model.Value, contribution int) bool {
	for c := range v.Terms() {
		if c == contribution {
			return true
		}
	}
	return false
}

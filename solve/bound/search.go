package bound

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of the search for sets of nodes. It is a heuristic for alltoall and custom
// collectives, whose best cut is hard to find, and also where latencies and chunks
// matter as much as bytes do.
const (
	// keep is how many of the best sets are looked at closely.
	keep = 12
	// steps limits the work: one step looks at one link or one part of the problem.
	steps = 40_000_000
)

// search looks for the sets of nodes whose bound is largest.
type search struct {
	*finder
	value func(inside []bool) model.Time // of a set: what it yields at least, or 0 if that is no better than the best
	alike []uint64                       // by node: a number that those have in common that look alike; nil: not known
	seen  map[string]bool
	best  []candidate // by descending bound, at most keep
	left  int         // steps
	buf   []lane
	work  []int
}

type candidate struct {
	bound  model.Time
	inside []bool
}

// cuts returns the best bound of a set of nodes, with the ranks from and to which
// the ways are worth counting.
func (f *finder) cuts() (model.Time, model.Witness) {
	s := &search{finder: f, left: steps}
	s.value = s.leaves
	if n := f.t.Nodes(); n <= 20 && s.price()<<n <= steps/4 {
		s.everySet()
	} else {
		s.seen = map[string]bool{}
		s.singles()
		s.minimum()
		s.clusters()
		s.grids()
		s.balls()
		s.climb()
	}
	var best model.Time
	var witness model.Cut
	for i, c := range s.best {
		if i > 0 && s.budget.Spent() {
			break
		}
		if bound, w := s.closely(c.inside); bound > best {
			best, witness = bound, w
		}
	}
	return best, witness
}

// price is how many steps it takes to look at a set.
func (s *search) price() int {
	if s.many() {
		return len(s.t.Links) + s.t.Nodes()
	}
	return len(s.parts) + len(s.t.Links) + s.t.Nodes()
}

// many reports whether there are too many parts to look at each of them for every set:
// those of an alltoall, which are as good as equal.
func (s *search) many() bool {
	return s.p.Collective.Kind == model.AllToAll && len(s.parts) > 1<<12
}

// roughly adds to l what must leave a set, by the average of all parts if there are
// many.
func (s *search) roughly(inside []bool, l *load) {
	if !s.many() {
		s.leaving(&scope{inside: inside}, l)
		return
	}
	in := int64(0)
	for _, r := range s.members {
		if inside[r] {
			in++
		}
	}
	pairs := in * (int64(len(s.members)) - in)
	if pairs == 0 {
		return
	}
	h := s.shapes[0]
	h.bytes = s.p.Space() / int64(len(s.parts))
	h.sizes = []sized{{h.least, h.chunks}}
	l.add(&h, pairs)
}

// stopped reports whether the search must end.
func (s *search) stopped() bool { return s.left <= 0 || s.budget.Spent() }

// singles tries every node alone and every node left out, of those that look alike one.
func (s *search) singles() {
	fresh := s.fresh()
	for v := range s.t.Nodes() {
		if s.stopped() {
			return
		}
		if !fresh(v) {
			continue
		}
		inside := make([]bool, s.t.Nodes())
		inside[v] = true
		s.try(inside)
		s.try(complement(inside))
	}
}

// fresh returns a function that reports whether none of the nodes that it was asked for before looks like one.
func (s *search) fresh() func(v int) bool {
	seen := map[uint64]bool{}
	return func(v int) bool {
		if s.alike == nil {
			return true
		}
		known := seen[s.alike[v]]
		seen[s.alike[v]] = true
		return !known
	}
}

// everySet tries all sets.
func (s *search) everySet() {
	n := s.t.Nodes()
	inside := make([]bool, n)
	for set := 1; set < 1<<n-1 && !s.stopped(); set++ {
		for v := range n {
			inside[v] = set>>v&1 == 1
		}
		s.try(inside)
	}
}

// try looks at a set, remembers it if it is one of the best, and returns its bound,
// or 0 if it is no better than those.
func (s *search) try(inside []bool) model.Time {
	if s.stopped() {
		return 0
	}
	if s.seen != nil { // nil while every set is tried once
		key := string(packed(inside))
		if s.seen[key] {
			return 0
		}
		s.seen[key] = true
	}
	t := s.value(inside)
	if t == 0 || t == model.MaxTime {
		return 0
	}
	s.best = append(s.best, candidate{t, slices.Clone(inside)})
	slices.SortStableFunc(s.best, func(a, b candidate) int { return cmp.Compare(b.bound, a.bound) })
	s.best = s.best[:min(len(s.best), keep)]
	return t
}

// leaves returns the bound of what must leave a set, all ranks counted.
func (s *search) leaves(inside []bool) model.Time {
	s.left -= s.price()
	l := &load{}
	s.roughly(inside, l)
	if l.count == 0 {
		return 0
	}
	s.work = s.work[:0]
	for i := range s.t.Links {
		if k := &s.t.Links[i]; inside[k.Src] && !inside[k.Dst] {
			s.work = append(s.work, i)
		}
	}
	s.buf = s.finder.lanes(s.work, l, false, s.buf[:0])
	p := s.passage(s.buf, l)
	if len(s.best) == keep && p.done(s.best[keep-1].bound) {
		return 0
	}
	return p.by()
}

func packed(inside []bool) []byte {
	key := make([]byte, (len(inside)+7)/8)
	for v, in := range inside {
		if in {
			key[v/8] |= 1 << (v % 8)
		}
	}
	return key
}

func complement(inside []bool) []bool {
	other := make([]bool, len(inside))
	for v := range inside {
		other[v] = !inside[v]
	}
	return other
}

// closely returns the best bound of a set of nodes, counting the ways to it and from
// it: of everything; of what the rank farthest from it must get; of what the rank
// farthest to it contributes; and of both.
func (s *search) closely(inside []bool) (best model.Time, witness model.Cut) {
	var links []int
	for i := range s.t.Links {
		if k := &s.t.Links[i]; inside[k.Src] && !inside[k.Dst] {
			links = append(links, i)
		}
	}
	l := s.newLoad()
	s.leaving(&scope{inside: inside}, l)
	from := s.farthest(links, l, true)
	to := s.farthest(links, l, false)
	for _, f := range append(from, nil) {
		for _, t := range append(to, nil) {
			if best > 0 && s.budget.Spent() {
				return best, witness
			}
			bound := s.worth(inside, links, f, t)
			if bound > best && bound < model.MaxTime {
				best, witness = bound, model.Cut{Nodes: members(inside), From: f, To: t}
			}
		}
	}
	return best, witness
}

// worth returns the bound of a set of nodes with everything counted.
func (s *search) worth(inside []bool, links, from, to []int) model.Time {
	l := s.newLoad()
	s.leaving(&scope{inside, s.set(from), s.set(to)}, l)
	if l.count == 0 {
		return 0
	}
	return s.passage(s.finder.lanes(links, l, true, nil), l).by()
}

// farthest returns the rank that has something of the load and is farthest from the
// links, walking backwards, or the one that needs something and is farthest behind
// them, each as a list of one; nothing if all are as near.
func (s *search) farthest(links []int, l *load, back bool) [][]int {
	start := slices.Repeat([]model.Time{model.MaxTime}, s.t.Ranks)
	ends := l.dst
	if back {
		ends = l.src
	}
	for _, i := range links {
		v := s.t.Links[i].Dst
		if back {
			v = s.t.Links[i].Src
		}
		if s.t.IsRank(v) {
			start[v] = 0
			continue
		}
		for r := range ends { // behind a switch: the ranks next to it
			if ends[r] && s.nextTo(v, r, back) {
				start[r] = 0
			}
		}
	}
	at := s.reach(start, l.least, back, false)
	far := -1
	for r, end := range ends {
		if end && at.full[r] < model.MaxTime && at.full[r] > 0 && (far < 0 || at.full[r] > at.full[far]) {
			far = r
		}
	}
	if far < 0 {
		return nil
	}
	return [][]int{{far}}
}

// nextTo reports whether a link leads from switch v to rank r, or back from r to v.
func (s *search) nextTo(v, r int, back bool) bool {
	links := s.out[v]
	if back {
		links = s.in[v]
	}
	return slices.ContainsFunc(links, func(i int) bool { return s.t.Links[i].Src+s.t.Links[i].Dst-v == r })
}

func (s *search) set(ranks []int) []bool {
	if ranks == nil {
		return nil
	}
	set := make([]bool, s.t.Ranks)
	for _, r := range ranks {
		set[r] = true
	}
	return set
}

func members(inside []bool) []int {
	var nodes []int
	for v, in := range inside {
		if in {
			nodes = append(nodes, v)
		}
	}
	return nodes
}

package symmetry

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// search looks for elements that make a group larger.
type search struct {
	ctx   context.Context
	net   *network
	o     Options
	work  int64
	root  *partition // by colours, refined
	r     *refiner
	index []int32    // by vertex: its rank in the order in which candidates are tried
	down  bool       // large indexes first
	rng   *rand.Rand // of the attempts after the first two
	bound int        // what the order of a group that moves all ranks and links divides
}

// Classes returns the number of a class of each node and, after them, each port of t: all of one class have as many links, of the same figures, to and from
// those of each other one (an equitable partition; labels are as in Options). Symmetries keep all in its class, but not all of a class need be images of one
// another. A linear program about t that is the same for all of a class has an optimum in which they are alike (Grohe, Kersting, Mladenov, Selman,
// "Dimension reduction via colour refinement", ESA 2014). It takes O(links·log links).
func Classes(t *model.Topology, labels []int) []int {
	root := newRefiner(newNetwork(t, labels)).stable()
	classes, numbers := make([]int, len(root.cell)), map[int32]int{}
	for v, c := range root.cell {
		if _, known := numbers[c]; !known {
			numbers[c] = len(numbers)
		}
		classes[v] = numbers[c]
	}
	return classes
}

// newSearch builds the graph and refines its colours.
func newSearch(ctx context.Context, t *model.Topology, o Options) *search {
	net := newNetwork(t, o.Labels)
	o.StayingOrbits = o.StayingOrbits && len(t.Links) > 0 // the ends of a link tell elements apart
	s := &search{ctx: ctx, net: net, o: o, work: o.Work, r: newRefiner(net)}
	if s.work == 0 {
		s.work = 1e8
	}
	s.root = s.r.stable()
	for v := range s.net.t.Ranks {
		s.bound = gcd(s.bound, int(s.root.size[s.root.cell[v]]))
	}
	if s.o.StayingLinks {
		return s
	}
	classes := map[[3]uint64]int{} // arcs by the cells of their ends: an orbit lies in one class
	for v, arcs := range s.net.arcs {
		for _, a := range arcs {
			classes[[3]uint64{uint64(s.root.cell[v]), uint64(s.root.cell[a.to]), a.colour}]++
		}
	}
	for key, n := range classes {
		if nodes := int32(s.net.t.Nodes()); s.root.order[key[0]] < nodes && s.root.order[key[1]] < nodes {
			s.bound = gcd(s.bound, n)
		}
	}
	return s
}

// shuffle chooses the order of the candidates: that of their numbers at the first attempt.
func (s *search) shuffle(attempt int) {
	n := s.net.vertices()
	s.index = make([]int32, n)
	for v := range s.index {
		s.index[v] = int32(v)
	}
	s.down, s.rng = attempt == 1, nil
	if attempt > 1 {
		s.rng = rand.New(rand.NewPCG(uint64(attempt), 0))
		s.rng.Shuffle(n, func(i, j int) { s.index[i], s.index[j] = s.index[j], s.index[i] })
	}
}

func (s *search) done() bool { return s.r.work > s.work || s.ctx.Err() != nil }

// most returns what the order of a group divides that moves every rank: the greatest common
// divisor of the sizes of cells and, where links must be moved too, of the numbers of arcs
// between them. It is as large as it can be where ranks may stay.
func (s *search) most() int {
	if s.o.StayingRanks {
		return maxImages
	}
	return max(1, s.bound)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// primes returns the prime factors of n, ascending, each once.
func primes(n int) []int {
	var list []int
	for p := 2; p*p <= n; p++ {
		if n%p == 0 {
			list = append(list, p)
		}
		for n%p == 0 {
			n /= p
		}
	}
	if n > 1 {
		list = append(list, n)
	}
	return list
}

// indexes returns the primes p for which h might have a group above it in which its index
// is p.
func (s *search) indexes(h *Group) []int {
	if !s.o.StayingRanks {
		all := primes(s.most() / h.Order())
		if s.rng != nil {
			s.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		} else if s.down {
			slices.Reverse(all)
		}
		return all
	}
	var all []int
	for v := range s.net.t.Ranks { // as many orbits are exchanged
		for p := range s.root.size[s.root.cell[v]] {
			if q := int(p) + 1; len(primes(q)) == 1 && primes(q)[0] == q && q <= 64 && !slices.Contains(all, q) {
				all = append(all, q)
			}
		}
	}
	slices.Sort(all)
	return all
}

// kind is what is asked of an element beside making the group larger.
type kind int

const (
	uniform kind = iota // it commutes with the group, and takes vertices of one colour equally far, as translations do
	central             // it commutes with the group
	normal              // it does not, but takes it to itself
)

// maxNormal limits the order of groups for which elements are looked for that do not commute
// with them: of these there may be as many kinds as the group has automorphisms.
const maxNormal = 64

// extend returns a group in which h is normal with a prime index, or nil if none is found.
func (s *search) extend(h *Group) *Group {
	all := s.indexes(h)
	for _, how := range []kind{uniform, central, normal} {
		if how == normal && (h.Order() == 1 || h.Order() > maxNormal) || how == uniform && s.net.far == nil {
			continue
		}
		for _, p := range all {
			if p*h.Order()*s.net.vertices() > maxImages {
				continue
			}
			e := newExtension(s, h, p, how)
			if g := e.find(); g != nil {
				return e.grown(g)
			}
			if s.done() {
				return nil
			}
		}
	}
	return nil
}

package cayley

import (
	"context"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// maxRanks is the size above which schedules are only handed out while they are made,
// and maxStreamed that above which no group is looked for.
const (
	maxRanks    = 4096
	maxStreamed = 1 << 20
)

// generator is a class of links that translations carry into each other: one leaves
// every rank v, for the rank v + step.
type generator struct {
	step  int
	link  model.Link // its figures; the ends are those of its link out of rank 0
	links []int      // by the rank that it leaves
	ways  [][][]int  // the same as lists of routes
}

// group is an abelian group Z_a × Z_b × ... whose elements are the ranks, numbered
// with the last coordinate running fastest, and under whose translations the
// network is the same.
type group struct {
	sides []int
	n     int
	gens  []generator
}

// add returns the element u + v, in O(len(sides)).
func (g *group) add(u, v int) int { return g.combine(u, v, 1) }

// sub returns the element u - v, in O(len(sides)).
func (g *group) sub(u, v int) int { return g.combine(u, v, -1) }

func (g *group) combine(u, v, sign int) int {
	sum, stride := 0, 1
	for i := len(g.sides) - 1; i >= 0; i-- {
		a := g.sides[i]
		sum += (u%a + sign*(v%a) + a) % a * stride
		u, v, stride = u/a, v/a, stride*a
	}
	return sum
}

// recognise returns the group with the fewest factors for which every translation
// maps the links onto the links, parallel ones and their figures included, and whose
// generators reach every rank; or nil. It tries every ordered factorisation of the
// number of ranks, so a ring is found as Z_n, a 4x6 torus as Z_4 × Z_6 and a
// hypercube as Z_2 × Z_2 × ..., under the usual numbering of the ranks only; of more
// than maxRanks ranks it tries those of up to three factors, and that into primes of 2. It
// looks at nothing but links: names do not matter. It takes O(factorisations · links) time.
func recognise(ctx context.Context, t *model.Topology) *group {
	if len(t.Switches) > 0 || len(t.Ports) > 0 || t.Ranks < 2 || t.Ranks > maxStreamed || len(t.Links)%t.Ranks != 0 {
		return nil
	}
	most := t.Ranks
	if t.Ranks > maxRanks {
		most = 3
	}
	all := factorisations(t.Ranks, most)
	if most == 3 && t.Ranks&(t.Ranks-1) == 0 {
		all = append(all, slices.Repeat([]int{2}, bits.TrailingZeros(uint(t.Ranks))))
	}
	slices.SortStableFunc(all, func(a, b []int) int { return len(a) - len(b) })
	out := t.Out()
	of := make([]int32, len(t.Links))
	for _, sides := range all {
		if ctx.Err() != nil {
			return nil
		}
		g := &group{sides: sides, n: t.Ranks}
		if g.generate(t, out, of) {
			return g
		}
	}
	return nil
}

// factorisations returns the ways to write n as an ordered product of factors of 2
// and more, of which there are at most this many.
func factorisations(n, most int) [][]int {
	all := [][]int{{n}}
	if most == 1 {
		return all
	}
	for a := 2; a <= n/2; a++ {
		if n%a == 0 {
			for _, rest := range factorisations(n/a, most-1) {
				all = append(all, append([]int{a}, rest...))
			}
		}
	}
	return all
}

// generate sorts the links into classes, and reports whether every rank has one link of
// each. It notes the class of each link in of.
func (g *group) generate(t *model.Topology, out [][]int, of []int32) bool {
	type class struct {
		step      int
		alpha     model.Time
		bandwidth int64
		copy      int // counts parallel links that are alike
	}
	number := map[class]int32{}
	for v, list := range out {
		if len(list) != len(out[0]) {
			return false
		}
		seen := map[class]int{}
		for _, l := range list {
			k := t.Links[l]
			c := class{g.sub(k.Dst, k.Src), k.Alpha, k.Bandwidth, 0}
			c.copy = seen[c]
			seen[class{c.step, c.alpha, c.bandwidth, 0}]++
			i, known := number[c]
			switch {
			case !known && v > 0:
				return false
			case !known:
				i = int32(len(g.gens))
				number[c] = i
				g.gens = append(g.gens, generator{step: c.step, link: k})
			}
			of[l] = i
		}
	}
	for i := range g.gens {
		g.gens[i].links, g.gens[i].ways = make([]int, g.n), make([][][]int, g.n)
	}
	for l, i := range of {
		s, v := &g.gens[i], t.Links[l].Src
		s.links[v] = l
		s.ways[v] = [][]int{{l}}
	}
	return g.reaches()
}

// reaches reports whether the generators reach every element from 0.
func (g *group) reaches() bool { return !slices.Contains(g.distances(), -1) }

// distances returns for each element the number of generators that it is the sum of
// at least, or -1.
func (g *group) distances() []int {
	dist := make([]int, g.n)
	for i := range dist {
		dist[i] = -1
	}
	dist[0] = 0
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, s := range g.gens {
			if d := g.add(queue[0], s.step); dist[d] < 0 {
				dist[d] = dist[queue[0]] + 1
				queue = append(queue, d)
			}
		}
	}
	return dist
}

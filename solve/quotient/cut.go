package quotient

import (
	"math"

	"github.com/oraccl/oraccl/model"
)

// part is a chunk of one rank together with its images under the group.
type part struct {
	root   int     // the rank that has it at first or, of a sum, at last
	to     int     // the rank that it is for, if it is for one; else -1
	size   int64   // of the largest image
	least  int64   // of the smallest
	kind   int32   // of its sizes: see timed
	chunks []int32 // by element: the image, or -1 where there is none
}

// cut is how the bytes of a member are divided into parts.
type cut struct {
	parts  int
	ratio  float64 // of the size of each part to that of the one before
	size   int64   // bytes of each part, where it is not 0, except for the last, which has what is left
	halved int     // how often each part is halved after that
	shares *shares // of members, whose parts are all of one size
}

// count returns how many parts there are.
func (c cut) count() int { return c.parts << c.halved }

// half returns the cut into halves of its parts.
func (c cut) half() cut {
	if c.size == 0 && c.ratio == 1 && c.shares == nil { // their boundaries are those of twice as many
		c.parts *= 2
	} else {
		c.halved++
	}
	return c
}

// apply returns p with chunks: its own, or those of the cut.
func (c cut) apply(p *model.Problem) *model.Problem {
	n := c.parts
	if p.Chunks != nil {
		return p
	}
	if c.shares != nil {
		_, n := c.shares.counts(c)
		return p.WithChunks(n)
	}
	if c.size == 0 && (c.ratio == 1 || n == 1) { // boundaries of halves are those of twice as many
		return p.WithChunks(p.DefaultChunks(c.count()))
	}
	shares := make([]float64, n+1) // up to each part
	for k := range n {
		shares[k+1] = shares[k] + math.Pow(c.ratio, float64(k))
	}
	whole := p.DefaultChunks(1)
	q := *p
	q.Chunks = nil
	for _, shard := range p.Cut(whole) {
		from := int64(0)
		for k := range n {
			to := shard.Size
			switch {
			case k == n-1: // the last has what is left: shards differ by a byte
			case c.size > 0:
				to = min(to, from+c.size)
			default:
				to = int64(shares[k+1] / shares[n] * float64(shard.Size))
			}
			for k := range int64(1) << c.halved {
				first, last := from+(to-from)*k>>c.halved, from+(to-from)*(k+1)>>c.halved
				q.Chunks = append(q.Chunks, model.Chunk{Offset: shard.Offset + first, Size: last - first})
			}
			from = to
		}
	}
	return &q
}

// fits reports whether every part of p has a byte or more.
func (c cut) fits(p *model.Problem) bool {
	if c.shares != nil {
		_, n := c.shares.counts(c)
		return p.Size >= int64(n)
	}
	whole := p.Space() / int64(max(1, p.DefaultChunks(1)))
	if c.size > 0 { // the last part may be much smaller than the others
		return min(c.size, whole-c.size*int64(c.parts-1))>>c.halved >= 1
	}
	each, least := whole>>c.halved, 1.0
	if c.ratio != 1 {
		sum := 0.0
		for k := range c.parts {
			size := math.Pow(c.ratio, float64(k))
			least = min(least, size)
			sum += size
		}
		return float64(each)*least/sum >= 2
	}
	return each >= int64(c.parts)
}

// divide returns the parts of p, which has chunks. Those of an allreduce take turns to have
// their roots in the given orbits, or have them where shares say.
func (s *shop) divide(p *model.Problem, orbits []int32, c cut) []part {
	order := s.g.Order()
	var parts []part
	fill := func(x part, chunk func(e int) int) {
		x.chunks = make([]int32, order)
		for e := range x.chunks {
			x.chunks[e] = -1
			if k := chunk(e); k >= 0 {
				x.chunks[e] = int32(k)
				if x.size == 0 {
					x.least = p.Chunks[k].Size
				}
				x.size, x.least = max(x.size, p.Chunks[k].Size), min(x.least, p.Chunks[k].Size)
			}
		}
		if x.size > 0 {
			parts = append(parts, x)
		}
	}
	nth := func(list []int, k int) int {
		if k < len(list) {
			return list[k]
		}
		return -1
	}
	owned := func(own [][]int) {
		most := 0
		for _, list := range own {
			most = max(most, len(list))
		}
		for k := range most {
			for _, u := range s.reps {
				if s.member[u] {
					fill(part{root: int(u), to: -1}, func(e int) int { return nth(own[s.g.Node(e, int(u))], k) })
				}
			}
		}
	}
	switch p.Collective.Kind {
	case model.Broadcast, model.Reduce:
		for first := 0; first < len(p.Chunks); first += order {
			fill(part{root: p.Collective.Root, to: -1}, func(e int) int {
				if first+e < len(p.Chunks) {
					return first + e
				}
				return -1
			})
		}
	case model.AllReduce:
		if c.shares != nil {
			owned(c.shares.owned(c, p))
			break
		}
		// as many for each member, one after the other, and what is left over by elements
		members := p.Members()
		place := make([]int, s.t.Ranks)
		for i, v := range members {
			place[v] = i
		}
		each := len(p.Chunks) / len(members)
		if s.stays() {
			each = 0
		}
		for k := range each {
			for _, u := range s.reps {
				if s.member[u] {
					root := int(s.reps[orbits[len(parts)%len(orbits)]])
					fill(part{root: root, to: -1}, func(e int) int { return place[s.g.Node(e, int(u))]*each + k })
				}
			}
		}
		for first := each * len(members); first < len(p.Chunks); first += order {
			root := int(s.reps[orbits[len(parts)%len(orbits)]])
			fill(part{root: root, to: -1}, func(e int) int {
				if first+e < len(p.Chunks) {
					return first + e
				}
				return -1
			})
		}
	case model.AllToAll, model.Gather, model.Scatter:
		own := newPairs(p)
		var roots, ends []int
		for _, u := range s.reps {
			if s.member[u] && (p.Collective.Kind != model.Scatter || int(u) == p.Collective.Root) {
				roots = append(roots, int(u))
			}
		}
		ends = p.Members()
		if p.Collective.Kind == model.Gather {
			ends = []int{p.Collective.Root}
		}
		for _, u := range roots {
			for _, v := range ends {
				if p.Collective.Kind == model.Scatter && s.reps[s.class[v]] != int32(v) {
					continue // an image of another
				}
				// those of an image are shared among the elements that lead to it
				place, shared, seen := make([]int, order), 1, map[[2]int]int{}
				most := 0
				for e := range order {
					at := [2]int{s.g.Node(e, u), s.g.Node(e, v)}
					if p.Collective.Kind.Rooted() {
						place[e] = seen[at]
						seen[at]++
						shared = seen[at]
					}
					most = max(most, len(own.chunks(at[0], at[1])))
				}
				for k := range (most + shared - 1) / shared {
					fill(part{root: u, to: v}, func(e int) int {
						return nth(own.chunks(s.g.Node(e, u), s.g.Node(e, v)), k*shared+place[e])
					})
				}
			}
		}
	default:
		own := make([][]int, s.t.Ranks)
		for k := range p.Chunks {
			from, to := p.Owner(k)
			own[max(from, to)] = append(own[max(from, to)], k)
		}
		owned(own)
	}
	return parts
}

// alike has hops of parts whose sizes differ by a byte, as those of an even cut do, last equally long: what ends a picosecond
// after something else would miss its place in an order of slots.
func alike(parts []part) {
	sizes := map[int64]bool{}
	for i := range parts {
		sizes[parts[i].size] = true
	}
	for i := range parts {
		switch x := &parts[i]; {
		case sizes[x.size-1]:
			x.least = min(x.least, x.size-1)
		case sizes[x.size+1]:
			x.size++
		}
	}
}

// pairs has the chunks of each pair of ranks that one travels between.
type pairs struct {
	n     int
	first []int32 // by pair: where its chunks begin, and one more
	all   []int
}

// newPairs lists the chunks of p, an all-to-all, gather or scatter, in O(ranks² + chunks).
func newPairs(p *model.Problem) *pairs {
	n := p.Topology.Ranks
	x := &pairs{n: n, first: make([]int32, n*n+1), all: make([]int, len(p.Chunks))}
	at := make([]int32, len(p.Chunks))
	for k := range p.Chunks {
		from, to := p.Owner(k)
		if from < 0 {
			from = p.Collective.Root
		}
		if to < 0 {
			to = p.Collective.Root
		}
		at[k] = int32(from*n + to)
		x.first[at[k]+1]++
	}
	for i := range n * n {
		x.first[i+1] += x.first[i]
	}
	next := make([]int32, n*n)
	for k := range p.Chunks {
		x.all[x.first[at[k]]+next[at[k]]] = k
		next[at[k]]++
	}
	return x
}

// chunks returns the chunks from u to v, in order.
func (x *pairs) chunks(u, v int) []int { return x.all[x.first[u*x.n+v]:x.first[u*x.n+v+1]] }

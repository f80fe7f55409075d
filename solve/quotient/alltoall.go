package quotient

import (
	"math"
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// conveying chooses the ways of an all-to-all: over which ranks each part goes from its root
// to the rank that it is for, so that all machines have about the same load. A path is
// chosen as if it were the last, at prices that rise steeply with the loads, and again and
// again in the light of the others, as wires are routed (PathFinder; McMurchie and Ebeling,
// FPGA 1995).
type conveying struct {
	s     *shop
	parts []part
	paths [][]hop // by part, backwards
	load  []float64
	goal  float64
	rng   *rand.Rand
}

// hop is a step from a rank.
type hop struct{ src, dst, step int32 }

const (
	turns      = 10      // how often all paths are chosen again, at most
	someSearch = 1 << 21 // hops that one turn looks at, more or less: parts are taken in batches
)

// convey returns a plan of an all-to-all, without times, or nil if a part cannot get there.
func (s *shop) convey(parts []part, goal model.Time, rng *rand.Rand, work *counter) *plan {
	c := &conveying{s: s, parts: parts, paths: make([][]hop, len(parts)), load: make([]float64, len(s.lanes)), goal: float64(goal), rng: rng}
	order := rng.Perm(len(parts))
	edges := 0
	for _, list := range s.out {
		edges = max(edges, len(list)*s.t.Ranks)
	}
	batches := min(len(parts), max(8, someSearch/max(1, edges)))
	best, least, worse := [][]hop(nil), math.Inf(1), 0
	for range turns {
		for b := range batches {
			batch := order[b*len(order)/batches : (b+1)*len(order)/batches]
			for _, i := range batch {
				c.add(i, -1)
			}
			if !c.route(batch, work) {
				return nil
			}
		}
		most := 0.0
		for _, l := range c.load {
			most = max(most, l)
		}
		if most < least {
			least, best = most, append([][]hop(nil), c.paths...)
		} else if worse++; worse > 2 {
			break
		}
		if work.stop() {
			break
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	x := &plan{s: s, parts: parts}
	for i, path := range best {
		for _, h := range path {
			x.jobs = append(x.jobs, job{part: int32(i), src: h.src, dst: h.dst, step: h.step})
		}
	}
	return x
}

// add adds the path of a part to the loads, as often as sign says.
func (c *conveying) add(i int, sign float64) {
	for _, h := range c.paths[i] {
		w := c.s.out[c.s.class[h.src]][h.step].way
		tm := c.s.at(w, &c.parts[i])
		for n, v := range c.s.ways[w].visits {
			c.load[v.machine] += sign * c.share(tm, n, v)
		}
	}
}

func (c *conveying) share(tm *timing, n int, v visit) float64 {
	return float64(tm.spans[n].To-tm.spans[n].From) / c.goal * float64(v.lanes) / float64(c.s.lanes[v.machine])
}

// route chooses the paths of some parts, each as if it were the only one, and adds them.
func (c *conveying) route(batch []int, work *counter) bool {
	most := 0.0
	for _, l := range c.load {
		most = max(most, l)
	}
	price := make([]float64, len(c.load))
	for m, l := range c.load {
		price[m] = math.Exp(20 * (l - most) / max(most, 1e-9))
	}
	byRoot := map[int][]int{}
	var roots []int
	for _, i := range batch {
		if byRoot[c.parts[i].root] == nil {
			roots = append(roots, c.parts[i].root)
		}
		byRoot[c.parts[i].root] = append(byRoot[c.parts[i].root], i)
	}
	cost := make([]float64, len(c.s.ways))
	for _, root := range roots {
		x := &c.parts[byRoot[root][0]]
		for w := range cost {
			tm := c.s.at(int32(w), x)
			cost[w] = 1e-3 * float64(tm.lasts) / c.goal * (1 + 0.1*c.rng.Float64())
			for n, v := range c.s.ways[w].visits {
				cost[w] += price[v.machine] * c.share(tm, n, v) * (1 + 0.1*c.rng.Float64())
			}
		}
		from := c.s.cheapest(root, cost, work)
		for _, i := range byRoot[root] {
			c.paths[i] = nil
			for v := int32(c.parts[i].to); int(v) != root; {
				h := from[v]
				if h.src < 0 {
					return false
				}
				c.paths[i] = append(c.paths[i], h)
				v = h.src
			}
			c.add(i, 1)
		}
	}
	return true
}

// reach is how a rank is reached.
type reach struct {
	cost float64
	rank int32
}

func (a reach) Before(b reach) bool { return a.cost < b.cost || a.cost == b.cost && a.rank < b.rank }

// cheapest returns for each rank the last hop of the cheapest path from root, by Dijkstra's
// algorithm; the source of that hop is -1 where there is none.
func (s *shop) cheapest(root int, cost []float64, work *counter) []hop {
	from := make([]hop, s.t.Ranks)
	best := make([]float64, s.t.Ranks)
	for v := range best {
		best[v], from[v].src = math.Inf(1), -1
	}
	best[root] = 0
	var front heap.Heap[reach]
	front.Push(reach{0, int32(root)})
	for len(front) > 0 {
		x := front.Pop()
		if x.cost > best[x.rank] {
			continue
		}
		list := s.out[s.class[x.rank]]
		by := s.g.Nodes(int(s.element[x.rank]))
		work.n += int64(len(list))
		for i := range list {
			v := by[list[i].to]
			if c := x.cost + cost[list[i].way]; c < best[v] {
				best[v], from[v] = c, hop{x.rank, v, int32(i)}
				front.Push(reach{c, v})
			}
		}
	}
	return from
}

package quotient

import (
	"math"
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
)

// balance builds trees whose hops load all machines alike, by annealing (Kirkpatrick,
// Gelatt, Vecchi, Science 1983), without regard to time. It is for an allreduce in which
// the sums alone and the gatherings alone leave machines idle, but both together need not.
type balance struct {
	s     *shop
	twins [][]twin // from steps that lead back: see reversed
	r     *shop
	parts []part
	trees []tree
	load  []float64 // of a machine, in units of the goal
	least []float64 // of a machine: the latency of the shortest hop that takes it
	goal  float64
	depth int32
	rng   *rand.Rand
}

// tree brings one part from its root to all ranks or, of a sum, from all to its root.
type tree struct {
	part   int32
	sum    bool
	parent []int32
	step   []int32 // of the shop, or the shop reversed for a sum: from the parent to the rank
	depth  []int32
}

// steepness is how many times as much the end of the busiest machine counts if it is 1 % later.
const steepness = 100

// newBalance returns a balance without trees.
func newBalance(x *reducing, parts []part, goal model.Time, depth int, rng *rand.Rand) *balance {
	b := &balance{s: x.s, r: x.r, twins: x.twins, parts: parts, goal: float64(goal), depth: int32(depth), rng: rng}
	b.load, b.least = make([]float64, len(x.s.lanes)), make([]float64, len(x.s.lanes))
	for m := range b.least {
		b.least[m] = math.Inf(1)
	}
	for w := range x.s.ways {
		tm := &x.s.ways[w].times[0]
		for i, v := range x.s.ways[w].visits {
			b.least[v.machine] = min(b.least[v.machine], float64(tm.lasts-(tm.spans[i].To-tm.spans[i].From))/b.goal)
		}
	}
	return b
}

// growAll builds a tree of each part for sums and one for gatherings.
func (b *balance) growAll() {
	for i := range b.parts {
		for _, sum := range []bool{true, false} {
			b.trees = append(b.trees, b.grow(int32(i), sum))
		}
	}
}

// depth returns a limit for the hops from the roots of trees: some more than are needed.
func (s *shop) depth(parts []part) int {
	most, seen := 0, map[int]bool{}
	for i := range parts {
		if u := parts[i].root; !seen[u] {
			seen[u] = true
			most = max(most, s.farthest(u))
		}
	}
	return max(4, most+2)
}

// side returns the shop in which a tree leads away from its root.
func (b *balance) side(t *tree) *shop {
	if t.sum {
		return b.r
	}
	return b.s
}

func (b *balance) value(m int32, load float64) float64 {
	return math.Exp(min(300, steepness*(load+b.least[m]-1)))
}

// add adds a hop of a tree to the loads, as often as sign says.
func (b *balance) add(t *tree, w int32, sign float64) {
	tm := b.s.at(w, &b.parts[t.part])
	for i, v := range b.s.ways[w].visits {
		b.load[v.machine] += sign * b.share(tm, i, v)
	}
}

func (b *balance) share(tm *timing, i int, v visit) float64 {
	return b.s.share(tm, i, v, b.goal)
}

// share returns for which part of some time, in picoseconds, a visit of a hop keeps the lanes of its machine busy.
func (s *shop) share(tm *timing, i int, v visit, of float64) float64 {
	return float64(tm.spans[i].To-tm.spans[i].From) / of * float64(v.lanes) / float64(s.lanes[v.machine])
}

// cost returns by how much one more hop raises the sum of all values.
func (b *balance) cost(t *tree, w int32) float64 {
	tm := b.s.at(w, &b.parts[t.part])
	sum := 0.0
	for i, v := range b.s.ways[w].visits {
		sum += b.value(v.machine, b.load[v.machine]+b.share(tm, i, v)) - b.value(v.machine, b.load[v.machine])
	}
	return sum
}

// loads returns the sum of the loads of the machines of a way with one more hop.
func (b *balance) loads(t *tree, w int32) float64 {
	tm := b.s.at(w, &b.parts[t.part])
	sum := 0.0
	for i, v := range b.s.ways[w].visits {
		sum += b.load[v.machine] + b.share(tm, i, v)
	}
	return sum
}

// grow builds a tree hop by hop, each the one that costs least, more or less.
func (b *balance) grow(part int32, sum bool) tree {
	n := b.s.t.Ranks
	root := b.parts[part].root
	t := tree{part: part, sum: sum, parent: make([]int32, n), step: make([]int32, n), depth: make([]int32, n)}
	s := b.side(&t)
	for v := range t.parent {
		t.parent[v] = -1
	}
	t.parent[root] = int32(root)
	price := make([]float64, len(s.ways))
	depth := b.depth
	left := -1
	for _, m := range b.s.member {
		if m {
			left++
		}
	}
	for left > 0 {
		for w := range price {
			price[w] = b.cost(&t, int32(w))
		}
		best, bu, bv, bi := math.Inf(1), -1, -1, 0
		for u := range n {
			if t.parent[u] < 0 || t.depth[u] >= depth {
				continue
			}
			by := s.g.Nodes(int(s.element[u]))
			for i := range s.out[s.class[u]] {
				st := &s.out[s.class[u]][i]
				if v := by[st.to]; t.parent[v] < 0 {
					if c := price[st.way] * (1 + 0.2*b.rng.Float64()); c < best {
						best, bu, bv, bi = c, u, int(v), i
					}
				}
			}
		}
		if bv < 0 {
			if depth > int32(n) {
				return tree{}
			}
			depth++ // nobody within the depth can go on
			continue
		}
		t.parent[bv], t.step[bv], t.depth[bv] = int32(bu), int32(bi), t.depth[bu]+1
		b.add(&t, s.out[s.class[bu]][bi].way, 1)
		left--
	}
	return t
}

// improve moves single ranks to other parents; less and less of what makes things worse is
// accepted, from heat on.
func (b *balance) improve(moves int, heat float64) {
	n := b.s.t.Ranks
	for m := range moves {
		left := 1 - float64(m)/float64(moves)
		temperature := heat * left * left
		t := &b.trees[b.rng.IntN(len(b.trees))]
		s := b.side(t)
		u := b.rng.IntN(n)
		if t.parent[u] < 0 || len(s.out[s.class[u]]) == 0 || t.depth[u] >= b.depth {
			continue
		}
		i := b.rng.IntN(len(s.out[s.class[u]]))
		st := &s.out[s.class[u]][i]
		v := int(s.g.Node(int(s.element[u]), int(st.to)))
		if v == b.parts[t.part].root || t.below(u, v) {
			continue
		}
		old := s.out[s.class[t.parent[v]]][t.step[v]].way
		if old == st.way && int(t.parent[v]) == u {
			continue
		}
		if t.depth[u]+1 > t.depth[v] && t.depth[u]+1+t.height(v) > b.depth {
			continue
		}
		b.add(t, old, -1)
		change := b.cost(t, st.way) - b.cost(t, old)
		if change <= 0 || b.rng.Float64() < math.Exp(-change/temperature) {
			b.add(t, st.way, 1)
			t.move(v, u, i)
		} else {
			b.add(t, old, 1)
		}
	}
}

// below reports whether u is v or below it.
func (t *tree) below(u, v int) bool {
	for {
		if u == v {
			return true
		}
		if int(t.parent[u]) == u {
			return false
		}
		u = int(t.parent[u])
	}
}

// height returns how many hops what is below v is away from it at most.
func (t *tree) height(v int) int32 {
	most := int32(0)
	for u := range t.parent {
		if t.parent[u] >= 0 && t.depth[u] > t.depth[v]+most && t.below(u, v) {
			most = t.depth[u] - t.depth[v]
		}
	}
	return most
}

func (t *tree) move(v, parent, step int) {
	by := t.depth[parent] + 1 - t.depth[v]
	if by != 0 {
		for u := range t.parent {
			if t.parent[u] >= 0 && u != v && t.depth[u] > t.depth[v] && t.below(u, v) {
				t.depth[u] += by
			}
		}
		t.depth[v] += by
	}
	t.parent[v], t.step[v] = int32(parent), int32(step)
}

// plan returns the hops of the trees as jobs without times.
func (b *balance) plan() *plan {
	x := &plan{s: b.s, parts: b.parts}
	for i := range b.trees {
		t := &b.trees[i]
		for v, u := range t.parent {
			if u < 0 || int(u) == v {
				continue
			}
			j := job{part: t.part, src: u, dst: int32(v), step: t.step[v]}
			if t.sum {
				w := b.twins[b.s.class[u]][t.step[v]]
				j = job{part: t.part, src: int32(v), dst: u, step: w.step, op: model.Reduction}
			}
			x.jobs = append(x.jobs, j)
		}
	}
	return x
}

// schedule gives the jobs of a plan times, with several orders of which it keeps the best: by
// what must still follow, by part, sums first or not.
func (x *plan) schedule(tries int, rng *rand.Rand) {
	waits := x.waits()
	tails := x.tails(waits)
	rank := make([]float64, len(x.jobs))
	longest := 0.0
	for _, t := range tails {
		longest = max(longest, float64(t))
	}
	var best []job
	end := never
	for try := range tries {
		noise := 0.1 * float64(try/4)
		for i := range x.jobs {
			j := &x.jobs[i]
			rank[i] = -float64(tails[i]) / longest * (1 + noise*rng.Float64())
			if how := try % 4; how == 1 || how == 2 {
				rank[i] += 100 * float64(j.part)
			}
			if how := try % 4; how >= 2 && j.op == model.Copy {
				rank[i] += 1e6
			}
		}
		x.dispatch(waits, rank)
		if x.end < end {
			end, best = x.end, append(best[:0], x.jobs...)
		}
	}
	x.jobs, x.end = best, end
}

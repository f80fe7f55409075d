//go:build cgo

package broadcast

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// timedTree is a tree whose hops have times: what leaves the root over some bin of time takes each hop a fixed time later. It is
// a column of a program.
type timedTree struct {
	bin  int          // in which it leaves the root
	hops []int32      // parents before children
	at   []model.Time // when each begins, after what it carries leaves the root
	rows []int32      // of the program, ascending
	load []float64    // of each row, by all that takes the tree
}

// reach is how late what leaves the root in a bin may come to a rank: the last of it is still in time.
func (g *program) reach(bin int) model.Time { return g.end() - g.lasts(bin) }

// grow returns a tree from the root to all members, for what leaves the root in a bin: one rank after the other joins it, that
// with the least sum of the price of its hop, at the time at which it is taken, and the time at which it is reached, times
// worth (in prices of the whole buffer a picosecond). It returns nil if some member is not reached in time.
func (g *program) grow(bin int, worth float64) *timedTree {
	begin, limit := g.begin[bin], g.reach(bin)
	s := &g.sprout
	s.reset(len(g.out), begin, g.root)
	best := slices.Repeat([]float64{math.Inf(1)}, len(g.out))
	join := func(v int32) {
		for _, h := range g.out[v] {
			x := &g.hops[h]
			if s.done[x.to] {
				continue
			}
			for _, wait := range g.waits {
				at := s.at[v] + wait
				if at+x.lasts > limit {
					break
				}
				if cost := worth*float64(at+x.lasts-begin) + g.cost(x, at, bin); cost < best[x.to] {
					best[x.to], s.by[x.to], s.start[x.to] = cost, h, at
				}
			}
		}
	}
	next := int32(g.root)
	for range g.others {
		join(next)
		next = -1
		for _, v := range g.members {
			if !s.done[v] && s.by[v] >= 0 && (next < 0 || best[v] < best[next]) {
				next = v
			}
		}
		if next < 0 {
			return nil
		}
		s.done[next], s.at[next] = true, s.start[next]+g.hops[s.by[next]].lasts
	}
	return g.tree(bin)
}

// sprout is a tree in the making.
type sprout struct {
	by    []int32      // by rank: the hop that it is reached by; -1: none
	start []model.Time // by rank: when that begins
	at    []model.Time // by rank: when it is reached
	done  []bool       // by rank
	kids  [][]int32    // by rank
	below []int32      // scratch
	under []bool       // scratch, by rank
}

func (s *sprout) reset(ranks int, begin model.Time, root int) {
	if s.by == nil {
		s.by, s.start, s.at, s.done = make([]int32, ranks), make([]model.Time, ranks), make([]model.Time, ranks), make([]bool, ranks)
		s.kids, s.under = make([][]int32, ranks), make([]bool, ranks)
	}
	for v := range s.by {
		s.by[v], s.done[v], s.kids[v] = -1, false, s.kids[v][:0]
	}
	s.done[root], s.at[root] = true, begin
}

// rehang returns a tree that costs no more than one: each rank, with all that hangs on it, moves to the hop and the time that
// cost least, until that gains nothing, at most a few times for each.
func (g *program) rehang(t *timedTree) *timedTree {
	s := &g.sprout
	begin, limit := g.begin[t.bin], g.reach(t.bin)
	s.reset(len(g.out), begin, g.root)
	order := slices.Clone(g.members)
	for i, h := range t.hops {
		x := &g.hops[h]
		s.by[x.to], s.start[x.to], s.at[x.to] = h, begin+t.at[i], begin+t.at[i]+x.lasts
		s.kids[x.from] = append(s.kids[x.from], x.to)
	}
	for range rehangings {
		g.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		changed := false
		for _, v := range order {
			if v != int32(g.root) && g.move(v, t.bin, limit) {
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	return g.tree(t.bin)
}

// rehangings is how often each rank of a tree is moved at most.
const rehangings = 5

// move moves a rank of the sprout, with all below it, to where that costs least, and reports whether that is cheaper than it was.
func (g *program) move(v int32, bin int, limit model.Time) bool {
	s := &g.sprout
	s.below = append(s.below[:0], v)
	for i := 0; i < len(s.below); i++ {
		s.below = append(s.below, s.kids[s.below[i]]...)
	}
	last, rest := model.Time(0), 0.0
	own := g.cost(&g.hops[s.by[v]], s.start[v], bin)
	for i, u := range s.below {
		s.under[u] = true
		last = max(last, s.at[u])
		if i > 0 {
			rest += g.cost(&g.hops[s.by[u]], s.start[u], bin)
		}
	}
	least, by, start := own+rest-gained, int32(-1), model.Time(0)
	for i := range g.into[v] {
		x := &g.into[v][i]
		if s.under[x.from] {
			continue
		}
		for _, wait := range g.waits {
			at := s.at[x.from] + wait
			later := at + x.lasts - s.at[v]
			if last+later > limit {
				break
			}
			cost := g.cost(x, at, bin)
			if cost >= least {
				continue
			}
			if later == 0 {
				cost += rest
			} else {
				for _, u := range s.below[1:] {
					if cost += g.cost(&g.hops[s.by[u]], s.start[u]+later, bin); cost >= least {
						break
					}
				}
			}
			if cost < least {
				least, by, start = cost, x.number, at
			}
		}
	}
	for _, u := range s.below {
		s.under[u] = false
	}
	if by < 0 {
		return false
	}
	x := &g.hops[by]
	later := start + x.lasts - s.at[v]
	for _, u := range s.below[1:] {
		s.start[u] += later
		s.at[u] += later
	}
	old := g.hops[s.by[v]].from
	i := slices.Index(s.kids[old], v)
	s.kids[old] = slices.Delete(s.kids[old], i, i+1)
	s.kids[x.from] = append(s.kids[x.from], v)
	s.by[v], s.start[v], s.at[v] = by, start, start+x.lasts
	return true
}

// gained is the least price that counts as a gain, where the whole buffer is worth 1.
const gained = 1e-9

// tree returns the sprout as a column.
func (g *program) tree(bin int) *timedTree {
	s := &g.sprout
	t := &timedTree{bin: bin}
	begin := g.begin[bin]
	ranks := make([]int32, 0, g.others)
	for _, v := range g.members {
		if v != int32(g.root) {
			ranks = append(ranks, v)
		}
	}
	slices.SortFunc(ranks, func(a, b int32) int { return cmp.Or(cmp.Compare(s.start[a], s.start[b]), cmp.Compare(a, b)) })
	for _, v := range ranks {
		t.hops, t.at = append(t.hops, s.by[v]), append(t.at, s.start[v]-begin)
	}
	g.weigh(t)
	return t
}

// weigh finds what a tree loads.
func (g *program) weigh(t *timedTree) {
	if len(g.load) != len(g.prices) {
		g.load = make([]float64, len(g.prices))
	}
	t.rows = t.rows[:0]
	for k, h := range t.hops {
		c := &g.classes[g.hops[h].class]
		for i, o := range c.orbits {
			g.spread(o, g.begin[t.bin]+t.at[k]+c.after[i], t.bin, func(row int32, part float64) {
				if g.load[row] == 0 {
					t.rows = append(t.rows, row)
				}
				g.load[row] += part
			})
		}
	}
	slices.Sort(t.rows)
	t.load = make([]float64, 0, len(t.rows))
	for _, row := range t.rows {
		t.load = append(t.load, g.load[row])
		g.load[row] = 0
	}
}

// last returns how long after it leaves the root what takes a tree is everywhere.
func (g *program) last(t *timedTree) (last model.Time) {
	for i, h := range t.hops {
		last = max(last, t.at[i]+g.hops[h].lasts)
	}
	return last
}

// value returns what a tree costs at the prices of rows, for the whole buffer.
func (g *program) value(t *timedTree) (sum float64) {
	for i, row := range t.rows {
		sum += t.load[i] * g.prices[row]
	}
	return sum
}

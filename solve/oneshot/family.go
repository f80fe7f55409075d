//go:build cgo

package oneshot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/random"
)

// family is plans of one turn each whose hops fall into the same classes: hops of a class are in one step and last equally long, and
// the hops that they wait for, and those that wait for them, are in the same classes (the coarsest stable partition: Paige and Tarjan,
// "Three partition refinement algorithms", SIAM Journal on Computing 16, 1987).
type family struct {
	plans   []*plan
	turns   int // of a plan that these were turns of
	classes []*class
	number  map[uint64]int // of classes, by label
}

// class is what hops of a class have in common.
type class struct {
	lasts  model.Time
	start  model.Time // none is sent sooner
	tail   model.Time // from the start of one to the end of all
	before []int      // classes that it waits for, without those that these wait for
	loads  map[visit]float64
}

// visit is when a hop takes links of an orbit, after its start. A load is for how long that keeps them busy if all of the buffer
// goes so, in picoseconds.
type visit struct {
	orbit int
	after model.Time
}

func (v visit) compare(w visit) int {
	return cmp.Or(cmp.Compare(v.orbit, w.orbit), cmp.Compare(v.after, w.after))
}

// Limits of families.
const (
	mostClasses  = 80      // of a family
	mostArcs     = 1 << 18 // between hops of a course
	mostFamilies = 16
)

// labels returns for each hop of a course, in their order, the label of its class, and the hops that it waits for; nil if there are
// too many. It takes O(arcs times length of the longest chain) time.
func (g *guide) labels(c *course) ([]uint64, [][]int32) {
	if c.labels != nil {
		return c.labels, c.before
	}
	hops := g.hops(c)
	at := map[[2]int32]int32{}
	for i, h := range hops {
		at[[2]int32{h.step, h.pair}] = int32(i)
	}
	before, after := make([][]int32, len(hops)), make([][]int32, len(hops))
	into := make([][]int32, len(g.members))
	arcs := 0
	for s, x := range c.steps {
		known := make([]int, len(into))
		for v := range into {
			known[v] = len(into[v])
		}
		for i, w := range x.pairs {
			k, list := at[[2]int32{int32(s), int32(i)}], into[w.from]
			if x.phase == exchanging {
				list = list[:known[w.from]]
			}
			if arcs += len(list); arcs > mostArcs {
				return nil, nil
			}
			before[k] = slices.Clip(list)
			for _, p := range list {
				after[p] = append(after[p], k)
			}
			into[w.to] = append(into[w.to], k)
		}
	}
	now := make([]uint64, len(hops))
	for i, h := range hops {
		w := c.steps[h.step].pairs[h.pair]
		now[i] = hashed(uint64(h.step), []uint64{uint64(g.t.Duration(g.ways.routes[w.route], 1))})
	}
	var set []uint64
	of := func(list []int32) []uint64 {
		set = set[:0]
		for _, p := range list {
			set = append(set, now[p])
		}
		slices.Sort(set)
		return slices.Compact(set)
	}
	for count := 0; ; {
		next, seen := make([]uint64, len(hops)), map[uint64]bool{}
		for i := range hops {
			next[i] = hashed(hashed(now[i], of(before[i]))+1, of(after[i]))
			seen[next[i]] = true
		}
		now = next
		if len(seen) == count {
			break
		}
		count = len(seen)
	}
	c.labels, c.before = now, before
	return now, before
}

// hashed returns a hash of a number and some others.
func hashed(x uint64, list []uint64) uint64 {
	for _, y := range list {
		next := random.Stream(x ^ y)
		x = next.Next()
	}
	return x
}

// families returns the turns of plans by what classes their hops fall into, up to some number of families. Of each it has those of the plans
// with most turns, so that no dimension counts more than others.
func (s *search) families(plans []*plan) (all []*family) {
	by := map[string]*family{}
	for _, q := range plans {
		turns := map[string][]*plan{}
		for i, turn := range q.turns {
			single := &plan{layout: q.layout, nearby: q.nearby, mirrored: q.mirrored, opposite: true, turns: [][]state{turn}}
			if q.lists != nil {
				single.lists, single.note = q.lists[i:i+1], q.note
			}
			c := s.base(single, 0)
			if s.b.Spent() {
				return nil
			}
			if c == nil {
				continue
			}
			labels, _ := s.guide.labels(c)
			count := map[uint64]int{}
			for _, l := range labels {
				count[l]++
			}
			if len(count) > mostClasses || len(count) == 0 {
				continue
			}
			sign := fmt.Sprint(count) // in the order of the labels
			x := by[sign]
			if x == nil {
				if len(all) == mostFamilies {
					continue
				}
				x = s.newFamily(c)
				by[sign], all = x, append(all, x)
			}
			turns[sign] = append(turns[sign], single)
		}
		for sign, list := range turns {
			x := by[sign]
			if len(list) > x.turns {
				x.turns, x.plans = len(list), nil
			}
			if len(list) == x.turns {
				x.plans = append(x.plans, list...)
			}
		}
	}
	return slices.DeleteFunc(all, func(x *family) bool { return !s.load(x) })
}

// newFamily returns a family without plans whose hops are like those of a course.
func (s *search) newFamily(c *course) *family {
	x := &family{number: map[uint64]int{}}
	labels, before := s.guide.labels(c)
	starts := s.guide.starts(c)
	var arcs []map[int]bool
	hops := s.guide.hops(c)
	for i, h := range hops {
		k, known := x.number[labels[i]]
		if !known {
			k = len(x.classes)
			x.number[labels[i]] = k
			x.classes, arcs = append(x.classes, &class{loads: map[visit]float64{}}), append(arcs, map[int]bool{})
		}
		y, w := x.classes[k], c.steps[h.step].pairs[h.pair]
		y.start, y.tail = max(y.start, starts[h.step][h.pair]), max(y.tail, h.tail)
		y.lasts = s.guide.t.Duration(s.ways.routes[w.route], 1)
	}
	for i := range hops {
		for _, p := range before[i] {
			arcs[x.number[labels[i]]][x.number[labels[p]]] = true
		}
	}
	for k, list := range arcs {
		for a := range list {
			between := false
			for b := range list {
				between = between || arcs[b][a]
			}
			if !between {
				x.classes[k].before = append(x.classes[k].before, a)
			}
		}
		slices.Sort(x.classes[k].before)
	}
	return x
}

// load notes the loads of each class if all plans of a family and all their bases share the work. It returns false if a base
// has other classes.
func (s *search) load(x *family) bool {
	t := s.p.Topology
	for _, q := range x.plans {
		bases := s.parts(q)
		for n := range bases {
			c := s.base(q, n)
			if c == nil || s.b.Spent() {
				return false
			}
			labels, _ := s.guide.labels(c)
			for i, h := range s.guide.hops(c) {
				k, known := x.number[labels[i]]
				if !known {
					return false
				}
				at := model.Time(0)
				for _, l := range s.ways.routes[c.steps[h.step].pairs[h.pair].route] {
					o := s.images.orbit[l]
					x.classes[k].loads[visit{o, at}] += float64(s.p.Size) / float64(t.Links[l].Bandwidth) * 1e12 / float64(s.images.size[o]*bases*len(x.plans))
					at = at.Add(t.Links[l].Alpha)
				}
			}
		}
	}
	return true
}

//go:build cgo

package oneshot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/random"
)

// family is courses of plans of one turn each whose hops fall into the same classes: hops of a class are in one step and last equally long, and
// the hops that they wait for, and those that wait for them, are in the same classes (the coarsest stable partition: Paige and Tarjan,
// "Three partition refinement algorithms", SIAM Journal on Computing 16, 1987).
type family struct {
	plans   []member
	turns   int // of a plan that these were turns of
	classes []*class
	number  map[uint64]int // of classes, by label
}

// member is a plan with its bases whose courses are in a family: where owners are at different places of the network, others are in other families.
type member struct {
	*plan
	bases []int
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

// turned is the turns of plans, of which families are made.
type turned [][]*scanned

// turns returns the turns of plans.
func turns(plans []*plan) (all turned) {
	for _, q := range plans {
		var list []*scanned
		for i, turn := range q.turns {
			x := &scanned{plan: &plan{layout: q.layout, nearby: q.nearby, mirrored: q.mirrored, opposite: true, turns: [][]state{turn}}}
			if q.lists != nil {
				x.lists, x.note = q.lists[i:i+1], q.note
			}
			list = append(list, x)
		}
		all = append(all, list)
	}
	return all
}

// uneven reports whether some bases of a plan are known to be in other families than others.
func (all turned) uneven() bool {
	return slices.ContainsFunc(all, func(list []*scanned) bool {
		return slices.ContainsFunc(list, func(x *scanned) bool { return len(x.parts) > 1 })
	})
}

// families returns the courses of the turns of plans by what classes their hops fall into, up to some number of families. Of each it has those of the
// plans with most turns, so that no dimension counts more than others. Plans whose bases are in several families are left out unless these may be split.
func (s *search) families(all turned, split bool) (families []*family) {
	by := map[string]*family{}
	for _, list := range all {
		turns := map[string][]member{}
		for _, q := range list {
			q.scan(s, split)
			if s.b.Spent() {
				return nil
			}
			if len(q.parts) > 1 && !split {
				continue
			}
			for _, y := range q.parts {
				if len(y.count) == 0 {
					continue
				}
				sign := fmt.Sprint(y.count) // in the order of the labels
				if by[sign] == nil && len(families) < mostFamilies {
					by[sign] = s.newFamily(s.base(q.plan, y.bases[0]))
					families = append(families, by[sign])
				}
				if x := by[sign]; x != nil {
					turns[sign] = append(turns[sign], member{q.plan, y.bases})
				}
			}
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
	for _, x := range families {
		s.load(x)
	}
	return families
}

// scanned is a plan of one turn with its first bases in parts: all hops of one are in classes that hops of the first of its part are in.
type scanned struct {
	*plan
	bases int // that are in parts
	parts []alike
}

// alike is bases, and how many hops of the first of them are in each class, by label; none if there are too many classes, or no course.
type alike struct {
	bases []int
	count map[uint64]int
}

// scan puts all bases into parts; only until there are two, unless they may be split.
func (x *scanned) scan(s *search, split bool) {
	for ; x.bases < s.parts(x.plan) && (split || len(x.parts) < 2) && !s.b.Spent(); x.bases++ {
		x.add(x.bases, s.count(s.base(x.plan, x.bases)))
	}
}

// add adds a base to the first part that has all of its classes, or a new one.
func (x *scanned) add(base int, count map[uint64]int) {
	for i := range x.parts {
		y := &x.parts[i]
		known := (len(y.count) == 0) == (len(count) == 0)
		for l := range count {
			known = known && y.count[l] > 0
		}
		if known {
			y.bases = append(y.bases, base)
			return
		}
	}
	x.parts = append(x.parts, alike{[]int{base}, count})
}

// count returns how many hops of a course are in each class, by label; none if there is no course, or there are too many classes.
func (s *search) count(c *course) map[uint64]int {
	if c == nil {
		return nil
	}
	labels, _ := s.guide.labels(c)
	count := map[uint64]int{}
	for _, l := range labels {
		count[l]++
	}
	if len(count) > mostClasses {
		return nil
	}
	return count
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

// load notes the loads of each class if all plans of a family share the work, and all bases of a plan share its part.
func (s *search) load(x *family) {
	t := s.p.Topology
	for _, q := range x.plans {
		for _, n := range q.bases {
			c := s.base(q.plan, n)
			labels, _ := s.guide.labels(c)
			for i, h := range s.guide.hops(c) {
				k, at := x.number[labels[i]], model.Time(0)
				for _, l := range s.ways.routes[c.steps[h.step].pairs[h.pair].route] {
					o := s.images.orbit[l]
					x.classes[k].loads[visit{o, at}] += float64(s.p.Size) / float64(t.Links[l].Bandwidth) * 1e12 / float64(s.images.size[o]*len(q.bases)*len(x.plans))
					at = at.Add(t.Links[l].Alpha)
				}
			}
		}
	}
}

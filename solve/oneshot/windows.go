package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// window is when a step of what follows a plan may use links: no sooner than after some time, and with some time left. The load is
// how long it keeps the links of an orbit busy, if all of the buffer goes that way and images of chunks share the work.
type window struct {
	step, orbit int
	after, left model.Time
	load        float64 // picoseconds
}

// Limits of the linear programs.
const (
	windowBases = 8 // of a plan, for which loads are taken
	windowTimes = 7 // makespans
)

// windows returns the windows of a plan, none if it is no plan.
func (s *search) windows(q *plan) (all []window) {
	t := s.p.Topology
	type key struct {
		step, orbit int
		after, left model.Time
	}
	loads := map[key]float64{}
	bases := min(windowBases, s.parts(q))
	for n := range bases {
		c := s.base(q, n)
		if c == nil {
			return nil
		}
		starts := s.guide.starts(c)
		for _, h := range s.guide.hops(c) {
			w, at := c.steps[h.step].pairs[h.pair], model.Time(0)
			for _, l := range s.ways.routes[w.route] {
				k := &t.Links[l]
				o := s.images.orbit[l]
				loads[key{int(h.step), o, starts[h.step][h.pair] + at, h.tail - at}] += float64(s.p.Size) / float64(k.Bandwidth) * 1e12 / float64(s.images.size[o]*bases)
				at = at.Add(k.Alpha)
			}
		}
	}
	for k, load := range loads {
		all = append(all, window{k.step, k.orbit, k.after, k.left, load})
	}
	slices.SortFunc(all, func(a, b window) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.orbit, b.orbit), cmp.Compare(a.after, b.after), cmp.Compare(a.left, b.left))
	})
	return all
}

// starts returns when a small chunk is sent over each pair of each step if nothing is in its way.
func (g *guide) starts(c *course) (all [][]model.Time) {
	ready := make([]model.Time, len(g.members))
	for _, x := range c.steps {
		from, times := ready, make([]model.Time, len(x.pairs))
		if x.phase == exchanging {
			from = slices.Clone(ready)
		}
		for i, w := range x.pairs {
			times[i] = from[w.from]
			ready[w.to] = max(ready[w.to], times[i]+g.t.Duration(g.ways.routes[w.route], 1))
		}
		all = append(all, times)
	}
	return all
}

// mixer finds how much of the buffer is to follow each of some plans, so that all is over by some time: a linear program in
// which what has to be sent over the links of an orbit within any interval takes no longer than that lasts. For a fluid that
// may be held up anywhere this is exact for each link alone (Horn, "Some simple scheduling algorithms", Naval Research
// Logistics Quarterly 21, 1974); that all of a chunk waits only once is left out.
type mixer struct {
	s       *search
	all     [][]window // by plan
	program *program   // as it was solved last
}

// mixer returns what mixes plans.
func (s *search) mixer(of []*plan) *mixer {
	m := &mixer{s: s}
	for _, q := range of {
		if s.b.Spent() {
			break
		}
		m.all = append(m.all, s.windows(q))
	}
	return m
}

// mixtures returns how much of the buffer is to follow each plan for the least makespan that the linear program finds, and for
// some that are longer; and that makespan.
func (m *mixer) mixtures() (all [][]float64, least model.Time) {
	s := m.s
	low, high := max(s.bound/100*99, s.makespan/2), s.makespan
	for range windowTimes {
		end := low + (high-low)/2
		if _, sum := m.mix(end); sum >= 1 {
			high = end
		} else {
			low = end
		}
		if s.b.Spent() {
			return nil, high
		}
	}
	for _, more := range []model.Time{0, 1, 2, 4, 8} {
		if parts, sum := m.mix(high + high/100*more); sum > 0 {
			all = append(all, parts)
		}
	}
	return all, high
}

// counts returns how many of some chunks follow each plan if parts of the buffer do.
func counts(parts []float64, chunks int) []int {
	list, order := make([]int, len(parts)), make([]int, len(parts))
	left := chunks
	for i, x := range parts {
		list[i], order[i] = int(x*float64(chunks)), i
		left -= list[i]
	}
	rest := func(i int) float64 { return parts[i]*float64(chunks) - float64(list[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest(b), rest(a)) })
	for _, i := range order[:max(0, min(left, len(order)))] {
		list[i]++
	}
	return list
}

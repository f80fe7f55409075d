package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
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
	windowBases = 8  // of a plan, for which loads are taken
	windowCuts  = 40 // rows that are added at a time
	windowTurns = 12 // times that rows are added
	windowTimes = 7  // makespans
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
	s   *search
	all [][]window // by plan
}

// interval is one in which what has to be sent within it is too much.
type interval struct {
	orbit       int
	after, left model.Time
	excess      float64
}

// mix returns the parts of the buffer that follow each plan where all together is most, as parts of it, and how much that is.
func (m *mixer) mix(end model.Time) (parts []float64, sum float64) {
	x := m.fill(end, nil)
	if x == nil {
		return nil, 0
	}
	for i := range x.parts {
		x.parts[i] /= max(x.sum, 1e-9)
	}
	return x.parts, x.sum
}

// filled is how many times the buffer may follow each plan, in all the most that there is time for, and the intervals that limit that, with
// the price of a picosecond in each.
type filled struct {
	parts  []float64 // by plan
	sum    float64
	cuts   []interval
	prices []float64
	whole  bool // no other interval has too much to send
}

// fill solves the linear program for a makespan, beginning with some intervals; it returns nil if the time is over.
func (m *mixer) fill(end model.Time, cuts []interval) *filled {
	p := &lp.Model{Sense: lp.Maximise}
	column := make([]int, len(m.all))
	for i, list := range m.all {
		upper := lp.AtInt(2)
		if len(list) == 0 || slices.ContainsFunc(list, func(w window) bool { return w.after+w.left >= end }) {
			upper = lp.AtInt(0)
		}
		column[i] = p.AddColumn(lp.Column{Cost: lp.Int(1), Upper: upper})
	}
	limit := func(x interval) {
		var terms []lp.Term
		for i, list := range m.all {
			load := 0.0
			for _, w := range list {
				if w.orbit == x.orbit && w.after >= x.after && w.left >= x.left {
					load += w.load
				}
			}
			if v, ok := lp.Float(load); ok && load > 0 {
				terms = append(terms, lp.Term{Col: column[i], Coef: v})
			}
		}
		p.AddLE("", lp.Int(int64(end-x.left-x.after)), terms...)
	}
	cuts = slices.DeleteFunc(slices.Clone(cuts), func(x interval) bool { return x.after+x.left >= end })
	for _, x := range cuts {
		limit(x)
	}
	f := &filled{parts: make([]float64, len(m.all))}
	for range windowTurns {
		if m.s.b.Spent() {
			return nil
		}
		r, err := highs.Simplex(m.s.b.Context(), p)
		if err != nil {
			return nil
		}
		for i, c := range column {
			f.parts[i] = max(0, r.Values[c])
		}
		f.sum, f.cuts, f.prices = r.Objective, cuts, r.RowDuals
		more := m.cuts(f.parts, end)
		if f.whole = len(more) == 0; f.whole {
			break
		}
		for _, x := range more {
			limit(x)
		}
		cuts = append(cuts, more...)
	}
	return f
}

// cuts returns intervals in which there is too much to send, the worst of each orbit and beginning first.
func (m *mixer) cuts(parts []float64, end model.Time) (cuts []interval) {
	by := map[int][]window{}
	for i, list := range m.all {
		if parts[i] < 1e-9 {
			continue
		}
		for _, w := range list {
			w.load *= parts[i]
			by[w.orbit] = append(by[w.orbit], w)
		}
	}
	for orbit, list := range by {
		slices.SortFunc(list, func(a, b window) int { return cmp.Compare(b.left, a.left) })
		var begins []model.Time
		for _, w := range list {
			begins = append(begins, w.after)
		}
		slices.Sort(begins)
		for _, after := range slices.Compact(begins) {
			load, worst := 0.0, interval{orbit: orbit, after: after}
			for i, w := range list {
				if w.after >= after {
					load += w.load
				}
				if i+1 < len(list) && list[i+1].left == w.left {
					continue
				}
				if excess := load/float64(max(1, end-w.left-after)) - 1; w.after >= after && excess > worst.excess {
					worst.left, worst.excess = w.left, excess
				}
			}
			if worst.excess > 1e-4 {
				cuts = append(cuts, worst)
			}
		}
	}
	slices.SortFunc(cuts, func(a, b interval) int {
		return cmp.Or(cmp.Compare(b.excess, a.excess), cmp.Compare(a.orbit, b.orbit), cmp.Compare(a.after, b.after))
	})
	return cuts[:min(windowCuts, len(cuts))]
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

//go:build cgo

package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits of a linear program for mixtures.
const (
	windowCuts  = 40 // rows that are added at a time
	windowTurns = 12 // times that rows are added
)

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

//go:build cgo

package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
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
	x := m.fill(end)
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

// program is the linear program of a mixer as it was solved last, from where it goes on: with more plans, more intervals, and other makespans.
type program struct {
	lp      *highs.Growing
	columns int        // plans
	rows    []interval // behind the first row, in which nothing is
}

// fill solves the linear program for a makespan; it returns nil if the time is over.
func (m *mixer) fill(end model.Time) *filled {
	x := m.program
	if x == nil {
		g, err := highs.NewGrowing([]float64{1})
		if err != nil {
			return nil
		}
		x = &program{lp: g}
		m.program = x
	}
	for ; x.columns < len(m.all); x.columns++ {
		var rows []int32
		var entries []float64
		for i, y := range x.rows {
			if load := y.load(m.all[x.columns]); load > leastLoad {
				rows, entries = append(rows, int32(i+1)), append(entries, load)
			}
		}
		if x.lp.Add(1, rows, entries) != nil {
			return nil
		}
	}
	for i, list := range m.all {
		most := 2.0
		if len(list) == 0 || slices.ContainsFunc(list, func(w window) bool { return w.after+w.left >= end }) {
			most = 0
		}
		if x.lp.SetMost(i, most) != nil {
			return nil
		}
	}
	for i, y := range x.rows {
		if x.lp.SetRoom(i+1, float64(max(0, end-y.left-y.after))) != nil {
			return nil
		}
	}
	f := &filled{parts: make([]float64, len(m.all))}
	for range windowTurns {
		if m.s.b.Spent() {
			return nil
		}
		r, err := x.lp.Maximise(m.s.b.Context())
		if err != nil {
			return nil
		}
		for i, v := range r.Values {
			f.parts[i] = max(0, v)
		}
		f.sum, f.cuts, f.prices = r.Objective, x.rows, r.RowDuals[1:]
		more := m.cuts(f.parts, end)
		if f.whole = len(more) == 0; f.whole {
			break
		}
		for _, y := range more {
			var columns []int32
			var entries []float64
			for i, list := range m.all {
				if load := y.load(list); load > leastLoad {
					columns, entries = append(columns, int32(i)), append(entries, load)
				}
			}
			if x.lp.AddRow(float64(end-y.left-y.after), columns, entries) != nil {
				return nil
			}
			x.rows = append(x.rows, y)
		}
	}
	return f
}

// load returns how long a plan with some windows keeps the links of the orbit busy within the interval.
func (x *interval) load(list []window) (load float64) {
	for i := range list {
		if w := &list[i]; w.orbit == x.orbit && w.after >= x.after && w.left >= x.left {
			load += w.load
		}
	}
	return load
}

// leastLoad is what counts, in picoseconds.
const leastLoad = 1e-6

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

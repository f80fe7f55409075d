package modulo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// MaxPairs is how many pairs of uses of one resource, or of collectives in one order, a program has at most.
const MaxPairs = 3000

// mostOnLine is how many uses of one resource there are at most.
const mostOnLine = 512

// Options steer Exact.
type Options struct {
	TimeLimit time.Duration
	Seed      uint64
	Least     model.Time // no period is shorter
}

// Result is what came of Exact.
type Result struct {
	Schedule *wl.Schedule // nil: none was found
	Closed   bool         // the solver claims that with these programs no period is shorter
}

// ErrTooLarge is wrapped by the error for a workload whose program would be too large.
var ErrTooLarge = errors.New("too large for exact")

// order has one of two nodes come before the other in each period, by the height h: b - a >= x - h·period, and
// a - b >= y - (1-h)·period, of their starts a and b.
type order struct {
	a, b int
	x, y model.Time
}

// Exact looks for the schedule with the shortest period by a mixed-integer program in the throughput form (in which the
// reciprocal of the period is a variable, so that no two variables are multiplied), which HiGHS solves. It schedules what
// Schedule does: programs are moved as a whole, and keep each link from use to use. The solver's orders are taken, and
// the times made from them in whole picoseconds.
func Exact(ctx context.Context, w *wl.Workload, programs []*model.Schedule, o Options) (*Result, error) {
	if err := highs.Available(); err != nil {
		return nil, err
	}
	if !w.Periodic {
		return nil, solve.NotServed("serves what goes on for ever")
	}
	t := &table{ctx: ctx, w: w}
	if err := t.list(programs); err != nil {
		return nil, err
	}
	orders, err := t.orders()
	if err != nil {
		return nil, err
	}
	least := max(o.Least, t.longest())
	m, heights := t.program(orders, least)
	r, err := highs.Solve(ctx, m, highs.Options{TimeLimit: o.TimeLimit, Seed: o.Seed, Threads: 1})
	if err != nil {
		return nil, err
	}
	out := &Result{Closed: r.Status == highs.Optimal}
	if !r.HasSolution {
		return out, nil
	}
	waits := slices.Clone(t.waits)
	for i, x := range orders {
		h := nearest(r.Values[heights[i]])
		waits = append(waits, wait{x.a, x.b, x.x, h}, wait{x.b, x.a, x.y, 1 - h})
	}
	if period, at, ok := t.arrange(waits, least); ok {
		out.Schedule = t.schedule(period, at, programs)
	}
	return out, ctx.Err()
}

func nearest(x float64) int {
	if x < 0 {
		return -int(-x + 0.5)
	}
	return int(x + 0.5)
}

// orders lists what must have an order: uses of one resource, and the beginnings of collectives that share ranks.
func (t *table) orders() (all []order, err error) {
	lines := map[int32][][2]int{} // by resource: node and use
	for i, n := range t.nodes {
		for k, u := range n.uses {
			if u.end != u.choice+1 {
				return nil, solve.NotServed("links that share a port with several places")
			}
			lines[u.choice] = append(lines[u.choice], [2]int{i, k})
		}
	}
	pairs := map[[2]int][]order{}
	count := 0
	add := func(x order) {
		key := [2]int{x.a, x.b}
		if slices.ContainsFunc(pairs[key], func(y order) bool { return y.x >= x.x && y.y >= x.y }) {
			return
		}
		was := len(pairs[key])
		pairs[key] = append(slices.DeleteFunc(pairs[key], func(y order) bool { return x.x >= y.x && x.y >= y.y }), x)
		count += len(pairs[key]) - was
	}
	for _, choice := range slices.Sorted(maps.Keys(lines)) {
		line := lines[choice]
		if n := len(line); n > mostOnLine {
			return nil, fmt.Errorf("%d uses of a link, want at most %d: %w", n, mostOnLine, ErrTooLarge)
		}
		for k, a := range line {
			for _, b := range line[:k] {
				x, y := b, a // the node of the smaller index first
				u, v := &t.nodes[x[0]].uses[x[1]], &t.nodes[y[0]].uses[y[1]]
				add(order{x[0], y[0], u.from + u.lasts - v.from, v.from + v.lasts - u.from})
			}
		}
		if count > MaxPairs {
			return nil, fmt.Errorf("more than %d pairs of uses of a link: %w", MaxPairs, ErrTooLarge)
		}
	}
	for j, b := range t.nodes {
		for i, a := range t.nodes[:j] {
			if !a.collective || !b.collective {
				continue
			}
			lo, hi := model.MaxTime, -model.MaxTime
			for v, x := range a.first {
				if y, shared := b.first[v]; shared {
					lo, hi = min(lo, y-x), max(hi, y-x)
				}
			}
			if lo < hi { // on all shared ranks b begins after a, and before the next a
				add(order{i, j, -lo, hi})
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(pairs), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		slices.SortFunc(pairs[key], func(a, b order) int { return cmp.Compare(a.x, b.x) })
		all = append(all, pairs[key]...)
	}
	if len(all) > MaxPairs {
		return nil, fmt.Errorf("%d pairs of uses of a link, or of collectives, want at most %d: %w", len(all), MaxPairs, ErrTooLarge)
	}
	return all, nil
}

// program returns the mixed-integer program, and its column for the height of each order.
func (t *table) program(orders []order, least model.Time) (m *lp.Model, heights []int) {
	// Times are in units of the least period, so that alpha, the least period over the period, is at most 1.
	m = &lp.Model{Name: "workload-periodic", Sense: lp.Maximise}
	alpha := m.AddColumn(lp.Column{Name: "alpha", Cost: lp.Int(1), Upper: lp.AtInt(1)})
	slowest := make([]model.Time, len(t.nodes))
	for _, w := range t.waits {
		slowest[w.from] = max(slowest[w.from], w.delay)
	}
	most := int64(2) // periods within which each can begin: a way passes each node once
	for _, d := range slowest {
		most += 2 + int64(d/least)
	}
	var u []int
	for range t.nodes {
		u = append(u, m.AddColumn(lp.Column{Name: "u", Upper: lp.AtInt(most)}))
	}
	after := func(from, to int, delay model.Time, rhs int64, more ...lp.Term) { // u_to - u_from - delay·alpha + more >= rhs
		terms := append([]lp.Term{{Col: alpha, Coef: lp.Frac(-int64(delay), int64(least))}}, more...)
		if from != to {
			terms = append(terms, lp.T(u[to], 1), lp.T(u[from], -1))
		}
		m.AddGE("", lp.Int(rhs), terms...)
	}
	for _, w := range t.waits {
		after(w.from, w.to, w.delay, int64(-w.periods))
	}
	for _, x := range orders {
		h := m.AddColumn(lp.Column{Name: "h", Lower: lp.AtInt(-most), Upper: lp.AtInt(most + 1), Integer: true})
		heights = append(heights, h)
		after(x.a, x.b, x.x, 0, lp.T(h, 1))
		after(x.b, x.a, x.y, -1, lp.T(h, -1))
	}
	return m, heights
}

// arrange returns the least period from least on at which all can begin, and when, by whole picoseconds: a cycle of
// waits that takes longer than its periods needs a longer one.
func (t *table) arrange(waits []wait, least model.Time) (period model.Time, at []model.Time, ok bool) {
	most := 1 // periods between two
	for _, w := range waits {
		most = max(most, w.periods, -w.periods)
	}
	for period = least; period < model.MaxTime/4/model.Time(most*(len(waits)+1)); {
		at = make([]model.Time, len(t.nodes))
		via := make([]int, len(t.nodes))
		changed := -1
		for range len(t.nodes) + 1 {
			changed = -1
			for k, w := range waits {
				if next := at[w.from] + w.delay - period*model.Time(w.periods); next > at[w.to] {
					at[w.to], via[w.to], changed = next, k, w.to
				}
			}
			if changed < 0 {
				return period, at, true
			}
		}
		for range t.nodes { // back into the cycle
			changed = waits[via[changed]].from
		}
		delay, periods := model.Time(0), 0
		for i := changed; ; {
			w := waits[via[i]]
			delay, periods, i = delay+w.delay, periods+w.periods, w.from
			if i == changed {
				break
			}
		}
		if periods <= 0 || t.ctx.Err() != nil {
			return 0, nil, false
		}
		next := (delay + model.Time(periods) - 1) / model.Time(periods)
		if next <= period {
			return 0, nil, false
		}
		period = next
	}
	return 0, nil, false
}

package cnf

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// none is the earliest epoch of what never comes.
const none = 8 * maxVars

// tables hold the variables of section 10.4.
type tables struct {
	times  [][]timing // by chunk and arc
	early  [][]int    // by chunk and rank
	has    [][]int    // by chunk and rank: the variable of epoch early; 0: none
	send   [][]int    // by chunk and arc: the variable of the first epoch; 0: none
	first  [][]int    // by chunk and arc: that epoch
	latest [][]int    // by chunk and arc: the last epoch
	cut    int        // of round 1
	avail  [][]int    // by chunk and rank: the variable of epoch early; 0: none
}

// copying writes the formula of a problem without reductions.
func (f *formula) copying() error {
	v, err := f.tables()
	if err != nil {
		return err
	}
	for _, part := range []func(*tables){f.arrivals, f.sources, f.demands, f.alike} {
		if part(v); f.failed != nil {
			return f.failed
		}
	}
	if err := f.capacities(func(epoch int, take func(k, a int, uses func(place int) bool, l int)) {
		f.under(v, epoch, take)
	}); err != nil {
		return err
	}
	return f.inSteps(v)
}

func (f *formula) tables() (*tables, error) {
	v := &tables{}
	bySize := map[int64][]timing{}
	for k, c := range f.p.Chunks {
		if bySize[c.Size] == nil {
			t, err := f.timings(c.Size)
			if err != nil {
				return nil, err
			}
			bySize[c.Size] = t
		}
		v.times = append(v.times, bySize[c.Size])
		v.early = append(v.early, f.earliest(k, bySize[c.Size]))
	}
	var err error
	if v.has, err = f.perRank(v, f.horizon); err != nil {
		return nil, err
	}
	for k := range f.holder {
		lit, first, last := make([]int, len(f.arcs)), make([]int, len(f.arcs)), make([]int, len(f.arcs))
		for i, a := range f.arcs {
			first[i], last[i] = 0, -1
			if a.to == f.holder[k] || v.early[k][a.from] == none {
				continue
			}
			from := max(v.early[k][a.from], f.ready[a.from], f.ready[a.to])
			to := f.horizon - v.times[k][i].delay
			if from > to {
				continue
			}
			first[i], last[i] = from, to
			if lit[i], err = f.number(to - from + 1); err != nil {
				return nil, err
			}
		}
		v.send, v.first, v.latest = append(v.send, lit), append(v.first, first), append(v.latest, last)
	}
	if f.steps > 0 {
		if v.cut, err = f.number(f.horizon - 1); err != nil {
			return nil, err
		}
		v.avail, err = f.perRank(v, f.horizon-1)
	}
	return v, err
}

// perRank numbers, for each chunk and each rank but its holder, one variable an epoch
// from the earliest to last.
func (f *formula) perRank(v *tables, last int) ([][]int, error) {
	var all [][]int
	for k, holder := range f.holder {
		list := make([]int, f.t.Ranks)
		for r := range list {
			if r == holder || v.early[k][r] > last {
				continue
			}
			var err error
			if list[r], err = f.number(last - v.early[k][r] + 1); err != nil {
				return nil, err
			}
		}
		all = append(all, list)
	}
	return all, nil
}

// earliest returns the epochs at which chunk k can be at each rank. Ranks are settled
// in order of time.
func (f *formula) earliest(k int, times []timing) []int {
	early, settled := make([]int, f.t.Ranks), make([]bool, f.t.Ranks)
	for r := range early {
		early[r] = none
	}
	early[f.holder[k]] = 0
	leaving := make([][]int, f.t.Ranks)
	for i, a := range f.arcs {
		leaving[a.from] = append(leaving[a.from], i)
	}
	for range early {
		u := -1
		for r := range early {
			if !settled[r] && early[r] < none && (u < 0 || early[r] < early[u]) {
				u = r
			}
		}
		if u < 0 {
			break
		}
		settled[u] = true
		for _, i := range leaving[u] {
			w := f.arcs[i].to
			early[w] = min(early[w], max(early[u], f.ready[u], f.ready[w])+times[i].delay)
		}
	}
	return early
}

// held adds to a clause that rank r has chunk k at an epoch, by has or by avail. lowest is
// the horizon of the variables.
func (f *formula) held(v *tables, list [][]int, last, k, r, epoch int) {
	switch {
	case r == f.holder[k]:
		f.satisfied = true
	case list[k][r] != 0 && v.early[k][r] <= epoch && epoch <= last:
		f.lit(list[k][r] + epoch - v.early[k][r])
	}
}

func (v *tables) hasNot(k, r, epoch int) int { return -(v.has[k][r] + epoch - v.early[k][r]) }

// arrivals: clause 1 of section 10.5.
func (f *formula) arrivals(v *tables) {
	for k := range f.holder {
		for r := range f.t.Ranks {
			if v.has[k][r] == 0 {
				continue
			}
			for t := v.early[k][r]; t <= f.horizon; t++ {
				f.lit(v.hasNot(k, r, t))
				f.held(v, v.has, f.horizon, k, r, t-1)
				for _, i := range f.into[r] {
					if start := t - v.times[k][i].delay; v.first[k][i] <= start && start <= v.latest[k][i] {
						f.lit(v.send[k][i] + start - v.first[k][i])
					}
				}
				f.end()
			}
		}
	}
}

// sources: clause 2.
func (f *formula) sources(v *tables) {
	list, last := v.has, f.horizon
	if f.steps > 0 {
		list, last = v.avail, f.horizon-1
	}
	for k := range f.holder {
		for i, a := range f.arcs {
			for t := v.first[k][i]; t <= v.latest[k][i]; t++ {
				f.lit(-(v.send[k][i] + t - v.first[k][i]))
				f.held(v, list, last, k, a.from, t)
				f.end()
			}
		}
	}
}

// demands: clause 3.
func (f *formula) demands(v *tables) {
	for k := range f.holder {
		for _, r := range f.wanted[k] {
			f.held(v, v.has, f.horizon, k, r, f.horizon)
			f.end()
		}
	}
}

// alike: clause 4.
func (f *formula) alike(v *tables) {
	for k := 1; k < len(f.holder); k++ {
		if f.p.Chunks[k].Size != f.p.Chunks[k-1].Size || f.holder[k] != f.holder[k-1] ||
			!slices.Equal(f.wanted[k], f.wanted[k-1]) || len(f.wanted[k]) == 0 {
			continue
		}
		r := f.wanted[k][0]
		if v.has[k][r] == 0 {
			continue
		}
		for t := v.early[k][r]; t < f.horizon; t++ {
			f.lit(v.hasNot(k, r, t))
			f.held(v, v.has, f.horizon, k-1, r, t)
			f.end()
		}
	}
}

// capacities: clause 5. each passes to take what may be sent and still be in the way at
// an epoch: its arc, whether it then uses a place of the arc, and its literal.
func (f *formula) capacities(each func(epoch int, take func(k, a int, uses func(place int) bool, l int))) error {
	if f.p.Cost == model.Rounds {
		for r := range f.t.Ranks {
			for t := range f.horizon {
				var leave, enter []int
				each(t, func(_, a int, _ func(int) bool, l int) {
					if f.arcs[a].from == r {
						leave = append(leave, l)
					}
					if f.arcs[a].to == r {
						enter = append(enter, l)
					}
				})
				if err := f.atMost(1, leave); err != nil {
					return err
				}
				if err := f.atMost(1, enter); err != nil {
					return err
				}
			}
		}
		return nil
	}
	limit := func(capacity int, member func(b int) bool) error {
		places := make([][]int, len(f.arcs))
		for i, a := range f.arcs {
			for place, b := range a.over {
				if member(b) {
					places[i] = append(places[i], place)
				}
			}
		}
		for t := range f.horizon {
			var xs []int
			each(t, func(_, a int, uses func(int) bool, l int) {
				if slices.ContainsFunc(places[a], uses) {
					xs = append(xs, l)
				}
			})
			if err := f.atMost(capacity, xs); err != nil {
				return err
			}
		}
		return nil
	}
	for b := range f.bundles {
		if err := limit(f.bundles[b].count, func(x int) bool { return x == b }); err != nil {
			return err
		}
	}
	for i, port := range f.t.Ports {
		if err := limit(port.Capacity, func(x int) bool { return slices.Contains(f.bundles[x].ports, i) }); err != nil {
			return err
		}
	}
	return nil
}

// under lists sends by chunk, arc and start. Under rounds all that start at the epoch.
func (f *formula) under(v *tables, epoch int, take func(k, a int, uses func(place int) bool, l int)) {
	for k := range f.holder {
		for i := range f.arcs {
			if v.send[k][i] == 0 {
				continue
			}
			start := v.first[k][i]
			if f.epoch == 0 { // in rounds nothing lasts longer than the round
				start = max(start, epoch)
			}
			for ; start <= min(epoch, v.latest[k][i]); start++ {
				busy := v.times[k][i].busy
				take(k, i, func(place int) bool {
					return start+busy[place][0] <= epoch && epoch < start+busy[place][1]
				}, v.send[k][i]+start-v.first[k][i])
			}
		}
	}
}

// inSteps: clause 6.
func (f *formula) inSteps(v *tables) error {
	if f.steps == 0 {
		return f.failed
	}
	last := f.horizon - 1
	for k := range f.holder {
		for r := range f.t.Ranks {
			if v.avail[k][r] == 0 {
				continue
			}
			for t := v.early[k][r]; t <= last; t++ {
				not := -(v.avail[k][r] + t - v.early[k][r])
				f.lit(not)
				f.held(v, v.has, f.horizon, k, r, t)
				f.end()
				f.lit(not)
				if t > 0 {
					f.lit(v.cut + t - 1)
				}
				f.held(v, v.avail, last, k, r, t-1)
				f.end()
			}
		}
	}
	var cuts []int
	for t := 1; t <= last; t++ {
		cuts = append(cuts, v.cut+t-1)
	}
	return f.atMost(f.steps-1, cuts)
}

package cnf

import (
	"container/heap"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// none is the earliest epoch of what never comes.
const none = 8 * maxVars

// tables hold the variables of section 10.4.
type tables struct {
	times  [][]timing // by chunk and arc
	early  []row      // by chunk and rank
	has    []row      // by chunk and rank: the variable of epoch early; 0: none
	send   []row      // by chunk and arc: the variable of the first epoch; 0: none
	first  []row      // by chunk and arc: that epoch
	latest []row      // by chunk and arc: the last epoch
	cut    int        // of round 1
	avail  []row      // by chunk and rank: the variable of epoch early; 0: none
}

// row holds a number for each of some ranks or arcs.
type row []int32

func (x row) at(i int) int { return int(x[i]) }

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
	if err := f.capacities(func(epoch int, over []int, take func(k, a int, uses func(place int) bool, l int)) {
		f.under(v, epoch, over, take)
	}); err != nil {
		return err
	}
	return f.inSteps(v)
}

func (f *formula) tables() (*tables, error) {
	v := &tables{}
	bySize := map[int64][]timing{}
	type start struct {
		size   int64
		holder int
	}
	known := map[start]row{}
	for k, c := range f.p.Chunks {
		if bySize[c.Size] == nil {
			t, err := f.timings(c.Size)
			if err != nil {
				return nil, err
			}
			bySize[c.Size] = t
		}
		v.times = append(v.times, bySize[c.Size])
		from := start{c.Size, f.holder[k]}
		if known[from] == nil {
			known[from] = f.earliest(k, bySize[c.Size])
		}
		v.early = append(v.early, known[from])
	}
	var err error
	if v.has, err = f.perRank(v, f.horizon); err != nil {
		return nil, err
	}
	for k := range f.holder {
		lit, first, last := make(row, len(f.arcs)), make(row, len(f.arcs)), make(row, len(f.arcs))
		for i, a := range f.arcs {
			first[i], last[i] = 0, -1
			if a.to == f.holder[k] || v.early[k].at(a.from) == none {
				continue
			}
			from := max(v.early[k].at(a.from), f.ready[a.from], f.ready[a.to])
			to := f.horizon - v.times[k][i].delay
			if from > to {
				continue
			}
			l, err := f.number(to - from + 1)
			if err != nil {
				return nil, err
			}
			lit[i], first[i], last[i] = int32(l), int32(from), int32(to)
		}
		if !f.work.Go(len(f.arcs) + f.t.Ranks) {
			return nil, errStopped
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
func (f *formula) perRank(v *tables, last int) ([]row, error) {
	var all []row
	for k, holder := range f.holder {
		if !f.work.Go(f.t.Ranks) {
			return nil, errStopped
		}
		list := make(row, f.t.Ranks)
		for r := range list {
			if r == holder || v.early[k].at(r) > last {
				continue
			}
			l, err := f.number(last - v.early[k].at(r) + 1)
			if err != nil {
				return nil, err
			}
			list[r] = int32(l)
		}
		all = append(all, list)
	}
	return all, nil
}

// earliest returns the epochs at which chunk k can be at each rank. Ranks are settled
// in order of time.
func (f *formula) earliest(k int, times []timing) row {
	early := make(row, f.t.Ranks)
	for r := range early {
		early[r] = none
	}
	early[f.holder[k]] = 0
	queue := arrivals{{0, f.holder[k]}}
	for len(queue) > 0 && f.work.Go(1) {
		now := heap.Pop(&queue).(arrival)
		if now.epoch > early.at(now.rank) {
			continue
		}
		for _, i := range f.outOf[now.rank] {
			w := f.arcs[i].to
			at := min(max(now.epoch, f.ready[now.rank], f.ready[w])+times[i].delay, none)
			if f.work.Go(1) && at < early.at(w) {
				early[w] = int32(at)
				heap.Push(&queue, arrival{at, w})
			}
		}
	}
	return early
}

// arrival says that a chunk can be at a rank at an epoch.
type arrival struct{ epoch, rank int }

type arrivals []arrival

func (q arrivals) Len() int           { return len(q) }
func (q arrivals) Less(i, j int) bool { return q[i].epoch < q[j].epoch }
func (q arrivals) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *arrivals) Push(x any)        { *q = append(*q, x.(arrival)) }
func (q *arrivals) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// held adds to a clause that rank r has chunk k at an epoch, by has or by avail. lowest is
// the horizon of the variables.
func (f *formula) held(v *tables, list []row, last, k, r, epoch int) {
	switch {
	case r == f.holder[k]:
		f.satisfied = true
	case list[k].at(r) != 0 && v.early[k].at(r) <= epoch && epoch <= last:
		f.lit(list[k].at(r) + epoch - v.early[k].at(r))
	}
}

func (v *tables) hasNot(k, r, epoch int) int { return -(v.has[k].at(r) + epoch - v.early[k].at(r)) }

// arrivals: clause 1 of section 10.5.
func (f *formula) arrivals(v *tables) {
	for k := range f.holder {
		for r := range f.t.Ranks {
			if v.has[k].at(r) == 0 {
				continue
			}
			for t := v.early[k].at(r); t <= f.horizon; t++ {
				f.lit(v.hasNot(k, r, t))
				f.held(v, v.has, f.horizon, k, r, t-1)
				for _, i := range f.into[r] {
					if start := t - v.times[k][i].delay; v.first[k].at(i) <= start && start <= v.latest[k].at(i) {
						f.lit(v.send[k].at(i) + start - v.first[k].at(i))
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
			for t := v.first[k].at(i); t <= v.latest[k].at(i); t++ {
				f.lit(-(v.send[k].at(i) + t - v.first[k].at(i)))
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
		if v.has[k].at(r) == 0 {
			continue
		}
		for t := v.early[k].at(r); t < f.horizon; t++ {
			f.lit(v.hasNot(k, r, t))
			f.held(v, v.has, f.horizon, k-1, r, t)
			f.end()
		}
	}
}

// capacities: clause 5. each passes to take what may be sent over some arcs, which ascend,
// and still be in the way at an epoch: its arc, whether it then uses a place of the arc, and
// its literal.
func (f *formula) capacities(each func(epoch int, over []int, take func(k, a int, uses func(place int) bool, l int))) error {
	if f.p.Cost == model.Rounds {
		for r := range f.t.Ranks {
			for t := range f.horizon {
				for _, over := range [][]int{f.outOf[r], f.into[r]} {
					var xs []int
					each(t, over, func(_, _ int, _ func(int) bool, l int) { xs = append(xs, l) })
					if err := f.atMost(1, xs); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	limit := func(capacity int, over []int, member func(b int) bool) error {
		places := make(map[int][]int, len(over))
		for _, i := range over {
			for place, b := range f.arcs[i].over {
				if member(b) {
					places[i] = append(places[i], place)
				}
			}
		}
		for t := range f.horizon {
			var xs []int
			each(t, over, func(_, a int, uses func(int) bool, l int) {
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
	over := make([][]int, len(f.bundles)) // by bundle: arcs
	for i, a := range f.arcs {
		for _, b := range a.over {
			over[b] = append(over[b], i)
		}
	}
	inPort := make([][]int, len(f.t.Ports)) // by port: bundles
	for b := range f.bundles {
		for _, i := range f.bundles[b].Ports {
			inPort[i] = append(inPort[i], b)
		}
		if err := limit(f.bundles[b].Links, over[b], func(x int) bool { return x == b }); err != nil {
			return err
		}
	}
	for i, port := range f.t.Ports {
		var all []int
		members := map[int]bool{}
		for _, b := range inPort[i] {
			all, members[b] = append(all, over[b]...), true
		}
		slices.Sort(all)
		if err := limit(port.Capacity, slices.Compact(all), func(x int) bool { return members[x] }); err != nil {
			return err
		}
	}
	return nil
}

// under lists sends over some arcs by chunk, arc and start. Under rounds all that start at
// the epoch.
func (f *formula) under(v *tables, epoch int, over []int, take func(k, a int, uses func(place int) bool, l int)) {
	for k := range f.holder {
		for _, i := range over {
			if !f.work.Go(1) {
				return
			}
			if v.send[k][i] == 0 {
				continue
			}
			start := v.first[k].at(i)
			busy := v.times[k][i].busy
			if f.epoch == 0 { // in rounds nothing lasts longer than the round
				start = max(start, epoch)
			} else { // what started before is over everywhere
				longest := 0
				for _, b := range busy {
					longest = max(longest, b[1])
				}
				start = max(start, epoch-longest+1)
			}
			for ; start <= min(epoch, v.latest[k].at(i)); start++ {
				take(k, i, func(place int) bool {
					return start+busy[place][0] <= epoch && epoch < start+busy[place][1]
				}, v.send[k].at(i)+start-v.first[k].at(i))
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
			if v.avail[k].at(r) == 0 {
				continue
			}
			for t := v.early[k].at(r); t <= last; t++ {
				not := -(v.avail[k].at(r) + t - v.early[k].at(r))
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

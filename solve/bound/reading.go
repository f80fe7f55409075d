package bound

import "github.com/oraccl/oraccl/model"

// reading returns by when a load can have passed links of ranks that read sums of d ranks at
// switches, and write to as many: each transfer takes (d+1)/(d-1) of them or more, and what
// a rank has in its own sums takes a link before, or after, the time when the load does. It is 0
// where switches copy or add otherwise.
func (f *finder) reading(lanes []lane, l *load) model.Time {
	d, ranks := 2, map[int]int{}
	for _, s := range f.t.Switches {
		if s.Reduces == model.SumsTurned || s.Copies && s.Reduces == model.NoReducing {
			return 0
		}
	}
	for _, k := range f.t.Links {
		if f.t.Reduces(k.Src) == model.SumsRead && f.t.IsRank(k.Dst) {
			ranks[k.Src]++
			d = max(d, ranks[k.Src])
		}
	}
	times, of := int64(d+1), int64(d-1)
	if d < 3 {
		times, of = 2, 1
	}
	if l.count == 0 || len(lanes) == 0 {
		return 0
	}
	p := f.passage(f.widened(lanes), l)
	need, bytes := p.need.times(times), p.bytes.times(times)
	low, high := model.Time(0), model.MaxTime/8
	for low < high {
		if f.budget.Spent() {
			return 0
		}
		at := low + (high-low)/2
		var windows, spare area
		for i := range p.lanes {
			a := &p.lanes[i]
			windows = windows.plus(rectangle(a.bandwidth, a.span(at)))
			spare = spare.plus(rectangle(a.bandwidth, max(0, a.span(at)-a.beside)))
		}
		if spare.times(of).less(bytes) || !f.free && windows.times(of).less(need) {
			low = at + 1
		} else {
			high = at
		}
	}
	return low
}

// widened returns lanes whose spans hold what a rank's own contribution takes of the link
// that leads back where it reads a sum or writes to several.
func (f *finder) widened(lanes []lane) []lane {
	at := map[[2]int]lane{} // by the ends of links of switches that add
	for _, a := range lanes {
		k := f.t.Links[a.link]
		at[[2]int{k.Src, k.Dst}] = a
	}
	var wide []lane
	for _, a := range lanes {
		k := f.t.Links[a.link]
		b, there := at[[2]int{k.Dst, k.Src}]
		if there && (f.t.Reduces(k.Src) == model.SumsRead || f.t.Reduces(k.Dst) == model.SumsRead) {
			ahead, behind := -k.Alpha, -k.Alpha // a link from a rank: before it is over on the way back
			if f.t.IsRank(k.Dst) {
				ahead, behind = f.t.Links[b.link].Alpha, f.t.Links[b.link].Alpha
			}
			switch {
			case f.p.Cost == model.Rounds:
				ahead, behind = 0, 0
			case f.p.Cost != model.Pipelined && f.t.IsRank(k.Dst):
				behind = k.Alpha
			case f.p.Cost != model.Pipelined:
				behind = -f.t.Links[b.link].Alpha
			}
			a.from = max(0, min(a.from, b.from+ahead))
			a.after = max(0, min(a.after, b.after-behind))
		}
		wide = append(wide, a)
	}
	return wide
}

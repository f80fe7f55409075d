package bound

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// entry is links into a set that are alike.
type entry struct {
	src, dst  int
	alpha     model.Time
	bandwidth uint64 // of all
}

// entering is a set with what it takes to value it.
type entering struct {
	*covering
	inside  []bool
	entries []entry
	lanes   []lane
	far     [][]model.Time // as covering has them, or outside alone
	onto    []*reach
	inward  map[int]*reach       // by node y: ranks of the set that are reached from it over switches
	served  map[int][]model.Time // D', by rank z of those
}

// entering looks at a set where ways enter it for the first time, or for the last time.
func (c *covering) entering(inside []bool, first bool) *entering {
	e := &entering{covering: c, inside: inside, far: c.far, onto: c.onto, inward: map[int]*reach{}, served: map[int][]model.Time{}}
	var before []bool
	behind := inside
	if first {
		before, behind = complement(inside), nil
		e.far, e.onto = c.distant(before), make([]*reach, c.t.Nodes())
	}
	type ends struct {
		src, dst int
		alpha    model.Time
	}
	known := map[ends]int{}
	for i := range c.t.Links {
		l := &c.t.Links[i]
		if inside[l.Src] || !inside[l.Dst] {
			continue
		}
		a := lane{link: i, bandwidth: l.Bandwidth}
		if c.p.Cost != model.Pipelined {
			a.beside = l.Alpha
		}
		e.lanes = append(e.lanes, a)
		k := ends{l.Src, l.Dst, l.Alpha}
		j, seen := known[k]
		if !seen || e.entries[j].bandwidth > math.MaxInt64 {
			j = len(e.entries)
			known[k] = j
			e.entries = append(e.entries, entry{src: l.Src, dst: l.Dst, alpha: l.Alpha})
			if e.onto[l.Src] == nil {
				e.onto[l.Src] = c.reached(l.Src, before, true)
			}
			if e.inward[l.Dst] == nil {
				e.inward[l.Dst] = c.reached(l.Dst, behind, false)
			}
		}
		e.entries[j].bandwidth += uint64(l.Bandwidth)
	}
	start := slices.Repeat([]model.Time{model.MaxTime}, c.t.Ranks)
	for _, r := range e.inward {
		for _, w := range r.ways {
			if e.served[w.rank] == nil {
				start[w.rank] = 0
				e.served[w.rank] = c.reachAmong(behind, start, c.least, false, false).full
				start[w.rank] = model.MaxTime
				c.s.left -= len(c.t.Links)
			}
		}
	}
	return e
}

// reach is what is reached from a node over switches, or backwards.
type reach struct {
	ways []way // to ranks
	one  bool  // all that passes the node at one time goes to one of these, or has come from one
}

// reached returns what is reached from a node over switches of a set, nil for all, or
// backwards, with the least latency; a rank itself reaches itself alone.
func (f *finder) reached(from int, among []bool, back bool) *reach {
	if f.t.IsRank(from) {
		return &reach{[]way{{from, 0}}, true}
	}
	links := f.out
	if back {
		links = f.in
	}
	least := map[int]model.Time{from: 0}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		if f.t.IsRank(u) {
			continue
		}
		for _, i := range links[u] {
			l := &f.t.Links[i]
			v := l.Src + l.Dst - u
			if among != nil && !among[v] {
				continue
			}
			if old, known := least[v]; !known || least[u].Add(l.Alpha) < old {
				least[v] = least[u].Add(l.Alpha)
				queue = append(queue, v)
			}
		}
	}
	r := &reach{one: true}
	for v, alpha := range least {
		switch {
		case f.t.IsRank(v):
			r.ways = append(r.ways, way{v, alpha})
		case back && f.t.Reduces(v) != model.NoReducing, !back && f.t.Copies(v):
			r.one = false
		}
	}
	slices.SortFunc(r.ways, func(a, b way) int { return cmp.Compare(a.rank, b.rank) })
	return r
}

// distances returns how soon what members contribute can be at the set's links.
func (e *entering) distances(outside []int) []model.Time {
	d := slices.Repeat([]model.Time{model.MaxTime}, len(outside))
	for _, x := range e.entries {
		for _, u := range e.onto[x.src].ways {
			for i, w := range outside {
				d[i] = min(d[i], e.far[w][u.rank].Add(u.alpha).Add(x.alpha))
			}
		}
	}
	e.s.left -= len(outside) * len(e.entries)
	return d
}

// depths returns how soon ranks can have what entered the set.
func (e *entering) depths(within []int) []model.Time {
	d := slices.Repeat([]model.Time{model.MaxTime}, len(within))
	soonest := map[int]model.Time{} // by rank, on the way from any entry
	for _, r := range e.inward {
		for _, z := range r.ways {
			if at, known := soonest[z.rank]; !known || z.alpha < at {
				soonest[z.rank] = z.alpha
			}
		}
	}
	for z, alpha := range soonest {
		served := e.served[z]
		for i, v := range within {
			d[i] = min(d[i], served[v].Add(alpha))
		}
	}
	e.s.left -= len(within) * len(e.entries)
	return d
}

// lowest returns, of lists of times, the least first ones, second ones and so on, when each list is
// sorted: by when how many of one list are over. It returns one where most is 1.
func (e *entering) lowest(lists [][]model.Time, all bool) []model.Time {
	var low []model.Time
	for _, list := range lists {
		e.s.left -= 4 * len(list)
		if !all {
			list = []model.Time{slices.Min(list)}
		}
		slices.Sort(list)
		for i, at := range list {
			if i == len(low) {
				low = append(low, at)
			} else {
				low[i] = min(low[i], at)
			}
		}
	}
	return low
}

// load returns what has to pass: each part as often as it has pairs.
func (e *entering) load(outside, within []int) *load {
	l := &load{}
	w, v := int64(len(outside)), int64(len(within))
	switch {
	case e.fromAll && e.toAll:
		for i := range e.parts {
			l.add(e.shape(int32(i)), w*v)
		}
	case e.toAll:
		for _, m := range outside {
			for _, i := range e.bySrc[e.members[m]] {
				l.add(e.shape(i), v)
			}
		}
	case e.fromAll:
		for _, r := range within {
			for _, i := range e.byDst[r] {
				l.add(e.shape(i), w)
			}
		}
	default:
		in := make([]bool, e.t.Ranks)
		for _, r := range within {
			in[r] = true
		}
		for _, m := range outside {
			e.s.left -= len(e.bySrc[e.members[m]])
			for _, i := range e.bySrc[e.members[m]] {
				if in[e.parts[i].dst] {
					l.add(e.shape(i), 1)
				}
			}
		}
	}
	e.s.left -= len(outside) + len(within)
	return l
}

// worth returns the bound of the set for the contributions of some members, which are outside,
// and the needs of some ranks, which are inside.
func (e *entering) worth(outside, within []int) model.Time {
	l := e.load(outside, within)
	if l.count == 0 {
		return 0
	}
	if len(e.entries) == 0 {
		return model.MaxTime
	}
	p := e.passage(e.lanes, l)
	best := e.by(outside, within, p.bytes, false)
	if !e.free {
		best = max(best, e.by(outside, within, p.need, true))
	}
	return best
}

// by returns the least T at which what can have entered reaches an area. occupied tells that
// the area has what occupies links beside their bytes.
func (e *entering) by(outside, within []int, need area, occupied bool) model.Time {
	type ends struct {
		node    int
		arrival model.Time
	}
	heads, tails := map[ends][]model.Time{}, map[int][]model.Time{}
	slope := map[model.Time]area{}
	for _, x := range e.entries {
		if e.budget.Spent() {
			return 0
		}
		k := ends{node: x.src}
		if e.t.IsRank(x.dst) {
			k.arrival = e.p.ReleaseOf(x.dst)
		}
		if heads[k] == nil {
			var lists [][]model.Time
			for _, u := range e.onto[x.src].ways {
				list := make([]model.Time, len(outside))
				for i, w := range outside {
					list[i] = max(e.far[w][u.rank], k.arrival).Add(u.alpha)
				}
				if !e.onto[x.src].one && len(lists) > 0 {
					for i, at := range list {
						lists[0][i] = min(lists[0][i], at)
					}
					continue
				}
				lists = append(lists, list)
			}
			heads[k] = e.lowest(lists, e.fromAll)
		}
		if tails[x.dst] == nil {
			var lists [][]model.Time
			for _, z := range e.inward[x.dst].ways {
				list := make([]model.Time, len(within))
				for i, v := range within {
					list[i] = e.served[z.rank][v].Add(z.alpha)
				}
				if !e.inward[x.dst].one && len(lists) > 0 {
					for i, at := range list {
						lists[0][i] = min(lists[0][i], at)
					}
				} else {
					lists = append(lists, list)
				}
			}
			tails[x.dst] = e.lowest(lists, e.toAll)
		}
		alpha := x.alpha
		if occupied && e.p.Cost != model.Pipelined {
			alpha = 0
		}
		for _, h := range runs(heads[k]) {
			for _, t := range runs(tails[x.dst]) {
				at := h.at.Add(t.at).Add(alpha)
				slope[at] = slope[at].plus(area{0, x.bandwidth}.times(h.n * t.n))
			}
		}
	}
	bends := make([]model.Time, 0, len(slope))
	for at := range slope {
		if at != model.MaxTime {
			bends = append(bends, at)
		}
	}
	slices.Sort(bends)
	var have, rate area // what can have entered by last, and how fast that grows
	last := model.Time(0)
	for _, at := range bends {
		next := have.plus(rate.times(int64(at - last)))
		if !next.less(need) {
			break
		}
		have, last = next, at
		rate = rate.plus(slope[at])
	}
	if rate == (area{}) {
		return model.MaxTime
	}
	left, speed := new(big.Int).Sub(need.big(), have.big()), rate.big()
	left.Add(left, speed).Sub(left, big.NewInt(1)).Div(left, speed)
	if !left.IsInt64() {
		return model.MaxTime
	}
	return last.Add(model.Time(left.Int64()))
}

// run is n times that are equal.
type run struct {
	at model.Time
	n  int64
}

// runs counts equal ones of sorted times.
func runs(times []model.Time) (list []run) {
	for _, at := range times {
		if n := len(list); n > 0 && list[n-1].at == at {
			list[n-1].n++
		} else {
			list = append(list, run{at, 1})
		}
	}
	return list
}

func (a area) big() *big.Int {
	x := new(big.Int).SetUint64(a.hi)
	return x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(a.lo))
}

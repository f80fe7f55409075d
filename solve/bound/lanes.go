package bound

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// lane is a link that a load may pass: it is free from time from to the makespan
// less after, and a transfer takes beside more of it than its bytes do.
type lane struct {
	link                int
	from, after, beside model.Time
	bandwidth           int64
}

func (a *lane) span(t model.Time) model.Time { return max(0, t-a.from.Add(a.after)) }

func (a *lane) busy(size int64) model.Time {
	return a.beside.Add(model.TransferTime(size, a.bandwidth))
}

// lanes appends the links as lanes for a load that is on its way from ranks to ranks.
// Without ends, all ranks are taken to be at both: that is quick, and yields less.
func (f *finder) lanes(links []int, l *load, ends bool, dst []lane) []lane {
	before, beyond := reached{head: f.lead}, reached{head: f.tail}
	if ends {
		starts := f.starts(l.src, true)
		for r := range starts {
			starts[r] = max(starts[r], l.since)
		}
		before = f.reach(starts, l.least, false, true)
		beyond = f.reach(f.starts(l.dst, false), l.least, true, false)
	}
	for _, i := range links {
		k := &f.t.Links[i]
		a := lane{link: i, bandwidth: k.Bandwidth, beside: f.beside(i), from: before.head[k.Src], after: beyond.head[k.Dst]}
		wait := f.lead[k.Src]
		switch f.p.Cost {
		case model.Pipelined:
			a.after = a.after.Add(k.Alpha)
		case model.Rounds:
			wait, a.from, a.after = 0, 0, 0
			if ends {
				a.from, a.after = before.origin[k.Src], beyond.origin[k.Dst]
			}
		}
		if !ends && f.t.IsRank(k.Src) {
			a.from = max(a.from, f.p.ReleaseOf(k.Src))
		}
		if f.t.IsRank(k.Dst) {
			a.from = max(a.from, f.p.ReleaseOf(k.Dst).Add(wait))
		}
		if a.from < model.MaxTime && a.after < model.MaxTime {
			dst = append(dst, a)
		}
	}
	return dst
}

// beside returns what a transfer takes of link i beside the time of its bytes.
func (f *finder) beside(i int) model.Time {
	l := &f.t.Links[i]
	switch f.p.Cost {
	case model.Blocking, model.LinkRounds:
		return l.Alpha
	case model.Rounds: // all of the hop
		return f.lead[l.Src].Add(l.Alpha).Add(f.tail[l.Dst])
	}
	return 0
}

// area is bandwidth times time in 128 bits. It saturates.
type area struct{ hi, lo uint64 }

func (a area) plus(b area) area {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, over := bits.Add64(a.hi, b.hi, carry)
	if over != 0 {
		return area{^uint64(0), ^uint64(0)}
	}
	return area{hi, lo}
}

func (a area) less(b area) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a area) times(n int64) area {
	hi, lo := bits.Mul64(a.lo, uint64(n))
	over, top := bits.Mul64(a.hi, uint64(n))
	sum, carry := bits.Add64(hi, top, 0)
	if over != 0 || carry != 0 {
		return area{^uint64(0), ^uint64(0)}
	}
	return area{sum, lo}
}

// over returns a divided by a bandwidth, rounded down.
func (a area) over(bandwidth int64) model.Time {
	if a.hi >= uint64(bandwidth) {
		return model.MaxTime
	}
	q, _ := bits.Div64(a.hi, a.lo, uint64(bandwidth))
	return model.Time(min(q, uint64(model.MaxTime)))
}

func rectangle(bandwidth int64, t model.Time) area {
	hi, lo := bits.Mul64(uint64(bandwidth), uint64(t))
	return area{hi, lo}
}

// passage is a load before some lanes, ready to ask by when it can have passed.
type passage struct {
	*finder
	lanes []lane
	load  *load
	need  area // what the transfers occupy
	bytes area // what their bytes take of that
}

// passage weighs a load: each transfer takes of the area what it takes on the lane
// where that is least.
func (f *finder) passage(lanes []lane, l *load) *passage {
	p := &passage{finder: f, lanes: lanes, load: l, bytes: rectangle(l.bytes, model.Second)}
	if !f.free {
		for _, z := range l.sizes {
			least := area{^uint64(0), ^uint64(0)}
			for i := range lanes {
				if a := rectangle(lanes[i].bandwidth, lanes[i].busy(z.size)); a.less(least) {
					least = a
				}
			}
			if len(lanes) > 0 {
				p.need = p.need.plus(least.times(z.n))
			}
		}
	}
	return p
}

// by returns the least time by which the load can have passed, MaxTime if never, and 0 if the
// budget is spent before that is known.
func (p *passage) by() model.Time {
	if p.load.count == 0 {
		return 0
	}
	if len(p.lanes) == 0 {
		return model.MaxTime
	}
	low, high := model.Time(0), model.Time(1)
	for !p.done(high) {
		if high > model.MaxTime/4 {
			return model.MaxTime
		}
		if p.budget.Spent() {
			return 0
		}
		low, high = high+1, 2*high
	}
	for low < high {
		if p.budget.Spent() {
			return 0
		}
		if mid := low + (high-low)/2; p.done(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high
}

// A grouping puts every link into a port, or into none.
type grouping uint8

const (
	apart     grouping = iota // every link by itself
	byPort                    // the ports of the topology
	bySend                    // in rounds, what a rank sends on
	byReceipt                 // in rounds, what a rank receives on
)

// done reports whether the load can have passed by t: whatever way the lanes are put
// into ports, they carry enough transfers and enough bytes.
func (p *passage) done(t model.Time) bool {
	if len(p.t.Ports) > 0 && !p.doneBy(t, byPort) {
		return false
	}
	if p.p.Cost == model.Rounds {
		return p.doneBy(t, bySend) && p.doneBy(t, byReceipt)
	}
	return len(p.t.Ports) > 0 || p.doneBy(t, apart)
}

// port returns the port that a link is in, -1 for none, and its capacity.
func (f *finder) port(link int, g grouping) (port, capacity int) {
	v := -1
	switch g {
	case byPort:
		if port := f.portOf[link]; port >= 0 {
			return port, f.t.Ports[port].Capacity
		}
	case bySend:
		v = f.t.Links[link].Src
	case byReceipt:
		v = f.t.Links[link].Dst
	}
	if v < 0 || !f.t.IsRank(v) {
		return -1, 0
	}
	return v, 1
}

// group sums up the lanes of one port.
type group struct {
	lanes, capacity int
	count           int64
	area, bytes     area
	from, after     model.Time
	busy, beside    model.Time
	speeds          []int64
}

// doneBy is done for one grouping.
func (p *passage) doneBy(t model.Time, by grouping) bool {
	var count int64
	var sum, bytes area
	used := p.used[:0]
	for i := range p.lanes {
		a := &p.lanes[i]
		n, offered, useful, busy := p.carries(a, t)
		port, capacity := p.port(a.link, by)
		if port < 0 {
			count, sum, bytes = min(p.load.count, count+n), sum.plus(offered), bytes.plus(useful)
			continue
		}
		g := &p.groups[port]
		if g.lanes == 0 {
			*g = group{capacity: capacity, from: a.from, after: a.after, busy: busy, beside: a.beside, speeds: g.speeds[:0]}
			used = append(used, port)
		}
		g.lanes++
		g.count, g.area, g.bytes = min(p.load.count, g.count+n), g.area.plus(offered), g.bytes.plus(useful)
		g.from, g.after, g.busy, g.beside = min(g.from, a.from), min(g.after, a.after), min(g.busy, busy), min(g.beside, a.beside)
		g.speeds = append(g.speeds, a.bandwidth)
	}
	for _, port := range used {
		g := &p.groups[port]
		if g.lanes > g.capacity {
			p.narrow(g, t)
		}
		count, sum, bytes = min(p.load.count, count+g.count), sum.plus(g.area), bytes.plus(g.bytes)
		g.lanes = 0
	}
	p.used = used
	return !bytes.less(p.bytes) && (p.free || count >= p.load.count && !sum.less(p.need))
}

// carries returns how many transfers a lane can carry by t, no more than the load
// has, the area that it offers for them and for their bytes, and how long one takes.
func (p *passage) carries(a *lane, t model.Time) (n int64, all, bytes area, busy model.Time) {
	span := a.span(t)
	busy = a.busy(p.load.least)
	n = min(p.load.count, int64(span/busy))
	return n, rectangle(a.bandwidth, span), rectangle(a.bandwidth, max(0, span-a.beside)), busy
}

// narrow holds a group to the capacity of its port.
func (p *passage) narrow(g *group, t model.Time) {
	span := max(0, t-g.from.Add(g.after))
	if each := int64(span / g.busy); each <= p.load.count/int64(g.capacity) {
		g.count = min(g.count, each*int64(g.capacity))
	}
	slices.SortFunc(g.speeds, func(a, b int64) int { return cmp.Compare(b, a) })
	var all, bytes area
	for _, b := range g.speeds[:g.capacity] {
		all, bytes = all.plus(rectangle(b, span)), bytes.plus(rectangle(b, max(0, span-g.beside)))
	}
	if all.less(g.area) {
		g.area = all
	}
	if bytes.less(g.bytes) {
		g.bytes = bytes
	}
}

package cert

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// lane is a link as part of what a load must pass: within a makespan of T it is
// occupied from time from to T - after, by transfer after transfer, each for τ and
// each beside.
type lane struct {
	link        int
	from, after model.Time
	each        model.Time
	bandwidth   int64
}

// busy returns how long a transfer of size bytes or more occupies the lane.
func (a *lane) busy(size int64) model.Time {
	return a.each.Add(model.TransferTime(size, a.bandwidth))
}

// window returns the length of time for which the lane can be occupied by t.
func (a *lane) window(t model.Time) model.Time {
	if a.from.Add(a.after) >= t {
		return 0
	}
	return t - a.from - a.after
}

// lanes returns those of the links that a load can pass on a way from where it is at
// the start to where it is needed.
//
// Lemma (lanes). Let every item of l be moved by transfers that belong to chains
// from ranks of l.from to ranks of l.to. Those that pass a lane occupy it inside its
// window, each for busy(size) or longer, and no two of them at the same time unless
// they are branches of one multicast.
//
// Proof. The chain comes to the link's source by before, in a hop that starts no
// earlier than the arrival of the rank the link leads to [(late)], so that its head
// is there no earlier than that and the least latency from any rank. Read backwards
// in time, the chain is one from where it is needed on the reversed topology, so
// that beyond bounds what is left [(times); a hop reversed is a hop of the same
// length]. Pipelined, the link is occupied for τ by (busy), and its last byte comes
// to its end α after that; blocking, α is part of the occupation. In rounds, let the
// hop count as a whole: it lies in the round, and the link carries nothing else in
// that round. A schedule in link-rounds, each transfer begun with its round, is one under
// the model blocking that ends no later. No two at the same time: by (apart), and by (round).
func (j *job) lanes(links []int, l *load) []lane {
	before := j.arrivals(j.t, j.p.Release, l.from, l.least)
	beyond := j.arrivals(j.t.Reversed(), nil, l.to, l.least)
	var list []lane
	for _, i := range links {
		k := &j.t.Links[i]
		a := lane{link: i, bandwidth: k.Bandwidth, from: before.head[k.Src], after: beyond.head[k.Dst], each: j.beside(k)}
		lead := j.near.head[k.Src]
		switch j.p.Cost {
		case model.Pipelined:
			a.after = a.after.Add(k.Alpha)
		case model.Rounds:
			a.from, a.after, lead = before.origin[k.Src], beyond.origin[k.Dst], 0
		}
		if j.t.IsRank(k.Dst) {
			a.from = max(a.from, j.p.ReleaseOf(k.Dst).Add(lead))
		}
		if a.from != model.MaxTime && a.after != model.MaxTime {
			list = append(list, a)
		}
	}
	return list
}

// beside returns how much longer than τ a transfer occupies a link: see (lanes).
func (j *job) beside(l *model.Link) model.Time {
	switch j.p.Cost {
	case model.Blocking, model.LinkRounds:
		return l.Alpha
	case model.Rounds:
		return j.near.head[l.Src].Add(l.Alpha).Add(j.far.head[l.Dst])
	}
	return 0
}

// port is a set of lanes of which no more than capacity are occupied at one time.
type port struct {
	lanes    []alike
	size     int // how many lanes there are
	capacity int
}

// alike is a number of lanes that differ in their link alone.
type alike struct {
	lane
	n int64
}

// families returns several ways to put every lane into one port: the ports of the
// topology; in rounds also the send and the receive port of every rank. What fits
// must fit every one of them.
func (j *job) families(lanes []lane) [][]port {
	portOf := map[int]int{}
	for i, p := range j.t.Ports {
		for _, l := range p.Links {
			if _, taken := portOf[l]; !taken { // a link in several ports counts for one
				portOf[l] = i
			}
		}
	}
	families := [][]port{group(lanes, func(a lane) (key, capacity int) {
		if i, ok := portOf[a.link]; ok {
			return i, j.t.Ports[i].Capacity
		}
		return -1, len(lanes)
	})}
	if j.p.Cost != model.Rounds {
		return families
	}
	for _, end := range []func(l model.Link) int{func(l model.Link) int { return l.Src }, func(l model.Link) int { return l.Dst }} {
		families = append(families, group(lanes, func(a lane) (key, capacity int) {
			if v := end(j.t.Links[a.link]); j.t.IsRank(v) {
				return v, 1
			}
			return -1, len(lanes)
		}))
	}
	return families
}

// group puts lanes into ports by their keys. It takes O(lanes).
func group(lanes []lane, key func(lane) (key, capacity int)) []port {
	var ports []port
	index := map[int]int{}
	type kind struct {
		port int
		lane lane // of no link
	}
	kinds := map[kind]int{} // where among the port's lanes
	for _, a := range lanes {
		k, capacity := key(a)
		i, known := index[k]
		if !known {
			i = len(ports)
			index[k] = i
			ports = append(ports, port{capacity: capacity})
		}
		p := &ports[i]
		p.size++
		a.link = 0
		j, known := kinds[kind{i, a}]
		if !known {
			j = len(p.lanes)
			kinds[kind{i, a}] = j
			p.lanes = append(p.lanes, alike{a, 0})
		}
		p.lanes[j].n++
	}
	return ports
}

// picoBytes is what a link of 10¹² bytes per second carries in a picosecond: areas are
// bandwidth times time, and a byte has this area.
var picoBytes = big.NewInt(int64(model.Second))

// passing returns the least time by which a load can have passed the lanes. It is
// the sum that all bounds of this package but those of a single path end in.
//
// Lemma (passing). In a schedule of makespan T, let each transfer of a load pass one
// of some lanes as the lemma (lanes) has it. Then fits holds at T.
//
// Proof. On one lane the occupations are disjoint [(lanes)], so that there are at
// most ⌊window/busy(least)⌋ of them. The occupations of a port's lanes can be divided
// among its capacity so that no two of one part overlap [at most that many are there
// at any instant, and intervals can be coloured with as many colours as lie over one
// another], and a part has at most ⌊hull/least busy⌋ of them, hull being the time
// from the first window's begin to the last one's end. So every family carries at
// most the sum of that. Where the cut is free, nothing is known of the number of
// transfers, and this is not asked.
//
// Areas weigh the time for which a lane is occupied with its bandwidth. A lane offers
// bandwidth·window; a port no more than its fastest lanes, as many as it has
// capacity, offer for the hull. A transfer of b bytes takes at least the least
// bandwidth·busy(b) of any lane. That is the first area. The second leaves aside
// what occupies a lane beside its bytes: n > 0 bytes in one or more transfers take
// each + n·10¹²/bandwidth of a lane at least, so that a lane offers them no more than
// bandwidth·(window - each), and a port likewise.
func (j *job) passing(lanes []lane, l *load) (model.Time, error) {
	if len(l.count) == 0 {
		return 0, errNothing
	}
	need := amount{occupied: new(big.Int), bytes: new(big.Int)}
	for size, n := range l.count {
		if !j.work.Go(16 * len(lanes)) {
			break
		}
		need.items += n
		need.occupied.Add(need.occupied, new(big.Int).Mul(big.NewInt(n), leastArea(lanes, size)))
		need.bytes.Add(need.bytes, new(big.Int).Mul(big.NewInt(n), new(big.Int).Mul(big.NewInt(size), picoBytes)))
	}
	families := j.families(lanes)
	kinds := 0
	for _, f := range families {
		for _, p := range f {
			kinds += len(p.lanes)
		}
	}
	return leastTime(func(t model.Time) bool {
		if !j.work.Go(16 * kinds) {
			return true
		}
		for _, f := range families {
			if !j.fits(f, t, l.least, need) {
				return false
			}
		}
		return true
	}), nil
}

// amount is a number of transfers, and the two areas of (passing).
type amount struct {
	items           int64
	occupied, bytes *big.Int
}

// leastTime returns the least t for which a predicate that stays true once it is
// true holds, MaxTime if that is beyond every schedule.
func leastTime(fits func(t model.Time) bool) model.Time {
	low, high := model.Time(-1), model.Time(1) // fits does not hold at low
	for !fits(high) {
		if high > model.MaxTime/4 {
			return model.MaxTime
		}
		low, high = high, 2*high
	}
	for low+1 < high {
		if mid := (low + high) / 2; mid >= 0 && fits(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// leastArea returns what an item takes of the first area, at least.
func leastArea(lanes []lane, size int64) *big.Int {
	var least *big.Int
	for i := range lanes {
		if a := product(lanes[i].bandwidth, lanes[i].busy(size)); least == nil || a.Cmp(least) < 0 {
			least = a
		}
	}
	if least == nil {
		return new(big.Int)
	}
	return least
}

func product(bandwidth int64, t model.Time) *big.Int {
	return new(big.Int).Mul(big.NewInt(bandwidth), big.NewInt(int64(t)))
}

// fits reports whether the ports can carry, by t, what is needed, in transfers of least
// bytes or more.
func (j *job) fits(ports []port, t model.Time, least int64, need amount) bool {
	sum := amount{occupied: new(big.Int), bytes: new(big.Int)}
	for _, p := range ports {
		a := p.carries(t, least, need.items)
		sum.items = min(need.items, sum.items+a.items)
		sum.occupied.Add(sum.occupied, a.occupied)
		sum.bytes.Add(sum.bytes, a.bytes)
	}
	return sum.bytes.Cmp(need.bytes) >= 0 && (j.free || sum.items == need.items && sum.occupied.Cmp(need.occupied) >= 0)
}

// carries returns what a port can carry by t, but no more than items transfers.
func (p *port) carries(t model.Time, least, items int64) amount {
	sum := amount{occupied: new(big.Int), bytes: new(big.Int)}
	first, last, shortest, fixed := model.MaxTime, model.MaxTime, model.MaxTime, model.MaxTime
	for i := range p.lanes {
		a := &p.lanes[i]
		w, busy := a.window(t), a.busy(least)
		first, last = min(first, a.from), min(last, a.after)
		shortest, fixed = min(shortest, busy), min(fixed, a.each)
		each := min(items, int64(w/busy))
		if each > items/a.n {
			sum.items = items
		} else {
			sum.items = min(items, sum.items+a.n*each)
		}
		sum.occupied.Add(sum.occupied, new(big.Int).Mul(big.NewInt(a.n), product(a.bandwidth, w)))
		sum.bytes.Add(sum.bytes, new(big.Int).Mul(big.NewInt(a.n), product(a.bandwidth, max(0, w-a.each))))
	}
	if p.capacity >= p.size {
		return sum
	}
	hull := (&lane{from: first, after: last}).window(t)
	if each := int64(hull / shortest); each <= items/int64(p.capacity) {
		sum.items = min(sum.items, int64(p.capacity)*each)
	}
	fastest, left := big.NewInt(0), int64(p.capacity)
	for _, a := range slices.SortedFunc(slices.Values(p.lanes), func(a, b alike) int { return cmp.Compare(b.bandwidth, a.bandwidth) }) {
		n := min(left, a.n)
		fastest.Add(fastest, new(big.Int).Mul(big.NewInt(n), big.NewInt(a.bandwidth)))
		left -= n
	}
	sum.occupied = smaller(sum.occupied, new(big.Int).Mul(fastest, big.NewInt(int64(hull))))
	sum.bytes = smaller(sum.bytes, new(big.Int).Mul(fastest, big.NewInt(int64(max(0, hull-fixed)))))
	return sum
}

func smaller(a, b *big.Int) *big.Int {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

var errNothing = fmt.Errorf("nothing has to pass there, so that nothing is proved")

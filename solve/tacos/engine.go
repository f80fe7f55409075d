package tacos

import (
	"container/heap"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/hop"
)

// network is what all tries on a problem share.
type network struct {
	p         *model.Problem
	hops      []hop.Hop
	out       [][]int32 // hops by source
	lanes     []lane    // hop h has the lanes first[h] to first[h+1]
	first     []int32
	routes    [][]int // by lane
	resources int     // links, then lanes of ports
	class     []int32 // of each chunk: its size class
	order     []int32 // hops, the quickest first
	wants     []set   // by rank: the chunks that it must get
	starts    []set   // by rank: the chunks that it has
}

// lane is one way for a hop to carry a chunk: a route, with what it keeps busy.
type lane struct {
	uses  []use
	lasts []model.Time // duration, by size class
}

// use is a resource that a transfer keeps busy: one of several where a port has
// capacity for more.
type use struct {
	choice []int32
	spans  []model.Interval // by size class, counted from the start
}

// set is a set of chunks.
type set []uint64

func (s set) has(k int) bool { return s[k/64]>>(k%64)&1 == 1 }
func (s set) add(k int)      { s[k/64] |= 1 << (k % 64) }

func newNetwork(p *model.Problem) *network {
	n := &network{p: p, hops: hop.All(p.Topology), out: make([][]int32, p.Topology.Ranks)}
	var sizes []int64
	for _, c := range p.Chunks {
		i := slices.Index(sizes, c.Size) // equal cuts have two sizes at most
		if i < 0 {
			i = len(sizes)
			sizes = append(sizes, c.Size)
		}
		n.class = append(n.class, int32(i))
	}
	choices := n.ports()
	for h := range n.hops {
		n.out[n.hops[h].Src] = append(n.out[n.hops[h].Src], int32(h))
		n.first = append(n.first, int32(len(n.lanes)))
		for _, route := range n.hops[h].Routes {
			n.lanes = append(n.lanes, n.lane(route, sizes, choices))
			n.routes = append(n.routes, route)
		}
		n.order = append(n.order, int32(h))
	}
	n.first = append(n.first, int32(len(n.lanes)))
	slices.SortStableFunc(n.order, func(a, b int32) int {
		return int(min(max(n.lanes[n.first[a]].lasts[0]-n.lanes[n.first[b]].lasts[0], -1), 1))
	})
	words := (len(p.Chunks) + 63) / 64
	for range p.Topology.Ranks {
		n.wants, n.starts = append(n.wants, make(set, words)), append(n.starts, make(set, words))
	}
	for k := range p.Chunks {
		for r := range p.Start(k) {
			n.starts[r].add(k)
		}
		for r := range p.Goal(k) {
			n.wants[r].add(k)
		}
	}
	return n
}

// ports gives every lane of every port a number after the links, and returns for
// each link the choices that a transfer over it has; in rounds every rank has a
// send and a receive port.
func (n *network) ports() [][][]int32 {
	t := n.p.Topology
	choices := make([][][]int32, len(t.Links))
	n.resources = len(t.Links)
	port := func(links []int, capacity int) {
		var choice []int32
		for range min(capacity, len(links)) {
			choice = append(choice, int32(n.resources))
			n.resources++
		}
		for _, l := range links {
			choices[l] = append(choices[l], choice)
		}
	}
	for _, q := range t.Ports {
		port(q.Links, q.Capacity)
	}
	if n.p.Cost == model.Rounds {
		out, in := t.Out(), t.In()
		for r := range t.Ranks {
			port(out[r], 1)
			port(in[r], 1)
		}
	}
	return choices
}

func (n *network) lane(route []int, sizes []int64, choices [][][]int32) lane {
	var x lane
	spans := make([][]model.Interval, len(route))
	for _, size := range sizes {
		if n.p.Cost.Synchronous() {
			x.lasts = append(x.lasts, 1)
			for i := range route {
				spans[i] = append(spans[i], model.Interval{From: 0, To: 1})
			}
			continue
		}
		x.lasts = append(x.lasts, n.p.Topology.Duration(route, size))
		for i, s := range n.p.Topology.Busy(n.p.Cost, route, size, nil) {
			spans[i] = append(spans[i], s)
		}
	}
	for i, l := range route {
		x.uses = append(x.uses, use{[]int32{int32(l)}, spans[i]})
		for _, choice := range choices[l] {
			x.uses = append(x.uses, use{choice, spans[i]})
		}
	}
	return x
}

// try is one pass of the greedy matching.
type try struct {
	*network
	rng     *rand.Rand
	held    []set // by rank: what has arrived
	coming  []set // by rank: what it has or is on its way to it
	free    []model.Time
	queue   eventHeap
	due     []model.Time // by hop: when it will be looked at next
	awake   []bool       // hops to be looked at at this instant
	wake    []int32      // the same as a list
	key     []uint32
	copies  []int32 // of each chunk: the ranks that have it or will
	missing int     // deliveries that are still wanted
	emit    func(model.Transfer)
}

// event is an arrival of a chunk at a rank, or, with chunk -1, an instant at which
// a hop may be free.
type event struct {
	at    model.Time
	chunk int32
	where int32
}

// eventHeap is a container/heap, the earliest event on top.
type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.chunk != b.chunk:
		return a.chunk < b.chunk
	}
	return a.where < b.where
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (n *network) newTry(seed uint64, emit func(model.Transfer)) *try {
	x := &try{
		network: n, rng: rand.New(rand.NewPCG(seed, 0x7ac05)), free: make([]model.Time, n.resources),
		due: make([]model.Time, len(n.hops)), awake: make([]bool, len(n.hops)), key: make([]uint32, len(n.hops)), copies: make([]int32, len(n.p.Chunks)), emit: emit,
	}
	for r := range n.p.Topology.Ranks {
		x.held, x.coming = append(x.held, slices.Clone(n.starts[r])), append(x.coming, slices.Clone(n.starts[r]))
		for w := range n.wants[r] {
			x.missing += bits.OnesCount64(n.wants[r][w] &^ n.starts[r][w])
		}
		for k := range n.p.Chunks {
			if n.starts[r].has(k) {
				x.copies[k]++
			}
		}
		for _, h := range n.out[r] {
			x.rouse(h)
		}
	}
	return x
}

// rouse has a hop looked at at this instant.
func (x *try) rouse(h int32) {
	if !x.awake[h] {
		x.awake[h] = true
		x.wake = append(x.wake, h)
	}
}

// run carries time forward from event to event until nothing is wanted any more,
// and returns whether it came to that. stop is asked now and then.
func (x *try) run(stop func() bool) bool {
	now := model.Time(0)
	for step := 0; ; step++ {
		if step%1024 == 0 && stop() {
			return false
		}
		x.match(now)
		if x.missing == 0 {
			return true
		}
		if len(x.queue) == 0 {
			return false
		}
		now = x.queue[0].at
		for len(x.queue) > 0 && x.queue[0].at == now {
			e := heap.Pop(&x.queue).(event)
			if e.chunk < 0 {
				x.rouse(e.where)
				continue
			}
			x.held[e.where].add(int(e.chunk))
			for _, h := range x.out[e.where] {
				x.rouse(h)
			}
		}
	}
}

// match gives every hop that is awake and free a chunk that its source has and its
// destination neither has nor is about to get: quick hops first, equally quick ones
// in random order.
func (x *try) match(now model.Time) {
	for _, h := range x.wake {
		x.key[h] = x.rng.Uint32()
	}
	slices.SortFunc(x.wake, func(a, b int32) int {
		if d := x.lanes[x.first[a]].lasts[0] - x.lanes[x.first[b]].lasts[0]; d != 0 {
			return int(min(max(d, -1), 1))
		}
		if x.key[a] != x.key[b] {
			return int(int64(x.key[a]>>1) - int64(x.key[b]>>1))
		}
		return int(a - b)
	})
	for _, h := range x.wake {
		x.awake[h] = false
		for l := x.first[h]; l < x.first[h+1]; l++ {
			if !x.offer(h, l, now) {
				break
			}
		}
	}
	x.wake = x.wake[:0]
}

// offer tries to start a transfer over one lane of a hop now. It returns false if
// the hop has nothing to carry.
func (x *try) offer(h, l int32, now model.Time) bool {
	src, dst := x.hops[h].Src, x.hops[h].Dst
	if !x.p.Cost.Synchronous() {
		if r := max(x.p.ReleaseOf(src), x.p.ReleaseOf(dst)); now < r {
			x.again(r, now, h)
			return false
		}
	}
	if !x.open(h, l, now) {
		return true // another lane may be free
	}
	k := x.choose(src, dst)
	if k < 0 {
		return false
	}
	x.start(h, l, k, now)
	x.coming[dst].add(k)
	x.copies[k]++
	if x.wants[dst].has(k) {
		x.missing--
	}
	return true
}

// open says whether all that a lane needs is free now; if not, it has the hop
// looked at again when that may be. When a lane is busy from does not depend on the
// size of the chunk: a hop has no relay.
func (x *try) open(h, l int32, now model.Time) bool {
	for i := range x.lanes[l].uses {
		u := &x.lanes[l].uses[i]
		if at := x.free[x.pick(u)] - u.spans[0].From; at > now {
			x.again(at, now, h)
			return false
		}
	}
	return true
}

// again has a hop looked at at a time to come, unless it will be by then.
func (x *try) again(at, now model.Time, h int32) {
	if x.due[h] > now && x.due[h] <= at {
		return
	}
	x.due[h] = at
	heap.Push(&x.queue, event{at, -1, h})
}

// start begins a transfer over an open lane.
func (x *try) start(h, l int32, k int, now model.Time) {
	class := x.class[k]
	last := now
	for i := range x.lanes[l].uses {
		u := &x.lanes[l].uses[i]
		until := now + u.spans[class].To
		x.free[x.pick(u)] = until
		last = max(last, until-u.spans[class].From)
	}
	end := now + x.lanes[l].lasts[class]
	heap.Push(&x.queue, event{end, int32(k), int32(x.hops[h].Dst)})
	x.again(last, now, h)
	x.emit(model.Transfer{Chunk: int32(k), Src: int32(x.hops[h].Src), Dst: int32(x.hops[h].Dst), Route: l, Op: model.Copy, Start: now, End: end})
}

// pick returns the alternative of a use that is free first.
func (x *try) pick(u *use) int32 {
	best := u.choice[0]
	for _, r := range u.choice[1:] {
		if x.free[r] < x.free[best] {
			best = r
		}
	}
	return best
}

// samples is how many candidates are compared; more cost time and gain little.
const samples = 8

// choose returns a chunk for a hop, or -1: of up to samples candidates from a
// random one on, what the destination itself wants before what it only passes on,
// and the rarest first.
func (x *try) choose(src, dst int) int {
	held, coming, wants := x.held[src], x.coming[dst], x.wants[dst]
	words := len(held)
	start := x.rng.IntN(words * 64)
	best, bestRank, seen := -1, int32(0), 0
	for i := range words + 1 {
		w := (start/64 + i) % words
		candidates := held[w] &^ coming[w]
		if i == 0 {
			candidates &= ^uint64(0) << (start % 64)
		} else if i == words {
			candidates &= 1<<(start%64) - 1
		}
		for ; candidates != 0; candidates &= candidates - 1 {
			k := w*64 + bits.TrailingZeros64(candidates)
			rank := x.copies[k]
			if !wants.has(k) {
				rank += 1 << 30
			}
			if best < 0 || rank < bestRank {
				best, bestRank = k, rank
			}
			if seen++; seen == samples {
				return best
			}
		}
	}
	return best
}

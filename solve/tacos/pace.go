package tacos

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// pace times the transfers of a grove: each starts as soon as its data is there and its
// lane is free, the most urgent one first where several could (list scheduling: Graham,
// "Bounds on multiprocessing timing anomalies", 1969). Rank by rank chunks lie side by side
// in memory, since they come in their order, about.
//
// Job v·chunks+k is that rank v sends chunk k towards its root, job (ranks+v)·chunks+k that
// it gets it from there.
//
// A pace over a mirrored network runs backwards in time. Its trees are those of the grove
// with up and down exchanged, and its lanes those with the same routes.
type pace struct {
	occupancy
	g        *grove
	up, down []int32 // lanes of g.n
	mine     []int32 // by lane of g.n: the lane of this network
	out      *exit
	start    []model.Time // by job
	urge     []uint32     // by job: the least goes first
	pending  []int32      // by rank and chunk: how many have still to send to it
	ready    [][]uint64   // by lane: a heap of what waits for it, urge before job
	calendar calendar
	alarms   alarms
	due      []model.Time // by lane: its next alarm
	awake    []int32      // lanes to be looked at now
	isAwake  []bool
	lines    []int32 // of the calendar, by lane and size class
	now      model.Time
	end      model.Time // of the last transfer
}

func newPace(g *grove, n *network, out *exit) *pace {
	p := &pace{
		occupancy: newOccupancy(n), g: g, up: g.up, down: g.down, mine: make([]int32, len(n.lanes)), out: out,
		start: make([]model.Time, 2*len(g.up)), urge: make([]uint32, 2*len(g.up)), pending: make([]int32, len(g.up)),
		ready: make([][]uint64, len(n.lanes)), due: make([]model.Time, len(n.lanes)), isAwake: make([]bool, len(n.lanes)),
	}
	if n.mirrored {
		p.up, p.down = g.down, g.up
	}
	laneOf := make([]int32, len(n.routes))
	for l := range n.lanes {
		laneOf[n.lanes[l].route] = int32(l)
	}
	for l := range g.n.lanes {
		p.mine[l] = laneOf[g.n.lanes[l].route]
	}
	for l := range n.lanes {
		for c := range n.sizes {
			p.lines = append(p.lines, p.calendar.lineOf(n.lasts(&n.lanes[l], int32(c))))
		}
	}
	return p
}

// run times all jobs by their urges. It returns false if it is stopped. It takes
// O(jobs·log jobs) where lanes share nothing.
func (p *pace) run(stop func() bool) bool {
	p.reset()
	var landed []int32
	left := 2 * p.g.chunks * (p.g.ranks - 1)
	for step := 0; left > 0; step++ {
		if step%64 == 0 && stop() {
			return false
		}
		p.match()
		p.now = min(p.calendar.next(), p.alarms.next())
		if p.calendar.next() == p.now {
			landed = p.calendar.take(landed[:0])
			left -= len(landed)
			p.end = p.now
			for _, job := range landed {
				p.land(int(job))
			}
		}
		for p.alarms.next() == p.now && p.now < model.MaxTime {
			p.rouse(p.alarms.take().rank)
		}
	}
	return true
}

func (p *pace) reset() {
	p.now, p.end = 0, 0
	clear(p.free)
	clear(p.due)
	clear(p.pending)
	p.alarms = p.alarms[:0]
	for at, l := range p.up {
		if l >= 0 {
			p.pending[int(p.lanes[p.mine[l]].dst)*p.g.chunks+at%p.g.chunks]++
		}
	}
	for at, count := range p.pending {
		if count == 0 {
			p.gathered(at/p.g.chunks, at%p.g.chunks)
		}
	}
}

// gathered notes that a rank has all of a chunk that it is to send on.
func (p *pace) gathered(v, k int) {
	if at := v*p.g.chunks + k; p.up[at] >= 0 {
		p.enqueue(p.mine[p.up[at]], at)
		return
	}
	p.reached(v, k) // it is the root
}

// reached notes that a rank has a chunk as it must be in the end.
func (p *pace) reached(v, k int) {
	for _, l := range p.out.of(int32(v)) {
		at := int(p.lanes[l].dst)*p.g.chunks + k
		if d := p.down[at]; d >= 0 && p.mine[d] == l {
			p.enqueue(l, len(p.up)+at)
		}
	}
}

func (p *pace) rouse(l int32) {
	if !p.isAwake[l] {
		p.isAwake[l] = true
		p.awake = append(p.awake, l)
	}
}

// enqueue has a job wait for its lane.
func (p *pace) enqueue(l int32, job int) {
	h := append(p.ready[l], uint64(p.urge[job])<<32|uint64(job))
	for at := len(h) - 1; at > 0; {
		up := (at - 1) / 2
		if h[up] < h[at] {
			break
		}
		h[at], h[up] = h[up], h[at]
		at = up
	}
	p.ready[l] = h
	p.rouse(l)
}

// dequeue takes the most urgent job that waits for a lane.
func (p *pace) dequeue(l int32) int {
	h := p.ready[l]
	top, last := h[0], len(h)-1
	x := h[last]
	h = h[:last]
	p.ready[l] = h
	for at := 0; at < last; {
		least := 2*at + 1
		if least >= last {
			h[at] = x
			break
		}
		if least+1 < last && h[least+1] < h[least] {
			least++
		}
		if x <= h[least] {
			h[at] = x
			break
		}
		h[at] = h[least]
		at = least
	}
	return int(uint32(top))
}

// land ends a transfer.
func (p *pace) land(job int) {
	if at := job - len(p.up); at >= 0 {
		p.rouse(p.mine[p.down[at]])
		p.reached(at/p.g.chunks, at%p.g.chunks)
		return
	}
	l := p.mine[p.up[job]]
	p.rouse(l)
	v, k := int(p.lanes[l].dst), job%p.g.chunks
	at := v*p.g.chunks + k
	if p.pending[at]--; p.pending[at] == 0 {
		p.gathered(v, k)
	}
}

// match starts what can start now.
func (p *pace) match() {
	if !p.private { // where lanes share something it matters who goes first
		first := func(l int32) uint64 {
			if len(p.ready[l]) == 0 {
				return math.MaxUint64
			}
			return p.ready[l][0]
		}
		slices.SortFunc(p.awake, func(a, b int32) int { return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a, b)) })
	}
	for _, l := range p.awake {
		p.isAwake[l] = false
		if len(p.ready[l]) > 0 && p.opens(l) <= p.now {
			p.begin(l)
		}
	}
	if !p.private || p.patient {
		for _, l := range p.awake {
			if len(p.ready[l]) == 0 {
				continue
			}
			if at := p.opens(l); at > p.now && (p.due[l] <= p.now || p.due[l] > at) {
				p.due[l] = at
				p.alarms.add(alarm{at, l})
			}
		}
	}
	p.awake = p.awake[:0]
}

// begin has the most urgent job start that waits for an open lane.
func (p *pace) begin(l int32) {
	job := p.dequeue(l)
	x, class := &p.lanes[l], p.class[job%p.g.chunks]
	beta := p.beta(x, class)
	p.start[job] = p.now
	p.take(l, p.now, beta)
	p.calendar.add(p.lines[int(l)*len(p.sizes)+int(class)], p.now+x.alpha+beta, int32(job))
}

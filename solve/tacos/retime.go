package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
)

// An allreduce is a reduction of each chunk to a root, and a spreading from there.
// What remains of the two schedules is their trees and who goes first: every transfer
// keeps its lane and starts as soon as its data is there and its links are free, the
// most urgent first where several could (list scheduling: Graham, "Bounds on
// multiprocessing timing anomalies", 1969). So nothing waits for the slowest chunk
// between the two halves; and if chunks differ in urgency, the spreading of the first
// ones fills links that the reduction of the last ones leaves idle, and the other way
// round, which on networks whose ranks differ in links takes much less time.

// job is a transfer with what it waits for. Nodes are (half, rank, chunk).
type job struct {
	needs int32 // node: all its arrivals must be in before the transfer starts
	feeds int32 // node
	lane  int32
	urge  int32 // the least goes first
}

// jobs are the transfers of both halves.
type jobs struct {
	n     *network.Network
	moves []model.Transfer
	jobs  []job
	first []int32 // the jobs that need node i are list[first[i]:first[i+1]]
	list  []int32
	order []int32 // the jobs by their starts
}

// newJobs takes the transfers of the two halves in the direction of the topology, and
// the root of each chunk. n must not be mirrored.
func newJobs(n *network.Network, reduce, spread []model.Transfer, root []int32) *jobs {
	chunks, ranks := len(n.Problem.Chunks), n.Problem.Topology.Ranks
	x := &jobs{n: n, moves: slices.Concat(reduce, spread)}
	node := func(half int, r, k int32) int32 {
		if r == root[k] {
			half = 0 // what is spread is what has been reduced
		}
		return int32((half*ranks+int(r))*chunks + int(k))
	}
	laneOf := make([]int32, len(n.Routes))
	for i := range n.Hops {
		laneOf[n.Hops[i].Route] = int32(i)
	}
	x.first = make([]int32, 2*ranks*chunks+1)
	x.jobs = make([]job, len(x.moves))
	for i := range x.moves {
		t := &x.moves[i]
		half := 0
		if i >= len(reduce) {
			half = 1
		}
		j := &x.jobs[i]
		*j = job{needs: node(half, t.Src, t.Chunk), feeds: node(half, t.Dst, t.Chunk), lane: laneOf[t.Route]}
		x.first[j.needs+1]++
	}
	for i := range x.first[1:] {
		x.first[i+1] += x.first[i]
	}
	x.list = make([]int32, len(x.jobs))
	next := slices.Clone(x.first)
	for i := range x.jobs {
		x.list[next[x.jobs[i].needs]] = int32(i)
		next[x.jobs[i].needs]++
	}
	x.order = make([]int32, len(x.jobs))
	for i := range x.order {
		x.order[i] = int32(i)
	}
	slices.SortFunc(x.order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(x.moves[i].Start, x.moves[j].Start), cmp.Compare(i, j))
	})
	return x
}

// byUrgency returns x with jobs of its own, those of chunks with a lower level, of so many,
// before others, and among equals in the order of the starts that they have.
func (x *jobs) byUrgency(levels int) *jobs {
	y := *x
	y.jobs = slices.Clone(x.jobs)
	next := make([]int32, levels+1) // where the jobs of each level begin
	for i := range x.moves {
		next[int(x.moves[i].Chunk)%levels+1]++
	}
	for level := range levels {
		next[level+1] += next[level]
	}
	for _, i := range x.order {
		level := int(x.moves[i].Chunk) % levels
		y.jobs[i].urge = next[level]
		next[level]++
	}
	return &y
}

// retime times all transfers anew: chunks are divided into so many levels of urgency (see
// byUrgency). It returns nil if it is stopped. It takes O(transfers·log transfers), and may
// be called by several goroutines at a time.
func (x *jobs) retime(levels int, stop func() bool) []model.Transfer {
	x = x.byUrgency(levels)
	var late []model.Time
	if x.n.Problem.Late() {
		late = x.n.Problem.Release
	}
	r := &retiming{
		jobs: x, Occupancy: network.NewOccupancy(x.n), Arrivals: network.NewArrivals(x.n.Problem, late), moves: slices.Clone(x.moves),
		pending: make([]int32, len(x.first)-1), ready: make([]urgent, len(x.n.Hops)), isAwake: make([]bool, len(x.n.Hops)), due: make([]model.Time, len(x.n.Hops)),
	}
	for i := range x.jobs {
		r.pending[x.jobs[i].feeds]++
	}
	for node, count := range r.pending {
		if count == 0 {
			r.release(int32(node))
		}
	}
	if !r.run(stop) {
		return nil
	}
	return r.moves
}

// retiming carries time forward over jobs.
type retiming struct {
	*jobs
	network.Occupancy
	network.Arrivals
	now      model.Time
	moves    []model.Transfer
	pending  []int32         // by node: arrivals that are still to come
	ready    []urgent        // by lane: what waits for it
	calendar events.Calendar // of moves
	alarms   events.Queue    // of lanes
	due      []model.Time
	awake    []int32 // lanes to be looked at now
	isAwake  []bool
	landed   []int32
	ended    int
	longest  model.Time
}

func (r *retiming) run(stop func() bool) bool {
	for step := 0; r.ended < len(r.moves); step++ {
		if step%32 == 0 && stop() {
			return false
		}
		r.Admit(r.now, r.rouseAround)
		r.match()
		if r.Turns() {
			r.Turn(r.longest)
			r.longest = 0
		}
		if !r.advance() {
			return false
		}
	}
	return true
}

func (r *retiming) rouse(l int32) {
	if !r.isAwake[l] {
		r.isAwake[l] = true
		r.awake = append(r.awake, l)
	}
}

// rouseAround has the lanes into and out of a rank looked at, which has arrived now.
func (r *retiming) rouseAround(rank int32) {
	n := r.Occupancy.Network
	for l := n.Into[rank]; l < n.Into[rank+1]; l++ {
		r.rouse(l)
	}
	for _, v := range n.Onward[rank] {
		for l := n.Into[v]; l < n.Into[v+1]; l++ {
			r.rouse(l)
		}
	}
}

// release notes that a node has all that it waits for.
func (r *retiming) release(node int32) {
	for _, i := range r.list[r.first[node]:r.first[node+1]] {
		j := &r.jobs.jobs[i]
		r.ready[j.lane].add(i, r.jobs.jobs)
		r.rouse(j.lane)
	}
}

// match starts what can start now.
func (r *retiming) match() {
	if !r.Private { // who shares with whom does not matter, only who goes first
		slices.SortFunc(r.awake, func(a, b int32) int { return cmp.Compare(r.urge(a), r.urge(b)) })
	}
	for _, l := range r.awake {
		r.isAwake[l] = false
		x := &r.Hops[l]
		if len(r.ready[l]) == 0 || !r.Present[x.Src] || !r.Present[x.Dst] {
			continue
		}
		if r.Opens(l) <= r.now {
			r.start(l)
		}
	}
	for _, l := range r.awake {
		if len(r.ready[l]) == 0 {
			continue
		}
		if at := r.Opens(l); at > r.now && (r.due[l] <= r.now || r.due[l] > at) {
			r.due[l] = at
			r.alarms.Add(events.Event{At: at, ID: l})
		}
	}
	r.awake = r.awake[:0]
}

// urge returns the urgency of the next job of a lane.
func (r *retiming) urge(l int32) int32 {
	if len(r.ready[l]) == 0 {
		return 1<<31 - 1
	}
	return r.jobs.jobs[r.ready[l][0]].urge
}

// start lets the most urgent job of an open lane start now.
func (r *retiming) start(l int32) {
	i := r.ready[l].take(r.jobs.jobs)
	x, t := &r.Hops[l], &r.moves[i]
	n := r.Occupancy.Network
	beta := n.Beta(x, n.Class[t.Chunk])
	t.Start, t.End = r.now, r.now+x.Alpha+beta
	r.Take(l, r.now, beta)
	r.calendar.Add(r.calendar.LineOf(x.Alpha+beta), t.End, i)
	if r.Turns() {
		r.longest = max(r.longest, n.Problem.Topology.Duration(n.Routes[t.Route], n.Problem.Chunks[t.Chunk].Size))
	}
}

// advance goes to the next event. It returns false if there is none.
func (r *retiming) advance() bool {
	next := min(r.calendar.Next(), r.alarms.Next())
	if !r.Arrivals.Problem.Cost.Synchronous() {
		next = min(next, r.Arrivals.Next())
	}
	if next == model.MaxTime {
		return len(r.Absent) > 0
	}
	r.now = next
	if r.calendar.Next() == next {
		r.landed = r.calendar.Take(r.landed[:0])
		for _, i := range r.landed {
			r.ended++
			node := r.jobs.jobs[i].feeds
			if r.pending[node]--; r.pending[node] == 0 {
				r.release(node)
			}
		}
	}
	for r.alarms.Next() == next {
		r.rouse(r.alarms.Take().ID)
	}
	return true
}

// urgent is a heap of jobs, the most urgent on top.
type urgent []int32

func (h *urgent) add(i int32, list []job) {
	*h = append(*h, i)
	a := *h
	for at := len(a) - 1; at > 0; {
		up := (at - 1) / 2
		if list[a[up]].urge < list[a[at]].urge {
			break
		}
		a[at], a[up] = a[up], a[at]
		at = up
	}
}

func (h *urgent) take(list []job) int32 {
	a := *h
	top, last := a[0], len(a)-1
	a[0] = a[last]
	a = a[:last]
	*h = a
	for at := 0; ; {
		least := at
		for _, down := range [2]int{2*at + 1, 2*at + 2} {
			if down < len(a) && list[a[down]].urge < list[a[least]].urge {
				least = down
			}
		}
		if least == at {
			return top
		}
		a[at], a[least] = a[least], a[at]
		at = least
	}
}

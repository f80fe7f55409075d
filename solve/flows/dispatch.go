package flows

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
	"github.com/oraccl/oraccl/solve/network"
)

// dispatch gives chunks on their ways times, from event to event.
type dispatch struct {
	network.Occupancy
	r     *router
	queue [][]int32      // by hop: chunks that wait for it, as a heap
	left  []model.Time   // by resource: for how long it will still be busy
	users [][]int32      // by resource: the hops that use it
	froms [][]model.Time // by resource: how long after the start of a hop its use begins, the different ones
	tail  []model.Time   // by chunk: how long its way takes from where it is
	awake []int32        // hops to be looked at
	marks []bool         // by hop: whether it is awake
	slack model.Time     // how much later than now what is more urgent may start
	list  []model.Transfer
	next  heap.Heap[event]
}

// event is that a resource may be free, or that a chunk has arrived.
type event struct {
	at       model.Time
	resource int32 // or -1
	chunk    int32
}

// Before orders a heap: the first event comes first.
func (e event) Before(f event) bool {
	return cmp.Or(cmp.Compare(e.at, f.at), cmp.Compare(e.resource, f.resource), cmp.Compare(e.chunk, f.chunk)) < 0
}

// longPieces is how many times longer a piece lasts than the first bit of a hop takes to its last link where that counts
// little: then hops wait for each other to begin together.
const longPieces = 8

func newDispatch(r *router) *dispatch {
	n := r.Network
	d := &dispatch{Occupancy: network.NewOccupancy(n), r: r, queue: make([][]int32, len(n.Hops)), left: make([]model.Time, n.Resources),
		users: make([][]int32, n.Resources), froms: make([][]model.Time, n.Resources), tail: make([]model.Time, len(r.paths)), marks: make([]bool, len(n.Hops))}
	used := make([]bool, len(n.Hops))
	longest := model.Time(0) // piece
	for k, path := range r.paths {
		for _, l := range path {
			used[l] = true
			beta := n.Beta(&n.Hops[l], n.Class[k])
			longest = max(longest, beta)
			d.tail[k] += n.Lasts(&n.Hops[l], n.Class[k])
			d.spend(l, beta)
		}
	}
	for l := range n.Hops {
		if !used[l] {
			continue
		}
		h := &n.Hops[l]
		for _, u := range n.Uses[h.Uses:h.UsesEnd] {
			for _, place := range n.Choices[u.Choice:u.ChoiceEnd] {
				d.users[place] = append(d.users[place], int32(l))
				if !slices.Contains(d.froms[place], u.From) {
					d.froms[place] = append(d.froms[place], u.From)
				}
			}
			d.slack = max(d.slack, u.From)
		}
	}
	if longest < longPieces*d.slack {
		d.slack = 0
	}
	return d
}

// spend adds a time to what the resources of a hop will still be busy.
func (d *dispatch) spend(l int32, beta model.Time) {
	h := &d.Hops[l]
	for _, u := range d.Uses[h.Uses:h.UsesEnd] {
		places := d.Choices[u.Choice:u.ChoiceEnd]
		for _, place := range places {
			d.left[place] += (beta + u.Extra*model.Time(sign(beta))) / model.Time(len(places))
		}
	}
}

func sign(t model.Time) int {
	if t < 0 {
		return -1
	}
	return 1
}

// run returns the schedule, or nil if it is stopped.
func (d *dispatch) run(stop func() bool) *model.Schedule {
	for k, path := range d.r.paths {
		if len(path) > 0 {
			d.wait(int32(k))
		}
	}
	for now := model.Time(0); ; {
		if stop() {
			return nil
		}
		d.start(now)
		if len(d.next) == 0 {
			break
		}
		for now = d.next[0].at; len(d.next) > 0 && d.next[0].at == now; {
			e := d.next.Pop()
			if e.resource < 0 {
				d.wait(e.chunk)
				continue
			}
			for _, l := range d.users[e.resource] {
				d.wake(l)
			}
		}
	}
	return &model.Schedule{Form: model.FormFor(d.Problem.Cost), Routes: d.Routes, Transfers: d.list}
}

// wait has a chunk wait for the next hop of its way.
func (d *dispatch) wait(k int32) {
	path := d.r.paths[k]
	l := path[len(path)-1]
	q := d.queue[l]
	at, _ := slices.BinarySearchFunc(q, k, func(a, b int32) int { return cmp.Or(cmp.Compare(d.tail[a], d.tail[b]), cmp.Compare(b, a)) })
	d.queue[l] = slices.Insert(q, at, k) // the longest way is last
	d.wake(l)
}

func (d *dispatch) wake(l int32) {
	if !d.marks[l] && len(d.queue[l]) > 0 {
		d.marks[l] = true
		d.awake = append(d.awake, l)
	}
}

// urgency returns for how long the busiest of the resources before a chunk will still be busy.
func (d *dispatch) urgency(k int32) model.Time {
	most := model.Time(0)
	for _, l := range d.r.paths[k] {
		h := &d.Hops[l]
		for _, u := range d.Uses[h.Uses:h.UsesEnd] {
			for _, place := range d.Choices[u.Choice:u.ChoiceEnd] {
				most = max(most, d.left[place])
			}
		}
	}
	return most
}

// candidate is a chunk that waits for a hop.
type candidate struct {
	hop, chunk    int32
	urgency, both model.Time
}

// start begins what can begin now or a little later, the most urgent first.
func (d *dispatch) start(now model.Time) {
	var list []candidate
	for _, l := range d.awake {
		d.marks[l] = false
		if len(d.queue[l]) == 0 || d.Opens(l) > now+d.slack {
			continue // what it waits for wakes it
		}
		k := d.queue[l][len(d.queue[l])-1]
		c := candidate{hop: l, chunk: k, urgency: d.urgency(k)}
		h := &d.Hops[l]
		for _, u := range d.Uses[h.Uses:h.UsesEnd] {
			c.both += d.left[d.Choices[u.Choice]]
		}
		list = append(list, c)
	}
	d.awake = d.awake[:0]
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.urgency, a.urgency), cmp.Compare(b.both, a.both), cmp.Compare(a.hop, b.hop))
	})
	for _, c := range list {
		at := max(now, d.Opens(c.hop))
		if at > now+d.slack {
			continue
		}
		d.queue[c.hop] = d.queue[c.hop][:len(d.queue[c.hop])-1]
		d.begin(c.chunk, c.hop, at)
	}
}

// begin has a chunk take a hop.
func (d *dispatch) begin(k, l int32, now model.Time) {
	h := &d.Hops[l]
	beta := d.Beta(h, d.Class[k])
	for _, u := range d.Uses[h.Uses:h.UsesEnd] {
		place := d.Place(&u)
		free := now + u.From + beta + u.Extra
		for _, from := range d.froms[place] {
			d.next.Push(event{at: max(now+1, free-from), resource: place})
		}
	}
	d.Take(l, now, beta)
	d.spend(l, -beta)
	end := now + h.Alpha + beta
	d.list = append(d.list, model.Transfer{Chunk: k, Src: h.Src, Dst: h.Dst, Route: h.Route, Op: model.Copy, Start: now, End: end})
	d.tail[k] -= h.Alpha + beta
	path := d.r.paths[k]
	if d.r.paths[k] = path[:len(path)-1]; len(path) > 1 {
		d.next.Push(event{at: end, resource: -1, chunk: k})
	}
}

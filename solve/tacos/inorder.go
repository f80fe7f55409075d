package tacos

import "github.com/oraccl/oraccl/solve/network"
import "github.com/oraccl/oraccl/model"

// inOrder puts transfers that come in order of their ends into that of their starts. What
// is still to come ends no earlier than what came last, and so starts no earlier than the
// longest transfer before that: all that started by then can go.
type inOrder struct {
	longest model.Time
	heap    []model.Transfer // that with the earliest start on top
	out     []model.Transfer // ready to go
	emit    func([]model.Transfer) bool
	refused bool
}

// together is how many transfers are emitted at a time, about.
const together = 1 << 12

func (q *inOrder) add(t model.Transfer) {
	for len(q.heap) > 0 && q.heap[0].Start <= t.End-q.longest {
		q.take()
	}
	q.heap = append(q.heap, t)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !earlier(&q.heap[i], &q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// earlier orders transfers by start, then by route, of which no two begin together.
func earlier(a, b *model.Transfer) bool {
	return a.Start < b.Start || a.Start == b.Start && a.Route < b.Route
}

// take moves the top of the heap to what is ready.
func (q *inOrder) take() {
	q.out = append(q.out, q.heap[0])
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < last && earlier(&q.heap[down], &q.heap[least]) {
				least = down
			}
		}
		if least == i {
			break
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
	if len(q.out) >= together {
		q.flush()
	}
}

func (q *inOrder) flush() {
	if len(q.out) > 0 && !q.refused {
		q.refused = !q.emit(q.out)
	}
	q.out = q.out[:0]
}

// end lets all go that is left, and returns whether emit took everything.
func (q *inOrder) end() bool {
	for len(q.heap) > 0 {
		q.take()
	}
	q.flush()
	return !q.refused
}

// byEvents makes the transfers of a pattern that floods by the engine for all networks.
type byEvents struct {
	n    *network.Network
	pt   *network.Pattern
	seed uint64
}

// run implements sweep. It uses one goroutine.
func (b *byEvents) run(_ int, stop func() bool, emit func([]model.Transfer) bool) bool {
	q := &inOrder{longest: b.n.Longest(), emit: emit}
	f := newFlood(b.n, b.pt.From, b.seed)
	f.e = newEngine(b.n, f, b.seed, q.add)
	if !f.e.run(func() bool { return q.refused || stop() }) {
		return false
	}
	return q.end()
}

// byEventsMemory returns how many bytes the engine for all networks needs at most: two
// rows of bits for each rank, the log of its latest arrivals, what is known of each hop,
// and the transfers that wait for their turn.
func byEventsMemory(n *network.Network) int64 {
	ranks, chunks, hops := int64(n.Problem.Topology.Ranks), int64(len(n.Problem.Chunks)), int64(len(n.Hops))
	shortest := model.MaxTime
	for i := range n.Hops {
		for class := range n.Sizes {
			shortest = min(shortest, n.Beta(&n.Hops[i], int32(class)))
		}
	}
	waiting := hops * int64(2+n.Longest()/max(1, shortest))
	return ranks*((chunks+63)/64*16+4*maxLog+64) + 12*chunks + hops*160 + waiting*160 + 1<<20
}

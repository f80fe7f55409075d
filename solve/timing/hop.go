package timing

import (
	"math"

	"github.com/oraccl/oraccl/model"
)

// hop is what Parallel needs of a hop again and again, in a line of the cache.
type hop struct {
	ready       []uint64 // a heap of the keys of jobs that wait for it alone
	first, ends int32    // Parallel.first[first:ends] wait for it from the beginning
	rate        int32
	open        model.Time // if it shares nothing: when the next transfer can start
	alpha       model.Time
	whole       bool // if it shares nothing: a transfer keeps it busy for its latency, too
	awake       bool // it is to be looked at now
}

// enqueue has a job wait for its hop.
func (p *Parallel) enqueue(l int32, x uint64) {
	t := &p.hops[l]
	h := append(t.ready, x)
	at := len(h) - 1
	for at > 0 {
		up := (at - 1) / 2
		if h[up] < x {
			break
		}
		h[at] = h[up]
		at = up
	}
	h[at] = x
	t.ready = h
	p.rouse(l)
}

// head returns the key of the first job that waits for a hop, MaxUint64 if none does.
func (p *Parallel) head(l int32) uint64 {
	t := &p.hops[l]
	head := uint64(math.MaxUint64)
	if t.first < t.ends {
		head = p.first[t.first]
	}
	if len(t.ready) > 0 {
		head = min(head, t.ready[0])
	}
	return head
}

// waits reports whether a job waits for a hop.
func (p *Parallel) waits(l int32) bool {
	t := &p.hops[l]
	return t.first < t.ends || len(t.ready) > 0
}

// dequeue takes the first job that waits for a hop.
func (p *Parallel) dequeue(l int32) int32 {
	t := &p.hops[l]
	h := t.ready
	if t.first < t.ends {
		if x := p.first[t.first]; len(h) == 0 || x < h[0] {
			t.first++
			return int32(uint32(x))
		}
	}
	top, last := h[0], len(h)-1
	x := h[last]
	h = h[:last]
	t.ready = h
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
	return int32(uint32(top))
}

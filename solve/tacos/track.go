package tacos

import (
	"math"

	"github.com/oraccl/oraccl/model"
)

// track is what a pace needs of a lane again and again, in a line of the cache.
type track struct {
	ready       []uint64 // a heap of jobs that wait for it alone, urge before job
	first, ends int32    // leaves[first:ends] wait for it from the beginning
	dst, rate   int32
	open        model.Time // if it shares nothing: when the next transfer can start
	alpha       model.Time
	whole       bool // if it shares nothing: a transfer keeps it busy for its latency, too
	awake       bool // it is to be looked at now
}

// enqueue has a job wait for its lane.
func (p *pace) enqueue(l int32, x uint64) {
	t := &p.tracks[l]
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

// head returns the most urgent job that waits for a lane, behind its urge, MaxUint64 if none
// does.
func (p *pace) head(l int32) uint64 {
	t := &p.tracks[l]
	head := uint64(math.MaxUint64)
	if t.first < t.ends {
		head = p.leaves[t.first]
	}
	if len(t.ready) > 0 {
		head = min(head, t.ready[0])
	}
	return head
}

// waits says whether a job waits for a lane.
func (p *pace) waits(l int32) bool {
	t := &p.tracks[l]
	return t.first < t.ends || len(t.ready) > 0
}

// dequeue takes the most urgent job that waits for a lane.
func (p *pace) dequeue(l int32) int {
	t := &p.tracks[l]
	h := t.ready
	if t.first < t.ends {
		if x := p.leaves[t.first]; len(h) == 0 || x < h[0] {
			t.first++
			return int(uint32(x))
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
	return int(uint32(top))
}

package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Where hops share links or ports, the transfers that start at one instant are a
// matching, and it matters who is served first: a rank whose only source has been
// given to another one waits for nothing. So after each rank has taken what it could,
// those that found a hop blocked by a transfer that has only just started try to
// have that one moved to another hop, and so on (augmenting paths: Kuhn, "The
// Hungarian method for the assignment problem", 1955, section 3). Departs from the
// paper, which has no shared resources.

// matching is what is known of the transfers that start now.
type matching struct {
	taken  []taking // in the order of taking
	seen   []int32  // by rank: the search that last came through it
	search int32
	holder []int32 // by resource: the flight that took it last
	budget int
}

// taking is a resource that a flight took, with the time at which it was free before.
type taking struct {
	flight, resource int32
	before           model.Time
}

func (m *matching) hold(flight, resource int32, before model.Time) {
	m.taken = append(m.taken, taking{flight, resource, before})
	m.holder[resource] = flight
}

// effort limits how many hops are looked at for augmenting paths at one instant, in
// multiples of all hops.
const effort = 4

// share serves all ranks that are awake.
func (e *engine) share() {
	m := &e.matching
	if m.holder == nil {
		m.holder, m.seen = make([]int32, e.Resources), make([]int32, len(e.Present))
	}
	m.taken = m.taken[:0]
	slices.Sort(e.awake)
	for i := len(e.awake) - 1; i > 0; i-- {
		j := e.order.Below(i + 1)
		e.awake[i], e.awake[j] = e.awake[j], e.awake[i]
	}
	if e.store.mixes() {
		e.serveMixed()
	} else {
		for _, v := range e.awake {
			e.serve(v)
		}
	}
	if len(e.fresh) == 0 {
		return
	}
	m.budget = effort * len(e.Hops)
	for _, v := range e.awake {
		if !e.Present[v] {
			continue
		}
		for !e.store.idle(v) && m.budget > 0 {
			m.search++
			m.seen[v] = m.search
			if !e.augment(v) {
				break
			}
		}
	}
	e.fresh = slices.DeleteFunc(e.fresh, func(i int32) bool {
		if e.flights[i].fresh {
			return false
		}
		e.spare = append(e.spare, i)
		return true
	})
}

// augment starts one more transfer to rank v, over a hop that is open, or over one
// that a transfer which starts now can make room for by taking another hop.
func (e *engine) augment(v int32) bool {
	m := &e.matching
	first, count := e.Into[v], e.Into[v+1]-e.Into[v]
	if count == 0 {
		return false
	}
	l := first + int32(e.streams[v].Below(int(count)))
	for range count {
		if l++; l == first+count {
			l = first
		}
		if m.budget--; m.budget < 0 {
			return false
		}
		blocker := int32(-1)
		if e.Opens(l) > e.now {
			if blocker = e.blocker(l); blocker < 0 {
				continue
			}
			if w := e.Hops[e.flights[blocker].hop].Dst; m.seen[w] == m.search {
				continue
			}
		}
		k := e.store.choose(l, &e.streams[v])
		if k < 0 {
			continue
		}
		if blocker < 0 {
			e.start(l, k)
			return true
		}
		w := e.Hops[e.flights[blocker].hop].Dst
		m.seen[w] = m.search
		oldHop, oldChunk := e.flights[blocker].hop, e.flights[blocker].chunk
		e.cancel(blocker)
		if e.Opens(l) <= e.now {
			mine := e.start(l, k)
			if e.augment(w) {
				return true
			}
			e.cancel(mine)
		}
		e.start(oldHop, oldChunk)
	}
	return false
}

// blocker returns the flight which starts now that keeps a hop from being open, or
// -1 if there is none, or more than one, or something else does, or if it cannot be
// cancelled because another one has taken something of what it took since, or its chunk.
func (e *engine) blocker(l int32) int32 {
	x := &e.Hops[l]
	found := int32(-1)
	for i := x.Uses; i < x.UsesEnd; i++ {
		u := &e.Uses[i]
		r := e.Place(u)
		if e.Free[r]-u.From <= e.now {
			continue
		}
		f := e.matching.holder[r]
		if int(f) >= len(e.flights) || !e.flights[f].fresh || found >= 0 && found != f {
			return -1
		}
		found = f
	}
	if found < 0 || e.flights[found].lost {
		return -1
	}
	for j := e.flights[found].took; int(j) < len(e.matching.taken) && e.matching.taken[j].flight == found; j++ {
		if e.matching.holder[e.matching.taken[j].resource] != found {
			return -1
		}
	}
	return found
}

// cancel takes back a transfer that starts now. No other one has taken anything of
// what it took since.
func (e *engine) cancel(i int32) {
	f := &e.flights[i]
	e.store.unreserve(i)
	for j := f.took; int(j) < len(e.matching.taken) && e.matching.taken[j].flight == i; j++ {
		t := &e.matching.taken[j]
		e.Free[t.resource], t.flight = t.before, -1
	}
	f.fresh = false
}

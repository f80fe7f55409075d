package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// store decides what is carried: which chunk a lane takes, given what its source
// holds and its destination lacks. flood and steer are the stores.
type store interface {
	// admit has a rank that arrives now hold what it holds at the start.
	admit(r int32)
	// mixes says that lanes into different ranks compete for chunks, so that their
	// order matters.
	mixes() bool
	// idle says that no lane into a rank need be looked at.
	idle(v int32) bool
	// choose returns a chunk for a lane that is free now, or -1.
	choose(l int32, s *stream) int32
	// reserve and unreserve note that a chunk starts over a lane now, and that it
	// does not after all.
	reserve(i int32)
	unreserve(i int32)
	// arrive notes that the chunk of a flight is at its destination now.
	arrive(i int32)
	// rebind finds another chunk that a flight which is lost has carried, notes that
	// it is at its destination now, and returns it, or -1 if there is none.
	rebind(i int32) int32
	// done says that all is where it must be.
	done() bool
}

// flight is a transfer that is under way.
type flight struct {
	start model.Time
	ends  model.Time
	lane  int32
	chunk int32
	line  int32  // in the calendar
	took  int32  // index of the first resource that it took in matching.taken
	seen  uint32 // how many chunks had arrived at the source at the start
	robs  int32  // the flight whose chunk it brings earlier, or -1
	lost  bool   // it has been robbed, and will have carried another chunk
	fresh bool   // it starts now
}

// engine carries time forward from event to event, and at each event gives the lanes
// that are free something to carry.
type engine struct {
	occupancy
	roster
	store   store
	streams []stream // by rank: for the choices of lanes into it
	order   stream

	now      model.Time
	flights  []flight
	spare    []int32
	fresh    []int32 // flights that start now
	calendar calendar
	known    []known // by lane
	alarms   alarms
	due      []model.Time // by rank: its next alarm
	awake    []int32      // ranks to be looked at now
	isAwake  []bool
	landed   []int32
	mixed    []int32 // lanes to be offered something now
	matching matching

	emit func(model.Transfer)
}

// known remembers the line of the calendar that a lane used last.
type known struct {
	lasts model.Time
	line  int32
}

// newEngine returns an engine that passes every transfer to emit, in the order of
// their ends.
func newEngine(n *network, s store, seed uint64, emit func(model.Transfer)) *engine {
	ranks := n.p.Topology.Ranks
	arrivals := n.p.Release
	if !n.p.Late() || n.mirrored {
		arrivals = nil
	}
	e := &engine{
		occupancy: newOccupancy(n), roster: newRoster(n.p, arrivals), store: s, order: streamOf(seed, 0), streams: make([]stream, ranks),
		known: make([]known, len(n.lanes)), due: make([]model.Time, ranks), isAwake: make([]bool, ranks), emit: emit,
	}
	for r := range ranks {
		e.streams[r] = streamOf(seed, uint64(r)+1)
	}
	for i := range e.known {
		e.known[i].lasts = -1
	}
	return e
}

// run goes on until all is where it must be, and returns whether it came to that.
// stop is asked now and then.
func (e *engine) run(stop func() bool) bool {
	stalled := false
	for step := 0; ; step++ {
		if step%32 == 0 && stop() {
			return false
		}
		e.admit(e.now, func(r int32) {
			e.store.admit(r)
			e.rouseAround(r)
		})
		if e.store.done() {
			return true
		}
		e.matchAll()
		if e.advance() {
			stalled = false
			continue
		}
		if stalled {
			return false
		}
		// Nothing is under way, but what a store has put off for this instant can start
		// at the next.
		stalled = true
		e.now++
		for v := range e.present {
			e.rouse(int32(v))
		}
	}
}

// rouse has a rank looked at now.
func (e *engine) rouse(v int32) {
	if !e.isAwake[v] {
		e.isAwake[v] = true
		e.awake = append(e.awake, v)
	}
}

// rouseAround has a rank and those that lanes lead to from it looked at.
func (e *engine) rouseAround(v int32) {
	e.rouse(v)
	for _, w := range e.onward[v] {
		e.rouse(w)
	}
}

// matchAll gives the lanes into all ranks that are awake something to carry.
func (e *engine) matchAll() {
	switch {
	case !e.private:
		e.share()
	case e.store.mixes():
		e.serveMixed()
	default:
		for _, v := range e.awake {
			e.serve(v)
		}
	}
	for _, v := range e.awake {
		e.isAwake[v] = false
		if (!e.private || e.patient) && !e.store.idle(v) && e.present[v] {
			e.setAlarm(v)
		}
	}
	e.awake = e.awake[:0]
	for _, i := range e.fresh {
		f := &e.flights[i]
		f.fresh = false
		e.calendar.add(f.line, f.ends, i)
	}
	if e.turns() {
		e.turn(e.longest())
	}
	e.fresh = e.fresh[:0]
}

// serve gives the lanes into a rank something to carry: the quickest first, equally
// quick ones from a random one on.
func (e *engine) serve(v int32) {
	if e.store.idle(v) || !e.present[v] {
		return
	}
	s := &e.streams[v]
	for a, end := e.into[v], e.into[v+1]; a < end; {
		b := e.lanes[a].tie
		l := a
		if b-a > 1 {
			l += int32(s.below(int(b - a)))
		}
		for range b - a {
			if e.opens(l) <= e.now {
				if k := e.store.choose(l, s); k >= 0 {
					e.start(l, k)
				}
			}
			if l++; l == b {
				l = a
			}
		}
		a = b
	}
}

// serveMixed gives the lanes into all ranks that are awake something to carry: the
// quickest first, equally quick ones in random order.
func (e *engine) serveMixed() {
	e.mixed = e.mixed[:0]
	for _, v := range e.awake {
		if !e.present[v] || e.store.idle(v) {
			continue
		}
		for l := e.into[v]; l < e.into[v+1]; l++ {
			if e.opens(l) <= e.now {
				e.mixed = append(e.mixed, l)
			}
		}
	}
	for i := len(e.mixed) - 1; i > 0; i-- {
		j := e.order.below(i + 1)
		e.mixed[i], e.mixed[j] = e.mixed[j], e.mixed[i]
	}
	slices.SortStableFunc(e.mixed, func(a, b int32) int {
		return cmp.Compare(e.lasts(&e.lanes[a], 0), e.lasts(&e.lanes[b], 0))
	})
	for _, l := range e.mixed {
		if e.opens(l) > e.now {
			continue
		}
		if k := e.store.choose(l, &e.order); k >= 0 {
			e.start(l, k)
		}
	}
}

// start lets a chunk start over an open lane now.
func (e *engine) start(l, k int32) int32 {
	x := &e.lanes[l]
	beta := e.beta(x, e.class[k])
	lasts := x.alpha + beta
	if e.known[l].lasts != lasts {
		e.known[l] = known{lasts, e.calendar.lineOf(lasts)}
	}
	var i int32
	if n := len(e.spare); n > 0 {
		i, e.spare = e.spare[n-1], e.spare[:n-1]
	} else {
		i = int32(len(e.flights))
		e.flights = append(e.flights, flight{})
	}
	f := &e.flights[i]
	*f = flight{start: e.now, ends: e.now + lasts, lane: l, chunk: k, line: e.known[l].line, took: int32(len(e.matching.taken)), robs: -1, fresh: true}
	if !e.private {
		for j := x.uses; j < x.usesEnd; j++ {
			r := e.place(&e.uses[j])
			e.matching.hold(i, r, e.free[r])
		}
	}
	e.take(l, e.now, beta)
	e.store.reserve(i)
	e.fresh = append(e.fresh, i)
	return i
}

// setAlarm has a rank looked at when the first lane into it opens that is not open now.
func (e *engine) setAlarm(v int32) {
	at := model.MaxTime
	for l := e.into[v]; l < e.into[v+1]; l++ {
		if opens := e.opens(l); opens > e.now {
			at = min(at, opens)
		}
	}
	if at == model.MaxTime || e.due[v] > e.now && e.due[v] <= at {
		return
	}
	e.due[v] = at
	e.alarms.add(alarm{at: at, rank: v})
}

// advance goes to the next event. It returns false if there is none.
func (e *engine) advance() bool {
	next := min(e.calendar.next(), e.alarms.next())
	if !e.network.p.Cost.Synchronous() {
		next = min(next, e.roster.next())
	}
	if next == model.MaxTime {
		return len(e.absent) > 0 // in rounds: the clock has gone on
	}
	e.now = next
	if e.calendar.next() == next {
		e.landed = e.calendar.take(e.landed[:0])
		lost := e.landed[:0]
		for _, i := range e.landed {
			if e.flights[i].lost {
				lost = append(lost, i)
				continue
			}
			e.store.arrive(i)
			e.land(i, e.flights[i].chunk)
		}
		for _, i := range lost {
			e.land(i, e.store.rebind(i))
		}
	}
	for e.alarms.next() == next {
		e.rouse(e.alarms.take().rank)
	}
	return true
}

// land ends a flight that has carried chunk k, or nothing if that is -1.
func (e *engine) land(i, k int32) {
	f := &e.flights[i]
	x := &e.lanes[f.lane]
	e.rouse(x.dst)
	if k >= 0 {
		e.rouseAround(x.dst)
		src, dst := e.ends(x)
		e.emit(model.Transfer{Chunk: k, Src: src, Dst: dst, Route: x.route, Start: f.start, End: f.ends})
	}
	e.spare = append(e.spare, i)
}

// longest returns how long the longest of the transfers takes that start now, in a
// round.
func (e *engine) longest() model.Time {
	longest := model.Time(0)
	for _, i := range e.fresh {
		f := &e.flights[i]
		longest = max(longest, e.network.p.Topology.Duration(e.routes[e.lanes[f.lane].route], e.network.p.Chunks[f.chunk].Size))
	}
	return longest
}

package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// store decides what is carried: which chunk a hop takes, given what its source
// holds and its destination lacks. flood and steer are the stores.
type store interface {
	// admit has a rank that arrives now hold what it holds at the start.
	admit(r int32)
	// mixes reports whether hops into different ranks compete for chunks, so that their
	// order matters.
	mixes() bool
	// idle reports whether no hop into a rank need be looked at.
	idle(v int32) bool
	// choose returns a chunk for a hop that is free now, or -1.
	choose(l int32, s *random.Stream) int32
	// reserve and unreserve note that a chunk starts over a hop now, and that it
	// does not after all.
	reserve(i int32)
	unreserve(i int32)
	// arrive notes that the chunk of a flight is at its destination now.
	arrive(i int32)
	// rebind finds another chunk that a flight which is lost has carried, notes that
	// it is at its destination now, and returns it, or -1 if there is none.
	rebind(i int32) int32
	// done reports whether all is where it must be.
	done() bool
}

// flight is a transfer that is under way.
type flight struct {
	start model.Time
	ends  model.Time
	hop   int32
	chunk int32
	line  int32  // in the calendar
	took  int32  // index of the first resource that it took in matching.taken
	seen  uint32 // how many chunks had arrived at the source at the start
	robs  int32  // the flight whose chunk it brings earlier, or -1
	lost  bool   // it has been robbed, and will have carried another chunk
	fresh bool   // it starts now
}

// engine carries time forward from event to event, and at each event gives the hops
// that are free something to carry.
type engine struct {
	network.Occupancy
	network.Arrivals
	store   store
	streams []random.Stream // by rank: for the choices of hops into it
	order   random.Stream

	now      model.Time
	flights  []flight
	spare    []int32
	fresh    []int32 // flights that start now
	calendar events.Calendar
	known    []known // by hop
	alarms   events.Queue
	due      []model.Time // by rank: its next alarm
	awake    []int32      // ranks to be looked at now
	isAwake  []bool
	landed   []int32
	mixed    []int32 // hops to be offered something now
	matching matching

	emit func(model.Transfer)
}

// known remembers the line of the calendar that a hop used last.
type known struct {
	lasts model.Time
	line  int32
}

// newEngine returns an engine that passes every transfer to emit, in the order of
// their ends.
func newEngine(n *network.Network, s store, seed uint64, emit func(model.Transfer)) *engine {
	ranks := n.Problem.Topology.Ranks
	arrivals := n.Problem.Release
	if !n.Problem.Late() || n.Mirrored {
		arrivals = nil
	}
	e := &engine{
		Occupancy: network.NewOccupancy(n), Arrivals: network.NewArrivals(n.Problem, arrivals), store: s, order: random.New(seed, 0), streams: make([]random.Stream, ranks),
		known: make([]known, len(n.Hops)), due: make([]model.Time, ranks), isAwake: make([]bool, ranks), emit: emit,
	}
	for r := range ranks {
		e.streams[r] = random.New(seed, uint64(r)+1)
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
		e.Admit(e.now, func(r int32) {
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
		for v := range e.Present {
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

// rouseAround has a rank and those that hops lead to from it looked at.
func (e *engine) rouseAround(v int32) {
	e.rouse(v)
	for _, w := range e.Onward[v] {
		e.rouse(w)
	}
}

// matchAll gives the hops into all ranks that are awake something to carry.
func (e *engine) matchAll() {
	switch {
	case !e.Private:
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
		if (!e.Private || e.Patient) && !e.store.idle(v) && e.Present[v] {
			e.setAlarm(v)
		}
	}
	e.awake = e.awake[:0]
	for _, i := range e.fresh {
		f := &e.flights[i]
		f.fresh = false
		e.calendar.Add(f.line, f.ends, i)
	}
	if e.Turns() {
		e.Turn(e.longest())
	}
	e.fresh = e.fresh[:0]
}

// serve gives the hops into a rank something to carry: the quickest first, equally
// quick ones from a random one on.
func (e *engine) serve(v int32) {
	if e.store.idle(v) || !e.Present[v] {
		return
	}
	s := &e.streams[v]
	for a, end := e.Into[v], e.Into[v+1]; a < end; {
		b := e.Hops[a].Tie
		l := a
		if b-a > 1 {
			l += int32(s.Below(int(b - a)))
		}
		for range b - a {
			if e.Opens(l) <= e.now {
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

// serveMixed gives the hops into all ranks that are awake something to carry: the
// quickest first, equally quick ones in random order.
func (e *engine) serveMixed() {
	e.mixed = e.mixed[:0]
	for _, v := range e.awake {
		if !e.Present[v] || e.store.idle(v) {
			continue
		}
		for l := e.Into[v]; l < e.Into[v+1]; l++ {
			if e.Opens(l) <= e.now {
				e.mixed = append(e.mixed, l)
			}
		}
	}
	for i := len(e.mixed) - 1; i > 0; i-- {
		j := e.order.Below(i + 1)
		e.mixed[i], e.mixed[j] = e.mixed[j], e.mixed[i]
	}
	slices.SortStableFunc(e.mixed, func(a, b int32) int {
		return cmp.Compare(e.Lasts(&e.Hops[a], 0), e.Lasts(&e.Hops[b], 0))
	})
	for _, l := range e.mixed {
		if e.Opens(l) > e.now {
			continue
		}
		if k := e.store.choose(l, &e.order); k >= 0 {
			e.start(l, k)
		}
	}
}

// start lets a chunk start over an open hop now.
func (e *engine) start(l, k int32) int32 {
	x := &e.Hops[l]
	beta := e.Beta(x, e.Class[k])
	lasts := x.Alpha + beta
	if e.known[l].lasts != lasts {
		e.known[l] = known{lasts, e.calendar.LineOf(lasts)}
	}
	var i int32
	if n := len(e.spare); n > 0 {
		i, e.spare = e.spare[n-1], e.spare[:n-1]
	} else {
		i = int32(len(e.flights))
		e.flights = append(e.flights, flight{})
	}
	f := &e.flights[i]
	*f = flight{start: e.now, ends: e.now + lasts, hop: l, chunk: k, line: e.known[l].line, took: int32(len(e.matching.taken)), robs: -1, fresh: true}
	if !e.Private {
		for j := x.Uses; j < x.UsesEnd; j++ {
			r := e.Place(&e.Uses[j])
			e.matching.hold(i, r, e.Free[r])
		}
	}
	e.Take(l, e.now, beta)
	e.store.reserve(i)
	e.fresh = append(e.fresh, i)
	return i
}

// setAlarm has a rank looked at when the first hop into it opens that is not open now.
func (e *engine) setAlarm(v int32) {
	at := model.MaxTime
	for l := e.Into[v]; l < e.Into[v+1]; l++ {
		if opens := e.Opens(l); opens > e.now {
			at = min(at, opens)
		}
	}
	if at == model.MaxTime || e.due[v] > e.now && e.due[v] <= at {
		return
	}
	e.due[v] = at
	e.alarms.Add(events.Event{At: at, ID: v})
}

// advance goes to the next event. It returns false if there is none.
func (e *engine) advance() bool {
	next := min(e.calendar.Next(), e.alarms.Next())
	if !e.Network.Problem.Cost.Synchronous() {
		next = min(next, e.Arrivals.Next())
	}
	if next == model.MaxTime {
		return len(e.Absent) > 0 // in rounds: the clock has gone on
	}
	e.now = next
	if e.calendar.Next() == next {
		e.landed = e.calendar.Take(e.landed[:0])
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
	for e.alarms.Next() == next {
		e.rouse(e.alarms.Take().ID)
	}
	return true
}

// land ends a flight that has carried chunk k, or nothing if that is -1.
func (e *engine) land(i, k int32) {
	f := &e.flights[i]
	x := &e.Hops[f.hop]
	e.rouse(x.Dst)
	if k >= 0 {
		e.rouseAround(x.Dst)
		src, dst := e.Ends(x)
		e.emit(model.Transfer{Chunk: k, Src: src, Dst: dst, Route: x.Route, Start: f.start, End: f.ends})
	}
	e.spare = append(e.spare, i)
}

// longest returns how long the longest of the transfers takes that start now, in a
// round.
func (e *engine) longest() model.Time {
	longest := model.Time(0)
	for _, i := range e.fresh {
		f := &e.flights[i]
		longest = max(longest, e.Network.Problem.Topology.Duration(e.Routes[e.Hops[f.hop].Route], e.Network.Problem.Chunks[f.chunk].Size))
	}
	return longest
}

//go:build cgo

package oneshot

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// itinerary is a plan and the slot of time in which the hops of each of its stages are sent.
type itinerary struct {
	plan  int
	slots []int // by stage
}

// portion is the hops of a plan that can be sent at one time and no sooner: one of its stages.
type portion struct {
	start       model.Time // when they can be sent at the earliest
	after, left int        // slots up to then, and from there to the end of all
	loads       []load
}

// load is for which part of a slot a stage keeps the links of an orbit busy, if all of the buffer goes that way.
type load struct {
	orbit int
	busy  float64
}

// itineraries finds how much of the buffer is to follow each itinerary: a linear program in which no link is busy for more than all of any slot. It
// is closer to what can be than the one of mixer, which looks at each link alone: there what waits for one link may come too late for the next one.
// There are far too many itineraries. Those that cost least at the prices of links in slots are found plan by plan, and added, until none costs less
// than it brings (Dantzig and Wolfe, "Decomposition principle for linear programs", Operations Research 8, 1960).
type itineraries struct {
	s     *search
	slot  float64 // picoseconds
	slots int
	plans [][]portion
	lp    *highs.Growing
	of    []itinerary // the columns
	parts []float64   // of the buffer, that follow each
	sum   float64     // of these
	price []float64   // by orbit and slot
	turns int         // runs of the linear program, at most
}

// Limits of programs for itineraries.
const (
	mostItineraries = 150   // added at a time
	addedTimes      = 60    // at most
	bringsMore      = 1e-3  // the part by which one costs less than it brings
	itinerarySlots  = 48    // about, in all
	moreSlots       = 5     // programs, each with more slots than the one before
	someOver        = 1.02  // of the buffer, that itineraries must leave room for if chunks are to follow them without being late
	muchLater       = 50    // the part of a makespan by which it is longer than the linear program says, where itineraries are looked for
	fewStops        = 128   // chunks, each with its images, that follow itineraries at first
	littleSooner    = 0.998 // times as long as with half of the chunks, at most, if there are to be more
)

// newItineraries returns a program of plans with some windows, in which all is over at the end of some slots, without columns; nil if HiGHS
// does not take it.
func (s *search) newItineraries(all [][]window, slot float64, slots int) *itineraries {
	x := &itineraries{s: s, slot: slot, slots: slots, price: make([]float64, len(s.images.size)*slots), turns: addedTimes}
	for _, list := range all {
		x.plans = append(x.plans, x.stages(list))
	}
	var err error
	if x.lp, err = highs.NewGrowing(slices.Repeat([]float64{1}, len(x.price))); err != nil {
		return nil
	}
	return x
}

// in returns how many slots a time is.
func (x *itineraries) in(t model.Time) int { return int(math.Round(float64(t) / x.slot)) }

// stages returns the stages of a plan with some windows, none if it is over too late.
func (x *itineraries) stages(list []window) (all []portion) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b window) int { return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.orbit, b.orbit)) })
	for _, w := range list {
		if n := len(all); n == 0 || all[n-1].start != w.after {
			all = append(all, portion{start: w.after, after: x.in(w.after)})
		}
		y := &all[len(all)-1]
		y.left = max(y.left, x.in(w.left))
		if n := len(y.loads); n == 0 || y.loads[n-1].orbit != w.orbit {
			y.loads = append(y.loads, load{orbit: w.orbit})
		}
		y.loads[len(y.loads)-1].busy += w.load / x.slot
	}
	if slices.ContainsFunc(all, func(y portion) bool { return y.after+y.left >= x.slots }) {
		return nil
	}
	return all
}

// cheapest returns the slots for a plan that cost least, and what they cost: no stage waits less than the ones before it. It takes O(loads times slots)
// time.
func (x *itineraries) cheapest(stages []portion) (slots []int, cost float64) {
	spare := x.slots
	for _, y := range stages {
		spare = min(spare, x.slots-y.after-y.left)
	}
	least, from := make([]float64, spare), make([][]int, len(stages)) // by slots of waiting: what it costs so far, and how many the stage before waits
	for i, y := range stages {
		from[i] = make([]int, spare)
		best := 0
		next := make([]float64, spare)
		for wait := range spare {
			if least[wait] < least[best] {
				best = wait
			}
			from[i][wait], next[wait] = best, least[best]
			for _, l := range y.loads {
				next[wait] += l.busy * x.price[l.orbit*x.slots+y.after+wait]
			}
		}
		least = next
	}
	wait := 0
	for w := range least {
		if least[w] < least[wait] {
			wait = w
		}
	}
	cost, slots = least[wait], make([]int, len(stages))
	for i, y := range slices.Backward(stages) {
		slots[i] = y.after + wait
		wait = from[i][wait]
	}
	return slots, cost
}

// solve finds the optimum, and reports whether it has. The columns that it begins with are those of some itineraries that are over in time.
func (x *itineraries) solve(list []itinerary) bool {
	for range x.turns {
		for _, y := range list {
			if !x.add(y) {
				return false
			}
		}
		if len(x.of) > 0 {
			r, err := x.lp.Maximise(x.s.b.Context())
			if err != nil {
				return false
			}
			x.sum, x.parts = r.Objective, r.Values
			copy(x.price, r.RowDuals)
		}
		if list = x.cheaper(); len(list) == 0 {
			break
		}
	}
	return x.sum > 0
}

// cheaper returns the itineraries, one of each plan, that cost less than they bring: those that cost least first, not more than can be added at a time.
func (x *itineraries) cheaper() (all []itinerary) {
	type offer struct {
		itinerary
		cost float64
	}
	var list []offer
	for i, stages := range x.plans {
		if len(stages) == 0 {
			continue
		}
		if slots, cost := x.cheapest(stages); cost < 1-bringsMore {
			list = append(list, offer{itinerary{i, slots}, cost})
		}
	}
	slices.SortStableFunc(list, func(a, b offer) int { return cmp.Compare(a.cost, b.cost) })
	for _, y := range list[:min(mostItineraries, len(list))] {
		all = append(all, y.itinerary)
	}
	return all
}

// add adds a column, and reports whether that is possible.
func (x *itineraries) add(y itinerary) bool {
	in := map[int32]float64{}
	for i, stage := range x.plans[y.plan] {
		for _, l := range stage.loads {
			in[int32(l.orbit*x.slots+y.slots[i])] += l.busy
		}
	}
	var rows []int32
	var entries []float64
	for _, row := range slices.Sorted(maps.Keys(in)) {
		if in[row] > leastLoad {
			rows, entries = append(rows, row), append(entries, in[row])
		}
	}
	x.of = append(x.of, y)
	return x.lp.Add(1, rows, entries) == nil
}

// used returns the itineraries that something follows.
func (x *itineraries) used() (all []itinerary) {
	for i, part := range x.parts {
		if part > 0 {
			all = append(all, x.of[i])
		}
	}
	return all
}

// travel has chunks, each with as many images, follow itineraries of some plans of the linear program, in as few slots as leave some room.
func (x *patterns) travel(used []int, copies int) {
	s := x.s
	var all [][]window
	var of []*plan
	for _, i := range used {
		all, of = append(all, x.m.all[i]), append(of, x.plans[i])
	}
	slot := float64(x.unit) / math.Max(1, math.Round(itinerarySlots*float64(x.unit)/float64(x.end)))
	slots, last, before := int(math.Ceil(float64(x.end)/slot)), 0, 0.0
	var known []itinerary
	for range moreSlots {
		if float64(slots)*slot >= float64(s.makespan) || s.b.Spent() {
			return
		}
		y := s.newItineraries(all, slot, slots)
		if y == nil {
			return
		}
		whole := y.solve(known)
		y.lp.Close()
		if !whole {
			return
		}
		if y.sum >= someOver {
			x.tour(of, y, copies)
			return
		}
		next := slots + 1
		if growth := (y.sum - before) / float64(slots-last); before > 0 && growth > 0 { // about as much in each slot
			next = slots + max(1, int(math.Ceil((someOver-y.sum)/growth)))
		}
		known, last, before, slots = y.used(), slots, y.sum, next
	}
}

// tour places chunks, each with as many images, that follow itineraries of some plans: more and more, as long as that helps.
func (x *patterns) tour(of []*plan, y *itineraries, copies int) {
	s := x.s
	s.together(copies)
	hops := 0.0
	for i, z := range y.of {
		hops += y.parts[i] / y.sum * float64(of[z.plan].transfers(1))
	}
	most := min(float64(s.room(s.copies))/hops, float64(s.p.Size/s.unit())) / float64(s.copies)
	r := s.draws(37)
	last := model.MaxTime
	for chunks := fewStops; float64(chunks) <= most && !s.over(); chunks *= 2 {
		end := x.toured(of, y, chunks, r)
		if float64(end) > littleSooner*float64(last) {
			break
		}
		last = end
	}
}

// toured places a number of chunks that follow itineraries of some plans, and returns the makespan, MaxTime if there is none.
func (x *patterns) toured(of []*plan, y *itineraries, chunks int, r *rand.Rand) model.Time {
	s := x.s
	b := s.divided(chunks * s.copies)
	if b.copies != s.copies {
		return model.MaxTime
	}
	parts := slices.Clone(y.parts)
	for i := range parts {
		parts[i] /= y.sum
	}
	type stop struct {
		itinerary
		part float64 // of its slots
	}
	var stops []stop
	for i, n := range counts(parts, len(b.p.Chunks)) {
		for j := range n {
			stops = append(stops, stop{y.of[i], (float64(j) + 0.5) / float64(n)})
		}
	}
	slices.SortStableFunc(stops, func(a, b stop) int {
		return cmp.Compare(float64(a.slots[0])+a.part, float64(b.slots[0])+b.part)
	})
	busy := s.newOccupancy(y.slot*float64(y.slots), y.slot/binsPerSlot)
	var c ranked
	for _, z := range stops {
		q := of[z.plan]
		at := map[model.Time]float64{} // by when the hops of a stage can be sent
		for i, stage := range y.plans[z.plan] {
			at[stage.start] = (float64(z.slots[i]) + z.part) * y.slot
		}
		var list []dated
		for range partSamples {
			d := dated{course: s.base(q, r.IntN(s.parts(q))), image: r.IntN(len(s.images.nodes))}
			starts := x.starts(q, d.course)
			for _, h := range s.guide.hops(d.course) {
				d.times = append(d.times, at[starts[h.step][h.pair]])
			}
			list = append(list, d)
		}
		c.follow(busy, list)
	}
	if s.hops(c.courses)*b.copies > s.room(b.copies) {
		return model.MaxTime
	}
	return s.keepRanked(b, &c, model.MaxTime)
}

// starts returns when each pair of each step of a course of a plan can send at the earliest, as its windows have it.
func (x *patterns) starts(q *plan, c *course) [][]model.Time {
	all := x.s.guide.starts(c)
	if x.shapes[q] != nil {
		for round, list := range all {
			for i := range list {
				list[i] = model.Time(round) * x.lasts
			}
		}
	}
	return all
}

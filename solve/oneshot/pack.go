//go:build !js

package oneshot

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// packing gives each of some chunks a plan, and to each of its steps a time for which it waits, so that no link has much more to
// send in one slot of time than in others: chunk after chunk takes what costs least, where a link costs the more the busier it is
// in a slot, and chooses again once all others have chosen (prices that grow exponentially with loads: Plotkin, Shmoys and Tardos, "Fast
// approximation algorithms for fractional packing and covering problems", Mathematics of Operations Research 20, 1995).
type packing struct {
	b *solve.Budget
	setting
	all     [][]window // by plan and step
	steps   []int      // by plan
	lengths []model.Time
	chunks  int
	slot    float64   // picoseconds
	load    []float64 // by orbit and slot: for which part of it links are busy
	looks   int       // at prices
	most    int       // of them
	price   []float64
}

// setting is when all is to be over, in how many slots, and by which power of e a link costs more where it is busy for one slot more.
type setting struct {
	end   model.Time
	slots int
	steep float64
}

// choice is the plan of a chunk, and by step how many slots it waits up to then.
type choice struct {
	plan  int
	waits []int
}

// Limits of packings.
const (
	fewPacked   = 32 // chunks, each with its images
	mostPacked  = 64
	packPasses  = 4   // times that each chunk chooses
	looksPerHop = 64  // as long as one hop takes to be placed
	mostSteep   = 500 // the exponent of a price, with which sums of prices are still numbers
	packed      = 4   // choices, and changes of these, each get this part of the work that is left
)

// newPacking returns a packing of chunks none of which has chosen.
func newPacking(of []*plan, m *mixer, chunks, most int, with setting) *packing {
	x := &packing{b: m.s.b, most: most, setting: with, all: m.all, chunks: chunks, slot: float64(with.end) / float64(with.slots)}
	for i, q := range of {
		length := model.Time(0)
		for _, w := range m.all[i] {
			length = max(length, w.after, w.after.Add(max(0, w.left)))
		}
		x.steps, x.lengths = append(x.steps, q.steps()), append(x.lengths, length)
	}
	x.load = make([]float64, len(m.s.images.size)*(with.slots+2))
	x.price = slices.Repeat([]float64{1}, len(x.load))
	return x
}

// at returns the first of the two slots in which a window's links are busy after some slots of waiting, and which part of that is in
// the second one.
func (x *packing) at(w *window, wait int) (slot int, second float64) {
	at := float64(w.after)/x.slot + float64(wait)
	first := int(at)
	return w.orbit*(x.slots+2) + first, at - float64(first)
}

// book adds what a chunk has chosen to the loads, a number of times.
func (x *packing) book(c *choice, times float64) {
	for i := range x.all[c.plan] {
		w := &x.all[c.plan][i]
		slot, second := x.at(w, c.waits[w.step])
		load := times * w.load / float64(x.chunks) / x.slot
		x.load[slot] += load * (1 - second)
		x.load[slot+1] += load * second
		x.price[slot], x.price[slot+1] = x.priced(slot), x.priced(slot+1)
	}
}

// priced returns what a link costs in a slot.
func (x *packing) priced(slot int) float64 { return math.Exp(min(mostSteep, x.steep*x.load[slot])) }

// cheapest returns the choice that costs least, nil if no plan is over in time or there were too many looks. It costs O(windows times slots of waiting).
func (x *packing) cheapest() (best *choice) {
	least := math.Inf(1)
	for p, list := range x.all {
		if x.lengths[p] >= x.end || len(list) == 0 {
			continue
		}
		if x.looks > x.most || x.b.Spent() {
			return nil
		}
		most := int(float64(x.end-x.lengths[p]) / x.slot)
		cost := make([]float64, most+1)    // of a step and those after it, by slots waited so far
		waits := make([][]int, x.steps[p]) // by step: how many are best then
		rest := list
		for i := x.steps[p] - 1; i >= 0; i-- {
			waits[i] = make([]int, most+1)
			first := len(rest)
			for first > 0 && rest[first-1].step == i {
				first--
			}
			x.looks += (len(rest) - first) * (most + 1)
			for m := most; m >= 0; m-- {
				for j := range rest[first:] {
					w := &rest[first+j]
					slot, second := x.at(w, m)
					cost[m] += w.load * (x.price[slot]*(1-second) + x.price[slot+1]*second)
				}
				waits[i][m] = m
				if m < most && cost[m+1] < cost[m] {
					cost[m], waits[i][m] = cost[m+1], waits[i][m+1]
				}
			}
			rest = rest[:first]
		}
		if cost[0] < least {
			least, best = cost[0], &choice{plan: p}
			m := 0
			for _, list := range waits {
				m = list[m]
				best.waits = append(best.waits, m)
			}
		}
	}
	return best
}

// choose returns what each chunk chooses, nil if one finds nothing.
func (x *packing) choose() []*choice {
	all := make([]*choice, x.chunks)
	for range packPasses {
		for k, c := range all {
			if c != nil {
				x.book(c, -1)
			}
			if all[k] = x.cheapest(); all[k] == nil {
				return nil
			}
			x.book(all[k], 1)
		}
	}
	return all
}

// pack places chunks as they are packed, by settings that are chosen at random or like the best one, as long as they are sooner
// over; then it changes what single chunks have chosen. It returns what they choose then, nil if they have not been placed. Nothing is over
// before some time.
func (s *search) pack(of []*plan, m *mixer, least model.Time) (turns []chosen) {
	if s.over() {
		return nil
	}
	s.together(s.packable(of[0]))
	chunks := min(mostPacked, int(s.p.Size/s.unit())/s.copies, s.room(s.copies)/(of[0].transfers(1)*s.copies))
	if chunks < fewPacked {
		return nil
	}
	r := s.draws(11)
	var best setting
	end := model.MaxTime
	until := s.work + (s.most-s.work)/packed
	for idle := 0; idle < patience/2 && s.work < until && !s.over(); idle++ {
		with := best.varied(r, least)
		x := newPacking(of, m, chunks, (until-s.work)*looksPerHop, with)
		next := x.turns()
		s.work += x.looks / looksPerHop
		if t := s.placed(of, next, end); t < end {
			best, turns, end, idle = with, next, t, 0
		}
	}
	until = s.work + (s.most-s.work)/packed
	for idle := 0; end < model.MaxTime && idle < 10*patience && s.work < until && !s.over(); idle++ {
		next := varied(r, turns)
		t := s.placed(of, next, end+1)
		if t < end {
			idle = 0
		}
		if t <= end {
			turns, end = next, t
		}
	}
	return turns
}

// halved divides chunks of the best schedule, which have been packed, in two that choose alike, again and again as long as all are sooner
// over.
func (s *search) halved(of []*plan, turns []chosen) {
	s.together(s.imagesOf)
	for 2*len(turns)*s.copies <= mostFiner && !s.b.Spent() && s.makespan > s.bound {
		var next []chosen
		for _, c := range turns {
			next = append(next, c, c)
		}
		if before := s.makespan; s.placed(of, next, before) >= before {
			break
		}
		turns = next
	}
}

// varied returns another setting, like this one or not. Nothing is over before some time.
func (x setting) varied(r *rand.Rand, least model.Time) setting {
	some := func() float64 { return r.Float64() - 0.5 }
	switch kind := r.IntN(6); {
	case x.slots == 0 || kind > 2:
		return setting{least + model.Time(float64(least)*0.1*r.Float64()), 20 + r.IntN(60), 2 + 8*r.Float64()}
	case kind == 0:
		x.end += model.Time(float64(x.end) * 0.02 * some())
	case kind == 1:
		x.slots = max(10, x.slots+r.IntN(21)-10)
	default:
		x.steep *= 1 + 0.6*some()
	}
	return x
}

// packable returns how many images of a chunk go together at most so that there may be some chunks for a packing.
func (s *search) packable(q *plan) int {
	most := 1
	for _, order := range s.images.orders {
		if s.shared(order) && s.p.Size/(int64(order)*s.unit()) >= fewPacked && order*fewPacked*q.transfers(1) <= s.room(order) {
			most = order
		}
	}
	return most
}

// chosen is the plan that a chunk follows, and by step how much sooner than it must be it is placed.
type chosen struct {
	plan  int
	early []model.Time
}

// turns returns what chunks have chosen.
func (x *packing) turns() (all []chosen) {
	for _, c := range x.choose() {
		t := chosen{plan: c.plan}
		for _, wait := range c.waits {
			t.early = append(t.early, x.end-x.lengths[c.plan]-model.Time(x.slot*float64(wait)))
		}
		all = append(all, t)
	}
	return all
}

// placed places chunks as they are packed, and returns the makespan, MaxTime if that is not before some time.
func (s *search) placed(of []*plan, all []chosen, before model.Time) model.Time {
	if len(all) == 0 {
		return model.MaxTime
	}
	var courses []*course
	var more [][]model.Time
	taken := make([]int, len(of))
	for _, t := range all {
		courses, more = append(courses, s.course(of[t.plan], taken[t.plan])), append(more, t.early)
		taken[t.plan]++
	}
	b := s.divided(len(all) * s.copies)
	if len(courses) != len(b.p.Chunks) || slices.Contains(courses, nil) || s.hops(courses)*b.copies > s.room(b.copies) || !b.place(courses, more, before) {
		return model.MaxTime
	}
	return s.keep(b, mixedNote)
}

// varied returns what chunks have chosen with a change: two change places, one takes the choice of another one, or is placed sooner or later.
func varied(r *rand.Rand, all []chosen) []chosen {
	all = slices.Clone(all)
	i, j := r.IntN(len(all)), r.IntN(len(all))
	switch r.IntN(3) {
	case 0:
		all[i], all[j] = all[j], all[i]
	case 1:
		all[i] = all[j]
	default:
		all[i].early = slices.Clone(all[i].early)
		k := r.IntN(len(all[i].early))
		all[i].early[k] = model.Time(float64(all[i].early[k]) * 2 * r.Float64())
	}
	return all
}

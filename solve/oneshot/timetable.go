//go:build cgo

package oneshot

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits of timetables.
const (
	mostColumns  = 6000 // of a program
	mostPrograms = 10
	coarseSlots  = 32 // in all, about
	fineSlots    = 56
	belowEnough  = 0.97 // of what is soon enough, where timetables begin to end
	leastOver    = 0.95 // of the buffer, for a timetable to be followed
	enoughOver   = 1.03 // if this much would be over there is one that ends sooner
	fewFollow    = 0.01 // of the buffer, for a family to be of use
	fewSlots     = 2    // of a coarse timetable, by which a fine one may end sooner
	fewParts     = 32   // chunks, each with its images, that follow a timetable
	mostParts    = 256
	binsPerSlot  = 2
	partSamples  = 24 // courses among which a chunk has the choice
	fewInVain    = 2  // trials

	mostFollowing = 1 << 18 // transfers that are placed at least
)

// timetable is when which part of the buffer has been sent by each class of each family.
type timetable struct {
	families []*family
	slot     float64   // picoseconds
	parts    []float64 // of the buffer, by family, that follow it
	over     float64   // how much would be over, as a part of the buffer
	sent     [][][]float64
}

// timetable returns the one by which most is over at the end of some slots, nil if there is none or it would take too long to find. It is
// that of a fluid: in each slot each link passes what it can, and all that follows a family goes through its classes in one order, so that
// the first of it is first everywhere.
func (s *search) timetable(of []*family, slot float64, slots int) *timetable {
	m := &lp.Model{Sense: lp.Maximise}
	loads := make([][]lp.Term, len(s.images.size)*slots)
	number := func(x float64) lp.Rat { v, _ := lp.Float(x); return v }
	in := func(x model.Time) int { return int(math.Round(float64(x) / slot)) }
	const nothing = -1
	totals := make([]int, len(of))
	columns := make([][][]int, len(of)) // by family, class and slot: what has been sent at its end
	for i, x := range of {
		totals[i] = m.AddNonNegative("", lp.Int(1))
		if slices.ContainsFunc(x.classes, func(y *class) bool { return in(y.start)+in(y.tail) >= slots }) {
			m.SetBounds(totals[i], lp.AtInt(0), lp.AtInt(0))
			continue
		}
		for _, y := range x.classes {
			list, before := make([]int, slots), nothing
			for u := range slots {
				switch {
				case u < in(y.start):
					list[u] = nothing
					continue
				case u >= slots-in(y.tail)-1:
					list[u] = totals[i]
				default:
					list[u] = m.AddNonNegative("", lp.Int(0))
				}
				if list[u] == before {
					continue
				}
				for _, v := range slices.SortedFunc(maps.Keys(y.loads), visit.compare) {
					if w := u + in(v.after); w < slots {
						r, load := &loads[v.orbit*slots+w], y.loads[v]/slot
						*r = append(*r, lp.Term{Col: list[u], Coef: number(load)})
						if before != nothing {
							*r = append(*r, lp.Term{Col: before, Coef: number(-load)})
						}
					}
				}
				if before != nothing {
					m.AddLE("", lp.Int(0), lp.T(before, 1), lp.T(list[u], -1))
				}
				before = list[u]
			}
			columns[i] = append(columns[i], list)
		}
		for k, list := range columns[i] {
			for _, p := range x.classes[k].before {
				for u, c := range list {
					came := nothing
					if v := u - in(x.classes[p].lasts); v >= 0 {
						came = columns[i][p][v]
					}
					switch {
					case c == came || c == nothing:
					case came == nothing:
						m.AddLE("", lp.Int(0), lp.T(c, 1))
					default:
						m.AddLE("", lp.Int(0), lp.T(c, 1), lp.T(came, -1))
					}
				}
			}
		}
		if m.NumColumns() > mostColumns {
			return nil
		}
	}
	for u := range slots {
		var known [][]lp.Term
		for o := range s.images.size {
			list := loads[o*slots+u]
			if len(list) > 0 && !slices.ContainsFunc(known, func(x []lp.Term) bool { return slices.Equal(x, list) }) {
				known = append(known, list)
				m.AddLE("", lp.Int(1), list...)
			}
		}
	}
	r, err := highs.Optimum(s.b.Context(), m, "ipm")
	if err != nil {
		return nil
	}
	x := &timetable{families: of, slot: slot, over: r.Objective}
	for i := range of {
		total := r.Values[totals[i]]
		x.parts = append(x.parts, total/max(r.Objective, 1e-9))
		var sent [][]float64
		for _, columns := range columns[i] {
			list := make([]float64, slots)
			for u, c := range columns {
				if c != nothing && total > 0 {
					list[u] = r.Values[c] / total
				}
			}
			sent = append(sent, list)
		}
		x.sent = append(x.sent, sent)
	}
	return x
}

// at returns when a class of a family is sent, of what comes after some part of the family.
func (x *timetable) at(family, class int, part float64) float64 {
	list := x.sent[family][class]
	u, _ := slices.BinarySearch(list, part)
	u = min(u, len(list)-1)
	low, within := 0.0, 0.0
	if u > 0 {
		low = list[u-1]
	}
	if list[u] > low {
		within = (part - low) / (list[u] - low)
	}
	return (float64(u) + within) * x.slot
}

// schedule has chunks follow timetables. Where families have some of a plan's bases alone, those that have all of them come first: there are
// fewer, and their programs are small. Where patterns come later, which are better, or there is no time for more, there are only these.
func (s *search) schedule(plans []*plan) {
	x := latencies{least: model.MaxTime}
	for u := range s.n() {
		for v := range u {
			between := model.Time(s.guide.between(u, v) / perPicosecond)
			x.least, x.unit = min(x.least, between), model.Time(arborescence.GCD(int64(x.unit), int64(between)))
		}
	}
	if x.least == 0 || s.makespan/x.least > fineSlots || !slow(s.p, x.least) {
		return
	}
	all := turns(plans)
	families := s.families(all, false)
	if all.uneven() && !s.jumps() && s.n() <= maxAfter {
		s.timetables(families, x, coarseSlots)
		families = s.families(all, true)
	}
	s.timetables(families, x, coarseSlots, fineSlots)
}

// timetables has chunks follow timetables of some families that end as soon as all, or nearly all, can be over, in some numbers of slots, about: of all
// families in the first one, few slots, and of those that are of use there in more, which may end a little sooner.
func (s *search) timetables(of []*family, between latencies, numbers ...int) {
	if len(of) == 0 {
		return
	}
	s.most = max(s.most, s.work+mostFollowing)
	useful, programs := map[*family]bool{}, 0
	from, growth := float64(s.bound)*belowEnough, 0.0 // the growth of what would be over, in a picosecond
	for _, slots := range numbers {
		slot, enough := between.slot(float64(s.makespan)/float64(slots)), 1.0
		if slots == fineSlots {
			enough = leastOver
		}
		last, before := 0, 0.0 // the number of slots before, and what would be over then
		for n := int(math.Ceil(from / slot)); float64(n)*slot < float64(s.makespan) && !s.over(); {
			x := s.timetable(of, slot, n)
			if programs++; x == nil || programs > mostPrograms {
				return
			}
			for i, y := range of {
				useful[y] = useful[y] || x.parts[i] > fewFollow
			}
			if x.over >= enough {
				s.follow(x)
			}
			if x.over >= enoughOver || x.over >= 1 && slots == coarseSlots {
				from = max(from, float64(n-fewSlots)*slot)
				break
			}
			if before > 0 {
				growth = (x.over - before) / (float64(n-last) * slot)
			}
			next := n + 1
			if growth > 0 { // about as much in each slot
				if slots == coarseSlots && x.over+growth*(float64(s.makespan)-float64(n)*slot) < leastOver {
					return
				}
				next = n + max(1, int(math.Ceil((enough-x.over)/(growth*slot))))
			}
			n, last, before = next, n, x.over
		}
		of = slices.DeleteFunc(of, func(x *family) bool { return !useful[x] })
	}
}

// latencies is the least of those between members, and the longest time that divides all of them.
type latencies struct{ least, unit model.Time }

// slot returns the length of slots that is about some time: slots divide all latencies if that time is not much longer than what does, or else the least one.
func (x latencies) slot(about float64) float64 {
	of := float64(x.unit)
	if math.Round(of/about) == 0 {
		of = float64(x.least)
	}
	return of / math.Max(1, math.Round(of/about))
}

// follow places chunks by a timetable, with as many images together as leave some chunks, as long as that helps.
func (s *search) follow(x *timetable) {
	hops := 0.0
	for i, part := range x.parts {
		hops += part * float64(x.families[i].plans[0].transfers(1))
	}
	r := rand.New(rand.NewPCG(13, uint64(s.n())))
	for _, copies := range slices.Backward(s.images.orders) {
		chunks := min(mostParts, int(min(float64(s.room(copies))/hops, float64(s.p.Size/s.unit())))/copies)
		if !s.shared(copies) || chunks < fewParts {
			continue
		}
		s.together(copies)
		for vain := 0; vain < fewInVain && !s.over(); vain++ {
			if before := s.makespan; s.followed(x, chunks, r) < before {
				vain = -1
			}
		}
		return
	}
}

// part is what a chunk follows: it comes after some part of a family.
type part struct {
	family int
	after  float64
}

// followed places a number of chunks by a timetable, and returns the makespan, MaxTime if that is none sooner than the best. Each chunk takes,
// of some courses, the one whose links are least busy at its times.
func (s *search) followed(x *timetable, chunks int, r *rand.Rand) model.Time {
	b := s.divided(chunks * s.copies)
	if b.copies != s.copies {
		return model.MaxTime
	}
	var parts []part
	for i, n := range counts(x.parts, len(b.p.Chunks)) {
		for j := range n {
			parts = append(parts, part{i, (float64(j) + 0.5) / float64(n)})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.after, b.after) })
	busy := s.newOccupancy(x.slot*float64(len(x.sent[parts[0].family][0])), x.slot/binsPerSlot)
	var c ranked
	for _, y := range parts {
		of := x.families[y.family]
		times := make([]float64, len(of.classes))
		for i := range times {
			times[i] = x.at(y.family, i, y.after)
		}
		var list []dated
		for range partSamples {
			q := of.plans[r.IntN(len(of.plans))]
			d := dated{course: s.base(q.plan, q.bases[r.IntN(len(q.bases))]), image: r.IntN(len(s.images.nodes))}
			labels, _ := s.guide.labels(d.course)
			for _, l := range labels {
				d.times = append(d.times, times[of.number[l]])
			}
			list = append(list, d)
		}
		c.follow(busy, list)
	}
	if s.hops(c.courses)*b.copies > s.room(b.copies) {
		return model.MaxTime
	}
	return s.keepRanked(b, &c, s.makespan)
}

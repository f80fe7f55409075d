package quotient

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Where some ways take longer than others by a time d, as those over spines do, or between groups, links idle for as long
// whenever hops over long ways follow those over short ones, if all ranks do so at one time: the first of them arrive d later.
// If a hop keeps links busy for d/m, each m-th one can go far all the time, and what goes near fills the time between
// arrivals. Then d/m is lost, once, and what the cut misses of d/m each time.

// Limits of cuts that fit.
const (
	finestFit = 16      // parts of the time by which ways differ
	mostFit   = 64      // chunks of a rank
	mostFits  = 1 << 13 // jobs
	keptFits  = 3
)

// spread returns by how much the latencies of ways differ at most.
func (s *shop) spread() model.Time {
	if s.cost.Synchronous() {
		return 0
	}
	least, most := never, model.Time(0)
	for w := range s.ways {
		tm := s.time(&s.ways[w], 1, 1)
		latency := tm.lasts - tm.stride
		least, most = min(least, latency), max(most, latency)
	}
	return max(0, most-least)
}

// misfit returns how long links idle with parts of equal sizes, a full turn of hops from a rank to all others, or cut's size
// and a rest; at least about, and d if ways that differ by d are of no use. The whole of a member's bytes takes a time on a link.
func misfit(c cut, each int64, whole, d model.Time, others int) model.Time {
	size := float64(each) / float64(c.parts)
	if c.size > 0 {
		size = float64(c.size)
	}
	one := float64(whole) * size / float64(each)
	fits := float64(int64(float64(d)/one + 1e-3))
	if c.ratio != 1 || fits < 1 {
		return d
	}
	turns := float64(whole) * float64(others) / (fits * one)
	lost := one + max(0, float64(d)-fits*one)*turns
	if rest := float64(each) - size*float64(c.parts-1); c.size > 0 && rest < size {
		lost += float64(others) * float64(whole) * min(rest, size-rest) / float64(each)
	}
	return min(d, model.Time(lost))
}

// fitting returns cuts for networks in which ways differ in latency, the best first: parts of a size that fills the difference,
// and the rest in a smaller one, or equal parts.
func (s *search) fitting(x *reducing) (list []cut) {
	if s.p.Chunks != nil || s.p.Cost.Synchronous() || s.p.Collective.Kind != model.AllGather && s.p.Collective.Kind != model.ReduceScatter {
		return nil
	}
	each, d, others := s.p.Space()/int64(max(1, s.p.DefaultChunks(1))), x.spread, len(s.p.Members())-1
	if each == 0 || d == 0 {
		return nil
	}
	whole := x.s.time(&x.s.ways[0], each, each).stride
	lost := map[cut]model.Time{}
	for m := 1; m <= finestFit; m++ {
		size := int64(float64(each) * float64(d) / float64(m) / float64(whole))
		if size < 1 {
			break
		}
		k := int((each + size - 1) / size)
		if k > mostFit || k*others*len(x.s.reps) > mostFits {
			break
		}
		for _, c := range []cut{{parts: k, ratio: 1, size: size}, {parts: k, ratio: 1}, {parts: max(1, k-1), ratio: 1}} {
			if at := misfit(c, each, whole, d, others); at < d && lost[c] == 0 && (c.size == 0 || k > 1) {
				lost[c] = at
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b cut) int { return cmp.Compare(lost[a], lost[b]) })
	return list[:min(keptFits, len(list))]
}

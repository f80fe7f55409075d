package oneshot

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of the search for a blend.
const (
	mostPlans   = 60  // of which chunks choose
	blendTrials = 7   // of makespans
	fewBlended  = 4   // chunks, each with its images
	mostBlended = 256 // chunks, where there are no images
)

// candidates returns plans with one turn each, up to some number of them.
func candidates(plans []*plan) (single []*plan) {
	for _, q := range plans {
		for i, turn := range q.turns {
			if q.lists != nil {
				if len(single) < mostPlans {
					single = append(single, &plan{layout: q.layout, turns: [][]state{turn}, lists: q.lists[i : i+1], note: q.note})
				}
				continue
			}
			same := func(r *plan) bool {
				return r.layout == q.layout && r.nearby == q.nearby && r.mirrored == q.mirrored && slices.Equal(r.turns[0], turn)
			}
			if len(single) < mostPlans && !slices.ContainsFunc(single, same) {
				single = append(single, &plan{layout: q.layout, nearby: q.nearby, mirrored: q.mirrored, turns: [][]state{turn}})
			}
		}
	}
	return single
}

// blend has each chunk choose a plan, so that links which one plan leaves idle serve another one. For
// a makespan, chunk after chunk takes of the plans by which it is over in time the one that costs least: a link
// costs the more the longer it is busy. The makespan is bisected between the bound and the best that is known.
func (s *search) blend(plans []*plan) {
	of := candidates(plans)
	few := max(fewBlended, mostBlended/8/s.copies)
	for chunks := few; chunks <= 8*few && !s.over(); chunks *= 2 {
		low, high := max(s.bound, s.makespan/2), min(s.makespan, s.others)
		for range blendTrials {
			if high-low < high/500 || s.over() {
				break
			}
			end := low + (high-low)/2
			b := s.divided(chunks * s.copies)
			ok := b.blend(of, end)
			if ok {
				s.keep(b, mixedNote)
				high = min(end, s.makespan)
			} else {
				low = end
			}
		}
	}
}

// blend places all chunks, each by one of the plans, or returns false if one is not over in time.
func (b *builder) blend(plans []*plan, end model.Time) bool {
	busy := make([]float64, len(b.p.Topology.Links)) // for which part of the makespan; of those that stand for others
	price := make([]float64, len(busy))
	taken := make([]int, len(plans)) // chunks that follow each plan
	order := make([]int, len(plans))
	costs := make([]float64, len(plans))
	next := make([]*course, len(plans)) // of each
	for k, c := range b.p.Chunks {
		const least, steep = 0.1, 3
		for l := range price {
			price[l] = math.Pow(least+busy[l], steep) / float64(b.p.Topology.Links[l].Bandwidth)
		}
		for i, q := range plans {
			order[i], costs[i], next[i] = i, 0, b.course(q, taken[i])
			if next[i] == nil {
				return false
			}
			for _, x := range next[i].uses {
				costs[i] += float64(x.times) * price[b.standing[x.link]]
			}
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(costs[i], costs[j]), cmp.Compare(i, j)) })
		chosen := slices.IndexFunc(order, func(i int) bool {
			mark := len(b.transfers)
			if next[i].tail > end {
				return false
			}
			if b.placeFrom(k, []*course{next[i]}, nil, end+1) {
				return true
			}
			b.cancel(mark)
			return false
		})
		if chosen < 0 || len(b.transfers)*b.copies > b.room(b.copies) || b.b.Spent() {
			return false
		}
		i := order[chosen]
		for _, x := range next[i].uses {
			busy[b.standing[x.link]] += float64(x.times) * float64(c.Size) / float64(b.p.Topology.Links[x.link].Bandwidth) / (float64(end) * 1e-12)
		}
		taken[i]++
	}
	return true
}

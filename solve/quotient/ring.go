package quotient

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of rings.
const (
	ringGap       = 0.01    // above the bound that the end of a ring may be
	ringParts     = 8       // chunks of a rank
	ringSteps     = 1 << 13 // of the search for a ring
	ringLooks     = 64      // of these to a look at the clock
	ringLatencies = 8       // the least ones, up to which hops are taken in turn
)

// ring tries a gathering in which each rank sends all to the next one of a ring, as what it gets arrives: Patarasuk and Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", 2009. If what is one's own takes longer on a link than a hop has latency,
// its first chunk is there before the last one was sent, in enough chunks, and links never idle.
func (s *search) ring() {
	if s.p.Collective.Kind != model.AllGather || s.p.Chunks != nil || s.p.Cost.Synchronous() || s.p.Late() || len(s.shops) == 0 || s.met() {
		return
	}
	index := len(s.shops) - 1
	x, n := s.shops[index].s, len(s.p.Members())
	if len(s.shops[0].s.reps) == 1 || len(x.reps) != x.t.Ranks || n > maxSeveral { // where symmetries move all ranks, one chunk may do
		return
	}
	each := s.p.Space() / int64(max(1, s.p.DefaultChunks(1)))
	whole := x.time(&x.ways[0], each, each).stride
	all := x.latencies(each)
	for _, latency := range all[:min(ringLatencies, len(all))] {
		if s.ctx.Err() != nil || latency >= whole || float64(whole)*float64(n-1)+float64(latency) > (1+ringGap)*float64(s.bound) {
			return
		}
		if order := x.ring(s.ctx, latency, each); order != nil {
			k := int((whole + whole - latency - 1) / (whole - latency))
			if t := s.newTrial(index, cut{parts: max(2, k), ratio: 1}, anywhere); k <= ringParts && t != nil {
				t.divide()
				t.keep(t.x.s.around(t.parts, order))
				s.work += hopWork * int64(len(t.best.jobs))
				s.trials = append(s.trials, t)
				s.note(t)
			}
			return
		}
	}
}

// latency returns how much longer a chunk of some size takes over a way than it takes on a link.
func (s *shop) latency(w int32, size int64) model.Time {
	tm := s.time(&s.ways[w], size, size)
	return tm.lasts - tm.stride
}

// latencies returns those of all ways, the least first.
func (s *shop) latencies(size int64) (list []model.Time) {
	for w := range s.ways {
		list = append(list, s.latency(int32(w), size))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ringHop is a hop of a ring.
type ringHop struct{ src, dst, step int32 }

// ring returns hops over ways of a latency up to a limit that lead round all members, or nil if it finds none before ctx is done: next is the rank from
// which fewest free ones can be reached (Warnsdorff's rule).
func (s *shop) ring(ctx context.Context, limit model.Time, size int64) []ringHop {
	near := make([][]ringHop, s.t.Ranks)
	left := 0
	for u, list := range s.out {
		if s.member[u] {
			left++
		}
		for i, st := range list {
			if s.latency(st.way, size) <= limit {
				near[u] = append(near[u], ringHop{int32(u), st.to, int32(i)})
			}
		}
	}
	used, steps := make([]bool, s.t.Ranks), 0
	free := func(u int32) (n int) {
		for _, h := range near[u] {
			if !used[h.dst] {
				n++
			}
		}
		return n
	}
	first := int32(slices.Index(s.member, true))
	var order []ringHop
	var extend func(u int32) bool
	extend = func(u int32) bool {
		if steps++; steps > ringSteps || steps%ringLooks == 0 && ctx.Err() != nil {
			return false
		}
		used[u] = true
		left--
		next := slices.Clone(near[u])
		slices.SortStableFunc(next, func(a, b ringHop) int { return cmp.Compare(free(a.dst), free(b.dst)) })
		for _, h := range next {
			order = append(order, h)
			if left == 0 && h.dst == first || !used[h.dst] && extend(h.dst) {
				return true
			}
			order = order[:len(order)-1]
		}
		used[u] = false
		left++
		return false
	}
	if !extend(first) {
		return nil
	}
	return order
}

// around returns a plan in which parts go round a ring.
func (s *shop) around(parts []part, ring []ringHop) *plan {
	x := &plan{s: s, parts: parts}
	place := make([]int, s.t.Ranks)
	for i, h := range ring {
		place[h.src] = i
	}
	for hop := range len(ring) - 1 {
		for k := range parts {
			h := ring[(place[parts[k].root]+hop)%len(ring)]
			x.jobs = append(x.jobs, job{part: int32(k), src: h.src, dst: h.dst, step: h.step, start: model.Time(hop*len(parts) + k)})
		}
	}
	x.early(x.waits(), nil)
	return x
}

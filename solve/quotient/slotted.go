package quotient

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of slots.
const (
	finestSlots  = 16  // chunks of a rank
	fewestSlots  = 4   // slots by which ways differ
	slotWaste    = 200 // one of as many parts of a slot may be left idle
	slotPasses   = 4   // times as long as the longest latency the bound is at least
	slotMachines = 1 << 10
	mostCounted  = 1 << 18 // slots in the bound
	slotTries    = 16
	slotWork     = 3 // times the usual work is for all tries
)

// slotted tries gatherings, sums and allreduces in which hops begin with slots: see slots.
func (s *search) slotted() {
	if s.p.Chunks != nil || s.p.Topology.Ranks > maxSeveral || s.p.Cost.Synchronous() || s.p.Late() || len(s.shops) == 0 || len(s.shops[0].s.lanes) > slotMachines || !s.gathers() && s.p.Collective.Kind != model.AllReduce {
		return
	}
	c, slot := s.slotCut(s.shops[0].s)
	if slot == 0 {
		return
	}
	t := s.newTrial(0, c, anywhere)
	if t == nil {
		return
	}
	t.divide()
	work := &counter{ctx: s.ctx, limit: slotWork * s.budget}
	for try := 0; try < slotTries && !work.stop() && !s.met(); try++ {
		t.trySlots(slot, s.bound, work)
		s.note(t)
	}
	if t.best != nil {
		s.trials = append(s.trials, t)
	}
	s.work += work.n
	s.budget += work.n
}

// slotCut returns a cut in equal parts, with slots a little longer than one of them takes on a link, whole numbers of which are by how
// much ways differ in latency. The slot is 0 if there is none, as where links differ.
func (s *search) slotCut(x *shop) (best cut, slot model.Time) {
	each := s.p.Space() / int64(max(1, s.p.DefaultChunks(1)))
	whole, longest := x.time(&x.ways[0], each, each).stride, model.Time(0)
	var latencies []model.Time
	for w := range x.ways {
		tm := x.time(&x.ways[w], each, each)
		if x.ways[w].batches > 1 || tm.stride != whole {
			return best, 0
		}
		latencies = append(latencies, tm.lasts-whole)
		longest = max(longest, tm.lasts-whole)
	}
	slices.Sort(latencies)
	if latencies = slices.Compact(latencies); len(latencies) < 2 || s.bound < slotPasses*longest {
		return best, 0
	}
	apart := latencies[1] - latencies[0]
	least := 1.0 / slotWaste
	for k := int64(1); k <= min(finestSlots, each); k++ {
		one := x.time(&x.ways[0], (each+k-1)/k, (each+k-1)/k).stride
		n := apart / one
		if n < fewestSlots || s.bound > apart/n*mostCounted {
			continue
		}
		if waste := float64(apart)/float64(n*one) - 1; waste < least {
			best, slot, least = cut{parts: int(k), ratio: 1}, (apart+n-1)/n, waste
		}
	}
	return best, slot
}

// trySlots makes one attempt with slots.
func (t *trial) trySlots(slot, bound model.Time, work *counter) {
	draw, kind := t.rng.Float64, t.p.Collective.Kind
	r := slotRule{slot: slot, far: 0.3 + 0.4*draw(), detours: model.Time((0.5 + 0.4*draw()) * float64(bound))}
	if kind == model.AllReduce {
		r.detours /= 2
		r.apart = model.Time(2 * draw() * float64(t.x.spread))
	}
	var sums, x *plan
	if t.p.Collective.Reduces() {
		if x = t.x.r.slotted(t.parts, nil, r, t.rng, work); x == nil {
			return
		}
		sums = t.x.s.backward(x, t.x.twins)
		r.detours += sums.end
		x = sums
	}
	if kind != model.ReduceScatter {
		x = t.x.s.slotted(t.parts, sums, r, t.rng, work)
	}
	if x != nil {
		x.settle()
	}
	t.keep(x)
}

package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// gathering builds trees and times together, forward in time: whenever machines are free it
// takes a hop that can start. It is list scheduling in which the jobs are not given: any
// rank that holds a part may send it to one that does not.
//
// A hop that would end after the deadline is left out. So it decides by itself how often a
// slow link is worth its while: not at the end, when others are quicker.
type gathering struct {
	s     *shop
	parts []part
	rng   *rand.Rand
	rule  rule
	until model.Time // the deadline

	n       int
	at      []model.Time   // by part and rank: when it is there, or never
	held    []int32        // by part: how many ranks hold it
	choices []uint16       // by part and rank: over how many ways it can come
	free    [][]model.Time // by machine: when its lanes are free, ascending
	busy    []calendar     // by machine: when it is not
	pools   [][]offer      // by way
	offered [][]uint64     // by way: a bit for each part and rank
	soonest [][]model.Time // by way: from when on each part can be sent to each rank; nil if that takes too much memory
	wake    heap.Heap[wake]
	jobs    []job
	best    []chosen
	fit     []bool // by kind of part: a hop can start now
	work    *counter
	left    int    // what is still missing
	dirty   []bool // by group of ways: something may start
	list    []int32
}

// maxSoonest limits for how many ways, parts and ranks it is kept when a hop can begin.
const maxSoonest = 1 << 22

// never is when a part is that is not there.
const never = model.MaxTime

// offer is a hop that can start.
type offer struct {
	part, src, dst, step int32
	from                 model.Time // not before
}

// rule weighs offers; the least is taken.
type rule struct {
	choices float64 // for each other way on which the rank could get the part
	rare    float64 // for the share of the ranks that hold the part
	long    float64 // for each machine on the way
	late    float64 // for the number of the part
	random  float64
	apart   float64 // of sums: by how much that of the first part is over before that of the last
}

// wake is when something may be able to start: on a way, or on all ways of a machine.
type wake struct {
	at           model.Time
	way, machine int32 // one of them is -1
}

func (a wake) Before(b wake) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.way != b.way {
		return a.way < b.way
	}
	return a.machine < b.machine
}

// state is when machines are free and parts at their roots, before a gathering begins.
type state struct {
	free  [][]model.Time // by machine and lane
	busy  []calendar     // by machine, beside; nil: never
	ready []model.Time   // by part; nil: at once
}

func (s *shop) idle() [][]model.Time {
	free := make([][]model.Time, len(s.lanes))
	for i, n := range s.lanes {
		free[i] = make([]model.Time, n)
	}
	return free
}

// gather returns a plan that ends by the deadline, or nil if it finds none.
func (s *shop) gather(parts []part, from state, r rule, until model.Time, rng *rand.Rand, work *counter) *plan {
	g := &gathering{s: s, parts: parts, rng: rng, rule: r, until: until, n: s.t.Ranks, work: work}
	g.at = make([]model.Time, len(parts)*g.n)
	for i := range g.at {
		g.at[i] = never
	}
	g.held = make([]int32, len(parts))
	g.choices = make([]uint16, len(parts)*g.n)
	g.free, g.busy = from.free, from.busy
	for m := range g.busy {
		for _, x := range g.busy[m] {
			for _, before := range s.before[m] {
				g.wake.Push(wake{max(0, x.To-before), -1, int32(m)})
			}
		}
	}
	g.pools = make([][]offer, len(s.ways))
	g.offered = make([][]uint64, len(s.ways))
	g.soonest = make([][]model.Time, len(s.ways))
	g.dirty = make([]bool, len(s.ways))
	members := 0
	for _, m := range s.member {
		if m {
			members++
		}
	}
	for i := range parts {
		g.left += members - 1
		at := model.Time(0)
		if from.ready != nil {
			at = from.ready[i]
		}
		g.at[i*g.n+parts[i].root] = at
		g.spread(int32(i), int32(parts[i].root), at)
	}
	for g.left > 0 {
		if len(g.wake) == 0 || g.wake[0].at >= until {
			return nil
		}
		now := g.wake[0].at
		for len(g.wake) > 0 && g.wake[0].at <= now {
			k := g.wake.Pop()
			if k.way >= 0 {
				g.mark(k.way)
				continue
			}
			for _, w := range s.takers[k.machine] {
				g.mark(w)
			}
			work.n += int64(len(s.takers[k.machine]))
		}
		g.start(now)
		if work.stop() {
			return nil
		}
	}
	p := &plan{s: s, parts: parts, jobs: g.jobs}
	for i := range p.jobs {
		p.end = max(p.end, p.jobs[i].end)
	}
	return p
}

// mark notes that something may be able to start on a way.
func (g *gathering) mark(w int32) {
	if !g.dirty[w] && len(g.pools[w]) > 0 {
		g.dirty[w] = true
		g.list = append(g.list, w)
	}
}

// spread offers what a rank holds from then on to those that it has hops to.
func (g *gathering) spread(part, rank int32, from model.Time) {
	s := g.s
	g.held[part]++
	g.work.n += int64(len(s.out[s.class[rank]]))
	by := s.g.Nodes(int(s.element[rank]))
	base := int(part) * g.n
	for i := range s.out[s.class[rank]] {
		st := &s.out[s.class[rank]][i]
		to := by[st.to]
		key := base + int(to)
		if g.at[key] != never {
			continue
		}
		if g.offered[st.way] == nil {
			g.offered[st.way] = make([]uint64, (len(g.at)+63)/64)
			if len(g.at)*len(s.ways) <= maxSoonest {
				g.soonest[st.way] = make([]model.Time, len(g.at))
			}
		}
		from := max(from, st.wait)
		if g.offered[st.way][key/64]>>(key%64)&1 == 0 {
			g.offered[st.way][key/64] |= 1 << (key % 64)
			g.choices[key]++
		} else if g.soonest[st.way] == nil || g.soonest[st.way][key] <= from {
			continue
		}
		if g.soonest[st.way] != nil {
			g.soonest[st.way][key] = from
		}
		g.pools[st.way] = append(g.pools[st.way], offer{part, rank, to, int32(i), from})
		if n := len(g.wake); n == 0 || g.wake[n-1] != (wake{from, st.way, -1}) {
			g.wake.Push(wake{from, st.way, -1})
		}
	}
}

// fits reports whether a hop can take a way now.
func (g *gathering) fits(w int32, tm *timing, now model.Time) bool {
	for i, v := range g.s.ways[w].visits {
		if g.free[v.machine][v.lanes-1] > now+tm.spans[i].From {
			return false
		}
	}
	if g.busy == nil {
		return true
	}
	for i, v := range g.s.ways[w].visits {
		if from, long := now+tm.spans[i].From, tm.spans[i].To-tm.spans[i].From; g.busy[v.machine].free(from, long) > from {
			return false
		}
	}
	return true
}

// start starts what can start at once: again and again the best offer of all ways that are
// free.
func (g *gathering) start(now model.Time) {
	g.best = g.best[:0]
	for _, w := range g.list {
		g.dirty[w] = false
		if b, any := g.choose(w, now); any {
			g.best = append(g.best, b)
		}
	}
	g.list = g.list[:0]
	for len(g.best) > 0 {
		at := 0
		for i := range g.best {
			if g.best[i].score < g.best[at].score {
				at = i
			}
		}
		g.take(g.best[at].way, g.best[at].offer, now)
		g.work.n += int64(len(g.best))
		kept := g.best[:0]
		for _, b := range g.best {
			if g.at[int(b.part)*g.n+int(b.dst)] == never && g.fits(b.way, &g.s.ways[b.way].times[g.parts[b.part].kind], now) {
				kept = append(kept, b)
			} else if b, any := g.choose(b.way, now); any {
				kept = append(kept, b)
			}
		}
		g.best = kept
	}
}

// chosen is the best offer of a way.
type chosen struct {
	offer
	way   int32
	score float64
}

// choose returns the best offer of a way that can start.
func (g *gathering) choose(w int32, now model.Time) (best chosen, any bool) {
	pool, times := g.pools[w], g.s.ways[w].times
	if len(pool) == 0 {
		return best, false
	}
	fits := g.fit[:0]
	for k := range times {
		fits = append(fits, now+times[k].lasts <= g.until && g.fits(w, &times[k], now))
	}
	g.fit = fits
	if !slices.Contains(fits, true) {
		return best, false
	}
	for i := 0; i < len(pool); i++ {
		o := &pool[i]
		key := int(o.part)*g.n + int(o.dst)
		if g.at[key] != never {
			pool[i] = pool[len(pool)-1]
			pool = pool[:len(pool)-1]
			i--
			continue
		}
		if o.from > now {
			continue
		}
		if !fits[g.parts[o.part].kind] {
			continue
		}
		if score := g.score(w, o, key); !any || score < best.score {
			best, any = chosen{*o, w, score}, true
		}
	}
	g.pools[w] = pool
	g.work.n += int64(len(pool))
	return best, any
}

func (g *gathering) score(w int32, o *offer, key int) float64 {
	r := &g.rule
	return r.choices*float64(g.choices[key]-1) + r.rare*float64(g.held[o.part])/float64(g.n) + r.long*float64(len(g.s.ways[w].visits)) +
		r.late*float64(o.part)/float64(len(g.parts)) + r.random*g.rng.Float64()
}

// take starts a hop.
func (g *gathering) take(w int32, o offer, now model.Time) {
	tm := &g.s.ways[w].times[g.parts[o.part].kind]
	for i, v := range g.s.ways[w].visits {
		until := now + tm.spans[i].To
		lanes := g.free[v.machine]
		occupy(lanes, int(v.lanes), until)
		for _, before := range g.s.before[v.machine] {
			g.wake.Push(wake{max(now, until-before), -1, v.machine})
		}
	}
	end := now + tm.lasts
	g.at[int(o.part)*g.n+int(o.dst)] = end
	g.left--
	g.work.n += hopWork
	g.jobs = append(g.jobs, job{part: o.part, src: o.src, dst: o.dst, step: o.step, start: now, end: end})
	g.spread(o.part, o.dst, end)
}

// occupy has the n lanes that are free first busy until then, and keeps them sorted.
func occupy(lanes []model.Time, n int, until model.Time) {
	for i := range n {
		lanes[i] = until
	}
	for i := n - 1; i >= 0; i-- {
		for j := i; j+1 < len(lanes) && lanes[j] > lanes[j+1]; j++ {
			lanes[j], lanes[j+1] = lanes[j+1], lanes[j]
		}
	}
}

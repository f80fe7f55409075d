package quotient

import (
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// gathering builds trees and times together, forward in time: whenever machines are free it
// takes a hop that can start. It is list scheduling in which the jobs are not given: any
// rank that holds a part may send it to one that does not.
//
// A hop that would end after the deadline is left out. So it decides by itself how often a
// slow link is worth its while: not at the end, when others are quicker.
//
// Machines have calendars: what goes near fills the time before what comes from far arrives. A rule may let a hop
// start a little later than one that is worse (parameterized active schedules; Gonçalves, Mendes, Resende, European Journal
// of Operational Research 167, 2005), and may have parts take short ways only where there is one, after a short time
// in which the long ones are preferred: see fitting.
type gathering struct {
	s     *shop
	parts []part
	rng   *rand.Rand
	rule  rule
	until model.Time // the deadline

	n        int
	at       []model.Time   // by part and rank: when it is there, or never
	held     []int32        // by part: how many ranks hold it
	shortest []model.Time   // by part and rank: how long the shortest hop takes with which it can come
	choices  []uint16       // by part and rank: over how many ways it can come
	busy     []book         // by machine: when its lanes are not free
	pools    [][]offer      // by way
	offered  [][]uint64     // by way: a bit for each part and rank
	soonest  [][]model.Time // by way: from when on each part can be sent to each rank; nil if that takes too much memory
	wake     heap.Heap[wake]
	jobs     []job
	best     []chosen
	served   []model.Time // by machine: how long it was busy
	starts   []model.Time // by kind of part: when a hop can start
	late     []model.Time // by kind of part: when it has to
	last     []last       // of sums; nil: there are none
	work     *counter
	left     int    // what is still missing
	dirty    []bool // by group of ways: something may start
	list     []int32
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
	even    float64 // for each hop of its length that a machine on the way has served, the one that has served most
	wait    float64 // by which part of the time that it takes of links a hop may start later
	far     float64 // until when, in ps, long ways come first, and from when on short ones; 0: choices and long count instead
	apart   float64 // of sums: by how much that of the first part is over before that of the last
	pairs   bool    // of sums: all go to one of two neighbours, who exchange what they have
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

// state is when machines are busy and parts at their roots, before a gathering begins.
type state struct {
	busy  []book       // by machine
	ready []model.Time // by part; nil: at once
	last  []last       // by part: to whom the root may send sooner; nil: to nobody
}

// gather returns a plan that ends by the deadline, or nil if it finds none.
func (s *shop) gather(parts []part, from state, r rule, until model.Time, rng *rand.Rand, work *counter) *plan {
	g := &gathering{s: s, parts: parts, rng: rng, rule: r, until: until, n: s.t.Ranks, last: from.last, work: work}
	g.at = make([]model.Time, len(parts)*g.n)
	for i := range g.at {
		g.at[i] = never
	}
	g.held = make([]int32, len(parts))
	g.choices = make([]uint16, len(parts)*g.n)
	g.shortest = make([]model.Time, len(parts)*g.n)
	for i := range g.shortest {
		g.shortest[i] = never
	}
	g.busy, g.served = from.busy, make([]model.Time, len(s.lanes))
	for m := range g.busy {
		for _, lane := range g.busy[m] {
			for _, x := range lane {
				g.wakeAfter(int32(m), x.To, 0)
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

// wakeAfter has the ways of a machine looked at when it is free again, and not before now.
func (g *gathering) wakeAfter(m int32, free, now model.Time) {
	for _, before := range g.s.before[m] {
		g.wake.Push(wake{max(now, free-before), -1, m})
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
		if g.exchanges(part, rank, to) && st.batch == nil {
			from = max(g.last[part].others, st.wait)
		}
		g.shortest[key] = min(g.shortest[key], s.ways[st.way].times[0].lasts)
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

// patience is how long after a time a hop may start that is considered then.
func (g *gathering) patience(tm *timing) model.Time {
	return model.Time(g.rule.wait * float64(tm.stride))
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
		g.take(&g.best[at])
		g.work.n += int64(len(g.best))
		kept := g.best[:0]
		for _, b := range g.best {
			if g.at[int(b.part)*g.n+int(b.dst)] == never && g.s.opens(g.busy, b.way, &g.s.ways[b.way].times[g.parts[b.part].kind], b.start, b.start) == b.start {
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
	start model.Time
	score float64
}

// choose returns the best offer of a way that can start.
func (g *gathering) choose(w int32, now model.Time) (best chosen, any bool) {
	pool, times := g.pools[w], g.s.ways[w].times
	if len(pool) == 0 {
		return best, false
	}
	starts, late, any := g.starts[:0], g.late[:0], false
	for k := range times {
		late = append(late, min(now+g.patience(&times[k]), g.until-times[k].lasts))
		starts = append(starts, g.s.opens(g.busy, w, &times[k], now, late[k]))
		any = any || starts[k] <= late[k]
	}
	g.starts, g.late = starts, late
	if !any {
		return best, false
	}
	any = false
	even := g.rule.even * float64(g.most(w)) / float64(times[0].stride)
	for i := 0; i < len(pool); i++ {
		o := &pool[i]
		key := int(o.part)*g.n + int(o.dst)
		if g.at[key] != never || g.rule.far > 0 && times[0].lasts > g.shortest[key] {
			pool[i] = pool[len(pool)-1]
			pool = pool[:len(pool)-1]
			i--
			continue
		}
		kind := g.parts[o.part].kind
		start := max(starts[kind], o.from)
		if start > late[kind] {
			continue
		}
		if start > starts[kind] {
			if start = g.s.opens(g.busy, w, &times[kind], start, late[kind]); start > late[kind] {
				continue
			}
		}
		if score := g.score(w, o, key, now) + even + float64(start-now)/float64(times[kind].stride); !any || score < best.score {
			best, any = chosen{*o, w, start, score}, true
		}
	}
	g.pools[w] = pool
	g.work.n += int64(len(pool))
	return best, any
}

// most returns how long the machine on a way has been busy that was busy for longest.
func (g *gathering) most(w int32) (long model.Time) {
	if g.rule.even == 0 {
		return 0
	}
	for _, v := range g.s.ways[w].visits {
		long = max(long, g.served[v.machine])
	}
	return long
}

func (g *gathering) score(w int32, o *offer, key int, now model.Time) float64 {
	r := &g.rule
	score := r.rare*float64(g.held[o.part])/float64(g.n) + r.late*float64(o.part)/float64(len(g.parts)) + r.random*g.rng.Float64()
	if r.far == 0 {
		return score + r.choices*float64(g.choices[key]-1) + r.long*float64(len(g.s.ways[w].visits))
	}
	length := lengthWeight * float64(g.s.ways[w].times[0].lasts) / float64(g.s.ways[0].times[0].lasts)
	if float64(now) < r.far {
		return score - length
	}
	return score + length
}

// lengthWeight is what it counts that a way is longer by the first one, where short ones are preferred.
const lengthWeight = 10

// take starts a hop.
func (g *gathering) take(b *chosen) {
	o, now := &b.offer, b.start
	tm := &g.s.ways[b.way].times[g.parts[o.part].kind]
	for i, v := range g.s.ways[b.way].visits {
		span := model.Interval{From: now + tm.spans[i].From, To: now + tm.spans[i].To}
		g.busy[v.machine].take(v.lanes, span)
		g.served[v.machine] += tm.spans[i].To - tm.spans[i].From
		g.wakeAfter(v.machine, span.To, now)
	}
	end := now + tm.lasts
	g.left--
	g.work.n += hopWork
	g.jobs = append(g.jobs, job{part: o.part, src: o.src, dst: o.dst, step: o.step, start: now, end: end})
	if g.exchanges(o.part, o.src, o.dst) {
		end = max(end, g.last[o.part].comes)
	}
	g.at[int(o.part)*g.n+int(o.dst)] = end
	g.spread(o.part, o.dst, end)
}

// exchanges reports whether a rank is the root of a part, and another one the last that sends its sum there.
func (g *gathering) exchanges(part, rank, to int32) bool {
	return g.last != nil && int(rank) == g.parts[part].root && to == g.last[part].rank
}

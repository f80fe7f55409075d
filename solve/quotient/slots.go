package quotient

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// slots builds trees and times together, as gathering does, where links are alike and ways differ in latency by whole slots: a
// hop begins with a slot, and what comes from far arrives just when what came from near is over, so that links do not idle between them.
//
// In each slot, machines at which hops begin are matched with those at which they end by augmenting paths (Kuhn, "The Hungarian
// method", Naval Research Logistics 2, 1955), over the shortest ways first. A rank whose links have had least to do chooses first, and
// is chosen first, so that it has something to send on. In a share of the slots hops go far first, in the same places of all
// turns, which last as long as the two shortest kinds of ways differ: so what arrives from far and from near never meets. Who finds
// nothing to send may go on a detour, but not towards the end.
type slots struct {
	s      *shop
	parts  []part
	rng    *rand.Rand
	rule   slotRule
	work   *counter
	ways   []slotWay
	levels []int32       // how many slots ways last, the shortest first
	words  int           // of a set of parts
	there  [][]uint64    // by rank: the parts that it has
	taken  [][]uint64    // and those that are on their way
	near   [][]uint64    // by level and rank: parts that it can get over ways of that level or a lower one
	held   []int32       // by part: how many ranks have or get it
	used   [][]int32     // by machine and slot: lanes
	comes  [][]offer     // by slot: what arrives then
	hops   [][][]slotHop // by machines at which they begin and end
	ends   []int32       // the latter
	source []int32       // by machine at which hops begin: the orbit of their sources
	sink   []int32       // by machine at which hops end: that of the ranks to which they lead
	sent   []int32       // by orbit: how many hops have left it
	match  []int32       // by machine at which hops end: one at which they begin, or -1
	pick   []slotHop     // by the same: the hop between them
	seen   []bool
	detour bool // hops go where a shorter one leads
	jobs   []job
	left   int // what is still missing
}

// slotRule is how slots are used.
type slotRule struct {
	slot    model.Time
	far     float64    // the share of slots in which hops go far first
	detours model.Time // until when hops may be longer than they must
	apart   model.Time // by how much the first part is at its root before the last
}

// slotWay is when hops over a way take machines, in slots.
type slotWay struct {
	from, long   []int32 // by visit
	lasts, level int32
}

// slotHop is a step from a rank.
type slotHop struct{ src, dst, step, way int32 }

// slotted returns a plan in which hops begin with slots, after some sums if there are any, or nil if it finds none.
func (s *shop) slotted(parts []part, sums *plan, r slotRule, rng *rand.Rand, work *counter) *plan {
	g := &slots{s: s, parts: parts, rule: r, rng: rng, work: work, words: (len(parts) + 63) / 64, held: make([]int32, len(parts))}
	g.measure()
	g.reset()
	last := g.begin(sums)
	for t := int32(0); g.left > 0; t++ {
		if work.stop() || t > last {
			return nil
		}
		g.arrive(t)
		before := g.left
		if g.start(t); g.left < before {
			last = max(last, t+g.levels[len(g.levels)-1])
		}
	}
	p := &plan{s: s, parts: parts, jobs: g.jobs}
	if sums != nil {
		p.jobs = append(slices.Clone(sums.jobs), g.jobs...)
	}
	for i := range p.jobs {
		p.end = max(p.end, p.jobs[i].end)
	}
	return p
}

// in returns how many slots a time takes.
func (r *slotRule) in(t model.Time) int32 { return int32((t + r.slot - 1) / r.slot) }

// measure counts the slots of all ways.
func (g *slots) measure() {
	for i := range g.s.ways {
		tm := &g.s.ways[i].times[0]
		w := slotWay{lasts: g.rule.in(tm.lasts)}
		for _, span := range tm.spans {
			w.from, w.long = append(w.from, g.rule.in(span.From)), append(w.long, g.rule.in(span.To-span.From))
		}
		g.ways = append(g.ways, w)
		if !slices.Contains(g.levels, w.lasts) {
			g.levels = append(g.levels, w.lasts)
		}
	}
	slices.Sort(g.levels)
	for i := range g.ways {
		g.ways[i].level = int32(slices.Index(g.levels, g.ways[i].lasts))
	}
}

// reset makes room for what ranks have and machines do, and lists all hops.
func (g *slots) reset() {
	sets := func(n int) [][]uint64 {
		list := make([][]uint64, n)
		for i := range list {
			list[i] = make([]uint64, g.words)
		}
		return list
	}
	n, m := g.s.t.Ranks, len(g.s.lanes)
	g.there, g.taken, g.near = sets(n), sets(n), sets(n*len(g.levels))
	g.used, g.hops, g.pick, g.seen = make([][]int32, m), make([][][]slotHop, m), make([]slotHop, m), make([]bool, m)
	g.source, g.sink, g.match, g.sent = make([]int32, m), make([]int32, m), make([]int32, m), make([]int32, len(g.s.reps))
	for u := range n {
		by := g.s.g.Nodes(int(g.s.element[u]))
		for i, st := range g.s.out[g.s.class[u]] {
			from, to := g.s.ways[st.way].bounds()
			if g.hops[from] == nil {
				g.hops[from] = make([][]slotHop, m)
			}
			if !slices.Contains(g.ends, to) {
				g.ends = append(g.ends, to)
			}
			g.hops[from][to] = append(g.hops[from][to], slotHop{int32(u), by[st.to], int32(i), st.way})
			g.source[from], g.sink[to] = g.s.class[u], g.s.class[by[st.to]]
		}
	}
}

// bounds returns the machines of the first link of a way and of the last one.
func (w *way) bounds() (first, last int32) {
	for _, v := range w.visits {
		if v.from == 0 {
			first = v.machine
		}
		if int(v.to) == len(w.links)-1 {
			last = v.machine
		}
	}
	return first, last
}

// begin enters what some sums take, and the parts at their roots, and returns when the last of them is there.
func (g *slots) begin(sums *plan) (last int32) {
	ready := make([]int32, len(g.parts))
	if sums != nil {
		for i := range sums.jobs {
			j := &sums.jobs[i]
			g.occupy(g.rule.in(j.start), g.s.step(j).way)
			ready[j.part] = max(ready[j.part], g.rule.in(j.end))
		}
	}
	members := 0
	for _, m := range g.s.member {
		if m {
			members++
		}
	}
	for k := range g.parts {
		if sums == nil {
			ready[k] = g.rule.in(g.rule.apart * model.Time(k) / model.Time(len(g.parts)))
		}
		g.left += members - 1
		g.take(int32(k), int32(g.parts[k].root), ready[k])
		last = max(last, ready[k])
	}
	return last
}

// take notes that a rank gets a part in a slot.
func (g *slots) take(k, u, at int32) {
	for int(at) >= len(g.comes) {
		g.comes = append(g.comes, nil)
	}
	g.comes[at] = append(g.comes[at], offer{part: k, dst: u})
	word, bit := k/64, uint64(1)<<(k%64)
	g.taken[u][word] |= bit
	g.held[k]++
	by := g.s.g.Nodes(int(g.s.element[u]))
	for _, st := range g.s.out[g.s.class[u]] {
		for l := int(g.ways[st.way].level); l < len(g.levels); l++ {
			g.near[l*g.s.t.Ranks+int(by[st.to])][word] |= bit
		}
	}
	g.work.n += hopWork + int64(len(g.s.out[g.s.class[u]]))
}

// arrive notes what is there from a slot on.
func (g *slots) arrive(t int32) {
	if int(t) < len(g.comes) {
		for _, x := range g.comes[t] {
			g.there[x.dst][x.part/64] |= 1 << (x.part % 64)
		}
	}
}

// start starts hops in a slot.
func (g *slots) start(t int32) {
	var open []int32
	for m, list := range g.hops {
		if list != nil && g.room(int32(m), t, 1) {
			open = append(open, int32(m))
		}
	}
	if len(g.levels) > 1 {
		place := float64(t % (g.levels[1] - g.levels[0]))
		if int((place+1)*g.rule.far) > int(place*g.rule.far) {
			open = g.level(t, 1, open)
		}
	}
	for l := range g.levels {
		open = g.level(t, int32(l), open)
	}
	if model.Time(t)*g.rule.slot < g.rule.detours {
		g.detour = true
		for l := range min(2, len(g.levels)) {
			open = g.level(t, int32(l), open)
		}
		g.detour = false
	}
}

// level starts hops over ways of one level from some machines, and returns those that still have room.
func (g *slots) level(t, level int32, open []int32) (rest []int32) {
	for e := range g.match {
		g.match[e] = -1
	}
	g.rng.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	slices.SortStableFunc(open, func(a, b int32) int { return int(g.sent[g.source[a]] - g.sent[g.source[b]]) })
	slices.SortStableFunc(g.ends, func(a, b int32) int { return int(g.sent[g.sink[a]] - g.sent[g.sink[b]]) })
	for _, m := range open {
		if g.work.ctx.Err() != nil {
			break
		}
		clear(g.seen)
		g.augment(t, level, m)
	}
	for e, m := range g.match {
		if m >= 0 {
			g.send(t, &g.pick[e])
		}
	}
	for _, m := range open {
		if g.room(m, t, 1) {
			rest = append(rest, m)
		}
	}
	return rest
}

// augment matches a machine at which hops begin with one at which they end, and reports whether it can.
func (g *slots) augment(t, level, m int32) bool {
	for _, e := range g.ends {
		list := g.hops[m][e]
		if g.seen[e] || len(list) == 0 {
			continue
		}
		g.work.n += int64(len(list))
		first := g.rng.IntN(len(list))
		for i := range list {
			h := &list[(first+i)%len(list)]
			if g.ways[h.way].level != level || !g.open(t, h.way) || !g.useful(h) {
				continue
			}
			if g.seen[e] = true; g.match[e] < 0 || g.augment(t, level, g.match[e]) {
				g.match[e], g.pick[e] = m, *h
				return true
			}
			break
		}
	}
	return false
}

// wanted returns a word of the set of parts that a hop can bring.
func (g *slots) wanted(h *slotHop, word int) uint64 {
	set := g.there[h.src][word] &^ g.taken[h.dst][word]
	if l := int(g.ways[h.way].level); l > 0 && !g.detour {
		set &^= g.near[(l-1)*g.s.t.Ranks+int(h.dst)][word]
	}
	return set
}

// useful reports whether a hop can bring some part.
func (g *slots) useful(h *slotHop) bool {
	for word := range g.words {
		if g.wanted(h, word) != 0 {
			return true
		}
	}
	return false
}

// send starts a hop, if it still can, with one of the parts that fewest ranks have.
func (g *slots) send(t int32, h *slotHop) {
	if !g.open(t, h.way) {
		return
	}
	best, ties := int32(-1), 0
	for word := range g.words {
		for set := g.wanted(h, word); set != 0; set &= set - 1 {
			k := int32(64*word + bits.TrailingZeros64(set))
			if best < 0 || g.held[k] < g.held[best] {
				best, ties = k, 0
			}
			if g.held[k] == g.held[best] {
				if ties++; g.rng.IntN(ties) == 0 {
					best = k
				}
			}
		}
	}
	if best < 0 {
		return
	}
	end := t + g.ways[h.way].lasts
	g.occupy(t, h.way)
	g.take(best, h.dst, end)
	g.sent[g.s.class[h.src]]++
	g.left--
	g.jobs = append(g.jobs, job{part: best, src: h.src, dst: h.dst, step: h.step, start: g.rule.slot * model.Time(t), end: g.rule.slot * model.Time(end)})
}

// occupy has the machines on a way busy with a hop that starts in a slot.
func (g *slots) occupy(t, w int32) {
	for i, v := range g.s.ways[w].visits {
		from := t + g.ways[w].from[i]
		until := from + g.ways[w].long[i]
		for int(until) > len(g.used[v.machine]) {
			g.used[v.machine] = append(g.used[v.machine], 0)
		}
		for at := from; at < until; at++ {
			g.used[v.machine][at] += v.lanes
		}
	}
}

// room reports whether lanes of a machine are free in a slot.
func (g *slots) room(m, at, lanes int32) bool {
	return int(at) >= len(g.used[m]) || g.used[m][at]+lanes <= g.s.lanes[m]
}

// open reports whether a way is free for a hop that starts in a slot.
func (g *slots) open(t, w int32) bool {
	for i, v := range g.s.ways[w].visits {
		from := t + g.ways[w].from[i]
		for at := from; at < from+g.ways[w].long[i]; at++ {
			if !g.room(v.machine, at, v.lanes) {
				return false
			}
		}
	}
	return true
}

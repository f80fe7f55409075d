package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// grafting takes hops out of a plan, with all that wait for them, and puts each back from the rank by which it ends
// first, in the gaps that there are; what is no later stays, or later by little. It is what insertions are for single chunks (package flows; Shaw,
// "Using constraint programming and local search methods to solve vehicle routing problems", CP 1998), for trees.
//
// Sums are hops of gatherings read backwards: with one, all that it waits for is taken out, and it is put back to the rank for which it
// starts last. An arrival is when a copy ends or, below 0, when a sum starts: it is to be early for both.
type grafting struct {
	*plan
	rng     *rand.Rand
	work    *counter
	busy    []book
	at      []model.Time  // by place: the arrival of the hop between the rank and its parent, or never
	by      []int32       // by place: that hop, or -1
	kids    [][]int32     // by place: the hops of which the rank is the parent
	turn    []model.Time  // by part: when its sums may be over, if nothing is gathered yet
	parents [2][][]parent // by operation and rank
	until   [2]model.Time // by operation: which arrivals are in time
	load    loads
	even    bool // hops go where machines have least to do, if they are not late there
}

// Limits of grafting.
const (
	mostLateCut  = 4    // late hops that are taken out at a time, each with what waits for it
	mostOthers   = 24   // and others
	mostBelow    = 32   // of one hop
	idleGrafts   = 1000 // as many changes in turn that gain nothing end it
	evenGrafts   = 2    // one change of as many puts hops where machines have least to do
	worseGrafts  = 20   // one of as many parts of the lateness may be added on the way to less
	worseWindow  = 5000 // and one of as many parts of the time that it is to last
	relatedTries = 16   // draws of a hop that takes a machine which a late one takes
	graftWork    = 8    // for a rank from which a hop may come
)

// newGrafting begins to move hops of a plan that is to last from the one time to the other.
func newGrafting(x *plan, window model.Interval, rng *rand.Rand, work *counter) *grafting {
	size := 2 * x.s.t.Ranks * len(x.parts)
	g := &grafting{plan: x, rng: rng, work: work, busy: x.s.booked(x), load: x.s.loads(x), parents: x.s.parents(), turn: make([]model.Time, len(x.parts))}
	g.until[model.Copy], g.until[model.Reduction] = window.To, -window.From
	g.at, g.by, g.kids = slices.Repeat([]model.Time{never}, size), slices.Repeat([]int32{-1}, size), make([][]int32, size)
	for i := range x.jobs {
		j := &x.jobs[i]
		g.hang(int32(i))
		if j.op == model.Reduction {
			g.turn[j.part] = max(g.turn[j.part], j.end)
		}
	}
	work.n += hopWork * int64(len(x.jobs))
	return g
}

// place returns the place of a part and a rank among hops of an operation.
func (g *grafting) place(part int32, op model.Op, rank int32) int {
	return g.key(2*part+int32(op), rank)
}

// child returns the place of a hop at its child.
func (g *grafting) child(j *job) int { return g.place(j.part, j.op, j.child()) }

// parent returns the place of a hop at its parent.
func (g *grafting) parent(j *job) int { return g.place(j.part, j.op, j.src+j.dst-j.child()) }

// isOut reports whether a hop is out of the plan.
func (g *grafting) isOut(i int32) bool { return g.by[g.child(&g.jobs[i])] < 0 }

// arrival returns when a hop is at its child, backwards for sums.
func arrival(j *job) model.Time {
	if j.op == model.Reduction {
		return -j.start
	}
	return j.end
}

// there returns from when on a hop that is out can leave a rank, or never: the root's begin when those of the other operation are over,
// except one that is mutual, and so do those of a rank that exchanges sums with the root.
func (g *grafting) there(j *job, rank int32) model.Time {
	root := int32(g.parts[j.part].root)
	if rank != root {
		at, op := g.at[g.place(j.part, j.op, rank)], model.Copy
		if k, l := g.by[g.place(j.part, op, rank)], g.by[g.place(j.part, 1-op, rank)]; at != never && k >= 0 && l >= 0 && g.exchange(&g.jobs[k], &g.jobs[l]) {
			return max(at, g.turned(j, rank, -1))
		}
		return at
	}
	twin := g.by[g.place(j.part, 1-j.op, j.child())]
	if twin >= 0 && g.exchange(j, &g.jobs[twin]) {
		return max(-g.until[1-j.op], g.turned(j, rank, twin))
	}
	switch {
	case len(g.kids[g.place(j.part, 1-j.op, rank)]) > 0:
		return g.turned(j, rank, -1)
	case j.op == model.Reduction:
		return -g.turn[j.part]
	}
	return g.turn[j.part]
}

// turned returns when the last hop of a rank is over that is of the part of a job and the other operation, as the job counts time, one left out.
func (g *grafting) turned(j *job, rank, out int32) model.Time {
	at := -never
	for _, i := range g.kids[g.place(j.part, 1-j.op, rank)] {
		switch k := &g.jobs[i]; {
		case i == out:
		case j.op == model.Reduction:
			at = max(at, -k.start)
		default:
			at = max(at, k.end)
		}
	}
	return at
}

// hang notes what a hop does at its ends.
func (g *grafting) hang(i int32) {
	j := &g.jobs[i]
	at := g.child(j)
	g.at[at], g.by[at] = arrival(j), i
	g.kids[g.parent(j)] = append(g.kids[g.parent(j)], i)
}

// put enters a hop that is out, and reports whether there was room.
func (g *grafting) put(i int32) bool {
	g.hang(i)
	g.load.add(g.plan, &g.jobs[i], 1)
	return g.take(g.busy, &g.jobs[i])
}

// cut takes a hop out of the plan, and appends it to those that are out, with all below it.
func (g *grafting) cut(i int32, out []int32) []int32 {
	j := &g.jobs[i]
	g.cancel(g.busy, j)
	g.load.add(g.plan, j, -1)
	from, to := g.parent(j), g.child(j)
	g.at[to], g.by[to] = never, -1
	at := slices.Index(g.kids[from], i)
	g.kids[from] = slices.Delete(g.kids[from], at, at+1)
	out = append(out, i)
	for len(g.kids[to]) > 0 {
		out = g.cut(g.kids[to][0], out)
	}
	return out
}

// below returns how many jobs wait for one, itself included, up to a limit.
func (g *grafting) below(i int32, limit int) int {
	n := 1
	for _, k := range g.kids[g.child(&g.jobs[i])] {
		if n >= limit {
			break
		}
		n += g.below(k, limit-n)
	}
	return n
}

// over returns by how much a hop is late.
func (g *grafting) over(j *job) model.Time { return max(0, arrival(j)-g.until[j.op]) }

// late returns by how much hops are late, in all, and which are.
func (g *grafting) late() (sum model.Time, list []int32) {
	for i := range g.jobs {
		if over := g.over(&g.jobs[i]); over > 0 {
			sum += over
			list = append(list, int32(i))
		}
	}
	return sum, list
}

// chosen takes some of the late jobs out, and others, and returns them: the late ones first.
func (g *grafting) chosen(late []int32) (out []int32) {
	from := g.jobs[late[g.rng.IntN(len(late))]] // one to which others are related
	for range 1 + g.rng.IntN(mostLateCut) {
		if i := late[g.rng.IntN(len(late))]; !g.isOut(i) {
			out = g.cut(i, out)
		}
	}
	for range g.rng.IntN(mostOthers) {
		i := int32(g.rng.IntN(len(g.jobs)))
		for try := 0; try < relatedTries && !g.meets(&from, &g.jobs[i]); try++ {
			i = int32(g.rng.IntN(len(g.jobs)))
		}
		if !g.isOut(i) && g.below(i, mostBelow) < mostBelow {
			out = g.cut(i, out)
		}
	}
	return out
}

// meets reports whether two jobs take a machine both.
func (g *grafting) meets(a, b *job) bool {
	x, y := g.s.ways[g.s.step(a).way].visits, g.s.ways[g.s.step(b).way].visits
	for i := range x {
		for k := range y {
			if x[i].machine == y[k].machine {
				return true
			}
		}
	}
	return false
}

// try has a hop that is out go over some parent, as early as it can, if it arrives by a time then, and reports whether it does.
func (g *grafting) try(j *job, p parent, by model.Time) bool {
	k := j.over(p)
	at := g.there(&k, p.rank)
	if at == never {
		return false
	}
	st := g.s.step(&k)
	tm := g.s.at(st.way, &g.parts[k.part])
	if k.op == model.Copy {
		at = max(at, st.wait)
	}
	if at+tm.lasts > by {
		return false
	}
	g.work.n += graftWork
	if k.op == model.Reduction {
		k.start = g.s.closes(g.busy, st.way, tm, -at-tm.lasts, -by)
	} else {
		k.start = g.s.opens(g.busy, st.way, tm, at, by-tm.lasts)
	}
	if k.end = k.start + tm.lasts; arrival(&k) > by {
		return false
	}
	*j = k
	return true
}

// soonest has a hop that is out go over the parent by which it arrives first. It returns false if none has its part.
func (g *grafting) soonest(i int32) bool {
	j := &g.jobs[i]
	parents := g.parents[j.op][j.child()]
	g.work.n += int64(len(parents))
	return g.even && g.least(j, parents) || g.first(j, parents, never)
}

// first has a hop that is out go over the one of some parents by which it arrives first, if that is before a time.
func (g *grafting) first(j *job, parents []parent, before model.Time) (any bool) {
	for _, p := range parents {
		if g.try(j, p, before-1) {
			before, any = arrival(j), true
		}
	}
	return any
}

// least has a hop that is out take machines that have least to do, of those by which it is not late. It returns false if it is by all.
func (g *grafting) least(j *job, parents []parent) bool {
	least := never
	for _, p := range parents {
		k := j.over(p)
		if load := g.load.busiest(g.s, g.s.step(&k).way); load < least && g.try(j, p, g.until[j.op]) {
			least = load
		}
	}
	return least < never
}

// open reports whether a hop that is out can still be as it was found.
func (g *grafting) open(j *job) bool {
	st := g.s.step(j)
	return g.s.opens(g.busy, st.way, g.s.at(st.way, &g.parts[j.part]), j.start, j.start) == j.start
}

// graft puts hops of one part and operation back, one after the other, that which arrives first before the others.
func (g *grafting) graft(out []int32) {
	found := make([]bool, len(out))
	for k, i := range out {
		found[k] = g.soonest(i)
	}
	for range out {
		at := -1
		for {
			at = -1
			for k, i := range out {
				if found[k] && g.isOut(i) && (at < 0 || arrival(&g.jobs[i]) < arrival(&g.jobs[out[at]])) {
					at = k
				}
			}
			if g.open(&g.jobs[out[at]]) {
				break
			}
			found[at] = g.soonest(out[at])
		}
		g.put(out[at])
		from := g.jobs[out[at]].child()
		for k, i := range out { // what came first may be sent on
			if j := &g.jobs[i]; g.isOut(i) {
				before := never
				if found[k] {
					before = arrival(j)
				}
				for _, p := range g.parents[j.op][j.child()] {
					if p.rank == from && g.try(j, p, before-1) {
						before, found[k] = arrival(j), true
					}
				}
			}
		}
	}
}

// change takes some of the jobs out that are late, as they are before in all, and puts them back. If they are no later then than
// what is allowed it returns true, else all stays.
func (g *grafting) change(late []int32, before, allowed model.Time) bool {
	out := g.chosen(late)
	g.even = g.rng.IntN(evenGrafts) == 0
	g.work.n += hopWork * int64(len(out))
	old := make([]job, len(out))
	after := before
	for k, i := range out {
		old[k] = g.jobs[i]
		after -= g.over(&old[k])
	}
	var parts []int32 // and their operations, in the order in which they are put back
	of := map[int32][]int32{}
	for _, i := range out {
		k := 2*g.jobs[i].part + int32(g.jobs[i].op)
		if of[k] == nil {
			parts = append(parts, k)
		}
		of[k] = append(of[k], i)
	}
	if g.rng.IntN(2) == 0 {
		g.rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	for _, k := range parts {
		g.graft(of[k])
	}
	for _, i := range out {
		after += g.over(&g.jobs[i])
	}
	if after <= allowed {
		return true
	}
	for _, i := range out { // what was put back
		if g.by[g.child(&g.jobs[i])] == i {
			g.cut(i, nil)
		}
	}
	room := true
	for k, i := range out {
		g.jobs[i] = old[k]
		room = g.put(i) && room
	}
	if !room { // with several lanes, what is there may have moved to others
		g.busy = g.s.booked(g.plan)
	}
	return false
}

// run changes the plan until no hop is late, and reports whether that is so: many changes in turn may gain nothing, or the work
// may be done before.
func (g *grafting) run() bool {
	late, list := g.late()
	least := late
	for idle := 0; late > 0; idle++ {
		if idle >= idleGrafts || g.work.stop() {
			return false
		}
		allowed := max(late, least+least/worseGrafts+(g.until[model.Copy]+g.until[model.Reduction])/worseWindow)
		if !g.change(list, late, allowed) {
			continue
		}
		if late, list = g.late(); late < least {
			least, idle = late, 0
		}
	}
	return true
}

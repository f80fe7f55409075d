package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// grafting takes hops out of a plan of gatherings, with all that wait for them, and puts each back from the rank by which it ends
// first, in the gaps that there are; what is no later stays, or later by little. It is what insertions are for single chunks (package flows; Shaw,
// "Using constraint programming and local search methods to solve vehicle routing problems", CP 1998), for trees.
type grafting struct {
	*plan
	rng     *rand.Rand
	work    *counter
	busy    []book
	at      []model.Time // by part and rank: when its copy is there, or never
	by      []int32      // by part and rank: the job that brings it, or -1
	kids    [][]int32    // by part and rank: the jobs that leave it
	parents [][]parent   // by rank: whence copies can come
	target  model.Time
	load    []model.Time // by machine: for how long each of its lanes is busy
	even    bool         // hops go where machines have least to do, if they are not late there
}

// Limits of grafting.
const (
	mostLateCut  = 4    // late hops that are taken out at a time, each with what waits for it
	mostOthers   = 24   // and others
	mostBelow    = 32   // of one hop
	idleGrafts   = 1000 // as many changes in turn that gain nothing end it
	evenGrafts   = 2    // one change of as many puts hops where machines have least to do
	worseGrafts  = 20   // one of as many parts of the lateness may be added on the way to less
	worseTarget  = 5000 // and one of as many parts of the target
	relatedTries = 16   // draws of a hop that takes a machine which a late one takes
	graftWork    = 8    // for a rank from which a hop may come
)

func newGrafting(x *plan, target model.Time, rng *rand.Rand, work *counter) *grafting {
	n := x.s.t.Ranks
	size := n * len(x.parts)
	g := &grafting{plan: x, rng: rng, work: work, busy: x.s.booked(x), load: x.s.loads(x), target: target, parents: x.s.parents()}
	g.at, g.by, g.kids = slices.Repeat([]model.Time{never}, size), slices.Repeat([]int32{-1}, size), make([][]int32, size)
	for i := range x.parts {
		g.at[g.key(int32(i), int32(x.parts[i].root))] = 0
	}
	for i := range x.jobs {
		g.hang(int32(i))
	}
	work.n += hopWork * int64(len(x.jobs))
	return g
}

// loads returns for how long each lane of each machine is busy.
func (s *shop) loads(x *plan) []model.Time {
	list := make([]model.Time, len(s.lanes))
	for i := range x.jobs {
		j := &x.jobs[i]
		w := s.step(j).way
		tm := s.at(w, &x.parts[j.part])
		for n, v := range s.ways[w].visits {
			list[v.machine] += (tm.spans[n].To - tm.spans[n].From) * model.Time(v.lanes) / model.Time(s.lanes[v.machine])
		}
	}
	return list
}

// parents returns for each rank those that hops come from.
func (s *shop) parents() [][]parent {
	list := make([][]parent, s.t.Ranks)
	for u := range s.t.Ranks {
		by := s.g.Nodes(int(s.element[u]))
		for i, st := range s.out[s.class[u]] {
			list[by[st.to]] = append(list[by[st.to]], parent{int32(u), int32(i)})
		}
	}
	return list
}

func (g *grafting) key(part, rank int32) int { return int(part)*g.s.t.Ranks + int(rank) }

// hang notes what a job does at its ends.
func (g *grafting) hang(i int32) {
	j := &g.jobs[i]
	src, dst := g.key(j.part, j.src), g.key(j.part, j.dst)
	g.at[dst], g.by[dst] = j.end, i
	g.kids[src] = append(g.kids[src], i)
}

// book enters a job into the books of its machines, and reports whether there was room.
func (g *grafting) book(j *job) bool {
	w := g.s.step(j).way
	tm, room := g.s.at(w, &g.parts[j.part]), true
	for i, v := range g.s.ways[w].visits {
		room = g.busy[v.machine].take(v.lanes, model.Interval{From: j.start + tm.spans[i].From, To: j.start + tm.spans[i].To}) && room
		g.load[v.machine] += g.share(tm, i, v)
	}
	return room
}

// cut takes a job out of the plan, and appends it to those that are out, with all that wait for it.
func (g *grafting) cut(i int32, out []int32) []int32 {
	j := &g.jobs[i]
	w := g.s.step(j).way
	tm := g.s.at(w, &g.parts[j.part])
	for n, v := range g.s.ways[w].visits {
		g.busy[v.machine].cancel(v.lanes, model.Interval{From: j.start + tm.spans[n].From, To: j.start + tm.spans[n].To})
		g.load[v.machine] -= g.share(tm, n, v)
	}
	src, dst := g.key(j.part, j.src), g.key(j.part, j.dst)
	g.at[dst], g.by[dst] = never, -1
	at := slices.Index(g.kids[src], i)
	g.kids[src] = slices.Delete(g.kids[src], at, at+1)
	out = append(out, i)
	for len(g.kids[dst]) > 0 {
		out = g.cut(g.kids[dst][0], out)
	}
	return out
}

// share returns for how long a hop keeps each lane of a machine on its way busy.
func (g *grafting) share(tm *timing, i int, v visit) model.Time {
	return (tm.spans[i].To - tm.spans[i].From) * model.Time(v.lanes) / model.Time(g.s.lanes[v.machine])
}

// busiest returns the greatest load of a machine on a way.
func (g *grafting) busiest(w int32) (most model.Time) {
	for _, v := range g.s.ways[w].visits {
		most = max(most, g.load[v.machine])
	}
	return most
}

// below returns how many jobs wait for one, itself included, up to a limit.
func (g *grafting) below(i int32, limit int) int {
	n := 1
	for _, k := range g.kids[g.key(g.jobs[i].part, g.jobs[i].dst)] {
		if n >= limit {
			break
		}
		n += g.below(k, limit-n)
	}
	return n
}

// late returns by how much jobs end after the target, in all, and which do.
func (g *grafting) late() (sum model.Time, list []int32) {
	for i := range g.jobs {
		if over := g.jobs[i].end - g.target; over > 0 {
			sum += over
			list = append(list, int32(i))
		}
	}
	return sum, list
}

// chosen takes some of the late jobs out, and others, and returns them: the late ones first.
func (g *grafting) chosen(late []int32) (out []int32) {
	from := g.jobs[late[g.rng.IntN(len(late))]] // one to which others are related
	isOut := func(i int32) bool { return g.by[g.key(g.jobs[i].part, g.jobs[i].dst)] < 0 }
	for range 1 + g.rng.IntN(mostLateCut) {
		if i := late[g.rng.IntN(len(late))]; !isOut(i) {
			out = g.cut(i, out)
		}
	}
	for range g.rng.IntN(mostOthers) {
		i := int32(g.rng.IntN(len(g.jobs)))
		for try := 0; try < relatedTries && !g.meets(&from, &g.jobs[i]); try++ {
			i = int32(g.rng.IntN(len(g.jobs)))
		}
		if !isOut(i) && g.below(i, mostBelow) < mostBelow {
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

// soonest sets the source and the times of a job that is out so that it ends first, from the ranks that have its part. It
// returns false if none has.
func (g *grafting) soonest(i int32) bool {
	j := &g.jobs[i]
	x := &g.parts[j.part]
	best := never
	parents := g.parents[j.dst]
	g.work.n += int64(len(parents))
	if g.even && g.least(j, parents) {
		return true
	}
	for _, p := range parents {
		at := g.at[g.key(j.part, p.rank)]
		if at == never {
			continue
		}
		st := &g.s.out[g.s.class[p.rank]][p.step]
		tm := g.s.at(st.way, x)
		at = max(at, st.wait)
		if at+tm.lasts >= best {
			continue
		}
		g.work.n += graftWork
		if at = g.s.opens(g.busy, st.way, tm, at, best-tm.lasts-1); at+tm.lasts < best {
			j.src, j.step, j.start, j.end = p.rank, p.step, at, at+tm.lasts
			best = j.end
		}
	}
	return best < never
}

// least sets the source and the times of a job that is out so that it takes machines that have least to do, of those hops that are not
// late. It returns false if all are.
func (g *grafting) least(j *job, parents []parent) bool {
	x := &g.parts[j.part]
	least := never
	for _, p := range parents {
		at := g.at[g.key(j.part, p.rank)]
		if at == never {
			continue
		}
		st := &g.s.out[g.s.class[p.rank]][p.step]
		tm := g.s.at(st.way, x)
		at = max(at, st.wait)
		if at+tm.lasts > g.target {
			continue
		}
		load := g.busiest(st.way)
		if load >= least {
			continue
		}
		g.work.n += graftWork
		if at = g.s.opens(g.busy, st.way, tm, at, g.target-tm.lasts); at+tm.lasts <= g.target {
			j.src, j.step, j.start, j.end = p.rank, p.step, at, at+tm.lasts
			least = load
		}
	}
	return least < never
}

// open reports whether a job that is out can still be as it was found.
func (g *grafting) open(i int32) bool {
	j := &g.jobs[i]
	st := g.s.step(j)
	return g.s.opens(g.busy, st.way, g.s.at(st.way, &g.parts[j.part]), j.start, j.start) == j.start
}

// graft puts jobs of one part back, one after the other, that which ends first before the others.
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
				if found[k] && g.by[g.key(g.jobs[i].part, g.jobs[i].dst)] < 0 && (at < 0 || g.jobs[i].end < g.jobs[out[at]].end) {
					at = k
				}
			}
			if g.open(out[at]) {
				break
			}
			found[at] = g.soonest(out[at])
		}
		g.book(&g.jobs[out[at]])
		g.hang(out[at])
		for k, i := range out { // what came first may be sent on
			if g.by[g.key(g.jobs[i].part, g.jobs[i].dst)] < 0 {
				found[k] = g.sent(i, g.jobs[out[at]].dst, found[k]) || found[k]
			}
		}
	}
}

// sent has a job that is out come from a rank if it ends sooner then, or if it was not found yet.
func (g *grafting) sent(i, from int32, found bool) bool {
	j := &g.jobs[i]
	best := never
	if found {
		best = j.end
	}
	any := false
	for _, p := range g.parents[j.dst] {
		if p.rank != from {
			continue
		}
		st := &g.s.out[g.s.class[p.rank]][p.step]
		tm := g.s.at(st.way, &g.parts[j.part])
		at := max(g.at[g.key(j.part, from)], st.wait)
		if at+tm.lasts >= best {
			continue
		}
		g.work.n += graftWork
		if at = g.s.opens(g.busy, st.way, tm, at, best-tm.lasts-1); at+tm.lasts < best {
			j.src, j.step, j.start, j.end = p.rank, p.step, at, at+tm.lasts
			best, any = j.end, true
		}
	}
	return any
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
		after -= max(0, old[k].end-g.target)
	}
	var parts []int32 // in the order in which they are put back
	of := map[int32][]int32{}
	for _, i := range out {
		k := g.jobs[i].part
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
		after += max(0, g.jobs[i].end-g.target)
	}
	if after <= allowed {
		return true
	}
	for _, i := range out { // what was put back
		if g.by[g.key(g.jobs[i].part, g.jobs[i].dst)] == i {
			g.cut(i, nil)
		}
	}
	room := true
	for k, i := range out {
		g.jobs[i] = old[k]
		room = g.book(&g.jobs[i]) && room
		g.hang(i)
	}
	if !room { // with several lanes, what is there may have moved to others
		g.busy = g.s.booked(g.plan)
	}
	return false
}

// run changes the plan until it ends at the target, and reports whether it does: many changes in turn may gain nothing, or the work
// may be done before.
func (g *grafting) run() bool {
	late, list := g.late()
	least := late
	for idle := 0; late > 0; idle++ {
		if idle >= idleGrafts || g.work.stop() {
			return false
		}
		allowed := max(late, least+least/worseGrafts+g.target/worseTarget)
		if !g.change(list, late, allowed) {
			continue
		}
		if late, list = g.late(); late < least {
			least, idle = late, 0
		}
	}
	return true
}

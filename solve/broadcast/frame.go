package broadcast

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	demand "github.com/oraccl/oraccl/solve/network"
)

// frame is a timetable for what is poured down trees that share links, as those do that lead over switches: in each
// period every tree has a chunk, and each of its hops a slot of its own, in which no other hop uses one of its links.
// First come, first served loses a fifth of the time of full links there, since a hop needs all of its links at once.
//
// It is an edge colouring where only the links of ranks matter, and one always exists then (Kőnig, "Über Graphen und
// ihre Anwendung auf Determinantentheorie und Mengenlehre", 1916); between switches it is looked for by annealing.
type frame struct {
	tick   model.Time // how long a slot lasts
	length int        // slots
	trees  int
	takes  []int32 // by tree and rank: the hop into it; -1: it is the root
	turn   []int   // by tree and rank: the slot of that hop
}

const (
	// mostFramed is how many hops a frame has at most, and mostExchanges how often two of them are exchanged for each, and in
	// all.
	mostFramed, mostExchanges, mostAnnealed = 1 << 13, 1 << 13, 1 << 21
	// warm and cold are the temperatures of annealing, at the start and at the end, where a collision of two hops is 1.
	warm, cold = 0.6, 0.08
)

// timetable is the search for a frame.
type timetable struct {
	*stream
	*frame
	load  [][]int32 // by link and slot: hops
	after [][]int   // by hop: the slots from its first link to each
	tree  [][]int   // by rank and slot: the tree whose hop into the rank that is, or -1
	ways  [][]int32 // by hop: those between the same ranks over as many links
	cost  int
	rng   *rand.Rand
}

// newFrame returns a frame for trees of weights, or nil if links differ, if there are too many hops, or if none is found.
// Those that were found for other chunks are in known, by what is left of a latency after whole periods: with the same
// rest a frame is the same except for the length of its slots.
func (s *stream) newFrame(ctx context.Context, trees []arborescence.Tree, known map[model.Time]*frame) *frame {
	unit, all := units(trees)
	tick := slotOf(s.p.Topology, s.uses[0][0][0].Extra, all)
	if tick == 0 || all*s.ranks > mostFramed || s.p.Cost != model.Pipelined {
		return nil
	}
	for _, uses := range s.uses[0] {
		if slices.ContainsFunc(uses, func(u demand.Use) bool { return u.From%tick != 0 }) {
			return nil // a rank that is no member passes on what it has stored
		}
	}
	rest := longestSlot(s.p.Topology) / tick % model.Time(all)
	f, tried := known[rest]
	if !tried {
		t := &timetable{stream: s, frame: &frame{tick: tick, trees: all}, rng: rand.New(rand.NewPCG(1, 1))}
		if t.seat(trees, unit) && t.anneal(ctx) {
			f = t.frame
		}
		if ctx.Err() != nil {
			return nil
		}
		known[rest] = f
	}
	if f == nil {
		return nil
	}
	again := *f
	again.tick = tick
	s.reorder(&again)
	return &again
}

// reorder exchanges slots, where all links of a hop are busy in the same one, so that hops wait less for theirs: what is to be
// small is the mean time to a rank, over the trees.
func (s *stream) reorder(f *frame) {
	if longestSlot(s.p.Topology)%(model.Time(f.length)*f.tick) != 0 {
		return
	}
	f.turn = slices.Clone(f.turn)
	exchange := func(a, b int) {
		for i, at := range f.turn {
			switch at {
			case a:
				f.turn[i] = b
			case b:
				f.turn[i] = a
			}
		}
	}
	measure := func() (d delay) {
		_, ends := s.planned(f)
		for v := range s.ranks {
			sum := model.Time(0)
			for j := range f.trees {
				sum += ends[j*s.ranks+v]
			}
			d.last, d.sum = max(d.last, sum), d.sum+sum
		}
		return d
	}
	rng := rand.New(rand.NewPCG(1, 2))
	least := measure()
	for range mostReordered / (8 * len(f.turn)) {
		a, b := rng.IntN(f.length), rng.IntN(f.length)
		exchange(a, b)
		if d := measure(); d.compare(least) <= 0 {
			least = d
		} else {
			exchange(a, b)
		}
	}
}

// planned returns when the hops of the first period begin and end, by tree and rank: each at the first time of its slot at which it
// can go on.
func (s *stream) planned(f *frame) (begins, ends []model.Time) {
	begins, ends = make([]model.Time, len(f.takes)), make([]model.Time, len(f.takes))
	period := model.Time(f.length) * f.tick
	var plan func(tree, rank int) model.Time
	plan = func(tree, rank int) model.Time {
		i := tree*s.ranks + rank
		h := f.takes[i]
		if h < 0 || ends[i] > 0 {
			return ends[i]
		}
		after, uses := plan(tree, s.hops[h].from), s.uses[0][h]
		wait := (model.Time(f.turn[i])*f.tick - uses[len(uses)-1].From - after) % period
		begin := after + (wait+period)%period
		begins[i], ends[i] = begin, begin+s.lasts[0][h]
		return ends[i]
	}
	for j := range f.trees {
		for v := range s.ranks {
			plan(j, v)
		}
	}
	return begins, ends
}

// framable reports whether there may be frames for p: links are alike, and ranks have one each way, to switches.
func framable(p *model.Problem) bool {
	several := func(links []int) bool { return len(links) != 1 }
	return len(p.Topology.Switches) > 0 && longestSlot(p.Topology) > 0 && !slices.ContainsFunc(p.Topology.In()[:p.Topology.Ranks], several)
}

// longestSlot returns the longest time that divides all latencies, or 0 if links differ in bandwidth.
func longestSlot(t *model.Topology) model.Time {
	all := int64(0)
	for _, l := range t.Links {
		if all = arborescence.GCD(all, int64(l.Alpha)); l.Bandwidth != t.Links[0].Bandwidth {
			return 0
		}
	}
	return model.Time(all)
}

// slotOf returns how long the slots of a frame are whose chunks last a time: the least that is not shorter and divides
// all latencies, so that a hop is in slots on all its links, or 0 if there is none. Periods of a number of slots, too,
// divide all latencies if that makes slots at most twice as long: then all links of a hop are busy in the same slot.
func slotOf(t *model.Topology, lasts model.Time, period int) model.Time {
	all := longestSlot(t)
	if lasts <= 0 || all < lasts {
		return 0
	}
	for parts := all / lasts; 2*parts*lasts >= all; parts-- {
		if all%parts == 0 && parts%model.Time(period) == 0 {
			return all / parts
		}
	}
	parts := all / lasts
	for all%parts != 0 {
		parts--
	}
	return all / parts
}

// framed returns chunks that are as large as fits into the slot of a frame that those given need; these if there is none.
func framed(p *model.Problem, chunks []model.Chunk, period int) []model.Chunk {
	bandwidth := p.Topology.Links[0].Bandwidth
	slot := slotOf(p.Topology, model.TransferTime(chunks[0].Size, bandwidth), period)
	size := int64(float64(slot) / 1e12 * float64(bandwidth))
	for size > 0 && model.TransferTime(size, bandwidth) > slot {
		size--
	}
	if size <= chunks[0].Size {
		return chunks
	}
	return solve.OfSize(p.Space(), size)
}

// units returns the largest weight of which those of trees are multiples, and how many there are of it.
func units(trees []arborescence.Tree) (unit int64, all int) {
	sum := int64(0)
	for _, t := range trees {
		unit, sum = arborescence.GCD(unit, t.Weight), sum+t.Weight
	}
	return unit, int(sum / max(1, unit))
}

// seat gives each hop a slot, each of those into a rank another, and reports whether there are as many as trees: there
// may not be where ranks have several links in.
func (t *timetable) seat(trees []arborescence.Tree, unit int64) bool {
	t.takes = slices.Repeat([]int32{-1}, t.trees*t.ranks)
	t.turn = make([]int, len(t.takes))
	uses := make([]int, len(t.p.Topology.Links))
	j := 0
	for n, x := range trees {
		for range x.Weight / unit {
			for _, hops := range t.kids[n] {
				for _, h := range hops {
					t.takes[j*t.ranks+t.hops[h].to] = h
					for _, l := range t.hops[h].route {
						uses[l]++
					}
				}
			}
			j++
		}
	}
	if t.length = slices.Max(uses); t.length != t.trees {
		return false
	}
	for _, h := range t.stream.uses[0] {
		var after []int
		for _, u := range h {
			after = append(after, t.length-1-(int((h[len(h)-1].From-u.From)/t.tick)+t.length-1)%t.length)
		}
		t.after = append(t.after, after)
	}
	t.load = make([][]int32, len(uses))
	for l := range t.load {
		t.load[l] = make([]int32, t.length)
	}
	t.ways = make([][]int32, len(t.hops))
	for i, h := range t.hops {
		for _, k := range t.into[h.to] {
			if t.hops[k].from == h.from && len(t.hops[k].route) == len(h.route) {
				t.ways[i] = append(t.ways[i], k)
			}
		}
	}
	t.tree = make([][]int, t.ranks)
	for v := range t.tree {
		t.tree[v] = slices.Repeat([]int{-1}, t.length)
		order := t.rng.Perm(t.length)
		for j := range t.trees {
			if t.takes[j*t.ranks+v] < 0 {
				continue
			}
			if len(order) == 0 {
				return false
			}
			t.put(j, v, order[0])
			order = order[1:]
		}
	}
	return true
}

// add counts a hop in a slot, once more or once less, and returns how many collisions come with it or go.
func (t *timetable) add(h int32, slot int, times int32) (hits int) {
	for i, l := range t.hops[h].route {
		at := &t.load[l][(slot+t.after[h][i])%t.length]
		if times < 0 {
			*at--
		}
		hits += int(*at)
		if times > 0 {
			*at++
		}
	}
	return hits
}

// put gives the hop of a tree into a rank a slot, and of the ways between its ranks that with the fewest collisions.
func (t *timetable) put(tree, rank, slot int) {
	i, least := tree*t.ranks+rank, math.MaxInt
	best := t.takes[i]
	for _, h := range t.ways[t.takes[i]] {
		hits := 0
		for i, l := range t.hops[h].route {
			hits += int(t.load[l][(slot+t.after[h][i])%t.length])
		}
		if hits < least {
			best, least = h, hits
		}
	}
	t.takes[i], t.turn[i], t.tree[rank][slot] = best, slot, tree
	t.cost += t.add(best, slot, 1)
}

// take takes a hop out of its slot.
func (t *timetable) take(tree, rank int) {
	i := tree*t.ranks + rank
	t.cost -= t.add(t.takes[i], t.turn[i], -1)
	t.tree[rank][t.turn[i]] = -1
}

// exchange exchanges what comes to a rank in two slots, if that is not much worse.
func (t *timetable) exchange(rank, a, b int, heat float64) {
	x, y := t.tree[rank][a], t.tree[rank][b]
	if x < 0 {
		a, b, x, y = b, a, y, x
	}
	if x < 0 || a == b {
		return
	}
	before, hopX, hopY := t.cost, t.takes[x*t.ranks+rank], int32(-1)
	t.take(x, rank)
	if y >= 0 {
		hopY = t.takes[y*t.ranks+rank]
		t.take(y, rank)
		t.put(y, rank, a)
	}
	t.put(x, rank, b)
	if t.cost <= before || t.rng.Float64() < math.Exp(float64(before-t.cost)/heat) {
		return
	}
	t.take(x, rank)
	if y >= 0 {
		t.take(y, rank)
		t.back(y, rank, b, hopY)
	}
	t.back(x, rank, a, hopX)
}

// back puts a hop back to where it was.
func (t *timetable) back(tree, rank, slot int, h int32) {
	i := tree*t.ranks + rank
	t.takes[i], t.turn[i], t.tree[rank][slot] = h, slot, tree
	t.cost += t.add(h, slot, 1)
}

// anneal exchanges slots until no two hops collide, and reports whether it got there.
func (t *timetable) anneal(ctx context.Context) bool {
	steps := min(mostExchanges*len(t.takes), mostAnnealed)
	heat, cooling := warm, math.Pow(cold/warm, 1/float64(steps))
	for n := 0; t.cost > 0 && n < steps; n++ {
		if n%every == 0 && ctx.Err() != nil {
			return false
		}
		rank := t.rng.IntN(t.ranks)
		t.exchange(rank, t.rng.IntN(t.length), t.rng.IntN(t.length), heat)
		heat *= cooling
	}
	return t.cost == 0
}

// pourFramed sends a chunk down each tree of a frame in every period: see planned.
func (s *stream) pourFramed(f *frame) {
	s.grain = f.tick
	begins, _ := s.planned(f)
	for k := range s.p.Chunks {
		tree, period := k%f.trees, model.Time(k/f.trees*f.length)*f.tick
		for v := range s.ranks {
			if i := tree*s.ranks + v; f.takes[i] >= 0 {
				s.book(k, f.takes[i], period+begins[i])
			}
		}
	}
}

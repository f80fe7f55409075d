package flows

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// insertion puts chunks into a schedule one after the other, each on the way on which it arrives
// first beside those that are there, gaps included: the A* algorithm (Hart, Nilsson, Raphael, IEEE Transactions on Systems
// Science and Cybernetics 4, 1968) with what is booked, and the time that is left on an idle network. Then it
// takes some out again, those that arrive last among them, and puts them back in another order; what
// is no worse stays (P. Shaw, "Using constraint programming and local search methods to solve vehicle
// routing problems", CP 1998). Over a mirrored network it does so backwards in time.
type insertion struct {
	*network.Network
	exits  *network.Exits
	pairs  []network.Pair
	chunks []int32 // those that move
	books  *timing.Bookings
	ways   [][]booked
	ends   []model.Time // by chunk: when it arrives
	far    []model.Time // by chunk: when it would arrive alone
	rng    *rand.Rand

	rests  map[[2]int32][]model.Time // by rank and class: see rest
	looked int                       // at hops, and at their timelines

	label []model.Time // scratch of insert, by rank
	via   []int32
	done  []bool
}

// booked is a hop of a chunk at a time.
type booked struct {
	hop    int32
	start  model.Time
	places []int32
}

const (
	looks       = 60_000_000 // at hops
	scanned     = 50         // times as many for one at a timeline, about
	idleChanges = 400        // as many changes that gain nothing end the search
	leastMoving = 1 << 7     // chunks: with fewer a finer cut is better
	mostMoving  = 1 << 12    // chunks, beyond which it takes too long
	stride      = 400        // the part of the makespan by which it is to fall at a time
)

func newInsertion(p *model.Problem, list []network.Pair, mirrored bool, seed uint64) *insertion {
	n := network.New(p, mirrored)
	s := &insertion{Network: n, exits: network.NewExits(n), pairs: slices.Clone(list), books: timing.NewBookings(n.Choices, n.Resources),
		ways: make([][]booked, len(list)), ends: make([]model.Time, len(list)), far: make([]model.Time, len(list)), rng: rand.New(rand.NewPCG(seed, 1)),
		rests: map[[2]int32][]model.Time{}, label: make([]model.Time, p.Topology.Ranks), via: make([]int32, p.Topology.Ranks), done: make([]bool, p.Topology.Ranks)}
	for k := range s.pairs {
		if mirrored {
			s.pairs[k].Src, s.pairs[k].Dst = s.pairs[k].Dst, s.pairs[k].Src
		}
		if s.pairs[k].Src != s.pairs[k].Dst {
			s.chunks = append(s.chunks, int32(k))
		}
	}
	return s
}

// inserted returns the schedule of p, which has chunks, that insertions find, forwards or backwards in
// time, and its makespan; nil if none is found, or p has too many chunks.
func inserted(p *model.Problem, seed uint64, goal model.Time, stop func() bool) (best *model.Schedule, makespan model.Time, err error) {
	list, err := network.Pairs(p)
	if err != nil || moving(list) > mostMoving {
		return nil, 0, err
	}
	makespan = model.MaxTime
	gathers := p.Collective.Kind == model.Gather
	for _, mirrored := range []bool{!gathers, gathers} {
		s := newInsertion(p, list, mirrored, seed)
		if transfers, end := s.run(goal, stop); transfers != nil && end < makespan {
			best, makespan = &model.Schedule{Form: model.FormFor(p.Cost), Routes: s.Routes, Transfers: transfers}, end
		}
		if makespan <= goal || stop() {
			break
		}
	}
	return best, makespan, nil
}

// moving returns how many chunks have to move.
func moving(list []network.Pair) (n int) {
	for _, x := range list {
		if x.Src != x.Dst {
			n++
		}
	}
	return n
}

// insert books the way on which a chunk arrives first. It returns false if there is none.
func (s *insertion) insert(k int32) bool {
	from, to := s.pairs[k].Src, s.pairs[k].Dst
	rest := s.rest(to, s.Class[k])
	if rest[from] == model.MaxTime {
		return false
	}
	for v := range s.label {
		s.label[v], s.via[v], s.done[v] = model.MaxTime, -1, false
	}
	for s.label[from] = 0; ; {
		v := int32(-1)
		for u, at := range s.label {
			if !s.done[u] && at < model.MaxTime && (v < 0 || at+rest[u] < s.label[v]+rest[v]) {
				v = int32(u)
			}
		}
		if v == to {
			break
		}
		s.done[v] = true
		s.leave(v, to, s.Class[k], rest)
	}
	way := s.ways[k][:0]
	for v := to; v != from; v = s.Hops[s.via[v]].Src {
		way = append(way, booked{hop: s.via[v]})
	}
	slices.Reverse(way)
	at := model.Time(0)
	for i := range way {
		h := &s.Hops[way[i].hop]
		beta := s.Beta(h, s.Class[k])
		uses := s.Uses[h.Uses:h.UsesEnd]
		way[i].start = s.books.First(uses, beta, at)
		way[i].places = s.books.Take(uses, beta, way[i].start, k, nil)
		at = way[i].start + h.Alpha + beta
	}
	s.ways[k], s.ends[k] = way, at
	return true
}

// leave finds when a chunk of a class that is at a rank can be at the next, where that may help to be at the end of its way sooner:
// the hops to there come first. Hops often begin with one link: when that is free is found once.
func (s *insertion) leave(v, to, class int32, rest []model.Time) {
	var first network.Use
	var open, length model.Time
	for _, last := range []bool{true, false} {
		for i := s.exits.First[v]; i < s.exits.First[v+1]; i++ {
			l, next := s.exits.List[i], s.exits.To[i]
			if (next == to) != last || s.done[next] || rest[next] == model.MaxTime {
				continue
			}
			s.looked++
			h := &s.Hops[l]
			beta := s.Beta(h, class)
			by := min(s.label[next], s.label[to]-rest[next]) - h.Alpha - beta
			if s.label[v] >= by {
				continue
			}
			uses := s.Uses[h.Uses:h.UsesEnd]
			if length != beta || uses[0] != first {
				first, length = uses[0], beta
				open = s.books.First(uses[:1], beta, s.label[v])
				s.looked += scanned
			}
			if open >= by {
				continue
			}
			s.looked += scanned
			if at := s.books.First(uses, beta, open); at < by {
				s.label[next], s.via[next] = at+h.Alpha+beta, l
			}
		}
	}
}

// rest returns how long a chunk of a class takes from each rank to another one, if it meets no other; MaxTime if there is no way.
func (s *insertion) rest(to, class int32) []model.Time {
	key := [2]int32{to, class}
	if list := s.rests[key]; list != nil {
		return list
	}
	list := s.DistancesTo(nil, to, class)
	s.rests[key] = list
	return list
}

// remove cancels what a chunk has booked.
func (s *insertion) remove(k int32) {
	for _, b := range s.ways[k] {
		h := &s.Hops[b.hop]
		s.books.Cancel(s.Uses[h.Uses:h.UsesEnd], s.Beta(h, s.Class[k]), b.start, k, b.places)
	}
}

// again books a way as it was.
func (s *insertion) again(k int32, way []booked, end model.Time) {
	for _, b := range way {
		h := &s.Hops[b.hop]
		s.books.Take(s.Uses[h.Uses:h.UsesEnd], s.Beta(h, s.Class[k]), b.start, k, b.places)
	}
	s.ways[k], s.ends[k] = way, end
}

// run returns the transfers of the schedule that it finds, and its makespan; nil if a chunk has no way,
// or it is stopped before all have one. It ends at the goal.
func (s *insertion) run(goal model.Time, stop func() bool) ([]model.Transfer, model.Time) {
	for _, k := range s.chunks { // alone
		if stop() || !s.insert(k) {
			return nil, 0
		}
		s.far[k] = s.ends[k]
		s.remove(k)
	}
	order := slices.Clone(s.chunks)
	s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.far[b], s.far[a]) })
	for _, k := range order {
		if stop() {
			return nil, 0
		}
		s.insert(k)
	}
	s.improve(goal, stop)
	return s.transfers()
}

// improve changes the schedule until it ends at the goal, or that is of no use any more.
func (s *insertion) improve(goal model.Time, stop func() bool) {
	makespan := s.last()
	target := makespan - makespan/stride
	late := s.late(target)
	s.looked = 0
	for idle := 0; s.looked < looks && idle < idleChanges && makespan > goal && !stop(); idle++ {
		out := s.chosen(target)
		if better := s.change(out, target, late); better < late {
			late, idle = better, 0
		}
		if late == 0 {
			makespan = s.last()
			target = makespan - makespan/stride
			late = s.late(target)
		}
	}
}

func (s *insertion) last() (end model.Time) {
	for _, k := range s.chunks {
		end = max(end, s.ends[k])
	}
	return end
}

// late returns by how much chunks arrive after a time, in all.
func (s *insertion) late(target model.Time) (sum model.Time) {
	for _, k := range s.chunks {
		sum += max(0, s.ends[k]-target)
	}
	return sum
}

// chosen returns the chunks to be taken out: some of those that arrive after a time, and others.
func (s *insertion) chosen(target model.Time) []int32 {
	var late, out []int32
	for _, k := range s.chunks {
		if s.ends[k] > target {
			late = append(late, k)
		}
	}
	s.rng.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	out = append(out, late[:min(len(late), 1+s.rng.IntN(8))]...)
	for range 1 + s.rng.IntN(max(4, min(24, len(s.chunks)/8))) {
		if k := s.chunks[s.rng.IntN(len(s.chunks))]; !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// change takes chunks out and puts them back, in the order of how far they go, those that were late first, or
// any. It returns how late chunks are then, which is no more than before: else all stays.
func (s *insertion) change(out []int32, target, before model.Time) model.Time {
	type was struct {
		way []booked
		end model.Time
	}
	old := make([]was, len(out))
	for i, k := range out {
		old[i] = was{slices.Clone(s.ways[k]), s.ends[k]}
		s.remove(k)
	}
	order := slices.Clone(out)
	switch s.rng.IntN(3) {
	case 0:
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.far[b], s.far[a]) })
	case 1:
		s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	after := before
	for i, k := range order {
		s.insert(k)
		after += max(0, s.ends[k]-target) - max(0, old[slices.Index(out, order[i])].end-target)
	}
	if after <= before {
		return after
	}
	for _, k := range out {
		s.remove(k)
	}
	for i, k := range out {
		s.again(k, old[i].way, old[i].end)
	}
	return before
}

// transfers returns what is booked, in the direction of time, and the makespan.
func (s *insertion) transfers() ([]model.Transfer, model.Time) {
	var list []model.Transfer
	end := s.last()
	for _, k := range s.chunks {
		for _, b := range s.ways[k] {
			h := &s.Hops[b.hop]
			x := model.Transfer{Chunk: k, Src: h.Src, Dst: h.Dst, Route: h.Route, Op: model.Copy, Start: b.start, End: b.start + h.Alpha + s.Beta(h, s.Class[k])}
			if s.Mirrored {
				x.Src, x.Dst, x.Start, x.End = x.Dst, x.Src, end-x.End, end-x.Start
			}
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Chunk, b.Chunk))
	})
	return list, end
}

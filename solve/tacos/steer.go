package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// steer is the store for patterns in which chunks have some destinations only, as in
// scatter, alltoall, and whatever a part of the ranks does among itself. Every
// destination that is not yet served is in the care of the rank that is nearest to it
// of those that have the chunk, or to which it is on its way. A chunk moves to a rank
// that wants it, or that is nearer to a destination in the sender's care. So chunks
// branch where the ways to their destinations do, come nearer to one with every hop,
// and cannot get stuck: what is next on the shortest way from the rank in charge does
// not have the chunk, or it would be in charge itself.
//
// Distances are times over an empty network; a hop may lead into a detour, but none
// that makes the way more than half as long again. Of some candidates the chunk is
// sent under the greatest pressure, which is the difference between how many chunks
// wait at the source and at the destination of the hop for the same goal, in relation
// to the hops that lead there (back-pressure: Tassiulas and Ephremides, "Stability
// properties of constrained queueing systems", 1992); of equal ones that which has
// the farthest way to go. Or the other way round: see far.
type steer struct {
	e       *engine
	words   int
	taken   []uint64  // by rank: the chunks that it holds or that are on their way to it
	live    [][]int32 // by rank: the chunks that it holds and somebody still wants
	starts  [][]int32
	first   []int32 // the demands for chunk k are demands[first[k] : first[k]+open[k]]
	open    []int32
	demands []demand
	left    int
	way     *network.Distances
	load    []int32 // by rank and row of way: how many demands for a destination are in its care
	exits   []int32 // by rank and row of way: how many hops lead towards a destination
	far     bool    // the farthest goes first, and the pressure decides between equal ones
	single  bool    // no chunk has more than one destination, so that none needs copies
	undo    []moved // what reserve has changed at the instant undoAt
	undoAt  model.Time
	once    []bool // by rank: it must not send a chunk twice at one instant
	sent    []sending
}

// demand is a destination that is not yet served, and the rank in whose care it is:
// itself if the chunk is on its way to it.
type demand struct{ to, care int32 }

// moved is a demand that a flight has moved, with the rank in whose care it was before.
type moved struct{ flight, demand, care int32 }

// sending is a chunk that a rank sends at the instant undoAt.
type sending struct{ src, chunk int32 }

// candidates is how many candidates are compared.
const candidates = 48

// newSteer returns the store of a pattern; see far and once.
func newSteer(n *network.Network, pt *network.Pattern, way *network.Distances, far bool, once []bool) *steer {
	ranks, chunks := n.Problem.Topology.Ranks, len(n.Problem.Chunks)
	s := &steer{
		words: (chunks + 63) / 64, live: make([][]int32, ranks), starts: make([][]int32, ranks),
		first: make([]int32, chunks), open: make([]int32, chunks), way: way, far: far, single: true, once: once,
	}
	s.taken = make([]uint64, ranks*s.words)
	s.load, s.exits = make([]int32, len(way.To)), network.Ways(n, way)
	for k := range chunks {
		for _, r := range pt.From[k] {
			s.starts[r] = append(s.starts[r], int32(k))
			s.take(r, int32(k))
		}
		s.first[k] = int32(len(s.demands))
		for _, d := range pt.Goals(k, ranks) {
			if s.has(d, int32(k)) {
				continue
			}
			nearest := pt.From[k][0]
			for _, r := range pt.From[k][1:] {
				if way.From(r, d) < way.From(nearest, d) {
					nearest = r
				}
			}
			s.demands = append(s.demands, demand{d, nearest})
			s.load[s.cell(nearest, d)]++
			s.open[k]++
		}
		s.left += int(s.open[k])
		s.single = s.single && s.open[k] <= 1
	}
	return s
}

func (s *steer) has(r, k int32) bool { return s.taken[int(r)*s.words+int(k>>6)]>>(k&63)&1 != 0 }
func (s *steer) take(r, k int32)     { s.taken[int(r)*s.words+int(k>>6)] |= 1 << (k & 63) }
func (s *steer) give(r, k int32)     { s.taken[int(r)*s.words+int(k>>6)] &^= 1 << (k & 63) }

func (s *steer) cell(r, to int32) int { return int(s.way.Row[to])*s.way.Ranks + int(r) }

// waiting returns how many chunks wait at a rank for a destination, in 60ths of a
// chunk a hop.
func (s *steer) waiting(r, to int32) int32 {
	c := s.cell(r, to)
	return s.load[c] * 60 / max(1, s.exits[c])
}

// entrust puts a demand into the care of another rank.
func (s *steer) entrust(d *demand, r int32) {
	s.load[s.cell(d.care, d.to)]--
	s.load[s.cell(r, d.to)]++
	d.care = r
}

func (s *steer) mixes() bool       { return true }
func (s *steer) done() bool        { return s.left == 0 }
func (s *steer) idle(v int32) bool { return false }

func (s *steer) admit(r int32) {
	for _, k := range s.starts[r] {
		if s.open[k] > 0 {
			s.live[r] = append(s.live[r], k)
		}
	}
}

// of returns the demands for a chunk.
func (s *steer) of(k int32) []demand { return s.demands[s.first[k] : s.first[k]+s.open[k]] }

// moves reports whether sending the chunk over a hop would bring it nearer to a demand's
// destination.
func (s *steer) moves(d *demand, x *network.Hop) bool {
	switch {
	case d.care == d.to:
		return false
	case d.to == x.Dst:
		return true
	case d.care != x.Src:
		return false
	}
	return s.way.Leads(s.e.Network, x, d.to)
}

func (s *steer) choose(l int32, rng *random.Stream) int32 {
	x := &s.e.Hops[l]
	best, most, farthest, seen := int32(-1), int32(0), model.Time(0), 0
	i := 0
	if n := len(s.live[x.Src]); n > 1 {
		i = rng.Below(n)
	}
	for left := len(s.live[x.Src]); left > 0 && seen < candidates; left-- {
		live := s.live[x.Src]
		if i >= len(live) {
			i = 0
		}
		k := live[i]
		if s.open[k] == 0 { // all are served
			live[i] = live[len(live)-1]
			s.live[x.Src] = live[:len(live)-1]
			continue
		}
		i++
		if s.has(x.Dst, k) || s.forks(x.Src, k) {
			continue
		}
		moves, pressure, far := false, int32(0), model.Time(0)
		demands := s.of(k)
		for j := range demands {
			if d := &demands[j]; s.moves(d, x) {
				moves = true
				pressure += s.waiting(x.Src, d.to) - s.waiting(x.Dst, d.to)
				far = max(far, s.way.From(x.Src, d.to))
			}
		}
		if !moves {
			continue
		}
		better := cmp.Or(cmp.Compare(pressure, most), cmp.Compare(far, farthest))
		if s.far {
			better = cmp.Or(cmp.Compare(far, farthest), cmp.Compare(pressure, most))
		}
		if best < 0 || better > 0 {
			best, most, farthest = k, pressure, far
		}
		seen++
	}
	return best
}

// forks reports whether a rank that must not do so would send a chunk per second time now.
func (s *steer) forks(src, k int32) bool {
	return s.once != nil && s.once[src] && s.undoAt == s.e.now && slices.Contains(s.sent, sending{src, k})
}

func (s *steer) reserve(i int32) {
	g := &s.e.flights[i]
	x := &s.e.Hops[g.hop]
	if s.undoAt != s.e.now {
		s.undo, s.sent, s.undoAt = s.undo[:0], s.sent[:0], s.e.now
	}
	demands := s.of(g.chunk)
	for j := range demands {
		if d := &demands[j]; d.care != d.to && s.way.From(x.Dst, d.to) < s.way.From(d.care, d.to) {
			if !s.e.Private {
				s.undo = append(s.undo, moved{i, s.first[g.chunk] + int32(j), d.care})
			}
			s.entrust(d, x.Dst)
		}
	}
	s.take(x.Dst, g.chunk)
	if s.single {
		list := s.live[x.Src]
		if j := slices.Index(list, g.chunk); j >= 0 {
			list[j] = list[len(list)-1]
			s.live[x.Src] = list[:len(list)-1]
		}
	}
	if s.once != nil && s.once[x.Src] {
		s.sent = append(s.sent, sending{x.Src, g.chunk})
	}
}

func (s *steer) unreserve(i int32) {
	g := &s.e.flights[i]
	x := &s.e.Hops[g.hop]
	for j := range s.undo {
		m := &s.undo[j]
		if m.flight != i {
			continue
		}
		m.flight = -1
		if d := &s.demands[m.demand]; d.care == x.Dst {
			s.entrust(d, m.care)
			continue
		}
		for q := range s.undo[j+1:] { // another flight has moved it on
			if later := &s.undo[j+1+q]; later.demand == m.demand && later.care == x.Dst {
				later.care = m.care
			}
		}
	}
	s.give(x.Dst, g.chunk)
	if s.single {
		s.live[x.Src] = append(s.live[x.Src], g.chunk)
	}
	if j := slices.Index(s.sent, sending{x.Src, g.chunk}); j >= 0 {
		s.sent = slices.Delete(s.sent, j, j+1)
	}
}

func (s *steer) arrive(i int32) {
	g := &s.e.flights[i]
	k, v := g.chunk, s.e.Hops[g.hop].Dst
	demands := s.of(k)
	for j := range demands {
		if demands[j].to == v {
			demands[j] = demands[len(demands)-1]
			s.open[k]--
			s.left--
			break
		}
	}
	if s.open[k] > 0 {
		s.live[v] = append(s.live[v], k)
	}
}

// rebind implements store; nothing is ever lost here.
func (s *steer) rebind(int32) int32 { return -1 }

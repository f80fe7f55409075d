// Package ten builds time-expanded networks: the hops of a topology times the
// epochs of a discretised time, with what each chunk may do where and when. Every
// exact method works on one.
//
// Epochs last Network.Epoch picoseconds. A transfer of chunk k over hop h that
// starts with epoch t keeps its links busy for Busy epochs and has arrived Delay
// epochs later; both are rounded up, so that a solution in epochs can always be
// carried out in at most as much real time. Solutions are re-timed exactly.
package ten

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/hop"
)

// Network is a time-expanded network for the chunks of a problem that does not
// reduce.
type Network struct {
	Problem *model.Problem
	Epoch   model.Time // duration of an epoch; under Rounds an epoch is a round, and this is 0
	Horizon int        // epochs; transfers must have arrived when the last one ends
	Hops    []hop.Hop

	holder [][]bool  // by chunk and rank: has the chunk from the start
	wants  [][]bool  // by chunk and rank: must have it at the end
	early  [][]int32 // by chunk and rank: the first epoch at which it can be there
	late   [][]int32 // by chunk and rank: the last epoch at which an arrival is of use
	busy   [][]int32 // by size class and hop
	delay  [][]int32
	class  []int   // of each chunk
	sizes  []int64 // of each class
	ready  []int32 // by rank: the first epoch after its arrival
}

const never = 1 << 30

// New builds the network. It takes O(chunks · (ranks + hops) · log ranks) time and
// memory for chunks · ranks epochs; nothing that depends on the horizon.
func New(p *model.Problem, hops []hop.Hop, epoch model.Time, horizon int) *Network {
	n := &Network{Problem: p, Epoch: epoch, Horizon: horizon, Hops: hops, ready: make([]int32, p.Topology.Ranks)}
	for r := range n.ready {
		if epoch > 0 {
			n.ready[r] = int32(min(int64((p.ReleaseOf(r)+epoch-1)/epoch), never))
		}
	}
	n.classes()
	ranks := p.Topology.Ranks
	for k := range p.Chunks {
		holder, wants := make([]bool, ranks), make([]bool, ranks)
		for r := range p.Start(k) {
			holder[r] = true
		}
		for r := range p.Goal(k) {
			wants[r] = !holder[r]
		}
		n.holder, n.wants = append(n.holder, holder), append(n.wants, wants)
		n.early = append(n.early, n.earliest(k))
		n.late = append(n.late, n.latest(k))
	}
	return n
}

// classes puts chunks of equal size together, and computes what hops cost them.
func (n *Network) classes() {
	of := map[int64]int{}
	for _, c := range n.Problem.Chunks {
		i, known := of[c.Size]
		if !known {
			i = len(n.sizes)
			of[c.Size] = i
			n.sizes = append(n.sizes, c.Size)
			busy, delay := make([]int32, len(n.Hops)), make([]int32, len(n.Hops))
			for h := range n.Hops {
				busy[h], delay[h] = n.cost(n.Hops[h].Routes[0], c.Size)
			}
			n.busy, n.delay = append(n.busy, busy), append(n.delay, delay)
		}
		n.class = append(n.class, i)
	}
}

func (n *Network) cost(route []int, size int64) (busy, delay int32) {
	if n.Problem.Cost.Synchronous() {
		return 1, 1
	}
	t := n.Problem.Topology
	longest := model.Time(0)
	for _, s := range t.Busy(n.Problem.Cost, route, size, nil) {
		longest = max(longest, s.To-s.From)
	}
	up := func(d model.Time) int32 { return int32(min(int64((d+n.Epoch-1)/n.Epoch), never)) }
	return up(longest), up(t.Duration(route, size))
}

// Busy is for how many epochs a transfer of chunk k keeps the links of hop h busy.
func (n *Network) Busy(k, h int) int { return int(n.busy[n.class[k]][h]) }

// Delay is how many epochs after its start a transfer of chunk k over hop h has arrived.
func (n *Network) Delay(k, h int) int { return int(n.delay[n.class[k]][h]) }

// Holds reports whether rank r has chunk k from the start, or from its arrival.
func (n *Network) Holds(k, r int) bool { return n.holder[k][r] }

// Wants reports whether rank r must have chunk k at the end, and has not at the start.
func (n *Network) Wants(k, r int) bool { return n.wants[k][r] }

// Earliest is the first epoch at which chunk k can be at rank r.
func (n *Network) Earliest(k, r int) int { return int(n.early[k][r]) }

// Window returns the epochs first..last in which a transfer of chunk k over hop h
// may start without being impossible or useless; there are none if last < first.
func (n *Network) Window(k, h int) (first, last int) {
	src, dst := n.Hops[h].Src, n.Hops[h].Dst
	if n.holder[k][dst] {
		return 0, -1 // it has the chunk already
	}
	first = int(max(n.early[k][src], n.ready[src], n.ready[dst]))
	last = int(n.late[k][dst]) + n.Horizon - n.Delay(k, h)
	return first, last
}

// earliest runs Bellman and Ford's relaxation from the holders: small graphs, few
// rounds.
func (n *Network) earliest(k int) []int32 {
	at := make([]int32, n.Problem.Topology.Ranks)
	for r := range at {
		at[r] = never
		if n.holder[k][r] {
			at[r] = n.ready[r]
		}
	}
	for changed := true; changed; {
		changed = false
		for h := range n.Hops {
			src, dst := n.Hops[h].Src, n.Hops[h].Dst
			if at[src] == never {
				continue
			}
			if t := max(at[src], n.ready[src], n.ready[dst]) + int32(n.Delay(k, h)); t < at[dst] {
				at[dst], changed = t, true
			}
		}
	}
	return at
}

// latest returns, counted from the horizon (so 0 or less), the last epoch at which
// the chunk can come to a rank and still be of use there or further on.
func (n *Network) latest(k int) []int32 {
	at := make([]int32, n.Problem.Topology.Ranks)
	for r := range at {
		at[r] = -never
		if n.wants[k][r] {
			at[r] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for h := range n.Hops {
			src, dst := n.Hops[h].Src, n.Hops[h].Dst
			if at[dst] == -never {
				continue
			}
			if t := at[dst] - int32(n.Delay(k, h)); t > at[src] {
				at[src], changed = t, true
			}
		}
	}
	return at
}

// Open makes of the horizon the end of a round after which others follow: every arrival of
// a chunk that is still wanted somewhere is of use.
func (n *Network) Open() {
	for k := range n.late {
		if slices.Contains(n.wants[k], true) {
			clear(n.late[k])
		}
	}
}

// Unreachable returns a chunk and a rank that wants it and cannot be reached, or
// ok = false.
func (n *Network) Unreachable() (chunk, rank int, ok bool) {
	for k := range n.wants {
		for r, wants := range n.wants[k] {
			if wants && n.early[k][r] >= never {
				return k, r, true
			}
		}
	}
	return 0, 0, false
}

// LeastHorizon returns a number of epochs below which there is no solution: the
// farthest demand, and for each rank the epochs that its hops need to bring all
// that it wants, or to take away what only it has.
func (n *Network) LeastHorizon() int {
	least := 0
	p := n.Problem
	for k := range n.wants {
		for r, wants := range n.wants[k] {
			if wants {
				least = max(least, int(n.early[k][r]))
			}
		}
	}
	for r := range p.Topology.Ranks {
		incoming, outgoing := 0, 0
		for k := range n.wants {
			if n.wants[k][r] {
				incoming++
			}
			only := n.holder[k][r]
			for s, h := range n.holder[k] {
				only = only && (s == r || !h)
			}
			wanted := false
			for s, w := range n.wants[k] {
				wanted = wanted || w && s != r
			}
			if only && wanted {
				outgoing++
			}
		}
		for _, side := range []struct {
			count int
			end   func(hop.Hop) int
		}{{incoming, func(h hop.Hop) int { return h.Dst }}, {outgoing, func(h hop.Hop) int { return h.Src }}} {
			for !n.enough(r, side.count, least, side.end) {
				least++
			}
		}
	}
	return least
}

// enough reports whether the hops at one side of rank r can carry count chunks in this
// many epochs, if each link that they use at the rank carries one at a time.
func (n *Network) enough(r, count, epochs int, end func(hop.Hop) int) bool {
	if count == 0 {
		return true
	}
	type pace struct{ busy, delay int }
	links := map[int]pace{} // of the smallest chunk, by the quickest hop over each link
	for h, x := range n.Hops {
		if end(x) != r {
			continue
		}
		for _, route := range x.Routes {
			l := route[len(route)-1]
			if x.Src == r {
				l = route[0]
			}
			best, known := links[l]
			if !known {
				best = pace{never, never}
			}
			for c := range n.sizes {
				best.busy, best.delay = min(best.busy, int(n.busy[c][h])), min(best.delay, int(n.delay[c][h]))
			}
			links[l] = best
		}
	}
	carried := 0
	for _, p := range links {
		if epochs >= p.delay {
			carried += 1 + (epochs-p.delay)/p.busy
		}
	}
	if n.Problem.Cost == model.Rounds {
		carried = min(carried, epochs)
	}
	return carried >= count
}

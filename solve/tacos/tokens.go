package tacos

import (
	"container/heap"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Where every chunk has one destination nothing is gained by copies: a chunk is a
// token that moves, at each hop nearer to where it must go. The token with the
// farthest way to go is sent first.

// distances returns the distance in hops from each rank to each.
func (n *network) distances() [][]int32 {
	ranks := n.p.Topology.Ranks
	in := make([][]int32, ranks)
	for h := range n.hops {
		in[n.hops[h].Dst] = append(in[n.hops[h].Dst], int32(n.hops[h].Src))
	}
	dist := make([][]int32, ranks) // dist[d][r]: from r to d
	for d := range ranks {
		dist[d] = make([]int32, ranks)
		for r := range dist[d] {
			dist[d][r] = -1
		}
		dist[d][d] = 0
		queue := []int32{int32(d)}
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			for _, u := range in[v] {
				if dist[d][u] < 0 {
					dist[d][u] = dist[d][v] + 1
					queue = append(queue, u)
				}
			}
		}
	}
	return dist
}

// tokens makes a schedule for a problem in which every chunk starts at one rank and
// must go to one.
func (n *network) tokens(dist [][]int32, seed uint64, stop func() bool) *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(n.p.Cost), Routes: n.routes}
	x := n.newTry(seed, func(t model.Transfer) { s.Transfers = append(s.Transfers, t) })
	at := make([][]int32, n.p.Topology.Ranks) // the tokens that wait at each rank
	target := make([]int32, len(n.p.Chunks))
	waiting := 0
	for k := range n.p.Chunks {
		for r := range n.p.Goal(k) {
			target[k] = int32(r)
		}
		for r := range n.p.Start(k) {
			if int32(r) != target[k] {
				at[r] = append(at[r], int32(k))
				waiting++
			}
		}
	}
	now := model.Time(0)
	for step := 0; waiting > 0; step++ {
		if step%256 == 0 && stop() {
			return nil
		}
		slices.Sort(x.wake)
		x.rng.Shuffle(len(x.wake), func(i, j int) { x.wake[i], x.wake[j] = x.wake[j], x.wake[i] })
		for _, h := range x.wake {
			x.awake[h] = false
			for l := x.first[h]; l < x.first[h+1]; l++ {
				if !x.forward(h, l, now, at, target, dist) {
					break
				}
			}
		}
		x.wake = x.wake[:0]
		if len(x.queue) == 0 {
			return nil
		}
		now = x.queue[0].at
		for len(x.queue) > 0 && x.queue[0].at == now {
			e := heap.Pop(&x.queue).(event)
			if e.chunk < 0 {
				x.rouse(e.where)
				continue
			}
			if target[e.chunk] == e.where {
				waiting--
				continue
			}
			at[e.where] = append(at[e.where], e.chunk)
			for _, h := range x.out[e.where] {
				x.rouse(h)
			}
		}
	}
	return s
}

// forward starts a token over a lane of a hop now, if there is one that it brings
// nearer. It returns false if the hop has nothing to carry.
func (x *try) forward(h, l int32, now model.Time, at [][]int32, target []int32, dist [][]int32) bool {
	src, dst := x.hops[h].Src, x.hops[h].Dst
	if !x.p.Cost.Synchronous() {
		if r := max(x.p.ReleaseOf(src), x.p.ReleaseOf(dst)); now < r {
			x.again(r, now, h)
			return false
		}
	}
	if !x.open(h, l, now) {
		return true
	}
	chosen, farthest := -1, int32(0)
	for i, k := range at[src] {
		if d := dist[target[k]]; d[dst] < d[src] && d[src] > farthest {
			chosen, farthest = i, d[src]
		}
	}
	if chosen < 0 {
		return false
	}
	k := at[src][chosen]
	x.start(h, l, int(k), now)
	at[src] = slices.Delete(at[src], chosen, chosen+1)
	return true
}

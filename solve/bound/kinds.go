package bound

import (
	"container/heap"
	"math/bits"

	"github.com/oraccl/oraccl/model"
)

// ranks returns the best bound of what must enter, or leave, one rank.
func (f *finder) ranks(ingress bool) (model.Time, model.Witness) {
	var best model.Time
	var witness model.Witness
	inside := make([]bool, f.p.Topology.Nodes())
	for r := range f.p.Topology.Ranks {
		for v := range inside {
			inside[v] = (v == r) != ingress
		}
		links := f.out[r]
		if ingress {
			links = f.in[r]
		}
		if t := f.least(f.leaving(inside), [][]int{links}, f.p.Cost == model.Rounds); t > best {
			best = t
			if witness = (model.Egress{Rank: r}); ingress {
				witness = model.Ingress{Rank: r}
			}
		}
	}
	return best, witness
}

// volume returns the bound of the receives that the collective needs: one for each
// rank that must end with something else than it has, and, for those that reduce,
// n-1 to make the first complete value and one for each other rank that wants it.
func (f *finder) volume() (model.Time, model.Witness) {
	var l load
	n := int64(len(f.p.Members()))
	for k, c := range f.units.Chunks {
		receives := int64(0)
		switch f.p.Collective.Kind {
		case model.Broadcast, model.AllGather, model.Reduce, model.ReduceScatter:
			receives = n - 1
		case model.AllReduce:
			receives = 2 * (n - 1)
		case model.Scatter, model.Gather, model.AllToAll, model.Custom:
			receives = f.unsatisfied(k)
		}
		if receives > 0 {
			l.add(receives, c.Size)
		}
	}
	return f.least(l, f.in[:f.p.Topology.Ranks], f.p.Cost == model.Rounds), model.Volume{}
}

// unsatisfied counts the ranks that lack, at the start, a contribution that they
// must end with.
func (f *finder) unsatisfied(k int) (n int64) {
	for r, want := range f.units.Goal(k) {
		has := map[int]bool{}
		for h, v := range f.units.Start(k) {
			if h == r {
				for j := range v.Terms() {
					has[j] = true
				}
			}
		}
		for j := range want.Terms() {
			if !has[j] {
				n++
				break
			}
		}
	}
	return n
}

// distance returns the bound of the contribution that has farthest to travel.
// Shortest paths, computed from each holder, are the potentials: along a link that
// leaves a rank latency and transfer time, along one that leaves a switch latency.
func (f *finder) distance() (model.Time, model.Witness) {
	var best model.Time
	var witness model.Distance
	type key struct {
		source int
		size   int64
	}
	cache := map[key][]model.Time{}
	for k, c := range f.units.Chunks {
		size := c.Size
		if f.p.Chunks == nil {
			size = 1
		}
		holders := map[int][]int{} // of each contribution
		for r, v := range f.units.Start(k) {
			for j := range v.Terms() {
				holders[j] = append(holders[j], r)
			}
		}
		for r, want := range f.units.Goal(k) {
			for j := range want.Terms() {
				at := holders[j]
				if len(at) != 1 || at[0] == r {
					continue
				}
				dist, known := cache[key{at[0], size}]
				if !known {
					dist = f.distances(at[0], size)
					cache[key{at[0], size}] = dist
				}
				if dist[r] > best {
					best = dist[r]
					witness = model.Distance{Chunk: k, Shard: f.units.Shard(k), Source: j, Dest: r, Potential: dist}
					if f.p.Chunks == nil {
						witness.Chunk, witness.Shard = -1, k
					}
				}
			}
		}
	}
	return best, witness
}

// distances returns the times before which nothing that rank s has can be
// elsewhere, MaxTime/2 where there is no path.
func (f *finder) distances(s int, size int64) []model.Time {
	t := f.p.Topology
	dist := make([]model.Time, t.Nodes())
	for v := range dist {
		dist[v] = model.MaxTime / 2
	}
	dist[s] = f.p.ReleaseOf(s)
	queue := &nodeHeap{{dist[s], s}}
	for queue.Len() > 0 {
		n := heap.Pop(queue).(nodeAt)
		if n.at > dist[n.node] {
			continue
		}
		from := n.at
		if t.IsRank(n.node) {
			from = max(from, f.p.ReleaseOf(n.node))
		}
		for _, i := range f.out[n.node] {
			l := &t.Links[i]
			d := from.Add(l.Alpha)
			if t.IsRank(l.Src) {
				d = d.Add(model.TransferTime(size, l.Bandwidth))
			}
			if d < dist[l.Dst] {
				dist[l.Dst] = d
				heap.Push(queue, nodeAt{d, l.Dst})
			}
		}
	}
	return dist
}

type nodeAt struct {
	at   model.Time
	node int
}

// nodeHeap is a container/heap of nodes, the nearest on top.
type nodeHeap []nodeAt

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *nodeHeap) Push(x any) { *h = append(*h, x.(nodeAt)) }

// Pop implements heap.Interface.
func (h *nodeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// doubling returns the bound of how fast the ranks that hold a contribution can
// grow in number: they at most double in a round.
func (f *finder) doubling() (model.Time, model.Witness) {
	var best model.Time
	var witness model.Doubling
	for _, s := range f.p.Topology.Switches {
		if s.Copies {
			return 0, nil
		}
	}
	for k, c := range f.units.Chunks {
		size := c.Size
		if f.p.Chunks == nil {
			size = 1
		}
		round := model.MaxTime
		for _, l := range f.p.Topology.Links {
			if f.p.Topology.IsRank(l.Src) {
				round = min(round, l.Alpha.Add(model.TransferTime(size, l.Bandwidth)))
			}
		}
		ranks := map[int]map[int]bool{} // that hold or must hold a contribution
		starts := map[int][]int{}
		for r, v := range f.units.Start(k) {
			for j := range v.Terms() {
				starts[j] = append(starts[j], r)
				if ranks[j] == nil {
					ranks[j] = map[int]bool{}
				}
				ranks[j][r] = true
			}
		}
		for r, v := range f.units.Goal(k) {
			for j := range v.Terms() {
				if ranks[j] != nil {
					ranks[j][r] = true
				}
			}
		}
		for j, in := range ranks {
			first := model.MaxTime
			for _, r := range starts[j] {
				first = min(first, f.p.ReleaseOf(r))
			}
			t := first.Add(round.Mul(int64(bits.Len(uint((len(in) - 1) / len(starts[j]))))))
			if len(in) > len(starts[j]) && (t > best || t == best && j < witness.Source) {
				best = t
				witness = model.Doubling{Chunk: k, Shard: f.units.Shard(k), Source: j}
				if f.p.Chunks == nil {
					witness.Chunk, witness.Shard = -1, k
				}
			}
		}
	}
	return best, witness
}

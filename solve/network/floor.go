package network

import (
	"slices"
	"sort"

	"github.com/oraccl/oraccl/model"
)

// Floor returns a time before which no schedule of a pattern ends, however good: what
// a rank must receive has to come over the links that lead to it. Tries that reach it
// need no successors. It takes O(hops·log time). In rounds it is 0.
func (n *Network) Floor(pt *Pattern) model.Time {
	if n.Problem.Cost.Synchronous() {
		return 0
	}
	class := n.Smallest()
	latest := model.Time(0)
	for v, chunks := range n.wants(pt) {
		doors := n.doors(v, class)
		if chunks == 0 || len(doors) == 0 {
			continue
		}
		enough := func(t model.Time) bool {
			count := int64(0)
			for _, d := range doors {
				if t >= d.first {
					count += 1 + int64((t-d.first)/d.every)
				}
			}
			return count >= chunks
		}
		most := doors[0].first + doors[0].every.Mul(chunks)
		for _, d := range doors {
			most = min(most, d.first+d.every.Mul(chunks))
		}
		if enough(latest) {
			continue
		}
		rest := sort.Search(int(most-latest), func(i int) bool { return enough(latest + model.Time(i)) })
		latest += model.Time(rest)
	}
	return latest
}

// wants returns how many chunks each rank has to get.
func (n *Network) wants(pt *Pattern) []int64 {
	ranks := n.Problem.Topology.Ranks
	wants := make([]int64, ranks)
	for k, from := range pt.From {
		if pt.To == nil {
			continue
		}
		for _, r := range pt.To[k] {
			wants[r]++
		}
		for _, r := range from {
			for _, to := range pt.To[k] {
				if to == r {
					wants[r]--
				}
			}
		}
	}
	if pt.To == nil {
		for r := range wants {
			wants[r] = int64(len(pt.From))
		}
		for _, from := range pt.From {
			for _, r := range from {
				wants[r]--
			}
		}
	}
	return wants
}

// door is a link next to a rank, over which chunks can arrive one after the other.
type door struct{ first, every model.Time }

// doors returns the links over which rank v receives chunks of a size class.
func (n *Network) doors(v int, class int32) []door {
	at := map[int]int{}
	var doors []door
	for i := n.Into[v]; i < n.Into[v+1]; i++ {
		x := &n.Hops[i]
		route := n.Routes[x.Route]
		l := route[len(route)-1]
		if n.Mirrored {
			l = route[0]
		}
		every := n.Compute(n.Problem.Topology.Links[l].Bandwidth, n.Sizes[class])
		if n.Problem.Cost == model.Blocking {
			every += n.Problem.Topology.Links[l].Alpha
		}
		first := n.Lasts(x, class)
		if j, known := at[l]; known {
			doors[j].first = min(doors[j].first, first)
			continue
		}
		at[l] = len(doors)
		doors = append(doors, door{first, every})
	}
	return doors
}

// Uneven reports whether direct links give some member much less bandwidth than members have on average, as they do at the corners of
// meshes. There the two halves of an allreduce, one after the other, would keep those members busy for much longer than links need on
// average. O(links).
func Uneven(p *model.Problem) bool {
	t := p.Topology
	if t.Nodes() > t.Ranks || len(t.Ports) > 0 || !Everyone(p) {
		return false
	}
	out, sum := make([]int64, t.Ranks), int64(0)
	for _, l := range t.Links {
		out[l.Src] += l.Bandwidth
		sum += l.Bandwidth
	}
	return float64(sum) > uneven*float64(slices.Min(out))*float64(t.Ranks)
}

// uneven is how many times as much bandwidth members have on average, at least, as the least.
const uneven = 1.25

package tacos

import (
	"sort"

	"github.com/oraccl/oraccl/model"
)

// floor returns a time before which no schedule of a pattern ends, however good: what
// a rank must receive has to come over the links that lead to it. Tries that reach it
// need no successors. It takes O(lanes·log time). In rounds it is 0.
func (n *network) floor(pt *pattern) model.Time {
	if n.p.Cost.Synchronous() {
		return 0
	}
	class := int32(0)
	for c, size := range n.sizes {
		if size < n.sizes[class] {
			class = int32(c)
		}
	}
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
func (n *network) wants(pt *pattern) []int64 {
	ranks := n.p.Topology.Ranks
	wants := make([]int64, ranks)
	for k, from := range pt.from {
		if pt.to == nil {
			continue
		}
		for _, r := range pt.to[k] {
			wants[r]++
		}
		for _, r := range from {
			for _, to := range pt.to[k] {
				if to == r {
					wants[r]--
				}
			}
		}
	}
	if pt.to == nil {
		for r := range wants {
			wants[r] = int64(len(pt.from))
		}
		for _, from := range pt.from {
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
func (n *network) doors(v int, class int32) []door {
	at := map[int]int{}
	var doors []door
	for i := n.into[v]; i < n.into[v+1]; i++ {
		x := &n.lanes[i]
		route := n.routes[x.route]
		l := route[len(route)-1]
		if n.mirrored {
			l = route[0]
		}
		every := n.compute(n.p.Topology.Links[l].Bandwidth, n.sizes[class])
		if n.p.Cost == model.Blocking {
			every += n.p.Topology.Links[l].Alpha
		}
		first := n.lasts(x, class)
		if j, known := at[l]; known {
			doors[j].first = min(doors[j].first, first)
			continue
		}
		at[l] = len(doors)
		doors = append(doors, door{first, every})
	}
	return doors
}

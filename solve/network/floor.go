package network

import (
	"maps"
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

// Uneven reports whether direct links give members much more bandwidth on average than some member has, as they do at the corners of
// meshes. There the two halves of an allreduce, one after the other, would keep those members busy for much longer than links need on
// average. O(links).
func Uneven(p *model.Problem) bool {
	if !direct(p) {
		return false
	}
	out, sum := make([]float64, p.Topology.Ranks), 0.0
	for _, l := range p.Topology.Links {
		out[l.Src] += float64(l.Bandwidth)
		sum += float64(l.Bandwidth)
	}
	return sum > uneven*slices.Min(out)*float64(len(out))
}

// Irregular reports whether direct links give all members about as much bandwidth, but not alike to their neighbours: there what groups do that are
// alike in size takes as long as the slowest of them. O(links·log links).
func Irregular(p *model.Problem) bool {
	return direct(p) && !Uneven(p) && !alike(p.Topology)
}

// Packs reports whether trees packed in the fluid limit are likely the best for p: an allreduce over direct links that are busy for
// a thousand latencies, where no symmetry moves all ranks, since they have other bandwidths to their neighbours. O(links·log links).
func Packs(p *model.Problem) bool {
	return p.Collective.Kind == model.AllReduce && direct(p) && Latencies(p) >= manyLatencies && !alike(p.Topology)
}

// alike reports whether all ranks have the same bandwidths to their neighbours, in whatever order.
func alike(t *model.Topology) bool {
	to := make([]map[int]float64, t.Nodes())
	for _, l := range t.Links {
		if to[l.Src] == nil {
			to[l.Src] = map[int]float64{}
		}
		to[l.Src][l.Dst] += float64(l.Bandwidth)
	}
	first := slices.Sorted(maps.Values(to[0]))
	for _, list := range to[1:] {
		if !slices.Equal(first, slices.Sorted(maps.Values(list))) {
			return false
		}
	}
	return true
}

// direct reports whether all links are those of ranks, which all are members.
func direct(p *model.Problem) bool {
	return p.Topology.Nodes() == p.Topology.Ranks && len(p.Topology.Ports) == 0 && Everyone(p)
}

const (
	uneven        = 1.25 // times as much bandwidth
	manyLatencies = 1000
	fewLatencies  = 32
)

// Latent reports whether p is an allreduce in which latencies count: it keeps links busy for few of them. O(links).
func Latent(p *model.Problem) bool {
	return p.Collective.Kind == model.AllReduce && Latencies(p) < fewLatencies
}

// Latencies returns for how many latencies of a link an allreduce keeps the links of p busy at least, on average. O(links).
func Latencies(p *model.Problem) float64 {
	bandwidth, latency := 0.0, model.Time(1)
	for _, l := range p.Topology.Links {
		bandwidth += float64(l.Bandwidth)
		latency = max(latency, l.Alpha)
	}
	return 2 * float64(p.Size) * float64(p.Topology.Ranks-1) / bandwidth * float64(model.Second) / float64(latency)
}

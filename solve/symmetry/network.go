package symmetry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// network is a topology as a graph with colours: its vertices are the nodes and, after
// them, the ports, and an arc stands for all links from one node to another.
type network struct {
	t      *model.Topology
	colour []int     // of a vertex
	arcs   [][]arc   // of a vertex, each way
	links  [][]int   // by source: the links, sorted by destination, latency, bandwidth, number
	offset []int32   // of a link among those of one source
	ports  [][]int   // of a link
	inside [][2]int  // arcs, one way, whose ends are both no ranks
	far    [][]int16 // between vertices, or nil: see measure
}

// arc leads to a vertex. Equal colours stand for as many links of the same figures.
type arc struct {
	to     int32
	colour uint64
}

func (net *network) vertices() int { return len(net.colour) }

// maxMeasured is up to how many vertices, and how many of them times links, distances are
// looked at.
const (
	maxMeasured = 1 << 11
	maxMeasures = 1 << 25
)

// measure finds how many arcs each vertex is from each other, whichever way they lead, where
// the network is not so dense that this means little.
func (net *network) measure() {
	n := net.vertices()
	if n > maxMeasured || n*len(net.t.Links) > maxMeasures {
		return
	}
	net.far = make([][]int16, n)
	var queue []int32
	for v := range n {
		far := make([]int16, n)
		for u := range far {
			far[u] = int16(n)
		}
		far[v] = 0
		queue = append(queue[:0], int32(v))
		for i := 0; i < len(queue); i++ {
			u := queue[i]
			for _, a := range net.arcs[u] {
				if far[a.to] == int16(n) {
					far[a.to] = far[u] + 1
					queue = append(queue, a.to)
				}
			}
		}
		net.far[v] = far
	}
}

// newNetwork takes O(links·log links).
func newNetwork(t *model.Topology, labels []int) *network {
	nodes := t.Nodes()
	net := &network{t: t, colour: make([]int, nodes+len(t.Ports)), arcs: make([][]arc, nodes+len(t.Ports)), links: t.Out(), offset: make([]int32, len(t.Links)), ports: t.PortsOf()}
	colours := map[string]int{}
	number := func(parts ...int64) int {
		var key strings.Builder
		for _, x := range parts {
			key.WriteString(strconv.FormatInt(x, 36))
			key.WriteByte(' ')
		}
		c, known := colours[key.String()]
		if !known {
			c = len(colours)
			colours[key.String()] = c
		}
		return c
	}
	for v := range nodes {
		label, kind := int64(0), int64(0)
		if labels != nil {
			label = int64(labels[v])
		}
		switch {
		case !t.IsRank(v):
			s := t.Switches[v-t.Ranks]
			kind = 1 + 4*int64(s.Reduces) + 16*int64(s.Sums)
			if s.Copies {
				kind++
			}
		}
		net.colour[v] = number(0, kind, label)
	}
	for u := range nodes {
		list := net.links[u]
		slices.SortFunc(list, func(a, b int) int {
			x, y := t.Links[a], t.Links[b]
			return cmp.Or(cmp.Compare(x.Dst, y.Dst), cmp.Compare(x.Alpha, y.Alpha), cmp.Compare(x.Bandwidth, y.Bandwidth), cmp.Compare(a, b))
		})
		for i, l := range list {
			net.offset[l] = int32(i)
		}
		for from := 0; from < len(list); {
			to := from
			key := []int64{1}
			for v := t.Links[list[from]].Dst; to < len(list) && t.Links[list[to]].Dst == v; to++ {
				k := t.Links[list[to]]
				key = append(key, int64(k.Alpha), k.Bandwidth, int64(len(net.ports[list[to]])))
			}
			v := t.Links[list[from]].Dst
			net.connect(u, v, number(key...))
			if !t.IsRank(u) && !t.IsRank(v) {
				net.inside = append(net.inside, [2]int{u, v})
			}
			from = to
		}
	}
	for i := range t.Ports {
		port := &t.Ports[i]
		x := nodes + i
		owner, leaving := ownerOf(t, port)
		ends := map[int][]int64{}
		var order []int
		sorted := slices.Clone(port.Links)
		slices.SortFunc(sorted, func(a, b int) int {
			x, y := t.Links[a], t.Links[b]
			return cmp.Or(cmp.Compare(x.Alpha, y.Alpha), cmp.Compare(x.Bandwidth, y.Bandwidth), cmp.Compare(a, b))
		})
		for _, l := range sorted {
			end := t.Links[l].Dst
			if !leaving {
				end = t.Links[l].Src
			}
			if ends[end] == nil {
				order = append(order, end)
			}
			ends[end] = append(ends[end], int64(t.Links[l].Alpha), t.Links[l].Bandwidth)
		}
		side := int64(0)
		if leaving {
			side = 1
		}
		net.colour[x] = number(2, int64(port.Capacity), side)
		net.connect(x, owner, number(3))
		for _, end := range order {
			net.connect(x, end, number(append([]int64{4}, ends[end]...)...))
		}
	}
	net.measure()
	return net
}

// ownerOf returns the node that all links of a port leave or, if not that, enter.
func ownerOf(t *model.Topology, port *model.Port) (owner int, leaving bool) {
	if len(port.Links) == 0 {
		return 0, false
	}
	first := t.Links[port.Links[0]]
	for _, l := range port.Links {
		if t.Links[l].Src != first.Src {
			return first.Dst, false
		}
	}
	return first.Src, true
}

func (net *network) connect(u, v, colour int) {
	net.arcs[u] = append(net.arcs[u], arc{int32(v), mix(uint64(2 * colour))})
	net.arcs[v] = append(net.arcs[v], arc{int32(u), mix(uint64(2*colour + 1))})
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// between returns the links from u to v.
func (net *network) between(u, v int) []int {
	list := net.links[u]
	from, found := slices.BinarySearchFunc(list, v, func(l, v int) int { return cmp.Compare(net.t.Links[l].Dst, v) })
	if !found {
		return nil
	}
	to := from
	for to < len(list) && net.t.Links[list[to]].Dst == v {
		to++
	}
	return list[from:to]
}

// image returns what a permutation of the vertices makes of link l, or -1. Of parallel
// links that are alike one is moved to that in the same place among those alike, so that
// the images under a product are those under its factors.
func (net *network) image(p []int32, l int) int {
	k := net.t.Links[l]
	to := net.between(int(p[k.Src]), int(p[k.Dst]))
	from := net.between(k.Src, k.Dst)
	if len(to) != len(from) {
		return -1
	}
	place := int(net.offset[l] - net.offset[from[0]])
	ported := false
	for _, x := range from {
		ported = ported || len(net.ports[x]) > 0
	}
	for _, x := range to {
		ported = ported || len(net.ports[x]) > 0
	}
	if !ported {
		return net.ifAlike(l, to[place])
	}
	nth := 0 // of those that are like l, ports included
	for _, x := range from[:place] {
		if net.ifAlike(l, x) >= 0 && slices.Equal(net.ports[x], net.ports[l]) {
			nth++
		}
	}
	want := make([]int, 0, 4)
	for _, x := range net.ports[l] {
		want = append(want, int(p[net.t.Nodes()+x])-net.t.Nodes())
	}
	slices.Sort(want)
	for _, x := range to {
		if net.ifAlike(l, x) >= 0 && slices.Equal(net.ports[x], want) {
			if nth == 0 {
				return x
			}
			nth--
		}
	}
	return -1
}

// ifAlike returns m if it has the figures of link l, else -1.
func (net *network) ifAlike(l, m int) int {
	a, b := net.t.Links[l], net.t.Links[m]
	if a.Alpha != b.Alpha || a.Bandwidth != b.Bandwidth || len(net.ports[l]) != len(net.ports[m]) {
		return -1
	}
	return m
}

// isSymmetry reports whether a permutation of the vertices leaves the network the same, in
// O(links·log links).
func (net *network) isSymmetry(p []int32) bool {
	seen := make([]bool, len(p))
	for v, w := range p {
		if w < 0 || int(w) >= len(p) || seen[w] || net.colour[v] != net.colour[w] {
			return false
		}
		seen[w] = true
	}
	if !net.keepsLinks(p) {
		return false
	}
	n := net.t.Nodes()
	for i := range net.t.Ports { // its links become those of its image
		to := int(p[n+i]) - n
		if to < 0 || len(net.t.Ports[to].Links) != len(net.t.Ports[i].Links) {
			return false
		}
		for _, l := range net.t.Ports[i].Links {
			if !slices.Contains(net.ports[net.image(p, l)], to) {
				return false
			}
		}
	}
	return true
}

// keepsLinks reports whether a permutation of the vertices takes links to links that are like
// them, as many from a node to another as there are between their images.
func (net *network) keepsLinks(p []int32) bool {
	first := make([]int, net.t.Nodes()) // by destination: 1 + the place of its first link
	for u, list := range net.links {
		image := net.links[p[u]]
		if len(image) != len(list) {
			return false
		}
		for i := len(image) - 1; i >= 0; i-- {
			first[net.t.Links[image[i]].Dst] = i + 1
		}
		same := true
		for from := 0; same && from < len(list); {
			v := net.t.Links[list[from]].Dst
			at := first[p[v]] - 1
			for ; same && from < len(list) && net.t.Links[list[from]].Dst == v; from, at = from+1, at+1 {
				same = at >= 0 && at < len(image) && net.t.Links[image[at]].Dst == int(p[v]) && net.ifAlike(list[from], image[at]) >= 0 &&
					(len(net.ports[list[from]]) == 0 || net.image(p, list[from]) >= 0)
			}
			same = same && (at == len(image) || net.t.Links[image[at]].Dst != int(p[v]))
		}
		for _, l := range image {
			first[net.t.Links[l].Dst] = 0
		}
		if !same {
			return false
		}
	}
	return true
}

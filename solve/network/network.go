// Package network sees a topology under a cost model as methods do that plan transfer by
// transfer: as hops from rank to rank, with what each keeps busy, when and for how long. It knows
// what a collective asks of them, who holds each chunk and who wants it, how far ranks are from
// each other, and from when on links are free.
//
// Times are whole picoseconds, or rounds under the cost models that count in them.
package network

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
)

// Hop leads from a rank to a rank without a rank between: a link, or a path over switches.
// Parallel links are hops of their own.
type Hop struct {
	Src, Dst int32
	Route    int32 // index into Network.Routes
	Rate     int32 // index of the bandwidth of its slowest link
	Tie      int32 // where the hops to Dst that are as quick as this one end
	Uses     int32 // its uses are Network.Uses[Uses:UsesEnd]
	UsesEnd  int32
	Alpha    model.Time // latency of the whole path
}

// Use is that a transfer over a hop keeps a resource busy, one of several where a
// port has room for several, from From after its start on for βb + Extra.
type Use struct {
	Choice, ChoiceEnd int32 // the resources are Network.Choices[Choice:ChoiceEnd]
	From, Extra       model.Time
}

// Network is a topology as hops. What is busy is a resource: a link,
// or one of the places of a port; in rounds every rank has a send port and a
// receive port.
//
// A mirrored network runs backwards in time: every hop leads from the destination
// of its route to the source, and keeps its links busy as the same transfer seen
// backwards does. Its schedules, read from the end, are feasible as they stand under
// every cost model, whatever links and ports are shared.
type Network struct {
	Problem   *model.Problem
	Mirrored  bool
	Hops      []Hop   // by destination, then the quickest first
	Routes    [][]int // in the direction of the topology; the same list for both kinds of network
	Into      []int32 // rank v receives over the hops Into[v] to Into[v+1]-1
	Onward    [][]int32
	Uses      []Use
	Choices   []int32
	Resources int
	Private   bool // hop i alone uses resource i, and nothing else
	Patient   bool // a hop may be free before what it carries has arrived
	Rates     []int64
	Sizes     []int64
	Class     []int32      // of each chunk: index of its size
	Table     []model.Time // βb by rate and size, or nil if that would be large
}

// maxTable limits Network.Table; beyond it βb is computed each time.
const maxTable = 1 << 20

// New returns the network of a problem with chunks. It takes O(hops·log hops + chunks).
func New(p *model.Problem, mirrored bool) *Network {
	return Until(p, mirrored, func() bool { return false })
}

// Until returns what New does, or nil if stop ends it.
func Until(p *model.Problem, mirrored bool, stop func() bool) *Network {
	n := &Network{Problem: p, Mirrored: mirrored}
	n.measure()
	hops := hop.Until(p.Topology, stop)
	if stop() {
		return nil
	}
	n.findLanes(hops)
	n.findResources()
	return n
}

// measure sorts the chunks by size. In rounds every transfer takes one round.
func (n *Network) measure() {
	n.Class = make([]int32, len(n.Problem.Chunks))
	if n.Problem.Cost.Synchronous() {
		n.Sizes = []int64{1}
		return
	}
	known := map[int64]int32{}
	for k, c := range n.Problem.Chunks {
		i, ok := known[c.Size]
		if !ok {
			i = int32(len(n.Sizes))
			known[c.Size] = i
			n.Sizes = append(n.Sizes, c.Size)
		}
		n.Class[k] = i
	}
}

func (n *Network) findLanes(hops []hop.Hop) {
	t := n.Problem.Topology
	type found struct {
		Hop
		lasts model.Time // with the first chunk
	}
	var all []found
	rates := map[int64]int32{}
	for _, h := range hops {
		for _, route := range h.Routes {
			f := found{Hop: Hop{Src: int32(h.Src), Dst: int32(h.Dst), Route: int32(len(n.Routes))}}
			n.Routes = append(n.Routes, route)
			if n.Mirrored {
				f.Src, f.Dst = f.Dst, f.Src
			}
			slowest := t.Links[route[0]].Bandwidth
			for _, l := range route {
				slowest = min(slowest, t.Links[l].Bandwidth)
				f.Alpha = f.Alpha.Add(t.Links[l].Alpha)
			}
			if n.Problem.Cost.Synchronous() {
				slowest, f.Alpha = 1, 0
			}
			rate, ok := rates[slowest]
			if !ok {
				rate = int32(len(n.Rates))
				rates[slowest] = rate
				n.Rates = append(n.Rates, slowest)
			}
			f.Rate = rate
			all = append(all, f)
		}
	}
	if size := len(n.Rates) * len(n.Sizes); size <= maxTable {
		n.Table = make([]model.Time, 0, size)
		for _, rate := range n.Rates {
			for _, size := range n.Sizes {
				n.Table = append(n.Table, n.Compute(rate, size))
			}
		}
	}
	for i := range all {
		all[i].lasts = n.Lasts(&all[i].Hop, 0)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.lasts, b.lasts), cmp.Compare(a.Src, b.Src))
	})
	n.Into = make([]int32, t.Ranks+1)
	n.Onward = make([][]int32, t.Ranks)
	n.Hops = make([]Hop, len(all))
	tie := int32(len(all))
	for i := len(all) - 1; i >= 0; i-- {
		if i+1 < len(all) && (all[i].Dst != all[i+1].Dst || all[i].lasts != all[i+1].lasts) {
			tie = int32(i + 1)
		}
		n.Hops[i] = all[i].Hop
		n.Hops[i].Tie = tie
	}
	for i := range n.Hops {
		l := &n.Hops[i]
		n.Into[l.Dst+1]++
		if o := n.Onward[l.Src]; len(o) == 0 || o[len(o)-1] != l.Dst {
			n.Onward[l.Src] = append(o, l.Dst)
		}
	}
	for v := range t.Ranks {
		n.Into[v+1] += n.Into[v]
	}
}

// findResources numbers links in the order of the hops, so that where every hop is
// a link, hop i uses resource i.
func (n *Network) findResources() {
	t := n.Problem.Topology
	number := make([]int32, len(t.Links))
	for l := range number {
		number[l] = -1
	}
	for i := range n.Hops {
		for _, l := range n.Routes[n.Hops[i].Route] {
			if number[l] < 0 {
				number[l] = int32(n.Resources)
				n.Resources++
			}
		}
	}
	ports := n.findPorts()
	users := make([]int32, n.Resources)
	add := func(choice []int32, from, extra model.Time) {
		u := Use{int32(len(n.Choices)), int32(len(n.Choices) + len(choice)), from, extra}
		n.Choices = append(n.Choices, choice...)
		n.Uses = append(n.Uses, u)
		for _, r := range choice {
			users[r]++
		}
	}
	n.Private, n.Patient = true, false
	for i := range n.Hops {
		x := &n.Hops[i]
		x.Uses = int32(len(n.Uses))
		var before model.Time
		for _, l := range n.Routes[x.Route] {
			alpha, extra := t.Links[l].Alpha, model.Time(0)
			if n.Problem.Cost.Synchronous() {
				alpha = 0
			} else if n.Problem.Cost == model.Blocking {
				extra = alpha
			}
			from := before
			if n.Mirrored {
				from = x.Alpha - before - extra // the end of the use, seen from the end of the transfer
			}
			n.Patient = n.Patient || extra != x.Alpha
			add([]int32{number[l]}, from, extra)
			for _, port := range ports[l] {
				add(port, from, extra)
			}
			before = before.Add(alpha)
		}
		x.UsesEnd = int32(len(n.Uses))
		n.Private = n.Private && x.UsesEnd-x.Uses == 1 && n.Choices[n.Uses[x.Uses].Choice] == int32(i)
	}
	for _, u := range users {
		n.Private = n.Private && u <= 1
	}
}

// findPorts returns for each link the ports that it belongs to, each as the
// resources of its places. Ports that cannot be overloaded are left out.
func (n *Network) findPorts() [][][]int32 {
	t := n.Problem.Topology
	ports := make([][][]int32, len(t.Links))
	add := func(links []int, capacity int) {
		if capacity >= len(links) {
			return
		}
		places := make([]int32, capacity)
		for i := range places {
			places[i] = int32(n.Resources)
			n.Resources++
		}
		for _, l := range links {
			ports[l] = append(ports[l], places)
		}
	}
	for _, q := range t.Ports {
		add(q.Links, q.Capacity)
	}
	if n.Problem.Cost == model.Rounds {
		out, in := t.Out(), t.In()
		for r := range t.Ranks {
			add(out[r], 1)
			add(in[r], 1)
		}
	}
	return ports
}

// Compute returns βb.
func (n *Network) Compute(rate, size int64) model.Time {
	if n.Problem.Cost.Synchronous() {
		return 1
	}
	return model.TransferTime(size, rate)
}

// Beta returns βb of a chunk of a size class over a hop.
func (n *Network) Beta(l *Hop, class int32) model.Time {
	if n.Table != nil {
		return n.Table[int(l.Rate)*len(n.Sizes)+int(class)]
	}
	return n.Compute(n.Rates[l.Rate], n.Sizes[class])
}

// Lasts returns how long a transfer of a chunk of a size class over a hop takes.
func (n *Network) Lasts(l *Hop, class int32) model.Time { return l.Alpha + n.Beta(l, class) }

// Ends returns the ends of a hop in the direction of the topology.
func (n *Network) Ends(l *Hop) (src, dst int32) {
	if n.Mirrored {
		return l.Dst, l.Src
	}
	return l.Src, l.Dst
}

// Even reports whether all transfers last equally long.
func (n *Network) Even() bool {
	if len(n.Sizes) > 1 {
		return false
	}
	for i := range n.Hops {
		if n.Lasts(&n.Hops[i], 0) != n.Lasts(&n.Hops[0], 0) {
			return false
		}
	}
	return true
}

// Longest returns how long any transfer lasts at most.
func (n *Network) Longest() model.Time {
	longest := model.Time(0)
	for i := range n.Hops {
		for class := range n.Sizes {
			longest = max(longest, n.Lasts(&n.Hops[i], int32(class)))
		}
	}
	return longest
}

// Exits lists the hops that leave each rank: List[First[v]:First[v+1]]. They lead to the same
// entries of To.
type Exits struct{ First, List, To []int32 }

// NewExits takes O(hops) time.
func NewExits(n *Network) *Exits {
	ranks := n.Problem.Topology.Ranks
	x := &Exits{First: make([]int32, ranks+1), List: make([]int32, len(n.Hops)), To: make([]int32, len(n.Hops))}
	for i := range n.Hops {
		x.First[n.Hops[i].Src+1]++
	}
	for v := range ranks {
		x.First[v+1] += x.First[v]
	}
	next := slices.Clone(x.First)
	for i := range n.Hops {
		v := n.Hops[i].Src
		x.List[next[v]], x.To[next[v]] = int32(i), n.Hops[i].Dst
		next[v]++
	}
	return x
}

// Of returns the hops that leave a rank.
func (x *Exits) Of(v int32) []int32 { return x.List[x.First[v]:x.First[v+1]] }

// Outsiders reports of each rank whether it adds nothing of its own to a reduction: the
// first chunk that comes to it is copied, and the others are added, so that the first
// one must not come together with another. It returns nil for a network that is not mirrored.
func (n *Network) Outsiders() []bool {
	if !n.Mirrored {
		return nil
	}
	return solve.Outsiders(n.Problem)
}

// Largest returns the size class of the largest chunks.
func (n *Network) Largest() int32 { return n.extreme(func(a, b int64) bool { return a > b }) }

// Smallest returns the size class of the smallest chunks.
func (n *Network) Smallest() int32 { return n.extreme(func(a, b int64) bool { return a < b }) }

func (n *Network) extreme(before func(a, b int64) bool) int32 {
	class := int32(0)
	for c, size := range n.Sizes {
		if before(size, n.Sizes[class]) {
			class = int32(c)
		}
	}
	return class
}

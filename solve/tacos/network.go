package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/hop"
)

// lane is one way from a rank to a rank without a rank between: a link, or a path
// over switches. Parallel links are lanes of their own.
type lane struct {
	src, dst int32
	route    int32 // index into network.routes
	rate     int32 // index of the bandwidth of its slowest link
	tie      int32 // where the lanes into dst that are as quick as this one end
	uses     int32 // its uses are network.uses[uses:usesEnd]
	usesEnd  int32
	alpha    model.Time // latency of the whole path
}

// use says that a transfer over a lane keeps a resource busy, one of some where a
// port has room for several, from "from" after its start for βb + extra.
type use struct {
	choice, choiceEnd int32 // the resources are network.choices[choice:choiceEnd]
	from, extra       model.Time
}

// network is a topology as the engine sees it. What is busy is a resource: a link,
// or one of the places of a port; in rounds every rank has a send port and a
// receive port.
//
// A mirrored network runs backwards in time: every lane leads from the destination
// of its route to the source, and keeps its links busy as the same transfer seen
// backwards does. Its schedules, read from the end, are feasible as they stand under
// every cost model, whatever links and ports are shared.
type network struct {
	p         *model.Problem
	mirrored  bool
	lanes     []lane  // by destination, then the quickest first
	routes    [][]int // in the direction of the topology; the same list for both kinds of network
	into      []int32 // rank v receives over the lanes into[v] to into[v+1]-1
	onward    [][]int32
	uses      []use
	choices   []int32
	resources int
	private   bool // lane i alone uses resource i, and nothing else
	patient   bool // a lane may be free before what it carries has arrived
	rates     []int64
	sizes     []int64
	class     []int32      // of each chunk: index of its size
	table     []model.Time // βb by rate and size, or nil if that would be large
}

// maxTable limits network.table; beyond it βb is computed anew each time.
const maxTable = 1 << 20

// newNetwork takes O(lanes·log lanes + chunks).
func newNetwork(p *model.Problem, mirrored bool) *network {
	n := &network{p: p, mirrored: mirrored}
	n.measure()
	n.findLanes()
	n.findResources()
	return n
}

// measure sorts the chunks by size. In rounds every transfer takes one round.
func (n *network) measure() {
	n.class = make([]int32, len(n.p.Chunks))
	if n.p.Cost.Synchronous() {
		n.sizes = []int64{1}
		return
	}
	known := map[int64]int32{}
	for k, c := range n.p.Chunks {
		i, ok := known[c.Size]
		if !ok {
			i = int32(len(n.sizes))
			known[c.Size] = i
			n.sizes = append(n.sizes, c.Size)
		}
		n.class[k] = i
	}
}

func (n *network) findLanes() {
	t := n.p.Topology
	type found struct {
		lane
		lasts model.Time // with the first chunk
	}
	var all []found
	rates := map[int64]int32{}
	for _, h := range hop.All(t) {
		for _, route := range h.Routes {
			f := found{lane: lane{src: int32(h.Src), dst: int32(h.Dst), route: int32(len(n.routes))}}
			n.routes = append(n.routes, route)
			if n.mirrored {
				f.src, f.dst = f.dst, f.src
			}
			slowest := t.Links[route[0]].Bandwidth
			for _, l := range route {
				slowest = min(slowest, t.Links[l].Bandwidth)
				f.alpha = f.alpha.Add(t.Links[l].Alpha)
			}
			if n.p.Cost.Synchronous() {
				slowest, f.alpha = 1, 0
			}
			rate, ok := rates[slowest]
			if !ok {
				rate = int32(len(n.rates))
				rates[slowest] = rate
				n.rates = append(n.rates, slowest)
			}
			f.rate = rate
			all = append(all, f)
		}
	}
	if size := len(n.rates) * len(n.sizes); size <= maxTable {
		n.table = make([]model.Time, 0, size)
		for _, rate := range n.rates {
			for _, size := range n.sizes {
				n.table = append(n.table, n.compute(rate, size))
			}
		}
	}
	for i := range all {
		all[i].lasts = n.lasts(&all[i].lane, 0)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.dst, b.dst), cmp.Compare(a.lasts, b.lasts), cmp.Compare(a.src, b.src))
	})
	n.into = make([]int32, t.Ranks+1)
	n.onward = make([][]int32, t.Ranks)
	n.lanes = make([]lane, len(all))
	tie := int32(len(all))
	for i := len(all) - 1; i >= 0; i-- {
		if i+1 < len(all) && (all[i].dst != all[i+1].dst || all[i].lasts != all[i+1].lasts) {
			tie = int32(i + 1)
		}
		n.lanes[i] = all[i].lane
		n.lanes[i].tie = tie
	}
	for i := range n.lanes {
		l := &n.lanes[i]
		n.into[l.dst+1]++
		if o := n.onward[l.src]; len(o) == 0 || o[len(o)-1] != l.dst {
			n.onward[l.src] = append(o, l.dst)
		}
	}
	for v := range t.Ranks {
		n.into[v+1] += n.into[v]
	}
}

// findResources numbers links in the order of the lanes, so that where every lane is
// a link, lane i uses resource i.
func (n *network) findResources() {
	t := n.p.Topology
	number := make([]int32, len(t.Links))
	for l := range number {
		number[l] = -1
	}
	for i := range n.lanes {
		for _, l := range n.routes[n.lanes[i].route] {
			if number[l] < 0 {
				number[l] = int32(n.resources)
				n.resources++
			}
		}
	}
	ports := n.findPorts()
	users := make([]int32, n.resources)
	add := func(choice []int32, from, extra model.Time) {
		u := use{int32(len(n.choices)), int32(len(n.choices) + len(choice)), from, extra}
		n.choices = append(n.choices, choice...)
		n.uses = append(n.uses, u)
		for _, r := range choice {
			users[r]++
		}
	}
	n.private, n.patient = true, false
	for i := range n.lanes {
		x := &n.lanes[i]
		x.uses = int32(len(n.uses))
		var before model.Time
		for _, l := range n.routes[x.route] {
			alpha, extra := t.Links[l].Alpha, model.Time(0)
			if n.p.Cost.Synchronous() {
				alpha = 0
			} else if n.p.Cost == model.Blocking {
				extra = alpha
			}
			from := before
			if n.mirrored {
				from = x.alpha - before - extra // the end of the use, seen from the end of the transfer
			}
			n.patient = n.patient || extra != x.alpha
			add([]int32{number[l]}, from, extra)
			for _, port := range ports[l] {
				add(port, from, extra)
			}
			before = before.Add(alpha)
		}
		x.usesEnd = int32(len(n.uses))
		n.private = n.private && x.usesEnd-x.uses == 1 && n.choices[n.uses[x.uses].choice] == int32(i)
	}
	for _, u := range users {
		n.private = n.private && u <= 1
	}
}

// findPorts returns for each link the ports that it belongs to, each as the
// resources of its places. Ports that cannot be overloaded are left out.
func (n *network) findPorts() [][][]int32 {
	t := n.p.Topology
	ports := make([][][]int32, len(t.Links))
	add := func(links []int, capacity int) {
		if capacity >= len(links) {
			return
		}
		places := make([]int32, capacity)
		for i := range places {
			places[i] = int32(n.resources)
			n.resources++
		}
		for _, l := range links {
			ports[l] = append(ports[l], places)
		}
	}
	for _, q := range t.Ports {
		add(q.Links, q.Capacity)
	}
	if n.p.Cost == model.Rounds {
		out, in := t.Out(), t.In()
		for r := range t.Ranks {
			add(out[r], 1)
			add(in[r], 1)
		}
	}
	return ports
}

// compute returns βb.
func (n *network) compute(rate, size int64) model.Time {
	if n.p.Cost.Synchronous() {
		return 1
	}
	return model.TransferTime(size, rate)
}

// beta returns βb of a chunk of a size class over a lane.
func (n *network) beta(l *lane, class int32) model.Time {
	if n.table != nil {
		return n.table[int(l.rate)*len(n.sizes)+int(class)]
	}
	return n.compute(n.rates[l.rate], n.sizes[class])
}

// lasts returns how long a transfer of a chunk of a size class over a lane takes.
func (n *network) lasts(l *lane, class int32) model.Time { return l.alpha + n.beta(l, class) }

// ends returns the ends of a lane in the direction of the topology.
func (n *network) ends(l *lane) (src, dst int32) {
	if n.mirrored {
		return l.dst, l.src
	}
	return l.src, l.dst
}

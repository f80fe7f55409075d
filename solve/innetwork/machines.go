package innetwork

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// plane is one switch in each machine, at which its ranks read sums or by which they send them:
// the links to it and back, by machine and number of the rank.
type plane struct{ up, down [][]int }

// tree is switches that turn sums round: the links up to the root, and down from it, by machine.
type tree struct {
	up, down [][]int
	links    []int // all of them
}

// machines is a network as the method looks at it: machines of equal size, whose ranks read
// sums at the machine's switches, or ranks alone.
type machines struct {
	t       *model.Topology
	kind    model.Kind
	what    *model.Collective
	cost    model.CostModel
	reads   bool           // ranks of a machine read sums at its switches
	at      map[int][2]int // by member: its machine and number
	members [][]int        // by machine and number
	size    int            // of each machine
	planes  []plane
	tree    [][]tree         // by number of the rank: trees of their own, for all machines; nil: none
	ways    map[[2]int][]int // between ranks of equal number; where there are no trees

	insideLinks, acrossLinks []int
}

// owners returns how many chunks there are at least if all links are to have the same to carry.
func (x *machines) owners() int {
	switch {
	case len(x.members) == 1:
		return len(x.planes) * x.size
	case x.tree != nil && x.size == 1:
		return len(x.tree[0])
	case x.tree != nil:
		return len(x.planes) * x.size
	}
	return len(x.planes) * x.size * len(x.members)
}

// each returns how many transfers a chunk has at most.
func (x *machines) each(f form) int {
	n := len(x.members)
	inside := 2 * n * (x.size - 1)
	if x.kind != model.AllReduce {
		inside /= 2
	}
	switch {
	case f == oneShot:
		return x.size * (x.size - 1)
	case n == 1:
		return inside
	case x.tree != nil || f == exchange:
		return inside + n*(n-1)
	}
	return inside + 2*(n-1)
}

// kinds of machines that a network is looked at as having.
type how uint8

const (
	reading how = iota // ranks at switches at which they read sums
	adding             // ranks at switches that do not add, below trees that do
	alone              // each rank alone
)

// newMachines returns the ways in which the network of p can be looked at, or explains why there
// is none.
func newMachines(p *model.Problem) (all []*machines, why error) {
	if !slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool {
		return s.Reduces != model.NoReducing || s.Copies && !p.Collective.Kind.Reduces()
	}) {
		return nil, solve.NotServed("no switch adds%s", map[bool]string{false: " or copies"}[p.Collective.Kind.Reduces()])
	}
	for _, as := range []how{reading, adding, alone} {
		x, err := lookAt(p, as)
		switch {
		case err == nil && x != nil:
			all = append(all, x)
		case err != nil && (why == nil || as == alone && why == errNone):
			why = err
		}
	}
	if v, adds := p.Topology.Reducer(); len(all) == 0 && adds && p.Collective.Kind.Reduces() && p.Topology.Adds(v, &p.Collective) == model.NoReducing {
		return nil, solve.NotServed("%s %s", p.Topology.NodeName(v), p.Topology.Switches[v-p.Topology.Ranks].Computes(&p.Collective))
	}
	if len(all) == 0 {
		return nil, why
	}
	return all, nil
}

// errNone is why ranks are not in machines.
var errNone = solve.NotServed("no two members are at a switch at which they read sums")

// lookAt returns p's network as machines of one kind, or explains why it is not.
func lookAt(p *model.Problem, as how) (*machines, error) {
	x := &machines{t: p.Topology, kind: p.Collective.Kind, what: &p.Collective, cost: p.Cost, reads: as == reading, at: map[int][2]int{}, ways: map[[2]int][]int{}}
	at, err := x.gather(p, as)
	if err != nil {
		return nil, err
	}
	for _, g := range x.members {
		if len(g) != len(x.members[0]) {
			return nil, solve.NotServed("serves machines with as many ranks, not with %d and %d", len(x.members[0]), len(g))
		}
	}
	x.size = len(x.members[0])
	if x.size == 1 && as != alone || len(x.members) == 1 && as == adding {
		return nil, errNone
	}
	if err := x.makePlanes(at); err != nil {
		return nil, err
	}
	if len(x.members) == 1 || x.makeTrees() {
		return x, nil
	}
	if as != reading {
		return nil, solve.NotServed("no tree of switches that %s leads from all members to one, by ways of equal length, latency and rate", x.wants())
	}
	return x, x.makeWays()
}

// wants states what the switches of a tree must do.
func (x *machines) wants() string {
	switch {
	case x.reduces() && x.spreads():
		return "copy and turn sums round"
	case x.reduces():
		return "turn sums round"
	}
	return "copy"
}

// reduces reports whether contributions are added up.
func (x *machines) reduces() bool { return x.kind.Reduces() }

// spreads reports whether all members want the same.
func (x *machines) spreads() bool {
	return x.kind == model.AllReduce || x.kind == model.AllGather || x.kind == model.Broadcast
}

// gather puts members at the same switches into machines, and returns the switches of each:
// those at which they read sums, or others that link ranks alone.
func (x *machines) gather(p *model.Problem, as how) (at [][]int, err error) {
	t := x.t
	within := make([]bool, t.Nodes())
	for v := t.Ranks; v < t.Nodes(); v++ {
		within[v] = as == reading && (t.Reduces(v) == model.SumsRead && !x.reduces() || t.Adds(v, x.what) == model.SumsRead) || as == adding && t.Reduces(v) == model.NoReducing
	}
	for _, l := range t.Links {
		if as == adding && !(t.IsRank(l.Src) || t.IsRank(l.Dst)) {
			within[l.Src], within[l.Dst] = false, false
		}
	}
	switches := map[int][]int{}
	for _, l := range t.Links {
		if t.IsRank(l.Src) && within[l.Dst] {
			if as == reading && !t.Copies(l.Dst) {
				return nil, solve.NotServed("%s adds and does not copy", t.NodeName(l.Dst))
			}
			switches[l.Src] = append(switches[l.Src], l.Dst)
		}
	}
	machine := map[string]int{}
	for _, r := range p.Members() {
		slices.Sort(switches[r])
		key := fmt.Sprint(switches[r])
		if len(switches[r]) == 0 {
			key = fmt.Sprint("alone ", r)
		}
		g, known := machine[key]
		if !known {
			g = len(x.members)
			machine[key] = g
			x.members = append(x.members, nil)
			at = append(at, switches[r])
		}
		x.at[r] = [2]int{g, len(x.members[g])}
		x.members[g] = append(x.members[g], r)
	}
	used := map[int]bool{}
	for g, list := range at {
		if len(list) != len(at[0]) {
			return nil, solve.NotServed("serves machines with as many switches at which ranks read sums, not with %d and %d", len(at[0]), len(list))
		}
		for _, v := range list {
			if used[v] {
				return nil, solve.NotServed("%s belongs to several machines", t.NodeName(v))
			}
			used[v] = true
			if limit := t.Switches[v-t.Ranks].Sums; limit > 0 && limit < len(x.members[g]) {
				return nil, solve.NotServed("%s adds up %d chunks at one time, fewer than its %d ranks", t.NodeName(v), limit, len(x.members[g]))
			}
		}
	}
	return at, nil
}

// makePlanes finds the links of the switches of each machine.
func (x *machines) makePlanes(at [][]int) error {
	t := x.t
	if x.size == 1 {
		x.planes = make([]plane, 1)
		return nil
	}
	link := map[[2]int]int{}
	for i, l := range t.Links {
		link[[2]int{l.Src, l.Dst}] = i
	}
	for n := range at[0] {
		var pl plane
		for g, ranks := range x.members {
			var up, down []int
			for _, r := range ranks {
				there, from := link[[2]int{r, at[g][n]}]
				back, to := link[[2]int{at[g][n], r}]
				if !from || !to || t.Links[there].Alpha != t.Links[link[[2]int{ranks[0], at[g][n]}]].Alpha {
					return solve.NotServed("serves machines whose ranks have links of one latency to %s, and back", t.NodeName(at[g][n]))
				}
				up, down = append(up, there), append(down, back)
			}
			pl.up, pl.down = append(pl.up, up), append(pl.down, down)
			x.insideLinks = append(append(x.insideLinks, up...), down...)
			for _, l := range append(slices.Clone(up), down...) {
				if t.Links[l].Bandwidth != t.Links[up[0]].Bandwidth {
					return solve.NotServed("serves machines with links of one rate to their switches, not of %d and %d bytes/s", t.Links[up[0]].Bandwidth, t.Links[l].Bandwidth)
				}
			}
		}
		x.planes = append(x.planes, pl)
	}
	return nil
}

// makeTrees finds, for the ranks of each number, a tree of switches that turn sums round, and for
// ranks alone as many as have no link in common.
func (x *machines) makeTrees() bool {
	t := x.t
	out, in := t.Out(), t.In()
	taken := map[int]bool{}
	for i := range x.size {
		var peers []int
		for _, g := range x.members {
			peers = append(peers, g[i])
		}
		var best []tree
		for v := t.Ranks; v < t.Nodes(); v++ {
			if !x.passes(v) {
				continue
			}
			up, down := x.walk(v, peers, in, true), x.walk(v, peers, out, false)
			if up == nil || down == nil {
				continue
			}
			one := tree{up: up, down: down}
			for _, way := range append(slices.Clone(up), down...) {
				one.links = append(one.links, way...)
			}
			slices.Sort(one.links)
			one.links = slices.Compact(one.links)
			if !x.even(&one) || len(best) > 0 && len(best[0].up[0]) < len(up[0]) {
				continue
			}
			if len(best) > 0 && len(best[0].up[0]) > len(up[0]) {
				best = nil
			}
			shared := len(best) > 0 && x.limited() || slices.ContainsFunc(one.links, func(l int) bool {
				return taken[l] || slices.ContainsFunc(best, func(b tree) bool { return slices.Contains(b.links, l) })
			})
			if !shared && (len(best) == 0 || x.size == 1) {
				best = append(best, one)
			}
		}
		if len(best) == 0 {
			x.tree, x.acrossLinks = nil, nil
			return false
		}
		for _, one := range best {
			for _, l := range one.links {
				taken[l] = true
			}
			x.acrossLinks = append(x.acrossLinks, one.links...)
		}
		x.tree = append(x.tree, best)
	}
	return true
}

// passes reports whether node v can be part of a tree: one that passes it twice turns sums round.
func (x *machines) passes(v int) bool {
	t := x.t
	if t.IsRank(v) || t.Reduces(v) == model.SumsRead || x.spreads() && !t.Copies(v) || x.reduces() && t.Adds(v, x.what) != model.SumsTurned {
		return false
	}
	least := x.size // chunks that may be on their way at one time
	if x.kind != model.AllReduce {
		least *= len(x.members)
	}
	limit := t.Switches[v-t.Ranks].Sums
	return limit == 0 || limit >= least
}

// limited reports whether some switch limits how many sums are on their way.
func (x *machines) limited() bool {
	return slices.ContainsFunc(x.t.Switches, func(s model.Switch) bool { return s.Sums > 0 })
}

// walk returns, for each of some ranks, the way of fewest links to node v over switches of a tree or from it, such that two that meet stay together; nil if one has none.
func (x *machines) walk(v int, ranks []int, incident [][]int, to bool) [][]int {
	t := x.t
	next := map[int]int{v: -1} // by node: the link towards v, or from it
	for queue := []int{v}; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		if u != v && (!x.passes(u) || t.Reduces(u) != model.SumsTurned) {
			continue
		}
		for _, l := range incident[u] {
			w := t.Links[l].Src + t.Links[l].Dst - u
			if _, seen := next[w]; !seen {
				next[w] = l
				queue = append(queue, w)
			}
		}
	}
	var ways [][]int
	for _, r := range ranks {
		if _, reached := next[r]; !reached {
			return nil
		}
		var way []int
		for u := r; u != v; {
			l := next[u]
			way = append(way, l)
			u = t.Links[l].Src + t.Links[l].Dst - u
		}
		if !to {
			slices.Reverse(way)
		}
		ways = append(ways, way)
	}
	return ways
}

// even reports whether all ways of a tree are of equal length, latency and rate, link by link.
func (x *machines) even(one *tree) bool {
	t := x.t
	for _, ways := range [][][]int{one.up, one.down} {
		for _, way := range ways {
			if len(way) != len(ways[0]) {
				return false
			}
			for i, l := range way {
				if t.Links[l].Alpha != t.Links[ways[0][i]].Alpha {
					return false
				}
			}
		}
	}
	rate := func(way []int) int64 {
		least := t.Links[way[0]].Bandwidth
		for _, l := range way {
			least = min(least, t.Links[l].Bandwidth)
		}
		return least
	}
	for g := range one.up {
		if rate(one.up[g]) != rate(one.up[0]) || rate(one.down[g]) != rate(one.up[0]) {
			return false
		}
	}
	return true
}

// makeWays finds ways between ranks of equal number, over switches at which no sums are read,
// such that each link is as far behind the start on all of them.
func (x *machines) makeWays() error {
	t := x.t
	out := t.Out()
	behind := map[int]model.Time{}
	for i := range x.size {
		for _, g := range x.members {
			from := g[i]
			last := map[int]int{from: -1} // by node: the link to it
			for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
				u := queue[0]
				if u != from && t.IsRank(u) {
					continue
				}
				for _, l := range out[u] {
					w := t.Links[l].Dst
					if _, seen := last[w]; !seen && t.Reduces(w) != model.SumsRead {
						last[w] = l
						queue = append(queue, w)
					}
				}
			}
			for _, h := range x.members {
				to := h[i]
				if to == from {
					continue
				}
				if _, reached := last[to]; !reached {
					return solve.NotServed("no way over switches leads from rank %d to rank %d", from, to)
				}
				var way []int
				for u := to; u != from; u = t.Links[last[u]].Src {
					way = append(way, last[u])
				}
				slices.Reverse(way)
				at := model.Time(0)
				for _, l := range way {
					if was, known := behind[l]; known && was != at {
						return solve.NotServed("serves networks between machines in which a link is as far behind the start on all ways, not link %d", l)
					}
					behind[l] = at
					at = at.Add(t.Links[l].Alpha)
				}
				x.ways[[2]int{from, to}] = way
				x.acrossLinks = append(x.acrossLinks, way...)
			}
		}
	}
	slices.Sort(x.acrossLinks)
	x.acrossLinks = slices.Compact(x.acrossLinks)
	return nil
}

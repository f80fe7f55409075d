// Package maxflow computes maximum flows in whole numbers, by Dinic's algorithm (E. A.
// Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
// estimation", Soviet Math. Doklady 11, 1970).
package maxflow

import "slices"

// Network is a directed flow network with whole capacities.
type Network struct {
	first []int32 // by node: its first arc, -1: none
	next  []int32 // by arc
	to    []int32
	left  []int64 // what more an arc can carry; arc^1 is its reverse
	full  []int64 // what it can carry when nothing flows
	level []int32
	turn  []int32 // by node: the arc to try next
	queue []int32
}

// New returns a network of nodes 0..nodes-1 without arcs.
func New(nodes int) *Network {
	g := &Network{}
	g.Clear(nodes)
	return g
}

// Clear makes g one of nodes 0..nodes-1 without arcs, as New does, in the memory that it has.
func (g *Network) Clear(nodes int) {
	g.first = slices.Grow(g.first[:0], nodes)[:nodes]
	g.level = slices.Grow(g.level[:0], nodes)[:nodes]
	g.turn = slices.Grow(g.turn[:0], nodes)[:nodes]
	for v := range g.first {
		g.first[v] = -1
	}
	g.next, g.to, g.left, g.full = g.next[:0], g.to[:0], g.left[:0], g.full[:0]
}

// Add adds an arc from u to v. It requires capacity >= 0, and that
// capacities out of a node add up to less than 2⁶².
func (g *Network) Add(u, v int, capacity int64) {
	for _, arc := range [2]struct {
		u, v int
		c    int64
	}{{u, v, capacity}, {v, u, 0}} {
		g.next = append(g.next, g.first[arc.u])
		g.first[arc.u] = int32(len(g.to))
		g.to = append(g.to, int32(arc.v))
		g.left, g.full = append(g.left, arc.c), append(g.full, arc.c)
	}
}

// Reset forgets all flows.
func (g *Network) Reset() { copy(g.left, g.full) }

// MaxFlow adds a maximum flow from s to t to what flows, and returns the value of what it
// added. It takes O(V²·E) time, and far less on networks of machines.
func (g *Network) MaxFlow(s, t int) int64 {
	total := int64(0)
	for g.search(s, t) {
		copy(g.turn, g.first)
		for {
			f := g.push(int32(s), int32(t), 1<<62)
			if f == 0 {
				break
			}
			total += f
		}
	}
	return total
}

// search numbers nodes by their distance from s in arcs that can carry more, up to that
// of t, and reports whether t is reached.
func (g *Network) search(s, t int) bool {
	for v := range g.level {
		g.level[v] = -1
	}
	g.level[s] = 0
	g.queue = append(g.queue[:0], int32(s))
	for i := 0; i < len(g.queue); i++ {
		u := g.queue[i]
		for a := g.first[u]; a >= 0; a = g.next[a] {
			if v := g.to[a]; g.left[a] > 0 && g.level[v] < 0 {
				g.level[v] = g.level[u] + 1
				if v == int32(t) {
					return true
				}
				g.queue = append(g.queue, v)
			}
		}
	}
	return false
}

func (g *Network) push(u, t int32, limit int64) int64 {
	if u == t {
		return limit
	}
	pushed := int64(0)
	for ; g.turn[u] >= 0; g.turn[u] = g.next[g.turn[u]] {
		a := g.turn[u]
		v := g.to[a]
		if g.left[a] == 0 || g.level[v] != g.level[u]+1 {
			continue
		}
		f := g.push(v, t, min(limit-pushed, g.left[a]))
		g.left[a] -= f
		g.left[a^1] += f
		if pushed += f; pushed == limit {
			return pushed
		}
	}
	return pushed
}

// Reached marks the nodes on the source's side of a minimum cut, after MaxFlow.
func (g *Network) Reached() []bool {
	side := make([]bool, len(g.level))
	for v, l := range g.level {
		side[v] = l >= 0
	}
	return side
}

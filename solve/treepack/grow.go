package treepack

import "github.com/oraccl/oraccl/model"

// grow gives chunk k trees to and from a root. Every rank takes the cheapest of the hops
// that lead nearer to the root, or that come from nearer to it, so that there is no circle
// and no long detour. It takes O(hops).
func (g *packing) grow(k int, h *centre) {
	g.clear(k)
	class := g.n.Class[k]
	g.root[k] = h.rank
	turn := g.order.Next()
	for v := range int32(g.ranks) {
		at := int(v)*g.chunks + k
		if g.up[at], g.down[at] = -1, -1; v == h.rank {
			continue
		}
		leaving := g.out.Of(v)
		best, least := int32(-1), 0.0
		for i, skip := 0, int(turn%uint64(len(leaving))); i < len(leaving); i++ {
			if skip++; skip >= len(leaving) {
				skip = 0
			}
			l := leaving[skip]
			if h.to[g.n.Hops[l].Dst] < h.to[v] {
				if c := g.cost(toRoot, l, class); best < 0 || c < least {
					best, least = l, c
				}
			}
		}
		g.up[at] = best
		g.carry(toRoot, best, class, 1)
		a, b := g.n.Into[v], g.n.Into[v+1]
		best = -1
		l := a + int32(turn%uint64(b-a))
		for range b - a {
			if l++; l >= b {
				l = a
			}
			if h.from[g.n.Hops[l].Src] < h.from[v] {
				if c := g.cost(fromRoot, l, class); best < 0 || c < least {
					best, least = l, c
				}
			}
		}
		g.down[at] = best
		g.carry(fromRoot, best, class, 1)
	}
}

// chain gives chunk k trees without branches: from the rank after its root round to it,
// and round once more, if there are such hops.
func (g *packing) chain(k int, next []int32, root int32) {
	g.clear(k)
	class := g.n.Class[k]
	g.root[k] = root
	v := g.n.Hops[next[root]].Dst
	for at := root; ; {
		l := next[at]
		w := g.n.Hops[l].Dst
		if w == root {
			break
		}
		g.down[int(w)*g.chunks+k] = l
		g.carry(fromRoot, l, class, 1)
		at = w
	}
	for v != root {
		l := next[v]
		g.up[int(v)*g.chunks+k] = l
		g.carry(toRoot, l, class, 1)
		v = g.n.Hops[l].Dst
	}
	g.up[int(root)*g.chunks+k], g.down[int(root)*g.chunks+k] = -1, -1
}

// reattach lets every rank in the trees of chunk k change to the cheapest hop that leaves
// them trees. Depth counts as well, a little. It takes O(hops·depth).
func (g *packing) reattach(k int) {
	class, root := g.n.Class[k], g.root[k]
	first := g.order.Below(g.ranks)
	for i := range g.ranks {
		v := int32((first + i) % g.ranks)
		if v == root {
			continue
		}
		at := int(v)*g.chunks + k
		best := g.up[at]
		g.carry(toRoot, best, class, -1)
		least := -1.0
		for _, l := range g.out.Of(v) {
			depth := g.depth(g.up, k, g.n.Hops[l].Dst, v, true)
			if depth < 0 {
				continue
			}
			c := g.cost(toRoot, l, class) + depthPrice*float64(depth+g.n.Lasts(&g.n.Hops[l], class))
			if least < 0 || c < least || c == least && l == g.up[at] {
				best, least = l, c
			}
		}
		g.up[at] = best
		g.carry(toRoot, best, class, 1)
		best = g.down[at]
		g.carry(fromRoot, best, class, -1)
		least = -1
		for l := g.n.Into[v]; l < g.n.Into[v+1]; l++ {
			depth := g.depth(g.down, k, g.n.Hops[l].Src, v, false)
			if depth < 0 {
				continue
			}
			c := g.cost(fromRoot, l, class) + depthPrice*float64(depth+g.n.Lasts(&g.n.Hops[l], class))
			if least < 0 || c < least || c == least && l == g.down[at] {
				best, least = l, c
			}
		}
		g.down[at] = best
		g.carry(fromRoot, best, class, 1)
	}
}

// depthPrice is what the time to the root counts in relation to that for which a hop with
// the price 1 is busy.
const depthPrice = 1e-2

// depth returns how far a rank is from the root in a tree of chunk k, -1 if rank v is
// between.
func (g *packing) depth(tree []int32, k int, rank, v int32, up bool) model.Time {
	sum := model.Time(0)
	for rank != g.root[k] {
		if rank == v {
			return -1
		}
		x := &g.n.Hops[tree[int(rank)*g.chunks+k]]
		sum += g.n.Lasts(x, g.n.Class[k])
		if rank = x.Src; up {
			rank = x.Dst
		}
	}
	return sum
}

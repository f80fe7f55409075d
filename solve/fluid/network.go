package fluid

// network is a flow network with whole capacities, for Dinic's algorithm (Dinic, 1970).
type network struct {
	first []int32 // by node: its first arc, -1: none
	next  []int32 // by arc
	to    []int32
	left  []int64 // what more an arc can carry; arc^1 is its reverse
	level []int32
	turn  []int32 // by node: the arc to try next
	queue []int32
}

func newNetwork(nodes int) *network {
	g := &network{first: make([]int32, nodes), level: make([]int32, nodes), turn: make([]int32, nodes)}
	for v := range g.first {
		g.first[v] = -1
	}
	return g
}

func (g *network) add(u, v int, capacity int64) {
	for _, arc := range [2]struct {
		u, v int
		c    int64
	}{{u, v, capacity}, {v, u, 0}} {
		g.next = append(g.next, g.first[arc.u])
		g.first[arc.u] = int32(len(g.to))
		g.to = append(g.to, int32(arc.v))
		g.left = append(g.left, arc.c)
	}
}

// maxFlow returns the value of a maximum flow from s to t. It takes O(V²·E) time, and far
// less on networks of machines.
func (g *network) maxFlow(s, t int) int64 {
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

// search numbers nodes by their distance from s in arcs that can carry more, and says
// whether t is reached.
func (g *network) search(s, t int) bool {
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
				g.queue = append(g.queue, v)
			}
		}
	}
	return g.level[t] >= 0
}

func (g *network) push(u, t int32, limit int64) int64 {
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

// reached marks the nodes on the source's side of a minimum cut, after maxFlow.
func (g *network) reached() []bool {
	side := make([]bool, len(g.level))
	for v, l := range g.level {
		side[v] = l >= 0
	}
	return side
}

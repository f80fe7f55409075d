package bound

import (
	"math"
)

// flow is a network for maximum flows, solved by Dinic's algorithm (E. A. Dinic,
// Soviet Math. Doklady 11, 1970). Capacities are floating point: what is found is
// only ever a proposal.
type flow struct {
	next  [][]int32 // edges out of each node; edge e^1 is the reverse of e
	to    []int32
	left  []float64
	level []int32
	at    []int32
	eps   float64
	work  int         // edges looked at
	spent func() bool // reports whether to stop, with a flow that need not be a maximum
}

func (f *finder) newFlow(nodes int) *flow {
	return &flow{spent: f.budget.Spent, next: make([][]int32, nodes), level: make([]int32, nodes), at: make([]int32, nodes)}
}

// add adds an edge with a capacity.
func (g *flow) add(u, v int, capacity float64) {
	e := int32(len(g.to))
	g.next[u], g.next[v] = append(g.next[u], e), append(g.next[v], e+1)
	g.to = append(g.to, int32(v), int32(u))
	g.left = append(g.left, capacity, 0)
	if !math.IsInf(capacity, 1) {
		g.eps = max(g.eps, capacity*1e-12)
	}
}

// cut returns the value of a maximum flow from s to t, and the nodes that s can still
// reach: the smallest side of a minimum cut. If the time is spent before that is found, it
// returns some flow and some nodes.
func (g *flow) cut(s, t int) (value float64, side []bool) {
	for g.levels(s) && g.level[t] >= 0 && !g.spent() {
		clear(g.at)
		for !g.spent() {
			pushed := g.push(s, t, math.Inf(1))
			if pushed <= g.eps {
				break
			}
			value += pushed
		}
	}
	side = make([]bool, len(g.next))
	for v := range side {
		side[v] = g.level[v] >= 0
	}
	return value, side
}

// levels numbers the nodes by their distance from s over edges with capacity left.
func (g *flow) levels(s int) bool {
	for v := range g.level {
		g.level[v] = -1
	}
	g.level[s] = 0
	queue := []int32{int32(s)}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		g.work += len(g.next[u])
		for _, e := range g.next[u] {
			if v := g.to[e]; g.level[v] < 0 && g.left[e] > g.eps {
				g.level[v] = g.level[u] + 1
				queue = append(queue, v)
			}
		}
	}
	return true
}

// push sends up to limit from u to t over edges that lead to the next level.
func (g *flow) push(u, t int, limit float64) float64 {
	if u == t {
		return limit
	}
	for ; int(g.at[u]) < len(g.next[u]); g.at[u]++ {
		e := g.next[u][g.at[u]]
		v := int(g.to[e])
		g.work++
		if g.level[v] != g.level[u]+1 || g.left[e] <= g.eps {
			continue
		}
		if pushed := g.push(v, t, min(limit, g.left[e])); pushed > g.eps {
			g.left[e] -= pushed
			g.left[e^1] += pushed
			return pushed
		}
	}
	return 0
}

// cutFromSink returns, after cut, the largest side of a minimum cut: all nodes that
// cannot reach t any more.
func (g *flow) cutFromSink(t int) (reaches, side []bool) {
	reaches = make([]bool, len(g.next))
	reaches[t] = true
	queue := []int{t}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, e := range g.next[v] {
			if u := int(g.to[e]); !reaches[u] && g.left[e^1] > g.eps {
				reaches[u] = true
				queue = append(queue, u)
			}
		}
	}
	side = make([]bool, len(reaches))
	for v := range side {
		side[v] = !reaches[v]
	}
	return reaches, side
}

package lint

import "github.com/oraccl/oraccl/model"

// maxCandidates limits how many ranks, or ways to see a mesh, are looked at where
// each takes O(links) time.
const maxCandidates = 256

// walk returns the nodes that links lead to from v, forwards or backwards.
func (l *linter) walk(v int, forwards bool) []bool {
	seen := make([]bool, l.t.Nodes())
	seen[v] = true
	for stack := []int{v}; len(stack) > 0; {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		next := l.in[u]
		if forwards {
			next = l.out[u]
		}
		for _, i := range next {
			w := l.t.Links[i].Src
			if forwards {
				w = l.t.Links[i].Dst
			}
			if !seen[w] {
				seen[w] = true
				stack = append(stack, w)
			}
		}
	}
	return seen
}

// reachable reports ranks that rank 0 cannot reach, or that cannot reach it: if there
// are none, every rank reaches every other.
func (l *linter) reachable() {
	for _, forwards := range []bool{true, false} {
		seen := l.walk(0, forwards)
		var inside, cutOff []int
		for v, s := range seen {
			switch {
			case s:
				inside = append(inside, v)
			case l.t.IsRank(v):
				cutOff = append(cutOff, v)
			}
		}
		if cutOff == nil {
			continue
		}
		if forwards {
			l.add(Finding{Code: Unreachable, Nodes: cutOff}, "rank 0 cannot reach ranks %s: no link leaves the nodes %s", list(cutOff), list(inside))
		} else {
			l.add(Finding{Code: Unreachable, Nodes: cutOff}, "ranks %s cannot reach rank 0: no link enters the nodes %s", list(cutOff), list(inside))
		}
	}
}

// nodes reports switches that are none and ranks that are switches.
func (l *linter) nodes() {
	ranks := map[string]int{} // a rank with these figures
	for v := range l.t.Ranks {
		if _, known := ranks[l.figures(v)]; !known {
			ranks[l.figures(v)] = v
		}
	}
	for v := l.t.Ranks; v < l.t.Nodes(); v++ {
		if len(l.in[v]) == 0 || len(l.out[v]) == 0 {
			l.add(Finding{Code: IsolatedSwitch, Nodes: []int{v}}, "%s has %d links in and %d out, want some of both", l.t.NodeName(v), len(l.in[v]), len(l.out[v]))
			continue
		}
		if r, alike := ranks[l.figures(v)]; alike && len(l.neighbours(v)) > 1 {
			l.add(Finding{Code: SwitchAsRank, Nodes: []int{v}}, "%s has the links of a rank, such as rank %d, figure by figure: is it one?", l.t.NodeName(v), r)
		}
	}
	candidates := 0
	for v := 0; v < l.t.Ranks && candidates < maxCandidates; v++ {
		near := l.neighbours(v)
		if len(near) < 3 {
			continue
		}
		candidates++
		if l.between(v, near) {
			l.add(Finding{Code: RankAsSwitch, Nodes: []int{v}}, "the %d neighbours of rank %d, %s, reach one another through it alone: is it a switch?", len(near), v, list(near))
		}
	}
}

// between reports whether no two nodes of near are joined, links taken both ways, once v
// is taken out. It takes O(nodes + links) time.
func (l *linter) between(v int, near []int) bool {
	part := make([]int, l.t.Nodes()) // 1 + the node of near that it is joined to
	part[v] = -1
	for _, u := range near {
		if part[u] != 0 {
			return false
		}
		part[u] = u + 1
		for stack := []int{u}; len(stack) > 0; {
			x := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, w := range l.neighbours(x) {
				if part[w] == 0 {
					part[w] = u + 1
					stack = append(stack, w)
				}
			}
		}
	}
	return true
}

// figures returns the latencies and bandwidths of the links of v, as a key.
func (l *linter) figures(v int) string {
	var in, out []model.Link
	for _, i := range l.in[v] {
		in = append(in, model.Link{Alpha: l.t.Links[i].Alpha, Bandwidth: l.t.Links[i].Bandwidth})
	}
	for _, i := range l.out[v] {
		out = append(out, model.Link{Alpha: l.t.Links[i].Alpha, Bandwidth: l.t.Links[i].Bandwidth})
	}
	return key(in) + "|" + key(out)
}

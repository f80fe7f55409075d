package lint

import "slices"

// rowWrap looks for a mesh of ranks, rows of cols each, numbered row by row, in which
// every link of the mesh is there, and beside these only links between the last rank
// of a row and the first of the next. A ring has no links down its columns, and a
// torus has others besides, so neither is taken for one.
func (l *linter) rowWrap() {
	n := l.t.Ranks
	if len(l.t.Switches) > 0 {
		return
	}
	there := map[[2]int]bool{}
	for _, k := range l.t.Links {
		there[[2]int{k.Src, k.Dst}] = true
	}
	for cols, tried := 3, 0; cols <= n/2 && tried < maxCandidates; cols++ {
		if n%cols != 0 {
			continue
		}
		tried++
		want := 0
		for v := range n {
			if v%cols+1 < cols && there[[2]int{v, v + 1}] && there[[2]int{v + 1, v}] {
				want += 2
			}
			if v+cols < n && there[[2]int{v, v + cols}] && there[[2]int{v + cols, v}] {
				want += 2
			}
		}
		if want != 2*(n-n/cols)+2*(n-cols) {
			continue
		}
		var wraps, nodes []int
		others := false
		for i, k := range l.t.Links {
			low, high := min(k.Src, k.Dst), max(k.Src, k.Dst)
			switch {
			case high-low == cols, high-low == 1 && high%cols != 0:
			case high-low == 1:
				wraps = append(wraps, i)
				nodes = append(nodes, low, high)
			default:
				others = true
			}
		}
		if wraps == nil || others {
			continue
		}
		slices.Sort(nodes)
		l.add(Finding{Code: RowWrap, Nodes: slices.Compact(nodes), Links: wraps}, "a %dx%d mesh with links across its rows: links %s join the last rank of a row and the first of the next", n/cols, cols, list(wraps))
		return
	}
}

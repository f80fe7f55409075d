package cayley

// colourEdges gives the edges of a bipartite multigraph, pairs of a left and a right
// node, colours 0, 1, ... such that no two at a node are alike. It uses as many colours
// as the largest degree, the least there can be (König 1916), and takes
// O(edges · (nodes + colours)) time.
func colourEdges(edges [][2]int, left, right int) (colour []int, colours int) {
	degree := make([]int, left+right)
	for _, e := range edges {
		for _, v := range []int{e[0], left + e[1]} {
			degree[v]++
			colours = max(colours, degree[v])
		}
	}
	at := make([][]int, left+right) // the edge of each colour at a node, or -1
	for v := range at {
		at[v] = make([]int, colours)
		for c := range at[v] {
			at[v][c] = -1
		}
	}
	unused := func(v int) int {
		c := 0
		for at[v][c] >= 0 {
			c++
		}
		return c
	}
	colour = make([]int, len(edges))
	for i, e := range edges {
		u, v := e[0], left+e[1]
		a, b := unused(u), unused(v)
		if at[v][a] >= 0 {
			// The path of colours a, b, a, ... from v does not end at u, which has no
			// a and is on the other side. With both exchanged on it v has no a either.
			var path []int
			for w, c := v, a; at[w][c] >= 0; c = a + b - c {
				j := at[w][c]
				path = append(path, j)
				w = edges[j][0] + left + edges[j][1] - w
			}
			for _, j := range path {
				for _, w := range []int{edges[j][0], left + edges[j][1]} {
					if at[w][colour[j]] == j {
						at[w][colour[j]] = -1
					}
				}
			}
			for _, j := range path {
				colour[j] = a + b - colour[j]
				at[edges[j][0]][colour[j]], at[left+edges[j][1]][colour[j]] = j, j
			}
		}
		colour[i] = a
		at[u][a], at[v][a] = i, i
	}
	return colour, colours
}

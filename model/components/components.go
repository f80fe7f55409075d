// Package components numbers the strongly connected components of a graph: what must happen at one
// time, where each node waits for some others.
package components

import "slices"

// Of numbers the strongly connected components of n nodes, given by what comes before each: no
// component comes after one with a larger number. It returns the component of each node and how many
// there are (Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1,
// 1972). It takes O(nodes + edges), and asks for the nodes before each one once.
func Of(n int, before func(i int32) []int32) (group []int32, count int) {
	group = slices.Repeat([]int32{-1}, n)
	index, low, left := make([]int32, n), make([]int32, n), make([][]int32, n)
	next := int32(0)
	var stack, path []int32
	for root := range int32(n) {
		if index[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			i := path[len(path)-1]
			if index[i] == 0 {
				next++
				index[i], low[i], left[i] = next, next, before(i)
				stack = append(stack, i)
			}
			deeper := false
			for ; len(left[i]) > 0; left[i] = left[i][1:] {
				j := left[i][0]
				if index[j] == 0 {
					path, deeper = append(path, j), true
					break
				}
				if group[j] < 0 {
					low[i] = min(low[i], low[j])
				}
			}
			if deeper {
				continue
			}
			path = path[:len(path)-1]
			if low[i] < index[i] {
				continue
			}
			for j := int32(-1); j != i; {
				j = stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				group[j] = int32(count)
			}
			count++
		}
	}
	return group, count
}

package classic

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// The binomial tree: with members numbered from the root, in step d = 1, 2, 4, …
// each v < d sends to v+d. What v leads to are the members that equal v modulo 2d.
var binomialBuilders = builders{
	model.Broadcast: binomialBroadcast,
	model.Reduce:    binomialReduce,
	model.Scatter:   binomialScatter,
	model.Gather:    binomialGather,
	model.AllReduce: both(binomialReduce, binomialBroadcast),
}

func binomialBroadcast(x *plan) {
	for d := 1; d < x.n; d *= 2 {
		for v := range min(d, x.n-d) {
			x.Batch(x.send(x.all(), x.root+v, x.root+v+d, model.Copy)...)
		}
	}
}

func binomialReduce(x *plan) {
	for d := top(x.n); d > 0; d /= 2 {
		for v := range min(d, x.n-d) {
			x.Batch(x.send(x.all(), x.root+v+d, x.root+v, model.Reduction)...)
		}
	}
}

// top returns the largest power of two below n.
func top(n int) int {
	d := 1
	for 2*d < n {
		d *= 2
	}
	return d
}

func binomialScatter(x *plan) {
	blocks := x.blocks(x.n)
	for d := 1; d < x.n; d *= 2 {
		for v := range min(d, x.n-d) {
			for w := v + d; w < x.n; w += 2 * d {
				x.Batch(x.send(blocks[(x.root+w)%x.n], x.root+v, x.root+v+d, model.Copy)...)
			}
		}
	}
}

func binomialGather(x *plan) {
	blocks := x.blocks(x.n)
	for d := top(x.n); d > 0; d /= 2 {
		for v := range min(d, x.n-d) {
			for w := v + d; w < x.n; w += 2 * d {
				x.Batch(x.send(blocks[(x.root+w)%x.n], x.root+v+d, x.root+v, model.Copy)...)
			}
		}
	}
}

// The two trees (Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth
// broadcast, reduction and scan", 2009): two binary trees in each of which those
// are leaves that are inner nodes in the other; every second chunk takes the
// second one.
var doubleTreeBuilders = builders{
	model.Broadcast: doubleTreeBroadcast,
	model.Reduce:    doubleTreeReduce,
	model.AllReduce: both(twoTrees(true), twoTrees(false)),
}

// parent returns the parent of v in the in-order binary tree of 0..n-1 whose root
// is 0 with one child, or -1 for the root: the trees of NCCL.
func parent(v, n int) int {
	if v == 0 {
		return -1
	}
	bit := v & -v
	up := (v ^ bit) | bit<<1
	if up >= n {
		up = v ^ bit
	}
	return up
}

// second returns the parent of v in the second tree: the first one, mirrored where
// n is even and shifted by one where it is odd.
func second(v, n int) int {
	if n%2 == 0 {
		if up := parent(n-1-v, n); up >= 0 {
			return n - 1 - up
		}
		return -1
	}
	if up := parent((v-1+n)%n, n); up >= 0 {
		return (up + 1) % n
	}
	return -1
}

// treeEdges returns the edges child, parent of a tree over 0..n-1, children before
// parents, and its root.
func treeEdges(n int, up func(v, n int) int) (edges [][2]int, root int) {
	depth := func(v int) (d int) {
		for v = up(v, n); v >= 0; v = up(v, n) {
			d++
		}
		return d
	}
	byDepth := make([][]int, n)
	for v := range n {
		byDepth[depth(v)] = append(byDepth[depth(v)], v)
	}
	for d := n - 1; d > 0; d-- {
		for _, v := range byDepth[d] {
			edges = append(edges, [2]int{v, up(v, n)})
		}
	}
	return edges, byDepth[0][0]
}

// twoTrees reduces all chunks up to the roots of their trees, or sends them down
// from there.
func twoTrees(reduce bool) func(*plan) {
	return func(x *plan) { x.trees(reduce, x.n, x.same, func(int) []place.Move { return nil }) }
}

// trees writes for each chunk the moves of its tree over q members. extra are moves
// at the tree's root, after the reduction or before the sending down.
func (x *plan) trees(reduce bool, q int, member func(int) int, extra func(root int) []place.Move) {
	first, root1 := treeEdges(q, parent)
	other, root2 := treeEdges(q, second)
	for _, k := range x.all() {
		edges, root := first, root1
		if k%2 == 1 {
			edges, root = other, root2
		}
		atRoot := extra(member(root))
		for i := range atRoot {
			atRoot[i].Chunk = k
		}
		if reduce {
			for _, e := range edges {
				x.Batch(x.move(k, member(e[0]), member(e[1]), model.Reduction))
			}
			x.Batch(atRoot...)
			continue
		}
		x.Batch(atRoot...)
		for i := len(edges) - 1; i >= 0; i-- {
			x.Batch(x.move(k, member(edges[i][1]), member(edges[i][0]), model.Copy))
		}
	}
}

// In broadcast and reduce the trees are over the members other than the root, which
// talks to the roots of both.
func doubleTreeBroadcast(x *plan) {
	x.trees(false, x.n-1, x.afterRoot, func(top int) []place.Move {
		return []place.Move{x.move(0, x.root, top, model.Copy)}
	})
}

func doubleTreeReduce(x *plan) {
	x.trees(true, x.n-1, x.afterRoot, func(top int) []place.Move {
		return []place.Move{x.move(0, top, x.root, model.Reduction)}
	})
}

func (x *plan) afterRoot(v int) int { return x.root + 1 + v }

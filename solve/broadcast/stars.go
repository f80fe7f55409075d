package broadcast

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// stars returns equal trees over regions of equally many ranks, such as those of a leaf switch: one for each region but
// that of the root, its home. There one rank gets a chunk from the root, and sends it to the others; one of these, or
// several, sends it to one rank of each other region, and that sends it to the others there. So hardly anything goes from
// one region to another. No rank sends more in a period than its links carry if there are not more ranks in a region
// than regions: with n regions of m ranks, a home has one rank that sends m-1 chunks there and up to n-m elsewhere, and the
// others send in n-2 other trees to m-1 ranks each, and have the time for m-1 chunks together that go elsewhere.
//
// It returns nil if there are no such regions. Arcs have colours (see shape.colour).
func stars(p *model.Problem, near *neighbours) (trees [][]bough) {
	n, m, root := len(near.ranks), len(near.ranks[0]), p.Collective.Root
	if n < 3 || m < 2 || slices.ContainsFunc(near.ranks, func(r []int) bool { return len(r) != m }) {
		return nil
	}
	first, duties := make([]int, n), make([][]int, n) // by region: who gets a chunk from the root, and from other regions
	spare := make([]int, p.Topology.Ranks)            // by rank: how many it may send to other regions
	for r, ranks := range near.ranks {
		others, trees := ranks[1:], n-2
		if first[r] = ranks[0]; r == near.region[root] {
			others, trees = slices.DeleteFunc(slices.Clone(ranks), func(v int) bool { return v == root }), n-1
		}
		spare[first[r]] = n - m
		for _, v := range others {
			spare[v] = n - 1
		}
		for i := range trees {
			v := others[i%len(others)]
			duties[r] = append(duties[r], v)
			spare[v] -= m - 1
		}
	}
	for home := range near.ranks {
		if home == near.region[root] {
			continue
		}
		var arcs []bough
		reached := true
		send := func(from, to int) {
			routes := near.ways.routes(from, to)
			arcs, reached = append(arcs, bough{from, to, routes, -1}), reached && len(routes) > 0
		}
		spread := func(from int) {
			for _, v := range near.ranks[near.region[from]] {
				if v != from && v != root {
					send(from, v)
				}
			}
		}
		send(root, first[home])
		spread(first[home])
		for i := 1; i < n; i++ {
			r := (home + i) % n
			from := slices.MaxFunc(near.ranks[home], func(u, v int) int { return cmp.Compare(spare[u], spare[v]) })
			spare[from]--
			to := duties[r][0]
			duties[r] = duties[r][1:]
			send(from, to)
			spread(to)
		}
		if !reached {
			return nil
		}
		trees = append(trees, arcs)
	}
	coloured(trees, p.Topology.Ranks)
	return trees
}

// coloured gives the arcs of trees places in a period.
func coloured(trees [][]bough, ranks int) {
	var s shape
	for _, arcs := range trees {
		var list []link
		for _, a := range arcs {
			list = append(list, link{a.from, a.to, -1})
		}
		s = append(s, list)
	}
	s.colour(ranks)
	for i, arcs := range trees {
		for j := range arcs {
			arcs[j].colour = s[i][j].colour
		}
	}
}

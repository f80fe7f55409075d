package broadcast

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
)

// constellation is equal trees over regions of equally many ranks, such as those of a leaf switch: one for each region but
// that of the root, its home. There one rank gets a chunk from the root, and sends it to the others. From home the chunk
// goes to one region of each group of regions (see grouped), and from there to the other regions of the group, in each
// to one rank, and that sends it to the others there. So hardly anything goes from one region to another, and even less
// from one group to another.
type constellation struct {
	p      *model.Problem
	near   *neighbours
	groups [][]int // of regions
	group  []int   // by region
	homes  []int
	next   [][][]int // by tree and region: the regions that it sends to
	entry  [][]int   // by tree and region: the rank that gets a chunk first there
	spare  []int     // by rank: how many chunks more it may send in a period
}

// stars returns the trees of a constellation, nil if there are no such regions. With n regions of m ranks a period has n-1
// trees: each region has (m-1)(n-1) chunks to send inside and about n-1 to others, which are dealt to its ranks so that
// each sends n-1, if that can be. Arcs have colours (see shape.colour).
func stars(p *model.Problem, near *neighbours) (trees [][]bough) {
	n, m := len(near.ranks), len(near.ranks[0])
	if n < 3 || m < 2 || slices.ContainsFunc(near.ranks, func(r []int) bool { return len(r) != m }) {
		return nil
	}
	c := &constellation{p: p, near: near, groups: near.grouped(), group: make([]int, n), spare: slices.Repeat([]int{n - 1}, p.Topology.Ranks)}
	for g, regions := range c.groups {
		for _, r := range regions {
			c.group[r] = g
		}
	}
	for r := range near.ranks {
		if r != near.region[p.Collective.Root] {
			c.homes = append(c.homes, r)
		}
	}
	c.branch()
	c.enter()
	for i := range c.homes {
		arcs := c.tree(i)
		if arcs == nil {
			return nil
		}
		trees = append(trees, arcs)
	}
	newChains(trees, p.Topology.Ranks, len(p.Topology.Links), placed(trees, p.Topology.Ranks)).untangle(mostUntangled)
	return trees
}

// branch chooses the ways of trees from region to region: those that send on in their group take turns.
func (c *constellation) branch() {
	sent := make([]int, len(c.group))
	for _, home := range c.homes {
		next := make([][]int, len(c.group))
		for i := range c.groups {
			g := (c.group[home] + i) % len(c.groups)
			regions := c.groups[g]
			first := home
			if i > 0 {
				first = slices.MinFunc(regions, func(r, s int) int { return cmp.Compare(sent[r], sent[s]) })
				next[home] = append(next[home], first)
			}
			at := slices.Index(regions, first)
			next[first] = slices.Concat(next[first], regions[at+1:], regions[:at])
			sent[first] += len(regions) - 1
		}
		c.next = append(c.next, next)
	}
}

// enter chooses which rank of a region gets the chunk of a tree first: trees that have most to send there come first, and
// get that rank which has most to spare.
func (c *constellation) enter() {
	root, n := c.p.Collective.Root, len(c.group)
	c.entry = make([][]int, len(c.homes))
	for i := range c.entry {
		c.entry[i] = make([]int, n)
	}
	for r, ranks := range c.near.ranks {
		ranks = slices.DeleteFunc(slices.Clone(ranks), func(v int) bool { return v == root })
		order := make([]int, len(c.homes))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(len(c.next[j][r]), len(c.next[i][r])) })
		for _, i := range order {
			v := slices.MaxFunc(ranks, func(u, v int) int { return cmp.Compare(c.spare[u], c.spare[v]) })
			c.entry[i][r] = v
			if c.spare[v] -= len(ranks) - 1; c.whole(i, r) {
				c.spare[v] -= len(c.next[i][r])
			}
		}
	}
}

// whole reports whether the rank at which a tree enters a region sends to all regions that the tree goes to from there: if
// there are many, others help.
func (c *constellation) whole(tree, region int) bool {
	return 2*len(c.next[tree][region]) < len(c.homes)
}

// tree returns a tree, nil if some rank is out of reach.
func (c *constellation) tree(i int) (arcs []bough) {
	home, root := c.homes[i], c.p.Collective.Root
	reached := true
	send := func(from, to int) {
		routes := c.near.ways.routes(from, to)
		arcs, reached = append(arcs, bough{from, to, routes, -1}), reached && len(routes) > 0
	}
	send(root, c.entry[i][home])
	var spread func(r int)
	spread = func(r int) {
		entry := c.entry[i][r]
		local := func() {
			for _, v := range c.near.ranks[r] {
				if v != entry && v != root {
					send(entry, v)
				}
			}
		}
		if !c.whole(i, r) {
			local()
		}
		for _, s := range c.next[i][r] {
			from := entry
			if !c.whole(i, r) {
				from = slices.MaxFunc(c.near.ranks[r], func(u, v int) int { return cmp.Compare(c.spare[u], c.spare[v]) })
				c.spare[from]--
			}
			send(from, c.entry[i][s])
		}
		if c.whole(i, r) {
			local()
		}
		for _, s := range c.next[i][r] {
			spread(s)
		}
	}
	if spread(home); !reached {
		return nil
	}
	return arcs
}

// grouped returns groups of equally many regions, each of which are all next to each other and have other regions next to
// them in common, such as the routers of a dragonfly's group; or each region alone, if there are no such groups.
func (x *neighbours) grouped() (groups [][]int) {
	n := len(x.ranks)
	least, far := model.MaxTime, make([][]model.Time, n)
	for r, ranks := range x.ranks {
		far[r] = slices.Repeat([]model.Time{model.MaxTime}, n)
		for _, c := range x.circles[ranks[0]] {
			for _, s := range c.regions {
				if s != r {
					far[r][s], least = min(far[r][s], c.latency), min(least, c.latency)
				}
			}
		}
	}
	common := func(r, s int) bool {
		for t := range n {
			if far[r][t] == least && far[s][t] == least {
				return true
			}
		}
		return false
	}
	in := make([]bool, n)
	for r := range n {
		if in[r] {
			continue
		}
		group := []int{r}
		for s := r + 1; s < n; s++ {
			if !in[s] && far[r][s] == least && common(r, s) {
				group = append(group, s)
			}
		}
		for _, s := range group {
			in[s] = true
			for _, t := range group {
				if s != t && far[s][t] != least {
					group = nil
				}
			}
		}
		groups = append(groups, group)
	}
	if len(groups) == 1 || slices.ContainsFunc(groups, func(g []int) bool { return len(g) != len(groups[0]) || len(g) == 0 }) {
		groups = nil
		for r := range n {
			groups = append(groups, []int{r})
		}
	}
	return groups
}

// placed gives the arcs of trees places in a period, as few as ranks need, and returns how many.
func placed(trees [][]bough, ranks int) (places int) {
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
			places = max(places, arcs[j].colour+1)
		}
	}
	return places
}

// forest returns trees as a forest, over the first of their routes.
func forest(trees [][]bough, root int) *Forest {
	f := &Forest{}
	for _, arcs := range trees {
		x := arborescence.Tree{Root: root, Weight: 1}
		for _, a := range arcs {
			x.Arcs = append(x.Arcs, arborescence.Arc{From: a.from, To: a.to, Route: a.routes[0]})
		}
		f.Trees = append(f.Trees, x)
	}
	return f
}

package oneshot

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// grouping is the members in equal groups: the i-th members of all groups are peers.
type grouping [][]int

// maxGroupings is how many groupings of a network are tried.
const maxGroupings = 4

// levels returns the ways in which the members of a network fall into two or more groups of
// equal size, two or more each, that hang together: without links of some latency or more,
// without those slower than some bandwidth, without switches that have no rank at them, or without
// one switch.
func levels(p *model.Problem) (all []grouping) {
	t := p.Topology
	n := len(p.Members())
	seen := map[string]bool{}
	add := func(with func(l *model.Link) bool) {
		groups := groupsBy(p, with)
		size := len(groups[0])
		if len(groups) < 2 || size < 2 || n != size*len(groups) || len(all) == maxGroupings || seen[fmt.Sprint(groups)] {
			return
		}
		for _, g := range groups {
			if len(g) != size {
				return
			}
		}
		seen[fmt.Sprint(groups)] = true
		all = append(all, groups)
	}
	var latencies []model.Time
	var speeds []int64
	for i := range t.Links {
		latencies, speeds = append(latencies, t.Links[i].Alpha), append(speeds, t.Links[i].Bandwidth)
	}
	slices.Sort(latencies)
	slices.Sort(speeds)
	latencies, speeds = slices.Compact(latencies), slices.Compact(speeds)
	const most = 8 // steps of a figure, where there are more
	for i := 1; i < len(latencies) && len(latencies) <= most; i++ {
		add(func(l *model.Link) bool { return l.Alpha < latencies[i] })
	}
	for i := 1; i < len(speeds) && len(speeds) <= most; i++ {
		add(func(l *model.Link) bool { return l.Bandwidth >= speeds[i] })
	}
	edge := make([]bool, t.Nodes()) // ranks, and switches with ranks at them
	for i := range t.Links {
		l := &t.Links[i]
		edge[l.Src] = edge[l.Src] || t.IsRank(l.Src) || t.IsRank(l.Dst)
		edge[l.Dst] = edge[l.Dst] || t.IsRank(l.Src) || t.IsRank(l.Dst)
	}
	add(func(l *model.Link) bool { return edge[l.Src] && edge[l.Dst] })
	for v := t.Ranks; v < min(t.Nodes(), t.Ranks+64); v++ {
		add(func(l *model.Link) bool { return l.Src != v && l.Dst != v })
	}
	return all
}

// groupsBy returns the members, as their numbers, that hang together by some of the links.
func groupsBy(p *model.Problem, with func(l *model.Link) bool) (groups grouping) {
	t := p.Topology
	root := make([]int, t.Nodes())
	for v := range root {
		root[v] = v
	}
	var find func(v int) int
	find = func(v int) int {
		if root[v] != v {
			root[v] = find(root[v])
		}
		return root[v]
	}
	for i := range t.Links {
		if l := &t.Links[i]; with(l) {
			root[find(l.Src)] = find(l.Dst)
		}
	}
	at := map[int]int{}
	for i, r := range p.Members() {
		g, known := at[find(r)]
		if !known {
			g = len(groups)
			at[find(r)] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// form is how the levels are combined.
type form uint8

const (
	// exchange: each member adds up parts of its group's, peers send these sums to each other,
	// and each spreads the result in its group.
	exchange form = iota
	// owners: as exchange, but among peers one adds up, and sends the result to the others.
	owners
	// acrossFirst: all peers send all they have to each other, then all of a group do.
	acrossFirst
	// insideFirst: the other way round.
	insideFirst
	forms
)

func (f form) String() string {
	return []string{"sums of groups exchanged by peers", "sums of groups added up by one of the peers",
		"one-shot among peers, then in groups", "one-shot in groups, then among peers"}[f]
}

// composition is a grouping with its pairs.
type composition struct {
	groups         grouping
	group, local   []int // by member
	inside, across []pair
}

// compose tries the forms with growing numbers of chunks, for each grouping.
func (s *search) compose(all []grouping) {
	for _, groups := range all {
		c := &composition{groups: groups, group: make([]int, s.n()), local: make([]int, s.n())}
		var pairs []pair
		m, g := len(groups), len(groups[0])
		for d := 1; d < g; d++ {
			for _, list := range groups {
				for i := range g {
					pairs = append(pairs, pair{from: list[i], to: list[(i+d)%g]})
				}
			}
		}
		inside := len(pairs)
		for d := 1; d < m; d++ {
			for h := range m {
				for i := range g {
					pairs = append(pairs, pair{from: groups[h][i], to: groups[(h+d)%m][i]})
				}
			}
		}
		for h, list := range groups {
			for i, v := range list {
				c.group[v], c.local[v] = h, i
			}
		}
		s.ways = newWays(s.b, s.p, pairs)
		c.inside, c.across = s.ways.pairs[:inside], s.ways.pairs[inside:]
		for f := range forms {
			s.combine(c, f)
		}
	}
}

// parts returns how many chunks the form divides a piece of the buffer into.
func (c *composition) parts(f form) int {
	switch f {
	case exchange:
		return len(c.groups[0])
	case owners:
		return len(c.group)
	}
	return 1
}

// combine tries a form with more and more chunks, as long as that helps.
func (s *search) combine(c *composition, f form) {
	worse := 0
	last := model.MaxTime
	for pieces := 1; pieces <= 64 && worse < 2; pieces *= 2 {
		p := *s.p
		if p.Chunks == nil {
			d := s.divide(s.p.Size, pieces*c.parts(f), 0)
			if len(d.chunks) < pieces*c.parts(f) && pieces > 1 {
				return
			}
			p.Chunks = d.chunks
		}
		if s.over() || len(p.Chunks)*len(c.inside) > maxTransfers/4 {
			return
		}
		b := s.builder(&p)
		if b.compose(c, f) {
			end := s.keep(b, f.String())
			if end >= last/1000*996 {
				worse++
			}
			last = min(last, end)
		} else {
			worse++
		}
		if s.p.Chunks != nil {
			return
		}
	}
}

// compose places all chunks by a form.
func (b *builder) compose(c *composition, f form) bool {
	n := len(c.group)
	ready := make([][]model.Time, len(b.p.Chunks)) // by chunk and member
	for k := range ready {
		ready[k] = make([]model.Time, n)
	}
	if f == acrossFirst || f == insideFirst {
		first, second := c.across, c.inside
		if f == insideFirst {
			first, second = second, first
		}
		for _, pairs := range [][]pair{first, second} {
			for k := range ready {
				if !b.toAll(k, pairs, ready[k]) {
					return false
				}
			}
		}
		return true
	}
	g := len(c.groups[0])
	for k := range ready { // in groups, to the i-th of each
		for _, w := range b.byDuration(k, c.inside) {
			if c.local[w.to] == k%g {
				t := b.send(k, w, model.Reduction, 0)
				ready[k][w.to] = max(ready[k][w.to], t.End)
			}
		}
		if b.b.Spent() {
			return false
		}
	}
	for k := range ready {
		var peers []pair
		for _, w := range c.across {
			if c.local[w.from] == k%g {
				peers = append(peers, w)
			}
		}
		if f == exchange {
			if !b.toAll(k, peers, ready[k]) {
				return false
			}
			continue
		}
		owner := k / g % len(c.groups)
		done := model.Time(0)
		for _, w := range b.byDuration(k, peers) {
			if c.group[w.to] == owner {
				t := b.send(k, w, model.Reduction, ready[k][w.from])
				done = max(done, t.End, ready[k][w.to])
			}
		}
		ready[k][c.groups[owner][k%g]] = done
	}
	if f == owners {
		for k := range ready {
			owner := k / g % len(c.groups)
			for _, w := range b.byDuration(k, c.across) {
				if c.local[w.from] == k%g && c.group[w.from] == owner {
					ready[k][w.to] = b.send(k, w, model.Copy, ready[k][w.from]).End
				}
			}
		}
	}
	for k := range ready { // in groups, from the i-th of each
		for _, w := range b.byDuration(k, c.inside) {
			if c.local[w.from] == k%g {
				b.send(k, w, model.Copy, ready[k][w.from])
			}
		}
		if b.b.Spent() {
			return false
		}
	}
	return true
}

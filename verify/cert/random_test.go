package cert_test

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// tiny returns a random problem that is small enough for brute.
func tiny(r *rand.Rand) *model.Problem {
	for {
		p := &model.Problem{Topology: tinyTopology(r), Cost: model.CostModel(1 + r.IntN(3))}
		n := p.Topology.Ranks
		kinds := append(model.Kinds(), model.Custom, model.AllGather, model.AllReduce, model.Broadcast)
		p.Collective = tinyCollective(r, kinds[r.IntN(len(kinds))], n)
		p.Size = int64(p.Shards()) + int64(r.IntN(3))
		if p.Collective.Kind == model.AllToAll {
			p.Size = int64(len(p.Members())) + int64(r.IntN(2))
		}
		if r.IntN(4) == 0 {
			p.Release = make([]model.Time, n)
			p.Release[r.IntN(n)] = model.Time(r.IntN(5))
		}
		shards := int64(p.Shards())
		if chunks := shards * (1 + int64(r.IntN(2))); p.Collective.Kind != model.Custom && chunks <= p.Space() {
			p = p.WithChunks(int(chunks))
		} else {
			p = p.WithChunks(int(shards))
		}
		if p.Validate() == nil && len(p.Chunks) <= 9 {
			return p
		}
	}
}

func tinyTopology(r *rand.Rand) *model.Topology {
	t := &model.Topology{Name: "tiny", Ranks: 2 + r.IntN(3)}
	if r.IntN(3) == 0 {
		t.Switches = append(t.Switches, model.Switch{Name: "s", Copies: r.IntN(2) == 0})
		if r.IntN(3) == 0 {
			t.Switches = append(t.Switches, model.Switch{Name: "s2", Copies: r.IntN(2) == 0})
		}
	}
	link := func(u, v int) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(3)), Bandwidth: int64(1e12) / int64(1+r.IntN(2))})
	}
	if r.IntN(4) == 0 { // a star around a switch, whose ranks may lack the way there
		t.Switches = []model.Switch{{Name: "star", Copies: r.IntN(2) == 0}}
		for u := range t.Ranks {
			link(t.Ranks, u)
			if u == 0 || r.IntN(2) == 0 {
				link(u, t.Ranks)
			}
		}
		return t
	}
	order := r.Perm(t.Nodes())
	for i, u := range order { // a ring through all nodes
		if v := order[(i+1)%len(order)]; u != v {
			link(u, v)
			if r.IntN(2) == 0 {
				link(v, u)
			}
		}
	}
	for range r.IntN(3) {
		if u, v := r.IntN(t.Nodes()), r.IntN(t.Nodes()); u != v {
			link(u, v)
		}
	}
	if r.IntN(3) == 0 {
		v := r.IntN(t.Nodes())
		links := [][]int{t.Out()[v], t.In()[v]}[r.IntN(2)]
		if len(links) > 1 {
			t.Ports = append(t.Ports, model.Port{Name: "p", Links: slices.Clone(links), Capacity: 1 + r.IntN(2)})
		}
	}
	return t
}

func tinyCollective(r *rand.Rand, kind model.Kind, n int) model.Collective {
	c := model.Collective{Kind: kind}
	if r.IntN(4) == 0 {
		c.Group = r.Perm(n)[:1+r.IntN(n)]
	}
	if kind.Rooted() {
		c.Root = r.IntN(n)
		if c.Group != nil {
			c.Root = c.Group[r.IntN(len(c.Group))]
		}
	}
	if r.IntN(5) == 0 {
		c.Op = model.Max
	}
	if kind != model.Custom {
		return c
	}
	c.Group = nil
	c.Chunks = 1 + r.IntN(2)
	value := func(among []int) model.Value {
		var terms []model.Term
		for _, a := range among {
			if len(terms) == 0 || r.IntN(2) == 0 {
				count := 1
				if c.Op.Idempotent() {
					count += r.IntN(2)
				}
				terms = append(terms, model.Term{Rank: a, Count: count})
			}
		}
		return model.Multiset(terms...)
	}
	for k := range c.Chunks {
		var there []int
		for a := range n {
			if r.IntN(2) == 0 {
				v := model.Unit(a)
				if r.IntN(4) == 0 {
					v = value(r.Perm(n))
				}
				for x := range v.Terms() {
					there = append(there, x)
				}
				c.Pre = append(c.Pre, model.Condition{Rank: a, Chunk: k, Value: v})
			}
		}
		slices.Sort(there)
		there = slices.Compact(there)
		for a := range n {
			if len(there) > 0 && r.IntN(2) == 0 {
				c.Post = append(c.Post, model.Condition{Rank: a, Chunk: k, Value: value(there)})
			}
		}
	}
	return c
}

// witnesses returns every witness of every kind that there is for a small problem.
func witnesses(p *model.Problem) []model.Witness {
	t := p.Topology
	all := []model.Witness{model.Volume{}}
	for r := range t.Ranks {
		all = append(all, model.Ingress{Rank: r}, model.Egress{Rank: r}, model.Spread{Source: r}, model.Combine{Dest: r})
	}
	var ends [][]int // none, and every single rank
	ends = append(ends, nil)
	for r := range t.Ranks {
		ends = append(ends, []int{r})
	}
	for set := 1; set < 1<<t.Nodes()-1; set++ {
		var nodes []int
		for v := range t.Nodes() {
			if set>>v&1 == 1 {
				nodes = append(nodes, v)
			}
		}
		for _, from := range ends {
			for _, to := range ends {
				all = append(all, model.Cut{Nodes: nodes, From: from, To: to})
			}
		}
	}
	for set := 1; set < 1<<t.Nodes(); set++ {
		var nodes []int
		for v := range t.Nodes() {
			if set>>v&1 == 1 {
				nodes = append(nodes, v)
			}
		}
		all = append(all, model.Coverage{Nodes: nodes}, model.Coverage{Nodes: nodes, First: true})
		for r := range t.Ranks {
			all = append(all, model.Coverage{Nodes: nodes, From: []int{r}}, model.Coverage{Nodes: nodes, To: []int{r}})
		}
	}
	for _, parts := range partitions(t) {
		all = append(all, model.Partition{Parts: parts}, model.Crossing{Parts: parts})
	}
	equal, byBandwidth := model.Prices{}, model.Prices{}
	for _, l := range t.Links {
		equal.Links = append(equal.Links, 1)
		byBandwidth.Links = append(byBandwidth.Links, l.Bandwidth)
	}
	for i := range t.Links { // one link dearer, and one for nothing
		for _, base := range []model.Prices{equal, byBandwidth} {
			for _, factor := range []int64{0, 1, 2} {
				w := model.Prices{Links: slices.Clone(base.Links)}
				w.Links[i] *= factor
				all = append(all, w)
			}
		}
	}
	all = append(all, ramps(t)...)
	items, chunk, shard := p.Shards(), func(int) int { return -1 }, func(k int) int { return k }
	if p.Chunks != nil {
		items, chunk, shard = len(p.Chunks), func(k int) int { return k }, p.Shard
	}
	for k := range items {
		for s := range t.Ranks {
			all = append(all, model.Doubling{Chunk: chunk(k), Shard: shard(k), Source: s})
			full, head := potentials(p, k, s)
			for d := range t.Ranks {
				w := model.Distance{Chunk: chunk(k), Shard: shard(k), Source: s, Dest: d, Potential: full, Head: head}
				all = append(all, w)
				all = append(all, tooHigh(p, w)...)
			}
		}
	}
	return all
}

// ramps returns prices that fall with time on links from ranks, rise on those to ranks, and do not
// change on each link.
func ramps(t *model.Topology) (all []model.Witness) {
	falls, rises := model.PriceClass{}, model.PriceClass{}
	for i, l := range t.Links {
		all = append(all, model.TimedPrices{Classes: []model.PriceClass{{Links: []int{i}, Pieces: []model.PricePiece{{To: 40, Price: 1}}}}})
		if t.IsRank(l.Src) {
			falls.Links = append(falls.Links, i)
		} else {
			rises.Links = append(rises.Links, i)
		}
	}
	for theta := model.Time(1); theta <= 8; theta++ {
		for wait := range model.Time(4) {
			falls.Pieces = []model.PricePiece{{To: theta, Price: int64(theta), Slope: -1}}
			rises.Pieces = []model.PricePiece{{From: wait, To: 40, Slope: 1}}
			all = append(all, model.TimedPrices{Classes: []model.PriceClass{falls, rises}})
		}
	}
	return all
}

// partitions returns every partition of the ranks, with each switch in each part and in
// none.
func partitions(t *model.Topology) (all [][][]int) {
	part := make([]int, t.Nodes())
	var assign func(v, parts int)
	assign = func(v, parts int) {
		if v == t.Nodes() {
			sets := make([][]int, parts)
			for u, i := range part {
				if i < parts {
					sets[i] = append(sets[i], u)
				}
			}
			all = append(all, sets)
			return
		}
		for i := range parts + 1 { // the last is a new part, or for a switch none
			part[v] = i
			if t.IsRank(v) {
				assign(v+1, max(parts, i+1))
			} else if i == parts {
				part[v] = t.Nodes()
				assign(v+1, parts)
			} else {
				assign(v+1, parts)
			}
		}
	}
	assign(0, 0)
	return all
}

// potentials computes the times of a Distance by trying every path, hop by hop.
func potentials(p *model.Problem, item, source int) (full, head []model.Time) {
	t := p.Topology
	const far = model.MaxTime / 16
	full, head = slices.Repeat([]model.Time{far}, t.Nodes()), slices.Repeat([]model.Time{far}, t.Nodes())
	q, size := p, int64(1)
	if p.Chunks == nil {
		q = p.WithChunks(p.Shards())
	} else {
		size = p.Chunks[item].Size
	}
	for r, v := range q.Start(item) {
		for c := range v.Terms() {
			if c == source {
				full[r] = p.ReleaseOf(r)
			}
		}
	}
	for range t.Nodes() {
		for r := range t.Ranks {
			if full[r] < far {
				hop(p, size, full, head, r, full[r], 0, 0, []int{r})
			}
		}
	}
	for r := range t.Ranks {
		head[r] = full[r]
	}
	return full, head
}

// hop follows every hop that starts at rank r at a time.
func hop(p *model.Problem, size int64, full, head []model.Time, r int, start, alpha, tau model.Time, visited []int) {
	t := p.Topology
	at := visited[len(visited)-1]
	for _, l := range t.Links {
		if l.Src != at || slices.Contains(visited, l.Dst) {
			continue
		}
		start := start
		a, b := alpha+l.Alpha, max(tau, model.TransferTime(size, l.Bandwidth))
		if t.IsRank(l.Dst) {
			start = max(start, p.ReleaseOf(l.Dst))
			full[l.Dst] = min(full[l.Dst], start+a+b)
			continue
		}
		head[l.Dst], full[l.Dst] = min(head[l.Dst], start+a), min(full[l.Dst], start+a+b)
		hop(p, size, full, head, r, start, a, b, append(slices.Clone(visited), l.Dst))
	}
}

// tooHigh returns w with potentials that are too high, if those of w are as high as
// can be.
func tooHigh(p *model.Problem, w model.Distance) []model.Witness {
	t := p.Topology
	raised := func(by func(v int) (full, head model.Time)) model.Witness {
		u := w
		u.Potential, u.Head = slices.Clone(w.Potential), slices.Clone(w.Head)
		for v := range t.Nodes() {
			f, h := by(v)
			u.Potential[v] += f
			u.Head[v] += h
		}
		return u
	}
	held := slices.Index(w.Potential, slices.Min(w.Potential))
	stored := w // as if switches stored what they forward
	stored.Potential = slices.Repeat([]model.Time{model.MaxTime / 16}, t.Nodes())
	stored.Potential[held] = w.Potential[held]
	size := int64(1)
	if w.Chunk >= 0 {
		size = p.Chunks[w.Chunk].Size
	}
	for range t.Nodes() {
		for _, l := range t.Links {
			stored.Potential[l.Dst] = min(stored.Potential[l.Dst], stored.Potential[l.Src]+l.Alpha+model.TransferTime(size, l.Bandwidth))
		}
	}
	return []model.Witness{
		stored,
		raised(func(int) (full, head model.Time) { return 1, 1 }),
		raised(func(v int) (full, head model.Time) {
			if v == w.Dest {
				return 2, 0
			}
			return 0, 0
		}),
		raised(func(v int) (full, head model.Time) {
			if v == held {
				return 0, 0
			}
			return 1, 1
		}),
		raised(func(v int) (full, head model.Time) {
			if v == w.Dest {
				return 1, 0
			}
			return 0, 1
		}),
	}
}

package cert_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// plain computes what a coverage yields from its definition: by trying every hop, and by
// adding up instant by instant. A wrong one differs from it in one place.
type plain struct {
	p     *model.Problem
	size  int64 // the smallest item with a pair
	x     []bool
	w, v  []int // the ranks that contribute to a pair, and those that need one
	first bool
	wrong string
}

// wrongs are the ways in which a coverage can be computed wrongly so that it yields too much.
var wrongs = []string{"one head", "two heads", "one tail", "two tails", "latency", "bandwidth", "copies", "blocking", "least", "relay", "arrival", "union of pairs", "first and last", "adds", "adds at once", "copies at once"}

const forever = model.Time(1 << 40)

// newPlain returns nil if there is no pair.
func newPlain(p *model.Problem, w model.Coverage, wrong string) (*plain, map[int64]int64) {
	c := &plain{p: p, x: make([]bool, p.Topology.Nodes()), first: w.First, wrong: wrong}
	for _, v := range w.Nodes {
		c.x[v] = true
	}
	items := p
	if p.Chunks == nil {
		items = p.WithChunks(p.Shards())
	}
	pairs := map[int64]int64{} // by size
	for k, chunk := range items.Chunks {
		n := int64(0)
		for s := range items.Start(k) {
			for d := range items.Goal(k) {
				if c.x[s] || !c.x[d] || w.From != nil && !slices.Contains(w.From, s) || w.To != nil && !slices.Contains(w.To, d) {
					continue
				}
				n++
				c.w, c.v = append(c.w, s), append(c.v, d)
			}
		}
		if n > 0 {
			if pairs[chunk.Size] += n; c.size == 0 || chunk.Size < c.size {
				c.size = chunk.Size
			}
			if wrong == "least" {
				c.size = max(c.size, chunk.Size)
			}
		}
	}
	slices.Sort(c.w)
	slices.Sort(c.v)
	c.w, c.v = slices.Compact(c.w), slices.Compact(c.v)
	if p.Chunks == nil {
		c.size = 1
	}
	return c, pairs
}

// way is a hop, or a part of one: where it ends, its latencies and the longest τ.
type way struct {
	at         int
	alpha, tau model.Time
}

// ways returns every simple way from a node over switches, among some nodes, to others; the
// ways that end at ranks go no further.
func (c *plain) ways(from int, among func(int) bool, backwards bool) []way {
	var all []way
	var extend func(w way, visited []int)
	extend = func(w way, visited []int) {
		for _, l := range c.p.Topology.Links {
			if backwards {
				l.Src, l.Dst = l.Dst, l.Src
			}
			if l.Src != w.at || !among(l.Dst) || slices.Contains(visited, l.Dst) {
				continue
			}
			x := way{l.Dst, w.alpha + l.Alpha, max(w.tau, model.TransferTime(c.size, l.Bandwidth))}
			all = append(all, x)
			if !c.p.Topology.IsRank(l.Dst) {
				extend(x, append(slices.Clone(visited), l.Dst))
			}
		}
	}
	extend(way{at: from}, []int{from})
	return all
}

// chains returns the least times at which something at a rank at a time can be at each rank.
func (c *plain) chains(from int, at model.Time, late bool, among func(int) bool) []model.Time {
	n := c.p.Topology.Ranks
	times := slices.Repeat([]model.Time{forever}, n)
	times[from] = at
	for range n {
		for u := range n {
			if times[u] == forever || !among(u) {
				continue
			}
			for _, w := range c.ways(u, among, false) {
				if w.at < n {
					start := times[u]
					if late {
						start = max(start, c.p.ReleaseOf(u), c.p.ReleaseOf(w.at))
					}
					if c.wrong == "relay" {
						start++
					}
					times[w.at] = min(times[w.at], start+w.alpha+w.tau)
				}
			}
		}
	}
	return times
}

// yield returns the bound, forever if it is beyond limit.
func (c *plain) yield(pairs map[int64]int64, limit model.Time) model.Time {
	if len(pairs) == 0 {
		return -1
	}
	best := c.bound(pairs, limit, false)
	if c.p.Chunks != nil {
		best = max(best, c.bound(pairs, limit, true))
	}
	return best
}

func (c *plain) bound(pairs map[int64]int64, limit model.Time, occupied bool) model.Time {
	t := c.p.Topology
	before := func(v int) bool { return !(c.first || c.wrong == "first and last") || !c.x[v] }
	behind := func(v int) bool { return c.first && c.wrong != "first and last" || c.x[v] }
	latest := func(times []model.Time, by model.Time) (n int64) {
		for _, at := range times {
			if at <= by {
				n++
			}
		}
		return n
	}
	type passage struct {
		bandwidth    int64
		heads, tails [][]model.Time
	}
	var entries []passage
	weight := map[int64]int64{} // by size, bandwidth times time
	for _, l := range t.Links {
		if c.x[l.Src] || !c.x[l.Dst] {
			continue
		}
		alpha, beside := l.Alpha, model.Time(0)
		if occupied && (c.p.Cost != model.Pipelined || c.wrong == "blocking") {
			alpha, beside = 0, l.Alpha
		}
		e := passage{bandwidth: l.Bandwidth}
		if c.wrong == "bandwidth" {
			e.bandwidth = e.bandwidth * 4 / 5
		}
		begins := []way{{at: l.Src}}
		if !t.IsRank(l.Src) {
			begins = c.ways(l.Src, before, true)
		}
		for _, b := range begins {
			if !t.IsRank(b.at) {
				continue
			}
			var list []model.Time
			for _, w := range c.w {
				at := c.chains(w, c.p.ReleaseOf(w), true, before)[b.at]
				if t.IsRank(l.Dst) {
					at = max(at, c.p.ReleaseOf(l.Dst))
				}
				if c.wrong == "latency" {
					at++
				}
				if c.wrong == "arrival" {
					at = max(at, slices.Max(append([]model.Time{0}, c.p.Release...)))
				}
				list = append(list, at+b.alpha)
			}
			e.heads = append(e.heads, list)
		}
		ends := []way{{at: l.Dst}}
		if !t.IsRank(l.Dst) {
			ends = c.ways(l.Dst, behind, false)
		}
		copies := t.Copies(l.Dst)
		for _, w := range ends {
			copies = copies || c.wrong != "copies at once" && t.Copies(w.at)
		}
		copies = copies && c.wrong != "copies"
		adds := t.Reduces(l.Src) != model.NoReducing
		for _, w := range begins {
			adds = adds || c.wrong != "adds at once" && t.Reduces(w.at) != model.NoReducing
		}
		if adds = adds && c.wrong != "adds"; adds {
			soonest := slices.Clone(e.heads[0])
			for _, list := range e.heads {
				for i, at := range list {
					soonest[i] = min(soonest[i], at)
				}
			}
			e.heads = [][]model.Time{soonest}
		}
		soonest := slices.Repeat([]model.Time{forever}, len(c.v))
		for _, b := range ends {
			if !t.IsRank(b.at) {
				continue
			}
			times := c.chains(b.at, 0, false, behind)
			var list []model.Time
			for i, v := range c.v {
				list = append(list, min(forever, times[v]+b.alpha+alpha))
				soonest[i] = min(soonest[i], list[i])
			}
			e.tails = append(e.tails, list)
		}
		if copies {
			e.tails = [][]model.Time{soonest}
		}
		entries = append(entries, e)
		for size := range pairs {
			area := e.bandwidth * int64(beside+model.TransferTime(size, l.Bandwidth))
			if old, known := weight[size]; !known || area < old {
				weight[size] = area
			}
		}
	}
	need := int64(0)
	for size, n := range pairs {
		if occupied {
			need += n * weight[size]
		} else {
			need += n * size * int64(model.Second)
		}
		if c.wrong == "union of pairs" {
			need += size * int64(model.Second)
		}
	}
	kind := c.p.Collective.Kind
	highest := func(lists [][]model.Time, by model.Time, one, two bool) (n int64) {
		for _, list := range lists {
			n = max(n, latest(list, by))
		}
		switch {
		case one:
			return min(n, 1)
		case two:
			return min(n, 2)
		}
		return n
	}
	alone := kind != model.AllReduce && kind != model.AllGather && kind != model.Broadcast
	for end := model.Time(0); end <= limit; end++ {
		area := int64(0)
		for _, e := range entries {
			for at := range end {
				heads := highest(e.heads, at, !kind.Reduces() || c.wrong == "one head", c.wrong == "two heads")
				tails := highest(e.tails, end-1-at, alone || c.wrong == "one tail", c.wrong == "two tails")
				area += e.bandwidth * heads * tails
			}
		}
		if area >= need {
			return end
		}
	}
	return forever
}

// coverages returns the coverages of a small problem: every set of nodes, with all or some of
// the ranks outside and inside.
func coverages(p *model.Problem) (all []model.Coverage) {
	t := p.Topology
	lists := func(from []int) (sets [][]int) {
		for set := 1; set < 1<<len(from); set++ {
			var list []int
			for i, v := range from {
				if set>>i&1 == 1 {
					list = append(list, v)
				}
			}
			sets = append(sets, list)
		}
		return sets
	}
	var nodes []int
	for v := range t.Nodes() {
		nodes = append(nodes, v)
	}
	for _, x := range lists(nodes) {
		var outside, inside []int
		for r := range t.Ranks {
			if slices.Contains(x, r) {
				inside = append(inside, r)
			} else {
				outside = append(outside, r)
			}
		}
		for _, w := range lists(outside) {
			for _, v := range lists(inside) {
				all = append(all, model.Coverage{Nodes: x, From: w, To: v}, model.Coverage{Nodes: x, From: w, To: v, First: true})
			}
		}
	}
	return all
}

// What a coverage yields, another one yields of the problem read backwards, where nobody is late: of
// the other nodes, with ranks that contribute and those that need exchanged, at the other passing.
func TestCoverageBackwards(t *testing.T) {
	compared := map[model.Kind]int{}
	for seed := uint64(0); seed < 60; seed++ {
		p := covered(rand.New(rand.NewPCG(seed, 25)))
		back, turns := map[model.Kind]model.Kind{
			model.Broadcast: model.Reduce, model.Reduce: model.Broadcast, model.AllGather: model.ReduceScatter, model.ReduceScatter: model.AllGather,
			model.AllReduce: model.AllReduce, model.Gather: model.Scatter, model.Scatter: model.Gather,
		}[p.Collective.Kind]
		for i := range p.Topology.Switches {
			p.Topology.Switches[i].Copies = false
		}
		if p.Release = nil; !turns {
			continue
		}
		q := *p
		q.Topology = p.Topology.Reversed()
		q.Collective.Kind = back
		for _, w := range coverages(p) {
			x := model.Coverage{From: w.To, To: w.From, First: !w.First}
			for v := range p.Topology.Nodes() {
				if !slices.Contains(w.Nodes, v) {
					x.Nodes = append(x.Nodes, v)
				}
			}
			a, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
			b, backErr := cert.Yield(context.Background(), &model.Certificate{Problem: &q, Witness: x})
			require.Equal(t, err != nil, backErr != nil, "%v: %#v", p, w)
			require.Equal(t, a, b, "seed %d: %v\n%+v\n%#v", seed, p, p.Topology, w)
			compared[p.Collective.Kind]++
		}
	}
	require.Len(t, compared, 7)
}

// covered returns a random tiny problem of a standard collective, under any cost model.
func covered(r *rand.Rand) *model.Problem {
	for {
		p := tiny(r)
		if p.Collective.Kind == model.Custom {
			continue
		}
		if r.IntN(3) == 0 {
			p.Collective = tinyCollective(r, []model.Kind{model.AllReduce, model.AllReduce, model.ReduceScatter, model.AllGather}[r.IntN(4)], p.Topology.Ranks)
		}
		p.Cost = model.CostModel(1 + r.IntN(4))
		for i := range p.Topology.Links {
			switch r.IntN(4) {
			case 0:
				p.Topology.Links[i].Alpha = model.Time(r.IntN(6))
			case 1:
				p.Topology.Links[i].Bandwidth = 1e12 / int64(1+r.IntN(3))
			}
		}
		if r.IntN(4) == 0 {
			p.Release = make([]model.Time, p.Topology.Ranks)
			for v := range p.Release {
				p.Release[v] = model.Time(r.IntN(2) * r.IntN(9))
			}
		}
		p.Size = max(p.Size, int64(p.Shards()))
		p = p.WithChunks(p.Shards() * (1 + r.IntN(2)))
		if p.Validate() == nil && len(p.Chunks) <= 6 {
			return p
		}
	}
}

// known is a right schedule with a coverage of its problem.
type known struct {
	p *model.Problem
	s *model.Schedule
	w model.Coverage
}

// knownSchedules returns schedules that are too large for brute to find.
func knownSchedules() []known {
	var all []known
	add := func(p *model.Problem, links []model.Link, transfers []model.Transfer, w model.Coverage) {
		p.Topology.Name, p.Topology.Links, p.Cost = "known", links, model.Pipelined
		s := &model.Schedule{Form: model.Timed, Transfers: transfers}
		for l := range links {
			s.Routes = append(s.Routes, []int{l})
		}
		all = append(all, known{p, s, w})
	}
	const n, tau = 5, 20 // two-shot: every rank adds up a part, and sends it to all
	p := (&model.Problem{Topology: &model.Topology{Ranks: n}, Collective: model.Collective{Kind: model.AllReduce}, Size: n * tau}).WithChunks(n)
	var links []model.Link
	var transfers []model.Transfer
	for u := range n {
		for v := range n {
			if u != v {
				t := model.Transfer{Chunk: int32(v), Src: int32(u), Dst: int32(v), Route: int32(len(links)), Op: model.Reduction, End: tau}
				transfers = append(transfers, t)
				t.Chunk, t.Op, t.Start, t.End = int32(u), model.Copy, tau, 2*tau
				transfers = append(transfers, t)
				links = append(links, model.Link{Src: u, Dst: v, Bandwidth: 1e12})
			}
		}
	}
	add(p, links, transfers, model.Coverage{Nodes: []int{0}})
	const chunks = 8 // along a line
	q := (&model.Problem{Topology: &model.Topology{Ranks: 4}, Collective: model.Collective{Kind: model.Broadcast}, Size: 3 * chunks}).WithChunks(chunks)
	links, transfers = nil, nil
	for u := range 3 {
		links = append(links, model.Link{Src: u, Dst: u + 1, Bandwidth: 1e12})
		for k := range chunks {
			at := model.Time(3 * (u + k))
			transfers = append(transfers, model.Transfer{Chunk: int32(k), Src: int32(u), Dst: int32(u + 1), Route: int32(u), Start: at, End: at + 3})
		}
	}
	add(q, links, transfers, model.Coverage{Nodes: []int{1, 2, 3}})
	const n1 = 3 // ranks, of which others are behind two switches
	behind := func(kind model.Kind, near, far model.Switch, root int) *model.Problem {
		return (&model.Problem{Topology: &model.Topology{Ranks: n1, Switches: []model.Switch{near, far}}, Collective: model.Collective{Kind: kind, Root: root}, Size: 5}).WithChunks(1)
	}
	sum := behind(model.Reduce, model.Switch{Reduces: model.SumsTurned}, model.Switch{}, 2) // ranks 0 and 1, a switch that adds, another one, rank 2
	links = []model.Link{{Src: 0, Dst: 3, Bandwidth: 1e12}, {Src: 1, Dst: 3, Bandwidth: 1e12}, {Src: 3, Dst: 4, Bandwidth: 1e12}, {Src: 4, Dst: 2, Bandwidth: 1e12}}
	transfers = []model.Transfer{{Src: 0, Dst: 2, Route: 4, Op: model.Reduction, End: 5}, {Src: 1, Dst: 2, Route: 5, Op: model.Reduction, End: 5}}
	add(sum, links, transfers, model.Coverage{Nodes: []int{2}})
	all[len(all)-1].s.Routes = append(all[len(all)-1].s.Routes, []int{0, 2, 3}, []int{1, 2, 3})
	spread := behind(model.Broadcast, model.Switch{}, model.Switch{Copies: true}, 0) // rank 0, a switch, another one that copies, ranks 1 and 2
	links = []model.Link{{Src: 0, Dst: 3, Bandwidth: 1e12}, {Src: 3, Dst: 4, Bandwidth: 1e12}, {Src: 4, Dst: 1, Bandwidth: 1e12}, {Src: 4, Dst: 2, Bandwidth: 1e12}}
	transfers = []model.Transfer{{Dst: 1, Route: 4, End: 5}, {Dst: 2, Route: 5, End: 5}}
	add(spread, links, transfers, model.Coverage{Nodes: []int{1, 2, 3, 4}})
	all[len(all)-1].s.Routes = append(all[len(all)-1].s.Routes, []int{0, 1, 2}, []int{0, 1, 3})
	star := (&model.Problem{Topology: &model.Topology{Ranks: 4, Switches: []model.Switch{{Copies: true}}}, Collective: model.Collective{Kind: model.Broadcast}, Size: 5}).WithChunks(1)
	links, transfers = []model.Link{{Src: 0, Dst: 4, Bandwidth: 1e12}}, nil
	for v := 1; v < 4; v++ {
		links = append(links, model.Link{Src: 4, Dst: v, Bandwidth: 1e12})
		transfers = append(transfers, model.Transfer{Dst: int32(v), Route: int32(4 + v - 1), End: 5})
	}
	add(star, links, transfers, model.Coverage{Nodes: []int{1, 2, 3, 4}})
	all[len(all)-1].s.Routes = append(all[len(all)-1].s.Routes, []int{0, 1}, []int{0, 2}, []int{0, 3})
	return all
}

// TestCoverageIsSound sets every coverage of random tiny problems against the optimum, and
// against what plain computes from the definition. Each way to compute it wrongly must be
// seen: it yields more than some optimum.
func TestCoverageIsSound(t *testing.T) {
	limit := model.Time(60)
	decided, tight, caught := map[model.CostModel]int{}, 0, map[string]int{}
	total := 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*problems); seed++ {
		r := rand.New(rand.NewPCG(seed, 15))
		p := covered(r)
		b := newBrute(p, *budget)
		least, state, exhausted := b.optimum(limit)
		if exhausted || state == nil {
			continue
		}
		if least > 0 {
			v := replay.Check(context.Background(), p, b.schedule(state))
			require.Equal(t, verify.Proved, v.Outcome, "seed %d: %v", seed, v.Violations)
			require.Equal(t, least, v.Makespan, "seed %d", seed)
		}
		decided[p.Cost]++
		total++
		free := *p
		free.Chunks = nil
		best := model.Time(0)
		for _, q := range []*model.Problem{p, &free} {
			var highest []model.Coverage // those that yield most
			most := model.Time(-1)
			for i, w := range coverages(q) {
				y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: w})
				c, pairs := newPlain(q, w, "")
				require.Equal(t, len(pairs) == 0, err != nil, "seed %d: %#v: %v", seed, w, err)
				if err != nil {
					continue
				}
				require.LessOrEqual(t, y, least, "seed %d: %v\n%+v\nyields %v by %#v, but there is a schedule that ends at %v: %+v",
					seed, p, p.Topology, y, w, least, b.schedule(state))
				if y > most {
					most, highest = y, nil
				}
				if y == most {
					highest = append(highest, w)
				}
				if (i+int(seed))%7 == 0 {
					defined := c.yield(pairs, least)
					if q.Late() && len(q.Topology.Switches) > 0 { // the checker lets a hop to a late rank begin at its last link
						require.GreaterOrEqual(t, defined, y, "seed %d: %v\n%+v\n%#v", seed, q, q.Topology, w)
					} else {
						require.Equal(t, defined, y, "seed %d: %v\n%+v\n%#v", seed, q, q.Topology, w)
					}
				}
			}
			best = max(best, most)
			for _, wrong := range wrongs {
				for _, w := range highest[:min(3, len(highest))] {
					if c, pairs := newPlain(q, w, wrong); c.yield(pairs, least) > least {
						caught[wrong]++
					}
				}
			}
		}
		if best == least {
			tight++
		}
	}
	for _, known := range knownSchedules() {
		v := replay.Check(context.Background(), known.p, known.s)
		require.Equal(t, verify.Proved, v.Outcome, "%v: %v", known.p, v.Violations)
		y, err := cert.Yield(context.Background(), &model.Certificate{Problem: known.p, Witness: known.w})
		require.NoError(t, err)
		require.LessOrEqual(t, y, v.Makespan, "%v", known.p)
		for _, wrong := range wrongs {
			if c, pairs := newPlain(known.p, known.w, wrong); c.yield(pairs, v.Makespan) > v.Makespan {
				caught[wrong]++
			}
		}
	}
	t.Logf("%v decided, %d of them met by a coverage; wrong ones caught: %v", decided, tight, caught)
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
		require.Greater(t, decided[cost], *problems/20, cost)
	}
	require.Greater(t, tight, total/4)
	for _, wrong := range wrongs {
		require.Positive(t, caught[wrong], wrong)
	}
}

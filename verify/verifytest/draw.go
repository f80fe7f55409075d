package verifytest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// DrawTopology returns a small random network in which every rank can reach every other:
// 2 to 5 ranks, up to 3 switches some of which copy, parallel links, ports. A byte takes
// some picoseconds on its links, so that many spans touch or coincide.
func DrawTopology(r *rand.Rand) *model.Topology {
	t := &model.Topology{Name: "drawn", Ranks: 2 + r.IntN(4)}
	link := func(u, v int) {
		if u != v {
			t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(4)),
				Bandwidth: []int64{1e12, 1e12, 5e11, 25e10, 3e12, 7e11}[r.IntN(6)]})
		}
	}
	node := func() int { return r.IntN(t.Nodes()) }
	copies := r.IntN(2) == 0
	for i := range r.IntN(4) {
		t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprintf("s%d", i), Copies: copies && r.IntN(3) > 0})
	}
	if len(t.Switches) > 0 && r.IntN(2) == 0 { // a star
		for u := range t.Ranks {
			link(u, t.Ranks)
			link(t.Ranks, u)
		}
	}
	order := r.Perm(t.Nodes())
	if len(t.Links) > 0 {
		order = r.Perm(t.Ranks)
	}
	for i, u := range order { // a ring
		v := order[(i+1)%len(order)]
		link(u, v)
		if r.IntN(2) == 0 {
			link(v, u)
		}
	}
	for range r.IntN(5) {
		link(node(), node())
	}
	if r.IntN(3) == 0 { // a link beside one that there is
		t.Links = append(t.Links, t.Links[r.IntN(len(t.Links))])
	}
	if len(t.Switches) > 0 && r.IntN(3) == 0 {
		drawReducing(r, t)
	}
	for range r.IntN(3) {
		v := node()
		links := slices.Clone([][]int{t.Out()[v], t.In()[v]}[r.IntN(2)])
		r.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		if len(links) > 0 {
			t.Ports = append(t.Ports, model.Port{Links: links[:1+r.IntN(len(links))], Capacity: 1 + r.IntN(2)})
		}
	}
	return t
}

// DrawCollective returns one of the eight standard collectives, often among some of n
// ranks in any order. It returns no custom one: those come with a schedule, see Draw.
func DrawCollective(r *rand.Rand, n int) model.Collective {
	kinds := model.Kinds()
	c := model.Collective{Kind: kinds[r.IntN(len(kinds))], Op: model.Operator(r.IntN(4))}
	if r.IntN(3) == 0 {
		c.Group = r.Perm(n)[:1+r.IntN(n)]
	}
	if c.Kind.Rooted() {
		c.Root = r.IntN(n)
		if c.Group != nil {
			c.Root = c.Group[r.IntN(len(c.Group))]
		}
	}
	return c
}

// DrawRelease returns the times at which ranks arrive: nil, or several of them late.
func DrawRelease(r *rand.Rand, n int) []model.Time {
	if r.IntN(3) > 0 {
		return nil
	}
	release := make([]model.Time, n)
	for i := range release {
		if r.IntN(2) == 0 {
			release[i] = model.Time(r.IntN(9))
		}
	}
	return release
}

// DrawChunks cuts each shard of p into one to most chunks of any sizes.
func DrawChunks(r *rand.Rand, p *model.Problem, most int) {
	p.Chunks = nil
	n, space := int64(p.Shards()), p.Space()
	for s := range n {
		at, end := space*s/n, space*(s+1)/n
		if ends := p.Collective.Ends; ends != nil {
			at, end = 0, ends[s]
			if s > 0 {
				at = ends[s-1]
			}
		}
		for left := 1 + r.IntN(most); at < end; left-- {
			size := end - at
			if left > 1 && size > 1 {
				size = 1 + r.Int64N(size)
			}
			p.Chunks = append(p.Chunks, model.Chunk{Offset: at, Size: size})
			at += size
		}
	}
}

// Spelled returns p, of a standard collective, with its conditions written out as those of a
// custom one, whose shards are as large as p's or, where size is not nil, as large as that
// returns for each. The first has the chunks of p, the second has none.
func Spelled(p *model.Problem, size func() int64) *model.Problem {
	q, whole := *p, *p
	space := p.Size
	if p.Collective.Kind == model.AllToAll {
		space *= int64(len(p.Members()))
	}
	n := int64(p.Shards())
	c := model.Collective{Kind: model.Custom, Name: "spelled " + p.Collective.Kind.String(), Group: p.Collective.Group, Op: p.Collective.Op, Chunks: int(n)}
	whole.Chunks = nil
	at := int64(0)
	for s := range n {
		from, to := space*s/n, space*(s+1)/n
		whole.Chunks = append(whole.Chunks, model.Chunk{Offset: from, Size: to - from})
		if at = to; size != nil {
			at = size()
			if s > 0 {
				at += c.Ends[s-1]
			}
		}
		c.Ends = append(c.Ends, at)
	}
	start, goal := Conditions(&whole)
	for _, x := range []struct {
		from map[Slot]Counts
		to   *[]model.Condition
	}{{start, &c.Pre}, {goal, &c.Post}} {
		for slot, counts := range x.from {
			*x.to = append(*x.to, model.Condition{Rank: slot.Rank, Chunk: slot.Chunk, Value: Multiset(counts)})
		}
		model.SortConditions(*x.to)
	}
	if q.Collective, q.Size = c, at; size != nil {
		q.Chunks = nil
	}
	return &q
}

// DrawProblem returns a random problem of a standard collective, with chunks of a few
// bytes.
func DrawProblem(r *rand.Rand) *model.Problem {
	for {
		p := &model.Problem{Topology: DrawTopology(r), Cost: model.CostModel(1 + r.IntN(4))}
		p.Collective = DrawCollective(r, p.Topology.Ranks)
		p.Size = int64(p.Shards()) + r.Int64N(6)
		if p.Collective.Kind == model.AllToAll {
			p.Size = int64(len(p.Members())) + r.Int64N(3)
		}
		p.Release = DrawRelease(r, p.Topology.Ranks)
		DrawChunks(r, p, 2)
		if p.Validate() == nil && len(p.Chunks) <= 12 {
			return p
		}
	}
}

// Draw returns a random problem, a standard or a custom one, with a schedule that is right
// by the way in which it is made, in one of the three forms. Not every draw succeeds; the
// next one may.
func Draw(r *rand.Rand) (p *model.Problem, s *model.Schedule, ok bool) {
	p = DrawProblem(r)
	d := &drawing{Rand: r, p: p, counts: []int{1, 1, 1, 2, 2, 3, 4}}
	if r.IntN(10) == 0 {
		d.counts = append(d.counts, 1<<19) // sums reach the limit of what a condition can ask for
	}
	if r.IntN(3) == 0 {
		d.custom()
	} else {
		for k := range p.Chunks {
			d.serve(k)
		}
	}
	if d.failed || p.Validate() != nil { // a count may be too large
		return nil, nil, false
	}
	d.mix()
	if !d.exchanges && r.IntN(4) == 0 {
		s, ok = d.order(), true
	} else {
		s, ok = d.place()
	}
	if ok && r.IntN(12) == 0 {
		spread(r, p, s)
	}
	return p, s, ok
}

// Attempt returns a right schedule, with times or in rounds, of a problem of a standard
// collective, if this draw of one succeeds.
func Attempt(r *rand.Rand, p *model.Problem) (*model.Schedule, bool) {
	d := &drawing{Rand: r, p: p, direct: true}
	for k := range p.Chunks {
		d.serve(k)
	}
	if d.failed {
		return nil, false
	}
	d.mix()
	return d.place()
}

// Custom replaces the collective of p by one with conditions of its own, and returns a
// schedule, with times or in rounds, that is right for it, if this draw of one succeeds.
// Contributions are there at first as often as one of counts.
func Custom(r *rand.Rand, p *model.Problem, counts []int) (*model.Schedule, bool) {
	d := &drawing{Rand: r, p: p, counts: counts}
	d.custom()
	if d.failed || p.Validate() != nil {
		return nil, false
	}
	d.mix()
	return d.place()
}

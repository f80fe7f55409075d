package model

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// The generators draw anything that Validate accepts, not only what is sensible.

func drawName(t *rapid.T, what string) string {
	return rapid.StringMatching(`[a-zé"\\<&0-9 ]{0,12}`).Draw(t, what)
}

func drawTopology(t *rapid.T) *Topology {
	tp := &Topology{Name: drawName(t, "name"), Ranks: rapid.IntRange(1, 6).Draw(t, "ranks")}
	for i := range rapid.IntRange(0, 2).Draw(t, "switches") {
		tp.Switches = append(tp.Switches, Switch{fmt.Sprintf("%s%d", drawName(t, "switch"), i), rapid.Bool().Draw(t, "copies")})
	}
	n := tp.Nodes()
	if n == 1 {
		return tp
	}
	for range rapid.IntRange(1, 12).Draw(t, "links") {
		src := rapid.IntRange(0, n-1).Draw(t, "src")
		dst := (src + rapid.IntRange(1, n-1).Draw(t, "dst")) % n
		tp.Links = append(tp.Links, Link{src, dst, drawTime(t, "alpha"), rapid.Int64Range(1<<20, 1<<40).Draw(t, "bandwidth")})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "ports") {
		first := rapid.IntRange(0, len(tp.Links)-1).Draw(t, "port")
		p := Port{fmt.Sprintf("%s%d", drawName(t, "port name"), i), nil, rapid.IntRange(1, 3).Draw(t, "capacity")}
		for l := range tp.Links {
			if tp.Links[l].Src == tp.Links[first].Src && (l == first || rapid.Bool().Draw(t, "in port")) {
				p.Links = append(p.Links, l)
			}
		}
		tp.Ports = append(tp.Ports, p)
	}
	return tp
}

func drawTime(t *rapid.T, what string) Time {
	return Time(rapid.Int64Range(0, int64(Millisecond)).Draw(t, what))
}

// drawSubset draws some of 0..n-1, at least one, ascending.
func drawSubset(t *rapid.T, n int, what string) []int {
	var list []int
	for i := range n {
		if rapid.Bool().Draw(t, what) {
			list = append(list, i)
		}
	}
	if list == nil {
		list = []int{rapid.IntRange(0, n-1).Draw(t, what)}
	}
	return list
}

func drawCollective(t *rapid.T, ranks int) Collective {
	c := Collective{
		Kind: rapid.SampledFrom(append(Kinds(), Custom)).Draw(t, "kind"),
		Op:   rapid.SampledFrom([]Operator{Sum, Prod, Min, Max}).Draw(t, "op"),
	}
	members := make([]int, ranks)
	for i := range members {
		members[i] = i
	}
	if rapid.Bool().Draw(t, "grouped") {
		c.Group = rapid.Permutation(drawSubset(t, ranks, "group")).Draw(t, "order")
		members = c.Group
	}
	if c.Kind.Rooted() {
		c.Root = rapid.SampledFrom(members).Draw(t, "root")
	}
	if c.Kind == Custom {
		c.Chunks = rapid.IntRange(1, 4).Draw(t, "custom chunks")
		c.Pre = drawConditions(t, members, c.Chunks, 0)
		c.Post = drawConditions(t, members, c.Chunks, 1)
	}
	return c
}

func drawConditions(t *rapid.T, members []int, chunks, least int) []Condition {
	list := []Condition{}
	for range rapid.IntRange(least, 5).Draw(t, "conditions") {
		d := Condition{Rank: rapid.SampledFrom(members).Draw(t, "rank"), Chunk: rapid.IntRange(0, chunks-1).Draw(t, "chunk")}
		if slices.ContainsFunc(list, func(e Condition) bool { return compareConditions(d, e) == 0 }) {
			continue
		}
		var terms []Term
		for _, i := range drawSubset(t, len(members), "contributions") {
			terms = append(terms, Term{members[i], rapid.IntRange(1, 3).Draw(t, "count")})
		}
		d.Value = Multiset(terms...)
		list = append(list, d)
	}
	SortConditions(list)
	return list
}

// drawProblem draws a problem, cut if cut is set, for any of the cost models.
func drawProblem(t *rapid.T, cut bool) *Problem {
	p := &Problem{Topology: drawTopology(t)}
	p.Collective = drawCollective(t, p.Topology.Ranks)
	p.Cost = rapid.SampledFrom([]CostModel{Blocking, Pipelined, Rounds, LinkRounds}).Draw(t, "cost")
	p.Size = rapid.Int64Range(int64(p.Shards()), 1<<24).Draw(t, "size")
	if rapid.Bool().Draw(t, "late") {
		p.Release = make([]Time, p.Topology.Ranks)
		for r := range p.Release {
			p.Release[r] = drawTime(t, "release")
		}
	}
	if cut || rapid.Bool().Draw(t, "cut") {
		p.Chunks = drawChunks(t, p)
	}
	return p
}

// drawChunks cuts p equally, or each shard into chunks of any sizes.
func drawChunks(t *rapid.T, p *Problem) []Chunk {
	space, shards := p.Space(), p.Shards()
	if rapid.Bool().Draw(t, "equal") {
		k := 1
		if p.Collective.Kind != Custom {
			k = rapid.IntRange(1, int(min(4, space/int64(shards)))).Draw(t, "chunks a shard")
		}
		return p.Cut(k * shards)
	}
	var chunks []Chunk
	for s := range shards {
		at, end := part(space, int64(s), int64(shards)), part(space, int64(s)+1, int64(shards))
		for at < end {
			size := end - at
			if p.Collective.Kind != Custom {
				size = rapid.Int64Range(1, end-at).Draw(t, "chunk size")
			}
			if len(chunks) > 40 {
				size = end - at
			}
			chunks = append(chunks, Chunk{at, size})
			at += size
		}
	}
	return chunks
}

// drawSchedule draws a schedule that Validate accepts, and hardly anything else will.
func drawSchedule(t *rapid.T, p *Problem) *Schedule {
	s := &Schedule{Form: rapid.SampledFrom([]Form{FormFor(p.Cost), Ordered}).Draw(t, "form"), Transfers: []Transfer{}}
	if p.Topology.Ranks < 2 || len(p.Topology.Links) == 0 {
		return s
	}
	n := rapid.IntRange(0, 8).Draw(t, "transfers")
	seen := map[string]int32{}
	for i := range n {
		route := rapid.SliceOfN(rapid.IntRange(0, len(p.Topology.Links)-1), 1, 3).Draw(t, "route")
		id, known := seen[fmt.Sprint(route)]
		if !known {
			id = int32(len(s.Routes))
			seen[fmt.Sprint(route)] = id
			s.Routes = append(s.Routes, route)
		}
		src := rapid.IntRange(0, p.Topology.Ranks-1).Draw(t, "from")
		dst := (src + rapid.IntRange(1, p.Topology.Ranks-1).Draw(t, "to")) % p.Topology.Ranks
		tr := Transfer{
			Chunk: int32(rapid.IntRange(0, len(p.Chunks)-1).Draw(t, "chunk")), Src: int32(src), Dst: int32(dst),
			Route: id, Op: rapid.SampledFrom([]Op{Copy, Reduction}).Draw(t, "op"),
		}
		switch s.Form {
		case Timed:
			tr.Start = drawTime(t, "start")
			tr.End = tr.Start + 1 + drawTime(t, "length")
		case InRounds:
			tr.Start = Time(rapid.IntRange(0, 20).Draw(t, "round"))
			tr.End = tr.Start + 1
		case Ordered:
			after := []int32{}
			for j := range i {
				if rapid.Bool().Draw(t, "after") {
					after = append(after, int32(j))
				}
			}
			s.After = append(s.After, after)
		}
		s.Transfers = append(s.Transfers, tr)
	}
	return s
}

func drawOrigin(t *rapid.T) Origin {
	o := Origin{
		Method: drawName(t, "method"), Seed: rapid.Uint64().Draw(t, "seed"), Tool: drawName(t, "tool"),
		Partial: rapid.Bool().Draw(t, "partial"), Note: rapid.String().Draw(t, "note"),
	}
	for _, engine := range []string{"replay", "smt"} {
		if rapid.Bool().Draw(t, engine) {
			if o.Verdict == nil {
				o.Verdict = map[string]string{}
			}
			o.Verdict[engine] = rapid.SampledFrom([]string{"proved", "refuted", "unknown"}).Draw(t, "verdict")
		}
	}
	return o
}

func drawCertificate(t *rapid.T) *Certificate {
	c := &Certificate{Problem: drawProblem(t, false), Bound: drawTime(t, "bound")}
	p := c.Problem
	rank := rapid.IntRange(0, p.Topology.Ranks-1)
	chunk, shard, source := rapid.IntRange(-1, len(p.Chunks)-1).Draw(t, "chunk"), rapid.IntRange(0, p.Shards()-1).Draw(t, "shard"), rank.Draw(t, "source")
	potential := []Time{}
	for range p.Topology.Nodes() {
		potential = append(potential, drawTime(t, "potential")-Microsecond)
	}
	prices := []int64{}
	for range p.Topology.Links {
		prices = append(prices, rapid.Int64Min(0).Draw(t, "price"))
	}
	if p.Chunks != nil && rapid.IntRange(0, 3).Draw(t, "lp-dual") == 0 {
		c.Witness = drawDual(t, p)
		return c
	}
	if p.Chunks != nil && rapid.IntRange(0, 5).Draw(t, "lrat") == 0 {
		w := Refutation{Horizon: rapid.IntRange(1, 99).Draw(t, "horizon"), Proof: "a.lrat", SHA256: strings.Repeat("0a", 32)}
		if p.Cost.Synchronous() {
			w.Steps = rapid.IntRange(0, 9).Draw(t, "steps")
		} else {
			w.Epoch = 1 + drawTime(t, "epoch")
		}
		c.Witness = w
		return c
	}
	c.Witness = rapid.SampledFrom([]Witness{
		Cut{Nodes: drawSubset(t, p.Topology.Nodes(), "nodes")},
		Cut{drawSubset(t, p.Topology.Nodes(), "nodes"), drawSubset(t, p.Topology.Ranks, "from"), []int{source}},
		Ingress{source}, Egress{source}, Volume{}, Partition{[][]int{drawSubset(t, p.Topology.Nodes(), "part")}}, Prices{prices},
		Distance{chunk, shard, source, rank.Draw(t, "dest"), potential, nil},
		Distance{chunk, shard, source, rank.Draw(t, "dest"), potential, potential},
		Doubling{chunk, shard, source}, Spread{source}, Combine{source},
	}).Draw(t, "witness")
	return c
}

func drawDual(t *rapid.T, p *Problem) LPDual {
	w := LPDual{Instants: []Time{}, Groups: []DualGroup{}}
	for at := drawTime(t, "instant"); len(w.Instants) < 3 && rapid.Bool().Draw(t, "more"); at += 1 + drawTime(t, "later") {
		w.Instants = append(w.Instants, at)
	}
	prices := func(n int) []InstantPrice {
		list := []InstantPrice{}
		for of := range n {
			for i := range w.Instants {
				if rapid.Bool().Draw(t, "priced") {
					list = append(list, InstantPrice{of, i, rapid.Int64Range(1, MaxPrice).Draw(t, "price")})
				}
			}
		}
		if len(list) == 0 && rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return list
	}
	w.Links, w.Ports = prices(len(p.Topology.Links)), prices(len(p.Topology.Ports))
	if p.Cost == Rounds {
		w.Sends, w.Receives = prices(p.Topology.Ranks), prices(p.Topology.Ranks)
	}
	rank := rapid.IntRange(0, p.Topology.Ranks-1)
	for k := 0; k < len(p.Chunks) && len(w.Groups) < 3; k++ {
		g := DualGroup{Chunks: []int{k}, Demands: []DualDemand{}}
		for range rapid.IntRange(0, 3).Draw(t, "demands") {
			shares := prices(min(2, len(p.Topology.Links)))
			if shares == nil {
				shares = []InstantPrice{}
			}
			g.Demands = append(g.Demands, DualDemand{rank.Draw(t, "source"), rank.Draw(t, "dest"), shares})
		}
		if len(g.Demands) == 1 && rapid.Bool().Draw(t, "all") {
			g.Demands[0].Shares = nil
		}
		w.Groups = append(w.Groups, g)
	}
	return w
}

package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"pgregory.net/rapid"
)

// The generators draw anything that Validate accepts, not only what is sensible.

func drawName(t *rapid.T, what string) string {
	return rapid.StringMatching(`[a-zé"\\<&0-9 ]{0,12}`).Draw(t, what)
}

func drawTopology(t *rapid.T) *model.Topology {
	tp := &model.Topology{Name: drawName(t, "name"), Ranks: rapid.IntRange(1, 6).Draw(t, "ranks")}
	for i := range rapid.IntRange(0, 2).Draw(t, "switches") {
		tp.Switches = append(tp.Switches, model.Switch{Name: fmt.Sprintf("%s%d", drawName(t, "switch"), i), Copies: rapid.Bool().Draw(t, "copies")})
		if s := &tp.Switches[i]; rapid.Bool().Draw(t, "reduces") {
			s.Reduces, s.Sums = model.SumsTurned, rapid.IntRange(0, 3).Draw(t, "sums")
			s.Operations = model.OperatorSet(model.Sum, model.Max) * model.Operators(rapid.IntRange(0, 1).Draw(t, "operations"))
			for _, op := range []model.Operator{model.Sum, model.Max} {
				s.Types[op] = model.DTypes(rapid.IntRange(0, 1<<14-1).Draw(t, "types") << 1)
			}
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "groups") {
		g := model.Group{Name: fmt.Sprintf("g%d", i), Kind: rapid.SampledFrom([]model.GroupKind{model.OtherGroup, model.RailGroup}).Draw(t, "kind of group"), Ranks: drawSubset(t, tp.Ranks, "members")}
		if i == 0 && rapid.Bool().Draw(t, "machine") {
			g.Kind = model.MachineGroup
		}
		tp.Groups = append(tp.Groups, g)
	}
	n := tp.Nodes()
	if n == 1 {
		return tp
	}
	for range rapid.IntRange(1, 12).Draw(t, "links") {
		src := rapid.IntRange(0, n-1).Draw(t, "src")
		dst := (src + rapid.IntRange(1, n-1).Draw(t, "dst")) % n
		tp.Links = append(tp.Links, model.Link{Src: src, Dst: dst, Alpha: drawMoment(t, "alpha"), Bandwidth: rapid.Int64Range(1<<20, 1<<40).Draw(t, "bandwidth")})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "ports") {
		first := rapid.IntRange(0, len(tp.Links)-1).Draw(t, "port")
		p := model.Port{Name: fmt.Sprintf("%s%d", drawName(t, "port name"), i), Links: nil, Capacity: rapid.IntRange(1, 3).Draw(t, "capacity")}
		for l := range tp.Links {
			if tp.Links[l].Src == tp.Links[first].Src && (l == first || rapid.Bool().Draw(t, "in port")) {
				p.Links = append(p.Links, l)
			}
		}
		tp.Ports = append(tp.Ports, p)
	}
	for range rapid.IntRange(0, 2).Draw(t, "notes") {
		tp.Notes.Add(rapid.SampledFrom([]model.NoteKind{model.Fact, model.Assumed, model.LeftOut}).Draw(t, "kind of note"), "%s", drawName(t, "note"))
	}
	return tp
}

func drawMoment(t *rapid.T, what string) model.Time {
	return model.Time(rapid.Int64Range(0, int64(model.Millisecond)).Draw(t, what))
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

func drawCollective(t *rapid.T, ranks int) model.Collective {
	c := model.Collective{
		Kind:  rapid.SampledFrom(append(model.Kinds(), model.Custom)).Draw(t, "kind"),
		Op:    rapid.SampledFrom([]model.Operator{model.Sum, model.Prod, model.Min, model.Max}).Draw(t, "op"),
		DType: model.DType(rapid.IntRange(0, int(model.Uint64)).Draw(t, "dtype")),
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
	if c.Kind == model.Custom {
		c.Chunks = rapid.IntRange(1, 4).Draw(t, "custom chunks")
		c.Pre = drawConditions(t, members, c.Chunks, 0)
		c.Post = drawConditions(t, members, c.Chunks, 1)
		if rapid.Bool().Draw(t, "named") {
			c.Name = "moves of " + rapid.StringN(1, 8, -1).Filter(func(s string) bool { return model.CheckName(s) == nil }).Draw(t, "name")
		}
		if rapid.Bool().Draw(t, "sized") {
			c.Ends = model.EndsOf(rapid.SliceOfN(rapid.Int64Range(1, 1<<20), c.Chunks, c.Chunks).Draw(t, "sizes"))
		}
	}
	return c
}

func drawConditions(t *rapid.T, members []int, chunks, least int) []model.Condition {
	list := []model.Condition{}
	for range rapid.IntRange(least, 5).Draw(t, "conditions") {
		d := model.Condition{Rank: rapid.SampledFrom(members).Draw(t, "rank"), Chunk: rapid.IntRange(0, chunks-1).Draw(t, "chunk")}
		if slices.ContainsFunc(list, func(e model.Condition) bool { return d.Rank == e.Rank && d.Chunk == e.Chunk }) {
			continue
		}
		var terms []model.Term
		for _, i := range drawSubset(t, len(members), "contributions") {
			terms = append(terms, model.Term{Rank: members[i], Count: rapid.IntRange(1, 3).Draw(t, "count")})
		}
		d.Value = model.Multiset(terms...)
		list = append(list, d)
	}
	model.SortConditions(list)
	return list
}

// drawProblem draws a problem, cut if cut is set, for any of the cost models.
func drawProblem(t *rapid.T, cut bool) *model.Problem {
	p := &model.Problem{Topology: drawTopology(t)}
	p.Collective = drawCollective(t, p.Topology.Ranks)
	p.Cost = rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}).Draw(t, "cost")
	p.Size = rapid.Int64Range(int64(p.Shards()), 1<<24).Draw(t, "size")
	if ends := p.Collective.Ends; ends != nil {
		p.Size = ends[len(ends)-1]
	}
	if rapid.Bool().Draw(t, "late") {
		p.Release = make([]model.Time, p.Topology.Ranks)
		for r := range p.Release {
			p.Release[r] = drawMoment(t, "release")
		}
	}
	if cut || rapid.Bool().Draw(t, "cut") {
		p.Chunks = drawCut(t, p)
	}
	return p
}

// drawCut cuts p equally, or each shard into chunks of any sizes.
func drawCut(t *rapid.T, p *model.Problem) []model.Chunk {
	space, shards := p.Space(), p.Shards()
	if rapid.Bool().Draw(t, "equal") {
		k := 1
		switch {
		case p.Collective.Ends != nil:
			return p.Cut(rapid.IntRange(shards, 40).Draw(t, "chunks"))
		case p.Collective.Kind != model.Custom:
			k = rapid.IntRange(1, int(min(4, space/int64(shards)))).Draw(t, "chunks a shard")
		}
		return p.Cut(k * shards)
	}
	var chunks []model.Chunk
	for s := range shards {
		at, end := space*int64(s)/int64(shards), space*int64(s+1)/int64(shards)
		if ends := p.Collective.Ends; ends != nil {
			at, end = ends[s]-p.Collective.Sizes()[s], ends[s]
		}
		for at < end {
			size := end - at
			if p.Collective.Cuttable() {
				size = rapid.Int64Range(1, end-at).Draw(t, "chunk size")
			}
			if len(chunks) > 40 {
				size = end - at
			}
			chunks = append(chunks, model.Chunk{Offset: at, Size: size})
			at += size
		}
	}
	return chunks
}

// drawSchedule draws a schedule that Validate accepts, and hardly anything else will.
func drawSchedule(t *rapid.T, p *model.Problem) *model.Schedule {
	s := &model.Schedule{Form: rapid.SampledFrom([]model.Form{model.FormFor(p.Cost), model.Ordered}).Draw(t, "form"), Transfers: []model.Transfer{}}
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
		tr := model.Transfer{
			Chunk: int32(rapid.IntRange(0, len(p.Chunks)-1).Draw(t, "chunk")), Src: int32(src), Dst: int32(dst),
			Route: id, Op: rapid.SampledFrom([]model.Op{model.Copy, model.Reduction}).Draw(t, "op"),
		}
		switch s.Form {
		case model.Timed:
			tr.Start = drawMoment(t, "start")
			tr.End = tr.Start + 1 + drawMoment(t, "length")
		case model.InRounds:
			tr.Start = model.Time(rapid.IntRange(0, 20).Draw(t, "round"))
			tr.End = tr.Start + 1
		case model.Ordered:
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

func drawOrigin(t *rapid.T) model.Origin {
	o := model.Origin{
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

func drawCertificate(t *rapid.T) *model.Certificate {
	c := &model.Certificate{Problem: drawProblem(t, false), Bound: drawMoment(t, "bound")}
	p := c.Problem
	rank := rapid.IntRange(0, p.Topology.Ranks-1)
	chunk, shard, source := rapid.IntRange(-1, len(p.Chunks)-1).Draw(t, "chunk"), rapid.IntRange(0, p.Shards()-1).Draw(t, "shard"), rank.Draw(t, "source")
	potential := []model.Time{}
	for range p.Topology.Nodes() {
		potential = append(potential, drawMoment(t, "potential")-model.Microsecond)
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
		w := model.Refutation{Horizon: rapid.IntRange(1, 99).Draw(t, "horizon"), Proof: "a.lrat", SHA256: strings.Repeat("0a", 32)}
		if p.Cost.Synchronous() {
			w.Steps = rapid.IntRange(0, 9).Draw(t, "steps")
		} else {
			w.Epoch = 1 + drawMoment(t, "epoch")
		}
		c.Witness = w
		return c
	}
	c.Witness = rapid.SampledFrom([]model.Witness{
		model.Cut{Nodes: drawSubset(t, p.Topology.Nodes(), "nodes")},
		model.Cut{Nodes: drawSubset(t, p.Topology.Nodes(), "nodes"), From: drawSubset(t, p.Topology.Ranks, "from"), To: []int{source}},
		model.Ingress{Rank: source}, model.Egress{Rank: source}, model.Volume{}, model.Partition{Parts: [][]int{drawSubset(t, p.Topology.Nodes(), "part")}}, model.Crossing{Parts: [][]int{drawSubset(t, p.Topology.Nodes(), "crossed")}}, model.Prices{Links: prices},
		model.Distance{Chunk: chunk, Shard: shard, Source: source, Dest: rank.Draw(t, "dest"), Potential: potential, Head: nil},
		model.Distance{Chunk: chunk, Shard: shard, Source: source, Dest: rank.Draw(t, "dest"), Potential: potential, Head: potential},
		model.Coverage{Nodes: drawSubset(t, p.Topology.Nodes(), "nodes")},
		model.Coverage{Nodes: drawSubset(t, p.Topology.Nodes(), "nodes"), From: []int{source}, To: drawSubset(t, p.Topology.Ranks, "to")},
		drawTimedPrices(t, p), drawPotentials(t, p),
		model.Doubling{Chunk: chunk, Shard: shard, Source: source}, model.Spread{Source: source}, model.Combine{Dest: source},
	}).Draw(t, "witness")
	return c
}

// drawTimedPrices draws prices of links in up to three classes.
func drawTimedPrices(t *rapid.T, p *model.Problem) model.TimedPrices {
	w := model.TimedPrices{Classes: make([]model.PriceClass, rapid.IntRange(0, 3).Draw(t, "classes"))}
	for i := range w.Classes {
		c := &w.Classes[i]
		c.Links, c.Pieces = []int{}, []model.PricePiece{}
		for l := range p.Topology.Links {
			if l%3 == i && rapid.Bool().Draw(t, "priced") {
				c.Links = append(c.Links, l)
			}
		}
		for at := model.Time(0); len(c.Pieces) < 3 && rapid.Bool().Draw(t, "more"); {
			from := at + model.Time(rapid.IntRange(0, 9).Draw(t, "gap"))
			at = from + model.Time(rapid.IntRange(1, 9).Draw(t, "length"))
			c.Pieces = append(c.Pieces, model.PricePiece{From: from, To: at, Price: rapid.Int64Range(90, 99).Draw(t, "price"), Slope: rapid.Int64Range(-9, 9).Draw(t, "slope")})
		}
	}
	return w
}

// drawPotentials draws costs of a way, or of none.
func drawPotentials(t *rapid.T, p *model.Problem) model.TimedPotentials {
	w := model.TimedPotentials{Horizon: drawMoment(t, "horizon"), Classes: []model.PriceClass{}, Ways: []model.CostlyWay{}}
	w.Costs = []model.TimedCost{{Steps: []model.CostStep{{From: 3}}}, {Steps: []model.CostStep{}}, {Steps: []model.CostStep{{Cost: 9}, {From: 5, Cost: 2}}}}
	if p.Topology.Ranks > 1 && rapid.Bool().Draw(t, "way") {
		way := model.CostlyWay{Source: 1, Costs: []int{}}
		for range p.Topology.Ranks {
			way.Costs = append(way.Costs, rapid.IntRange(0, 2).Draw(t, "cost"))
		}
		w.Ways = append(w.Ways, way)
	}
	return w
}

func drawDual(t *rapid.T, p *model.Problem) model.LPDual {
	w := model.LPDual{Instants: []model.Time{}, Groups: []model.DualGroup{}}
	for at := drawMoment(t, "instant"); len(w.Instants) < 3 && rapid.Bool().Draw(t, "more"); at += 1 + drawMoment(t, "later") {
		w.Instants = append(w.Instants, at)
	}
	prices := func(n int) []model.InstantPrice {
		list := []model.InstantPrice{}
		for of := range n {
			for i := range w.Instants {
				if rapid.Bool().Draw(t, "priced") {
					list = append(list, model.InstantPrice{Of: of, Instant: i, Price: rapid.Int64Range(1, model.MaxPrice).Draw(t, "price")})
				}
			}
		}
		if len(list) == 0 && rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return list
	}
	w.Links, w.Ports = prices(len(p.Topology.Links)), prices(len(p.Topology.Ports))
	if p.Cost == model.Rounds {
		w.Sends, w.Receives = prices(p.Topology.Ranks), prices(p.Topology.Ranks)
	}
	rank := rapid.IntRange(0, p.Topology.Ranks-1)
	for k := 0; k < len(p.Chunks) && len(w.Groups) < 3; k++ {
		g := model.DualGroup{Chunks: []int{k}, Demands: []model.DualDemand{}}
		for range rapid.IntRange(0, 3).Draw(t, "demands") {
			shares := prices(min(2, len(p.Topology.Links)))
			if shares == nil {
				shares = []model.InstantPrice{}
			}
			g.Demands = append(g.Demands, model.DualDemand{Source: rank.Draw(t, "source"), Dest: rank.Draw(t, "dest"), Shares: shares})
		}
		if len(g.Demands) == 1 && rapid.Bool().Draw(t, "all") {
			g.Demands[0].Shares = nil
		}
		w.Groups = append(w.Groups, g)
	}
	return w
}

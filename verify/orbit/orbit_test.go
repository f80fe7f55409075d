package orbit

import (
	"cmp"
	"context"
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/stream"
)

// Every run draws the same values; -rapid.seed on the command line draws others.
func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

// drawProblem draws a collective on a network with a link of each of some classes from every
// rank, or with switches in place of some of them, and a group under whose translations it
// is the same.
func drawProblem(t *rapid.T) (*model.Problem, *model.Orbit) {
	o := &model.Orbit{Sides: rapid.SampledFrom([][]int{{5}, {2, 3}, {2, 2, 2}, {7}, {3, 3}}).Draw(t, "sides")}
	n := 1
	for _, a := range o.Sides {
		n *= a
	}
	tp := &model.Topology{Name: "drawn", Ranks: n}
	steps := []int{1}
	for stride, i := 1, len(o.Sides)-1; i > 0; i-- {
		stride *= o.Sides[i]
		steps = append(steps, stride)
	}
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		steps = append(steps, rapid.IntRange(1, n-1).Draw(t, "step"))
	}
	link := func() model.Link {
		return model.Link{Alpha: model.Time(rapid.SampledFrom([]int{0, 300, 5000}).Draw(t, "alpha")), Bandwidth: rapid.SampledFrom([]int64{1e12, 3e12}).Draw(t, "bandwidth")}
	}
	for _, w := range steps {
		k := link()
		for v := range n {
			k.Src, k.Dst = v, o.Add(v, w)
			tp.Links = append(tp.Links, k)
		}
	}
	switches := rapid.SampledFrom([]string{"", "", "all", "rows"}).Draw(t, "switches")
	if switches != "" {
		row := n // one switch, or one for each run of the last coordinate
		if switches == "rows" {
			row = o.Sides[len(o.Sides)-1]
		}
		up, down := link(), link()
		for first := 0; first < n; first += row {
			tp.Switches = append(tp.Switches, model.Switch{})
			for v := first; v < first+row; v++ {
				up.Src, up.Dst = v, tp.Nodes()-1
				down.Src, down.Dst = tp.Nodes()-1, v
				tp.Links = append(tp.Links, up, down)
			}
		}
	}
	tp.Links = rapid.Permutation(tp.Links).Draw(t, "links")
	p := &model.Problem{Topology: tp, Size: int64(n)*600 + int64(rapid.SampledFrom([]int{0, 0, 1, 7}).Draw(t, "bytes")),
		Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}).Draw(t, "cost")}
	p.Collective.Kind = rapid.SampledFrom([]model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce, model.AllToAll}).Draw(t, "kind")
	p.Collective.Op = rapid.SampledFrom([]model.Operator{model.Sum, model.Max}).Draw(t, "operator")
	p = p.WithChunks(p.DefaultChunks(rapid.IntRange(1, 2).Draw(t, "parts")))
	require.NoError(t, p.Validate())
	out := tp.Out()
	for _, l := range out[0] {
		if k := tp.Links[l]; tp.IsRank(k.Dst) {
			o.Routes = append(o.Routes, []int{l})
		} else {
			for _, m := range out[k.Dst] {
				if tp.Links[m].Dst != 0 {
					o.Routes = append(o.Routes, []int{l, m})
				}
			}
		}
	}
	return p, o
}

// planner lets rank 0, and so all, send when a link is free.
type planner struct {
	*rapid.T
	p    *model.Problem
	o    *model.Orbit
	size int64
	free map[[2]int]model.Time // by whether it leads from a switch, and the link or the switch
	now  model.Time            // under rounds, of the next send
}

// send adds a turn at that time or later, and returns when the chunk has arrived.
func (x *planner) send(route, owner, part int, op model.Op, at model.Time) model.Time {
	tp := x.p.Topology
	links := x.o.Routes[route]
	start := at + model.Time(rapid.SampledFrom([]int{0, 0, 0, 7}).Draw(x.T, "pause"))
	if x.p.Cost == model.Rounds {
		start = max(start, x.now)
		x.now = start + 1
	}
	busy := tp.Busy(x.p.Cost, links, x.size, nil)
	for i, l := range links {
		if x.p.Cost.Synchronous() {
			busy[i] = model.Interval{From: 0, To: 1}
		}
		start = max(start, x.free[x.key(l)]-busy[i].From)
	}
	for i, l := range links {
		x.free[x.key(l)] = start + busy[i].To
	}
	x.o.Turns = append(x.o.Turns, model.Turn{Route: int32(route), Owner: int32(owner), Part: int32(part), Op: op, Start: start})
	if x.p.Cost.Synchronous() {
		return start + 1
	}
	return start + tp.Duration(links, x.size)
}

// key names the class of a link: all that come from switches are of one.
func (x *planner) key(l int) [2]int {
	if !x.p.Topology.IsRank(x.p.Topology.Links[l].Src) {
		return [2]int{1, 0}
	}
	return [2]int{0, l}
}

func (x *planner) to(route int) int {
	links := x.o.Routes[route]
	return x.p.Topology.Links[links[len(links)-1]].Dst
}

// tree returns for each rank the route by which it is reached from 0, one or two at random,
// and the ranks in order, so that the rank before on its way comes first.
func (x *planner) tree() (by []int, order []int) {
	by = slices.Repeat([]int{-1}, x.p.Topology.Ranks)
	order = []int{0}
	for len(order) < len(by) {
		u := rapid.SampledFrom(order).Draw(x.T, "from")
		r := rapid.IntRange(0, len(x.o.Routes)-1).Draw(x.T, "route")
		if v := x.o.Add(u, x.to(r)); v != 0 && by[v] < 0 {
			by[v] = r
			order = append(order, v)
		}
	}
	return by, order
}

// drawTurns draws a right schedule, at times that are not the earliest.
func drawTurns(t *rapid.T, p *model.Problem, o *model.Orbit) {
	x := &planner{T: t, p: p, o: o, free: map[[2]int]model.Time{}}
	for _, k := range p.Chunks {
		x.size = max(x.size, k.Size)
	}
	_, each := o.Parts(p)
	n := p.Topology.Ranks
	for part := range each {
		by, order := x.tree()
		before := func(v int) int { return o.Sub(v, x.to(by[v])) }
		var at model.Time
		if p.Collective.Kind == model.AllToAll {
			var way []int
			for v := part / (each / n); v != 0; v = before(v) {
				way = append(way, v)
			}
			slices.Reverse(way)
			for _, v := range way {
				at = x.send(by[v], o.Sub(0, before(v)), part, model.Copy, at)
			}
			continue
		}
		if p.Collective.Kind != model.AllGather { // what is owned by rank 0 comes to it from the ends of another tree
			toRoot := slices.Clone(order)
			slices.Reverse(toRoot)
			for _, v := range toRoot[:n-1] { // by the same ways, from rank -v to that before
				at = max(at, x.send(by[v], v, part, model.Reduction, at))
			}
		}
		if p.Collective.Kind == model.ReduceScatter {
			continue
		}
		here := make([]model.Time, n)
		here[0] = at
		for _, v := range order[1:] { // a copy of what rank 0 owns, from the rank before to v
			here[v] = x.send(by[v], o.Sub(0, before(v)), part, model.Copy, here[before(v)])
		}
	}
	slices.SortStableFunc(o.Turns, func(a, b model.Turn) int { return cmp.Compare(a.Start, b.Start) })
}

func codes(list []verify.Violation) []verify.Code {
	var all []verify.Code
	for _, x := range list {
		all = append(all, x.Code)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// kinds are codes, with those of ports among those of links: under rounds both are overloaded.
func kinds(list []verify.Violation) []verify.Code {
	all := codes(list)
	for i, c := range all {
		if c == verify.PortOverload {
			all[i] = verify.LinkOverlap
		}
	}
	return all
}

// agree compares with replay and stream, which look at every transfer.
func agree(t *rapid.T, p *model.Problem, o *model.Orbit) verify.Outcome {
	s, err := o.Schedule(p)
	require.NoError(t, err)
	require.EqualValues(t, o.Transfers(), len(s.Transfers))
	got, want := Check(context.Background(), p, o), replay.Check(context.Background(), p, s)
	require.Equal(t, want.Outcome, got.Outcome, "replay %v, orbit %v", want.Violations, got.Violations)
	if !p.Collective.Kind.Reduces() {
		c, err := stream.New(context.Background(), p, s.Form, s.Routes)
		require.NoError(t, err)
		c.Add(s.Transfers)
		if v := c.Verdict(); v.Outcome != verify.Unknown { // it follows copies only
			require.Equal(t, want.Outcome, v.Outcome)
		}
	}
	if want.Outcome == verify.Proved {
		require.Equal(t, want.Makespan, got.Makespan)
		require.Equal(t, want.Claim, got.Claim)
	} else if len(want.Violations) < verify.MaxViolations {
		require.Subset(t, kinds(want.Violations), kinds(got.Violations))
	}
	return got.Outcome
}

// TestAgainstReplay: what is said of one rank is so for all.
func TestAgainstReplay(t *testing.T) {
	outcomes, seen := map[verify.Outcome]int{}, map[verify.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		p, o := drawProblem(t)
		drawTurns(t, p, o)
		require.Equal(t, verify.Proved, agree(t, p, o))
		for range 20 {
			m := &model.Orbit{Sides: o.Sides, Routes: o.Routes, Turns: slices.Clone(o.Turns)}
			i, j := rapid.IntRange(0, len(m.Turns)-1).Draw(t, "i"), rapid.IntRange(0, len(m.Turns)-1).Draw(t, "j")
			x, y := &m.Turns[i], m.Turns[j]
			switch rapid.IntRange(0, 7).Draw(t, "change") {
			case 0:
				m.Turns = slices.Delete(m.Turns, i, i+1)
			case 1:
				x.Owner = y.Owner
			case 2:
				x.Route = y.Route
			case 3:
				x.Start = y.Start
			case 4:
				m.Turns = append(m.Turns, y)
			case 5:
				x.Start += model.Time(rapid.SampledFrom([]int{-1, 1}).Draw(t, "by"))
			case 6:
				x.Part = y.Part
			case 7:
				x.Op = model.Reduction - x.Op
			}
			slices.SortStableFunc(m.Turns, func(a, b model.Turn) int { return cmp.Compare(a.Start, b.Start) })
			if m.Validate(p) != nil {
				require.Equal(t, verify.Malformed, Check(context.Background(), p, m).Violations[0].Code)
				continue
			}
			outcomes[agree(t, p, m)]++
			for _, c := range codes(Check(context.Background(), p, m).Violations) {
				seen[c]++
			}
		}
	})
	require.Greater(t, outcomes[verify.Proved], 10)
	require.Greater(t, outcomes[verify.Refuted], 1000)
	for _, c := range []verify.Code{
		verify.LinkOverlap, verify.PortOverload, verify.SendUndefined, verify.ReduceUndefined, verify.WriteWriteRace,
		verify.MissingContribution, verify.DoubleContribution,
	} {
		require.NotZero(t, seen[c], c)
	}
}

// TestNotTheSame: what differs from rank to rank is not decided, and a network that does is
// refused.
func TestNotTheSame(t *testing.T) {
	tp, err := topo.Parse("uniring:4", topo.Options{})
	require.NoError(t, err)
	problem := func() (*model.Problem, *model.Orbit) {
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 4000, Cost: model.Blocking}
		p = p.WithChunks(4)
		o := &model.Orbit{Sides: []int{4}, Routes: [][]int{{tp.Out()[0][0]}}}
		lasts := tp.Duration([]int{0}, 1000)
		for i := range 3 {
			o.Turns = append(o.Turns, model.Turn{Owner: int32((4 - i) % 4), Start: lasts * model.Time(i)})
		}
		return p, o
	}
	p, o := problem()
	require.Equal(t, verify.Proved, Check(context.Background(), p, o).Outcome)
	for want, change := range map[string]func(*model.Problem, *model.Orbit){
		"late": func(p *model.Problem, o *model.Orbit) { p.Release = []model.Time{0, 0, 0, 1} },
		"different sizes": func(p *model.Problem, o *model.Orbit) {
			p.Topology = &model.Topology{Ranks: 66}
			for v := range 66 {
				p.Topology.Links = append(p.Topology.Links, model.Link{Src: v, Dst: (v + 1) % 66, Bandwidth: 1e12})
			}
			p.Size, o.Sides, o.Routes, o.Turns = 66*2000, []int{66}, nil, nil
			p.Chunks = nil
			for r := range int64(66) {
				p.Chunks = append(p.Chunks, model.Chunk{Offset: 2000 * r, Size: 1000 + r}, model.Chunk{Offset: 2000*r + 1000 + r, Size: 1000 - r})
			}
		},
		"copies": func(p *model.Problem, o *model.Orbit) {
			s, err := topo.Parse("switch:4:copies", topo.Options{})
			require.NoError(t, err)
			p.Topology, o.Routes, o.Turns = s, nil, nil
		},
	} {
		p, o := problem()
		change(p, o)
		v := Check(context.Background(), p, o)
		require.Equal(t, verify.Unknown, v.Outcome, want)
		require.Contains(t, v.Reason, want)
	}
	for want, change := range map[string]func(*model.Problem, *model.Orbit){
		"their product is 8, want as many as there are ranks, 4": func(p *model.Problem, o *model.Orbit) { o.Sides = []int{2, 4} },
		"is no translate":       func(p *model.Problem, o *model.Orbit) { o.Sides = []int{2, 2} },
		"leads from rank 0":     func(p *model.Problem, o *model.Orbit) { o.Routes[0][0] = tp.Out()[1][0] },
		"one, or two":           func(p *model.Problem, o *model.Orbit) { o.Routes[0] = nil },
		"link 9 does not":       func(p *model.Problem, o *model.Orbit) { o.Routes[0][0] = 9 },
		"route 1 does not":      func(p *model.Problem, o *model.Orbit) { o.Turns[0].Route = 1 },
		"rank 4 does not exist": func(p *model.Problem, o *model.Orbit) { o.Turns[0].Owner = 4 },
		"part 1 does not exist": func(p *model.Problem, o *model.Orbit) { o.Turns[0].Part = 1 },
		"copy or reduce":        func(p *model.Problem, o *model.Orbit) { o.Turns[0].Op = 2 },
		"order of starts":       func(p *model.Problem, o *model.Orbit) { o.Turns[2].Start = o.Turns[1].Start - 1 },
		"want a start below":    func(p *model.Problem, o *model.Orbit) { o.Turns[2].Start = model.MaxTime },
		"want allgather":        func(p *model.Problem, o *model.Orbit) { p.Collective.Kind = model.Broadcast },
		"in their order":        func(p *model.Problem, o *model.Orbit) { p.Collective.Group = []int{0, 1, 2, 3} },
		"has ports": func(p *model.Problem, o *model.Orbit) {
			q := *tp
			q.Ports = []model.Port{{Links: []int{tp.Out()[0][0]}, Capacity: 1}}
			p.Topology = &q
		},
		"different switches": func(p *model.Problem, o *model.Orbit) {
			p.Topology = switched([]int{0, 1, 0, 0})
			o.Routes, o.Turns = nil, nil
		},
		"want a rank at one end": func(p *model.Problem, o *model.Orbit) {
			p.Topology = switched([]int{0, 1, 0, 1})
			p.Topology.Links = append(p.Topology.Links, model.Link{Src: 4, Dst: 5, Bandwidth: 1})
			o.Routes, o.Turns = nil, nil
		},
		"no translate of one at rank 0": func(p *model.Problem, o *model.Orbit) {
			p.Topology = switched([]int{0, 1, 0, 1})
			p.Topology.Links[7].Alpha = 5 // to rank 3
			o.Routes, o.Turns = nil, nil
		},
		"as at rank 0": func(p *model.Problem, o *model.Orbit) {
			p.Topology = switched([]int{0, 1, 0, 1})
			p.Topology.Links = append(p.Topology.Links, p.Topology.Links[7])
			o.Routes, o.Turns = nil, nil
		},
		"as many for each": func(p *model.Problem, o *model.Orbit) {
			p.Chunks = []model.Chunk{{Offset: 0, Size: 500}, {Offset: 500, Size: 500}, {Offset: 1000, Size: 1000}, {Offset: 2000, Size: 1000}, {Offset: 3000, Size: 1000}}
		},
	} {
		p, o := problem()
		change(p, o)
		v := Check(context.Background(), p, o)
		require.Equal(t, verify.Refuted, v.Outcome, want)
		require.Contains(t, v.Violations[0].Message, want)
	}
}

// switched returns ranks with a link to a switch, and one back.
func switched(at []int) *model.Topology {
	tp := &model.Topology{Name: "switched", Ranks: len(at)}
	for v, s := range at {
		for len(tp.Switches) <= s {
			tp.Switches = append(tp.Switches, model.Switch{})
		}
		tp.Links = append(tp.Links, model.Link{Src: v, Dst: len(at) + s, Bandwidth: 1}, model.Link{Src: len(at) + s, Dst: v, Bandwidth: 1})
	}
	return tp
}

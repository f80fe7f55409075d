package replay_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// A sum that passes one link on its way to several ranks, and comes back to some of those that
// it is made of, has in it what they held when they sent it: what others write there meanwhile
// would be lost, even where a single transfer passes the last link.
func TestSumsComeBack(t *testing.T) {
	link := func(u, v int) model.Link { return model.Link{Src: u, Dst: v, Alpha: 1, Bandwidth: 1e12} }
	p := (&model.Problem{
		Topology: &model.Topology{
			Name: "turned", Ranks: 3,
			Switches: []model.Switch{{Name: "leaf", Copies: true, Reduces: model.SumsTurned}, {Name: "root", Copies: true, Reduces: model.SumsTurned}},
			// Links: 0: 0->leaf, 1: leaf->0, 2: 1->leaf, 3: leaf->1, 4: leaf->root, 5: root->leaf.
			Links: []model.Link{link(0, 3), link(3, 0), link(1, 3), link(3, 1), link(3, 4), link(4, 3), link(2, 0), link(2, 1), link(0, 2)},
		},
		Collective: model.Collective{Kind: model.AllReduce}, Size: 6, Cost: model.Pipelined,
	}).WithChunks(1)
	// Ranks 0 and 1 add over the root from from on, and end 10 ps later; rank 2 adds to both at once.
	at := func(from, other model.Time) *model.Schedule {
		end := max(from+10, other+7)
		return &model.Schedule{Form: model.Timed, Routes: [][]int{{0, 4, 5, 3}, {2, 4, 5, 1}, {6}, {7}, {8}}, Transfers: []model.Transfer{
			{Src: 0, Dst: 1, Route: 0, Op: model.Reduction, Start: from, End: from + 10},
			{Src: 1, Dst: 0, Route: 1, Op: model.Reduction, Start: from, End: from + 10},
			{Src: 2, Dst: 0, Route: 2, Op: model.Reduction, Start: other, End: other + 7},
			{Src: 2, Dst: 1, Route: 3, Op: model.Reduction, Start: other, End: other + 7},
			{Src: 0, Dst: 2, Route: 4, Op: model.Copy, Start: end, End: end + 7},
		}}
	}
	for _, c := range []struct {
		name        string
		from, other model.Time
		right       bool
	}{
		{"written after the sum", 0, 10, true},
		{"written when the sum has come", 0, 4, true},
		{"written at the end of the sum", 0, 3, false},
		{"written while the sum is on its way", 0, 0, false},
		{"written just after the start", 6, 0, false},
	} {
		s := at(c.from, c.other)
		v := replay.Check(context.Background(), p, s)
		var codes []verify.Code
		for _, one := range v.Violations {
			codes = append(codes, one.Code)
		}
		f := verifytest.Execute(p, s)
		require.Equal(t, c.right, v.Outcome == verify.Proved, "%s: %v", c.name, v)
		require.Equal(t, c.right, f.Right(), "%s: %v", c.name, f.All().Sorted())
		if !c.right {
			require.Equal(t, []verify.Code{verify.StaleSum, verify.StaleSum}, codes, c.name)
		}
	}
}

// A switch that makes sums of one chunk at a time makes two of them one after the other.
func TestSumsAtOneTime(t *testing.T) {
	topology := &model.Topology{Name: "adding", Ranks: 4}
	for r := range 4 { // links 2r and 2r+1
		topology.Links = append(topology.Links, model.Link{Src: r, Dst: 4, Alpha: 1, Bandwidth: 1e12}, model.Link{Src: 4, Dst: r, Alpha: 1, Bandwidth: 1e12})
	}
	for _, c := range []struct {
		sums  int
		later model.Time // chunk 1 than chunk 0
		code  bool
	}{{1, 0, true}, {2, 0, false}, {0, 0, false}, {1, 2, true}, {1, 3, false}} {
		for _, how := range []model.Reducing{model.SumsRead, model.SumsTurned} {
			adding := *topology
			adding.Switches = []model.Switch{{Name: "s", Copies: true, Reduces: how, Sums: c.sums}}
			p := (&model.Problem{Topology: &adding, Collective: model.Collective{Kind: model.AllReduce}, Size: 6, Cost: model.Pipelined}).WithChunks(2)
			s := &model.Schedule{Form: model.Timed}
			// Chunk 0 from ranks 0 and 1 to 2, chunk 1 from ranks 2 and 3 to 0: they share no link, except
			// for what a rank that reads sends of its own, which is not what this test is about.
			for i, m := range [][3]int{{0, 0, 2}, {0, 1, 2}, {1, 2, 0}, {1, 3, 0}} {
				start := c.later * model.Time(m[0])
				s.Routes = append(s.Routes, []int{2 * m[1], 2*m[2] + 1})
				s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(m[0]), Src: int32(m[1]), Dst: int32(m[2]), Op: model.Reduction, Route: int32(i), Start: start, End: start + 5})
			}
			has := false
			for _, v := range replay.Check(context.Background(), p, s).Violations {
				has = has || v.Code == verify.PortOverload
			}
			require.Equal(t, c.code, has, "%v, %v", c, how)
			require.Equal(t, c.code, verifytest.Execute(p, s).Network[verify.PortOverload], "%v, %v", c, how)
		}
	}
}

// Transfers that overlap on a link, some of which are a stream, and others not, each for one reason
// alone.
func TestNoStream(t *testing.T) {
	type move struct {
		src, dst int
		route    []int
		from, to model.Time
	}
	pair := func(how model.Reducing, ends ...[2]int) *model.Topology {
		top := &model.Topology{Name: "adding", Ranks: 4, Switches: []model.Switch{{Name: "a", Copies: true, Reduces: how}, {Name: "b", Copies: true, Reduces: how}}}
		for _, e := range ends {
			top.Links = append(top.Links, model.Link{Src: e[0], Dst: e[1], Alpha: 1, Bandwidth: 1e12})
		}
		return top
	}
	line := [][2]int{{0, 4}, {1, 4}, {4, 5}, {5, 2}, {5, 3}}
	slow := pair(model.SumsTurned, line...)
	slow.Links[4].Bandwidth = 5e11
	computes := func(op model.Operator) *model.Topology {
		top := pair(model.SumsTurned, line...)
		for i := range top.Switches {
			top.Switches[i].Operations = model.OperatorSet(op, model.Min)
		}
		return top
	}
	typed := func(types ...model.DType) *model.Topology {
		top := pair(model.SumsTurned, line...)
		for i := range top.Switches {
			top.Switches[i].Types[model.Sum] = model.DTypeSet(types...)
		}
		return top
	}
	star := [][2]int{{0, 4}, {4, 0}, {1, 4}, {4, 1}, {2, 4}, {4, 2}, {2, 3}}
	for _, c := range []struct {
		name  string
		t     *model.Topology
		op    model.Op
		moves []move
		right bool
	}{
		{"from each to each", pair(model.SumsTurned, line...), model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {0, 3, []int{0, 2, 4}, 0, 9}, {1, 2, []int{1, 2, 3}, 0, 9}, {1, 3, []int{1, 2, 4}, 0, 9}}, true},
		{"a sum where sums are computed", computes(model.Sum), model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {1, 2, []int{1, 2, 3}, 0, 9}}, true},
		{"a sum where other things are computed", computes(model.Max), model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {1, 2, []int{1, 2, 3}, 0, 9}}, false},
		{"a sum of integers, of these", typed(model.Int32, model.BF16), model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {1, 2, []int{1, 2, 3}, 0, 9}}, true},
		{"a sum of integers, of other types", typed(model.FP32, model.Int64), model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {1, 2, []int{1, 2, 3}, 0, 9}}, false},
		{"not from each to each", pair(model.SumsTurned, line...), model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {1, 3, []int{1, 2, 4}, 0, 9}}, false},
		{"one destination slower", slow, model.Reduction, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {0, 3, []int{0, 2, 4}, 0, 15}, {1, 2, []int{1, 2, 3}, 0, 9}, {1, 3, []int{1, 2, 4}, 0, 15}}, false},
		{"copies", pair(model.SumsTurned, line...), model.Copy, []move{
			{0, 2, []int{0, 2, 3}, 0, 9}, {1, 2, []int{1, 2, 3}, 0, 9}}, false},
		{"a multicast", pair(model.SumsRead, star...), model.Copy, []move{
			{0, 1, []int{0, 3}, 0, 8}, {0, 2, []int{0, 5}, 0, 8}}, true},
		{"a multicast that a rank relays", pair(model.SumsRead, star...), model.Copy, []move{
			{0, 1, []int{0, 3}, 0, 8}, {0, 3, []int{0, 5, 6}, 0, 15}}, false},
		{"a multicast that adds", pair(model.SumsRead, star...), model.Reduction, []move{
			{0, 1, []int{0, 3}, 0, 8}, {0, 2, []int{0, 5}, 0, 8}}, false},
		{"a sum of two that part", pair(model.SumsRead, star...), model.Reduction, []move{
			{0, 2, []int{0, 5}, 0, 8}, {1, 2, []int{2, 5}, 0, 8}, {0, 1, []int{0, 3}, 0, 8}}, false},
	} {
		p := (&model.Problem{Topology: c.t, Collective: model.Collective{Kind: model.AllReduce, DType: model.Int32}, Size: 6, Cost: model.Pipelined}).WithChunks(1)
		s := &model.Schedule{Form: model.Timed}
		for i, m := range c.moves {
			s.Routes = append(s.Routes, m.route)
			s.Transfers = append(s.Transfers, model.Transfer{Src: int32(m.src), Dst: int32(m.dst), Op: c.op, Route: int32(i), Start: m.from, End: m.to})
		}
		has := false
		for _, v := range replay.Check(context.Background(), p, s).Violations {
			require.NotContains(t, []verify.Code{verify.Malformed, verify.NoSuchLink, verify.TooFast, verify.TooSlow}, v.Code, "%s: %v", c.name, v)
			has = has || v.Code == verify.LinkOverlap
		}
		require.Equal(t, c.right, !has, c.name)
		require.Equal(t, c.right, !verifytest.Execute(p, s).Network[verify.LinkOverlap], c.name)
	}
}

// A rank far from a switch sends its term before the others do: what is written to its slot since
// is not in the sum that comes back.
func TestSumOfEarlierTerm(t *testing.T) {
	link := func(u, v int, a model.Time) model.Link { return model.Link{Src: u, Dst: v, Alpha: a, Bandwidth: 1e12} }
	top := &model.Topology{Name: "star", Ranks: 4, Switches: []model.Switch{{Name: "s", Copies: true, Reduces: model.SumsTurned, Sums: 1}},
		Links: []model.Link{link(0, 4, 20), link(4, 0, 1), link(1, 4, 1), link(4, 1, 1), link(2, 4, 1), link(4, 2, 1), link(3, 0, 1), link(3, 1, 1), link(3, 2, 1), link(0, 3, 1)}}
	p := (&model.Problem{Topology: top, Collective: model.Collective{Kind: model.AllReduce}, Size: 6, Cost: model.Pipelined}).WithChunks(1)
	for from, right := range map[model.Time]bool{5: false, 12: false, 20: false, 21: true} {
		s := &model.Schedule{Form: model.Timed}
		add := func(src, dst int, op model.Op, from, to model.Time, route ...int) {
			s.Transfers = append(s.Transfers, model.Transfer{Src: int32(src), Dst: int32(dst), Op: op, Route: int32(len(s.Routes)), Start: from, End: to})
			s.Routes = append(s.Routes, route)
		}
		add(0, 1, model.Reduction, 0, 27, 0, 3)
		add(0, 2, model.Reduction, 0, 27, 0, 5)
		add(1, 0, model.Reduction, 19, 27, 2, 1)
		add(1, 2, model.Reduction, 19, 27, 2, 5)
		add(2, 0, model.Reduction, 19, 27, 4, 1)
		add(2, 1, model.Reduction, 19, 27, 4, 3)
		add(3, 0, model.Reduction, from, from+7, 6)
		add(3, 1, model.Reduction, 28, 35, 7)
		add(3, 2, model.Reduction, 28, 35, 8)
		add(0, 3, model.Copy, 28, 35, 9)
		v := replay.Check(context.Background(), p, s)
		require.Equal(t, right, v.Outcome == verify.Proved, "%v: %v", from, v)
		f := verifytest.Execute(p, s)
		require.Equal(t, right, f.Right(), "%v: %v", from, f.All().Sorted())
		require.Equal(t, !right, f.Network[verify.StaleSum], "%v", from)
	}
}

package stream

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// drawTopology draws a strongly connected network with parallel links, switches and ports.
func drawTopology(t *rapid.T) *model.Topology {
	tp := &model.Topology{Name: "drawn", Ranks: rapid.IntRange(2, 5).Draw(t, "ranks")}
	for range rapid.IntRange(0, 2).Draw(t, "switches") {
		tp.Switches = append(tp.Switches, model.Switch{})
	}
	link := func(u, v int) {
		tp.Links = append(tp.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(rapid.SampledFrom([]int{0, 1, 700, 5000}).Draw(t, "alpha")),
			Bandwidth: rapid.SampledFrom([]int64{1e12, 2e12, 3e12}).Draw(t, "bandwidth")})
	}
	n := tp.Nodes()
	order := rapid.Permutation(numbers(n)).Draw(t, "ring")
	for i, u := range order {
		link(u, order[(i+1)%n])
	}
	for range rapid.IntRange(0, 2*n).Draw(t, "links") {
		u := rapid.IntRange(0, n-1).Draw(t, "from")
		link(u, (u+rapid.IntRange(1, n-1).Draw(t, "by"))%n)
	}
	lists := append(tp.Out(), tp.In()...)
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		if l := rapid.SampledFrom(lists).Draw(t, "port"); len(l) > 1 {
			tp.Ports = append(tp.Ports, model.Port{Links: l, Capacity: rapid.IntRange(1, len(l)).Draw(t, "capacity")})
		}
	}
	return tp
}

func numbers(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func drawProblem(t *rapid.T) *model.Problem {
	tp := drawTopology(t)
	p := &model.Problem{
		Topology: tp, Size: rapid.Int64Range(100, 2000).Draw(t, "size"),
		Cost:       rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}).Draw(t, "cost"),
		Collective: model.Collective{Kind: rapid.SampledFrom([]model.Kind{model.Broadcast, model.Scatter, model.Gather, model.AllGather, model.AllToAll}).Draw(t, "kind")},
	}
	if rapid.Bool().Draw(t, "group") {
		p.Collective.Group = rapid.Permutation(numbers(tp.Ranks)).Draw(t, "members")[:rapid.IntRange(1, tp.Ranks).Draw(t, "of")]
	}
	if p.Collective.Kind.Rooted() {
		p.Collective.Root = rapid.SampledFrom(p.Members()).Draw(t, "root")
	}
	if rapid.IntRange(0, 2).Draw(t, "late") == 0 {
		for range tp.Ranks {
			p.Release = append(p.Release, model.Time(rapid.SampledFrom([]int{0, 0, 1, 3000}).Draw(t, "release")))
		}
	}
	p = p.WithChunks(p.DefaultChunks(rapid.IntRange(1, 2).Draw(t, "chunks")))
	require.NoError(t, p.Validate())
	return p
}

// way returns the links of a shortest path, over the first links that lead there.
func way(tp *model.Topology, from, to int, single bool) []int {
	by := make([]int, tp.Nodes())
	for v := range by {
		by[v] = -1
	}
	queue := []int{from}
	for i := 0; i < len(queue); i++ {
		if v := queue[i]; v == from || !single || !tp.IsRank(v) {
			for l, k := range tp.Links {
				if k.Src == v && k.Dst != from && by[k.Dst] < 0 {
					by[k.Dst] = l
					queue = append(queue, k.Dst)
				}
			}
		}
	}
	var route []int
	for at := to; at != from; at = tp.Links[route[0]].Src {
		if by[at] < 0 {
			return nil
		}
		route = slices.Insert(route, 0, by[at])
	}
	return route
}

// drawSchedule draws a schedule that is right, with detours, late starts and transfers of
// no use: each of its transfers was tried and kept where replay found nothing infeasible.
func drawSchedule(t *rapid.T, p *model.Problem) *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(p.Cost), Transfers: []model.Transfer{}}
	try := func(k, u, v int, route []int, start model.Time) bool {
		if route == nil {
			return false
		}
		x := model.Transfer{Chunk: int32(k), Src: int32(u), Dst: int32(v), Route: int32(len(s.Routes)), Start: start, End: start + 1}
		if s.Form == model.Timed {
			x.End = start + p.Topology.Duration(route, p.Chunks[k].Size)
		}
		s.Routes, s.Transfers = append(s.Routes, route), append(s.Transfers, x)
		for _, v := range replay.Check(context.Background(), p, s).Violations {
			if v.Code != verify.MissingContribution {
				s.Routes, s.Transfers = s.Routes[:len(s.Routes)-1], s.Transfers[:len(s.Transfers)-1]
				return false
			}
		}
		return true
	}
	end := func() model.Time {
		last := model.Time(0)
		for _, r := range p.Release {
			last = max(last, r)
		}
		if s.Form == model.InRounds {
			last = 0
		}
		for i := range s.Transfers {
			last = max(last, s.Transfers[i].End)
		}
		return last
	}
	for range rapid.IntRange(0, 12).Draw(t, "free") {
		k, u := rapid.IntRange(0, len(p.Chunks)-1).Draw(t, "chunk"), rapid.IntRange(0, p.Topology.Ranks-1).Draw(t, "src")
		v := rapid.IntRange(0, p.Topology.Ranks-1).Draw(t, "dst")
		for r := range p.Start(k) {
			if rapid.Bool().Draw(t, "from its owner") {
				u = r
			}
		}
		if u != v {
			start := model.Time(rapid.IntRange(0, int(end())).Draw(t, "start"))
			if n := len(s.Transfers); n > 0 && rapid.Bool().Draw(t, "as another ends") {
				start = s.Transfers[rapid.IntRange(0, n-1).Draw(t, "which")].End
			}
			try(k, u, v, way(p.Topology, u, v, p.Cost == model.LinkRounds), start)
		}
	}
	for k := range p.Chunks {
		from := -1
		for r := range p.Start(k) {
			from = r
		}
		for r := range p.Goal(k) {
			if r == from {
				continue
			}
			at := from
			for _, l := range way(p.Topology, from, r, false) { // from rank to rank
				if v := p.Topology.Links[l].Dst; p.Topology.IsRank(v) {
					require.True(t, try(k, at, v, way(p.Topology, at, v, true), end()))
					at = v
				}
			}
		}
	}
	return s
}

// mutate changes one thing, which may or may not do harm.
func mutate(t *rapid.T, p *model.Problem, s *model.Schedule) {
	if len(s.Transfers) == 0 {
		return
	}
	i, j := rapid.IntRange(0, len(s.Transfers)-1).Draw(t, "i"), rapid.IntRange(0, len(s.Transfers)-1).Draw(t, "j")
	x, y := &s.Transfers[i], &s.Transfers[j]
	by := model.Time(rapid.SampledFrom([]int{-1000, -1, 1, 50}).Draw(t, "by"))
	switch rapid.IntRange(0, 10).Draw(t, "what") {
	case 0:
		s.Transfers = slices.Delete(s.Transfers, i, i+1)
	case 1:
		x.Chunk = int32(rapid.IntRange(0, len(p.Chunks)-1).Draw(t, "chunk"))
	case 2:
		x.Route = y.Route
	case 3:
		x.Start, x.End = x.Start+by, x.End+by
	case 4:
		x.End += by
	case 5:
		s.Transfers = append(s.Transfers, *x)
	case 6:
		lasts := x.End - x.Start
		x.Start, x.End = y.Start, y.Start+lasts
	case 7:
		lasts := x.End - x.Start
		x.Start, x.End = y.End-lasts, y.End
	case 8:
		x.Dst = y.Dst
	case 9:
		again := *x
		again.Start, again.End = y.End, y.End+x.End-x.Start
		s.Transfers = append(s.Transfers, again)
	case 10:
		x.Op = model.Reduction - x.Op
	}
}

// check streams a schedule, in order of starts, in batches of some size.
func check(t require.TestingT, p *model.Problem, s *model.Schedule, batch int) verify.Verdict {
	c, err := New(context.Background(), p, s.Form, s.Routes)
	require.NoError(t, err)
	list := slices.Clone(s.Transfers)
	slices.SortStableFunc(list, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	for part := range slices.Chunk(list, batch) {
		if !c.Add(part) {
			break
		}
	}
	return c.Verdict()
}

func codes(v verify.Verdict) []verify.Code {
	var all []verify.Code
	for _, x := range v.Violations {
		all = append(all, x.Code)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// agree compares the two engines on one schedule.
func agree(t require.TestingT, p *model.Problem, s *model.Schedule, batch int) verify.Outcome {
	want, got := replay.Check(context.Background(), p, s), check(t, p, s, batch)
	if got.Outcome == verify.Unknown {
		require.Regexp(t, "is a reduction|copies a part of the sum", got.Reason)
		return got.Outcome
	}
	require.Equal(t, want.Outcome, got.Outcome, "replay: %v, stream: %v", want.Violations, got.Violations)
	if want.Outcome == verify.Proved {
		require.Equal(t, want.Makespan, got.Makespan)
		require.Equal(t, want.Claim, got.Claim)
		return got.Outcome
	}
	if p.Collective.Kind.Reduces() || slices.ContainsFunc(s.Transfers, func(x model.Transfer) bool { return x.Op != model.Copy }) {
		return got.Outcome // refuted by what came before the reduction
	}
	a, b := codes(want), codes(got)
	if slices.Contains(a, verify.SendUndefined) { // what is undefined is not written here, so that it races with nothing
		a = slices.DeleteFunc(a, func(c verify.Code) bool { return c == verify.WriteWriteRace && !slices.Contains(b, c) })
	}
	if len(want.Violations) < verify.MaxViolations && len(got.Violations) < verify.MaxViolations && !slices.Contains(a, verify.NoSuchLink) {
		require.Equal(t, a, b, "replay: %v, stream: %v", want.Violations, got.Violations)
	}
	return got.Outcome
}

// TestAgainstReplay: both engines say the same of schedules that are right, and of such
// as were changed a little.
func TestAgainstReplay(t *testing.T) {
	outcomes := map[verify.Outcome]int{}
	all := map[verify.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		s := drawSchedule(t, p)
		batch := rapid.IntRange(1, 9).Draw(t, "batch")
		require.Equal(t, verify.Proved, agree(t, p, s, batch))
		for range 8 {
			m := *s
			m.Transfers = slices.Clone(s.Transfers)
			for range rapid.IntRange(1, 2).Draw(t, "mutations") {
				mutate(t, p, &m)
			}
			outcomes[agree(t, p, &m, batch)]++
			for _, c := range codes(check(t, p, &m, batch)) {
				all[c]++
			}
		}
	})
	for _, o := range []verify.Outcome{verify.Proved, verify.Refuted, verify.Unknown} {
		require.Greater(t, outcomes[o], 20, o)
	}
	for _, c := range []verify.Code{verify.MissingContribution, verify.SendUndefined, verify.WriteWriteRace, verify.LinkOverlap, verify.PortOverload,
		verify.NoSuchLink, verify.TooFast, verify.TooSlow, verify.BeforeRelease, verify.Malformed} {
		require.NotZero(t, all[c], "no mutation led to %v", c)
	}
}

// drawTrees draws a schedule of a reducing collective that adds along trees, and copies.
func drawTrees(t *rapid.T) (*model.Problem, *model.Schedule) {
	tp := drawTopology(t)
	p := &model.Problem{
		Topology: tp, Size: rapid.Int64Range(100, 2000).Draw(t, "size"), Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}).Draw(t, "cost"),
		Collective: model.Collective{Kind: rapid.SampledFrom([]model.Kind{model.Reduce, model.ReduceScatter, model.AllReduce}).Draw(t, "kind")},
	}
	p.Collective.Op = rapid.SampledFrom([]model.Operator{model.Sum, model.Sum, model.Min}).Draw(t, "operator")
	if p.Collective.Kind == model.Reduce {
		p.Collective.Root = rapid.IntRange(0, tp.Ranks-1).Draw(t, "root")
	}
	p = p.WithChunks(p.DefaultChunks(rapid.IntRange(1, 2).Draw(t, "chunks")))
	require.NoError(t, p.Validate())
	s := &model.Schedule{Form: model.FormFor(p.Cost), Transfers: []model.Transfer{}}
	last := model.Time(0)
	feasible := func() bool {
		for _, v := range replay.Check(context.Background(), p, s).Violations {
			if v.Code != verify.MissingContribution {
				return false
			}
		}
		return true
	}
	// send moves a chunk to a neighbour, at from if that is possible, else after all others.
	send := func(k, u, v int, op model.Op, from model.Time) model.Time {
		x := model.Transfer{Chunk: int32(k), Src: int32(u), Dst: int32(v), Route: int32(len(s.Routes)), Op: op}
		route := way(tp, u, v, true)
		s.Routes, s.Transfers = append(s.Routes, route), append(s.Transfers, x)
		for _, x.Start = range []model.Time{from, last} {
			x.End = x.Start + 1
			if s.Form == model.Timed {
				x.End = x.Start + tp.Duration(route, p.Chunks[k].Size)
			}
			s.Transfers[len(s.Transfers)-1] = x
			if feasible() {
				break
			}
		}
		last = max(last, x.End)
		return x.End
	}
	for k := range p.Chunks {
		root := p.Collective.Root
		switch p.Collective.Kind {
		case model.ReduceScatter:
			_, root = p.Owner(k)
		case model.AllReduce:
			root = rapid.IntRange(0, tp.Ranks-1).Draw(t, "root of a chunk")
		}
		toward := func(from, to int) (ranks []int) { // the ranks on the way
			for _, l := range way(tp, from, to, false) {
				if v := tp.Links[l].Dst; tp.IsRank(v) {
					ranks = append(ranks, v)
				}
			}
			return ranks
		}
		order := rapid.Permutation(numbers(tp.Ranks)).Draw(t, "order")
		parent := make([]int, tp.Ranks)
		in := map[int]bool{root: true}
		var added []int // each after its parent
		for _, r := range order {
			for !in[r] { // the rank nearest to the tree on the way joins it
				at, next := r, toward(r, root)
				for !in[next[0]] {
					at, next = next[0], next[1:]
				}
				in[at], parent[at] = true, next[0]
				added = append(added, at)
			}
		}
		here := make([]model.Time, tp.Ranks) // when all of it has arrived
		slices.Reverse(added)
		for _, r := range added {
			here[parent[r]] = max(here[parent[r]], send(k, r, parent[r], model.Reduction, here[r]))
		}
		if p.Collective.Kind != model.AllReduce {
			continue
		}
		full := map[int]bool{root: true}
		for _, r := range order {
			at := root
			for _, v := range toward(root, r) {
				if !full[v] {
					full[v], here[v] = true, send(k, at, v, model.Copy, here[at])
				}
				at = v
			}
		}
	}
	return p, s
}

// TestTreesAgainstReplay: what is added along trees is decided, and what is said of changed
// ones, where anything is, is what replay says.
func TestTreesAgainstReplay(t *testing.T) {
	outcomes := map[verify.Outcome]int{}
	all := map[verify.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawTrees(t)
		batch := rapid.IntRange(1, 9).Draw(t, "batch")
		require.Equal(t, verify.Proved, agree(t, p, s, batch))
		if len(s.Transfers) == 0 {
			return
		}
		for range 12 {
			m := *s
			m.Transfers = slices.Clone(s.Transfers)
			for range rapid.IntRange(1, 2).Draw(t, "mutations") {
				mutate(t, p, &m)
			}
			outcomes[agree(t, p, &m, batch)]++
			for _, c := range codes(check(t, p, &m, batch)) {
				all[c]++
			}
		}
	})
	for _, o := range []verify.Outcome{verify.Proved, verify.Refuted, verify.Unknown} {
		require.Greater(t, outcomes[o], 20, o)
	}
	require.NotZero(t, all[verify.MissingContribution])
}

package orbit

import (
	"cmp"
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

// drawProblem draws an allgather on a network with a link of each of some classes from
// every rank, and a group under whose translations it is the same.
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
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		steps = append(steps, rapid.IntRange(1, n-1).Draw(t, "step"))
	}
	for _, w := range steps {
		k := model.Link{Alpha: model.Time(rapid.SampledFrom([]int{0, 300, 5000}).Draw(t, "alpha")), Bandwidth: rapid.SampledFrom([]int64{1e12, 3e12}).Draw(t, "bandwidth")}
		for v := range n {
			k.Src, k.Dst = v, o.Add(v, w)
			tp.Links = append(tp.Links, k)
		}
	}
	tp.Links = rapid.Permutation(tp.Links).Draw(t, "links")
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(n) * 600,
		Cost: rapid.SampledFrom([]model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds}).Draw(t, "cost")}
	p = p.WithChunks(n * rapid.IntRange(1, 2).Draw(t, "parts"))
	require.NoError(t, p.Validate())
	return p, o
}

// drawTurns lets every link that leaves rank 0 carry something it can, again and again, until
// all is there or nothing is left to do, at times that are not the earliest.
func drawTurns(t *rapid.T, p *model.Problem, o *model.Orbit) {
	parts := len(p.Chunks) / p.Topology.Ranks
	here := map[[2]int]model.Time{} // of what rank 0 holds, since when
	for q := range parts {
		here[[2]int{0, q}] = 0
	}
	links := p.Topology.Out()[0]
	free := map[int]model.Time{}
	for range 4 * p.Topology.Ranks * parts {
		l := rapid.SampledFrom(links).Draw(t, "link")
		var choice [][2]int
		for x := range here {
			y := [2]int{o.Sub(x[0], p.Topology.Links[l].Dst), x[1]}
			if _, known := here[y]; !known {
				choice = append(choice, x)
			}
		}
		if len(choice) == 0 {
			continue
		}
		slices.SortFunc(choice, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		x := rapid.SampledFrom(choice).Draw(t, "what")
		size := p.Chunks[0].Size
		start := max(here[x], free[l]) + model.Time(rapid.SampledFrom([]int{0, 0, 0, 7}).Draw(t, "pause"))
		end, busy := start+1, model.Time(1)
		if !p.Cost.Synchronous() {
			end, busy = start+p.Topology.Duration([]int{l}, size), p.Topology.Busy(p.Cost, []int{l}, size, nil)[0].To
		}
		free[l] = start + busy
		here[[2]int{o.Sub(x[0], p.Topology.Links[l].Dst), x[1]}] = end
		o.Turns = append(o.Turns, model.Turn{Link: int32(l), Owner: int32(x[0]), Part: int32(x[1]), Start: start, End: end})
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

// agree compares with replay and stream, which look at every transfer.
func agree(t *rapid.T, p *model.Problem, o *model.Orbit) verify.Outcome {
	s, err := o.Schedule(p)
	require.NoError(t, err)
	require.EqualValues(t, o.Transfers(), len(s.Transfers))
	got, want := Check(p, o), replay.Check(p, s)
	require.Equal(t, want.Outcome, got.Outcome, "replay %v, orbit %v", want.Violations, got.Violations)
	c, err := stream.New(p, s.Form, s.Routes)
	require.NoError(t, err)
	c.Add(s.Transfers)
	require.Equal(t, want.Outcome, c.Verdict().Outcome)
	if want.Outcome == verify.Proved {
		require.Equal(t, want.Makespan, got.Makespan)
		require.Equal(t, want.Claim, got.Claim)
	} else if len(want.Violations) < verify.MaxViolations {
		require.Subset(t, codes(want.Violations), codes(got.Violations))
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
		for range 6 {
			m := &model.Orbit{Sides: o.Sides, Turns: slices.Clone(o.Turns)}
			i, j := rapid.IntRange(0, len(m.Turns)-1).Draw(t, "i"), rapid.IntRange(0, len(m.Turns)-1).Draw(t, "j")
			x, y := &m.Turns[i], m.Turns[j]
			switch rapid.IntRange(0, 6).Draw(t, "change") {
			case 0:
				m.Turns = slices.Delete(m.Turns, i, i+1)
			case 1:
				x.Owner = y.Owner
			case 2:
				x.Link = y.Link
			case 3:
				x.Start, x.End = y.Start, y.Start+x.End-x.Start
			case 4:
				m.Turns = append(m.Turns, y)
			case 5:
				x.End += model.Time(rapid.SampledFrom([]int{-1, 1}).Draw(t, "by"))
			case 6:
				x.Part = y.Part
			}
			slices.SortStableFunc(m.Turns, func(a, b model.Turn) int { return cmp.Compare(a.Start, b.Start) })
			if m.Validate(p) != nil {
				require.Equal(t, verify.Malformed, Check(p, m).Violations[0].Code)
				continue
			}
			outcomes[agree(t, p, m)]++
			for _, c := range codes(Check(p, m).Violations) {
				seen[c]++
			}
		}
	})
	require.Greater(t, outcomes[verify.Proved], 10)
	require.Greater(t, outcomes[verify.Refuted], 100)
	for _, c := range []verify.Code{verify.TooFast, verify.TooSlow, verify.LinkOverlap, verify.SendUndefined, verify.WriteWriteRace, verify.MissingContribution} {
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
		o := &model.Orbit{Sides: []int{4}}
		lasts := tp.Duration([]int{0}, 1000)
		for i := range 3 {
			o.Turns = append(o.Turns, model.Turn{Link: int32(tp.Out()[0][0]), Owner: int32((4 - i) % 4), Start: lasts * model.Time(i), End: lasts * model.Time(i+1)})
		}
		return p, o
	}
	p, o := problem()
	require.Equal(t, verify.Proved, Check(p, o).Outcome)
	for want, change := range map[string]func(*model.Problem, *model.Orbit){
		"late":  func(p *model.Problem, o *model.Orbit) { p.Release = []model.Time{0, 0, 0, 1} },
		"bytes": func(p *model.Problem, o *model.Orbit) { p.Size = 4001; p.Chunks = p.Cut(4) },
		"ranks have ports": func(p *model.Problem, o *model.Orbit) {
			p.Cost = model.Rounds
			for i := range o.Turns {
				o.Turns[i].Start, o.Turns[i].End = model.Time(i), model.Time(i+1)
			}
		},
	} {
		p, o := problem()
		change(p, o)
		v := Check(p, o)
		require.Equal(t, verify.Unknown, v.Outcome, want)
		require.Contains(t, v.Reason, want)
	}
	for want, change := range map[string]func(*model.Problem, *model.Orbit){
		"their product is 8, want as many as there are ranks, 4": func(p *model.Problem, o *model.Orbit) { o.Sides = []int{2, 4} },
		"is no translate":        func(p *model.Problem, o *model.Orbit) { o.Sides = []int{2, 2} },
		"want one that leaves":   func(p *model.Problem, o *model.Orbit) { o.Turns[0].Link = int32(tp.Out()[1][0]) },
		"rank 4 does not exist":  func(p *model.Problem, o *model.Orbit) { o.Turns[0].Owner = 4 },
		"part 1 does not exist":  func(p *model.Problem, o *model.Orbit) { o.Turns[0].Part = 1 },
		"order of starts":        func(p *model.Problem, o *model.Orbit) { o.Turns[2].Start = o.Turns[1].Start - 1 },
		"an end after the start": func(p *model.Problem, o *model.Orbit) { o.Turns[0].End = 0 },
		"want allgather":         func(p *model.Problem, o *model.Orbit) { p.Collective.Kind = model.AllReduce },
		"as many for each": func(p *model.Problem, o *model.Orbit) {
			p.Chunks = []model.Chunk{{Offset: 0, Size: 500}, {Offset: 500, Size: 500}, {Offset: 1000, Size: 1000}, {Offset: 2000, Size: 1000}, {Offset: 3000, Size: 1000}}
		},
	} {
		p, o := problem()
		change(p, o)
		v := Check(p, o)
		require.Equal(t, verify.Refuted, v.Outcome, want)
		require.Contains(t, v.Violations[0].Message, want)
	}
}

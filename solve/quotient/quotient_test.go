package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, New(), solvetest.Config{Serves: 150, Options: solve.Options{Effort: -1}})
}

// TestFinerCuts: where symmetries leave many links to schedule, more chunks per rank than are tried at first are better.
func TestFinerCuts(t *testing.T) {
	tp, err := topo.MI250()
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 8 << 20, Cost: model.Pipelined}
	r, err := New().Solve(context.Background(), p, solve.Options{Effort: -1})
	require.NoError(t, err)
	require.Greater(t, len(r.Problem.Chunks), 16*len(p.Members()))
}

// TestFirstLeavesWork: however much the first attempts take, half of the usual work is left to go on with the best of them.
func TestFirstLeavesWork(t *testing.T) {
	tp, err := topo.Parse("fattree:8x8", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 18, Cost: model.Pipelined}
	s := newSearch(context.Background(), p, solve.Options{Effort: -1})
	s.begin()
	s.first()
	require.Greater(t, s.work, s.usual)
	require.GreaterOrEqual(t, s.budget, s.work+s.usual/2)
}

// TestSketches: the ranks of machines are groups, those of tori and single switches are not.
func TestSketches(t *testing.T) {
	for name, groups := range map[string]int{"dgxh100:4": 4, "dgx2:2": 2, "ndv2:2": 2, "torus:4x4": 0, "switch:8": 0} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		list := sketches(network)
		if groups == 0 {
			require.Empty(t, list, name)
			continue
		}
		require.NotEmpty(t, list, name)
		of := map[int]int{}
		for v := range network.Ranks {
			require.Equal(t, of[list[0].group[v]], list[0].place[v], name)
			of[list[0].group[v]]++
		}
		require.Len(t, of, groups, name)
	}
}

// TestSketchedAllReduce: among machines an allreduce takes the time that the NICs need for sums of machines and back, and
// the latencies of the composition: 0.7 us inside a machine twice, and 2.6 us between them, to 2 %.
func TestSketchedAllReduce(t *testing.T) {
	for _, machines := range []int{8, 16} {
		network, err := topo.DGXH100(machines)
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 8 << 20, Cost: model.Pipelined}
		n := float64(machines)
		nic := 2 * (n - 1) / n * float64(p.Size) / 8 / 50e9 * 1e12
		enough := model.Time(1.02 * (nic + 4.0e6))
		r, err := New().Solve(context.Background(), p, solve.Options{Bound: model.Time(nic), Enough: enough})
		require.NoError(t, err)
		end := model.Time(0)
		for i := range r.Schedule.Transfers {
			end = max(end, r.Schedule.Transfers[i].End)
		}
		require.LessOrEqual(t, end, enough, machines)
	}
}

// TestBusiest: the links between the groups of a dragonfly take longest for an all-to-all, and without them its groups are
// left; on a torus no hop passes a rank, and all links take equally long.
func TestBusiest(t *testing.T) {
	for name, groups := range map[string]int{"dragonfly:4x4x4": 4, "dragonfly:3x3x3": 3, "torus:4x4": 0, "switch:8": 0} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 20, Cost: model.Pipelined}
		s := newSearch(context.Background(), p, solve.Options{})
		s.groups()
		list := s.shops[0].s.busiest()
		if groups == 0 {
			require.Empty(t, list, name)
			continue
		}
		require.Len(t, list, 1, name)
		require.Equal(t, groups, len(list[0].size), name)
		each := network.Ranks / groups
		for v := range network.Ranks {
			require.Equal(t, list[0].group[v-v%each], list[0].group[v], name)
		}
	}
}

// TestAgain: sums that are built again before the gatherings of a plan, with the network turned round, make a right schedule with
// those gatherings, also where hops pass switches and chunks differ in size.
func TestAgain(t *testing.T) {
	for _, name := range []string{"hypercube:3", "dgx2:2", "mesh:3x3", "fattree:2x4"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		whole := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 100_003, Cost: model.Pipelined}
		s := newSearch(context.Background(), whole, solve.Options{})
		s.groups()
		x := s.newTrial(0, cut{parts: 3, ratio: 1}, anywhere)
		x.divide()
		work := &counter{ctx: context.Background(), limit: usualWork}
		sums := x.x.sum(x.parts, x.rule(0, true), never-1, x.rng, work)
		require.NotNil(t, sums, name)
		first := x.x.allreduce(sums, x.rule(1, true), never-1, x.rng, work)
		require.NotNil(t, first, name)
		second := x.x.again(first, x.rule(0, true), never-1, x.rng, work)
		require.NotNil(t, second, name)
		type hop struct{ part, src, dst int32 }
		gathered := func(p *plan) (list []hop) {
			for _, j := range p.jobs {
				if j.op == model.Copy {
					list = append(list, hop{j.part, j.src, j.dst})
				}
			}
			return list
		}
		require.ElementsMatch(t, gathered(first), gathered(second), name)
		for _, p := range []*plan{first, second} {
			require.NoError(t, solvetest.Right(x.p, p.emit(x.p)), name)
		}
	}
}

// TestOverlap: where latencies count, sums and gatherings overlap: an allreduce on a torus is over sooner than a reduce-scatter and
// an allgather, each in the time of its volume, and hardly above that of its own volume. Among 512 ranks, too, members have several chunks.
func TestOverlap(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for name, x := range map[string]struct {
		size         int64
		degree       float64
		enough, most model.Time // hundredths of the time of its volume
	}{"torus:8x8": {1 << 20, 4, 104, 105}, "tpuv4:8x8x8": {8 << 20, 6, 101, 101}} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: x.size, Cost: model.Pipelined}
		link, n := network.Links[0], float64(network.Ranks)
		volume := model.Time(2 * (n - 1) / n / x.degree * float64(p.Size) / float64(link.Bandwidth) * 1e12)
		s := newSearch(context.Background(), p, solve.Options{Bound: volume + link.Alpha, Enough: (volume + link.Alpha) / 100 * x.enough})
		_, err = s.run()
		require.NoError(t, err)
		require.Less(t, s.best.best.end, volume+2*link.Alpha, name)
		require.LessOrEqual(t, s.best.best.end, (volume+link.Alpha)/100*x.most, name)
		require.Greater(t, len(s.best.p.Chunks), network.Ranks, name)
	}
}

// TestMostChunks: members have several chunks where these are a million transfers at most; or copies of few jobs, and four million at most,
// which the caller has the time to have proved.
func TestMostChunks(t *testing.T) {
	for _, x := range []struct {
		network string
		verify  int // transfers
		chunks  int
	}{
		{"tpuv4:8x8x8", 0, 8},       // 511 transfers to and fro of each of 512·8 chunks
		{"tpuv4:8x8x8", 3 << 21, 4}, // two million
		{"tpuv4:8x8x8", 1000, 2},    // one million
		{"mesh:8x8", 0, 130},        // eight symmetries
		{"mesh:8x8", 3 << 21, 130},  // the same
	} {
		network, err := topo.Parse(x.network, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 8 << 20, Cost: model.Pipelined}
		s := newSearch(context.Background(), p, solve.Options{MostTransfers: x.verify})
		s.groups()
		require.NotNil(t, s.newTrial(0, cut{parts: x.chunks, ratio: 1}, anywhere), "%v", x)
		require.Nil(t, s.newTrial(0, cut{parts: x.chunks + 1, ratio: 1}, anywhere), "%v", x)
	}
}

// TestFitting: on a fat tree near hops take 1 us and far ones 2. If all ranks change from the ones to the others at one time, links idle
// for the difference; with chunks that fill it, for little more than one of them. A rank's links can be busy from 0.5 us on.
func TestFitting(t *testing.T) {
	network, err := topo.Parse("fattree:4x4", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 8 << 20, Cost: model.Pipelined}
		volume := model.TransferTime(p.Size/16*15, network.Links[0].Bandwidth)
		r, err := New().Solve(context.Background(), p, solve.Options{Effort: -1, Bound: volume})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.Less(t, solve.End(r.Schedule.Transfers), volume+1_300_000)
	}
}

// TestMisfit: the time that links idle is one chunk, what is missed of the difference in latency at each turn, and the rest's share.
func TestMisfit(t *testing.T) {
	const each, whole, d, others = 1000, 1_000_000, 1_000_000, 3
	for _, c := range []struct {
		cut  cut
		lost model.Time
	}{
		{cut{parts: 1, ratio: 1}, d},
		{cut{parts: 4, ratio: 1}, 250_000},
		{cut{parts: 4, ratio: 0.7}, d},                // of several sizes
		{cut{parts: 3, ratio: 1, size: 400}, d},       // two fill 0.8 of it, and 3.75 turns miss 0.2
		{cut{parts: 5, ratio: 1, size: 249}, 273_048}, // 3.012 turns miss 0.004, and three rests of 0.004 fill nothing
	} {
		require.Equal(t, c.lost, misfit(c.cut, each, whole, d, others), c.cut)
	}
}

// TestFallingSketches: among machines the last parts that come to each are passed on last, or added up first, and are small. A NIC
// needs 19.7 us for what comes over it, and the latencies of two hops are 3.3 us.
func TestFallingSketches(t *testing.T) {
	network, err := topo.DGXH100(16)
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 8 << 20, Cost: model.Pipelined}
		enough := 22_980 * model.Nanosecond
		r, err := New().Solve(context.Background(), p, solve.Options{Bound: 22_873 * model.Nanosecond, Enough: enough})
		require.NoError(t, err)
		require.LessOrEqual(t, solve.End(r.Schedule.Transfers), enough, kind)
		require.Len(t, r.Problem.Chunks, 16*128, kind)
	}
}

// TestCutsCover: the parts of every cut hold all bytes, once, also where shards differ by a byte.
func TestCutsCover(t *testing.T) {
	network, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	for size := int64(40); size < 60; size++ {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: size, Cost: model.Pipelined}
		each := p.Space() / 4
		for _, c := range []cut{{parts: 3, ratio: 1}, {parts: 3, ratio: 0.7}, {parts: 3, ratio: 1, size: (each + 2) / 3}, {parts: int((each + 1) / 2), ratio: 1, size: 2}} {
			q := c.apply(p)
			require.NoError(t, q.Validate(), "%d bytes, %+v", size, c)
			require.Len(t, q.Chunks, 4*c.parts)
		}
	}
}

// polled is a context that ends when it has been asked a number of times.
type polled struct {
	context.Context
	left *int
}

func (c polled) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndsAnywhere: a search that is told to end, at any of the first times that it asks, before it has a schedule or after, returns
// what it has.
func TestEndsAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	network, err := topo.MI250()
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.AllReduce} {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
		for polls := 0; polls < 3000; polls = polls*5/4 + 1 {
			left := polls
			r, err := New().Solve(polled{t.Context(), &left}, p, solve.Options{Effort: -1})
			require.NoError(t, err)
			if r.Schedule != nil {
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			}
		}
	}
}

package overtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

func problem(t *testing.T, name string, kind model.Kind, size int64) *model.Problem {
	t.Helper()
	top, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: top, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	require.NoError(t, p.Validate())
	return p
}

// plainColours gives every node and arc a colour of its own, so that nothing is merged.
func plainColours(n *network) {
	n.sources, n.classes = nil, nil
	for r, bytes := range n.demands(nil) {
		if bytes == nil {
			continue
		}
		s := source{rank: r, alike: 1, bytes: bytes}
		for v := range n.p.Topology.Nodes() {
			s.colour = append(s.colour, uint64(v))
		}
		n.sources = append(n.sources, s)
	}
	for i := range n.arcs {
		n.arcs[i].class = i
		n.classes = append(n.classes, 1)
	}
}

// Merging what looks alike does not change the optimum, on networks with symmetries and on random
// ones, at ends that the unit divides and others.
func TestColoursDoNotMatter(t *testing.T) {
	var list []*model.Problem
	for _, name := range []string{"ring:5", "dgx1", "ndv2", "fattree:2x2", "torus:2x3", "hypercube:3", "mesh:2x3"} {
		for _, kind := range []model.Kind{model.AllToAll, model.Scatter, model.Gather} {
			list = append(list, problem(t, name, kind, 24<<10))
		}
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		top := &model.Topology{Name: fmt.Sprint("random ", seed), Ranks: 3 + r.IntN(3), Switches: make([]model.Switch, r.IntN(2))}
		for v := range top.Nodes() {
			top.Links = append(top.Links, model.Link{Src: v, Dst: (v + 1) % top.Nodes(), Alpha: model.Time(100 * (1 + r.IntN(3))), Bandwidth: 1e9 * (1 + r.Int64N(2))})
		}
		for range r.IntN(5) {
			if u, v := r.IntN(top.Nodes()), r.IntN(top.Nodes()); u != v {
				top.Links = append(top.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(100 * r.IntN(3)), Bandwidth: 1e9})
			}
		}
		list = append(list, &model.Problem{Topology: top, Collective: model.Collective{Kind: []model.Kind{model.AllToAll, model.Scatter, model.Gather}[seed%3]}, Size: 60, Cost: model.Blocking})
	}
	merged, between := 0, 0
	for _, p := range list {
		n, plain := newNetwork(p), newNetwork(p)
		n.colour(n.demands(nil))
		plainColours(plain)
		if len(n.classes) < len(plain.classes) {
			merged++
		}
		for _, end := range []model.Time{5 * n.unit, 7*n.unit + n.unit/3 + 1} {
			a, err := n.solve(context.Background(), end)
			require.NoError(t, err)
			b, err := plain.solve(context.Background(), end)
			require.NoError(t, err)
			require.NotNil(t, a)
			require.NotNil(t, b)
			require.InDelta(t, b.part, a.part, 1e-5*max(1, b.part), "%v by %v", p, end)
			if a.part > 0 && a.part < 1 {
				between++
			}
		}
	}
	require.Greater(t, merged, 10)
	require.Greater(t, between, 10)
}

// On one switch with links of B bytes per second and a latency of a each way, n-1 parts take their
// time over B, and 2a: known bounds have that, and there is no more.
func TestNothingMoreOnOneSwitch(t *testing.T) {
	p := problem(t, "switch:8", model.AllToAll, 64<<10)
	l := p.Topology.Links[0]
	known := model.TransferTime(7<<13, l.Bandwidth) + 2*l.Alpha
	w, _, err := Find(context.Background(), p, known)
	require.NoError(t, err)
	require.Nil(t, w)
	w, end, err := Find(context.Background(), p, known*9/10)
	require.NoError(t, err)
	require.NotNil(t, w)
	require.InEpsilon(t, int64(known), int64(end), 1e-3)
}

// Along a line all pass one link after the other: what is sent there by the end less all latencies. A
// reduce is the same backwards.
func TestToTheFarthest(t *testing.T) {
	for _, kind := range []model.Kind{model.Broadcast, model.Reduce} {
		p := problem(t, "line:5", kind, 64<<10)
		l := p.Topology.Links[0]
		known := model.TransferTime(64<<10, l.Bandwidth) + 4*l.Alpha
		w, end, err := Find(context.Background(), p, known*9/10)
		require.NoError(t, err)
		require.NotNil(t, w)
		require.InEpsilon(t, int64(known), int64(end), 1e-3)
		w, _, err = Find(context.Background(), p, known)
		require.NoError(t, err)
		require.Nil(t, w)
	}
}

// What is not served is named as such, and a search that is over ends.
func TestNotServed(t *testing.T) {
	_, _, err := Find(context.Background(), problem(t, "ring:4", model.AllGather, 1<<20), 1)
	require.ErrorIs(t, err, solve.ErrNotServed)
	late := problem(t, "ring:4", model.AllToAll, 1<<20)
	late.Release = []model.Time{0, 0, 1, 0}
	_, _, err = Find(context.Background(), late, 1)
	require.ErrorIs(t, err, solve.ErrNotServed)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w, _, err := Find(ctx, problem(t, "dgx1", model.AllToAll, 64<<10), model.Microsecond)
	require.NoError(t, err)
	require.Nil(t, w)
}

// A hop passes its links, and ends, in the windows of what a look at every instant shows.
func TestPassings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cuts := []model.Time{0}
		for _, d := range rapid.SliceOfN(rapid.IntRange(1, 9), 1, 8).Draw(t, "windows") {
			cuts = append(cuts, cuts[len(cuts)-1]+model.Time(d))
		}
		lags := []model.Time{0}
		for _, d := range rapid.SliceOfN(rapid.IntRange(0, 7), 1, 4).Draw(t, "latencies") {
			lags = append(lags, lags[len(lags)-1]+model.Time(d))
		}
		end := cuts[len(cuts)-1]
		window := func(at model.Time) (k int) {
			for cuts[k+1] <= at {
				k++
			}
			return k
		}
		var want [][]int
		var first []int // arrivals
		for at := model.Time(0); at+lags[len(lags)-1] < end; at++ {
			var list []int
			for _, lag := range lags {
				list = append(list, window(at+lag))
			}
			n := len(lags) - 1
			if len(want) == 0 || !slices.Equal(want[len(want)-1][:n], list[:n]) {
				want = append(want, list)
			}
			if window(at) == len(first) {
				first = append(first, list[n])
			}
		}
		require.Equal(t, want, passings(cuts, lags))
		require.Equal(t, first, arrivals(cuts, lags[len(lags)-1]))
	})
}

// Windows ascend from 0 to the end, are few, and are fine at both sides; that of a long time has long ones between.
func TestWindows(t *testing.T) {
	for _, name := range []string{"dgx2:2", "fattree:4x4", "dgxh100:16", "mi250", "ring:8"} {
		for _, kind := range []model.Kind{model.Broadcast, model.Reduce, model.AllGather} {
			n := newNetwork(problem(t, name, kind, 1<<20))
			require.Positive(t, n.span())
			for _, most := range []int{10, 24, 96} {
				for _, end := range []model.Time{1, n.unit, 5*n.unit + 1, 3 * n.span(), 100*n.span() + 7} {
					cuts, from, to := n.windows(end, most)
					require.Equal(t, model.Time(0), cuts[0])
					require.Equal(t, end, cuts[len(cuts)-1])
					require.LessOrEqual(t, len(cuts)-1, most)
					for k := range len(cuts) - 1 {
						require.Less(t, cuts[k], cuts[k+1])
					}
					if end > 100*n.span() {
						require.LessOrEqual(t, n.span()*9/10, from)
						require.LessOrEqual(t, to, end-n.span()*9/10)
						require.Contains(t, cuts, from)
						require.Contains(t, cuts, to)
					}
				}
			}
		}
	}
}

// With fewer windows there can be more on its way, so that the optimum is no less; and it is not much more.
// What longer windows are said to yield is what programs with them do.
func TestFewWindows(t *testing.T) {
	for _, x := range []struct {
		name string
		kind model.Kind
		end  model.Time
	}{
		{"fattree:4x4", model.Broadcast, 23 * model.Microsecond},
		{"fattree:2x4", model.Reduce, 20 * model.Microsecond},
		{"dragonfly:2x2x2", model.AllGather, 16 * model.Microsecond},
	} {
		part := func(most int, end model.Time) *split {
			s := &sharing{network: newNetwork(problem(t, x.name, x.kind, 1<<20)), detour: 1, finest: most, hops: map[int][2][]hop{}, looks: map[uint64]uint64{}}
			s.prepare(context.Background())
			y, err := s.solve(context.Background(), end)
			require.NoError(t, err)
			require.NotNil(t, y)
			return y
		}
		exact, coarse, rough := part(1000, x.end), part(24, x.end), part(12, x.end)
		require.Zero(t, exact.late, x.name)
		require.Positive(t, rough.late, x.name)
		require.LessOrEqual(t, exact.part, coarse.part+1e-6, x.name)
		require.LessOrEqual(t, coarse.part, rough.part+1e-6, x.name)
		require.InEpsilon(t, exact.part, rough.part, 0.1, x.name)
		for _, by := range []model.Time{-x.end / 50, x.end / 50} {
			y, said := part(12, x.end+by), rough.part+rough.rate()*float64(by)
			require.GreaterOrEqual(t, said, y.part-1e-6, x.name)
			require.InEpsilon(t, said, y.part, 0.01, x.name)
		}
		require.True(t, rough.lengthen(x.end/50), x.name)
		require.Equal(t, x.end+x.end/50, rough.cuts[len(rough.cuts)-1], x.name)
	}
}

// What is expected on a network that is slower in all respects is as much later.
func TestSlowNetworks(t *testing.T) {
	for _, kind := range []model.Kind{model.Broadcast, model.ReduceScatter, model.AllReduce} {
		p := problem(t, "fattree:2x4", kind, 64<<10)
		w, end, complete, err := FindShared(context.Background(), p, 2*model.Microsecond, 1, false)
		require.NoError(t, err)
		require.NotNil(t, w, "%v", p)
		require.True(t, complete, "%v", p)
		const slower = 100_000
		top := *p.Topology
		top.Links = slices.Clone(top.Links)
		for i := range top.Links {
			top.Links[i].Alpha *= slower
			top.Links[i].Bandwidth /= slower
		}
		p.Topology = &top
		w, late, complete, err := FindShared(context.Background(), p, slower*2*model.Microsecond, 1, false)
		require.NoError(t, err)
		require.NotNil(t, w, "%v", p)
		require.True(t, complete, "%v", p)
		require.InEpsilon(t, float64(end), float64(late)/slower, 1e-3, "%v", p)
	}
}

// A search that ends with its time is not complete.
func TestNotComplete(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w, _, complete, err := FindShared(ctx, problem(t, "fattree:2x4", model.Broadcast, 64<<10), 2*model.Microsecond, 1, false)
	require.NoError(t, err)
	require.Nil(t, w)
	require.False(t, complete)

	s := &sharing{network: newNetwork(problem(t, "fattree:2x4", model.Broadcast, 64<<10)), detour: 1, hops: map[int][2][]hop{}, looks: map[uint64]uint64{}}
	s.prepare(context.Background())
	best, _, err := s.search(ctx, 2*model.Microsecond)
	require.NoError(t, err)
	require.Nil(t, best)
	require.True(t, s.stopped)
}

// On a DGX-1 all ranks look alike at first, and all single links do: half of these are on shortest ways that the other half is not on.
// What comes to a rank from those two hops away passes links that hold it up, so that it takes a third longer than they could carry.
func TestAlikeFromAfar(t *testing.T) {
	for _, name := range []string{"dgx1", "ndv2"} {
		p := problem(t, name, model.AllGather, 64<<10)
		w, end, _, err := FindShared(context.Background(), p, 1_563_880, 1, false)
		require.NoError(t, err)
		require.NotNil(t, w, name)
		require.InDelta(t, 1_400_000+163_840*4/3, float64(end), 300, name)
	}
}

// TestEveryWindow: what goes from machine to machine twice, or thrice from the first one, takes as long whether switches copy within
// machines or not, and that is seen where each window is one that there can be.
func TestEveryWindow(t *testing.T) {
	for _, name := range []string{"dgxh100:4", "dgxh100-nvls:4"} {
		w, end, _, err := FindShared(context.Background(), problem(t, name, model.Broadcast, 1<<20), 7_771_457, 1, false)
		require.NoError(t, err)
		require.NotNil(t, w, name)
		require.InDelta(t, 8_178_573, float64(end), 2000, name)
	}
}

// TestSharedEnds: whenever the time is over, that is no failure.
func TestSharedEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	p := problem(t, "mi250", model.AllReduce, 1<<20)
	find := func(ctx context.Context) bool {
		_, _, complete, err := FindShared(ctx, p, 7400*model.Nanosecond, 0, false)
		require.NoError(t, err)
		return complete
	}
	begin, ends := time.Now(), 0
	require.True(t, find(t.Context()))
	const parts = 64 // its last method, by interior points, is on its way then
	for i, whole := parts/2, time.Since(begin); i < parts*5/4; i++ {
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i)/parts)
		if !find(ctx) {
			ends++
		}
		cancel()
	}
	require.Positive(t, ends)
}

// TestChord: where all can have arrived by the first end, the second one that is tried is nearly the last by which they cannot.
func TestChord(t *testing.T) {
	p := problem(t, "dragonfly:4x4x4", model.Broadcast, 64<<10)
	w, end, _, err := FindShared(context.Background(), p, 4_679_000, 0, false)
	require.NoError(t, err)
	require.NotNil(t, w)
	require.Greater(t, end, 5_416_000*model.Picosecond) // 5_415_827 where the second one is hardly later than what the first one proves
}

// An allreduce whose program is large is looked at between two multiples of the latency, too: there it says more than at these.
func TestFindSharedBetween(t *testing.T) {
	p := problem(t, "mi250", model.AllReduce, 256<<10)
	_, end, complete, err := FindShared(context.Background(), p, 4_373_894, 1, false)
	require.NoError(t, err)
	require.True(t, complete)
	require.Greater(t, end, 4540*model.Nanosecond)
	require.Less(t, end, 4900*model.Nanosecond)
}

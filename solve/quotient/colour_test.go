package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestColourEdges: no two edges of one colour share a vertex, and there are as many colours as the largest degree.
func TestColourEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "vertices")
		vertex := rapid.Int32Range(0, int32(n-1))
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int32 {
			return [2]int32{vertex.Draw(t, "from"), vertex.Draw(t, "to")}
		}), 0, 40).Draw(t, "edges")
		colours, count := colourEdges(edges, n)
		require.Len(t, colours, len(edges))
		degree, most := map[[2]int32]int{}, 0
		used := map[[3]int32]bool{}
		for i, e := range edges {
			require.True(t, colours[i] >= 0 && colours[i] < count)
			for side, v := range e {
				at := [3]int32{int32(side), v, int32(colours[i])}
				require.False(t, used[at])
				used[at] = true
				degree[[2]int32{int32(side), v}]++
				most = max(most, degree[[2]int32{int32(side), v}])
			}
		}
		require.Equal(t, most, count)
	})
}

// broken returns four machines of which something has failed.
func broken(t *testing.T, fail string) *model.Topology {
	network, err := instance.Generated("dgxh100:4", "", "")
	require.NoError(t, err)
	network, err = instance.Failed(network, []string{fail})
	require.NoError(t, err)
	return network
}

// TestColoured: among machines of which a rank or a NIC has failed no symmetry makes a hop a matching, and the order of an edge
// colouring has an allgather and a reducescatter over within 5 % of what the NICs of the smallest machine take for what it needs.
func TestColoured(t *testing.T) {
	for _, fail := range []string{"rank:3", "link:0-36"} {
		network := broken(t, fail)
		n, size := network.Ranks, int64(64<<20)
		need := float64(size) / float64(n) * float64(n-n/4) / (7 * 50e9) * 1e12 // into a machine with seven NICs
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
			p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
			enough := model.Time(1.05*need + 2.6e6)
			s := newSearch(context.Background(), p, solve.Options{Bound: model.Time(need), Enough: enough})
			s.begin()
			s.colour()
			require.NotNil(t, s.best, "%s %v", fail, kind)
			require.LessOrEqual(t, s.best.best.end, enough, "%s %v", fail, kind)
			require.NoError(t, solvetest.Right(s.best.p, s.best.best.emit(s.best.p)), "%s %v", fail, kind)
		}
	}
}

// TestColouredAllReduce: schedules of allreduces are right, whether roots are spread evenly or by what machines can take in; that
// is in the ratio of their shares where all NICs are busy all the time.
func TestColouredAllReduce(t *testing.T) {
	network := broken(t, "rank:3")
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1_000_003, Cost: model.Pipelined}
	s := newSearch(context.Background(), p, solve.Options{Bound: 1})
	s.begin()
	k := sketches(network)[0]
	trial := s.newTrial(0, cut{parts: 8, ratio: 1}, anywhere)
	trial.divide()
	alike(trial.parts)
	trial.x = trial.x.timed(trial.parts)
	for range 2 {
		plan := k.both(context.Background(), trial.x, trial.parts, 1, trial.rng)
		require.NoError(t, solvetest.Right(trial.p, plan.emit(trial.p)))
		if !k.own(trial.x.s, trial.parts) {
			break
		}
	}
	owned := map[bool]int{} // by whether the root is in the small machine
	for i := range trial.parts {
		owned[k.size[k.group[trial.parts[i].root]] == 7]++
	}
	require.InDelta(t, 0.177, float64(owned[true])/float64(len(trial.parts)), 0.01) // (6·350/1550 - 1)/2

	even, err := instance.Generated("dgxh100:4", "", "")
	require.NoError(t, err)
	s = newSearch(context.Background(), &model.Problem{Topology: even, Collective: p.Collective, Size: p.Size, Cost: p.Cost}, solve.Options{Bound: 1})
	s.begin()
	require.False(t, sketches(even)[0].own(s.shops[0].s, nil), "all machines are alike")
}

package certify

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// drawUneven returns a problem with sizes of its own, many of them 0, and the methods that must serve it.
func drawUneven(t *rapid.T) (*model.Problem, []string) {
	network := rapid.SampledFrom([]string{"switch:4", "ring:5", "mesh:2x2", "full:3", "line:3", "fattree:2x2"}).Draw(t, "network")
	tp, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	var group []int
	for r := range tp.Ranks {
		group = append(group, r)
	}
	size := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 9), rapid.Int64Range(0, 1<<22))
	name := rapid.SampledFrom([]string{"alltoallv", "allgatherv", "reducescatterv", "gatherv", "scatterv", "permutation"}).Draw(t, "collective")
	vector := func() []int64 { return rapid.SliceOfN(size, tp.Ranks, tp.Ranks).Draw(t, "sizes") }
	var c *model.Collective
	must := []string{"direct", "tacos", "flows", "paths"}
	switch name {
	case "alltoallv":
		var bytes [][]int64
		for range group {
			bytes = append(bytes, vector())
		}
		c, err = traffic.AllToAll(group, bytes)
	case "permutation":
		c, err = traffic.Permute(group, rapid.Permutation(group).Draw(t, "to"), 1+vector()[0])
	default:
		c, err = traffic.PerMember(name, group, rapid.SampledFrom(group).Draw(t, "root"), vector())
		if name == "allgatherv" || name == "reducescatterv" {
			must = []string{"direct", "tacos"}
		}
	}
	if err != nil {
		t.Skip("nothing moves")
	}
	p := &model.Problem{Topology: tp, Collective: *c, Size: c.Ends[len(c.Ends)-1], Cost: rapid.SampledFrom([]model.CostModel{model.Pipelined, model.Blocking}).Draw(t, "cost")}
	require.NoError(t, p.Validate())
	return p, must
}

// searching are the methods that may search for minutes.
var searching = []string{"exact", "exact-reward", "rolling", "sat"}

// TestUnevenSearched: methods that search, from nothing and on a few parts, find what is right.
func TestUnevenSearched(t *testing.T) {
	tp, err := topo.Parse("switch:3", topo.Options{})
	require.NoError(t, err)
	c, err := traffic.AllToAll([]int{0, 1, 2}, [][]int64{{0, 1 << 20, 0}, {0, 0, 1 << 19}, {1 << 20, 1 << 20, 0}})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: *c, Size: c.Ends[len(c.Ends)-1], Cost: model.Pipelined}
	bound, err := Bound(t.Context(), p)
	require.NoError(t, err)
	for _, m := range Methods() {
		if !slices.Contains(searching, m.Name()) || m.Serves(p) != nil {
			continue
		}
		r, err := m.Solve(t.Context(), p, solve.Options{Seed: 1, Chunks: 1, TimeLimit: 10 * time.Second})
		require.NoError(t, err, m.Name())
		require.NotNil(t, r.Schedule, m.Name())
		require.Equal(t, verify.Proved, replay.Check(t.Context(), r.Problem, r.Schedule).Outcome, m.Name())
		require.LessOrEqual(t, bound.Bound, r.Makespan(), m.Name())
		t.Logf("%s: %v, bound %v", m.Name(), r.Makespan(), bound.Bound)
	}
}

// TestUneven: whatever the sizes, what a method finds is right, no bound and no fluid limit is above
// it, and the methods that say that they serve such collectives do.
func TestUneven(t *testing.T) {
	took := map[string]time.Duration{}
	found := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p, must := drawUneven(t)
		chunks := rapid.IntRange(1, 3).Draw(t, "chunks") // a free cut would be tried until it is fine
		bound, err := Bound(t.Context(), p)
		require.NoError(t, err)
		require.NotNil(t, bound)
		limit, err := Throughput(t.Context(), p)
		require.NoError(t, err)
		require.NotEqual(t, FluidUnknown, limit.Status)
		for _, m := range Methods() {
			served := m.Serves(p)
			switch name := m.Name(); {
			case slices.Contains(searching, name): // see TestUnevenSearched: here they would take all the time
				continue
			case served != nil:
				require.ErrorIs(t, served, solve.ErrNotServed)
				require.NotContains(t, must, name, "%v", served)
				continue
			}
			begin := time.Now()
			r, err := m.Solve(t.Context(), p, solve.Options{Seed: 1, Tries: 2, Effort: -1, Chunks: chunks})
			require.NoError(t, err, m.Name())
			require.NotNil(t, r.Schedule, m.Name())
			found[m.Name()]++
			took[m.Name()] += time.Since(begin)
			v := replay.Check(t.Context(), r.Problem, r.Schedule)
			require.Equal(t, verify.Proved, v.Outcome, "%s: %v", m.Name(), v)
			end := r.Problem.Makespan(r.Schedule)
			require.LessOrEqual(t, bound.Bound, end, "%s ends before the bound by %s", m.Name(), bound.Witness.Kind())
			for _, c := range []*model.Certificate{limit.Bound, limit.Rate} {
				if c != nil {
					require.LessOrEqual(t, c.Bound, end, "%s ends before the fluid limit", m.Name())
				}
			}
			require.LessOrEqual(t, float64(p.Size)/limit.Algbw*float64(model.Second), float64(end)*(1+1e-6)+float64(len(r.Problem.Chunks)), "%s is faster than the fluid limit", m.Name())
			own, err := Bound(t.Context(), r.Problem)
			require.NoError(t, err)
			require.LessOrEqual(t, own.Bound, end, "%s ends before the bound of its cut by %s", m.Name(), own.Witness.Kind())
		}
	})
	t.Logf("schedules: %v %v", found, took)
}

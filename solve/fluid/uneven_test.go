package fluid

import (
	"context"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
	"github.com/oraccl/oraccl/solve"
)

func custom(t testing.TB, network string, c *model.Collective) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: *c, Size: c.Ends[len(c.Ends)-1], Cost: model.Pipelined}
	require.NoError(t, p.Validate())
	return p
}

func all(n int) (group []int) {
	for r := range n {
		group = append(group, r)
	}
	return group
}

// TestUnevenParts: with contributions of different sizes, some of them empty, cuts, linear programs and
// all sets of nodes give one rate; with equal ones, that of the standard collective.
func TestUnevenParts(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		network := []string{"ring:5", "mesh:2x3", "switch:4", "dgx1"}[seed%4]
		name := []string{"allgatherv", "reducescatterv"}[seed/4%2]
		n := map[string]int{"ring:5": 5, "mesh:2x3": 6, "switch:4": 4, "dgx1": 8}[network]
		bytes := make([]int64, n)
		for i := range bytes {
			bytes[i] = r.Int64N(3) * r.Int64N(1<<(10*(seed%4)+1))
		}
		bytes[r.IntN(n)] = 1000
		c, err := traffic.PerMember(name, all(n), 0, bytes)
		require.NoError(t, err)
		p := custom(t, network, c)
		agree(t, p)
		rate, err := Rate(context.Background(), p)
		require.NoError(t, err)
		require.Zero(t, rate.TimeOf(1).Cmp(exhaustive(t, p)), "seed %d", seed)
		require.Equal(t, p.Size, rate.Of)
	}
	for name, kind := range map[string]model.Kind{"allgatherv": model.AllGather, "reducescatterv": model.ReduceScatter} {
		c, err := traffic.PerMember(name, all(8), 0, []int64{7, 7, 7, 7, 7, 7, 7, 7})
		require.NoError(t, err)
		uneven, err := Rate(context.Background(), custom(t, "dgx1", c))
		require.NoError(t, err)
		even, err := Rate(context.Background(), problem(t, "dgx1", kind))
		require.NoError(t, err)
		require.Zero(t, uneven.Algbw().Cmp(even.Algbw()))
	}
}

// TestUnevenFlow: on one switch the limit is the largest sum of a row or a column, and what the dual
// proves is as much; equal demands have the rate of an alltoall.
func TestUnevenFlow(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 10))
		bytes, most := make([][]int64, 6), int64(0)
		for i := range bytes {
			bytes[i] = make([]int64, 6)
			for j := range bytes[i] {
				bytes[i][j] = r.Int64N(2) * r.Int64N(1<<(1+10*(seed%4)))
			}
		}
		bytes[0][1] = 1 << 20
		for i := range bytes {
			row, column := int64(0), int64(0)
			for j := range bytes {
				if i != j {
					row, column = row+bytes[i][j], column+bytes[j][i]
				}
			}
			most = max(most, row, column)
		}
		c, err := traffic.AllToAll(all(6), bytes)
		require.NoError(t, err)
		p := custom(t, "switch:6", c)
		f, err := AllToAll(context.Background(), p)
		require.NoError(t, err)
		want := float64(p.Size) / float64(most) * float64(p.Topology.Links[0].Bandwidth)
		require.InEpsilon(t, want, f.Algbw, 1e-9)
		bound, _ := f.Bound.Float64()
		require.InEpsilon(t, want, bound, 1e-9)
	}
	equal := [][]int64{{0, 3, 3, 3}, {3, 0, 3, 3}, {3, 3, 0, 3}, {3, 3, 3, 0}}
	c, err := traffic.AllToAll(all(4), equal)
	require.NoError(t, err)
	uneven, err := AllToAll(context.Background(), custom(t, "ring:4", c))
	require.NoError(t, err)
	even, err := AllToAll(context.Background(), problem(t, "ring:4", model.AllToAll))
	require.NoError(t, err)
	// The buffer of an alltoall is what a rank has, with its own part; here it is all that moves.
	ratio := new(big.Rat).Quo(uneven.Bound, even.Bound)
	require.Equal(t, "3/1", ratio.String())
	for _, kind := range []model.Kind{model.Gather, model.Scatter} {
		f, err := AllToAll(context.Background(), problem(t, "switch:4", kind))
		require.NoError(t, err)
		require.InEpsilon(t, 4./3*float64(problem(t, "switch:4", kind).Topology.Links[0].Bandwidth), f.Algbw, 1e-9)
	}
	_, err = AllToAll(context.Background(), problem(t, "ring:4", model.AllGather))
	require.ErrorIs(t, err, solve.ErrNotServed)
}

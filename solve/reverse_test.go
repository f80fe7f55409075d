package solve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// TestReversePorts: a pipelined problem is not read backwards where a port has links of
// unequal latencies. Two transfers that follow each other over such a port would overlap.
func TestReversePorts(t *testing.T) {
	tp := &model.Topology{Ranks: 3, Links: []model.Link{
		{Src: 1, Dst: 0, Alpha: 5, Bandwidth: 1e12}, {Src: 2, Dst: 0, Bandwidth: 1e12}, {Src: 0, Dst: 1, Bandwidth: 1e12}, {Src: 0, Dst: 2, Bandwidth: 1e12}},
		Ports: []model.Port{{Links: []int{0, 1}, Capacity: 1}}}
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.ReduceScatter}, Size: 30, Cost: cost}
		_, ok := solve.Reverse(p)
		require.Equal(t, cost != model.Pipelined, ok, "%v", cost)
	}
	tp.Ports[0].Capacity = 2
	_, ok := solve.Reverse(&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.ReduceScatter}, Size: 30, Cost: model.Pipelined})
	require.True(t, ok, "each link has room")
	tp.Ports[0].Capacity = 1
	tp.Links[1].Alpha = 5
	_, ok = solve.Reverse(&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.ReduceScatter}, Size: 30, Cost: model.Pipelined})
	require.True(t, ok, "equal latencies")
}

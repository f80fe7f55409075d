package certify

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestExactTriesCuts: exact finds a schedule with more chunks than one per rank where that is
// better, and it is left out where others have what none of its cuts can reach.
func TestExactTriesCuts(t *testing.T) {
	tp, err := topo.Parse("line:3", topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{1e9}})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 12000, Cost: model.Pipelined}
	e := &Evaluator{Methods: mustName(t, "exact"), Named: true, Options: solve.Options{Seed: 1}, Progress: Silent{}, ChooseCuts: true}
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	require.Len(t, ev.Best().Result.Problem.Chunks, 4, "three cuts are tried")
	require.Equal(t, 15*model.Microsecond, ev.Best().Makespan, "four chunks of 3 us over two hops")

	tp, err = topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	p = &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 8 << 20, Cost: model.Pipelined}
	for _, enough := range []float64{0, 1e-9} {
		e = &Evaluator{Methods: mustName(t, "quotient", "exact"), Options: solve.Options{Seed: 1}, Progress: Silent{}, ChooseCuts: true, Enough: enough}
		ev, err = e.Evaluate(context.Background(), p)
		require.NoError(t, err)
		require.Len(t, ev.LeftOut, 1)
		require.Contains(t, ev.LeftOut[0].Reason, "not needed: with 8 chunks nothing is faster than 85.28608us")
	}
}

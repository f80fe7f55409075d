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

package cayley

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, New(), solvetest.Config{Serves: 30})
}

func problem(t testing.TB, name string, kind model.Kind, cost model.CostModel, chunks int) *model.Problem {
	var tp *model.Topology
	if name == "petersen" {
		tp = petersen(1e9)
	} else {
		var err error
		tp, err = topo.Parse(name, topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{1e9}})
		require.NoError(t, err)
	}
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Cost: cost}
	p.Size = int64(tp.Ranks*chunks) * 1000
	return p.WithChunks(p.DefaultChunks(chunks))
}

// TestRounds compares the rounds of one chunk per rank, or a pair, with the least
// number that there can be.
func TestRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name   string
		kind   model.Kind
		chunks int
		rounds int
	}{
		{"ring:5", model.AllToAll, 1, 3},
		{"ring:7", model.AllToAll, 1, 6},
		{"ring:4", model.AllToAll, 1, 2},
		{"ring:6", model.AllToAll, 1, 5},
		{"ring:8", model.AllToAll, 1, 8},
		{"ring:8", model.AllToAll, 2, 16},
		{"uniring:5", model.AllToAll, 1, 10},
		{"full:6", model.AllToAll, 1, 1},
		{"hypercube:3", model.AllToAll, 1, 4},
		{"hypercube:4", model.AllToAll, 1, 8},
		{"hypercube:5", model.AllToAll, 1, 16},
		{"hypercube:6", model.AllToAll, 1, 32},
		{"torus:3x3", model.AllToAll, 1, 3},
		{"torus:4x4", model.AllToAll, 1, 8},
		{"torus:5x5", model.AllToAll, 1, 15},
		{"torus:4x4x4", model.AllToAll, 1, 32},
		{"torus:8x8", model.AllToAll, 1, 64},
		{"torus:2x3", model.AllToAll, 1, 3},
		{"ring:4", model.AllGather, 1, 2},
		{"ring:7", model.AllGather, 1, 3},
		{"ring:8", model.AllGather, 1, 4},
		{"ring:8", model.AllGather, 2, 7},
		{"uniring:6", model.AllGather, 1, 5},
		{"full:6", model.AllGather, 1, 1},
		{"hypercube:3", model.AllGather, 1, 3},
		{"hypercube:3", model.AllGather, 3, 7},
		{"hypercube:4", model.AllGather, 1, 4},
		{"hypercube:6", model.AllGather, 1, 11},
		{"torus:3x3", model.AllGather, 1, 2},
		{"torus:4x4", model.AllGather, 1, 4},
		{"torus:4x4", model.AllGather, 4, 15},
		{"torus:5x5", model.AllGather, 1, 6},
		{"torus:4x4x4", model.AllGather, 1, 11},
		{"torus:4x4x4", model.ReduceScatter, 1, 11},
		{"torus:5x5", model.ReduceScatter, 1, 6},
		{"torus:5x5", model.AllReduce, 1, 12},
		{"petersen", model.AllGather, 1, 3},
		{"petersen", model.ReduceScatter, 1, 3},
		{"line:4", model.AllGather, 1, 3},
	} {
		for _, cost := range []model.CostModel{model.LinkRounds, model.Blocking, model.Pipelined} {
			t.Run(fmt.Sprintf("%s-%v-%d-%v", c.name, c.kind, c.chunks, cost), func(t *testing.T) {
				p := problem(t, c.name, c.kind, cost, c.chunks)
				start := time.Now()
				r, err := New().Solve(context.Background(), p, solve.Options{})
				took := time.Since(start)
				require.NoError(t, err)
				if p.Topology.Ranks <= 32 {
					require.NoError(t, solvetest.Right(p, r.Schedule))
				}
				b, err := bound.Best(context.Background(), p)
				require.NoError(t, err)
				t.Logf("%v, %v, %d transfers; makespan/bound %.4f", r.Note, took, len(r.Schedule.Transfers), float64(r.Makespan())/float64(b.Estimate))
				require.Equal(t, model.Time(c.rounds)*model.Microsecond, r.Makespan())
			})
		}
	}
}

// petersen builds the Petersen graph, which is vertex-transitive and no Cayley graph.
func petersen(bandwidth int64) *model.Topology {
	t := &model.Topology{Name: "petersen", Ranks: 10}
	edge := func(u, v int) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Bandwidth: bandwidth}, model.Link{Src: v, Dst: u, Bandwidth: bandwidth})
	}
	for i := range 5 {
		edge(i, (i+1)%5)
		edge(i, i+5)
		edge(5+i, 5+(i+2)%5)
	}
	return t
}

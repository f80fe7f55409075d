package sat

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestLeastRounds has least numbers of rounds found, each refutation checked by
// somebody else's program.
func TestLeastRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		topology string
		kind     model.Kind
		chunks   int
		rounds   int
	}{
		{"ring:3", model.AllReduce, 1, 2},
		{"full:4", model.AllReduce, 1, 2},
		{"hypercube:2", model.AllReduce, 1, 3}, // with a barrier between its halves 4
		{"dgx1", model.AllGather, 1, 2},
		{"dgx1", model.AllGather, 2, 3},
		{"dgx1", model.AllToAll, 1, 3},
		{"dgx1", model.ReduceScatter, 1, 2},
		{"torus:4x4", model.AllGather, 1, 4},
		{"line:4", model.Broadcast, 2, 4},
		{"line:4", model.Broadcast, 3, 5},
		{"hypercube:3", model.Broadcast, 3, 3},
		{"ring:4", model.Broadcast, 4, 3},
		{"ring:5", model.AllToAll, 1, 3},
		{"ring:6", model.AllGather, 2, 5},
		{"uniring:5", model.AllGather, 1, 4},
		{"hypercube:3", model.AllGather, 1, 3},
		{"dgx1", model.Scatter, 1, 2},
	} {
		t.Run(fmt.Sprint(c.topology, c.kind, c.chunks), func(t *testing.T) {
			p := problem(t, c.topology, c.kind, c.chunks, model.LinkRounds)
			dir := t.TempDir()
			r, err := New().Solve(context.Background(), p, solve.Options{Scratch: dir, Seed: 1})
			require.NoError(t, err)
			require.Equal(t, solve.Optimal, r.Stop)
			rounds := model.Time(0)
			for _, x := range r.Schedule.Transfers {
				rounds = max(rounds, x.End)
			}
			require.Equal(t, model.Time(c.rounds), rounds)
			require.Len(t, r.Refuted, c.rounds-1)
			for _, no := range r.Refuted {
				f, err := (&Question{Problem: p, Horizon: no.Horizon}).Encode()
				require.NoError(t, err)
				cnf := filepath.Join(dir, "f.cnf")
				w, err := os.Create(cnf)
				require.NoError(t, err)
				require.NoError(t, f.WriteDIMACS(w))
				require.NoError(t, w.Close())
				out, _ := exec.Command("lrat-check", cnf, no.Proof).CombinedOutput()
				if f.hasEmpty() {
					continue // nothing to refute
				}
				require.Contains(t, string(out), "VERIFIED")
			}
			again, err := New().Solve(context.Background(), p, solve.Options{Seed: 1})
			require.NoError(t, err)
			require.Equal(t, r.Schedule, again.Schedule)
			require.Empty(t, again.Refuted, "nowhere to put them")
		})
	}
}

// hasEmpty reports whether there is an empty clause.
func (c *CNF) hasEmpty() bool {
	for i := range c.Clauses() {
		if len(c.Clause(i)) == 0 {
			return true
		}
	}
	return false
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	solvetest.Run(t, New(), solvetest.Config{Serves: 100, Skip: func(p *model.Problem) bool {
		// Without a bound to start from these take long.
		return p.Collective.Kind == model.AllReduce && (p.Topology.Ranks > 3 || p.Cost == model.Rounds) ||
			!p.Cost.Synchronous() && p.Topology.Ranks > 4 || p.Collective.Kind == model.AllToAll && p.Topology.Ranks > 4 || p.Cost == model.Rounds && p.Topology.Ranks > 5
	}})
}

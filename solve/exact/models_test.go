package exact

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestModels: the solver's own program answers what is kept for others as the method says.
func TestModels(t *testing.T) {
	program, err := exec.LookPath("highs")
	if err != nil {
		t.Skip("left out: there is no program highs")
	}
	for _, c := range []struct {
		name string
		kind model.Kind
		cost model.CostModel
		kept int
	}{
		{"mesh:2x3", model.AllGather, model.Pipelined, 2}, {"ring:4", model.ReduceScatter, model.Blocking, 2}, {"switch:4", model.AllToAll, model.Rounds, 2},
		{"line:3", model.AllReduce, model.Pipelined, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp, err := topo.Parse(c.name, topo.Options{})
			require.NoError(t, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: 1 << 20, Cost: c.cost}
			o := solve.Options{Scratch: t.TempDir()}
			r, err := New().Solve(context.Background(), p, o)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(r.Models), c.kept)
			require.Zero(t, len(r.Models)%2, "one with a solution and one without")
			if c.cost != model.Rounds && c.kind != model.AllReduce { // once more, from what was found, which meets the bound
				o.Start, o.Bound = &r, r.Makespan()
				again, err := New().Solve(context.Background(), p, o)
				require.NoError(t, err)
				require.Len(t, again.Models, 1)
				require.False(t, again.Models[0].Feasible)
				r.Models = append(r.Models, again.Models...)
			}
			for _, m := range r.Models {
				cmd := exec.Command(program, filepath.Join(o.Scratch, m.File))
				cmd.Dir = o.Scratch // it leaves a log where it runs
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				want := `Status +Infeasible`
				if m.Feasible {
					want = `Status +Optimal`
				}
				require.Regexp(t, want, string(out), m.File)
			}
		})
	}
}

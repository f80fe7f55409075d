package certify

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// keptMethods end by themselves, whatever the clock says.
var keptMethods = []string{"ring", "direct", "bruck", "recursive-doubling", "oneshot", "mixed", "hierarchical", "quotient"}

// TestKept: no row of testdata/kept.csv is worse than it was by more than half a percent: neither
// its makespan, which a portfolio without a time limit finds, nor its bound. UPDATE=1 writes
// what is found now.
func TestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	const file = "testdata/kept.csv"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	update := os.Getenv("UPDATE") != ""
	for i, line := range lines[1:] {
		f := strings.Split(line, ",")
		require.Len(t, f, 5, line)
		tp, err := topo.Parse(f[0], topo.Options{})
		require.NoError(t, err)
		kind, err := model.ParseKind(f[1])
		require.NoError(t, err)
		size, err := model.ParseBytes(f[2])
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
		e := &Evaluator{Methods: mustName(t, keptMethods...), Options: solve.Options{Seed: 1}, Progress: Silent{}, ChooseCuts: true, Enough: UsuallyEnough}
		ev, err := e.Evaluate(context.Background(), p)
		require.NoError(t, err)
		makespan, bound := ev.Best().Makespan, ev.Bound.Bound
		if update {
			lines[1+i] = fmt.Sprintf("%s,%s,%s,%d,%d", f[0], f[1], f[2], makespan, bound)
			continue
		}
		kept, err := strconv.ParseInt(f[3], 10, 64)
		require.NoError(t, err)
		known, err := strconv.ParseInt(f[4], 10, 64)
		require.NoError(t, err)
		require.LessOrEqual(t, float64(makespan), 1.005*float64(kept), "%s: the schedule is longer than it was", line)
		require.GreaterOrEqual(t, float64(bound), 0.995*float64(known), "%s: the bound is lower than it was", line)
	}
	if update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
}

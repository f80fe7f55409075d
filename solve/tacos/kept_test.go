package tacos_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/tacos"
)

// TestKept: no schedule is longer than it was when testdata/makespans.txt was written. Where one
// is shorter, write it down there.
func TestKept(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	text, err := os.ReadFile("testdata/makespans.txt")
	require.NoError(t, err)
	served := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if strings.HasPrefix(line, "#") || f[0] == "topology" {
			continue
		}
		require.Len(t, f, 12, line)
		number := func(s string) int {
			n, err := strconv.Atoi(s)
			require.NoError(t, err, line)
			return n
		}
		p := &model.Problem{Topology: network(t, f[0]), Size: int64(number(f[3]))}
		p.Collective.Kind, err = model.ParseKind(f[1])
		require.NoError(t, err)
		p.Cost, err = model.ParseCostModel(f[2])
		require.NoError(t, err)
		for _, r := range strings.Fields(f[9]) {
			p.Collective.Group = append(p.Collective.Group, number(r))
		}
		if f[10] == "late" {
			p.Release = make([]model.Time, p.Topology.Ranks)
			p.Release[1], p.Release[p.Topology.Ranks-1] = 30*model.Microsecond, 5*model.Microsecond
		}
		if n := number(f[4]); n > 0 {
			p = p.WithChunks(p.DefaultChunks(n))
		}
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: uint64(number(f[5])), Tries: number(f[6]), Effort: number(f[7]), Unwind: number(f[8])})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Makespan(), model.Time(number(f[11])), line)
		if r.Makespan() < model.Time(number(f[11])) {
			t.Logf("now %d: %s", r.Makespan(), line)
		}
		served++
	}
	require.GreaterOrEqual(t, served, 40)
}

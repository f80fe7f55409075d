package foreign

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/sccl"
	"github.com/oraccl/oraccl/model/format/teccl"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// composedRing is SCCL's allreduce of a ring of 4 as steps of sends, each [address, source,
// destination]: a reduce-scatter in two steps, and its reverse.
func composedRing() [][][3]int {
	steps := make([][][3]int, 4)
	for a := range 4 {
		before, opposite, next := (a+3)%4, (a+2)%4, (a+1)%4
		steps[0] = append(steps[0], [3]int{a, opposite, next})
		steps[1] = append(steps[1], [3]int{a, next, a}, [3]int{a, before, a})
		steps[2] = append(steps[2], [3]int{a, a, next}, [3]int{a, a, before})
		steps[3] = append(steps[3], [3]int{a, next, opposite})
	}
	return steps
}

// judgeSteps reports whether an allreduce of a ring of 4 with these steps is right.
func judgeSteps(t *testing.T, steps [][][3]int) bool {
	t.Helper()
	links := [4][4]int{{0, 1, 0, 1}, {1, 0, 1, 0}, {0, 1, 0, 1}, {1, 0, 1, 0}}
	var list []map[string]any
	for _, s := range steps {
		list = append(list, map[string]any{"rounds": 1, "sends": append([][3]int{}, s...)})
	}
	b, err := json.Marshal(map[string]any{"msccl_type": "algorithm", "instance": map[string]any{"chunks": 1}, "steps": list,
		"collective": map[string]any{"name": "Allreduce(n=4)", "nodes": 4, "chunks": []any{}}, "topology": map[string]any{"name": "Ring(n=4)", "links": links, "switches": []any{}}})
	require.NoError(t, err)
	f, err := sccl.Read("f", b)
	require.NoError(t, err)
	ring, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	m, err := f.Import(sccl.Truth{Topology: ring})
	require.NoError(t, err)
	require.Empty(t, m.Undecided)
	return len(m.Objections) == 0 && replay.Check(context.Background(), m.Problem, m.Schedule).Outcome == verify.Proved
}

// TestMutatedSteps: no single change to SCCL's composed allreduce that matters goes
// unnoticed: a send dropped, repeated, turned round, of another address, in another step.
// Those that do not matter are eight: what a neighbour adds of its own to an address may come a
// step earlier, and what a neighbour of a root gets and does not pass on a step later, where
// the links are free.
func TestMutatedSteps(t *testing.T) {
	require.True(t, judgeSteps(t, composedRing()))
	tried := 0
	var equivalent []string
	mutant := func(what string, change func(steps [][][3]int)) {
		steps := composedRing()
		change(steps)
		tried++
		if judgeSteps(t, steps) {
			equivalent = append(equivalent, what)
		}
	}
	for i, step := range composedRing() {
		for j, send := range step {
			at := fmt.Sprint(i, send)
			mutant("drop "+at, func(s [][][3]int) { s[i] = slices.Delete(s[i], j, j+1) })
			mutant("turn "+at, func(s [][][3]int) { s[i][j] = [3]int{send[0], send[2], send[1]} })
			for a := range 4 {
				if a != send[0] {
					mutant(fmt.Sprint(at, " of address ", a), func(s [][][3]int) { s[i][j][0] = a })
				}
			}
			for k := range 4 {
				if k != i {
					mutant(fmt.Sprint(at, " in step ", k), func(s [][][3]int) { s[i] = slices.Delete(s[i], j, j+1); s[k] = append(s[k], send) })
				}
			}
			mutant("repeat "+at, func(s [][][3]int) { s[i] = append(s[i], send) })
		}
	}
	t.Logf("%d of %d changes refuted; equivalent: %q", tried-len(equivalent), tried, equivalent)
	var want []string
	for a := range 4 {
		want = append(want, fmt.Sprint(1, [3]int{a, (a + 3) % 4, a}, " in step 0"), fmt.Sprint(2, [3]int{a, a, (a + 3) % 4}, " in step 3"))
	}
	require.ElementsMatch(t, want, equivalent)
}

// mesh is the flows of an all-gather among the four ranks of a mesh in two epochs.
func mesh() []string {
	var flows []string
	for r := range 4 {
		for _, n := range []int{r ^ 1, r ^ 2} {
			flows = append(flows, flow(r, r, n, 0))
		}
		via := r ^ 1
		if r == 1 || r == 2 { // so that no link carries two
			via = r ^ 2
		}
		flows = append(flows, flow(r, via, r^3, 1))
	}
	return flows
}

func flow(source, from, to, epoch int) string {
	return fmt.Sprintf("Chunk 0 from %d traveled over %d->%d in epoch %d", source, from, to, epoch)
}

// judgeFlows reports whether an all-gather of a 2x2 mesh in two epochs with these flows is right.
func judgeFlows(t *testing.T, flows []string) bool {
	t.Helper()
	b, err := json.Marshal(map[string]any{"1-Epoch_Duration": 1e-6, "3-Epochs_Required": 2, "5-Algo_Bandwidth": 200, "7-Flows": flows})
	require.NoError(t, err)
	f, err := teccl.Read("f", b)
	require.NoError(t, err)
	square, err := topo.Parse("mesh:2x2", topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{100e9}})
	require.NoError(t, err)
	m, plan, err := f.Import(teccl.Truth{Topology: square})
	require.NoError(t, err)
	if len(m.Objections) > 0 {
		return false
	}
	ordered, _, v := epochs(context.Background(), m, plan)
	return v.Outcome == verify.Proved && replay.Check(context.Background(), m.Problem, ordered).Outcome == verify.Proved
}

// TestMutatedFlows: no single change to a schedule of TE-CCL that matters goes unnoticed.
// Those that do not are four: what a rank gets in the first epoch and does not pass on may
// come in the second, where the link is free then.
func TestMutatedFlows(t *testing.T) {
	require.True(t, judgeFlows(t, mesh()))
	tried := 0
	var equivalent []string
	for i, f := range mesh() {
		var source, from, to, epoch int
		_, err := fmt.Sscanf(f, "Chunk 0 from %d traveled over %d->%d in epoch %d", &source, &from, &to, &epoch)
		require.NoError(t, err)
		others := []string{"", flow(source, to, from, epoch), flow(source, from, to^3, epoch), flow(source, from, from^3, epoch), flow(source^1, from, to, epoch),
			flow(source^2, from, to, epoch), flow(source^3, from, to, epoch), flow(source, from, to, 1-epoch), flow(source, from, to, 2)}
		for _, other := range others {
			flows := slices.Delete(mesh(), i, i+1)
			if other != "" {
				flows = append(flows, other)
			}
			tried++
			if judgeFlows(t, flows) {
				equivalent = append(equivalent, other)
			}
		}
	}
	t.Logf("%d of %d changes refuted; equivalent: %q", tried-len(equivalent), tried, equivalent)
	require.ElementsMatch(t, []string{flow(0, 0, 2, 1), flow(1, 1, 0, 1), flow(2, 2, 3, 1), flow(3, 3, 1, 1)}, equivalent)
}

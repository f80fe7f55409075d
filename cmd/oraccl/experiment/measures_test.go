package experiment

import (
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/stretchr/testify/require"
)

// TestMeasures: what measures return is what theory says of small instances.
func TestMeasures(t *testing.T) {
	for name, test := range map[string]struct{ grid, instance, run, ours, want string }{
		// Theorem 1 of StragglAR: n - 2 + log2 n rounds after the arrival with n-1 chunks.
		"spread": {"n: [4, 8]", `topology: "switch:${n}", collective: allreduce, cost: rounds, straggler: "${n-1}", delay: 1s, total_chunks: "${n-1}"`,
			"measure: spread", "x.rounds", "4 9 "},
		// An all-gather of a ring is limited by what a rank receives over its two links.
		"throughput": {"n: [3, 5]", `topology: "ring:${n}", alpha: 0ns, bandwidth: 1GB/s, collective: allgather, size: 15MB`,
			"measure: throughput", "fraction(x.algbw / 1e9)", "3 5/2 "},
		"rounds-per-chunk": {"n: [3, 5]", `topology: "ring:${n}", collective: allgather, cost: link-rounds`,
			"measure: rounds-per-chunk", "fraction(x.rounds)", "1 2 "},
		"least-steps": {"n: [3, 5]", `topology: "line:${n}", collective: allgather, cost: link-rounds`,
			"measure: least-steps", "x.steps", "2 4 "},
		// On a ring of four two steps are needed; in three rounds they move two chunks per rank,
		// which beats one in two rounds.
		"frontier": {"n: 4", `topology: "ring:${n}", collective: allgather, cost: link-rounds`,
			`measure: frontier, chunks: "2"`, "x.list", " (2,2,3) "},
		"point": {"rounds: [2, 3]", `topology: ring:4, collective: allgather, cost: link-rounds`,
			`measure: point, chunks: 2, with: {steps: "2", rounds: rounds}`, "x.answer", "impossible exists "},
		// A ring among n ranks waits for the late one; StragglAR's does most before.
		"breakeven": {"n: 8", `topology: "switch:${n}", alpha: 1us, bandwidth: 1GB/s, size: 1MB, collective: allreduce, cost: rounds, straggler: "${n-1}"`,
			`measure: breakeven, with: {method: '"stragglar-published"', other: '"ring"', most: time("4ms"), step: time("1us")}`, `x.after > 0 && x.after < time("1ms")`, "true "},
		// B waits while A computes, and while A communicates: 30, where all of either resource is 20.
		"crossover": {"n: [10, 40]", "",
			`measure: crossover, with: {jobs: "when(n == 10, \"A=10ms/10ms B=5ms/5ms\", \"A=40ms/40ms B=20ms/20ms\")", rates: "\"B=2\""}`, `x.time / time("1ms") * when(x.shorter == "refuted" && x.time == x.bound, 1, 0)`, "30 120 "},
		// A hierarchical allreduce of n machines of 2 brings 2(n-1)/n of the buffer into a machine.
		"workload": {"n: [2, 3]", `topology: "full:${2 * n}"`,
			`measure: workload, with: {make: "\"hierarchical\"", nodes: n, per_node: 2, size: 7680, parts: 1, use: "\"ring\""}`, "fraction(x.into_node / 7680)", "1 4/3 "},
	} {
		r, err := reported(t, false, "title: T\nsections:\n  - name: s\n    title: S\n    grid: {"+test.grid+"}\n    instance: {"+test.instance+"}\n    compute: {x: {"+test.run+
			"}}\n    rows: [{instance: i, quantity: q, unpublished: small, ours: '"+test.ours+"'}]\n", nil)
		require.NoError(t, err, name)
		got := ""
		for _, row := range r.Sections[0].Rows {
			got += row.Ours + " "
		}
		require.Equal(t, test.want, got, name)
	}
}

// TestBestBelowBound: a bound that one method establishes, above the proved makespan of
// another, ends the run.
func TestBestBelowBound(t *testing.T) {
	x := &Runner{Evaluator: &certify.Evaluator{Scratch: t.TempDir(), Named: true, Progress: certify.Silent{}}, Store: &Store{}}
	x.begin(&File{})
	of := spec{"topology": "ring:4", "collective": "allgather", "chunks": "1", "size": "4KiB"}
	r, err := x.best(t.Context(), of, []string{"ring", "direct"})
	require.NoError(t, err)
	require.True(t, r["makespan"].Known())
	for _, v := range x.memo {
		if r, ok := v.(*result); ok && r.Method == "direct" {
			r.bounded = bounded{model.Second, "lrat", 0}
		}
	}
	_, err = x.best(t.Context(), of, []string{"ring", "direct"})
	var wrong *verify.Contradiction
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, "below the certified lrat bound of 1s")
}

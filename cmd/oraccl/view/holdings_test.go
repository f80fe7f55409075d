package view

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
)

// TestHoldings lets the page's own code execute every schedule of the corpus, and compares
// what ranks hold at the end, and whether all of it is right, with the verdict of the
// replay, which knows nothing of that code.
func TestHoldings(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/schedules/accept/*.json")
	require.NoError(t, err)
	wrong, err := filepath.Glob("../../../testdata/schedules/reject/*/*.json")
	require.NoError(t, err)
	b := browser.Open(t, write(t, rotation(t, 4)), "light")
	right, refuted := 0, 0
	for _, file := range append(files, wrong...) {
		name, err := filepath.Rel("../../../testdata/schedules", file)
		require.NoError(t, err)
		pic := corpus(t, name)
		m, err := when(pic.Problem, pic.Schedule)
		if err != nil {
			continue // an order with a circle has no picture
		}
		l := arrange(pic.Problem.Topology)
		j, err := json.Marshal(pic.head(m, l))
		require.NoError(t, err)
		data := pack(pic.Problem, pic.Schedule, m, l, critical(pic.Problem, pic.Schedule, m))
		whole := browser.Value[bool](b, fmt.Sprintf(`(() => {
			const head = %s, d = core.decode(head, core.bytesOf(%q)), c = core.counter(d), counts = { ready: true };
			while (!c.step(1));
			const held = heldOf(d, () => "", null, counts);
			for (const i of d.byEnd) held.set(i, c.after[i]);
			const whole = held.done.every((n, r) => n === held.goals[r]);
			// The vectors, which hovering shows, must say the same as the counts.
			for (let q = 0; q < d.chunks; q++) {
				const now = core.holdings(d, q, Infinity), want = core.vectors(d, d.goal[q]);
				for (let r = 0; r < d.ranks; r++) {
					if (!want[r]) continue;
					const good = now[r] && want[r].every((w, k) => d.idempotent ? (w > 0) === (now[r][k] > 0) : w === now[r][k]);
					if (whole && !good) throw new Error("rank " + r + ", chunk " + q + ": the counts say that it is whole, the vector does not: " + now[r] + " want " + want[r]);
				}
			}
			return whole;
		})()`, j, base64.StdEncoding.EncodeToString(data)))
		ends := slices.ContainsFunc(pic.Verdict.Violations, func(v Violation) bool {
			return v.Code == "missing-contribution" || v.Code == "double-contribution" || v.Code == "wrong-value"
		})
		switch {
		case pic.Verdict.Outcome == "proved":
			require.True(t, whole, name)
			right++
		case ends:
			require.False(t, whole, name)
			refuted++
		}
	}
	require.Greater(t, right, 10)
	require.Greater(t, refuted, 100)
}

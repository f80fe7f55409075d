package plan_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/plan"
)

// TestExamples runs the example of every code of plans, and insists that it is found first.
func TestExamples(t *testing.T) {
	n := 0
	for _, code := range verify.Codes() {
		e, _ := verify.Explain(code)
		if e.Example.Plan == nil {
			continue
		}
		n++
		wrong, warnings, why := plan.Judge(context.Background(), e.Example.Plan)
		require.Empty(t, why, code)
		all := slices.Concat(wrong, warnings)
		require.NotEmpty(t, all, code)
		require.Equal(t, code, all[0].Code, "%v", all)
		require.Contains(t, e.String(), "gpu 0 tb 0")
	}
	require.Equal(t, 9, n)
}

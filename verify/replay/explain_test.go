package replay_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// TestExamples runs the example of every code and insists on that code alone.
func TestExamples(t *testing.T) {
	require.NotEmpty(t, verify.Codes())
	for _, code := range verify.Codes() {
		e, ok := verify.Explain(code)
		require.True(t, ok)
		if e.Example.Schedule == nil { // a code of concurrent programs: verify/order runs its example
			continue
		}
		v := replay.Check(context.Background(), e.Example.Problem, e.Example.Schedule)
		require.Equal(t, verify.Refuted, v.Outcome, "%s: %+v", code, v)
		for _, violation := range v.Violations {
			require.Equal(t, code, violation.Code, "%s: %v", code, v.Violations)
		}
		require.Contains(t, e.String(), "Example: ")
	}
}

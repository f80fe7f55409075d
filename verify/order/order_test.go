package order_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
)

// TestExamples runs the example of every code of concurrent programs.
func TestExamples(t *testing.T) {
	conditions := map[verify.Code]bool{verify.RankOrder: true, verify.ClobberedInput: true, verify.LateSignal: true, verify.IdleOwner: true, verify.RemoteOrder: true}
	ran := 0
	for _, code := range verify.Codes() {
		e, _ := verify.Explain(code)
		require.Contains(t, e.String(), "Example: ")
		if e.Example.Program == nil {
			continue
		}
		ran++
		r := order.Check(context.Background(), e.Example.Program)
		switch {
		case conditions[code]:
			require.Equal(t, verify.Proved, r.Verdict.Outcome, "%s: %+v", code, r.Verdict)
			require.Equal(t, code, r.Conditions[0].Code)
		case code == verify.TooFewSlots:
			require.Equal(t, verify.Proved, r.Verdict.Outcome, "%s: %+v", code, r.Verdict)
			require.Equal(t, 2, r.Slots(0))
			require.False(t, r.Completes(1, 0))
		default:
			require.Equal(t, verify.Refuted, r.Verdict.Outcome, "%s: %+v", code, r.Verdict)
			require.Equal(t, code, r.Verdict.Violations[0].Code, "%+v", r.Verdict)
			require.Positive(t, r.Counts[code])
		}
	}
	require.GreaterOrEqual(t, ran, 12)
}

// TestNothing: the answer about a program that is none is no proof.
func TestNothing(t *testing.T) {
	require.Equal(t, verify.Unknown, (&order.Report{}).Verdict.Outcome)
	e, _ := verify.Explain(verify.Deadlock)
	p := *e.Example.Program
	p.Ranks = 0
	r := order.Check(context.Background(), &p)
	require.Equal(t, verify.Refuted, r.Verdict.Outcome)
	require.Equal(t, verify.Malformed, r.Verdict.Violations[0].Code)
	require.Zero(t, r.Slots(0))
	require.Zero(t, r.MaxCount())
}

package plan_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
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

// TestWholeElements: threads move 16 bytes at a time, or 8 of packets; a proxy moves any.
func TestWholeElements(t *testing.T) {
	for _, c := range []struct {
		verb              model.PlanVerb
		grain, start, end int64
		wrong             bool
	}{
		{model.PlanCompute, 16, 0, 32, false},
		{model.PlanCompute, 16, 8, 24, true},
		{model.PlanCompute, 16, 0, 24, true},
		{model.PlanCompute, 8, 8, 24, false},
		{model.PlanRequest, 16, 8, 24, false},
	} {
		move := model.PlanMove{Grain: c.grain, Srcs: []model.PlanSpan{{Buffer: 0, Start: c.start, Size: c.end - c.start}}, Dsts: []model.PlanSpan{{Buffer: 1, Start: c.start, Size: c.end - c.start}}}
		op := model.PlanOp{Verb: c.verb, Name: "put", Moves: []model.PlanMove{move}}
		if c.verb == model.PlanRequest {
			op.Ports, op.Flush = []int{-1}, true
		}
		p := &model.Plan{Ranks: 1, Inputs: []int{0}, Blocks: []model.PlanBlock{{Ops: []model.PlanOp{op}}},
			Buffers: []model.PlanBuffer{{Name: "i", Size: 32, User: true}, {Name: "o", Space: 1, Size: 32, User: true}}}
		wrong, _, why := plan.Judge(t.Context(), p)
		require.Empty(t, why)
		require.Equal(t, c.wrong, len(wrong) > 0, "%+v: %v", c, wrong)
		if c.wrong {
			require.Equal(t, verify.RuntimeLimit, wrong[0].Code)
		}
	}
}

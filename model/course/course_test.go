package course_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
)

// plan makes threadblocks of operations, all of one rank.
func plan(semaphores []int, blocks ...[]model.PlanOp) *model.Plan {
	p := &model.Plan{Ranks: 1, Semaphores: semaphores, Buffers: []model.PlanBuffer{{Name: "s", Size: 128, Packets: 64}}}
	for i, ops := range blocks {
		p.Blocks = append(p.Blocks, model.PlanBlock{ID: i, Ops: ops})
	}
	return p
}

func packets(start int64) []model.PlanSpan {
	return []model.PlanSpan{{Start: start, Size: 8, Packet: true}}
}

var (
	acquire = model.PlanOp{Verb: model.PlanAcquire, IDs: []int{0}}
	release = model.PlanOp{Verb: model.PlanRelease, IDs: []int{0}}
	join    = model.PlanOp{Verb: model.PlanJoin}
	write   = model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{{Dsts: packets(0)}}}
	read    = model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{{Srcs: packets(0)}}}
	far     = model.PlanOp{Verb: model.PlanCompute, Moves: []model.PlanMove{{Srcs: packets(4)}}}
)

func barrier(n int) model.PlanOp { return model.PlanOp{Verb: model.PlanBarrier, Blocks: n} }

type ops = []model.PlanOp

// TestRun: what ends, what does not, and what is waited for.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		plan          *model.Plan
		stuck, circle int
	}{
		"semaphore":                 {plan([]int{0}, ops{acquire}, ops{release}), 0, 0},
		"initial value":             {plan([]int{1}, ops{acquire, acquire}), 1, 0},
		"released after":            {plan([]int{0}, ops{acquire, join, release}), 1, 1},
		"another thread goes on":    {plan([]int{0}, ops{acquire, {Verb: model.PlanRelease, IDs: []int{0, 0}}}), 0, 0},
		"barrier":                   {plan(nil, ops{barrier(2)}, ops{barrier(2)}), 0, 0},
		"barrier twice":             {plan(nil, ops{barrier(2), barrier(2)}, ops{barrier(2), barrier(2)}), 0, 0},
		"barrier alone":             {plan(nil, ops{barrier(3)}, ops{barrier(3)}), 2, 0},
		"packets":                   {plan(nil, ops{read, join}, ops{write}), 0, 0},
		"packets that nobody has":   {plan(nil, ops{far}, ops{write}), 1, 0},
		"each reads before":         {plan([]int{0}, ops{read, join, release}, ops{acquire, join, write}), 2, 2},
		"the barrier is in the way": {plan([]int{0}, ops{acquire, barrier(2)}, ops{barrier(2), release}), 2, 2},
	} {
		r, err := course.Run(t.Context(), c.plan, nil)
		require.NoError(t, err, name)
		require.Len(t, r.Stuck, c.stuck, name)
		require.Len(t, r.Cycle(), c.circle, name)
	}
}

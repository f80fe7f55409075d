package certify

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// Timed gives a schedule that has only an order the times at which it can run, on the routes
// that it has, and checks that it is right with them.
func Timed(ctx context.Context, p *model.Problem, s *model.Schedule) (*model.Schedule, error) {
	order, err := s.TopologicalOrder()
	if err != nil {
		return nil, err
	}
	program := place.NewProgram(p)
	for _, i := range order {
		t := &s.Transfers[i]
		program.Batch(place.Move{Chunk: int(t.Chunk), Src: int(t.Src), Dst: int(t.Dst), Op: t.Op, Routes: [][]int{s.Routes[t.Route]}})
	}
	placed, err := program.Place()
	if err != nil {
		return nil, err
	}
	if v := replay.Check(ctx, p, placed); v.Outcome != verify.Proved {
		return nil, fmt.Errorf("with times it is not right: %v %s", v.Violations, v.Reason)
	}
	return placed, nil
}

package certify

import (
	"context"
	"fmt"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/pace"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// Timed gives a schedule the best times that a list scheduler finds for what its transfers wait
// for, on the routes that it has, under the cost model of p, and checks that it is right with
// them. Where order is nil, transfers wait for what pace.OrderOf returns.
func Timed(ctx context.Context, p *model.Problem, s *model.Schedule, order *model.Precedence) (*model.Schedule, error) {
	return TimedIn(ctx, p, s, order, math.MaxInt)
}

// TimedIn is Timed with a number of passes of the list scheduler at most: see pace.InPasses.
func TimedIn(ctx context.Context, p *model.Problem, s *model.Schedule, order *model.Precedence, passes int) (*model.Schedule, error) {
	if order == nil {
		order = pace.OrderOf(s)
	}
	placed, err := pace.InPasses(ctx, p, s, order, passes)
	if err != nil {
		return nil, err
	}
	if v := replay.Check(ctx, p, placed); v.Outcome != verify.Proved {
		return nil, fmt.Errorf("with times it is not right: %v %s", v.Violations, v.Reason)
	}
	return placed, nil
}

package workloads

import (
	"context"
	"fmt"
	"time"

	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// bySolver leaves it open: a page has no solver, and is not loaded with the formulas for one.
func bySolver(ctx context.Context, s *wl.Schedule, backend smt.Backend, _ time.Duration) verify.Verdict {
	a, _ := backend.Solve(ctx, smt.Question{})
	return verify.Verdict{Engine: smt.Engine, Claim: fmt.Sprintf("performs %v", s.Workload), Outcome: verify.Unknown, Reason: a.Reason}
}

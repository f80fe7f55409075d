//go:build !js

package workloads

import (
	"context"
	"time"

	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/operations"
)

// bySolver returns what a solver says of a schedule: see package operations.
func bySolver(ctx context.Context, s *wl.Schedule, backend smt.Backend, limit time.Duration) verify.Verdict {
	return operations.Check(ctx, s, backend, limit)
}

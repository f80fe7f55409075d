// Package workload decides whether a schedule of a workload is right: several operations over
// process groups, their collectives, computations and jobs, on one network, once or
// periodically. verify/SPEC.md, section 19, states what is decided; the conditions V1 to V10 are
// numbered there.
//
// Package smt/operations is another engine, which asks a solver. The two engines here share no more than the division of buffers into cells and the walk over a
// goal's expression:
//
//	Compose  takes the schedule apart. Each collective is proved by itself, by package replay;
//	         what is left is that they fit beside each other, that no access to memory is
//	         without order, whatever the times, and what the operations make of each other's
//	         values, operation by operation. For a periodic workload it looks at one period, and
//	         its wrap-around, and concludes by induction.
//	Execute  runs all transfers and computations in order of time, cell by cell, on symbols. Of
//	         a periodic workload it runs as many periods as reach into each other, and one more.
package workload

import (
	"context"
	"fmt"

	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// The engines in verdicts.
const (
	ComposeEngine = "compose"
	ExecuteEngine = "execute"
)

// Check returns what both engines establish about s, which must be valid, and what each says.
func Check(ctx context.Context, s *wl.Schedule) (verify.Verdict, []verify.Verdict, error) {
	each := []verify.Verdict{Compose(ctx, s), Execute(ctx, s)}
	v, err := verify.Combine(each...)
	return v, each, err
}

// Claim states what a proof of s being right establishes.
func Claim(s *wl.Schedule) string {
	if s.Workload.Periodic {
		return fmt.Sprintf("performs %v, every %v for ever", s.Workload, s.Period)
	}
	return fmt.Sprintf("performs %v", s.Workload)
}

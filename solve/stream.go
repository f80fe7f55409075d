package solve

import (
	"context"

	"github.com/oraccl/oraccl/model"
)

// Streamer is a Solver that can hand out a schedule while it is made: one that is too
// large for memory.
type Streamer interface {
	Solver

	// Stream prepares a schedule of p, or explains why not with an error that wraps
	// ErrNotServed. If ctx ends before it is prepared, the error is that of ctx.
	Stream(ctx context.Context, p *model.Problem, o Options) (*Stream, error)
}

// Stream is a schedule that is still to be made.
type Stream struct {
	Problem   *model.Problem // with its cut
	Form      model.Form     // Timed or InRounds
	Routes    [][]int        // of all transfers
	Transfers int64          // how many there will be at most
	Memory    int64          // bytes that making it needs at most, beside Problem and Routes
	Makespan  model.Time     // what it will be, or 0 if that is not known before
	Orbit     *model.Orbit   // the schedule, where it is the same for all ranks; else nil
	Note      string         // a remark for the user

	// Run makes the schedule, once, and passes its transfers to emit in order of their
	// starts, from one goroutine at a time; emit must not keep the slice. It stops when ctx
	// is done or emit returns false. With another Stop than Done or Optimal the caller has only
	// a part of the schedule. An error means that there is none. It is nil, and Routes too, for a
	// schedule that is stated only as an Orbit.
	Run func(ctx context.Context, emit func([]model.Transfer) bool) (Stop, error)
}

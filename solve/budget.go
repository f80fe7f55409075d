package solve

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// Budget is what a piece of work may still use: the time until its limit is reached or its
// context is cancelled, and threads. All methods and all searches for bounds obey one: when
// it is spent they return what they have, and Stop tells why.
//
// It may be used from many goroutines.
type Budget struct {
	ctx     context.Context
	threads int
	spent   atomic.Bool // set soon after ctx is done, and cheaper to read
}

// NewBudget returns the budget of work that ends with ctx, or when the time limit has
// passed from now on; 0 sets no limit. It has as many threads as the caller gives, or for 0
// as many as there are cores. Call the returned function when the work is done.
func NewBudget(ctx context.Context, limit time.Duration, threads int) (*Budget, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	b := &Budget{ctx: ctx, threads: threads}
	b.spent.Store(ctx.Err() != nil)
	stop := context.AfterFunc(ctx, func() { b.spent.Store(true) })
	return b, func() { stop(); cancel() }
}

// Budget returns the budget that o gives to work in ctx, as NewBudget does.
func (o Options) Budget(ctx context.Context) (*Budget, context.CancelFunc) {
	return NewBudget(ctx, o.TimeLimit, o.Threads)
}

// AtMost returns a number of transfers, or MostTransfers if that is fewer.
func (o Options) AtMost(transfers int) int {
	if o.MostTransfers == 0 {
		return transfers
	}
	return min(transfers, o.MostTransfers)
}

// Context returns the context of the work, for calls that take one.
func (b *Budget) Context() context.Context { return b.ctx }

// Threads returns how many threads the work may use, at least one.
func (b *Budget) Threads() int { return b.threads }

// Spent reports whether the work must end. It costs a nanosecond or two, and may be late by
// the time that a goroutine takes to start.
func (b *Budget) Spent() bool { return b.spent.Load() }

// Stop returns why the work must end, TimeLimit or Interrupted, and 0 as long as it need
// not.
func (b *Budget) Stop() Stop { return StopOf(b.ctx) }

// Left returns the time that is left, 0 where there is none, and the longest duration where
// there is no limit.
func (b *Budget) Left() time.Duration {
	deadline, limited := b.ctx.Deadline()
	switch {
	case b.ctx.Err() != nil:
		return 0
	case !limited:
		return math.MaxInt64
	}
	return max(0, time.Until(deadline))
}

// Share returns a part of b: an equal share of the time that is left among this many pieces of
// work, this one the first of them.
func (b *Budget) Share(pieces int) (*Budget, context.CancelFunc) {
	limit := time.Duration(0)
	if left := b.Left(); left != math.MaxInt64 {
		limit = max(1, left/time.Duration(max(1, pieces)))
	}
	return NewBudget(b.ctx, limit, b.threads)
}

// StopOf returns why work in ctx must end: TimeLimit if a deadline has passed, Interrupted
// if ctx was cancelled, 0 as long as it is not done.
func StopOf(ctx context.Context) Stop {
	switch err := ctx.Err(); {
	case err == nil:
		return 0
	case errors.Is(err, context.DeadlineExceeded):
		return TimeLimit
	}
	return Interrupted
}

// Grace returns a context that ends a while after ctx does. What was found when ctx ended is
// verified, printed and written in it.
func Grace(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(while, cancel)
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() { stop(); cancel() }
}

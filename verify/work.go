package verify

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Work is what a check has done. It ends with its context, or when it has taken more steps
// than it may: an engine counts its steps by Go, stops where that returns false, and then
// answers Unknown with the reason Why, whatever it has found by then. A Work is for one
// goroutine.
type Work struct {
	ctx  context.Context
	most int64         // steps of this and all others of the same check; 0: any number
	pool *atomic.Int64 // how many of these nobody has drawn
	left int           // steps until ctx and pool are looked at
	why  string
}

// stride is after how many steps a Work looks at its context: some hundred microseconds.
const stride = 1 << 16

// Begin returns the work of a check that ends with ctx, and takes at most most steps; 0 is
// any number.
func Begin(ctx context.Context, most int64) *Work {
	w := &Work{ctx: ctx, most: most, pool: new(atomic.Int64)}
	w.pool.Store(most)
	return w
}

// Another returns a Work for another goroutine of the same check, with which it shares the
// number of steps.
func (w *Work) Another() *Work { return &Work{ctx: w.ctx, most: w.most, pool: w.pool} }

// Go counts n steps, each a few operations in memory, and reports whether to go on.
// Once it has returned false it always does.
func (w *Work) Go(n int) bool {
	if w.left -= n; w.left >= 0 {
		return true
	}
	return w.look()
}

func (w *Work) look() bool {
	if w.why == "" {
		drawn := int64(stride - w.left)
		switch {
		case w.ctx.Err() != nil:
			w.why = Stopped(w.ctx)
		case w.most > 0 && w.pool.Add(-drawn) < -stride:
			w.why = fmt.Sprintf("the check takes more than %d steps", w.most)
		}
	}
	if w.why != "" {
		w.left = -1
		return false
	}
	w.left = stride
	return true
}

// Why returns why the work had to stop, or "".
func (w *Work) Why() string { return w.why }

// Stopped returns why ctx is done, as the reason of an Unknown verdict.
func Stopped(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the time limit was reached"
	}
	return "interrupted"
}

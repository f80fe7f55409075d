package verify

import (
	"context"
	"errors"
)

// Work is what a check has done. It ends with its context: an engine counts its steps
// by Go, stops where that returns false, and then answers Unknown with the reason Why,
// whatever it has found by then. A Work is for one goroutine.
type Work struct {
	ctx  context.Context
	left int // steps until ctx is looked at
	why  string
}

// stride is after how many steps a Work looks at its context: some hundred microseconds.
const stride = 1 << 16

// Begin returns the work of a check that ends with ctx.
func Begin(ctx context.Context) *Work { return &Work{ctx: ctx} }

// Go counts n steps, each a few operations in memory, and reports whether to go on.
// Once it has returned false it always does.
func (w *Work) Go(n int) bool {
	if w.left -= n; w.left >= 0 {
		return true
	}
	return w.look()
}

func (w *Work) look() bool {
	if w.why == "" && w.ctx.Err() != nil {
		w.why = Stopped(w.ctx)
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

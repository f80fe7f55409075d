// Package ending has contexts for tests of checks that must end with their context.
package ending

import (
	"context"
	"sync"
	"time"
)

// Context is a context that is canceled when Err has been called a number of times, so
// that a test can end a check at each of the places where it looks.
type Context struct {
	context.Context

	mu    sync.Mutex
	left  int
	looks int
	last  time.Time
	gap   time.Duration
}

// After returns a context that is done from call n+1 of Err on; never for n < 0.
func After(n int) *Context { return &Context{Context: context.Background(), left: n} }

// Err counts a call, and notes how long after the one before it came.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.looks > 0 {
		c.gap = max(c.gap, now.Sub(c.last))
	}
	c.looks, c.last = c.looks+1, now
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// Looks returns how often Err was called.
func (c *Context) Looks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

// Gap returns the longest time between two calls of Err that followed each other.
func (c *Context) Gap() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gap
}

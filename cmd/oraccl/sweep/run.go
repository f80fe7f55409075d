package sweep

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oraccl/oraccl/model/table"
)

// Compute returns the row of a cell. It must not fail: what goes wrong is the row's
// reason. If ctx is done when it returns, the row is thrown away.
type Compute func(ctx context.Context, worker int, c *Cell) table.Row

// Run computes those of the cells that are not kept, with this many workers, and keeps each
// as soon as it is finished. Cells that another process is computing are left to it, and
// computed here if it dies. done is called after each cell that has come to be kept, from
// one goroutine at a time. Run returns when all cells are kept, with ctx's error when that
// is done, or with the first error of the store.
func (s *Store) Run(ctx context.Context, cells []Cell, workers int, compute Compute, done func(c *Cell, r *table.Row)) error {
	s.sweepUp()
	todo, err := s.Missing(cells)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	for len(todo) > 0 {
		var elsewhere []Cell
		group, within := errgroup.WithContext(ctx)
		feed := make(chan *Cell)
		group.Go(func() error {
			defer close(feed)
			for i := range todo {
				select {
				case feed <- &todo[i]:
				case <-within.Done():
					return within.Err()
				}
			}
			return nil
		})
		for w := range workers {
			group.Go(func() error {
				for c := range feed {
					r, err := s.one(within, w, c, compute)
					if err != nil {
						return err
					}
					mu.Lock()
					if r == nil {
						elsewhere = append(elsewhere, *c)
					} else {
						done(c, r)
					}
					mu.Unlock()
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if todo = elsewhere; len(todo) > 0 {
			select {
			case <-time.After(poll):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// poll is how long to wait before looking again what another process has done.
const poll = 200 * time.Millisecond

// one returns the row of a cell, computed and kept now or by another process meanwhile,
// or nil if another process is at it.
func (s *Store) one(ctx context.Context, worker int, c *Cell, compute Compute) (*table.Row, error) {
	cl, err := s.claim(c)
	if err != nil || cl == nil {
		return nil, err
	}
	finished := false
	defer func() { cl.release(finished) }()
	r, ok, err := s.Get(c)
	if err != nil {
		return nil, err
	}
	if !ok {
		r = guarded(ctx, worker, c, compute)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.Put(c, &r); err != nil {
			return nil, err
		}
	}
	finished = true
	return &r, nil
}

// guarded computes a cell; a panic is a failed cell, not the end of the sweep.
func guarded(ctx context.Context, worker int, c *Cell, compute Compute) (r table.Row) {
	defer func() {
		if p := recover(); p != nil {
			r = c.Row()
			r.Status = table.Failed
			at := ""
			for line := range strings.Lines(string(debug.Stack())) {
				if line = strings.TrimSpace(line); strings.Contains(line, "/oraccl/") && strings.Contains(line, ".go:") && !strings.Contains(line, "sweep/run.go") {
					at = " at " + line[strings.LastIndex(line, "/")+1:]
					break
				}
			}
			at, _, _ = strings.Cut(at, " +0x")
			r.Reason = fmt.Sprintf("a defect, please report it: panic: %v%s", p, at)
		}
	}()
	return compute(ctx, worker, c)
}

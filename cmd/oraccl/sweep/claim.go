package sweep

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// claim is the right to compute a cell: an advisory lock, which the operating system takes
// back when its process ends, however it does.
type claim struct{ f *os.File }

// claim locks a cell, or returns nil if another process has it. Where the file system has
// no locks every claim is granted: then two processes may compute the same cell, which
// costs time and nothing else.
func (s *Store) claim(c *Cell) (*claim, error) { return s.lock(c.Key()) }

func (s *Store) lock(name string) (*claim, error) {
	name = filepath.Join(s.dir, "claims", name)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the sweep's directory: %w", located(err))
	}
	if taken(f) {
		return nil, f.Close()
	}
	return &claim{f}, nil
}

// Alone waits until no other process is looking for the bound of a problem, and returns
// what ends that this one does.
func (s *Store) Alone(ctx context.Context, problem string) (func(), error) {
	return s.wait(ctx, "bound-"+boundKey(problem))
}

// Writing waits until no other process writes the table or its proofs, and returns what ends
// that this one does.
func (s *Store) Writing(ctx context.Context) (func(), error) { return s.wait(ctx, "table") }

// wait waits for a lock, and returns what gives it back.
func (s *Store) wait(ctx context.Context, name string) (func(), error) {
	for {
		c, err := s.lock(name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			return func() { c.release(true) }, nil
		}
		select {
		case <-time.After(poll / 4):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// release gives the claim back. Of a finished cell the file goes, too: who opened it
// before and locks it later finds the cell done.
func (c *claim) release(done bool) {
	if done {
		_ = os.Remove(c.f.Name())
	}
	_ = c.f.Close()
}

// writing is longer than writing the file of a cell takes.
const writing = time.Hour

func old(info fs.FileInfo) bool { return time.Since(info.ModTime()) > writing }

// Package session knows the run of a command from its first flag to its exit: which phase it
// is in, which it shows on a terminal; when its time is over or a signal has come; and what it
// has found by then, which is printed and written before the program ends.
package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/solve"
)

// Session is one run of the program. It knows the phase that the run is in, shows it on a
// terminal, and ends the program if something does not: every phase is told to end by its
// context, when its time limit is reached or a signal comes, and returns what it has. What
// cannot be told, such as a call into a library, is left alone after the patience, and what
// was found by then is printed and written.
type Session struct {
	progress
	stderr io.Writer
	exit   func(status int)

	mu    sync.Mutex
	keep  func(solve.Stop) error // prints and writes what was found so far, and why that is all; nil: nothing was
	busy  bool                   // the verb prints what it has
	ended bool
	clean []func()
}

// New returns a session that writes what is wrong to stderr and ends the program with
// exit. Where exit is nil nothing is ended, as in tests that run verbs in one process.
func New(stderr io.Writer, exit func(status int)) *Session {
	return &Session{stderr: stderr, exit: exit}
}

// Patience is how long after the time is over, or after a signal, a run is left alone.
const Patience = 900 * time.Millisecond

// keepTime is how long printing and writing what was found may take at most after that.
const keepTime = 2 * time.Second

type sessionKey struct{}

// Of returns the session of a verb, or one that does nothing where there is none.
func Of(ctx context.Context) *Session {
	if s, ok := ctx.Value(sessionKey{}).(*Session); ok {
		return s
	}
	return &Session{stderr: io.Discard}
}

// In returns ctx with the session. When ctx is done, the patience begins.
func (s *Session) In(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, sessionKey{}, s)
	s.watch(ctx)
	return ctx
}

// watch ends the program some time after ctx is done, unless stop is called before that.
func (s *Session) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { time.AfterFunc(Patience, func() { s.end(solve.StopOf(ctx)) }) })
}

// Limited returns a context that ends when ctx does or when the time limit is reached, after
// which the patience begins. Call the returned function when the verb is done.
func (s *Session) Limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	b, cancel := solve.NewBudget(ctx, limit, 0)
	stop := s.watch(b.Context())
	return b.Context(), func() { stop(); cancel() }
}

// Keep sets what prints and writes what was found so far, if the program must be ended. It
// gets the reason why there is no more, runs beside the verb, and must not read what the verb
// still changes.
func (s *Session) Keep(keep func(why solve.Stop) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = keep
}

// Report has a verb print what it has. The program is not ended meanwhile, and keeps nothing
// more after that. If it is being ended already, report does not return.
func (s *Session) Report(f func() error) error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		select {}
	}
	s.busy, s.keep = true, nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}()
	s.End()
	return f()
}

// atEnd has f run before the program is ended: it removes files that nobody wants.
func (s *Session) atEnd(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clean = append(s.clean, f)
}

// end prints and writes what was found until it was stopped, and ends the program with
// exit.Unknown.
func (s *Session) end(why solve.Stop) {
	if s.exit == nil {
		return
	}
	give := time.Now().Add(keepTime)
	s.mu.Lock()
	for s.busy && time.Now().Before(give) { // the verb itself prints
		s.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		s.mu.Lock()
	}
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	keep, clean, phase := s.keep, s.clean, s.phase()
	s.mu.Unlock()
	s.End()
	fmt.Fprintf(s.stderr, "oraccl: %s had not ended %v after it was told to: the program ends with what was found before\n", phase, Patience)
	if keep != nil {
		kept := make(chan error, 1)
		go func() { kept <- keep(why) }()
		select {
		case err := <-kept:
			if err != nil {
				fmt.Fprintf(s.stderr, "oraccl: error: %v\n", err)
			}
		case <-time.After(keepTime):
			fmt.Fprintln(s.stderr, "oraccl: error: what was found could not be written in time")
		}
	}
	for _, f := range clean {
		f()
	}
	s.exit(exit.Unknown)
}

// Leave never returns if the program is being ended.
func (s *Session) Leave() {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended {
		select {}
	}
}

// Scratch returns a new temporary directory, which is removed if the program is ended.
func (s *Session) Scratch() (string, error) {
	dir, err := os.MkdirTemp("", "oraccl-")
	if err == nil {
		s.atEnd(func() { os.RemoveAll(dir) })
	}
	return dir, err
}

// Package z3 answers SMT-LIB 2 scripts with the Z3 theorem prover, in process,
// through the context of github.com/mitchellh/go-z3. That package builds terms of
// Booleans and 32-bit integers only; scripts are text, with numbers of any size.
package z3

// #cgo LDFLAGS: -lz3
// #include <stdlib.h>
// #include <z3.h>
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"

	z3 "github.com/mitchellh/go-z3"

	"github.com/oraccl/oraccl/verify/smt"
)

// Version returns the version of the linked library: "4.8.12".
func Version() string {
	var major, minor, build, revision C.uint
	C.Z3_get_version(&major, &minor, &build, &revision)
	return fmt.Sprintf("%d.%d.%d", major, minor, build)
}

// Backend hands out Z3 contexts. It implements smt.Backend.
type Backend struct {
	idle chan *session // contexts to be used again: making one takes 10 ms
}

// New returns a backend. It keeps a few idle contexts, which go with it.
func New() Backend { return Backend{make(chan *session, 8)} }

// Session returns a context for one goroutine at a time.
func (b Backend) Session() (smt.Session, error) {
	select {
	case s := <-b.idle:
		return s, nil
	default:
		return newSession(b.idle), nil
	}
}

// maxUses is after how many calls a context is thrown away: Z3 keeps every term
// until its context is closed.
const maxUses = 3000

// session is a context. Z3 contexts are not for two goroutines at once.
type session struct {
	ctx    *z3.Context
	err    string // what the error handler was last told
	broken bool   // a call failed, and may have left anything behind
	uses   int
	idle   chan *session
}

func newSession(idle chan *session) *session {
	config := z3.NewConfig()
	defer config.Close()
	s := &session{ctx: z3.NewContext(config), idle: idle}
	// Without a handler Z3 ends the process at the first error.
	s.ctx.SetErrorHandler(func(_ *z3.Context, code z3.ErrorCode) { s.err = fmt.Sprintf("error code %d", code) })
	return s
}

// Close gives the context back: to be used again if every call succeeded, for its
// user has popped what it pushed, and else for good.
func (s *session) Close() {
	if !s.broken && s.uses < maxUses {
		select {
		case s.idle <- s:
			return
		default:
		}
	}
	s.ctx.Close()
}

// interruptEvery is how often a cancelled call is interrupted: an interrupt that
// comes before the search has begun is lost.
const interruptEvery = 10 * time.Millisecond

// Eval executes commands and returns what they print. State, such as
// declarations, stays for the next call. It stops soon after ctx is done, with
// ctx's error.
func (s *session) Eval(ctx context.Context, commands string) (string, error) {
	out, err := s.eval(ctx, commands)
	s.uses++
	s.broken = s.broken || err != nil
	return out, err
}

func (s *session) eval(ctx context.Context, commands string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c := C.Z3_context(unsafe.Pointer(s.ctx.Z3Value()))
	over, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		for {
			C.Z3_interrupt(c)
			select {
			case <-over:
				return
			case <-time.After(interruptEvery):
			}
		}
	}()
	text := C.CString(commands)
	s.err = ""
	out := C.GoString(C.Z3_eval_smtlib2_string(c, text))
	C.free(unsafe.Pointer(text))
	close(over)
	<-idle // the context may go once nothing interrupts it any more
	runtime.KeepAlive(s.ctx)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if at := strings.Index(out, "(error "); at >= 0 {
		return "", fmt.Errorf("z3: %s", strings.TrimSpace(out[at:]))
	}
	if s.err != "" {
		return "", fmt.Errorf("z3: %s", s.err)
	}
	return out, nil
}

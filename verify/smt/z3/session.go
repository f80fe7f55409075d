package z3

// #include <stdlib.h>
// #include <z3.h>
import "C"

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unsafe"

	z3 "github.com/mitchellh/go-z3"
)

// Session is a Z3 context that executes any commands, for one goroutine at a time.
type Session struct{ *session }

// Session returns a new context. Close it after use.
func (Backend) Session() (Session, error) { return Session{open()}, nil }

// Eval executes SMT-LIB 2 commands and returns what they print, or an error if Z3
// reports one. Declarations, assertions and scopes stay for the next call. When ctx
// is done it stops and returns ctx's error; the session is of no use then.
func (s Session) Eval(ctx context.Context, commands string) (string, error) {
	out, err := s.eval(ctx, commands)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return out, err
}

// Close frees the context.
func (s Session) Close() { s.close() }

// session is a Z3 context. It is for one goroutine at a time.
type session struct {
	context *z3.Context
	uses    int
	fault   string // what the error handler was told during the present call
}

// open makes a context. Without an error handler Z3 ends the process at the
// first error; this one takes a note.
func open() *session {
	config := z3.NewConfig()
	defer config.Close()
	s := &session{context: z3.NewContext(config)}
	s.context.SetErrorHandler(func(c *z3.Context, code z3.ErrorCode) {
		if s.fault == "" {
			s.fault = fmt.Sprintf("%s (error code %d)", strings.TrimSpace(c.Error(code)), code)
		}
	})
	return s
}

func (s *session) close() { s.context.Close() }

// interruptEvery is how often a cancelled call is interrupted again: an interrupt
// that comes before the search has begun is lost.
const interruptEvery = 10 * time.Millisecond

// eval executes commands and returns what they print, or an error if Z3 reports
// one. Declarations, assertions and scopes stay for the next call. Soon after ctx
// is done it returns, with anything.
func (s *session) eval(ctx context.Context, commands string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	raw := C.Z3_context(unsafe.Pointer(s.context.Z3Value()))
	text := C.CString(commands)
	defer C.free(unsafe.Pointer(text))
	if ctx.Done() != nil {
		over, idle := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(idle)
			interrupt(ctx, raw, over)
		}()
		defer func() {
			close(over)
			<-idle // the context may go once nothing interrupts it any more
		}()
	}
	s.fault = ""
	out := C.GoString(C.Z3_eval_smtlib2_string(raw, text))
	if at := strings.Index(out, "(error"); at >= 0 {
		return "", fmt.Errorf("Z3 reports %s", strings.TrimSpace(out[at:]))
	}
	if s.fault != "" {
		return "", fmt.Errorf("Z3 reports %s", s.fault)
	}
	return out, nil
}

// interrupt stops the call under way in a context once ctx is done, until over.
func interrupt(ctx context.Context, raw C.Z3_context, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	for {
		C.Z3_interrupt(raw)
		select {
		case <-over:
			return
		case <-time.After(interruptEvery):
		}
	}
}

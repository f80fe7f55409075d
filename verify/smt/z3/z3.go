// Package z3 decides SMT-LIB 2 scripts with the Z3 theorem prover, in process. It
// implements smt.Backend, and is the only package that imports
// github.com/mitchellh/go-z3: contexts, their configuration and error handling are
// that package's, while all formulas pass as text through Z3's own reader of
// SMT-LIB, because go-z3's terms know neither scopes nor numbers beyond 32 bits.
//
// Without cgo the package builds, and its backend leaves every question undecided.
package z3

// #cgo LDFLAGS: -lz3
// #include <stdlib.h>
// #include <z3.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/oraccl/oraccl/verify/smt"
)

// Version returns the version of the Z3 library in use: "4.8.12".
func Version() string {
	var major, minor, build, revision C.uint
	C.Z3_get_version(&major, &minor, &build, &revision)
	return fmt.Sprintf("%d.%d.%d", major, minor, build)
}

// Backend is Z3 in this process. Its values are all the same and hold nothing: the
// contexts belong to the process. A new context costs several milliseconds and a
// scope in an old one some microseconds, so contexts are kept, and each script has
// a scope that is popped after it. A context in which anything unexpected happened
// is not used again.
type Backend struct{}

// New returns the backend.
func New() Backend { return Backend{} }

// Name returns "z3 " and the version.
func (Backend) Name() string { return "z3 " + Version() }

// busy holds a token for each call of Solve that has a context. More of them than
// there are cores would only be in each other's way; twice as many let short
// scripts through beside long ones.
var busy = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// idle are the contexts that wait for a script; there are never more than tokens.
var idle struct {
	sync.Mutex
	sessions []*session
}

// get returns an idle session or a new one.
func get() *session {
	idle.Lock()
	defer idle.Unlock()
	if n := len(idle.sessions); n > 0 {
		s := idle.sessions[n-1]
		idle.sessions = idle.sessions[:n-1]
		return s
	}
	return open()
}

// put keeps a session that is as good as new.
func put(s *session) {
	if s.uses >= maxUses {
		s.close()
		return
	}
	idle.Lock()
	defer idle.Unlock()
	idle.sessions = append(idle.sessions, s)
}

// maxUses is after how many scripts a context is replaced, so that whatever Z3
// keeps of closed scopes stays bounded.
const maxUses = 10_000

// Solve answers a question: see smt.Backend. It refuses scripts that set options or
// a logic, reset or exit: that would outlast the script's scope, and options even
// its context, as Z3 keeps them for the process.
func (Backend) Solve(ctx context.Context, q smt.Question) (smt.Answer, error) {
	for _, command := range []string{"(set-", "(reset", "(exit"} {
		if strings.Contains(q.Script, command) {
			return smt.Answer{}, fmt.Errorf("script contains %s, want declarations, definitions and assertions", command)
		}
	}
	select {
	case busy <- struct{}{}:
		defer func() { <-busy }()
	case <-ctx.Done():
		return stopped(ctx), nil
	}
	s := get()
	answer, err := s.solve(ctx, q)
	switch {
	case ctx.Err() != nil: // whatever came out, an interrupt may have caused it
		s.close()
		return stopped(ctx), nil
	case err != nil:
		s.close()
		return smt.Answer{}, err
	}
	put(s)
	return answer, nil
}

// stopped is the answer once ctx is done.
func stopped(ctx context.Context) smt.Answer {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return smt.Answer{Reason: "the time limit was reached"}
	}
	return smt.Answer{Reason: "interrupted"}
}

// solve answers a question in a scope of its own.
func (s *session) solve(ctx context.Context, q smt.Question) (smt.Answer, error) {
	s.uses++
	for rest := "(push 1)\n" + q.Script; rest != ""; {
		n := firstCommands(rest, mostRead)
		if err := s.run(ctx, rest[:n]); err != nil {
			return smt.Answer{}, err
		}
		rest = rest[n:]
	}
	a, err := s.decide(ctx, q.Cases)
	if err != nil {
		return smt.Answer{}, err
	}
	switch {
	case a.Status == smt.Sat && len(q.Constants) > 0:
		out, err := s.eval(ctx, "(get-value ("+strings.Join(q.Constants, " ")+"))")
		if err != nil {
			return smt.Answer{}, err
		}
		if a.Values, err = smt.ParseValues(out, q.Constants); err != nil {
			return smt.Answer{}, err
		}
	case a.Status == smt.Undecided:
		out, err := s.eval(ctx, "(get-info :reason-unknown)")
		if err != nil {
			return smt.Answer{}, err
		}
		a.Reason = "Z3 says unknown " + strings.TrimSpace(out)
	}
	return a, s.run(ctx, "(pop 1)")
}

// mostRead is about how many bytes of a script Z3 reads at one time: it cannot be interrupted before it has read all that it is given,
// and takes 30 milliseconds for as many.
const mostRead = 1 << 18

// firstCommands returns the length of the first commands of a script: of about some number of bytes, or of all if no line after these begins a
// command.
func firstCommands(script string, about int) int {
	if len(script) <= about {
		return len(script)
	}
	for at := about; ; {
		next := strings.Index(script[at:], "\n(")
		if next < 0 {
			return len(script)
		}
		at += next + 1
		for _, command := range []string{"(declare-", "(define-", "(assert "} {
			if strings.HasPrefix(script[at:], command) {
				return at
			}
		}
	}
}

// decide checks what is asserted, in each case, up to the first that is not
// unsatisfiable.
func (s *session) decide(ctx context.Context, cases []string) (a smt.Answer, err error) {
	if len(cases) == 0 {
		a.Status, err = s.check(ctx, "(check-sat)")
		return a, err
	}
	for i, literals := range cases {
		if a.Status, err = s.check(ctx, "(check-sat-assuming ("+literals+"))"); err != nil || a.Status != smt.Unsat {
			a.Case = i
			return a, err
		}
	}
	return a, nil
}

// check executes one command that answers with a status.
func (s *session) check(ctx context.Context, command string) (smt.Status, error) {
	out, err := s.eval(ctx, command)
	if err != nil {
		return smt.Undecided, err
	}
	return smt.ParseStatus(out)
}

// run executes commands that print nothing.
func (s *session) run(ctx context.Context, commands string) error {
	out, err := s.eval(ctx, commands)
	if err == nil && strings.TrimSpace(out) != "" {
		err = fmt.Errorf("Z3 prints %.100q, want nothing", out)
	}
	return err
}

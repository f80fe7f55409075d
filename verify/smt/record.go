package smt

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Recorder is a solver that writes what another one is asked as one SMT-LIB 2 script for any solver, each question
// in a scope of its own, with what the other one answered. Any other one must answer so, too.
type Recorder struct {
	Backend
	mu  sync.Mutex
	to  io.Writer
	err error
}

// Record returns a solver that writes to w, beginning with the comment, what b is asked.
func Record(b Backend, w io.Writer, comment string) *Recorder {
	head := &text{comments: true}
	head.words(comment)
	r := &Recorder{Backend: b, to: w}
	r.put("%s(set-logic QF_UFLIA)\n", head.String())
	return r
}

func (r *Recorder) put(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.to, format, args...)
	}
}

// Solve implements Backend.
func (r *Recorder) Solve(ctx context.Context, q Question) (Answer, error) {
	a, err := r.Backend.Solve(ctx, q)
	if err != nil {
		return a, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put("\n(push 1)\n%s", q.Script)
	cases := q.Cases
	if a.Status != Unsat && len(cases) > 0 {
		cases = cases[:a.Case+1] // no other one was looked at
	}
	for i, c := range cases {
		answer := Unsat
		if a.Status != Unsat && i == a.Case {
			answer = a.Status
		}
		r.put("; expect %v\n(check-sat-assuming (%s))\n", answer, c)
	}
	if len(q.Cases) == 0 {
		r.put("; expect %v\n(check-sat)\n", a.Status)
	}
	r.put("(pop 1)\n")
	return a, nil
}

// Err returns the error of the first write that failed.
func (r *Recorder) Err() error { return r.err }

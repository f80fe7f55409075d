// Package smt states the claim that a schedule delivers what it must as a
// formula, and has an SMT solver refute its negation. It decides what concerns the
// data (verify/SPEC.md, sections 5 and 6); feasibility is the replay's claim. It
// shares no code with the replay.
//
// Formulas are data: this package builds and writes them and needs no solver;
// package z3 answers them.
package smt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "smt"

// Backend is an SMT solver.
type Backend interface {
	// Session returns a solver for one goroutine.
	Session() (Session, error)
}

// Session executes SMT-LIB 2 commands and returns what they print. It keeps
// declarations and assertions from one call to the next. When ctx is done it
// stops and returns ctx's error.
type Session interface {
	Eval(ctx context.Context, commands string) (string, error)
	Close()
}

// Options limit a check. The zero value sets no limit.
type Options struct {
	Timeout time.Duration // wall time for the whole check; 0: none
	Threads int           // 0: as many as there are cores
}

// Claim states what a proof by this engine establishes.
func Claim(p *model.Problem, s *model.Schedule) string {
	if s.Form == model.Ordered {
		return fmt.Sprintf("delivers the data of %v in every interleaving", p)
	}
	return fmt.Sprintf("delivers the data of %v, with events in the order of the schedule's times", p)
}

// Check has backend decide one query a chunk, several at a time. The outcome is
// Proved only if the solver answers unsat to every one of them.
func Check(ctx context.Context, p *model.Problem, s *model.Schedule, backend Backend, o Options) verify.Verdict {
	v := verify.Verdict{Engine: Engine}
	chunks, err := prepare(p, s)
	var large tooLarge
	switch {
	case errors.As(err, &large):
		v.Claim, v.Reason = Claim(p, s), err.Error()
		return v
	case err != nil:
		v.Outcome, v.Claim = verify.Refuted, "is a well-formed schedule"
		v.Violations = []verify.Violation{{Code: verify.Malformed, Where: "file", Message: err.Error(), Transfer: -1, Rank: -1, Chunk: -1}}
		return v
	}
	v.Claim, v.Makespan = Claim(p, s), p.Makespan(s)
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	answers := answerAll(ctx, p, s, chunks, backend, o)
	proved := 0
	for k, a := range answers {
		switch {
		case a.err != nil && v.Reason == "":
			v.Reason = fmt.Sprintf("chunk %d: %v", k, describe(a.err, o))
		case a.unsat:
			proved++
		}
		v.Violations = append(v.Violations, a.violations...)
	}
	v.Violations = v.Violations[:min(len(v.Violations), verify.MaxViolations)]
	switch {
	case len(v.Violations) > 0:
		v.Outcome, v.Reason = verify.Refuted, ""
	case proved == len(p.Chunks):
		v.Outcome = verify.Proved
	case v.Reason == "":
		v.Reason = fmt.Sprintf("%d of %d chunks were proved", proved, len(p.Chunks))
	}
	return v
}

func describe(err error, o Options) string {
	if errors.Is(err, context.DeadlineExceeded) && o.Timeout > 0 {
		return fmt.Sprintf("time limit of %v", o.Timeout)
	}
	return err.Error()
}

// tooLarge says that a schedule is beyond what this engine states.
type tooLarge string

func (t tooLarge) Error() string { return string(t) }

// prepare validates, and returns the transfers of each chunk, those of Ordered
// schedules in an order that respects After.
func prepare(p *model.Problem, s *model.Schedule) ([][]int32, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := s.Validate(p); err != nil {
		return nil, err
	}
	chunks := make([][]int32, len(p.Chunks))
	if s.Form != model.Ordered {
		for i := range s.Transfers {
			k := s.Transfers[i].Chunk
			chunks[k] = append(chunks[k], int32(i))
		}
		return chunks, nil
	}
	if len(s.Transfers) > maxOrdered {
		return nil, tooLarge(fmt.Sprintf("%d transfers without times, at most %d are stated as formulas", len(s.Transfers), maxOrdered))
	}
	sequence, err := s.TopologicalOrder()
	if err != nil {
		return nil, err
	}
	for _, i := range sequence {
		k := s.Transfers[i].Chunk
		chunks[k] = append(chunks[k], i)
	}
	for k := range chunks {
		if n := pairs(s, p.Topology.Ranks, chunks[k]); n > maxPairs {
			return nil, tooLarge(fmt.Sprintf("chunk %d has %d pairs of accesses without times, at most %d are stated as formulas", k, n, maxPairs))
		}
	}
	return chunks, nil
}

// answer is what came of the query about one chunk. Its zero value proves nothing.
type answer struct {
	unsat      bool
	violations []verify.Violation
	err        error
}

func answerAll(ctx context.Context, p *model.Problem, s *model.Schedule, chunks [][]int32, backend Backend, o Options) []answer {
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	answers := make([]answer, len(chunks))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(threads, len(chunks)) {
		wg.Go(func() {
			var session Session
			for {
				k := int(next.Add(1)) - 1
				if k >= len(chunks) {
					break
				}
				if session == nil {
					if session, answers[k].err = backend.Session(); answers[k].err != nil {
						session = nil
						continue
					}
				}
				answers[k] = Encode(p, s, k, chunks[k]).ask(ctx, session)
				if answers[k].err != nil { // what is left in the session must not reach the next query
					session.Close()
					session = nil
				}
			}
			if session != nil {
				session.Close()
			}
		})
	}
	wg.Wait()
	return answers
}

// ask has the session decide the query, and reads a counterexample back. The
// query lives between a push and a pop: with Z3 that is a hundred times faster for
// small queries than a reset, and no slower for large ones.
func (q *Query) ask(ctx context.Context, session Session) (a answer) {
	var b strings.Builder
	b.WriteString("(push 1)\n")
	if err := q.Script.Write(&b); err != nil {
		return answer{err: err}
	}
	b.WriteString("(check-sat)\n")
	out, err := session.Eval(ctx, b.String())
	if err != nil {
		return answer{err: err}
	}
	defer func() {
		if _, err := session.Eval(ctx, "(pop 1)\n"); err != nil {
			a = answer{err: err}
		}
	}()
	switch word := strings.TrimSpace(out); word {
	case "unsat":
		return answer{unsat: true}
	case "sat":
		out, err := session.Eval(ctx, "(get-value (j "+strings.Join(q.observe, " ")+"))\n")
		if err != nil {
			return answer{err: err}
		}
		values, err := parseValues(out)
		if err != nil {
			return answer{err: err}
		}
		return q.counterexample(values)
	default:
		return answer{err: fmt.Errorf("the solver answers %q, want sat or unsat", word)}
	}
}

// WriteSMT2 writes the claim as one SMT-LIB 2 script with a query a chunk, each of
// which must be answered unsat. Solvers need no options for it.
func WriteSMT2(w io.Writer, p *model.Problem, s *model.Schedule) error {
	chunks, err := prepare(p, s)
	if err != nil {
		return fmt.Errorf("formulas: %w", err)
	}
	head := Script{}
	head.Comment("Claim: %s", Claim(p, s))
	head.Comment("Each query states that something goes wrong with one chunk; unsat proves that nothing does.")
	if err := head.Write(w); err != nil {
		return err
	}
	for k, transfers := range chunks {
		q := Encode(p, s, k, transfers)
		if _, err := io.WriteString(w, "\n(reset)\n(set-logic QF_LIA)\n"); err != nil {
			return err
		}
		if err := q.Script.Write(w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "; expect unsat\n(check-sat)\n"); err != nil {
			return err
		}
	}
	return nil
}

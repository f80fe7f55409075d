package smt

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Engine is the name of this engine in verdicts.
const Engine = "smt"

// Options steer Check. The zero value is a good choice.
type Options struct {
	Timeout time.Duration // wall time for the whole check; 0: no limit
	Threads int           // how many queries are solved at a time; 0: one a core
	Proved  *atomic.Int64 // if not nil, the chunks that are proved are added, one after the other
}

// Claim states what Check decides.
func Claim(p *model.Problem, s *model.Schedule) string {
	order := "times"
	switch s.Form {
	case model.InRounds:
		order = "rounds"
	case model.Ordered:
		return fmt.Sprintf("delivers exactly the contributions of %v, in every order of events that the schedule allows", p)
	}
	return fmt.Sprintf("delivers exactly the contributions of %v, in the order of events that the schedule's %s fix", p, order)
}

// Check decides whether s delivers what p asks for: see Claim. It asks the
// backend one query a chunk, in parallel, and for Ordered schedules one more. The verdict is Proved only if every
// goal of every chunk came back unsat; a limit, or whatever goes wrong with the
// solver, makes it Unknown, with the reason. A schedule that is malformed is Refuted
// without asking; of an invalid problem the verdict is Unknown.
func Check(ctx context.Context, p *model.Problem, s *model.Schedule, backend Backend, o Options) verify.Verdict {
	v := verify.Verdict{Engine: Engine, Decides: verify.Data}
	if err := p.Validate(); err != nil {
		v.Reason = fmt.Sprintf("problem: %v", err)
		return v
	}
	v.Claim = Claim(p, s)
	if p.Chunks == nil {
		v.Reason = model.ErrNoChunks.Error()
		return v
	}
	if err := s.Validate(p); err != nil {
		return refuted(v, verify.Wrong(verify.Malformed, "schedule", err.Error()))
	}
	v.Makespan = p.Makespan(s)
	if o.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		ctx = limited
	}
	r := run{Encoder: newEncoder(p, s), backend: backend, answers: map[identity]*reply{}, forms: map[identity]*settled{}}
	return r.verdict(ctx, v, o)
}

func refuted(v verify.Verdict, list ...verify.Violation) verify.Verdict {
	v.Outcome, v.Violations = verify.Refuted, list
	return v
}

// run is one call of Check.
type run struct {
	*Encoder
	backend Backend

	mu      sync.Mutex
	answers map[identity]*reply
	forms   map[identity]*settled
}

// settled is what came of the first chunk of a form; it is there once done is closed.
type settled struct {
	done   chan struct{}
	proved bool
}

// identity of a question: two with the same SHA-256 are taken to be the same.
type identity [sha256.Size]byte

func identify(q Question) identity {
	h := sha256.New()
	for _, list := range [][]string{{q.Script}, q.Cases, q.Constants} {
		fmt.Fprintf(h, "%d\n", len(list))
		for _, s := range list {
			fmt.Fprintf(h, "%d\n%s\n", len(s), s)
		}
	}
	return identity(h.Sum(nil))
}

// reply is the answer to a question; it is there once done is closed.
type reply struct {
	done   chan struct{}
	answer Answer
	err    error
}

// finding is what came of one query. One that is not proved has violations or a
// reason.
type finding struct {
	proved     bool
	violations []verify.Violation
	reason     string
	large      bool // the query is TooLarge
}

// maxLarge is how many chunks may be too large to ask about before none is asked about any
// more: as a rule all are alike.
const maxLarge = 10

// verdict asks about the order of events, where that is open, and then about all
// chunks in ascending order, several at a time. It stops asking once enough
// violations are known, so that those reported are the first ones, however many
// threads there are.
func (r *run) verdict(ctx context.Context, v verify.Verdict, o Options) verify.Verdict {
	if q := r.encodeOrder(false); q != nil {
		f := r.query(ctx, q)
		if len(f.violations) > 0 { // values are open then
			return refuted(v, f.violations...)
		}
		if !f.proved {
			v.Reason = "order of events: " + f.reason
		}
	}
	concerned := r.concerned()
	findings := make([]finding, len(concerned))
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next, violations, large int
	take := func(before *finding) (int, bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		violations += len(before.violations)
		if before.large {
			large++
		}
		if next == len(findings) || violations >= verify.MaxViolations || large >= maxLarge || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var group sync.WaitGroup
	for range min(threads, len(findings)) {
		group.Go(func() {
			terms, x := &Terms{}, &former{Encoder: r.Encoder}
			for k, ok := take(&finding{}); ok; k, ok = take(&findings[k]) {
				findings[k] = r.chunk(ctx, int(concerned[k]), x, terms)
				if findings[k].proved && o.Proved != nil {
					o.Proved.Add(1)
				}
			}
		})
	}
	group.Wait()

	proved := 0
	for k := range findings {
		f := &findings[k]
		if f.proved {
			proved++
		}
		for _, x := range f.violations {
			if len(v.Violations) < verify.MaxViolations {
				v.Violations = append(v.Violations, x)
			}
		}
		if f.reason != "" && v.Reason == "" {
			v.Reason = fmt.Sprintf("chunk %d: %s", concerned[k], f.reason)
		}
	}
	switch {
	case len(v.Violations) > 0:
		v.Outcome, v.Reason = verify.Refuted, ""
	case proved == len(findings) && v.Reason == "": // the order of events too, if it is open
		v.Outcome = verify.Proved
	case v.Reason == "":
		v.Reason = verify.Stopped(ctx)
	}
	return v
}

// concerned returns the chunks, ascending, that a transfer moves or a condition is about: of
// the others there is nothing to prove. A schedule of which no chunk is concerned is asked about
// its first one.
func (r *run) concerned() []int32 {
	var list []int32
	for k := range r.p.Chunks {
		if r.size(k, 0) > 0 {
			list = append(list, int32(k))
		}
	}
	if list == nil {
		list = []int32{0}
	}
	return list
}

// chunk asks about a chunk, unless one of its form is proved, or one that is of its form when both are retold.
func (r *run) chunk(ctx context.Context, k int, x *former, terms *Terms) finding {
	q, told, n := r.begin(k, false)
	if q.TooLarge != "" {
		return r.query(ctx, q)
	}
	first, known := r.settle(x.form(q, told, n))
	if known {
		if <-first.done; first.proved {
			return finding{proved: true}
		}
	} else {
		defer close(first.done)
		if r.s.Form != model.Ordered {
			if f, asked := r.retold(ctx, k, told.accesses, x, terms); f.proved || asked && len(f.violations) == 0 {
				first.proved = f.proved
				return f
			}
		}
	}
	r.state(q, told, n, terms, false)
	f := r.query(ctx, q)
	if !known {
		first.proved = f.proved
	}
	return f
}

// settle returns what came, or comes, of the first chunk of a form, and reports whether there was one before.
func (r *run) settle(id identity) (first *settled, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, known = r.forms[id]; !known {
		first = &settled{done: make(chan struct{})}
		r.forms[id] = first
	}
	return first, known
}

// retold asks about a chunk when its accesses, given in the order of time, are retold, unless one of that form was asked about: then it returns what came of
// that one. It reports whether it asked.
func (r *run) retold(ctx context.Context, k int, accesses []access, x *former, terms *Terms) (f finding, asked bool) {
	q := &Query{Chunk: k, p: r.p, s: r.s}
	told, n := r.retell(q, accesses)
	first, known := r.settle(x.form(q, told, n))
	if known {
		<-first.done
		return finding{proved: first.proved}, false
	}
	defer close(first.done)
	r.state(q, told, n, terms, false)
	f = r.query(ctx, q)
	first.proved = f.proved
	return f, true
}

// query asks about all goals of a query.
func (r *run) query(ctx context.Context, q *Query) finding {
	f := finding{reason: q.TooLarge, large: q.TooLarge != ""}
	proved := 0
	for _, g := range q.Goals {
		outcome, violations, reason := r.goal(ctx, q, g)
		switch outcome {
		case verify.Refuted:
			return finding{violations: violations}
		case verify.Proved:
			proved++
		default:
			if f.reason == "" {
				f.reason = reason
			}
		}
	}
	f.proved = proved == len(q.Goals) && proved > 0 && f.reason == ""
	return f
}

// goal asks about one goal: first whether its assumptions, if any, allow anything
// at all, then whether they allow an obligation to be broken.
func (r *run) goal(ctx context.Context, q *Query, g *Goal) (verify.Outcome, []verify.Violation, string) {
	if g.Assumes() {
		a, err := r.ask(ctx, g.Assumptions())
		switch {
		case err != nil:
			return verify.Unknown, nil, err.Error()
		case a.Status == Undecided:
			return verify.Unknown, nil, a.Reason
		case a.Status != Sat:
			return verify.Unknown, nil, "the assumptions of the query contradict each other, so that it proves nothing"
		}
	}
	a, err := r.ask(ctx, g.Question())
	if err != nil {
		return verify.Unknown, nil, err.Error()
	}
	switch a.Status {
	case Unsat:
		return verify.Proved, nil, ""
	case Sat:
		violations, err := q.refutation(g, a)
		if err != nil {
			return verify.Unknown, nil, err.Error()
		}
		return verify.Refuted, violations, ""
	}
	return verify.Unknown, nil, a.Reason
}

// ask puts a question to the backend, unless the same one was asked before.
func (r *run) ask(ctx context.Context, q Question) (Answer, error) {
	id := identify(q)
	r.mu.Lock()
	known, ok := r.answers[id]
	if !ok {
		known = &reply{done: make(chan struct{})}
		r.answers[id] = known
	}
	r.mu.Unlock()
	if ok {
		<-known.done
		return known.answer, known.err
	}
	defer close(known.done)
	known.answer, known.err = r.backend.Solve(ctx, q)
	if known.err != nil {
		known.err = fmt.Errorf("%s: %w", r.backend.Name(), known.err)
	} else if known.answer.Status == Undecided && known.answer.Reason == "" {
		known.answer.Reason = r.backend.Name() + " gives no reason"
	}
	return known.answer, known.err
}

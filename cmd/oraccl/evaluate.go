package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// engines are the verifiers that every schedule passes, in the order of columns.
var engines = []string{"replay", "smt"}

// below is what is known below the makespans of a cut.
type below struct {
	every *model.Certificate // the largest bound for every cut, checked; nil: none
	bound *model.Certificate // the largest one for this cut, checked, which may be every; nil: none
}

// forCut reports whether more is known for the cut than for every cut.
func (b below) forCut() bool {
	return b.bound != nil && b.bound.Bound > 0 && (b.every == nil || b.bound.Bound > b.every.Bound)
}

// optimal returns the kind of the bound for every cut if a makespan meets it, or "".
func (b below) optimal(makespan model.Time) string {
	if b.every != nil && makespan == b.every.Bound {
		return b.every.Witness.Kind()
	}
	return ""
}

// noneFaster returns the kind of the bound for the cut if a makespan meets it, or "".
func (b below) noneFaster(makespan model.Time) string {
	if b.bound != nil && makespan == b.bound.Bound {
		return b.bound.Witness.Kind()
	}
	return ""
}

// row is a method with what it found and what the verifiers say of that.
type row struct {
	method   string
	result   solve.Result
	seed     uint64
	makespan model.Time
	verified
	below
	refuted *model.Certificate // the largest horizon of this row's cut that a proof refutes; nil: none
	proof   int64              // bytes of the proof that bound names, if it names one
	solving time.Duration
}

// outcome is what all engines together establish.
func (r *row) outcome() verify.Outcome { return r.verdict.Outcome }

// optimal names the evidence that no schedule of any cut is quicker: the kind of a checked
// certificate for every cut whose bound the makespan meets, or "".
func (r *row) optimal() string {
	if r.outcome() != verify.Proved {
		return ""
	}
	return r.below.optimal(r.makespan)
}

// noneFaster names the evidence that no schedule of the same cut is quicker: the kind of a
// checked certificate whose bound the makespan meets, "solver" if only a solver claims it, or
// "". That there are fewer rounds in none is another thing: see fewest.
func (r *row) noneFaster() string {
	switch {
	case r.outcome() != verify.Proved:
		return ""
	case r.below.noneFaster(r.makespan) != "":
		return r.below.noneFaster(r.makespan)
	case r.result.Stop == solve.Optimal && r.briefest():
		return "solver"
	}
	return ""
}

// fewest names the evidence that no schedule of the same cut has fewer rounds, with late
// ranks fewer after the last arrival, or returns "". Rounds need not be equally long, so
// that one with as many or more can be quicker.
func (r *row) fewest() string {
	switch {
	case r.outcome() != verify.Proved || !r.result.Problem.Cost.Synchronous():
		return ""
	case r.bound != nil && cert.FewestRounds(context.Background(), r.bound, r.result.Problem, r.result.Schedule):
		return r.bound.Witness.Kind()
	case r.result.Stop == solve.Optimal:
		return "solver"
	}
	return ""
}

// briefest says whether a solver that found no schedule with fewer rounds, where time is
// counted in rounds, has found none that is quicker: no rank is late, and no round of r
// lasts longer than any round does that moves something.
func (r *row) briefest() bool {
	p := r.result.Problem
	if !p.Cost.Synchronous() {
		return true
	}
	size, least := int64(model.MaxSize), model.MaxTime
	for _, c := range p.Chunks {
		size = min(size, c.Size)
	}
	for _, l := range p.Topology.Links {
		least = min(least, l.Alpha.Add(model.TransferTime(size, l.Bandwidth)))
	}
	return !p.Late() && r.makespan == least.Mul(int64(r.result.Schedule.Rounds()))
}

// leftOut is a method that did not run, with the reason.
type leftOut struct{ method, reason string }

// evaluation is a problem with what the methods make of it.
type evaluation struct {
	problem *model.Problem
	rows    []*row // the proved ones first, by makespan
	left    []leftOut
	bound   *model.Certificate // the best for every cut, checked; nil: none
}

// evaluator runs methods on a problem.
type evaluator struct {
	methods []solve.Solver
	named   bool // the methods were asked for by name
	options solve.Options
	smt     smt.Options
	scratch string // a directory for proofs; empty: none are written
	refute  bool   // proofs are wanted where other bounds say as much, too
	// refuted holds, by cut, the checked certificate of the largest horizon without a
	// schedule.
	refuted map[string]*model.Certificate
	// bounds says what is known below the makespan before a method begins; nil: certified.
	bounds func(context.Context, *model.Problem) (*model.Certificate, error)
	*progress
}

// close removes what was left in the directory for proofs.
func (e *evaluator) close() {
	if e.scratch != "" {
		os.RemoveAll(e.scratch)
	}
}

func cutKey(p *model.Problem) string { return fmt.Sprint(p.Chunks) }

// evaluate runs every method that serves p, verifies what they find, and bounds
// it. A method that fails is left out with its reason; if ctx ends, the rows that
// are there by then are returned.
func (e *evaluator) evaluate(ctx context.Context, p *model.Problem) (*evaluation, error) {
	ev := &evaluation{problem: p}
	for _, m := range e.methods {
		about := m.About()
		if !e.named && !p.Late() && about.LateOnly {
			ev.left = append(ev.left, leftOut{m.Name(), "no rank is late (name it in --methods to have it all the same)"})
			continue
		}
		if !e.named && about.ComparisonOnly {
			continue
		}
		if err := m.Serves(p); err != nil {
			ev.left = append(ev.left, leftOut{m.Name(), reason(err)})
			continue
		}
		if ctx.Err() != nil {
			ev.left = append(ev.left, leftOut{m.Name(), "interrupted before it began"})
			continue
		}
		r, err := e.run(ctx, m, p, ev.rows)
		var wrong *verify.Contradiction
		switch {
		case errors.As(err, &wrong):
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		case err != nil && (errors.Is(err, solve.ErrNotServed) || len(e.methods) > 1):
			ev.left = append(ev.left, leftOut{m.Name(), reason(err)})
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		case r.result.Schedule == nil:
			ev.left = append(ev.left, leftOut{m.Name(), "found no schedule: " + r.stopReason()})
		default:
			ev.rows = append(ev.rows, r)
		}
	}
	return ev, e.boundRows(ctx, ev)
}

func (r *row) stopReason() string {
	s := r.result.Stop.String()
	if r.result.Raw != "" {
		s += " (" + r.result.Raw + ")"
	}
	if r.result.Note != "" {
		s += ": " + r.result.Note
	}
	return s
}

// reason is an error without the mark that says of which kind it is.
func reason(err error) string {
	return strings.TrimSuffix(err.Error(), " ("+solve.ErrNotServed.Error()+")")
}

// run runs one method and verifies what it finds.
func (e *evaluator) run(ctx context.Context, m solve.Solver, p *model.Problem, before []*row) (*row, error) {
	o := e.options
	if needs := m.About().NeedsCut; needs != nil && needs(p) {
		p = solve.Cut(p, max(1, o.Chunks))
	}
	if best := bestStart(p, before); best != nil {
		o.Start, o.StartFrom = &best.result, best.method
	}
	bounds := e.bounds
	if bounds == nil {
		bounds = certified
	}
	if c, err := bounds(ctx, p); err == nil && c != nil { // for every cut, where p leaves it open
		o.Bound = c.Bound
	}
	if c := e.refuted[cutKey(p)]; c != nil {
		o.Bound = max(o.Bound, c.Bound)
	}
	o.Scratch, o.Refute = e.scratch, e.refute
	e.begin(m.Name(), &o)
	defer e.end()
	start := time.Now()
	result, err := m.Solve(ctx, p, o)
	if err != nil {
		return nil, err
	}
	r := &row{method: m.Name(), result: result, seed: o.Seed, solving: time.Since(start)}
	if err := e.keepRefuted(context.WithoutCancel(ctx), result); err != nil {
		return nil, err
	}
	if result.Schedule == nil {
		return r, nil
	}
	if !p.SameUpToCut(result.Problem) {
		return nil, fmt.Errorf("answered another problem: %v", result.Problem)
	}
	if result.Schedule.Form == model.Ordered { // its verifiers look at no capacity
		return nil, errors.New("answered with an order, want times or rounds")
	}
	r.makespan = result.Makespan()
	e.note("verifying")
	r.verified, err = verifyFound(ctx, result.Problem, result.Schedule, e.smt, engines)
	return r, err
}

// keepRefuted checks the proof of the largest horizon that a result refutes, and keeps it
// if it is the best for its cut. A proof that the checker does not accept is a defect, and
// an error.
func (e *evaluator) keepRefuted(ctx context.Context, result solve.Result) error {
	if len(result.Refuted) == 0 {
		return nil
	}
	e.note("checking a proof")
	c, err := refutationOf(ctx, result.Problem, result.Refuted[len(result.Refuted)-1])
	if err != nil {
		return err
	}
	key := cutKey(result.Problem)
	if known := e.refuted[key]; known != nil && known.Bound >= c.Bound {
		return nil
	}
	if err := checkRefutation(ctx, c, e.scratch); err != nil {
		return err
	}
	if e.refuted == nil {
		e.refuted = map[string]*model.Certificate{}
	}
	e.refuted[key] = c
	return nil
}

// refutationOf returns the certificate of a horizon that was refuted, with the largest
// bound that it yields, unchecked.
func refutationOf(ctx context.Context, p *model.Problem, r solve.Refuted) (*model.Certificate, error) {
	proof, err := os.Open(r.Proof)
	if err != nil {
		return nil, err
	}
	defer proof.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, proof); err != nil {
		return nil, err
	}
	c := &model.Certificate{Problem: p, Witness: model.Refutation{Epoch: r.Epoch, Horizon: r.Horizon, Steps: r.Steps,
		Proof: filepath.Base(r.Proof), SHA256: hex.EncodeToString(hash.Sum(nil))}}
	c.Bound, err = cert.Yield(ctx, c)
	return c, err
}

// checkRefutation checks a certificate whose proof lies in dir.
func checkRefutation(ctx context.Context, c *model.Certificate, dir string) error {
	if v := cert.CheckIn(ctx, c, os.DirFS(dir)); v.Outcome != verify.Proved {
		return fmt.Errorf("the proof that %s failed its check and is not used: %s", v.Claim, v.Reason)
	}
	return nil
}

// bestStart returns the best proved row so far of the cut of p, of any cut where p leaves it
// open, or nil.
func bestStart(p *model.Problem, before []*row) *row {
	var best *row
	for _, r := range before {
		if r.outcome() == verify.Proved && (p.Chunks == nil || slices.Equal(r.result.Problem.Chunks, p.Chunks)) &&
			(best == nil || r.makespan < best.makespan) {
			best = r
		}
	}
	return best
}

// backend answers the smt engine's queries.
var backend = z3.New()

// asked answers for an engine with its verdict on a schedule in memory.
var asked = map[string]func(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options) verify.Verdict{
	"replay": func(ctx context.Context, p *model.Problem, s *model.Schedule, _ smt.Options) verify.Verdict {
		return replay.Check(ctx, p, s)
	},
	"smt": func(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options) verify.Verdict {
		return smt.Check(ctx, p, s, backend, o)
	},
}

// verified is what the engines make of a schedule.
type verified struct {
	verdict  verify.Verdict            // of all together
	verdicts map[string]verify.Verdict // by engine
	checking map[string]time.Duration  // by engine
}

// alone is what one engine makes of a schedule, of those that are asked alone.
func alone(v verify.Verdict) verified {
	all, _ := verify.Combine(v) // there is none to contradict it
	return verified{verdict: all, verdicts: map[string]verify.Verdict{v.Engine: v}}
}

// ask asks an engine for its verdict.
func (v *verified) ask(ctx context.Context, engine string, p *model.Problem, s *model.Schedule, o smt.Options) {
	start := time.Now()
	v.verdicts[engine] = asked[engine](ctx, p, s, o)
	v.checking[engine] += time.Since(start)
}

// combine sets the verdict of all from those of the named engines. An error means that they
// contradict each other.
func (v *verified) combine(engines []string) (err error) {
	var all []verify.Verdict
	for _, engine := range engines {
		all = append(all, v.verdicts[engine])
	}
	v.verdict, err = verify.Combine(all...)
	return err
}

// verifyAll asks the named engines for their verdicts. An error means that they contradict
// each other.
func verifyAll(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options, engines []string) (verified, error) {
	v := verified{verdicts: map[string]verify.Verdict{}, checking: map[string]time.Duration{}}
	for _, engine := range engines {
		v.ask(ctx, engine, p, s, o)
	}
	err := v.combine(engines)
	return v, err
}

// verifyFound is verifyAll for what a solver has found: replay decides that even if ctx is
// done, since what nothing has verified is not written.
func verifyFound(ctx context.Context, p *model.Problem, s *model.Schedule, o smt.Options, engines []string) (verified, error) {
	v, err := verifyAll(ctx, p, s, o, engines)
	if err == nil && ctx.Err() != nil && v.verdicts["replay"].Outcome == verify.Unknown {
		v.ask(context.WithoutCancel(ctx), "replay", p, s, o)
		err = v.combine(engines)
	}
	return v, err
}

// certified returns the best lower bound for p whose certificate the checker
// accepts. A certificate that it does not accept is a defect, and an error.
func certified(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	c, err := bound.Best(ctx, p)
	if err != nil || c == nil {
		return nil, err
	}
	if v := cert.Check(context.WithoutCancel(ctx), c); v.Outcome != verify.Proved {
		return nil, fmt.Errorf("the %s bound of %v failed its check and is not used: %s", c.Witness.Kind(), c.Bound, v.Reason)
	}
	return c, nil
}

// boundRows gives every row the certified bounds of every cut and of its own, and sorts the
// rows by makespan.
func (e *evaluator) boundRows(ctx context.Context, ev *evaluation) error {
	e.note("bounding")
	defer e.end()
	interrupted := ctx
	ctx = context.WithoutCancel(ctx) // after Ctrl-C what was found still gets its bound
	var err error
	if ev.bound, err = certified(ctx, anyCut(ev.problem)); err != nil {
		return err
	}
	byCut := map[string]*model.Certificate{}
	for _, r := range ev.rows {
		key := cutKey(r.result.Problem)
		if _, known := byCut[key]; !known {
			if byCut[key], err = e.boundOfCut(ctx, interrupted, r.result.Problem, ev); err != nil {
				return err
			}
		}
		r.bound, r.refuted = byCut[key], e.refuted[key]
		if r.bound != nil {
			r.proof = e.proofSize(r.bound)
		}
	}
	if c := byCut[cutKey(anyCut(ev.problem))]; c != nil { // there is one cut
		ev.bound = c
	}
	for _, r := range ev.rows {
		r.every = ev.bound
		if r.outcome() != verify.Proved {
			continue
		}
		for _, c := range []*model.Certificate{r.every, r.bound} {
			if c == nil {
				continue
			}
			if err := verify.Below(r.makespan, c.Bound, c.Witness.Kind()); err != nil {
				return fmt.Errorf("%s: %w", r.method, err)
			}
		}
	}
	slices.SortStableFunc(ev.rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.makespan, b.makespan))
	})
	return nil
}

// boundOfCut returns the best certified bound for the cut of p: that of every cut unless one
// for this cut alone is larger, or shows that more rounds are needed.
func (e *evaluator) boundOfCut(ctx, interrupted context.Context, p *model.Problem, ev *evaluation) (*model.Certificate, error) {
	c, err := certified(ctx, p)
	if err != nil {
		return nil, err
	}
	better := func(a, b *model.Certificate) bool {
		return a != nil && (b == nil || a.Bound > b.Bound || cert.LeastRounds(a) > cert.LeastRounds(b))
	}
	if !better(c, ev.bound) {
		c = ev.bound
	}
	if no := e.refuted[cutKey(p)]; better(no, c) {
		c = no
	}
	return e.improved(interrupted, c, p, ev.rows)
}

// anyCut returns p with its cut left open. A custom collective has only one, and keeps it.
func anyCut(p *model.Problem) *model.Problem {
	if p.Collective.Kind == model.Custom {
		return solve.Cut(p, 1)
	}
	q := *p
	q.Chunks = nil
	return &q
}

// proofSize returns the size of the file with the proof of c, 0 if there is none.
func (e *evaluator) proofSize(c *model.Certificate) int64 {
	if w, ok := c.Witness.(model.Refutation); ok {
		if info, err := os.Stat(filepath.Join(e.scratch, w.Proof)); err == nil {
			return info.Size()
		}
	}
	return 0
}

// rank puts what is not proved last.
func rank(r *row) int {
	if r.outcome() == verify.Proved {
		return 0
	}
	return 1
}

// best returns the proved row with the least makespan, or nil.
func (ev *evaluation) best() *row {
	var best *row
	for _, r := range ev.rows {
		if r.outcome() == verify.Proved && (best == nil || r.makespan < best.makespan) {
			best = r
		}
	}
	return best
}

// anyRefuted says whether a verifier refuted what a method of ours returned.
func (ev *evaluation) anyRefuted() bool {
	return slices.ContainsFunc(ev.rows, func(r *row) bool { return r.outcome() == verify.Refuted })
}

// Package compute computes the cells of a sweep: in this process, in processes of its own
// that may die without the sweep, or as an array of tasks of Slurm.
package compute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/smt"
)

// Cells computes the cells of a sweep: each as solve --method does, with the bound that
// its store keeps for the instance.
type Cells struct {
	Store   *sweep.Store
	Threads int // for each cell

	mu     sync.Mutex
	bounds map[string]*bounded // by the text of the problem
}

// bounded is a bound that one goroutine finds and the others wait for.
type bounded struct {
	once sync.Once
	c    *model.Certificate
	err  error
}

// keptBounds is how many bounds are held in memory at once; the others are on disk.
const keptBounds = 16

// Compute returns the row of a cell.
func (x *Cells) Compute(ctx context.Context, _ int, c *sweep.Cell) table.Row {
	r := c.Row()
	var found restsOn
	err := x.inScratch(func(scratch string) error {
		err := x.fill(ctx, c, &r, &found, scratch)
		if c.Proofs && ctx.Err() == nil {
			if kerr := x.keep(c, &r, &found, scratch); kerr != nil {
				r.MakespanPs, r.BoundPs, r.Bound, r.Transfers = 0, 0, "", 0
				return fmt.Errorf("its proofs cannot be kept: %w", kerr)
			}
		}
		return err
	})
	if err != nil {
		r.Status = table.Failed
		var wrong *verify.Contradiction
		switch {
		case errors.As(err, &wrong):
			r.Status, r.MakespanPs, r.BoundPs, r.Bound, r.Transfers = table.Contradicted, 0, 0, "", 0
		case errors.Is(err, solve.ErrNotServed):
			r.Status = table.Unsupported
		}
		r.Reason = err.Error()
	}
	return r
}

// restsOn is what a row rests on.
type restsOn struct {
	row   *certify.Row       // with the schedule, if it is proved
	bound *model.Certificate // of the row's bound; nil: there is none
}

// inScratch calls f with a directory that is removed after it.
func (x *Cells) inScratch(f func(scratch string) error) error {
	scratch, err := os.MkdirTemp("", "oraccl-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	return f(scratch)
}

// keep keeps what the row of a cell rests on.
func (x *Cells) keep(c *sweep.Cell, r *table.Row, found *restsOn, scratch string) error {
	var e sweep.Evidence
	var out bytes.Buffer
	if r.Status == table.Proved {
		if err := native.WriteSolution(&out, found.row.Solution(built.Tool())); err != nil {
			return err
		}
		e.Schedule = bytes.Clone(out.Bytes())
	}
	if r.BoundPs > 0 {
		out.Reset()
		if err := native.WriteCertificate(&out, found.bound); err != nil {
			return err
		}
		e.Certificate = out.Bytes()
		if w, ok := found.bound.Witness.(model.Refutation); ok {
			e.Proof = filepath.Join(scratch, w.Proof)
		}
	}
	return x.Store.PutEvidence(c, e)
}

// fill computes a cell, and has what it rests on in found. An error is why there is no verdict.
func (x *Cells) fill(ctx context.Context, c *sweep.Cell, r *table.Row, found *restsOn, scratch string) error {
	p, err := c.Problem(ctx)
	if err != nil {
		return err
	}
	r.Ranks = len(p.Members())
	if err := tooLarge(p); err != nil {
		return err
	}
	budget, cancel := solve.NewBudget(ctx, c.TimeLimit, x.Threads)
	defer cancel()
	ctx = budget.Context()
	share, done := budget.Share(4)
	known, err := x.bound(share.Context(), p, c.Dual)
	done()
	if err != nil {
		return err
	}
	set := func(c *model.Certificate) {
		if c != nil && c.Bound > r.BoundPs {
			r.BoundPs, r.Bound, found.bound = c.Bound, c.Witness.Kind(), c
		}
	}
	set(known)
	methods, err := certify.MethodsNamed(c.Method)
	if err != nil {
		return err
	}
	if err := methods[0].Serves(p); err != nil {
		return err
	}
	e := &certify.Evaluator{Scratch: scratch, Methods: methods, Named: true, ChooseCuts: true, Progress: certify.Silent{},
		Options: solve.Options{TimeLimit: c.TimeLimit, Seed: c.Seed, Threads: x.Threads, Tries: c.Tries, Effort: c.Effort},
		SMT:     smt.Options{Timeout: c.TimeLimit, Threads: x.Threads},
		Bounds:  func(ctx context.Context, p *model.Problem) (*model.Certificate, error) { return x.bound(ctx, p, false) },
	}
	row, err := e.Run(ctx, methods[0], p, nil)
	if err != nil {
		return err
	}
	if p.Chunks != nil {
		set(e.Horizons[certify.CutKey(p)])
	}
	r.SolvedNs = int64(row.Solving)
	if row.Result.Schedule == nil {
		return fmt.Errorf("found no schedule: %s", row.StopReason())
	}
	found.row = row
	return finish(row, r)
}

// finish puts what a method found and the verifiers say into a row.
func finish(found *certify.Row, r *table.Row) error {
	for _, d := range found.Checking {
		r.VerifiedNs += int64(d)
	}
	switch transfers := len(found.Result.Schedule.Transfers); found.Outcome() {
	case verify.Proved:
		r.Status, r.MakespanPs, r.Transfers = table.Proved, found.Makespan, transfers
		if err := verify.Below(r.MakespanPs, r.BoundPs, r.Bound); err != nil {
			return err
		}
		if found.Result.Stop == solve.TimeLimit {
			r.Reason = found.Result.Stop.String()
		}
		if found.Verdict.Reason != "" {
			r.Reason = strings.TrimPrefix(r.Reason+"; "+found.Verdict.Basis(), "; ")
		}
	case verify.Refuted:
		r.Status, r.MakespanPs, r.Transfers = table.Refuted, found.Makespan, transfers
		r.Reason = found.Violations()[0]
	default:
		return fmt.Errorf("the verifiers give up: %s", found.Note())
	}
	return nil
}

// tooLarge returns an error if every schedule of p has more transfers than are held in
// memory, where each chunk, as cut by default, has to get to all but one of the ranks that
// want it.
func tooLarge(p *model.Problem) error {
	cut, n := solve.Cut(p, 1), 0
	for k := range cut.Chunks {
		for range cut.Goal(k) {
			n++
		}
		if n--; n > model.MaxHeld {
			return solve.NotServed("too large for a sweep: more than %d transfers", model.MaxHeld)
		}
	}
	return nil
}

// bound returns the best certified bound of p, from the store if it is there, where its
// certificate is checked again. Where the cut is open it holds for every cut, of which a custom
// collective has one. With dual set also bounds of kind lp-dual are looked for.
func (x *Cells) bound(ctx context.Context, p *model.Problem, dual bool) (*model.Certificate, error) {
	if p.Chunks == nil {
		p = certify.AnyCut(p)
	}
	key, err := problemText(p)
	if err != nil {
		return nil, err
	}
	if dual {
		key += "dual\n"
	}
	x.mu.Lock()
	b := x.bounds[key]
	if b == nil {
		if len(x.bounds) >= keptBounds || x.bounds == nil {
			x.bounds = map[string]*bounded{}
		}
		b = &bounded{}
		x.bounds[key] = b
	}
	x.mu.Unlock()
	b.once.Do(func() { b.c, b.err = x.findBound(ctx, p, key, dual) })
	return b.c, b.err
}

// problemText returns p as it is written in files.
func problemText(p *model.Problem) (string, error) {
	var text bytes.Buffer
	err := native.WriteProblem(&text, p)
	return text.String(), err
}

// knownBound returns the bound that the store has, or nil. One that fails its check is none.
func (x *Cells) knownBound(ctx context.Context, p *model.Problem, key string) *model.Certificate {
	b, err := x.Store.GetBound(key)
	if err != nil || b == nil {
		return nil
	}
	c, err := native.ReadCertificate("bound", bytes.NewReader(b))
	if err != nil {
		return nil
	}
	is, err := problemText(c.Problem)
	if err != nil || strings.TrimSuffix(key, "dual\n") != is || cert.Check(ctx, c).Outcome != verify.Proved {
		return nil
	}
	c.Problem = p
	return c
}

func (x *Cells) findBound(ctx context.Context, p *model.Problem, key string, dual bool) (*model.Certificate, error) {
	if c := x.knownBound(ctx, p, key); c != nil {
		return c, nil
	}
	if done, err := x.Store.Alone(ctx, key); err == nil {
		defer done()
	}
	if c := x.knownBound(ctx, p, key); c != nil {
		return c, nil
	}
	c, err := certify.Bound(ctx, p)
	if err != nil {
		return nil, err
	}
	if dual {
		known := model.Time(0)
		if c != nil {
			known = c.Bound
		}
		if d, err := certify.DualBound(ctx, p, known, 0); err != nil {
			return nil, err
		} else if d != nil {
			c = d
		}
	}
	switch solve.StopOf(ctx) {
	case solve.Interrupted:
		return nil, ctx.Err()
	case solve.TimeLimit: // it need not be the best, and is not kept
		return c, nil
	}
	if c == nil {
		return nil, nil
	}
	var out bytes.Buffer
	if err := native.WriteCertificate(&out, c); err != nil {
		return nil, err
	}
	_ = x.Store.PutBound(key, out.Bytes()) // what prevents that prevents keeping the row, which says so
	return c, nil
}

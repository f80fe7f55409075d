package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/dossier"
)

// proofs writes certificates to a dossier, each once, under names of their own.
type proofs struct {
	*dossier.Writer
	scratch string // where their proofs are
	files   map[*model.Certificate]string
	named   map[string]int
}

// checkProofs refuses, before any work, a directory that no dossier can be written to. ""
// asks for none.
func checkProofs(dir string) error {
	if dir == "" {
		return nil
	}
	if err := dossier.Free(dir); err != nil {
		return fmt.Errorf("--proofs: %w", err)
	}
	return nil
}

// newProofs begins a dossier; what is written to it ends with ctx.
func newProofs(ctx context.Context, dir, scratch string) (*proofs, error) {
	w, err := dossier.Create(dir, "oraccl "+version())
	if err != nil {
		return nil, fmt.Errorf("--proofs: %w", err)
	}
	return &proofs{w.Until(ctx), scratch, map[*model.Certificate]string{}, map[string]int{}}, nil
}

// add writes a certificate about the problem in a file.
func (p *proofs) add(ctx context.Context, problem string, c *model.Certificate) error {
	if c == nil || p.files[c] != "" {
		return nil
	}
	name := fmt.Sprintf("bound-%s-any-cut", c.Witness.Kind())
	if n := len(c.Problem.Chunks); n > 0 {
		name = fmt.Sprintf("bound-%s-%d-chunks", c.Witness.Kind(), n)
	}
	if w, ok := c.Witness.(model.Refutation); ok && w.Steps > 0 {
		name = strings.TrimSuffix(w.Proof, ".lrat")
	}
	if p.named[name]++; p.named[name] > 1 { // as many chunks, of other sizes
		name += fmt.Sprintf("-%d", p.named[name])
	}
	p.files[c] = name + ".json"
	return p.Certificate(ctx, p.files[c], problem, c, p.proof(c))
}

// proof is the file with the proof of a certificate, "" if it has none.
func (p *proofs) proof(c *model.Certificate) string {
	if w, ok := c.Witness.(model.Refutation); ok {
		return filepath.Join(p.scratch, w.Proof)
	}
	return ""
}

// writeProofs writes everything that is needed to check an evaluation again: the problem,
// each proved schedule with the formulas of its SMT proof, the certificates of the bounds,
// and of the horizons that were refuted, with their proofs; and what is claimed of them.
func writeProofs(ctx context.Context, dir string, ev *certify.Report, e *certify.Evaluator) error {
	p, err := newProofs(ctx, dir, e.Scratch)
	if err != nil {
		return err
	}
	const problem = "problem.json"
	if err := p.Problem(problem, ev.Problem, ""); err != nil {
		return err
	}
	if err := p.add(ctx, problem, ev.Bound); err != nil {
		return err
	}
	for _, r := range ev.Rows {
		if r.Outcome() != verify.Proved {
			continue
		}
		for _, c := range []*model.Certificate{r.Bound, r.Refuted} {
			if err := p.add(ctx, problem, c); err != nil {
				return err
			}
		}
		file := "schedule-" + r.Method + ".json"
		if err := p.Schedule(file, problem, solutionOf(r), true); err != nil {
			return err
		}
		for _, m := range r.Result.Models {
			if err := p.Model(m.File, file, filepath.Join(e.Scratch, m.File)); err != nil {
				return err
			}
		}
	}
	for _, r := range ev.Rows {
		if r.Outcome() == verify.Proved {
			p.claims("schedule-"+r.Method+".json", r)
		}
	}
	return p.Close()
}

// claims states what the table states of a row, but for what a solver alone states.
func (p *proofs) claims(file string, r *certify.Row) {
	if r.EveryCut != nil {
		p.Claim(dossier.GapClaim, file, p.files[r.EveryCut])
	}
	switch kind := r.NoneFaster(); {
	case r.Optimal() != "":
		p.Claim(dossier.OptimalClaim, file, p.files[r.EveryCut])
	case kind != "" && kind != "solver":
		p.Claim(dossier.NoneFasterClaim, file, p.files[r.Bound])
	case r.ForCut():
		p.Claim(dossier.CutGapClaim, file, p.files[r.Bound])
	}
	if kind := r.Fewest(); kind != "" && kind != "solver" {
		p.Claim(dossier.FewestRoundsClaim, file, p.files[r.Bound])
	}
}

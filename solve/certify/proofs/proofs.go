// Package proofs writes what was found and bounded to a dossier, with everything that is
// needed to check it again without a solver: package dossier reads and checks it.
package proofs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/dossier"
)

// writer writes certificates to a dossier, each once, under names of their own.
type writer struct {
	*dossier.Writer
	scratch string // where their proofs are
	files   map[*model.Certificate]string
	named   map[string]int
}

// begin begins a dossier by a tool, such as "oraccl v1.2.3". What is written to it ends with
// ctx.
func begin(ctx context.Context, dir, scratch, tool string) (*writer, error) {
	w, err := dossier.Create(dir, tool)
	if err != nil {
		return nil, err
	}
	return &writer{w.Until(ctx), scratch, map[*model.Certificate]string{}, map[string]int{}}, nil
}

// add writes a certificate about the problem in a file.
func (p *writer) add(ctx context.Context, problem string, c *model.Certificate) error {
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
func (p *writer) proof(c *model.Certificate) string {
	if w, ok := c.Witness.(model.Refutation); ok {
		return filepath.Join(p.scratch, w.Proof)
	}
	return ""
}

// Write writes everything that is needed to check an evaluation again to a directory: the
// problem, each proved schedule, with the formulas of its SMT proof if they are wanted, the
// certificates of the bounds, and of the horizons that were refuted, with their proofs from the
// directory scratch; and what is claimed of them. tool names the program that writes. Formulas
// are for other solvers: they take about ten times the space of a schedule, from which they can
// be made.
func Write(ctx context.Context, dir string, ev *certify.Report, scratch, tool string, formulas bool) error {
	p, err := begin(ctx, dir, scratch, tool)
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
		if err := p.Schedule(file, problem, r.Solution(tool), formulas); err != nil {
			return err
		}
		for _, m := range r.Result.Models {
			if err := p.Model(m.File, file, filepath.Join(scratch, m.File)); err != nil {
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

// WriteWorkload writes a workload, its proved schedule, the best bound on it, and what the two come to,
// to a directory, for package dossier to check again.
func WriteWorkload(ctx context.Context, dir string, r *workloads.Report, tool string) error {
	p, err := begin(ctx, dir, "", tool)
	if err != nil {
		return err
	}
	const workload, timetable = "workload.json", "timetable.json"
	if err := p.Workload(workload, r.Schedule.Workload); err != nil {
		return err
	}
	proved := r.Verdict.Outcome == verify.Proved
	if proved {
		if err := p.Timetable(timetable, workload, r.Schedule); err != nil {
			return err
		}
	}
	if len(r.Bounds) > 0 {
		c := &wl.Certificate{Workload: r.Schedule.Workload, Bound: *r.Bounds[0]}
		file := "bound-" + c.Bound.Kind + ".json"
		if err := p.WorkloadBound(file, workload, c); err != nil {
			return err
		}
		if proved && r.Verdict.Makespan == c.Bound.Value {
			p.Claim(dossier.NoneFasterClaim, timetable, file)
		} else if proved {
			p.Claim(dossier.CutGapClaim, timetable, file)
		}
	}
	return p.Close()
}

// claims states what the table states of a row, except what a solver alone states.
func (p *writer) claims(file string, r *certify.Row) {
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

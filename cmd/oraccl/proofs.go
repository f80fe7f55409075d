package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cnf"
	"github.com/oraccl/oraccl/verify/smt"
)

// writeProofs writes everything that is needed to check an evaluation again:
// the problem, each proved schedule with the formulas of its SMT proof, and the
// certificates of the bounds, and of the horizons that were refuted, with their proofs.
func writeProofs(dir string, ev *certify.Report, e *certify.Evaluator) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--proofs: %w", err)
	}
	write := func(name string, f func(io.Writer) error) error { return writeFile(filepath.Join(dir, name), f) }
	if err := write("problem.json", func(w io.Writer) error { return native.WriteProblem(w, ev.Problem) }); err != nil {
		return err
	}
	written, named := map[*model.Certificate]bool{}, map[string]int{}
	certificate := func(c *model.Certificate) error {
		if c == nil || written[c] {
			return nil
		}
		written[c] = true
		name := fmt.Sprintf("bound-%s-any-cut", c.Witness.Kind())
		if n := len(c.Problem.Chunks); n > 0 {
			name = fmt.Sprintf("bound-%s-%d-chunks", c.Witness.Kind(), n)
		}
		if named[name]++; named[name] > 1 { // as many chunks, of other sizes
			name += fmt.Sprintf("-%d", named[name])
		}
		if w, ok := c.Witness.(model.Refutation); ok {
			if err := writeRefutation(write, c.Problem, w, filepath.Join(e.Scratch, w.Proof)); err != nil {
				return err
			}
		}
		return write(name+".json", func(w io.Writer) error { return native.WriteCertificate(w, c) })
	}
	if err := certificate(ev.Bound); err != nil {
		return err
	}
	for _, r := range ev.Rows {
		if r.Outcome() != verify.Proved {
			continue
		}
		for _, c := range []*model.Certificate{r.Bound, r.Refuted} {
			if err := certificate(c); err != nil {
				return err
			}
		}
		if err := writeSolution(filepath.Join(dir, "schedule-"+r.Method+".json"), r); err != nil {
			return err
		}
		p, s := r.Result.Problem, r.Result.Schedule
		if err := write("schedule-"+r.Method+".smt2", func(w io.Writer) error { return smt.WriteSMT2(w, p, s) }); err != nil {
			return err
		}
		for _, m := range r.Result.Models {
			if err := write(m.File, copyOf(filepath.Join(e.Scratch, m.File))); err != nil {
				return err
			}
		}
	}
	return write("README.md", func(w io.Writer) error { return writeReadme(ev, w) })
}

// writeRefutation writes a proof, and the formula that it refutes for those who have
// other checkers; ours makes the formula itself.
func writeRefutation(write func(string, func(io.Writer) error) error, p *model.Problem, w model.Refutation, proof string) error {
	if err := write(w.Proof, copyOf(proof)); err != nil {
		return err
	}
	return write(strings.TrimSuffix(w.Proof, ".lrat")+".cnf", func(out io.Writer) error { return cnf.DIMACS(context.Background(), out, p, w) })
}

// copyOf writes what is in a file.
func copyOf(path string) func(io.Writer) error {
	return func(out io.Writer) error {
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(out, in)
		return err
	}
}

// writeReadme says what the directory claims and how to check it.
func writeReadme(ev *certify.Report, w io.Writer) error {
	fmt.Fprintf(w, "# %v\n\nWritten by oraccl %s.\n\n## What is claimed\n\n", ev.Problem, version())
	for _, c := range certificates(ev) {
		cut := "however the buffer is cut into chunks"
		if n := len(c.Problem.Chunks); n > 0 {
			cut = fmt.Sprintf("with the buffer cut into %d chunks as the file says", n)
		}
		fmt.Fprintf(w, "- No right schedule ends before %s us (%d ps), %s: `bound-%s-*.json`. %s.\n",
			micros(c.Bound), int64(c.Bound), cut, c.Witness.Kind(), describe(c))
	}
	for _, r := range ev.Rows {
		if r.Outcome() != verify.Proved {
			continue
		}
		optimal := ""
		if r.Optimal() != "" {
			optimal = " That is the bound: no schedule is faster, however the buffer is cut."
		} else if kind := r.NoneFaster(); kind != "" && kind != "solver" {
			optimal = " That is the bound: with this cut no schedule is faster."
		} else if kind := r.Fewest(); kind != "" && kind != "solver" {
			optimal = " That are the fewest rounds with this cut; another schedule may be faster."
		}
		fmt.Fprintf(w, "- `schedule-%s.json` is right and ends after %s us (%d ps).%s\n", r.Method, micros(r.Makespan), int64(r.Makespan), optimal)
	}
	_, err := io.WriteString(w, `
## How to check it

- `+"`oraccl-check .`"+` executes every schedule exactly and checks every certificate in
  exact arithmetic. It contains no solver and builds with CGO_ENABLED=0.
- `+"`z3 schedule-NAME.smt2`"+` or `+"`cvc5 --incremental schedule-NAME.smt2`"+`: each answer must be
  what the comment before its query expects. The formulas state that some rank
  ends with a wrong value; their unsatisfiability is the proof.
- `+"`lrat-check NAME.cnf NAME.lrat`"+`, where there is a proof in the format LRAT: it refutes
  the formula that there is a schedule of so many rounds or epochs. `+"`oraccl-check`"+` makes
  the formula anew from the problem and checks the proof itself.
- Any MIP solver on `+"`NAME.mps`"+`, such as `+"`highs NAME.mps`, `cbc NAME.mps` or `scip -f NAME.mps`"+`:
  it finds a solution where the name ends in feasible, and none where it ends in infeasible.
  The program asks for a schedule within the epochs or rounds that the name says, in which
  durations are rounded up to whole epochs; a reduction is read backwards.
- By hand: any other certificate names a set of nodes, a rank or a path; the bound is a
  division, and SPEC.md beside the verifier's source says which.
`)
	return err
}

// certificates returns the certificates of an evaluation, each once.
func certificates(ev *certify.Report) []*model.Certificate {
	var all []*model.Certificate
	seen := map[*model.Certificate]bool{nil: true}
	add := func(c *model.Certificate) {
		if !seen[c] {
			all = append(all, c)
		}
		seen[c] = true
	}
	add(ev.Bound)
	for _, r := range ev.Rows {
		add(r.Bound)
		add(r.Refuted)
	}
	return all
}

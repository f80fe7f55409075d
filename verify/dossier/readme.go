package dossier

import (
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Readme writes m in words. It follows from m alone, so that it can be checked.
func (m *Manifest) Readme(w io.Writer) error {
	p := &printer{w: w}
	title := "A dossier"
	if len(m.Problems) == 1 {
		title = m.Problems[0].About
	}
	p.line("# %s\n\nWritten by %s. `%s` states what is claimed and lists every file;\n`oraccl-check` decides it. This text states the same in words.\n", title, m.Tool, ManifestName)
	for _, q := range m.Problems {
		p.line("## Claims about `%s`\n\n%s; its digest is\n`%s`.", q.File, q.About, q.Digest)
		if q.SameRoundsAs != "" {
			p.line("It differs from `%s` in latencies, bandwidths and sizes alone, so that its\nschedules have the same rounds and steps.", q.SameRoundsAs)
		}
		p.line("")
		documents := map[string]bool{}
		for i := range m.Claims {
			c := &m.Claims[i]
			if c.Problem == q.File {
				documents[c.Schedule+c.Certificate] = true
				p.line("- %s", c.sentence())
			}
		}
		for i := range m.Claims {
			if c := &m.Claims[i]; c.Problem == "" && documents[c.Schedule] {
				p.line("- %s", c.sentence())
			}
		}
		p.line("")
	}
	if len(m.Rows) > 0 {
		p.line("## The table\n\n`%s` and `%s` have the same rows: %d. The manifest names for each its instance,\nand the evidence for its makespan and its bound. Of a row without a schedule only\nthe bound is claimed.\n", TableCSV, TableJSONL, len(m.Rows))
		for _, x := range m.inputNames() {
			p.line("- %s in the table is a file, kept as `%s`.", x[1], x[0])
		}
	}
	if slices.ContainsFunc(m.Files, func(f File) bool { return f.Is == ModelRole }) {
		p.line("## Not checked by oraccl-check\n")
		for _, f := range m.Files {
			if f.Is == ModelRole {
				p.line("- `%s`, a program for MIP solvers about `%s`", f.File, f.Of)
			}
		}
		p.line("")
	}
	p.line("%s", howTo)
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// inMicros writes a time in microseconds and in picoseconds.
func inMicros(t model.Time) string {
	return fmt.Sprintf("%.3f us (%d ps)", float64(t)/float64(model.Microsecond), int64(t))
}

// sentence states a claim for the README.
func (c *Claim) sentence() string {
	switch c.Kind {
	case ScheduleClaim:
		text := fmt.Sprintf("`%s`", c.Schedule)
		if c.Method != "" {
			text += fmt.Sprintf(", by %s,", c.Method)
		}
		text += fmt.Sprintf(" is right, in chunks: %d, and ends after %s", c.Chunks, inMicros(*c.Makespan))
		if c.Rounds > 0 {
			text += fmt.Sprintf(", in rounds: %d", c.Rounds)
		}
		if c.Steps > 0 {
			text += fmt.Sprintf(", in steps: %d", c.Steps)
		}
		return text + "."
	case BoundClaim:
		cut := "however the buffer is cut into chunks"
		if c.Chunks > 0 {
			cut = fmt.Sprintf("with the buffer cut into chunks as the file states, %d in all", c.Chunks)
		}
		return fmt.Sprintf("No right schedule ends before %s, %s: `%s`, by %s.", inMicros(*c.Bound), cut, c.Certificate, c.By)
	case TimetableClaim:
		text := fmt.Sprintf("`%s`", c.Schedule)
		if c.Method != "" {
			text += fmt.Sprintf(", by %s,", c.Method)
		}
		return text + fmt.Sprintf(" is a right schedule of the workload, with a makespan, or a period, of %s.", inMicros(*c.Makespan))
	case WorkloadBoundClaim:
		return fmt.Sprintf("No right schedule of the workload has a makespan, or a period, below %s: `%s`, by %s.", inMicros(*c.Bound), c.Certificate, c.By)
	case RefutationClaim:
		return fmt.Sprintf("No right schedule, in chunks: %d, has at most %d rounds in at most %d steps: `%s`.", c.Chunks, c.Rounds, c.Steps, c.Certificate)
	case GapClaim:
		return fmt.Sprintf("`%s` is %v above the bound of `%s`, for every cut.", c.Schedule, model.Gap(*c.Gap), c.Certificate)
	case CutGapClaim:
		return fmt.Sprintf("`%s` is %v above the bound of `%s`, for its cut.", c.Schedule, model.Gap(*c.Gap), c.Certificate)
	case OptimalClaim:
		return fmt.Sprintf("`%s` is optimal: it meets the bound of `%s`. No schedule is faster, however the buffer is cut.", c.Schedule, c.Certificate)
	case NoneFasterClaim:
		return fmt.Sprintf("`%s` meets the bound of `%s`: with its cut no schedule is faster.", c.Schedule, c.Certificate)
	case FewestRoundsClaim:
		return fmt.Sprintf("`%s` has the fewest rounds with its cut, by `%s`; another schedule may be faster.", c.Schedule, c.Certificate)
	}
	return string(c.Kind)
}

const howTo = `## How to check it

- ` + "`oraccl-check .`" + ` executes every schedule exactly, checks every certificate in exact
  arithmetic, and decides every claim. It contains no solver and builds with CGO_ENABLED=0.
  With ` + "`--topology`, `--collective`, `--size`" + ` and so on it also compares the problem with the
  one that you have in mind.
- ` + "`z3 schedule-NAME.smt2`" + ` or ` + "`cvc5 --incremental schedule-NAME.smt2`" + `: each answer must be
  what the comment before its query expects. The formulas state that some rank
  ends with a wrong value; their unsatisfiability is the proof.
- ` + "`lrat-check NAME.cnf NAME.lrat`" + `, where there is a proof in the format LRAT: it refutes
  the formula that there is a schedule of that many rounds or epochs. ` + "`oraccl-check`" + ` makes
  the formula from the problem and checks the proof itself.
- Any MIP solver on ` + "`NAME.mps`" + `, such as ` + "`highs NAME.mps`, `cbc NAME.mps` or `scip -f NAME.mps`" + `:
  it finds a solution where the name ends in feasible, and none where it ends in infeasible.
  The program asks for a schedule within the epochs or rounds that the name states, in which
  durations are rounded up to whole epochs; a reduction is read backwards.
- By hand: any other certificate names a set of nodes, a rank or a path; the bound is a
  division, and SPEC.md beside the verifier's source states which.`

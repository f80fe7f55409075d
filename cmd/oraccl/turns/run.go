package turns

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/certify/proofs"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/verify"
)

// CrossoverHelp is the text of the verb crossover.
const CrossoverHelp = `crossover schedules training jobs that share all GPUs and one network in turns. JOBS are
words, NAME=COMPUTE/NETWORK, files of ours (schema oraccl/jobs/1), or traces of runs, from which
it takes how long an iteration computes and communicates: timelines of Horovod, profiles of
PyTorch, Muri's table and others (see trace). With --topology it takes the buckets of a trace from
it, and how long each takes from the best schedule of a quick method on that network.

With one iteration of each job in a period, the least period is the largest of all
computation, all communication, and the slowest job alone; the schedule attains it, in
the order of the jobs. It is verified by three engines, which prove that it can be repeated
for ever, and that each job's own order is that of the job alone; the bound is checked.
Beside it stand time slicing and the best order in lock-step, which is Muri's estimate.

With --rates jobs have several iterations a period; the least period is then strongly NP-hard
to find, and the best of a search is set beside the bound. With --iterations jobs end after
that many, and what counts is the makespan. Where a bound is not met, exact looks for something
shorter by a mixed-integer program (HiGHS; for ten seconds at most): of periods in the
throughput form, in which the reciprocal of the period is a variable, of makespans with a variable for
each start at each tick. What it finds is verified, what the solver claims is not.`

// Output is where results go.
type Output struct {
	To      io.Writer
	File    string // for the schedule; "": none
	Picture string // for the picture, as SVG; "": none
	Proofs  string // directory for a dossier; "": none
	Jobs    string // for the workload; "": none
	JSON    bool
}

// prove writes a dossier, if one is wanted.
func (o *Output) prove(ctx context.Context, r *workloads.Report) error {
	if o.Proofs == "" {
		return nil
	}
	if err := proofs.WriteWorkload(ctx, o.Proofs, r, built.Tool()); err != nil {
		return fmt.Errorf("--proofs: %w", err)
	}
	return nil
}

// where prints where files are.
func (o *Output) where() {
	if o.File != "" {
		fmt.Fprintf(o.To, "written to %s\n", quote.Name(o.File))
	}
	if o.Proofs != "" {
		fmt.Fprintf(o.To, "proofs are in %s: oraccl check decides them\n", quote.Name(o.Proofs))
	}
}

// status is how a run ends that has printed its verdict.
func status(o verify.Outcome) error {
	if s := exit.Of(o); s != exit.Done {
		return exit.Status(s)
	}
	return nil
}

// Crossover schedules the jobs of files and words, and writes what came out.
func Crossover(ctx context.Context, args []string, a Asked, out Output) error {
	jobs, err := Read(ctx, args, a)
	if err != nil {
		return err
	}
	r, err := Compare(ctx, jobs, a)
	if err != nil {
		return err
	}
	if out.File != "" {
		if err := files.Write(out.File, func(w io.Writer) error { return native.WriteTimetable(w, r.Timetable()) }); err != nil {
			return err
		}
	}
	if out.Jobs != "" {
		w := *r.Timetable().Workload
		if jobs.Carry != nil { // how buckets are cut is for who schedules them
			w.Ops = slices.Clone(w.Ops)
			for i := range w.Ops {
				w.Ops[i].Chunks = nil
			}
		}
		if err := files.Write(out.Jobs, func(f io.Writer) error { return native.WriteWorkload(f, &w) }); err != nil {
			return err
		}
	}
	if out.Picture != "" {
		if err := files.Write(out.Picture, r.SVG); err != nil {
			return err
		}
	}
	again := *r.Verified
	again.Schedule = r.Timetable()
	if err := out.prove(ctx, &again); err != nil {
		return err
	}
	if out.JSON {
		if err := report.PrintJSON(out.To, r); err != nil {
			return err
		}
		return status(r.Verified.Verdict.Outcome)
	}
	r.Print(out.To)
	out.where()
	return status(r.Verified.Verdict.Outcome)
}

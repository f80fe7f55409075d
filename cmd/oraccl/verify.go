package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/oraccl/oraccl/verify/workload"
)

func newVerify() *cobra.Command {
	var engine, problem, emit, most string
	var noBound bool
	var timeLimit time.Duration
	var asJSON bool
	var by foreign.Truth
	var deploy deployFlags
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Prove or refute that a schedule performs its collective",
		Long: `verify reports whether schedules are feasible and correct.

The replay engine executes a schedule exactly; the smt engine states the claim about
the data as formulas, and Z3 refutes their negation. A schedule is refuted if either
refutes it. If the smt engine gives up, the replay alone can prove it, and the output
names both. If the two contradict each other, one of them has a defect: that is an
error, with exit status 2.

Schedules of other tools are recognised by their content: ` + foreign.Tools() + `.
Of what is proved the makespan is compared with the best bound for every cut of the buffer into
chunks, its certificate checked, as gap prints it. What has only an order, and MSCCL-IR with
--topology, gets the best times that its order, threadblocks and links allow. --max-gap makes
the exit status 1 where the gap is larger. Of schedules that are too large to be held in memory the
bound is looked for only with --max-gap.

They are judged by --topology and --collective, or else by the real topology and
collective whose names they state, not by the description in the file.

Compact files (.oraccl) of more than 4 million transfers are verified by the stream
engine, where it serves them, with a memory limit that is known in advance.

MSCCL-IR (XML), as files, lists or directories, is verified by the order engine. It
decides whether a file is correct for every order in which its threadblocks can run,
which runtimes load it, for which calls they select it, and up to which size its
connections have enough slots. Other findings are warnings, or notes if no runtime is
affected.

Execution plans of MSCCL++ (JSON), likewise, are verified by the plan engine: for every
order in which their threads can run, and for a range of messages, which is printed.`,
		Example: "  oraccl solve ring:4 --collective allgather --method ring -o ag.json\n" +
			"  oraccl verify ag.json\n" +
			"  oraccl verify ag.json --engine smt --emit-smt2 ag.smt2\n" +
			"  oraccl solve ring:4 --collective allreduce --method ring -o ar.xml\n" +
			"  oraccl verify ar.xml --size 1GiB --fail-on warning",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			gate, err := parseMaxGap(cmd, most)
			if err != nil {
				return err
			}
			args, worst, err := deploy.run(cmd, args, &by, asJSON, engine, emit, timeLimit, gate)
			if err != nil || len(args) == 0 {
				return deploy.end(worst, err)
			}
			chosen, err := enginesNamed(engine)
			if err != nil {
				return err
			}
			if emit != "" && len(args) > 1 {
				return fmt.Errorf("--emit-smt2: goes with one file, not %d", len(args))
			}
			var asked *model.Problem
			if problem != "" {
				if asked, err = readProblem(cmd.Context(), problem); err != nil {
					return err
				}
			}
			v := &judge.Asked{Problem: asked, Truth: by, Engines: chosen, TimeLimit: timeLimit, Formulas: emit, Said: cmd.ErrOrStderr()}
			for _, file := range args {
				s, err := verifyFile(cmd, v, file, asJSON, noBound, gate)
				if err != nil && len(args) == 1 {
					return err
				}
				if err != nil { // the other files are still of interest
					report.Line(cmd.ErrOrStderr(), "oraccl: error: %v", err)
					s = exit.Failure
				}
				if s == exit.Done && cmd.Context().Err() != nil { // not by every engine that was asked
					s = exit.Unknown
				}
				worst = exit.Worse(worst, s)
			}
			if worst != exit.Done {
				return exit.Status(worst)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&engine, "engine", "all", "the `engine`: replay, smt, stream (in bounded memory, while the file is read; for copies, and for sums along trees), orbit (of schedules that are the same for all ranks) or all; of a schedule of a workload compose, execute, smt or all")
	f.StringVar(&problem, "problem", "", "verify against the problem in this `file`, not the one that the schedule's file states")
	f.StringVar(&emit, "emit-smt2", "", "write the smt engine's formulas to this `file`, for Z3, cvc5 and others")
	f.DurationVar(&timeLimit, "time-limit", time.Minute, "wall `time` for the smt engine")
	f.BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/verify/1, one object a line")
	f.BoolVar(&noBound, "no-bound", false, "do not look for a lower bound")
	addMaxGap(cmd, &most, "each file")
	by.Define(cmd.Flags())
	deploy.addFlags(cmd)
	return cmd
}

// verifyFile verifies one file, prints the verdict and returns the exit status.
func verifyFile(cmd *cobra.Command, by *judge.Asked, file string, asJSON, noBound bool, gate *model.Gap) (int, error) {
	v, err := by.File(cmd.Context(), file)
	if err != nil {
		return 0, err
	}
	if !noBound && (gate != nil || v.Held()) {
		enter(cmd, "bounding")
		if err := v.Stand(cmd.Context()); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
	}
	if asJSON {
		err = report.PrintVerdictJSON(cmd.OutOrStdout(), v)
	} else {
		report.PrintVerdict(cmd.OutOrStdout(), v)
	}
	status := exit.Of(v.Verdict.Outcome)
	if x := v.Standing; gate != nil && (x == nil || !x.Bounded() || x.Gap() > *gate) {
		report.Line(cmd.ErrOrStderr(), "oraccl: --max-gap %v: exceeded, or not known, for %s", *gate, quote.Name(file))
		status = exit.Worse(status, exit.Refuted)
	}
	return status, err
}

// readProblem reads the problem in a file.
func readProblem(ctx context.Context, name string) (*model.Problem, error) {
	b, err := files.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	return native.ReadProblem(name, bytes.NewReader(b))
}

func enginesNamed(engine string) ([]string, error) {
	switch engine {
	case "all":
		return certify.Engines, nil
	case "replay", "smt", stream.Engine, orbit.Engine, workload.ComposeEngine, workload.ExecuteEngine:
		return []string{engine}, nil
	case "order":
		return nil, fmt.Errorf("--engine order: is for MSCCL-IR, where it is the only one; want replay, smt, stream, orbit or all")
	}
	return nil, fmt.Errorf("--engine %q: want replay, smt, stream, orbit, compose, execute or all", engine)
}

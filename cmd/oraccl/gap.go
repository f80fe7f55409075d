package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/smt"
)

// effort holds the flags that say how hard to work.
type effort struct {
	timeLimit time.Duration
	seed      uint64
	threads   int
	tries     int
	times     int // --effort
	unwind    int
}

func (f *effort) addFlags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.timeLimit, "time-limit", time.Minute, "wall `time` for each method, and for each proof by SMT")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of random choices; equal seeds give equal schedules")
	f.addTries(cmd)
	cmd.Flags().IntVar(&f.threads, "threads", 0, "threads to use (default: as many as cores)")
}

// evaluator returns an evaluator of the named methods, all of them for "".
func (f *effort) evaluator(cmd *cobra.Command, methods string) (*certify.Evaluator, error) {
	if f.timeLimit <= 0 {
		return nil, fmt.Errorf("--time-limit %v: want more than zero", f.timeLimit)
	}
	if f.threads < 0 {
		return nil, fmt.Errorf("--threads %d: want 0 or more", f.threads)
	}
	if err := f.checkTries(); err != nil {
		return nil, err
	}
	chosen, err := methodsListed(methods)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "oraccl-")
	if err != nil {
		return nil, err
	}
	return &certify.Evaluator{
		Scratch:  scratch,
		Methods:  chosen,
		Named:    methods != "",
		Options:  solve.Options{TimeLimit: f.timeLimit, Seed: f.seed, Threads: f.threads, Tries: f.tries, Effort: f.times, Unwind: f.unwind},
		SMT:      smt.Options{Timeout: f.timeLimit, Threads: f.threads},
		Progress: newProgress(cmd.ErrOrStderr()),
	}, nil
}

func newGap() *cobra.Command {
	var in problemFlags
	var work effort
	var methods, proofs, figure string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gap TOPO --collective C",
		Short: "Every method beside the certified bound",
		Long: `gap runs every method that serves the problem, has every schedule verified by
replay and by SMT, and prints how far each is from a lower bound whose
certificate is checked before it is printed.

Where the methods cut the buffer into different numbers of chunks, the bound is
one that holds for every number; --chunks makes all use the same.`,
		Example: "  oraccl gap dgx1 --collective allgather --size 8MiB --methods tacos,direct,ring\n  oraccl gap torus:4x4 --collective allgather --size 16MiB --cost blocking --methods cayley,ring --json\n  oraccl gap dgx1 --collective allgather --methods tacos,direct,ring --plot methods.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := in.problem(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := checkPlot(figure); err != nil {
				return err
			}
			if err := checkProofs(proofs); err != nil {
				return err
			}
			e, err := work.evaluator(cmd, methods)
			if err != nil {
				return err
			}
			defer e.Close()
			e.Refute = proofs != ""
			ev, err := e.Evaluate(cmd.Context(), p)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), reportToJSON(ev, "oraccl/gap/2"))
			} else {
				printReport(ev, cmd.OutOrStdout())
			}
			if err == nil && proofs != "" {
				err = writeProofs(context.WithoutCancel(cmd.Context()), proofs, ev, e)
			}
			if err == nil && figure != "" && len(ev.Rows) > 0 {
				err = plotGap(ev, figure)
			}
			if err != nil {
				return err
			}
			return statusOf(ev, cmd.Context())
		},
	}
	in.addFlags(cmd)
	work.addFlags(cmd)
	cmd.Flags().StringVar(&methods, "methods", "", "the `methods` to compare, separated by commas (default: all that serve)")
	cmd.Flags().StringVar(&proofs, "proofs", "", "write problem, schedules, certificates and formulas to this `directory`, for check")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/gap/2")
	cmd.Flags().StringVar(&figure, "plot", "", "draw the methods beside the bound to this `file`, .svg, .png or .pdf")
	return cmd
}

// status is the exit status of an evaluation.
func statusOf(ev *certify.Report, ctx context.Context) error {
	switch {
	case ev.AnyRefuted():
		return status(exitRefuted)
	case ctx.Err() != nil:
		return status(exitUnknown)
	case len(ev.Rows) == 0:
		return nothing(ev)
	case ev.Best() == nil:
		return status(exitUnknown)
	}
	return nil
}

// Command oraccl solves, bounds and verifies schedules of collective
// communication.
//
// It is thin: every verb parses its arguments, calls the packages under solve
// and verify, and prints what they say. Nothing that a solver returns is printed
// before the verifiers have agreed; nothing that is a bound is printed before
// its certificate has been checked.
//
// The exit status is 0 if the claim holds or the work is done, 1 if the claim is
// refuted, 2 for bad usage, bad input or a failure, and 3 if a limit was reached
// and the answer is unknown.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

func main() {
	highs.PrintToStderr()
	s := session.New(os.Stderr, os.Exit)
	s.Show(os.Stderr)
	os.Exit(runIn(s, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	return runIn(session.New(stderr, nil), args, stdout, stderr)
}

// runIn is run in a session.
func runIn(s *session.Session, args []string, stdout, stderr io.Writer) int {
	defer s.Leave()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	ctx = s.In(ctx)
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	s.End()
	var code exit.Status
	var open exit.LimitReached
	switch {
	case err == nil:
		return exit.Done
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &open), errors.Is(err, context.Canceled) && ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		report.Line(stderr, "oraccl: %v", err)
		return exit.Unknown
	}
	if usage.Hint(err) == "" {
		err = usage.OfCommand(cmd, err)
	}
	report.Line(stderr, "oraccl: error: %s", strings.NewReplacer("\n", " ", "\t", " ").Replace(err.Error()))
	if hint := usage.Hint(err); hint != "" {
		report.Line(stderr, "oraccl: hint: %s", hint)
	}
	return exit.Failure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "oraccl",
		Short: "Optimal schedules of collectives, verified, with bounds that can be checked",
		Long: `oraccl answers three questions about a schedule of a collective on a network:
is it right, how far is it from optimal, and what would be better.

Exit status: 0 the claim holds or the work is done, 1 the claim is refuted,
2 bad usage, bad input or failure, 3 a limit was reached and the answer is unknown.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versions(),
	}
	root.CompletionOptions.DisableDefaultCmd = true
	var limit string
	root.PersistentFlags().StringVar(&limit, files.Flag, "", "the most `bytes` that a file may have: by default 1GiB, and 16GiB for compact schedules and proofs")
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := commandLine(cmd, args).Useless(); err != nil {
			return err
		}
		most, err := int64(0), error(nil)
		if cmd.Flags().Changed(files.Flag) {
			if most, err = model.ParseBytes(limit); err == nil && most == 0 {
				err = errors.New("0 bytes, want at least one")
			}
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", files.Flag, err)
		}
		cmd.SetContext(files.With(cmd.Context(), most, os.Stdin))
		enter(cmd, cmd.Name())
		return nil
	}
	root.AddCommand(newSolve(), newGap(), newBound(), newVerify(), newView(), newConvert(), newCheck(), newExplain(), newVersion())
	addBeyondPage(root)
	usage.AddHints(root)
	return root
}

// enter enters a phase of a verb.
func enter(cmd *cobra.Command, phase string) { session.Of(cmd.Context()).Note(phase) }

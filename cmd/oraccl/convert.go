package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/certify"
)

func newConvert() *cobra.Command {
	var to, out string
	var by foreign.Truth
	var o convert.Options
	var names, summaries []string
	for _, t := range convert.Targets() {
		names = append(names, t.Name)
		summaries = append(summaries, fmt.Sprintf("  %-8s %s", t.Name, t.Summary))
	}
	cmd := &cobra.Command{
		Use:   "convert FILE --to FORMAT",
		Short: "Convert a schedule to another tool's format",
		Long: `convert reads a schedule, executes it, and writes it in another format if it is right:

` + strings.Join(summaries, "\n") + `

A schedule with an order but no times gets the earliest times of that order. Trace events
begin at 1 us, since viewers take a time of 0 for none.

GOAL is for LogGOPSim with the parameters that are printed: L, o, g and G in units of
--unit, which is 1 ns by default. It then takes as long as the schedule where a rank sends
and receives one chunk at a time. With --pairs it does so too where a rank has several at
once over links of their own, and what it forwards goes to the rank that is as far from it
as the sender is: LogGOPSim has an operation wait for others on its own CPU alone.

Chakra files are for ASTRA-sim as a custom collective, not as a workload. The keys of its
system file are, for an allgather that was written with -o ag (all-reduce-, reduce-scatter-
and all-to-all-implementation-custom for the others):

  "all-gather-implementation-custom": ["ag"],
  "active-chunks-per-dimension": 1,
  "preferred-dataset-splits": 1

It then takes as long as the schedule where no link is shared. Run as a workload, the files
take up to 7 times as long, since ASTRA-sim then has one send at a time per NPU.

An execution plan of MSCCL++ is for all messages that divide into its chunks; it is
written if verify proves it without a warning. Ranks between which links are fast are taken
to be of one machine, and exchange data through memory channels; ports lead between machines.
What is done alike with many chunks becomes pipelines. Where a rank reads the sum of all
ranks at a switch and writes it to all, multimem does that; other sums of switches are refused.
Small messages are exchanged as packets.

MSCCL-IR becomes a schedule on --topology, or else on links between every two ranks; in
place, if the file serves calls in place. It is converted if verify accepts it, for the
buffer of --size if that is given. So do execution plans, except for those in which a switch
adds or copies, and sendrecv.

A schedule of a workload whose operations are one --collective together, such as the steps of a
hierarchical allreduce, becomes the schedule of that, with the same transfers at the same times.`,
		Example: "  oraccl solve ring:4 --collective allgather --method ring -o ag.json\n" +
			"  oraccl convert ag.json --to chrome -o ag.trace.json\n" +
			"  oraccl convert ag.json --to chakra -o ag\n" +
			"  oraccl convert ag.json --to msccl -o ag.xml\n" +
			"  oraccl convert ag.json --to mscclpp -o ag.plan.json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := convert.Named(to)
			if err != nil {
				return err
			}
			if err := o.Check(target); err != nil {
				return err
			}
			if convert.Streams(cmd.Context(), args[0], to, out) && !by.Given() {
				if err := convert.Stream(cmd.Context(), cmd.ErrOrStderr(), args[0], out); err != nil {
					return notRight(cmd, err, "converted")
				}
				fmt.Fprintf(cmd.OutOrStdout(), "written to %s\n", quote.Name(out))
				return nil
			}
			r, err := right(cmd, args[0], &by)
			if err != nil {
				return err
			}
			return convertTo(cmd, args[0], r, target, out, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "the `format`: "+strings.Join(names, ", "))
	f.StringVarP(&out, "output", "o", "", "the `file` to write, or the beginning of the names of several; default: standard output")
	by.Define(cmd.Flags())
	f.StringVar(&o.GOAL.Unit, "unit", "", "for goal: the `time` of one unit of calc, and of the parameters that are printed (default: 1ns)")
	f.BoolVar(&o.GOAL.Pairs, "pairs", false, "for goal: a CPU and a NIC for each directed pair of ranks, up to 256 ranks (default: one of each for a rank)")
	f.StringVar(&o.MSCCL.Runtime, "runtime", "", "for msccl: the `runtime` that must load it, msccl, rccl or azure (default: all of them); for mscclpp: mscclpp@0.10")
	f.StringVar(&o.MSCCL.Proto, "proto", "", "for msccl: the `protocol` of the connections, Simple, LL or LL128 (default: Simple); for mscclpp: Simple, or LL, which exchanges packets (default: LL for messages of up to 64 KiB)")
	f.StringVar(&o.MSCCL.InPlace, "inplace", "", "for msccl and mscclpp: whether it serves calls in place: `yes`, no or (msccl) both (default: yes, but no for an alltoall)")
	return cmd
}

// convertTo writes a schedule that was read from a file in another format, and prints what is
// to be known of what it wrote.
func convertTo(cmd *cobra.Command, file string, r *judge.Right, target *convert.Target, out string, o *convert.Options) error {
	p, s, stdout := r.Problem, r.Schedule, cmd.OutOrStdout()
	if target.Timed && s.Form == model.Ordered {
		var err error
		if s, err = certify.Timed(cmd.Context(), p, s, r.Order); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	report.PrintNotes(cmd.ErrOrStderr(), p.Topology.Notes)
	lines, err := target.Emit(cmd.Context(), stdout, out, p, s, o)
	if err != nil {
		return err
	}
	for _, text := range lines {
		fmt.Fprintln(stdout, text)
	}
	w := stdout
	if out == "" {
		w = cmd.ErrOrStderr()
	}
	for _, text := range target.Use(out, p, s, o) {
		report.Line(w, "%s", text)
	}
	return nil
}

// right reads a schedule that is to be converted, ours or another tool's, and has it executed.
// What is not right is printed.
func right(cmd *cobra.Command, file string, by *foreign.Truth) (*judge.Right, error) {
	r, err := judge.ReadRight(cmd.Context(), file, by)
	if err != nil {
		return nil, notRight(cmd, err, "converted")
	}
	if d := r.Deployed; d != nil && d.Proviso != "" {
		report.Line(cmd.ErrOrStderr(), "oraccl: %s: %s", quote.Name(file), report.DeployVerdict(d))
	}
	report.PrintNotes(cmd.ErrOrStderr(), r.Notes)
	return r, nil
}

// notRight prints what is wrong with a schedule that was to be converted, or whatever was to be
// done with it, and returns the exit status. Another error it returns.
func notRight(cmd *cobra.Command, err error, done string) error {
	var wrong *judge.NotRightError
	if !errors.As(err, &wrong) {
		return err
	}
	report.PrintNotes(cmd.ErrOrStderr(), wrong.Notes)
	for _, text := range wrong.Lines(done) {
		report.Line(cmd.OutOrStdout(), "%s", text)
	}
	return exit.Status(exit.Of(wrong.Verdict.Outcome))
}

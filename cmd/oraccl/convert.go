package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/export"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/place"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// target is a format that convert writes.
type target struct {
	name, summary string
	timed         bool // needs a schedule with times
	// write writes one file; nil: files writes several, whose names begin with out.
	write func(out string, w io.Writer, p *model.Problem, s *model.Schedule, o *exportFlags) error
	files func(out string, p *model.Problem, s *model.Schedule) (note string, err error)
	// use returns how the tool is to be run on what was written, in lines; nil: as it is.
	use func(out string, p *model.Problem, s *model.Schedule, o *exportFlags) []string
	// deploys says that the flags for deployable schedules are for it.
	deploys bool
}

// exportFlags are the flags of convert for other formats than MSCCL-IR.
type exportFlags struct {
	unit  string // of GOAL's calc
	pairs bool
}

// goal returns the options of GOAL.
func (o *exportFlags) goal() (export.GOALOptions, error) {
	g := export.GOALOptions{Unit: model.Nanosecond, Pairs: o.pairs}
	if o.unit == "" {
		return g, nil
	}
	unit, err := model.ParseTime(o.unit)
	if err == nil && unit == 0 {
		err = errors.New("0, want more")
	}
	if err != nil {
		return g, fmt.Errorf("--unit: %w", err)
	}
	g.Unit = unit
	return g, nil
}

// useGOAL returns the parameters of LogGOPSim for a GOAL file, and what they leave out.
func useGOAL(_ string, p *model.Problem, s *model.Schedule, o *exportFlags) []string {
	g, err := o.goal()
	if err != nil {
		return nil // it was not written
	}
	x := export.NewLogGOPS(p, s, g.Unit)
	lines := []string{fmt.Sprintf("for LogGOPSim: %v (units of %v)", x, g.Unit)}
	exact, _ := x.Exact.Float64()
	if off := math.Abs(float64(x.G)-exact) / exact; off > 0.01 {
		lines = append(lines, fmt.Sprintf("a byte takes %.4g units, G is a whole number of them: its times are %.1f%% off; a smaller --unit is closer", exact, 100*off))
	}
	if !x.Latency || !x.PerByte {
		lines = append(lines, "the routes of the schedule differ in latency or bandwidth; LogGOPSim has one of each, here those of the slowest")
	}
	if !g.Pairs && !x.OnePort {
		lines = append(lines, "LogGOPSim sends and receives one message at a time per rank; with --pairs one per directed pair of ranks")
	}
	return lines
}

// useChakra returns the lines of ASTRA-sim's system file.
func useChakra(out string, p *model.Problem, _ *model.Schedule, _ *exportFlags) []string {
	key := export.CustomCollective(p.Collective.Kind)
	if key == "" {
		return []string{fmt.Sprintf("ASTRA-sim has no custom collective for %v: it can run the files as a workload only, one send at a time per NPU", p.Collective.Kind)}
	}
	return []string{fmt.Sprintf(`for ASTRA-sim's system file: "%s": [%s], "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1`, key, strconv.Quote(out))}
}

var targets = []target{
	{name: "oraccl", summary: "our own schedule file (compact, if its name ends in .oraccl)",
		write: func(out string, w io.Writer, p *model.Problem, s *model.Schedule, _ *exportFlags) error {
			return schedules.Encode(out, w, &model.Solution{Problem: p, Schedule: s, Origin: model.Origin{Method: "convert"}})
		}},
	{name: "chrome", summary: "trace events, for Perfetto and chrome://tracing", timed: true,
		write: func(_ string, w io.Writer, p *model.Problem, s *model.Schedule, _ *exportFlags) error {
			return export.Chrome(w, p, s)
		}},
	{name: "goal", summary: "GOAL, for LogGOPSim and ATLAHS", timed: true, use: useGOAL,
		write: func(_ string, w io.Writer, p *model.Problem, s *model.Schedule, o *exportFlags) error {
			g, err := o.goal()
			if err != nil {
				return err
			}
			return export.GOAL(w, p, s, g)
		}},
	{name: "chakra", summary: "Chakra execution traces, for ASTRA-sim: OUT.0.et and so on, one per rank", timed: true, use: useChakra,
		files: func(out string, p *model.Problem, s *model.Schedule) (string, error) {
			err := export.Chakra(p, s, func(rank int) (io.WriteCloser, error) { return os.Create(fmt.Sprintf("%s.%d.et", out, rank)) })
			return fmt.Sprintf("written to %s.0.et to %s.%d.et", out, filepath.Base(out), p.Topology.Ranks-1), err
		}},
	{name: "msccl", summary: "MSCCL-IR, for microsoft/msccl, RCCL and Azure's executor: threadblocks, channels and dependencies are assigned, and the file is verified", deploys: true},
}

// emit writes a schedule to a file or, if out is empty, to w.
func (t *target) emit(ctx context.Context, w io.Writer, out string, p *model.Problem, s *model.Schedule, o *exportFlags, d *deployable) error {
	switch {
	case t.deploys && out == "":
		_, err := d.write(ctx, w, p, s)
		return err
	case t.deploys:
		note, err := d.writeTo(ctx, out, p, s)
		if err == nil {
			fmt.Fprintf(w, "%s\nwritten to %s\n", note, out)
		}
		return err
	case t.files != nil && out == "":
		return fmt.Errorf("--to %s: writes several files, and needs -o for the beginning of their names", t.name)
	case t.files != nil:
		note, err := t.files(out, p, s)
		if err == nil {
			fmt.Fprintln(w, note)
		}
		return err
	case out == "":
		return t.write(out, w, p, s, o)
	}
	if err := files.Write(out, func(f io.Writer) error { return t.write(out, f, p, s, o) }); err != nil {
		return err
	}
	fmt.Fprintf(w, "written to %s\n", out)
	return nil
}

func newConvert() *cobra.Command {
	var to, out string
	var by foreign.Truth
	var d deployable
	var o exportFlags
	var names, summaries []string
	for _, t := range targets {
		names = append(names, t.name)
		summaries = append(summaries, fmt.Sprintf("  %-8s %s", t.name, t.summary))
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

MSCCL-IR becomes a schedule on --topology, or else on links between every two ranks; in
place, if the file serves calls in place. It is converted if verify accepts it, for the
buffer of --size if that is given.`,
		Example: "  oraccl solve ring:4 --collective allgather --method ring -o ag.json\n" +
			"  oraccl convert ag.json --to chrome -o ag.trace.json\n" +
			"  oraccl convert ag.json --to chakra -o ag\n" +
			"  oraccl convert ag.json --to msccl -o ag.xml",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.IndexFunc(targets, func(t target) bool { return t.name == to })
			if i < 0 {
				return fmt.Errorf("--to %q: want %s", to, strings.Join(names, ", "))
			}
			if !targets[i].deploys && d != (deployable{}) {
				return errors.New("--runtime, --inplace and --proto: are for --to msccl")
			}
			if to != "goal" && o != (exportFlags{}) {
				return errors.New("--unit and --pairs: are for --to goal")
			}
			if rewrites(cmd.Context(), args[0], to, out) && !by.Given() {
				return rewrite(cmd, args[0], out)
			}
			p, s, err := right(cmd, args[0], &by)
			if err != nil {
				return err
			}
			if targets[i].timed && s.Form == model.Ordered {
				if s, err = timed(cmd.Context(), p, s); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
			}
			report.PrintNotes(cmd.ErrOrStderr(), p.Topology.Notes)
			if err := targets[i].emit(cmd.Context(), cmd.OutOrStdout(), out, p, s, &o, &d); err != nil || targets[i].use == nil {
				return err
			}
			w := cmd.OutOrStdout()
			if out == "" {
				w = cmd.ErrOrStderr()
			}
			for _, text := range targets[i].use(out, p, s, &o) {
				report.Line(w, "%s", text)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "the `format`: "+strings.Join(names, ", "))
	f.StringVarP(&out, "output", "o", "", "the `file` to write, or the beginning of the names of several; default: standard output")
	by.Define(cmd.Flags())
	f.StringVar(&o.unit, "unit", "", "for goal: the `time` of one unit of calc, and of the parameters that are printed (default: 1ns)")
	f.BoolVar(&o.pairs, "pairs", false, "for goal: a CPU and a NIC for each directed pair of ranks, up to 256 ranks (default: one of each for a rank)")
	f.StringVar(&d.runtime, "runtime", "", "for msccl: the `runtime` that must load it, msccl, rccl or azure (default: all of them)")
	f.StringVar(&d.proto, "proto", "", "for msccl: the `protocol` of the connections, Simple, LL or LL128 (default: Simple)")
	f.StringVar(&d.inPlace, "inplace", "", "for msccl: whether it serves calls in place: `yes`, no or both (default: yes, but no for an alltoall)")
	return cmd
}

// right reads a schedule, ours or another tool's, and has it executed. What is refuted is
// printed, and is an error.
func right(cmd *cobra.Command, file string, by *foreign.Truth) (*model.Problem, *model.Schedule, error) {
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	if isDeployable(ctx, file) {
		d, p, s, err := rightDeployed(ctx, w, file, by, "converted")
		if err == nil && d.report.Proviso != "" {
			report.Line(cmd.ErrOrStderr(), "oraccl: %s: %s", quote.Name(file), d.verdict())
		}
		return p, s, err
	}
	format, b, err := foreign.Recognise(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	if format == nil {
		if by.Given() {
			return nil, nil, fmt.Errorf("%s: is no schedule of another tool, which --topology, --collective, --size, --root and --chunks are for", file)
		}
		sol, err := schedules.Load(ctx, file, model.MaxHeld)
		if err != nil {
			return nil, nil, err
		}
		return sol.Problem, sol.Schedule, proved(w, file, sol.Problem, replay.Check(ctx, sol.Problem, sol.Schedule), "converted")
	}
	m, err := format.Read(ctx, by, nil, file, b)
	if err != nil {
		return nil, nil, err
	}
	v := m.Verdict(ctx) // which may change what was imported
	report.PrintNotes(cmd.ErrOrStderr(), m.Notes)
	return m.Problem, m.Schedule, proved(w, file, m.Problem, v, "converted")
}

// proved is nil for what is right; else it prints what is wrong, as verify does, and what the
// schedule was to be: "converted".
func proved(w io.Writer, file string, p *model.Problem, v verify.Verdict, tobe string) error {
	if v.Outcome == verify.Proved {
		return nil
	}
	report.Line(w, "%s %s: %v", strings.ToUpper(v.Outcome.String()), quote.Name(file), p)
	if v.Outcome == verify.Refuted {
		report.Line(w, "%v", v.Violations[0])
		report.Line(w, "not %s; oraccl verify says more", tobe)
	} else {
		report.Line(w, "%s", v.Reason)
		report.Line(w, "not %s", tobe)
	}
	return exit.Status(exit.Of(v.Outcome))
}

// timed gives a schedule that has only an order the times at which it can run, on the routes
// that it has, and checks that it is right with them.
func timed(ctx context.Context, p *model.Problem, s *model.Schedule) (*model.Schedule, error) {
	order, err := s.TopologicalOrder()
	if err != nil {
		return nil, err
	}
	program := place.NewProgram(p)
	for _, i := range order {
		t := &s.Transfers[i]
		program.Batch(place.Move{Chunk: int(t.Chunk), Src: int(t.Src), Dst: int(t.Dst), Op: t.Op, Routes: [][]int{s.Routes[t.Route]}})
	}
	placed, err := program.Place()
	if err != nil {
		return nil, err
	}
	if v := replay.Check(ctx, p, placed); v.Outcome != verify.Proved {
		return nil, fmt.Errorf("with times it is not right: %v %s", v.Violations, v.Reason)
	}
	return placed, nil
}

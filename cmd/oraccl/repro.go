//go:build !js

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
	"github.com/oraccl/oraccl/model/files"
)

// reproduction holds the flags of report.
type reproduction struct {
	work   effort
	full   bool
	out    string
	tables string
	part   string
	slurm  onSlurm
	s      experiment.Suite
}

func newRepro() *cobra.Command {
	var x reproduction
	cmd := &cobra.Command{
		Use:   "repro list | NAME... | all | FILE.yaml...",
		Short: "Published results compared with ours and with the certified bound",
		Long: `repro recomputes published tables and figures and compares them with ours. Every row has
the published value with its source and its certainty, our value, the certified bound
if there is one, a verdict (agrees, better, worse, not comparable, not published) and
the difference in a sentence. Schedules are proved by replay and by SMT, and bounds are
checked, before they are printed.

An experiment is a file: it names instances, methods, what is compared and the tables of
published values, which are beside it. "oraccl help experiments" describes the file, and
"oraccl repro my-paper.yaml" runs yours. "repro list" names those in the program.

Without -o the report is printed as Markdown. With -o DIR there is a directory for each in
DIR, with report.md, rows.csv and the figures as CSV and SVG; "repro all" writes index.html,
too, one page with all of it (by default to the directory repro). What is finished is kept
in DIR, and a run with the same program, seed and limits goes on from there, after Ctrl-C,
too: "oraccl repro stragglar tacos sccl -o repro", "oraccl repro all --full".

With -j N processes compute at once. With --on slurm an array of Slurm tasks computes, on
machines that share DIR and the working directory; the report is written when they are
done. If a node is lost, the same command submits only the lines that are missing, and
waits for jobs that exist already. Any other scheduler runs tasks with --part I/N; the same
command without --part then makes the report, and computes what a lost task left.

With --proofs each result is kept with what it rests on: DIR/NAME/proofs has a dossier for each
bound, each method's schedule and each measure of an instance, which "oraccl check
DIR/NAME/proofs/*" accepts. What was kept without proofs is computed again; what was kept with
them serves runs without. What a measure rests on that no dossier holds is printed by name.

--published names a directory with tables of the same form, <paper>/<table>.csv, to be used
in place of those in the program.`,
		Example: "  oraccl repro list\n" +
			"  oraccl repro tacos -o repro --on slurm --submit=false --slurm-args '--partition=long --time=2:00:00'",
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(experimentNames(), "all", "list"), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, args) },
	}
	x.work.addFlags(cmd, 5*time.Minute, "") // what takes seconds is not to depend on how busy the machine is
	f := cmd.Flags()
	f.BoolVar(&x.full, "full", false, "larger instances and longer searches, too: hours")
	f.IntVarP(&x.s.Workers, "workers", "j", 1, "with -o: how many processes compute at once")
	f.StringVar(&x.part, "part", "", "with -o: compute only every N-th line, from the I-th on, counted from 0, as `I/N`, and write no report: a task of an array")
	x.slurm.addFlags(cmd, "line")
	f.StringVarP(&x.out, "output", "o", "", "write reports, tables and figures to this `directory`")
	f.BoolVar(&x.s.Proofs, "proofs", false, "with -o: keep schedules and certificates, too, in DIR/NAME/proofs, for check")
	f.StringVar(&x.tables, "published", "", "a `directory` with tables of published values to use in place of those in the program")
	return cmd
}

func experimentNames() []string {
	var names []string
	for _, f := range experiment.Known() {
		names = append(names, f.Name)
	}
	return names
}

// parts checks the flags that want a directory, and reads those of several processes.
func (x *reproduction) parts() error {
	switch {
	case x.s.Workers < 1:
		return fmt.Errorf("-j %d: want 1 or more", x.s.Workers)
	case x.out == "" && (x.s.Workers > 1 || x.part != ""):
		return errors.New("-j and --part: want -o, the directory that the processes share")
	case x.out == "" && x.slurm.on != "":
		return errors.New("--on: want -o, the directory that the tasks share")
	case x.out == "" && x.s.Proofs:
		return errors.New("--proofs: want -o, the directory that they are written to")
	}
	if err := x.slurm.check(); err != nil || x.part == "" {
		return err
	}
	i, n, err := splitPart(x.part)
	x.s.Part, x.s.Parts = i, n
	return err
}

func (x *reproduction) run(cmd *cobra.Command, args []string) error {
	if slices.Equal(args, []string{"list"}) {
		return experiment.List(cmd.OutOrStdout(), experiment.Known())
	}
	all, done, err := experiment.Choose(cmd.Context(), args)
	defer done()
	var unknown *experiment.UnknownError
	if errors.As(err, &unknown) {
		return exit.Hint(err, usage.Meant(unknown.Name, append(unknown.Known, "all", "list"), "oraccl repro list names them"))
	}
	if err != nil {
		return err
	}
	index := slices.Equal(args, []string{"all"})
	if index && x.out == "" {
		x.out = "repro"
	}
	if err := x.parts(); err != nil {
		return err
	}
	e, err := x.work.evaluator(cmd, "")
	if err != nil {
		return err
	}
	defer e.Close()
	e.Named = true
	if x.tables != "" {
		dir, err := files.OpenDir(cmd.Context(), x.tables)
		if err != nil {
			return fmt.Errorf("--published %w; want a directory with tables of published values", err)
		}
		defer dir.Close()
		for _, f := range all {
			f.Replace(dir, filepath.ToSlash(x.tables))
		}
	}
	s := &x.s
	s.Evaluator, s.Full, s.Out, s.Stdout, s.Stderr = e, x.full, x.out, cmd.OutOrStdout(), cmd.ErrOrStderr()
	s.Again = append(slices.Clone(os.Args[1:]), "--workers=1", "--on=") // the last value of a flag counts
	if x.slurm.on != "" {
		s.Slurm = &x.slurm.Array
		s.Slurm.Stdout, s.Slurm.Stderr = s.Stdout, s.Stderr
	}
	err = s.Run(cmd.Context(), all, index && s.Parts == 0)
	var interrupted *experiment.InterruptedError
	if errors.As(err, &interrupted) {
		fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: %v\n", err)
		return exit.Status(exit.Unknown)
	}
	var incomplete *experiment.IncompleteError
	if errors.As(err, &incomplete) {
		fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: %v\n", err)
		return exit.Status(exit.Unknown)
	}
	return err
}

// aboutExperiments is what the manual has to know of the files of experiments.
func aboutExperiments() manual.Experiments {
	e := manual.Experiments{Fields: experiment.Fields(), Functions: experiment.Functions(), Measures: experiment.Measures()}
	for _, k := range experiment.Schema() {
		e.Parts = append(e.Parts, manual.ExperimentPart{Name: k.Part, Rows: k.Rows})
	}
	e.File, e.Table = experiment.Example()
	return e
}

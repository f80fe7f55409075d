package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/oraccl/oraccl/verify/workload"
)

// deployFlags are the flags of verify for MSCCL-IR and execution plans.
type deployFlags struct {
	inPlace, runtime, format string
	filter                   report.Filter
}

// noDeployFlags are their values where none is given.
var noDeployFlags = deployFlags{format: "text", filter: report.NewFilter()}

func (f *deployFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.inPlace, "inplace", "", "for MSCCL-IR and execution plans: verify in place (`yes`), out of place (no), or as the file declares")
	flags.Lookup("inplace").NoOptDefVal = "yes"
	flags.StringVar(&f.runtime, "runtime", "", "for MSCCL-IR and execution plans: the `runtime` that must load it, msccl, rccl or azure, mscclpp@0.5, mscclpp@0.7 or mscclpp@0.10; any of them, if absent")
	flags.StringVar(&f.format, "format", noDeployFlags.format, "for MSCCL-IR and execution plans: `form` of the report: text, json, sarif, or github (annotations)")
	flags.StringSliceVar(&f.filter.Warnings, "warnings", noDeployFlags.filter.Warnings, "for MSCCL-IR and execution plans: `which` warnings and notes are shown: all, none, or those of these codes, such as too-few-slots,rank-order")
	flags.StringSliceVar(&f.filter.FailOn, "fail-on", noDeployFlags.filter.FailOn, "for MSCCL-IR and execution plans: `what` that is shown makes the exit status 1: error, warning or note, with all that is graver, or these codes")
}

// given reports whether a flag was used.
func (f *deployFlags) given() bool {
	return f.inPlace != noDeployFlags.inPlace || f.runtime != noDeployFlags.runtime || f.format != noDeployFlags.format ||
		!slices.Equal(f.filter.Warnings, noDeployFlags.filter.Warnings) || !slices.Equal(f.filter.FailOn, noDeployFlags.filter.FailOn)
}

// options brings the flags together.
func (f *deployFlags) options(t *foreign.Truth) (deploy.Options, error) {
	o := deploy.Options{Runtime: f.runtime}
	switch f.inPlace {
	case "":
	case "yes":
		o.Mode = deploy.InPlace
	case "no":
		o.Mode = deploy.OutOfPlace
	default:
		return o, fmt.Errorf("--inplace=%s: want yes or no", f.inPlace)
	}
	if f.runtime != "" {
		if _, err := msccl.ParseRuntime(f.runtime); err != nil && !slices.Contains(mscclpp.Runtimes(), f.runtime) {
			return o, fmt.Errorf("--runtime: %w; of execution plans, one of %v", err, mscclpp.Runtimes())
		}
	}
	if !slices.Contains(report.Formats(), f.format) {
		return o, fmt.Errorf("--format %q: want text, json, sarif or github", f.format)
	}
	if err := codesNamed("--warnings", f.filter.Warnings, "all", "none"); err != nil {
		return o, err
	}
	if err := codesNamed("--fail-on", f.filter.FailOn, deploy.Error.String(), deploy.Warning.String(), deploy.Note.String()); err != nil {
		return o, err
	}
	return o, judge.AskedDeployed(t, &o)
}

// codesNamed returns an error if a flag's value is neither one of some words nor all codes
// of warnings.
func codesNamed(flag string, list []string, words ...string) error {
	for _, name := range list {
		word := slices.Contains(words, name)
		switch {
		case word && len(list) > 1:
			return fmt.Errorf("%s %s: want %s alone, or codes", flag, strings.Join(list, ","), name)
		case !word && !slices.Contains(deploy.Warnings(), verify.Code(name)):
			return fmt.Errorf("%s %q: want %s, or some of the codes %v", flag, name, strings.Join(words, ", "), deploy.Warnings())
		}
	}
	return nil
}

// run verifies the files among args that are MSCCL-IR or execution plans, prints the verdicts, and
// returns the other files and the worst exit status.
//
// The order engine decides, unless --engine asks for formulas too; emit is where
// these go.
func (f *deployFlags) run(cmd *cobra.Command, args []string, t *foreign.Truth, asJSON bool, engine, emit string, limit time.Duration, gate *model.Gap) (rest []string, worst int, err error) {
	var xml []string
	for _, arg := range args {
		switch stat, err := os.Stat(arg); {
		case err == nil && stat.IsDir():
			found, err := judge.Below(cmd.Context(), arg)
			if err != nil {
				return nil, 0, err
			}
			for _, file := range found {
				if judge.IsDeployed(cmd.Context(), file) {
					xml = append(xml, file)
				} else { // of another tool, or no schedule
					rest = append(rest, file)
				}
			}
		case judge.IsDeployed(cmd.Context(), arg):
			xml = append(xml, arg)
		default:
			rest = append(rest, arg)
		}
	}
	for _, file := range rest {
		if _, _, err := foreign.Recognise(cmd.Context(), file); f.given() && err == nil { // what is no schedule is said later
			return nil, 0, fmt.Errorf("%s: is neither MSCCL-IR nor an execution plan, which --inplace, --runtime, --format, --warnings and --fail-on are for", file)
		}
	}
	if len(xml) == 0 {
		return rest, exit.Done, nil
	}
	for _, name := range []string{"problem", "chunks"} {
		if cmd.Flags().Changed(name) {
			return nil, 0, fmt.Errorf("--%s: is not for MSCCL-IR, such as %s", name, xml[0])
		}
	}
	if asJSON {
		f.format = "json"
	}
	by, err := f.options(t)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case slices.Contains([]string{"replay", stream.Engine, workload.ComposeEngine, workload.ExecuteEngine}, engine):
		return nil, 0, fmt.Errorf("--engine %s: is not for MSCCL-IR, want order, smt or all", engine)
	case engine == smt.Engine || engine == "all" && cmd.Flags().Changed("engine"):
		by.Formulas, by.TimeLimit = z3.New(), limit
	case cmd.Flags().Changed("time-limit") && len(rest) == 0:
		return nil, 0, errors.New("--time-limit: the smt engine alone has a limit; --engine smt asks for it of MSCCL-IR")
	}
	if emit != "" {
		if len(xml)+len(rest) > 1 {
			return nil, 0, fmt.Errorf("--emit-smt2: goes with one file, not %d", len(xml)+len(rest))
		}
		if err := judge.WriteFormulas(cmd.Context(), xml[0], emit, by); err != nil {
			return nil, 0, err
		}
	}
	found, errs := judge.AllDeployed(cmd.Context(), xml, by)
	var all []*deploy.Report
	for i, d := range found {
		switch {
		case errs[i] != nil && len(args) == 1 && len(xml) == 1:
			return nil, 0, errs[i]
		case errs[i] != nil: // the other files are still of interest
			report.Line(cmd.ErrOrStderr(), "oraccl: error: %v", errs[i])
			worst = exit.Failure
		case d == nil:
			worst = exit.Worse(worst, exit.Unknown)
			report.Line(cmd.ErrOrStderr(), "oraccl: interrupted before %s", quote.Name(xml[i]))
		default:
			worst = exit.Worse(worst, f.filter.Status(d))
			all = append(all, d)
		}
	}
	enter(cmd, "bounding")
	stands, said, status, err := judge.StandAll(cmd.Context(), all, t, gate)
	if err != nil {
		return nil, 0, err
	}
	for _, text := range said {
		report.Line(cmd.ErrOrStderr(), "oraccl: %s", text)
	}
	worst = exit.Worse(worst, status)
	return rest, worst, report.PrintAllDeployed(cmd.OutOrStdout(), all, stands, len(xml), f.format, &f.filter)
}

// end is what verify returns where only MSCCL-IR was asked about.
func (f *deployFlags) end(worst int, err error) error {
	if err == nil && worst != exit.Done {
		return exit.Status(worst)
	}
	return err
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/stream"
)

// deployFlags are the flags of verify for MSCCL-IR.
type deployFlags struct {
	inPlace, runtime, format string
	warnings, failOn         []string
}

// noDeployFlags are their values where none is given.
var noDeployFlags = deployFlags{format: "text", warnings: []string{"all"}, failOn: []string{"error"}}

func (f *deployFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.inPlace, "inplace", "", "for MSCCL-IR: verify in place (`yes`), out of place (no), or as the file declares")
	flags.Lookup("inplace").NoOptDefVal = "yes"
	flags.StringVar(&f.runtime, "runtime", "", "for MSCCL-IR: the `runtime` that must load it, msccl, rccl or azure; any of them, if absent")
	flags.StringVar(&f.format, "format", noDeployFlags.format, "for MSCCL-IR: `form` of the report: text, json, sarif, or github (annotations)")
	flags.StringSliceVar(&f.warnings, "warnings", noDeployFlags.warnings, "for MSCCL-IR: `which` warnings and notes are shown: all, none, or those of these codes, such as too-few-slots,rank-order")
	flags.StringSliceVar(&f.failOn, "fail-on", noDeployFlags.failOn, "for MSCCL-IR: `what` that is shown makes the exit status 1: error, warning or note, with all that is graver, or these codes")
}

// given reports whether a flag was used.
func (f *deployFlags) given() bool {
	return f.inPlace != noDeployFlags.inPlace || f.runtime != noDeployFlags.runtime || f.format != noDeployFlags.format ||
		!slices.Equal(f.warnings, noDeployFlags.warnings) || !slices.Equal(f.failOn, noDeployFlags.failOn)
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
		if _, err := msccl.ParseRuntime(f.runtime); err != nil {
			return o, fmt.Errorf("--runtime: %w", err)
		}
	}
	if !slices.Contains([]string{"text", "json", "sarif", "github"}, f.format) {
		return o, fmt.Errorf("--format %q: want text, json, sarif or github", f.format)
	}
	if err := codesNamed("--warnings", f.warnings, "all", "none"); err != nil {
		return o, err
	}
	if err := codesNamed("--fail-on", f.failOn, deploy.Error.String(), deploy.Warning.String(), deploy.Note.String()); err != nil {
		return o, err
	}
	return o, askedBy(t, &o)
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

// askedBy sets what the flags for schedules of other tools ask of MSCCL-IR.
func askedBy(t *foreign.Truth, o *deploy.Options) (err error) {
	if t.Collective != "" && !slices.Contains(msccl.Collectives(), strings.ReplaceAll(t.Collective, "_", "")) {
		return fmt.Errorf("--collective %q: of MSCCL-IR, want one of %v", t.Collective, msccl.Collectives())
	}
	o.Collective, o.Root = t.Collective, t.Root
	if t.Size != "" {
		if o.Size, err = model.ParseBytes(t.Size); err != nil {
			return fmt.Errorf("--size: %w", err)
		}
		if o.Size == 0 {
			return errors.New("--size: 0 bytes, want at least one")
		}
	}
	return nil
}

// shows reports whether a finding is to be shown: what refutes always is.
func (f *deployFlags) shows(x deploy.Finding) bool {
	return x.Level == deploy.Error || !slices.Contains(deploy.Warnings(), x.Code) || slices.Contains(f.warnings, "all") || slices.Contains(f.warnings, string(x.Code))
}

// shown returns the findings of a file that are to be shown.
func (f *deployFlags) shown(d *deployed) []deploy.Finding {
	return slices.DeleteFunc(slices.Clone(d.report.Findings), func(x deploy.Finding) bool { return !f.shows(x) })
}

// fails reports whether a finding that is shown makes the exit status 1.
func (f *deployFlags) fails(x deploy.Finding) bool {
	for l := deploy.Note; l <= x.Level; l++ {
		if slices.Contains(f.failOn, l.String()) {
			return true
		}
	}
	return slices.Contains(f.failOn, string(x.Code))
}

// status is the exit status of a file, with what --fail-on makes of it.
func (f *deployFlags) status(d *deployed) int {
	s := d.status()
	if slices.ContainsFunc(f.shown(d), f.fails) {
		s = exit.Worse(s, exit.Refuted)
	}
	return s
}

// run verifies the files among args that are MSCCL-IR, prints the verdicts, and
// returns the other files and the worst exit status.
//
// The order engine decides, unless --engine asks for formulas too; emit is where
// these go.
func (f *deployFlags) run(cmd *cobra.Command, args []string, t *foreign.Truth, asJSON bool, engine, emit string, limit time.Duration) (rest []string, worst int, err error) {
	var xml []string
	for _, arg := range args {
		switch stat, err := os.Stat(arg); {
		case err == nil && stat.IsDir():
			found, err := xmlBelow(arg)
			if err != nil {
				return nil, 0, err
			}
			for _, file := range found {
				if isDeployable(cmd.Context(), file) {
					xml = append(xml, file)
				} else { // of another tool, or no schedule
					rest = append(rest, file)
				}
			}
		case isDeployable(cmd.Context(), arg):
			xml = append(xml, arg)
		default:
			rest = append(rest, arg)
		}
	}
	for _, file := range rest {
		if _, _, err := foreign.Recognise(cmd.Context(), file); f.given() && err == nil { // what is no schedule is said later
			return nil, 0, fmt.Errorf("%s: is no MSCCL-IR, which --inplace, --runtime, --format, --warnings and --fail-on are for", file)
		}
	}
	if len(xml) == 0 {
		return rest, exit.Done, nil
	}
	for _, name := range []string{"problem", "topology", "alpha", "bandwidth", "chunks"} {
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
	case engine == "replay" || engine == stream.Engine:
		return nil, 0, fmt.Errorf("--engine %s: is not for MSCCL-IR, want order, smt or all", engine)
	case engine == smt.Engine || engine == "all" && cmd.Flags().Changed("engine"):
		by.Formulas, by.TimeLimit = z3.New(), limit
	}
	if emit != "" {
		if len(xml)+len(rest) > 1 {
			return nil, 0, fmt.Errorf("--emit-smt2: goes with one file, not %d", len(xml)+len(rest))
		}
		if err := emitFormulas(cmd.Context(), xml[0], emit, by); err != nil {
			return nil, 0, err
		}
	}
	found, errs := make([]*deployed, len(xml)), make([]error, len(xml))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range xml {
		g.Go(func() error {
			if cmd.Context().Err() != nil {
				return nil
			}
			if found[i], errs[i] = judgeDeployed(cmd.Context(), file, by); errs[i] == nil {
				found[i].release()
			}
			return nil
		})
	}
	_ = g.Wait() // errs has what went wrong
	var all []*deployed
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
			worst = exit.Worse(worst, f.status(d))
			all = append(all, d)
		}
	}
	return rest, worst, f.print(cmd.OutOrStdout(), all, len(xml))
}

// end is what verify returns where only MSCCL-IR was asked about.
func (f *deployFlags) end(worst int, err error) error {
	if err == nil && worst != exit.Done {
		return exit.Status(worst)
	}
	return err
}

// print writes the reports on some of the files.
func (f *deployFlags) print(w io.Writer, all []*deployed, of int) error {
	switch f.format {
	case "json":
		for _, d := range all {
			b, err := json.Marshal(d.json(f))
			if err != nil {
				return err
			}
			fmt.Fprintln(w, string(b))
		}
	case "sarif":
		return printSARIF(w, all, f)
	case "github":
		printGitHub(w, all, f)
	default:
		if of == 1 && len(all) == 1 {
			all[0].print(w, f)
		} else {
			summarise(w, all, f)
		}
	}
	return nil
}

// xmlBelow returns the XML files below a directory.
func xmlBelow(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".xml") {
			found = append(found, path)
			err = files.IsRegular(path)
		}
		return err
	})
	if err == nil && found == nil {
		err = exit.Hint(fmt.Errorf("%s: holds no .xml file", dir), "a directory is searched for MSCCL-IR; name other schedules one by one, or ask check, which reads directories of ours")
	}
	return found, err
}

package report

import (
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/certify"
	"io"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/verify/deploy"
)

// Filter tells which findings about deployable schedules are shown, and which of these fail a
// file. What refutes is always shown.
type Filter struct {
	Warnings []string // "all", "none" or codes
	FailOn   []string // a level, with all that is graver, or codes
}

// NewFilter returns the filter where no flag is given: all is shown, and errors fail.
func NewFilter() Filter {
	return Filter{Warnings: []string{"all"}, FailOn: []string{deploy.Error.String()}}
}

// Shows reports whether a finding is to be shown: what refutes always is.
func (f *Filter) Shows(x deploy.Finding) bool {
	return x.Level == deploy.Error || !slices.Contains(deploy.Warnings(), x.Code) || slices.Contains(f.Warnings, "all") || slices.Contains(f.Warnings, string(x.Code))
}

// Shown returns the findings of a file that are to be shown.
func (f *Filter) Shown(d *deploy.Report) []deploy.Finding {
	return slices.DeleteFunc(slices.Clone(d.Findings), func(x deploy.Finding) bool { return !f.Shows(x) })
}

// fails reports whether a finding that is shown makes the exit status 1.
func (f *Filter) fails(x deploy.Finding) bool {
	for l := deploy.Note; l <= x.Level; l++ {
		if slices.Contains(f.FailOn, l.String()) {
			return true
		}
	}
	return slices.Contains(f.FailOn, string(x.Code))
}

// Status is the exit status of a file: that of its verdict, or exit.Refuted if a finding that
// is shown fails it.
func (f *Filter) Status(d *deploy.Report) int {
	s := exit.Of(d.Verdict.Outcome)
	if slices.ContainsFunc(f.Shown(d), f.fails) {
		s = exit.Worse(s, exit.Refuted)
	}
	return s
}

// Formats are the forms of a report on deployable schedules.
func Formats() []string { return []string{"text", "json", "sarif", "github"} }

// PrintAllDeployed writes the reports on some of several files in a form of Formats.
// Stands has how they stand to the bounds, where a topology was asked for.
func PrintAllDeployed(w io.Writer, all []*deploy.Report, stands map[string]*certify.Standing, of int, format string, f *Filter) error {
	switch format {
	case "json":
		for _, d := range all {
			j := DeployToJSON(d, f)
			j.standing(stands[d.File])
			if err := printLineOfJSON(w, j); err != nil {
				return err
			}
		}
	case "sarif":
		return PrintSARIF(w, all, f)
	case "github":
		PrintGitHub(w, all, f)
	default:
		if of == 1 && len(all) == 1 {
			PrintDeployed(w, all[0], f)
		} else {
			SummariseDeployed(w, all, f)
		}
		for _, d := range all {
			if x := stands[d.File]; x != nil {
				Line(w, "%s: on %s, makespan %s us for %d bytes, with the best times for its threadblocks and dependencies", quote.Name(d.File), x.Problem.Topology.Name, Micros(x.Makespan), x.Problem.Size)
				Line(w, "%s", StandingLine(x))
			}
		}
	}
	return nil
}

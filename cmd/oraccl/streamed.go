package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/machine"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/solve/certify/streamed"
	"github.com/spf13/cobra"
)

// solveStreamed makes, verifies and writes a schedule as a stream.
func solveStreamed(cmd *cobra.Command, s *streamed.Schedule, out string, asJSON bool) error {
	if out != "" && !strings.HasSuffix(out, schedules.CompactSuffix) {
		return exit.Hint(fmt.Errorf("%s: up to %d transfers are too many for JSON", out, s.Stream.Transfers), "a name that ends in .oraccl gets the compact format")
	}
	if s.Stream.Orbit == nil {
		need, err := s.Memory()
		if err != nil {
			return err
		}
		if err := machine.EnoughMemory(cmd.ErrOrStderr(), "solving and verifying", need); err != nil {
			return err
		}
		if out != "" {
			if err := machine.EnoughDisk(filepath.Dir(out), compact.Size(s.Stream.Problem, s.Stream.Transfers)); err != nil {
				return err
			}
		}
	}
	var sink streamed.Sink
	if out != "" {
		sink = compactFile(out)
	}
	if err := s.Solve(cmd.Context(), sink, built.Tool()); err != nil {
		return err
	}
	peak := machine.PeakMemory()
	err := session.Of(cmd.Context()).Report(func() error {
		if asJSON {
			return report.PrintJSON(cmd.OutOrStdout(), report.StreamedToJSON(s, peak))
		}
		report.PrintStreamed(cmd.OutOrStdout(), s, out, peak)
		return nil
	})
	if code := exit.Of(s.Verdict.Outcome); err == nil && code != exit.Done {
		err = exit.Status(code)
	}
	return err
}

// compactFile is the name of a file in the compact format, to which a schedule is streamed.
type compactFile string

func (f compactFile) Orbit(p *model.Problem, o *model.Orbit, by model.Origin) error {
	return files.Write(string(f), func(w io.Writer) error { return compact.WriteOrbit(w, p, o, by) })
}

func (f compactFile) Begin(p *model.Problem, form model.Form, by model.Origin, routes [][]int) (streamed.File, error) {
	return schedules.Create(string(f), p, form, by, routes)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/view"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

func newView() *cobra.Command {
	var out string
	var noBound bool
	var by foreign.Truth
	cmd := &cobra.Command{
		Use:   "view FILE -o OUT",
		Short: "Draw a schedule: an HTML page with a time slider, or an SVG",
		Long: `view reads a schedule, executes it, and draws it, right or wrong:

  OUT.html  one page that works offline: the network with the current transfers, one
            timeline per link or rank, the data of each rank, the critical path
  OUT.svg   one drawing for a paper: the network, and one row per link over time; above a
            few thousand transfers, the load of the links
  OUT.json  trace events for Perfetto, as convert --to chrome (right schedules only)

The page shows the verdict of the replay engine and the best bound for every cut of the
buffer into chunks, as gap prints it, with its certificate checked. A note tells what is
known for the cut of the schedule. If a file cannot be read, the page explains why.`,
		Example: "  oraccl solve ring:4 --collective allgather --method ring -o ag.json\n" +
			"  oraccl view ag.json -o ag.html\n" +
			"  oraccl view ag.json -o ag.svg\n" +
			"  oraccl view ag.json -o ag.trace.json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch filepath.Ext(out) {
			case ".html", ".svg":
			case ".json":
				return viewTrace(cmd, args[0], out, &by)
			default:
				return fmt.Errorf("-o %q: want a name that ends in .html, .svg or .json", out)
			}
			draw, fail := view.HTML, view.Failure
			if filepath.Ext(out) == ".svg" {
				draw, fail = view.SVG, view.FailureSVG
			}
			enter(cmd, "reading and executing "+args[0])
			seen, err := look(cmd, args[0], &by)
			if err == nil && !noBound {
				enter(cmd, "bounding")
				seen.picture.Bound = boundOf(cmd, seen.picture)
				err = seen.above(seen.picture.Bound)
			}
			enter(cmd, "drawing")
			if err == nil {
				err = files.Write(out, func(w io.Writer) error { return draw(w, seen.picture) })
			} else {
				if werr := files.Write(out, func(w io.Writer) error { return fail(w, filepath.Base(args[0]), withHint(err)) }); werr != nil {
					return werr
				}
			}
			if err != nil {
				return notRight(cmd, err, "drawn")
			}
			err = seen.report(cmd.OutOrStdout(), out)
			if err == nil && cmd.Context().Err() != nil {
				return exit.Status(exit.Unknown) // there may be a larger bound
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "the `file` to write: .html, .svg or .json")
	f.BoolVar(&noBound, "no-bound", false, "do not look for a lower bound")
	by.Define(cmd.Flags())
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

// withHint says the way out of an error with it: a page has one place for both.
func withHint(err error) error {
	if h := hintOf(err); h != "" {
		return fmt.Errorf("%w (%s)", err, h)
	}
	return err
}

// viewTrace writes trace events, as convert does.
func viewTrace(cmd *cobra.Command, file, out string, by *foreign.Truth) error {
	r, err := right(cmd, file, by)
	if err != nil {
		return err
	}
	target, err := convert.Named("chrome")
	if err != nil {
		return err
	}
	return convertTo(cmd, file, r, target, out, &convert.Options{})
}

// sight is a schedule that was read and executed, right or wrong.
type sight struct {
	picture *view.Picture
	verdict verify.Verdict
	partial bool
	notes   model.Notes // of those who read the file and its topology
}

// look reads a schedule, ours or another tool's, and has it executed.
func look(cmd *cobra.Command, file string, by *foreign.Truth) (*sight, error) {
	if judge.IsDeployed(cmd.Context(), file) {
		return lookDeployed(cmd, file, by)
	}
	format, b, err := foreign.Recognise(cmd.Context(), file)
	if err != nil {
		return nil, err
	}
	if format == nil {
		if by.Given() {
			return nil, fmt.Errorf("%s: is no schedule of another tool, which --topology, --collective, --size, --root and --chunks are for", file)
		}
		sol, err := drawable(cmd.Context(), file)
		if err != nil {
			return nil, err
		}
		s := seen(cmd.Context(), file, sol.Problem, sol.Schedule, replay.Check(cmd.Context(), sol.Problem, sol.Schedule))
		if s.partial = sol.Origin.Partial; s.partial {
			s.picture.Notes = append(s.picture.Notes, "The file is marked as partial: the run that wrote it was interrupted, and transfers are missing.")
		}
		return s, nil
	}
	m, err := format.Read(cmd.Context(), by, nil, file, b)
	if err != nil {
		return nil, err
	}
	if m.Problem == nil || m.Schedule == nil || m.Problem.Chunks == nil {
		return nil, fmt.Errorf("%s: cannot be drawn; oraccl verify says more", file)
	}
	v := m.Verdict(cmd.Context())
	s := seen(cmd.Context(), file, m.Problem, m.Schedule, v)
	s.picture.Notes = append(s.picture.Notes, m.Notes.Strings()...)
	s.notes = append(slices.Clone(m.Notes), s.notes...)
	return s, nil
}

// maxDrawn is how many transfers a page draws: about 13 bytes of it are one.
const maxDrawn = model.MaxHeld

// drawable reads a schedule of ours that is not too large for a page.
func drawable(ctx context.Context, file string) (*model.Solution, error) {
	const hint = "oraccl verify judges files of any size; for a picture, solve the same on a smaller network or in fewer chunks"
	o, err := schedules.OrbitOf(ctx, file)
	if err != nil {
		return nil, err
	}
	if o != nil && o.Orbit.Transfers() > maxDrawn {
		return nil, exit.Hint(fmt.Errorf("%s: %d transfers, want at most %d for a picture", file, o.Orbit.Transfers(), maxDrawn), hint)
	}
	sol, err := schedules.Load(ctx, file, maxDrawn)
	switch {
	case errors.Is(err, compact.ErrTooMany):
		return nil, exit.Hint(fmt.Errorf("%s: more than %d transfers, more than a picture can show", file, maxDrawn), hint)
	case err != nil:
		return nil, err
	case len(sol.Schedule.Transfers) > maxDrawn:
		return nil, exit.Hint(fmt.Errorf("%s: %d transfers, want at most %d for a picture", file, len(sol.Schedule.Transfers), maxDrawn), hint)
	}
	return sol, nil
}

// lookDeployed reads MSCCL-IR, of which there is a schedule to draw only if it is right.
func lookDeployed(cmd *cobra.Command, file string, by *foreign.Truth) (*sight, error) {
	r, err := judge.ReadRight(cmd.Context(), file, by)
	if err != nil {
		return nil, err
	}
	v := seen(cmd.Context(), file, r.Problem, r.Schedule, r.Verdict)
	v.picture.Verdict.Engine, v.picture.Verdict.Claim = r.Deployed.Verdict.Engine, r.Deployed.Verdict.Claim+r.Deployed.Proviso
	v.picture.Notes = append(v.picture.Notes, "The file is MSCCL-IR: it is drawn as a schedule of transfers between slots.")
	return v, nil
}

// seen puts a schedule with its verdict into a picture. One that has only an order, and is
// right, gets the times at which it can run.
func seen(ctx context.Context, file string, p *model.Problem, s *model.Schedule, v verify.Verdict) *sight {
	pic := &view.Picture{Title: filepath.Base(file), Problem: p, Schedule: s, Verdict: view.Verdict{
		Outcome: v.Outcome.String(), Engine: v.Engine, Claim: verify.Claim(p, s), Reason: v.Reason,
	}}
	for _, x := range v.Violations {
		at, _ := x.Transfer() // -1: none
		pic.Verdict.Violations = append(pic.Verdict.Violations, view.Violation{Code: string(x.Code), Where: x.Where, Message: x.Message, Transfer: at})
	}
	if s.Form == model.Ordered && v.Outcome == verify.Proved {
		if t, err := certify.Timed(ctx, p, s); err == nil {
			pic.Schedule = t
			pic.Notes = append(pic.Notes, "The file has an order and no times: these are the times at which it can run.")
		}
	}
	pic.Notes = append(pic.Notes, p.Topology.Notes.Strings()...)
	return &sight{picture: pic, verdict: v, notes: p.Topology.Notes}
}

// above returns an error if what is drawn is proved and ends before its bound.
func (s *sight) above(b *view.Bound) error {
	pic := s.picture
	if b == nil || s.verdict.Outcome != verify.Proved || pic.Schedule.Form == model.Ordered {
		return nil
	}
	return verify.Below(pic.Problem.Makespan(pic.Schedule), b.Value, b.Kind)
}

// report states what was drawn, with the verdict, and returns its exit status.
func (s *sight) report(w io.Writer, out string) error {
	fmt.Fprintf(w, "%s %s\n", strings.ToUpper(s.verdict.Outcome.String()), s.picture.Verdict.Claim)
	if len(s.verdict.Violations) > 0 {
		fmt.Fprintln(w, s.verdict.Violations[0])
	}
	if s.verdict.Reason != "" {
		fmt.Fprintln(w, s.verdict.Reason)
	}
	if s.partial {
		fmt.Fprintln(w, "the file is marked as partial")
	}
	report.PrintNotes(w, s.notes)
	fmt.Fprintf(w, "written to %s\n", out)
	switch s.verdict.Outcome {
	case verify.Proved:
		return nil
	case verify.Refuted:
		return exit.Status(exit.Refuted)
	}
	return exit.Status(exit.Unknown)
}

// wideNetwork is from how many links on only the bounds that take no search are looked for.
const wideNetwork = 1 << 14

// viewTime is how long bounds are looked for at most.
const viewTime = 10 * time.Second

// boundOf returns the best checked bound for every cut, as gap prints it, or nil; a picture
// does without one. What is known for the cut of the schedule alone becomes a note.
func boundOf(cmd *cobra.Command, pic *view.Picture) *view.Bound {
	find := certify.Bound
	if len(pic.Problem.Topology.Links) >= wideNetwork {
		find = certify.QuickBound
	}
	budget, cancel := solve.NewBudget(cmd.Context(), viewTime, 1)
	defer cancel()
	half, done := budget.Share(2)
	var b certify.Known
	var err error
	if b.EveryCut, err = find(half.Context(), certify.AnyCut(pic.Problem)); err == nil {
		b.Bound, err = find(budget.Context(), pic.Problem)
	}
	done()
	if err != nil {
		pic.Notes = append(pic.Notes, fmt.Sprintf("No bound: %v.", err))
		return nil
	}
	if b.ForCut() {
		pic.Notes = append(pic.Notes, fmt.Sprintf("No schedule%s ends before %v. %s", report.ChunksOf(pic.Problem, " with"), b.Bound.Bound, report.Limit(b.Bound)))
	}
	c := b.EveryCut
	if c == nil {
		return nil
	}
	return &view.Bound{Value: c.Bound, Kind: c.Witness.Kind(), Holds: report.HoldsFor(c), Detail: report.Limit(c)}
}

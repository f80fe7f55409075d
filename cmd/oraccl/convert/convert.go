// Package convert writes schedules in the formats of other tools, and in ours. What it writes as
// MSCCL-IR is read again and verified before it is written.
package convert

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

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/export"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/model/quote"
)

// Target is a format that schedules are written in.
type Target struct {
	Name, Summary string
	Timed         bool // needs a schedule with times
	// write writes one file; nil: files writes several, whose names begin with out.
	write func(out string, w io.Writer, p *model.Problem, s *model.Schedule, o *GOAL) error
	files func(out string, p *model.Problem, s *model.Schedule) (note string, err error)
	// use returns how the tool is to be run on what was written, in lines; nil: as it is.
	use     func(out string, p *model.Problem, s *model.Schedule, o *GOAL) []string
	deploys bool // as MSCCL does
	point   bool // has transfers from one rank to one, no sums and multicasts of switches
}

// GOAL tells how schedules are written as GOAL.
type GOAL struct {
	Unit  string // of calc, such as 10ns; "": 1ns
	Pairs bool   // a CPU and a NIC for each directed pair of ranks
}

// options returns the options of GOAL.
func (o *GOAL) options() (export.GOALOptions, error) {
	g := export.GOALOptions{Unit: model.Nanosecond, Pairs: o.Pairs}
	if o.Unit == "" {
		return g, nil
	}
	unit, err := model.ParseTime(o.Unit)
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
func useGOAL(_ string, p *model.Problem, s *model.Schedule, o *GOAL) []string {
	g, err := o.options()
	if err != nil {
		return nil // it was not written
	}
	x := export.NewLogGOPS(p, s, g.Unit)
	lines := []string{fmt.Sprintf("for LogGOPSim: %v (units of %v)", x, g.Unit)}
	exact, _ := x.Exact.Float64()
	if off := math.Abs(float64(x.G)-exact) / exact; off > 0.01 {
		text := fmt.Sprintf("a byte takes %.4g units, G is a whole number of them: its times are %.1f%% off", exact, 100*off)
		if g.Unit > 1 {
			text += "; a smaller --unit is closer"
		}
		lines = append(lines, text)
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
func useChakra(out string, p *model.Problem, _ *model.Schedule, _ *GOAL) []string {
	key := export.CustomCollective(p.Collective.Kind)
	if key == "" {
		return []string{fmt.Sprintf("ASTRA-sim has no custom collective for %v: it can run the files as a workload only, one send at a time per NPU", p.Collective.Kind)}
	}
	return []string{fmt.Sprintf(`for ASTRA-sim's system file: "%s": [%s], "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1`, key, strconv.Quote(out))}
}

var targets = []Target{
	{Name: "oraccl", Summary: "our own schedule file (compact, if its name ends in .oraccl)",
		write: func(out string, w io.Writer, p *model.Problem, s *model.Schedule, _ *GOAL) error {
			return schedules.Encode(out, w, &model.Solution{Problem: p, Schedule: s, Origin: model.Origin{Method: "convert"}})
		}},
	{Name: "chrome", Summary: "trace events, for Perfetto and chrome://tracing", Timed: true,
		write: func(_ string, w io.Writer, p *model.Problem, s *model.Schedule, _ *GOAL) error {
			return export.Chrome(w, p, s)
		}},
	{Name: "goal", Summary: "GOAL, for LogGOPSim and ATLAHS", Timed: true, point: true, use: useGOAL,
		write: func(_ string, w io.Writer, p *model.Problem, s *model.Schedule, o *GOAL) error {
			g, err := o.options()
			if err != nil {
				return err
			}
			return export.GOAL(w, p, s, g)
		}},
	{Name: "chakra", Summary: "Chakra execution traces, for ASTRA-sim: OUT.0.et and so on, one per rank", Timed: true, point: true, use: useChakra,
		files: func(out string, p *model.Problem, s *model.Schedule) (string, error) {
			err := export.Chakra(p, s, func(rank int) (io.WriteCloser, error) { return os.Create(fmt.Sprintf("%s.%d.et", out, rank)) })
			return fmt.Sprintf("written to %s to %s", quote.Name(out+".0.et"), quote.Name(fmt.Sprintf("%s.%d.et", filepath.Base(out), p.Topology.Ranks-1))), err
		}},
	{Name: "msccl", Summary: "MSCCL-IR, for microsoft/msccl, RCCL and Azure's executor: threadblocks, channels and dependencies are assigned, and the file is verified", deploys: true, point: true},
	{Name: planTarget, Summary: "an execution plan of MSCCL++ (JSON), which is verified before it is written", deploys: true},
}

// planTarget is the name of the format of execution plans.
const planTarget = "mscclpp"

// Targets returns the formats.
func Targets() []Target { return slices.Clone(targets) }

// Named returns the format of a name, or an error that lists the names.
func Named(name string) (*Target, error) {
	var names []string
	for i := range targets {
		if targets[i].Name == name {
			return &targets[i], nil
		}
		names = append(names, targets[i].Name)
	}
	return nil, fmt.Errorf("--to %q: want %s", name, strings.Join(names, ", "))
}

// Options tell how a schedule is written in formats that leave a choice.
type Options struct {
	MSCCL MSCCL
	GOAL  GOAL
}

// Check returns an error if an option does not go with the format.
func (o *Options) Check(t *Target) error {
	switch {
	case !t.deploys && o.MSCCL != (MSCCL{}):
		return errors.New("--runtime, --inplace and --proto: are for --to msccl and mscclpp")
	case t.Name != "goal" && o.GOAL != (GOAL{}):
		return errors.New("--unit and --pairs: are for --to goal")
	}
	return nil
}

// Use returns how the tool is to be run on what was written to out, in lines.
func (t *Target) Use(out string, p *model.Problem, s *model.Schedule, o *Options) []string {
	if t.use == nil {
		return nil
	}
	return t.use(out, p, s, &o.GOAL)
}

// Emit writes a schedule that is right for p to the file out or, if that is "", to w. It
// returns what is to be known of the files, in lines.
func (t *Target) Emit(ctx context.Context, w io.Writer, out string, p *model.Problem, s *model.Schedule, o *Options) (lines []string, err error) {
	var note string
	if i, sums := p.InNetwork(s); sums && t.point {
		return nil, fmt.Errorf("--to %s: transfer %d is part of a sum or a multicast of a switch, want transfers that each go from one rank to one: the format has no others", t.Name, i)
	}
	switch {
	case t.deploys && out == "":
		_, err := writeMade(ctx, w, p, s, o.MSCCL.maker(t.Name == planTarget))
		return nil, err
	case t.deploys:
		if note, err = o.MSCCL.to(ctx, out, p, s, o.MSCCL.maker(t.Name == planTarget)); err == nil {
			lines = append(strings.Split(note, "\n"), "written to "+quote.Name(out))
		}
	case t.files != nil && out == "":
		return nil, fmt.Errorf("--to %s: writes several files, and needs -o for the beginning of their names", t.Name)
	case t.files != nil:
		if note, err = t.files(out, p, s); err == nil {
			lines = []string{note}
		}
	case out == "":
		return nil, t.write(out, w, p, s, &o.GOAL)
	default:
		if err = files.Write(out, func(f io.Writer) error { return t.write(out, f, p, s, &o.GOAL) }); err == nil {
			lines = []string{"written to " + quote.Name(out)}
		}
	}
	return lines, err
}

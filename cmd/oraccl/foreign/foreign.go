// Package foreign reads the schedules of other tools, and judges what their files state of
// themselves: by the topology and collective that the user names, or by what those that the
// tool names really are, not by the file's own description.
package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/forestcoll"
	"github.com/oraccl/oraccl/model/format/sccl"
	"github.com/oraccl/oraccl/model/format/syccl"
	"github.com/oraccl/oraccl/model/format/teccl"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// Truth holds the flags of verify that say what a schedule of another tool is to be
// judged by: such files say little of that, or what is not so.
type Truth struct {
	topology, alpha, bandwidth string
	Collective, Size           string
	Root, Chunks               int
}

// Define declares the flags.
func (t *Truth) Define(f instance.FlagSet) {
	f.StringVar(&t.topology, "topology", "", "for schedules of other tools: the `topology` that they are to be judged on, by name or from a file")
	f.StringVar(&t.alpha, "alpha", "", "latency of the links of --topology, where it is a name: a `time`")
	f.StringVar(&t.bandwidth, "bandwidth", "", "bandwidth of the links of --topology, where it is a name: a `rate`")
	f.StringVar(&t.Collective, "collective", "", "for schedules of other tools: the `collective` that they must perform")
	f.StringVar(&t.Size, "size", "", "for schedules of other tools: buffer in `bytes` per rank")
	f.IntVar(&t.Root, "root", 0, "root `rank` of --collective")
	f.IntVar(&t.Chunks, "chunks", 0, "for schedules of other tools: `chunks` per rank, where the file may have lost some")
}

// Given reports whether a flag was used that only schedules of other tools know.
func (t *Truth) Given() bool { return *t != Truth{} }

// OnTopology reports whether a topology was named.
func (t *Truth) OnTopology() bool { return t.topology != "" }

// Topology returns the name of the topology, "" for none.
func (t *Truth) Topology() string { return t.topology }

// Load returns --topology, or nil if it is not given.
func (t *Truth) Load(ctx context.Context) (*model.Topology, error) {
	switch {
	case t.topology != "":
		return instance.LoadTopology(topologies.Files{Context: ctx}, t.topology, t.alpha, t.bandwidth)
	case t.alpha != "" || t.bandwidth != "":
		return nil, errors.New("--alpha and --bandwidth: are for the links of --topology, which is missing")
	}
	return nil, nil
}

// Format is the format of a file that another tool wrote.
type Format struct {
	name string
	// Read brings a file into our terms, to be judged by what asked and t say.
	Read func(ctx context.Context, t *Truth, asked *model.Problem, file string, b []byte) (*Imported, error)
}

// Imported is a schedule of another tool, with what else decides whether it is right.
type Imported struct {
	*model.Imported
	// Feasible decides what the form of the file asks for, and leaves in Schedule what
	// the engines are to judge; nil: there is no such thing. It is for files without
	// objections.
	Feasible func(context.Context) verify.Verdict
	// Claims returns what the file claims of itself that cannot be; nil: nothing.
	Claims func(context.Context) ([]verify.Violation, error)
	// Lasts is how long the file says that it lasts, or 0.
	Lasts model.Time
}

// formatOf recognises a file by its content; nil: it is none of theirs.
func formatOf(b []byte) *Format {
	switch {
	case sccl.Is(b):
		return &Format{sccl.Tool, readSCCL}
	case teccl.Is(b):
		return &Format{teccl.Tool, readFlows}
	case syccl.Is(b):
		return &Format{syccl.Tool, readSyCCL}
	case forestcoll.Is(b):
		return &Format{forestcoll.Tool, readTrees}
	}
	return nil
}

// judged returns the topology, collective and size that were asked for, nil or 0 where
// the file is to say it.
func (t *Truth) judged(ctx context.Context, asked *model.Problem) (topology *model.Topology, collective *model.Collective, size int64, err error) {
	if asked != nil {
		if t.Given() {
			return nil, nil, 0, errors.New("--problem: states what --topology, --collective, --size, --root and --chunks say; want one or the other")
		}
		return asked.Topology, &asked.Collective, asked.Size, nil
	}
	if topology, err = t.Load(ctx); err != nil {
		return nil, nil, 0, err
	}
	if t.Collective != "" {
		kind, err := model.ParseKind(t.Collective)
		switch {
		case err != nil:
			c, err := topologies.Files{Context: ctx}.Collective(t.Collective)
			if err != nil {
				return nil, nil, 0, fmt.Errorf("--collective: %w", err)
			}
			collective = c
		case kind == model.Custom:
			return nil, nil, 0, errors.New("--collective custom: want a file that states what it is")
		default:
			collective = &model.Collective{Kind: kind}
			if kind.Rooted() {
				collective.Root = t.Root
			}
		}
	}
	if t.Size != "" {
		if size, err = model.ParseBytes(t.Size); err != nil {
			return nil, nil, 0, fmt.Errorf("--size: %w", err)
		}
		if size == 0 {
			return nil, nil, 0, errors.New("--size: 0 bytes, want at least one")
		}
	}
	if t.Chunks < 0 || t.Chunks > model.MaxChunks {
		return nil, nil, 0, fmt.Errorf("--chunks %d: want 1 to %d", t.Chunks, model.MaxChunks)
	}
	return topology, collective, size, nil
}

// Recognise reads a file if it is one of another tool. Ours, which may be large, it only
// looks at.
func Recognise(ctx context.Context, file string) (*Format, []byte, error) {
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, nil, nil // the reader reports why it cannot be read
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, nil, nil
	}
	first := strings.TrimLeft(string(head), " \t\r\n\ufeff")
	xml := strings.HasPrefix(first, "<")
	switch {
	case xml:
	case strings.HasSuffix(file, ".xml") && !strings.HasPrefix(first, "{"):
		return nil, nil, noSchedule(file, head)
	case !strings.HasPrefix(first, "{") || bytes.Contains(head, []byte(`"oraccl/`)):
		return nil, nil, nil
	}
	b, err := files.Read(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	format := formatOf(b)
	if xml && format == nil {
		return nil, nil, noSchedule(file, b)
	}
	if _, input, _ := teccl.ReadInput(file, b); format == nil && input {
		return nil, nil, exit.Hint(fmt.Errorf("%s: is an input of TE-CCL, not a schedule", file), "--topology takes it, and verify the schedule that was made of it")
	}
	return format, b, nil
}

// Tools lists the tools whose schedules verify reads.
func Tools() string {
	return "SCCL and msccl-tools (JSON), TE-CCL (JSON),\nForestColl (trees, XML), SyCCL (JSON)"
}

// Before returns the verdict on a file that no engine is asked about: objections refute it,
// and where its reader could not decide something it is unknown. Of others it is false.
func (m *Imported) Before() (verify.Verdict, bool) {
	v := verify.Verdict{Engine: "import"}
	switch {
	case len(m.Objections) > 0:
		v.Outcome = verify.Refuted
		for _, o := range m.Objections {
			v.Violations = append(v.Violations, verify.Wrong(verify.Code(o.Code), o.Where, o.Message))
		}
	case m.Undecided != "":
		v.Reason = m.Undecided
	default:
		return v, false
	}
	return v, true
}

// Verdict returns what is decided about a file by its reader, by what its form asks for, and
// by replay. It may leave another Schedule.
func (m *Imported) Verdict(ctx context.Context) verify.Verdict {
	if v, decided := m.Before(); decided {
		return v
	}
	if m.Feasible != nil {
		if v := m.Feasible(ctx); v.Outcome != verify.Proved {
			return v
		}
	}
	v := replay.Check(ctx, m.Problem, m.Schedule)
	if m.Assumed != "" {
		v = verify.All(v, verify.Verdict{Engine: "import", Reason: m.Assumed})
	}
	return v
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/forestcoll"
	"github.com/oraccl/oraccl/model/format/sccl"
	"github.com/oraccl/oraccl/model/format/teccl"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/stream"
)

// truth holds the flags of verify that say what a schedule of another tool is to be
// judged by: such files say little of that, or what is not so.
type truth struct {
	topology, alpha, bandwidth string
	collective, size           string
	root, chunks               int
}

func (t *truth) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.topology, "topology", "", "for schedules of other tools: the `topology` that they are to be judged on, by name or from a file")
	f.StringVar(&t.alpha, "alpha", "", "latency of the links of --topology, where it is a name: a `time`")
	f.StringVar(&t.bandwidth, "bandwidth", "", "bandwidth of the links of --topology, where it is a name: a `rate`")
	f.StringVar(&t.collective, "collective", "", "for schedules of other tools: the `collective` that they must perform")
	f.StringVar(&t.size, "size", "", "for schedules of other tools: buffer in `bytes` per rank")
	f.IntVar(&t.root, "root", 0, "root `rank` of --collective")
	f.IntVar(&t.chunks, "chunks", 0, "for schedules of other tools: `chunks` per rank, where the file may have lost some")
}

// given reports whether a flag was used that only schedules of other tools know.
func (t *truth) given() bool { return *t != truth{} }

// foreign is the format of a file that another tool wrote.
type foreign struct {
	name string
	// read brings a file into our terms, to be judged by what asked and t say.
	read func(ctx context.Context, t *truth, asked *model.Problem, file string, b []byte) (*imported, error)
}

// imported is a schedule of another tool, with what else decides whether it is right.
type imported struct {
	*model.Imported
	// feasible decides what the form of the file asks for, and leaves in Schedule what
	// the engines are to judge; nil: there is no such thing. It is for files without
	// objections.
	feasible func(context.Context) verify.Verdict
	// claims returns what the file claims of itself that cannot be; nil: nothing.
	claims func(context.Context) ([]verify.Violation, error)
	// lasts is how long the file says that it lasts, or 0.
	lasts model.Time
}

// foreignFormat recognises a file by its content; nil: it is none of theirs.
func foreignFormat(b []byte) *foreign {
	switch {
	case sccl.Is(b):
		return &foreign{sccl.Tool, readSCCL}
	case teccl.Is(b):
		return &foreign{teccl.Tool, readFlows}
	case forestcoll.Is(b):
		return &foreign{forestcoll.Tool, readTrees}
	}
	return nil
}

// judged returns the topology, collective and size that were asked for, nil or 0 where
// the file is to say it.
func (t *truth) judged(ctx context.Context, asked *model.Problem) (topology *model.Topology, collective *model.Collective, size int64, err error) {
	if asked != nil {
		if t.given() {
			return nil, nil, 0, errors.New("--problem: states what --topology, --collective, --size, --root and --chunks say; want one or the other")
		}
		return asked.Topology, &asked.Collective, asked.Size, nil
	}
	if t.topology != "" {
		if topology, err = loadTopology(ctx, t.topology, t.alpha, t.bandwidth); err != nil {
			return nil, nil, 0, err
		}
	} else if t.alpha != "" || t.bandwidth != "" {
		return nil, nil, 0, errors.New("--alpha and --bandwidth: are for the links of --topology, which is missing")
	}
	if t.collective != "" {
		kind, err := model.ParseKind(t.collective)
		switch {
		case err != nil:
			c, err := readFile(ctx, t.collective, func(name string, b []byte) (*model.Collective, error) {
				return native.ReadCollective(name, bytes.NewReader(b))
			})
			if err != nil {
				return nil, nil, 0, fmt.Errorf("--collective: %w", err)
			}
			collective = c
		case kind == model.Custom:
			return nil, nil, 0, errors.New("--collective custom: want a file that states what it is")
		default:
			collective = &model.Collective{Kind: kind}
			if kind.Rooted() {
				collective.Root = t.root
			}
		}
	}
	if t.size != "" {
		if size, err = model.ParseBytes(t.size); err != nil {
			return nil, nil, 0, fmt.Errorf("--size: %w", err)
		}
		if size == 0 {
			return nil, nil, 0, errors.New("--size: 0 bytes, want at least one")
		}
	}
	if t.chunks < 0 || t.chunks > model.MaxChunks {
		return nil, nil, 0, fmt.Errorf("--chunks %d: want 1 to %d", t.chunks, model.MaxChunks)
	}
	return topology, collective, size, nil
}

// scclNetworks are the topologies of SCCL that have a name here. Its DGX_A100 is not
// among them: it has 12 links between any two GPUs, where the machine has 12 a GPU.
var scclNetworks = []struct{ theirs, ours string }{
	{`^DGX1$`, "dgx1"},
	{`^Ring\(n=([0-9]+)\)$`, "ring:$1"},
	{`^FullyConnected\(n=([0-9]+)\)$`, "full:$1"},
	{`^Line\(n=([0-9]+)\)$`, "mesh:$1"},
	{`^HubAndSpoke\(n=([0-9]+)\)$`, "switch:$1"},
}

func readSCCL(ctx context.Context, t *truth, asked *model.Problem, file string, b []byte) (*imported, error) {
	f, err := sccl.Read(file, b)
	if err != nil {
		return nil, err
	}
	var by sccl.Truth
	if by.Topology, by.Collective, by.Size, err = t.judged(ctx, asked); err != nil {
		return nil, err
	}
	by.Chunks = t.chunks
	for _, n := range scclNetworks {
		known := regexp.MustCompile(n.theirs)
		if m := known.FindStringSubmatchIndex(f.Network); m != nil && by.Topology == nil {
			ours := string(known.ExpandString(nil, n.ours, f.Network, m))
			if by.Topology, _ = topo.Parse(ours, topo.Options{}); by.Topology != nil {
				by.Topology.Notes.Add(model.Assumed, "the links of %s: the file names its network %.40q", ours, f.Network)
			}
		}
	}
	m, err := f.Import(by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &imported{Imported: m}, nil
}

// verifyForeign verifies a file of another tool, prints the verdict and returns the exit
// status.
func (v *verifying) verifyForeign(ctx context.Context, file string, b []byte, format *foreign) (int, error) {
	if slices.Contains(v.chosen, stream.Engine) {
		return 0, fmt.Errorf("--engine %s: is for our own files; want replay, smt or all for %s", stream.Engine, file)
	}
	m, err := format.read(ctx, &v.truth, v.asked, file, b)
	if err != nil {
		return 0, err
	}
	if v.emit != "" {
		return 0, fmt.Errorf("--emit-smt2: %s is not a schedule of ours", file)
	}
	var by certify.Verification
	chosen := v.chosen
	if len(m.Objections) > 0 {
		refuted := verify.Verdict{Outcome: verify.Refuted, Engine: "import"}
		for _, o := range m.Objections {
			refuted.Violations = append(refuted.Violations, verify.Violation{Code: verify.Code(o.Code), Where: o.Where, Message: o.Message, Transfer: -1, Rank: -1, Chunk: -1})
		}
		by = certify.Alone(refuted)
		chosen = []string{"import"}
	} else if m.Undecided != "" {
		by = certify.Alone(verify.Verdict{Engine: "import", Reason: m.Undecided})
		chosen = []string{"import"}
	} else {
		var before verify.Verdict
		if m.feasible != nil {
			before = m.feasible(ctx)
			chosen = append([]string{before.Engine}, chosen...)
		}
		if by, err = certify.Verify(ctx, m.Problem, m.Schedule, smt.Options{Timeout: v.limit}, v.chosen); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if m.feasible != nil {
			by.Verdicts[before.Engine] = before
			by.Verdict = verify.All(by.Verdict, before)
		}
	}
	if m.claims != nil {
		wrong, err := m.claims(ctx)
		if err != nil {
			return 0, err
		}
		first := by.Verdicts[chosen[0]]
		if len(wrong) > 0 {
			first.Outcome = verify.Refuted
			first.Violations = append(first.Violations[:min(len(first.Violations), verify.MaxViolations-1)], wrong...)
			by.Verdict = verify.All(by.Verdict, verify.Verdict{Outcome: verify.Refuted, Engine: first.Engine, Violations: wrong})
		}
		by.Verdicts[chosen[0]] = first
	}
	if m.Assumed != "" {
		by.Verdict = verify.All(by.Verdict, verify.Verdict{Engine: "import", Reason: m.Assumed})
	}
	for engine, verdict := range by.Verdicts {
		for i, violation := range verdict.Violations {
			if violation.Transfer >= 0 && m.Source != nil {
				verdict.Violations[i].Message += "; in the file " + m.Source(violation.Transfer)
			}
		}
		by.Verdicts[engine] = verdict
	}
	j := verifyToJSON(file, m.Problem, m.Schedule, by, chosen)
	if j.MakespanPs == 0 && j.outcome == verify.Proved {
		j.MakespanPs = m.lasts
	}
	j.Format, j.Notes = m.Tool, append(m.Notes.Strings(), j.Notes...)
	return v.print(j)
}

// verifying is one call of verify: what its flags say.
type verifying struct {
	cmd    *cobra.Command
	asked  *model.Problem
	truth  truth
	chosen []string
	limit  time.Duration
	emit   string
	asJSON bool
}

// file verifies one file, prints the verdict and returns the exit status.
func (v *verifying) file(file string) (int, error) {
	format, b, err := recognise(v.cmd.Context(), file)
	switch {
	case err != nil:
		return 0, err
	case format != nil:
		return v.verifyForeign(v.cmd.Context(), file, b, format)
	case v.truth.given():
		return 0, exit.Hint(fmt.Errorf("%s: is no schedule of another tool, which --topology, --collective, --size, --root and --chunks are for", file),
			"--problem has our own schedules judged by another problem than theirs")
	}
	return verifyFile(v.cmd, file, v.asked, v.chosen, v.limit, v.emit, v.asJSON)
}

// recognise reads a file if it is one of another tool. Ours, which may be large, it only
// looks at.
func recognise(ctx context.Context, file string) (*foreign, []byte, error) {
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
	b, err := readFile(ctx, file, func(_ string, b []byte) ([]byte, error) { return b, nil })
	if err != nil {
		return nil, nil, err
	}
	format := foreignFormat(b)
	if xml && format == nil {
		return nil, nil, noSchedule(file, b)
	}
	if _, input, _ := teccl.ReadInput(file, b); format == nil && input {
		return nil, nil, exit.Hint(fmt.Errorf("%s: is an input of TE-CCL, not a schedule", file), "--topology takes it, and verify the schedule that was made of it")
	}
	return format, b, nil
}

// print writes the verdict on a file of another tool and returns the exit status.
func (v *verifying) print(j verifyJSON) (int, error) {
	if w := v.cmd.OutOrStdout(); v.asJSON {
		b, err := json.Marshal(j)
		if err != nil {
			return 0, err
		}
		fmt.Fprintln(w, string(b))
	} else {
		printVerdict(w, j)
	}
	return exit.Of(j.outcome), nil
}

// foreignTools lists the tools whose schedules verify reads.
func foreignTools() string {
	return "SCCL and msccl-tools (JSON), TE-CCL (JSON),\nForestColl (trees, XML)"
}

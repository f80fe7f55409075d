package judge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
	"golang.org/x/sync/errgroup"
)

// Deployed is a file of MSCCL-IR, or of execution plans, with what is decided about it.
type Deployed struct {
	Algo   *msccl.Algo   // nil if the file cannot be read, or is the other
	Plan   *mscclpp.File // likewise
	Report *deploy.Report
}

// ReadDeployed reads and verifies a file of MSCCL-IR or of execution plans: a verb accepts it if
// this does. An error means that it could not be opened, or not be judged as it is asked.
func ReadDeployed(ctx context.Context, file string, by deploy.Options) (*Deployed, error) {
	if IsPlan(ctx, file) {
		return readPlan(ctx, file, by)
	}
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	algo, err := msccl.Read(file, bufio.NewReader(f))
	if err != nil {
		var syntax *msccl.SyntaxError
		if !errors.As(err, &syntax) || syntax.Err != nil {
			return nil, err
		}
		d := &Deployed{Report: deploy.Unreadable("is MSCCL-IR", syntax.Line, syntax.Message)}
		d.Report.File = file
		return d, nil
	}
	if n := algo.Ranks; by.Root != 0 && (by.Root < 0 || by.Root >= n) {
		return nil, fmt.Errorf("--root %d: %s has ranks 0 to %d", by.Root, file, n-1)
	}
	d, err := Algo(ctx, file, algo, by)
	if err != nil {
		return nil, err
	}
	if k, err := model.ParseKind(d.Report.Collective); by.Root != 0 && err == nil && k != model.Custom && !k.Rooted() {
		return nil, fmt.Errorf("--root: %s performs %v, which has no root", file, k)
	}
	return d, nil
}

// Algo verifies a file that was read.
func Algo(ctx context.Context, file string, algo *msccl.Algo, by deploy.Options) (*Deployed, error) {
	r, err := deploy.Check(ctx, algo.Deployable(), by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r.File = file
	return &Deployed{Algo: algo, Report: r}, nil
}

// AllDeployed reads and verifies files, as many at a time as there are threads, and keeps of
// each what is needed to print its report. Where the context ended before a file was begun,
// both the report and the error are nil.
func AllDeployed(ctx context.Context, names []string, by deploy.Options) ([]*deploy.Report, []error) {
	found, errs := make([]*deploy.Report, len(names)), make([]error, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range names {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			d, err := ReadDeployed(ctx, file, by)
			if errs[i] = err; err == nil {
				d.Report.Release()
				found[i] = d.Report
			}
			return nil
		})
	}
	_ = g.Wait() // errs has what went wrong
	return found, errs
}

// WriteFormulas writes the formulas about a file of MSCCL-IR, for the first of the calls that it
// serves, to the file emit.
func WriteFormulas(ctx context.Context, file, emit string, by deploy.Options) error {
	f, err := files.Open(ctx, file)
	if err != nil {
		return err
	}
	defer f.Close()
	a, err := msccl.Read(file, bufio.NewReader(f))
	if err != nil {
		return err
	}
	in := by.Mode == deploy.InPlace || by.Mode == deploy.AsDeclared && a.InPlace
	p, err := a.Program(model.Meaning{Collective: by.Collective, InPlace: in, Root: by.Root})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	text, err := concurrent.Script(p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return files.Write(emit, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// IsDeployed reports whether a file is MSCCL-IR, or is meant to be: its first element is
// <algo>, or it has one behind something that is no XML; or whether it is execution plans.
func IsDeployed(ctx context.Context, file string) bool {
	if IsPlan(ctx, file) {
		return true
	}
	f, err := files.Open(ctx, file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, head)
	text, root := foreign.FirstElement(head[:n])
	switch {
	case root != "":
		return root == "algo"
	case bytes.HasPrefix(text, []byte("{")):
		return false
	}
	return bytes.Contains(text, []byte("<algo")) || len(text) > 0 && text[0] == '<' && strings.HasSuffix(file, ".xml")
}

// Below returns the XML files below a directory, and those of execution plans.
func Below(ctx context.Context, dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".xml") && !strings.HasSuffix(path, ".json") {
			return err
		}
		if err = files.IsRegular(path); err == nil && (strings.HasSuffix(path, ".xml") || IsPlan(ctx, path)) {
			found = append(found, path)
		}
		return err
	})
	if err == nil && found == nil {
		err = exit.Hint(fmt.Errorf("%s: holds no .xml file and no execution plan", dir), "a directory is searched for MSCCL-IR and execution plans; name other schedules one by one, or ask check, which reads directories of ours")
	}
	return found, err
}

// AskedDeployed sets what the flags for schedules of other tools ask of MSCCL-IR.
func AskedDeployed(t *foreign.Truth, o *deploy.Options) (err error) {
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

// ranks is how many ranks a file that was read is for.
func (d *Deployed) ranks() int {
	if d.Plan != nil {
		return len(d.Plan.GPUs)
	}
	return d.Algo.Ranks
}

// schedule puts what a file that was judged does into our terms, for a buffer of some bytes; 0 is one of its choice.
func (d *Deployed) schedule(ctx context.Context, topology *model.Topology, root int, size int64) (*model.Imported, error) {
	if d.Plan != nil {
		return d.Plan.Import(ctx, topology, size)
	}
	return d.Algo.Import(model.Meaning{Collective: d.Report.Collective, InPlace: d.Report.Calls[0].InPlace, Root: root}, topology, size)
}

// rightDeployed reads MSCCL-IR, or an execution plan, as a schedule. The file must be right as verify
// finds it, for the size that is asked about, and so must what was made of it.
func rightDeployed(ctx context.Context, file string, by *foreign.Truth) (*Right, error) {
	if by.Chunks != 0 {
		return nil, fmt.Errorf("--chunks: %s has as many chunks as it has", file)
	}
	var asked deploy.Options
	if err := AskedDeployed(by, &asked); err != nil {
		return nil, err
	}
	d, err := ReadDeployed(ctx, file, asked)
	if err != nil {
		return nil, err
	}
	if v := d.Report.Verdict; v.Outcome != verify.Proved {
		return nil, &NotRightError{File: file, Claim: v.Claim, Verdict: v}
	}
	topology, err := networkOf(ctx, by, d.ranks())
	if err != nil {
		return nil, err
	}
	m, err := d.schedule(ctx, topology, by.Root, asked.Size)
	if safe := d.safe(); err == nil && asked.Size == 0 && safe > 0 && m.Problem.Size > safe { // nothing was asked: a size that it is proved for
		m, err = d.schedule(ctx, topology, by.Root, safe)
	}
	if err != nil {
		return nil, err
	}
	if len(m.Objections) > 0 {
		o := m.Objections[0]
		v := verify.Verdict{Outcome: verify.Refuted, Violations: []verify.Violation{verify.Wrong(verify.Code(o.Code), o.Where, o.Message)}}
		return nil, &NotRightError{File: file, Claim: fmt.Sprint(m.Problem), Verdict: v}
	}
	v := replay.Check(ctx, m.Problem, m.Schedule)
	switch v.Outcome {
	case verify.Refuted:
		return nil, fmt.Errorf("%s: what was made of it is not right, and is not written: %v", file, v.Violations[0])
	case verify.Unknown:
		return nil, &NotRightError{File: file, Claim: fmt.Sprint(m.Problem), Verdict: v}
	}
	return &Right{Problem: m.Problem, Schedule: m.Schedule, Verdict: v, Deployed: d.Report, Order: m.Order}, nil
}

// Wrong reads a file of MSCCL-IR that is not right as a schedule, for pictures: what one
// execution of it does, and what replay finds of that. The error tells why there is no such
// schedule: the threadblocks wait for ever, for instance.
func Wrong(ctx context.Context, file string, by *foreign.Truth) (*Right, error) {
	var asked deploy.Options
	if err := AskedDeployed(by, &asked); err != nil {
		return nil, err
	}
	d, err := ReadDeployed(ctx, file, asked)
	if err != nil {
		return nil, err
	}
	if d.Algo == nil || len(d.Report.Calls) == 0 {
		return nil, fmt.Errorf("%s: serves no call", file)
	}
	topology, err := networkOf(ctx, by, d.Algo.Ranks)
	if err != nil {
		return nil, err
	}
	m, err := d.schedule(ctx, topology, by.Root, asked.Size)
	if err != nil {
		return nil, err
	}
	if len(m.Objections) > 0 {
		return nil, fmt.Errorf("%s: %s: %s", file, m.Objections[0].Where, m.Objections[0].Message)
	}
	return &Right{Problem: m.Problem, Schedule: m.Schedule, Verdict: replay.Check(ctx, m.Problem, m.Schedule), Deployed: d.Report}, nil
}

// Program returns what a file of MSCCL-IR does in the call that is judged first, as a program. The
// error tells why it is none.
func (d *Deployed) Program(root int) (*model.Program, error) {
	if d.Algo == nil || len(d.Report.Calls) == 0 {
		return nil, errors.New("serves no call")
	}
	return d.Algo.Program(model.Meaning{Collective: d.Report.Collective, InPlace: d.Report.Calls[0].InPlace, Root: root})
}

// safe is the size of the larger buffer up to which the file is proved, or 0 where there is
// none or no limit.
func (d *Deployed) safe() int64 {
	least := int64(0)
	if p := d.Report.Plan; p != nil {
		least = p.High / max(1, p.Unit) * p.Unit
	}
	for _, c := range d.Report.Calls {
		if safe := c.Slots.Safe; safe > 0 && (least == 0 || safe < least) {
			least = safe
		}
	}
	return least
}

// networkOf returns the topology that was asked for, or links between any two ranks.
func networkOf(ctx context.Context, t *foreign.Truth, ranks int) (*model.Topology, error) {
	if network, err := t.Load(ctx); network != nil || err != nil {
		return network, err
	}
	return topo.Parse(fmt.Sprintf("full:%d", ranks), topo.Options{})
}

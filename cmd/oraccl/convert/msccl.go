package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// MSCCL tells how a schedule is written as MSCCL-IR.
type MSCCL struct {
	Runtime string // a runtime that must load it; empty: all that know the collective by one name
	InPlace string // yes, no, both; empty: yes, but no for an alltoall
	Proto   string // of the runtime's connections; empty: Simple

	iterate bool // execution plans: pipelines even where they are not needed, for tests
}

// maxSize is the largest buffer for which files are picked, in bytes: 1 TiB.
const maxSize = 1 << 40

// runtimes returns those that must load the file, and what they call the collective. They
// have two names for reduce-scatter, and a file has only one.
func (d *MSCCL) runtimes(k model.Kind) (list []msccl.Runtime, coll string, err error) {
	asked := []msccl.Runtime{msccl.RCCL, msccl.Azure, msccl.MSCCL} // of two names, RCCL's
	if d.Runtime != "" {
		r, err := msccl.ParseRuntime(d.Runtime)
		if err != nil {
			return nil, "", fmt.Errorf("--runtime: %w", err)
		}
		asked = []msccl.Runtime{r}
	}
	for _, r := range asked {
		switch name := msccl.CollName(k, r); {
		case name == "" && len(asked) == 1:
			return nil, "", fmt.Errorf("%v has no %v", r, k)
		case name != "" && (coll == "" || coll == name):
			list, coll = append(list, r), name
		}
	}
	if coll == "" {
		return nil, "", fmt.Errorf("no runtime has a collective %v, want one of the eight standard ones", k)
	}
	return list, coll, nil
}

// modes returns whether the file serves calls in place, and out of place.
func (d *MSCCL) modes(k model.Kind) (in, out bool, err error) {
	switch d.InPlace {
	case "":
		return k != model.AllToAll, k == model.AllToAll, nil
	case "yes":
		return true, false, nil
	case "no":
		return false, true, nil
	case "both":
		return true, true, nil
	}
	return false, false, fmt.Errorf("--inplace %q: want yes, no or both", d.InPlace)
}

// writeMade writes what is made of a schedule, and returns lines about it.
func writeMade(ctx context.Context, w io.Writer, p *model.Problem, s *model.Schedule, make makes) (note string, err error) {
	m, err := make(ctx, p, s)
	if err != nil {
		return "", err
	}
	_, err = w.Write(m.File)
	return m.About, err
}

// algo makes MSCCL-IR of a schedule, which must be right for p, if what was written,
// read again, is proved: by every runtime asked, in every mode that it declares, for
// buffers of every size. Of several such files it is the one that takes least once it is loaded.
func (d *MSCCL) algo(ctx context.Context, p *model.Problem, s *model.Schedule) (m certify.Loaded, err error) {
	runtimes, coll, err := d.runtimes(p.Collective.Kind)
	if err != nil {
		return m, err
	}
	in, out, err := d.modes(p.Collective.Kind)
	if err != nil {
		return m, err
	}
	if _, known := deploy.Protocols[d.Proto]; d.Proto != "" && !known {
		return m, fmt.Errorf("--proto %q: want Simple, LL or LL128", d.Proto)
	}
	l := msccl.LimitsOf(runtimes...)
	if n := len(p.Members()); n > l.Ranks {
		return m, fmt.Errorf("%w: %d ranks, and the runtimes' parser reads at most %d", assign.ErrLimit, n, l.Ranks)
	}
	root := 0
	if p.Collective.Kind.Rooted() {
		if root = slices.Index(p.Members(), p.Collective.Root); root < 0 {
			root = len(p.Members()) // never a member
		}
	}
	h := msccl.Header{Name: fmt.Sprintf("oraccl_%v_%d", p.Collective.Kind, len(p.Members())), Proto: cmp.Or(d.Proto, "Simple"), Coll: coll, InPlace: in, OutPlace: out, MaxBytes: maxSize}
	options := assign.Options{InPlace: in, OutOfPlace: out, Limits: within(l)}
	algo, m, err := fastest(ctx, p, s, options, mostCompared, func(program *model.Program) (*msccl.Algo, error) {
		return msccl.FromProgram(program, h)
	}, func(a *msccl.Algo) (*model.Imported, error) {
		return a.Import(model.Meaning{Collective: coll, InPlace: in, Root: root}, p.Topology, p.Size)
	})
	switch {
	case errors.Is(err, assign.ErrLimit) && len(runtimes) > 1:
		return m, exit.Hint(err, "fewer chunks fit (solve --chunks), and runtimes cut large ones themselves; convert --runtime msccl keeps to microsoft/msccl's limits alone, which are larger")
	case err != nil:
		return m, err
	}
	var b bytes.Buffer
	if err := algo.Write(&b); err != nil {
		return m, err
	}
	judged, err := confirm(ctx, b.Bytes(), runtimes, root)
	if err != nil {
		return m, fmt.Errorf("what was made of the schedule is not right, and is not written: %w", err)
	}
	if m.Lasts > 0 {
		m.Note = "the best times for its threadblocks, channels and dependencies"
		if judge.Parallel(p.Topology) {
			m.Note += "; what is sent on one channel takes one of the parallel links"
		}
	}
	m.File, m.About = b.Bytes(), describeFile(judged, runtimes, root)+describeMembers(p)
	return m, nil
}

// within returns the limits of runtimes in the words of assign.
func within(l msccl.Limits) assign.Limits {
	return assign.Limits{Threadblocks: l.Threadblocks, Steps: l.Steps, Channels: l.Channels, Peers: l.Peers, Elements: l.Elements, Chunks: l.Chunks, Count: l.Count}
}

// describeMembers tells which ranks the gpus of a file are, if they have other numbers.
func describeMembers(p *model.Problem) string {
	members := p.Members()
	if slices.IsSorted(members) && members[len(members)-1] == len(members)-1 {
		return ""
	}
	return fmt.Sprintf("\ngpu 0 and those after it are the ranks %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(members), " ", ", "), "[]"))
}

// makes is how a file is made of a schedule.
type makes func(ctx context.Context, p *model.Problem, s *model.Schedule) (m certify.Loaded, err error)

// maker returns how a file is made in a format that is deployed.
func (d *MSCCL) maker(plan bool) makes {
	if plan {
		return d.plan
	}
	return d.algo
}

// to writes to a file, whole or not at all.
func (d *MSCCL) to(ctx context.Context, out string, p *model.Problem, s *model.Schedule, make makes) (note string, err error) {
	m, err := make(ctx, p, s)
	if err != nil {
		return "", err
	}
	return m.About, writeFile(out, m)
}

func writeFile(out string, m certify.Loaded) error {
	return files.Write(out, func(w io.Writer) error {
		_, err := w.Write(m.File)
		return err
	})
}

// confirm reads a file and is nil if it is right in every respect.
func confirm(ctx context.Context, b []byte, runtimes []msccl.Runtime, root int) (*judge.Deployed, error) {
	algo, err := msccl.Read("schedule", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	d, err := judge.Algo(ctx, "schedule", algo, deploy.Options{Root: root})
	if err != nil {
		return nil, err
	}
	if v := d.Report.Verdict; v.Outcome != verify.Proved {
		if len(v.Violations) > 0 {
			return nil, errors.New(v.Violations[0].String())
		}
		return nil, errors.New(v.Reason)
	}
	for _, r := range runtimes {
		l := algo.Load(r)
		if len(l.Refusals) > 0 {
			return nil, fmt.Errorf("%v refuses it: %s", r, l.Refusals[0].Message)
		}
		if l.Selection.Never != "" {
			return nil, fmt.Errorf("%v never picks it: %s", r, l.Selection.Never)
		}
	}
	for i := range d.Report.Calls {
		c := &d.Report.Calls[i]
		if c.Slots.Safe != deploy.Any {
			return nil, fmt.Errorf("%v: %s", c, d.Report.Sentence(c))
		}
		if c.Order.RemoteOnly > 0 || c.Order.Counts[verify.ClobberedInput] > 0 {
			return nil, fmt.Errorf("%v, %d accesses are ordered through other ranks only, and %d writes hit the caller's input", c, c.Order.RemoteOnly, c.Order.Counts[verify.ClobberedInput])
		}
	}
	return d, nil
}

// describeFile says in a line or two what a file has and what it is for.
func describeFile(d *judge.Deployed, runtimes []msccl.Runtime, root int) string {
	a := d.Algo
	tbs, steps, scratch := 0, 0, 0
	for i := range a.GPUs {
		tbs, scratch = max(tbs, len(a.GPUs[i].TBs)), max(scratch, a.GPUs[i].Scratch)
		for j := range a.GPUs[i].TBs {
			steps = max(steps, len(a.GPUs[i].TBs[j].Steps))
		}
	}
	var names, modes []string
	for _, r := range msccl.Runtimes() {
		for _, have := range runtimes {
			if r == have {
				names = append(names, r.String())
			}
		}
	}
	for i := range d.Report.Calls {
		modes = append(modes, d.Report.Calls[i].String())
	}
	text := fmt.Sprintf("%s on %d gpus, %s: %d chunks and %d of scratch, up to %d threadblocks of up to %d steps, channels: %d; proved, loads in %s",
		a.Coll, a.Ranks, strings.Join(modes, " and "), a.ChunksPerLoop, scratch, tbs, steps, a.Channels, listed(names))
	switch a.Coll {
	case "broadcast", "reduce", "gather", "scatter":
		text += fmt.Sprintf("\nthe format does not say the root: runtimes pick it for every root, and it is right for %d alone (oraccl verify --root %d)", root, root)
	}
	return text
}

// listed writes a list in words: "a, b and c".
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// FitsNames are the runtimes whose limits a schedule can be asked to keep.
func FitsNames() []string {
	var names []string
	for _, r := range msccl.Runtimes() {
		names = append(names, r.String())
	}
	return append(names, planTarget)
}

// Fits returns what a runtime asks of a schedule: that what is written of it, read again, is
// proved and loaded; of all runtimes that know the collective for "".
func Fits(runtime string) (*certify.Fits, error) {
	name := runtime
	if runtime == "" {
		name = "MSCCL-IR"
	} else if !slices.Contains(FitsNames(), runtime) {
		return nil, fmt.Errorf("--fits %q: want %s", runtime, strings.Join(FitsNames(), ", "))
	}
	d := &MSCCL{Runtime: runtime}
	if runtime == planTarget {
		d = &MSCCL{}
	}
	return &certify.Fits{Name: name, Check: func(ctx context.Context, p *model.Problem, s *model.Schedule) (certify.Loaded, error) {
		return d.maker(runtime == planTarget)(ctx, p, s)
	}}, nil
}

// IsDeployed reports whether solve is to write MSCCL-IR or an execution plan.
func IsDeployed(out string) bool { return strings.HasSuffix(out, ".xml") || IsPlan(out) }

// FitsOf returns what a schedule must fit that is to be written to a file: what runtime names or, for
// "", what the format asks for; nil for nothing.
func FitsOf(runtime, out string) (*certify.Fits, error) {
	switch {
	case IsPlan(out) && (runtime == "" || runtime == planTarget):
		return Fits(planTarget)
	case IsPlan(out) || runtime == planTarget && strings.HasSuffix(out, ".xml"):
		return nil, fmt.Errorf("--fits %s: does not read what -o %s names", runtime, out)
	case runtime == "" && !IsDeployed(out):
		return nil, nil
	}
	return Fits(runtime)
}

// Best writes the best schedule of those that fit as MSCCL-IR or an execution plan, for one runtime or, for "", for all
// that know the collective.
func Best(ctx context.Context, ev *certify.Report, runtime, out string) (r *certify.Row, note string, err error) {
	if runtime == planTarget {
		runtime = ""
	}
	if r = ev.BestFitting(); r == nil {
		if ev.Free != nil {
			return nil, "", fmt.Errorf("-o %s: %s: %w", out, ev.Free.Method, ev.Free.Fit.Err)
		}
		return nil, "", fmt.Errorf("-o %s: no proved schedule was found", out)
	}
	var f certify.Loaded
	if r.Fit != nil {
		f = r.Fit.Loaded
	} else {
		f, err = (&MSCCL{Runtime: runtime}).maker(IsPlan(out))(ctx, r.Result.Problem, r.Result.Schedule)
	}
	if err == nil {
		err = writeFile(out, f)
	}
	if err != nil {
		return nil, "", fmt.Errorf("-o %s: %s: %w", out, r.Method, err)
	}
	note = f.About
	switch {
	case f.Lasts == r.Makespan:
	case f.Lasts == 0:
		note += "\nas written, the makespan is not known: " + f.Note
	default:
		note += fmt.Sprintf("\nas written, makespan %s us instead of %s us, with %s", report.Micros(f.Lasts), report.Micros(r.Makespan), f.Note)
	}
	return r, note, nil
}

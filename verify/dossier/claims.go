package dossier

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/cnf"
	"github.com/oraccl/oraccl/verify/smt"
)

// claimed is a claim of a dossier with what became of it.
type claimed struct {
	Claim
	text    string // what it states, in words
	outcome verify.Outcome
	reason  string // why it is not established
}

// fault is something wrong with a file of a dossier, or with what ties it to the rest.
type fault struct{ file, why string }

// folder is a dossier under examination.
type folder struct {
	path  string // as the user names it
	dir   fs.FS
	m     *Manifest
	files map[string]*File

	bad       map[string]string // files that are not what the manifest lists, with the reason
	faults    []fault
	found     []Finding // of documents
	at        map[string]int
	problems  map[string]*model.Problem
	workloads map[string]*wl.Workload
	claims    []claimed
	of        map[string]int // the claim about a document, by its file
	rows      []claimedRow
	tables    []string // those beside the dossier of a sweep that are its own
	passed    []string // what else stands beside the dossier of a sweep, and is not looked at
	wrong     []error  // contradictions
	stopped   bool     // not all was compared: ctx was done, or what it belongs to is unknown
}

// name is a file as it is printed.
func (d *folder) name(file string) string { return join(d.path, file) }

// examine decides all claims of the dossier in dir, whose manifest is m. It never trusts the
// manifest: a sum of a file detects an accident, and a claim is established by what the files
// prove.
func examine(ctx context.Context, path string, dir fs.FS, m *Manifest) (*folder, error) {
	d := &folder{path: path, dir: dir, m: m, bad: map[string]string{}, at: map[string]int{}, of: map[string]int{}, problems: map[string]*model.Problem{}, workloads: map[string]*wl.Workload{}}
	d.files, _ = m.index()
	if err := d.list(); err != nil {
		return nil, err
	}
	for i := range m.Problems {
		d.problem(&m.Problems[i])
	}
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Problem != "" {
			d.primary(ctx, c)
		}
	}
	d.contradictions()
	for file, i := range d.at {
		if c := &d.claims[d.of[file]]; c.outcome != verify.Proved {
			d.found[i].disowned = c.reason
		}
	}
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Problem == "" {
			d.derived(ctx, c)
		}
	}
	d.table(ctx)
	d.texts(ctx)
	return d, nil
}

func (d *folder) fault(file, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	d.faults = append(d.faults, fault{file, why})
	if d.bad[file] == "" {
		d.bad[file] = why
	}
}

// list compares the files that there are with those that are listed.
func (d *folder) list() error {
	entries, err := fs.ReadDir(d.dir, ".")
	if err != nil {
		return err
	}
	there := map[string]fs.DirEntry{}
	for _, e := range entries {
		there[e.Name()] = e
		if d.files[e.Name()] == nil && e.Name() != ManifestName {
			d.fault(e.Name(), "superfluous: the manifest does not list it")
		}
	}
	for _, f := range d.m.Files {
		e := there[f.File]
		switch {
		case e == nil:
			d.fault(f.File, "missing")
		case !e.Type().IsRegular():
			d.fault(f.File, "a link, a directory or a device, want a regular file")
		default:
			if err := d.sum(&f); err != nil {
				return err
			}
		}
	}
	return nil
}

// sum compares a file with its size and sum.
func (d *folder) sum(f *File) error {
	in, err := d.dir.Open(f.File)
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, in)
	switch got := hex.EncodeToString(h.Sum(nil)); {
	case err != nil:
		return err
	case n != f.Bytes:
		d.fault(f.File, "changed: it has %d bytes, want %d", n, f.Bytes)
	case got != f.SHA256:
		d.fault(f.File, "changed: its SHA-256 is %s, want %s", got, f.SHA256)
	}
	return nil
}

// read returns what a listed file holds.
func (d *folder) read(file string) ([]byte, error) {
	if why := d.bad[file]; why != "" {
		return nil, errors.New(why)
	}
	b, err := fs.ReadFile(d.dir, file)
	if err == nil {
		if h := sha256.Sum256(b); hex.EncodeToString(h[:]) != d.files[file].SHA256 { // it was another one a moment ago
			d.fault(file, "changed while it was checked")
			err = errors.New(d.bad[file])
		}
	}
	return b, err
}

// problem reads a problem and compares it with its digest.
func (d *folder) problem(p *Problem) {
	b, err := d.read(p.File)
	if err != nil {
		return // it is a fault already
	}
	f := Finding{File: d.name(p.File), Kind: "problem", tied: p.SameRoundsAs != ""}
	if native.SchemaOf(b) == native.WorkloadSchema {
		d.workload(p, b)
		return
	}
	q, err := native.ReadProblem(f.File, bytes.NewReader(b))
	if err != nil {
		f.Err = err
		d.bad[p.File] = "it cannot be read"
	} else if digest := Digest(q); digest != p.Digest {
		d.fault(p.File, "it is not the manifest's problem: its digest is %s, want %s", digest, p.Digest)
	} else if q.String() != p.About {
		d.fault(p.File, "it is about %s, want %s", q, quote.Line(p.About))
	} else {
		d.problems[p.File], f.problem, f.digest = q, q, digest
	}
	d.found = append(d.found, f)
	if of := d.problems[p.SameRoundsAs]; p.SameRoundsAs != "" && d.problems[p.File] != nil {
		if of == nil {
			d.fault(p.File, "it has the rounds of %s, which stands after it or cannot be read", p.SameRoundsAs)
		} else if why := sameRounds(of, q); why != "" {
			d.fault(p.File, "it need not have the rounds of %s: %s", p.SameRoundsAs, why)
		}
	}
}

// workload reads a workload and compares it with its digest.
func (d *folder) workload(p *Problem, b []byte) {
	f := Finding{File: d.name(p.File)}
	f.judge(context.Background(), b, nil) // it is only read
	switch {
	case f.Err != nil:
		d.bad[p.File] = "it cannot be read"
	case f.digest != p.Digest:
		d.fault(p.File, "it is not the manifest's workload: its digest is %s, want %s", f.digest, p.Digest)
	case f.workload.String() != p.About:
		d.fault(p.File, "it is about %s, want %s", f.workload, quote.Line(p.About))
	case p.SameRoundsAs != "":
		d.fault(p.File, "it need not have the rounds of %s: a workload has none", p.SameRoundsAs)
	default:
		d.workloads[p.File] = f.workload
	}
	d.found = append(d.found, f)
}

// primary decides a claim about one document: the document itself, that it is about the
// problem, and each number of the claim.
func (d *folder) primary(ctx context.Context, c *Claim) {
	file := c.Schedule + c.Certificate // it has one of them
	x := claimed{Claim: *c, text: c.words(d)}
	defer func() {
		x.outcome, x.reason = inTime(ctx, x.outcome, x.reason)
		d.of[file] = len(d.claims)
		d.claims = append(d.claims, x)
	}()
	x.outcome = verify.Refuted
	b, err := d.read(file)
	if err != nil {
		x.reason = err.Error()
		return
	}
	f := Finding{File: d.name(file)}
	f.judge(ctx, b, d.evidence())
	d.at[file] = len(d.found)
	d.found = append(d.found, f)
	p, w := d.problems[c.Problem], d.workloads[c.Problem]
	ofWorkload := c.Kind == TimetableClaim || c.Kind == WorkloadBoundClaim
	switch {
	case f.Err != nil:
		x.reason = "it cannot be read"
	case ofWorkload && w == nil:
		x.reason = "its workload cannot be read, or is another one"
	case ofWorkload:
		x.outcome, x.reason = d.ofWorkload(c, w, &f)
	case p == nil:
		x.reason = "its problem cannot be read, or is another one"
	case c.Schedule != "" && f.Kind != "schedule" || c.Certificate != "" && f.Kind != "certificate":
		x.reason = fmt.Sprintf("it is a %s", f.Kind)
	case f.Verdict.Outcome == verify.Unknown && d.lacks(&f) != "":
		x.reason = d.lacks(&f)
	case f.Verdict.Outcome != verify.Proved:
		x.outcome, x.reason = f.Verdict.Outcome, f.Verdict.Reason
		if x.reason == "" {
			x.reason = "it is refuted"
		}
	default:
		if x.reason = d.mismatch(c, p, &f); x.reason == "" {
			x.outcome = verify.Proved
			d.found[d.at[file]].share(p)
		}
	}
}

// ofWorkload decides a claim about a schedule of a workload, or about a bound on one.
func (d *folder) ofWorkload(c *Claim, w *wl.Workload, f *Finding) (verify.Outcome, string) {
	kind := "timetable"
	if c.Kind == WorkloadBoundClaim {
		kind = "workload bound"
	}
	switch {
	case f.Kind != kind:
		return verify.Refuted, fmt.Sprintf("it is a %s, want a %s", f.Kind, kind)
	case f.Verdict.Outcome != verify.Proved:
		return f.Verdict.Outcome, cmp.Or(f.Verdict.Reason, "it is refuted")
	case f.digest != WorkloadDigest(w) || f.workload.Topology.Name != w.Topology.Name:
		return verify.Refuted, "it is about another workload"
	case f.bound == nil && f.makespan != *c.Makespan:
		return verify.Refuted, fmt.Sprintf("it has a makespan or period of %v (%d ps), want %v (%d ps)", f.makespan, int64(f.makespan), *c.Makespan, int64(*c.Makespan))
	case f.bound == nil && f.method != c.Method:
		return verify.Refuted, fmt.Sprintf("it names the method %s, want %s", model.Quote(f.method), model.Quote(c.Method))
	case f.bound != nil && f.bound.Value != *c.Bound:
		return verify.Refuted, fmt.Sprintf("it bounds by %v (%d ps), want %v (%d ps)", f.bound.Value, int64(f.bound.Value), *c.Bound, int64(*c.Bound))
	case f.bound != nil && f.bound.Kind != c.By:
		return verify.Refuted, fmt.Sprintf("its evidence is of the kind %s, want %s", model.Quote(f.bound.Kind), model.Quote(c.By))
	}
	return verify.Proved, ""
}

// inTime returns an outcome with its reason; once ctx is done, what is not proved is unknown: it may
// be for want of what was not read.
func inTime(ctx context.Context, outcome verify.Outcome, reason string) (verify.Outcome, string) {
	if ctx.Err() != nil && outcome == verify.Refuted {
		return verify.Unknown, "interrupted"
	}
	return outcome, reason
}

// share has a finding about p, up to its cut, keep no copy of its own: a table has thousands.
func (f *Finding) share(p *model.Problem) {
	q := *p
	q.Chunks = f.problem.Chunks
	f.problem = &q
	if f.certificate != nil {
		c := *f.certificate
		c.Problem, f.certificate = &q, &c
	}
}

// lacks returns why the proof that a certificate names is no evidence, or "".
func (d *folder) lacks(f *Finding) string {
	if f.certificate == nil {
		return ""
	}
	w, ok := f.certificate.Witness.(model.Refutation)
	switch proof := d.files[w.Proof]; {
	case !ok:
		return ""
	case proof == nil || proof.Is != ProofRole:
		return fmt.Sprintf("it has no evidence: the manifest lists no proof %s", model.Quote(w.Proof))
	case d.bad[w.Proof] != "":
		return fmt.Sprintf("it has no evidence: its proof %s is %s", w.Proof, d.bad[w.Proof])
	}
	return ""
}

// evidence is the directory for a checker that opens the files beside a certificate: of it,
// those that are as they are listed.
func (d *folder) evidence() fs.FS { return listed{d} }

type listed struct{ *folder }

func (l listed) Open(name string) (fs.File, error) {
	f := l.files[name]
	switch {
	case f == nil || f.Is != ProofRole:
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("the manifest does not list it as a proof")}
	case l.bad[name] != "":
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New(l.bad[name])}
	}
	return l.dir.Open(name)
}

// mismatch returns why a proved document is not what a claim states of it, or "".
func (d *folder) mismatch(c *Claim, p *model.Problem, f *Finding) string {
	q := f.problem
	open := *p
	if c.Certificate != "" && q.Chunks == nil {
		open.Chunks = nil // a bound for every cut
	}
	if why := about(&open, q); why != "" {
		return why
	}
	if n := len(q.Chunks); n != c.Chunks {
		return fmt.Sprintf("it has %d chunks, want %d (0: any cut)", n, c.Chunks)
	}
	switch c.Kind {
	case ScheduleClaim:
		switch {
		case !f.timed:
			return "it fixes an order alone, and has no makespan"
		case f.makespan != *c.Makespan:
			return fmt.Sprintf("it ends after %v (%d ps), want %v (%d ps)", f.makespan, int64(f.makespan), *c.Makespan, int64(*c.Makespan))
		case f.method != c.Method:
			return fmt.Sprintf("it names the method %s, want %s", model.Quote(f.method), model.Quote(c.Method))
		case f.rounds != c.Rounds:
			return fmt.Sprintf("it has %d rounds, want %d", f.rounds, c.Rounds)
		case c.Steps != 0 && f.steps != c.Steps:
			return fmt.Sprintf("it has %d steps, want %d", f.steps, c.Steps)
		}
	case BoundClaim:
		switch {
		case f.certificate.Bound != *c.Bound:
			return fmt.Sprintf("it bounds by %v (%d ps), want %v (%d ps)", f.certificate.Bound, int64(f.certificate.Bound), *c.Bound, int64(*c.Bound))
		case f.certificate.Witness.Kind() != c.By:
			return fmt.Sprintf("its witness is of the kind %s, want %s", f.certificate.Witness.Kind(), model.Quote(c.By))
		}
	case RefutationClaim:
		w, ok := f.certificate.Witness.(model.Refutation)
		switch {
		case !ok || w.Epoch != 0 || w.Steps == 0:
			return "it refutes no number of rounds in a number of steps"
		case w.Horizon != c.Rounds || w.Steps != c.Steps:
			return fmt.Sprintf("it refutes %d rounds in %d steps, want %d in %d", w.Horizon, w.Steps, c.Rounds, c.Steps)
		case q.Collective.Ends != nil || !slices.Equal(q.Chunks, q.Cut(len(q.Chunks))):
			return "its chunks are not of equal size"
		}
	}
	return ""
}

// proved returns what was found of a document, or nil with the outcome and the reason unless
// all that is claimed of it is established.
func (d *folder) proved(file string) (*Finding, verify.Outcome, string) {
	switch i, ok := d.of[file]; {
	case !ok:
		return nil, verify.Refuted, fmt.Sprintf("nothing is claimed of %s", file)
	case d.claims[i].outcome != verify.Proved:
		return nil, d.claims[i].outcome, fmt.Sprintf("what is claimed of %s is not established", file)
	}
	return &d.found[d.at[file]], verify.Proved, ""
}

// solution reads a proved schedule again: schedules are not kept.
func (d *folder) solution(file string) (*model.Solution, error) {
	b, err := d.read(file)
	if err != nil {
		return nil, err
	}
	return native.ReadSolution(d.name(file), bytes.NewReader(b))
}

// derived decides a claim that follows from a schedule and a certificate.
func (d *folder) derived(ctx context.Context, c *Claim) {
	x := claimed{Claim: *c, text: c.words(d)}
	defer func() {
		x.outcome, x.reason = inTime(ctx, x.outcome, x.reason)
		d.claims = append(d.claims, x)
	}()
	s, outcome, why := d.proved(c.Schedule)
	if s == nil {
		x.outcome, x.reason = outcome, why
		return
	}
	b, outcome, why := d.proved(c.Certificate)
	if b == nil {
		x.outcome, x.reason = outcome, why
		return
	}
	x.outcome = verify.Refuted
	if x.reason = d.follows(ctx, c, s, b); x.reason == "" {
		x.outcome = verify.Proved
	}
}

// follows returns why a claim does not follow from a proved schedule and a proved
// certificate, or "".
func (d *folder) follows(ctx context.Context, c *Claim, s, b *Finding) string {
	if s.workload != nil || b.bound != nil {
		return followsOfWorkload(c, s, b)
	}
	bound := b.certificate.Bound
	switch why := about(uncut(s.problem), b.problem); {
	case why != "":
		return fmt.Sprintf("%s is about another problem than %s", c.Certificate, c.Schedule)
	case b.problem.Chunks != nil && !slices.Equal(b.problem.Chunks, s.problem.Chunks):
		return fmt.Sprintf("%s is about another cut than %s", c.Certificate, c.Schedule)
	}
	switch c.Kind {
	case GapClaim, OptimalClaim:
		if !everyCut(b.problem) {
			return fmt.Sprintf("%s bounds one cut alone, want every cut", c.Certificate)
		}
	}
	switch c.Kind {
	case GapClaim, CutGapClaim:
		if gap := float64(model.GapOf(s.makespan, bound)); gap != *c.Gap {
			return fmt.Sprintf("it is %v, want %v", gap, *c.Gap)
		}
	case OptimalClaim, NoneFasterClaim:
		if s.makespan != bound {
			return fmt.Sprintf("it ends after %v (%d ps), above the bound of %v (%d ps)", s.makespan, int64(s.makespan), bound, int64(bound))
		}
	case FewestRoundsClaim:
		again, err := d.solution(c.Schedule)
		if err != nil {
			return err.Error()
		}
		if !cert.FewestRounds(ctx, b.certificate, again.Problem, again.Schedule) {
			return fmt.Sprintf("%s does not show that %d rounds are the fewest", c.Certificate, s.rounds)
		}
	}
	return ""
}

// followsOfWorkload is follows for a schedule of a workload and a bound on it.
func followsOfWorkload(c *Claim, s, b *Finding) string {
	switch {
	case s.Kind != "timetable" || b.bound == nil || s.digest != b.digest:
		return fmt.Sprintf("%s is about another workload than %s", c.Certificate, c.Schedule)
	case c.Kind == CutGapClaim:
		if gap := float64(model.GapOf(s.makespan, b.bound.Value)); gap != *c.Gap {
			return fmt.Sprintf("it is %v, want %v", gap, *c.Gap)
		}
	case c.Kind == NoneFasterClaim:
		if s.makespan != b.bound.Value {
			return fmt.Sprintf("it takes %v (%d ps), above the bound of %v (%d ps)", s.makespan, int64(s.makespan), b.bound.Value, int64(b.bound.Value))
		}
	default:
		return "it is not claimed of workloads"
	}
	return ""
}

// everyCut reports whether what is certified for p holds for every cut.
func everyCut(p *model.Problem) bool {
	return p.Chunks == nil || !p.Collective.Cuttable() // which has one
}

// contradictions looks for proved schedules that end before a proved bound on them, whether
// or not a claim sets the two beside each other. What is in one is not established.
func (d *folder) contradictions() {
	for _, x := range contradictions(d.found) {
		d.wrong = append(d.wrong, x.err)
		for file, i := range d.at {
			if i == x.schedule || i == x.certificate {
				d.found[i].withdraw()
				c := &d.claims[d.of[file]]
				c.outcome, c.reason = verify.Unknown, d.found[i].Verdict.Reason
			}
		}
	}
}

// texts compares the files that follow from others, byte for byte.
func (d *folder) texts(ctx context.Context) {
	for _, f := range d.m.Files {
		if ctx.Err() != nil {
			d.stopped = true
			return
		}
		if d.bad[f.File] != "" {
			continue
		}
		var write func(w io.Writer) error
		switch f.Is {
		case TextRole:
			write = d.m.Readme
		case FormulasRole:
			x := d.basis(&f)
			if x == nil {
				continue
			}
			write = func(w io.Writer) error {
				s, err := d.solution(f.Of)
				if err != nil {
					return err
				}
				return smt.WriteSMT2(w, s.Problem, s.Schedule)
			}
		case FormulaRole:
			x := d.basis(&f)
			if x == nil {
				continue
			}
			var w model.Refutation
			ok := false
			if x.certificate != nil {
				w, ok = x.certificate.Witness.(model.Refutation)
			}
			if !ok {
				d.fault(f.File, "%s has no formula", f.Of)
				continue
			}
			write = func(out io.Writer) error { return cnf.DIMACS(ctx, out, x.problem, w) }
		case ProofRole:
			x := d.basis(&f)
			if x == nil {
				continue
			}
			named := false
			if x.certificate != nil {
				w, ok := x.certificate.Witness.(model.Refutation)
				named = ok && w.Proof == f.File
			}
			if !named {
				d.fault(f.File, "superfluous: %s does not name it", f.Of)
			}
			continue
		default:
			continue
		}
		same, err := d.same(ctx, f.File, write)
		switch {
		case ctx.Err() != nil:
			d.stopped = true
			return
		case err != nil:
			d.fault(f.File, "not compared: %v", err)
		case !same:
			d.fault(f.File, "it is not what the manifest and the documents say: see SPEC.md, section 16")
		}
	}
}

// basis returns what was found of the document that a file belongs to, or nil, with a fault unless
// what is claimed of that document is unknown.
func (d *folder) basis(f *File) *Finding {
	x, outcome, why := d.proved(f.Of)
	switch {
	case x != nil:
	case outcome == verify.Unknown:
		d.stopped = true
	default:
		d.fault(f.File, "not compared: %s", why)
	}
	return x
}

// same reports whether a file is what write writes.
func (d *folder) same(ctx context.Context, file string, write func(io.Writer) error) (bool, error) {
	in, err := d.dir.Open(file)
	if err != nil {
		return false, err
	}
	defer in.Close()
	c := &comparison{ctx: ctx, in: in}
	if err := write(c); err != nil && !errors.Is(err, errDiffers) {
		return false, err
	}
	n, err := in.Read(make([]byte, 1))
	return !c.differs && n == 0 && err == io.EOF, nil
}

var errDiffers = errors.New("differs")

// comparison is a writer that compares what is written with a file.
type comparison struct {
	ctx     context.Context
	in      io.Reader
	buffer  []byte
	differs bool
}

func (c *comparison) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if len(c.buffer) < len(p) {
		c.buffer = make([]byte, len(p))
	}
	b := c.buffer[:len(p)]
	if _, err := io.ReadFull(c.in, b); c.differs || err != nil || !bytes.Equal(b, p) {
		c.differs = true
		return 0, errDiffers
	}
	return len(p), nil
}

// words states a claim.
func (c *Claim) words(d *folder) string {
	s, b := "", ""
	if c.Schedule != "" {
		s = quote.Name(d.name(c.Schedule))
	}
	if c.Certificate != "" {
		b = quote.Name(d.name(c.Certificate))
	}
	switch c.Kind {
	case ScheduleClaim:
		return fmt.Sprintf("%s is right and ends after %v", s, *c.Makespan)
	case BoundClaim:
		return fmt.Sprintf("%s: none ends before %v", b, *c.Bound)
	case TimetableClaim:
		return fmt.Sprintf("%s is right, with a makespan or period of %v", s, *c.Makespan)
	case WorkloadBoundClaim:
		return fmt.Sprintf("%s: none has a makespan or period below %v", b, *c.Bound)
	case RefutationClaim:
		return fmt.Sprintf("%s: none has %d chunks in %d rounds and %d steps", b, c.Chunks, c.Rounds, c.Steps)
	case GapClaim:
		return fmt.Sprintf("%s is %v above the bound of %s", s, model.Gap(*c.Gap), b)
	case CutGapClaim:
		return fmt.Sprintf("%s is %v above the bound for its cut of %s", s, model.Gap(*c.Gap), b)
	case OptimalClaim:
		return fmt.Sprintf("%s is optimal: it meets the bound of %s", s, b)
	case NoneFasterClaim:
		return fmt.Sprintf("none is faster than %s with its cut: it meets the bound of %s", s, b)
	case FewestRoundsClaim:
		return fmt.Sprintf("%s has the fewest rounds, by %s", s, b)
	}
	return strings.ReplaceAll(string(c.Kind), "\n", " ")
}

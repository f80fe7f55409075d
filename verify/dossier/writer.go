package dossier

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/table"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify/cnf"
	"github.com/oraccl/oraccl/verify/smt"
)

// Writer writes a dossier. It states what it is told, and checks nothing: Check does. The
// manifest comes last, so that a directory that was left half-written claims nothing.
type Writer struct {
	root   *os.Root
	ctx    context.Context
	m      Manifest
	taken  map[string]bool // names of files, in lower case
	ends   map[string]model.Time
	bounds map[string]model.Time
}

// Create begins a dossier in a directory, which it makes if need be, on behalf of a tool. If
// the directory holds a dossier, that is removed, file by file as its manifest lists them;
// if it holds anything else, that is an error.
func Create(dir, tool string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, short(dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, short(dir, err)
	}
	w := &Writer{root: root, ctx: context.Background(), m: Manifest{Schema: ManifestSchema, Tool: tool, Problems: []Problem{}, Claims: []Claim{}, Files: []File{}},
		taken: map[string]bool{ManifestName: true, strings.ToLower(readmeName): true}, ends: map[string]model.Time{}, bounds: map[string]model.Time{}}
	if err := w.clear(dir); err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return w, nil
}

// Until has everything that w writes from now on fail when ctx is done, and returns w. Without
// its manifest the directory then claims nothing.
func (w *Writer) Until(ctx context.Context) *Writer {
	w.ctx = ctx
	return w
}

// clear removes an earlier dossier.
func (w *Writer) clear(dir string) error {
	names, err := replaceable(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.root.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// Free returns an error unless Create can begin a dossier in a directory: it does not exist,
// is empty, or holds a dossier and nothing else.
func Free(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return short(dir, err)
	case !info.IsDir():
		return fmt.Errorf("%s: want a directory", dir)
	}
	if _, err := replaceable(dir); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// replaceable returns the names of all files in the directory name, that of a manifest first, or an
// error if it holds what the manifest does not list.
func replaceable(name string) ([]string, error) {
	dir, err := files.OpenDir(context.Background(), name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir, ".")
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	listed := map[string]bool{ManifestName: true}
	var names []string
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ManifestName && e.Type().IsRegular() }); i >= 0 {
		in, err := dir.Open(ManifestName)
		if err != nil {
			return nil, err
		}
		m, err := ReadManifest(ManifestName, in)
		in.Close()
		if err != nil {
			return nil, err
		}
		for _, f := range m.Files {
			listed[f.File] = true
		}
		names = append(names, ManifestName) // without it, what is left claims nothing
	} else {
		listed = nil
	}
	for _, e := range entries {
		switch {
		case !listed[e.Name()] || e.IsDir():
			return nil, fmt.Errorf("it holds %s, which is no part of a dossier: want an empty directory, or one with a dossier to replace", model.Quote(e.Name()))
		case e.Name() != ManifestName:
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// add writes a file and lists it.
func (w *Writer) add(f File, write func(io.Writer) error) error {
	if err := CheckFileName(f.File); err != nil {
		return err
	}
	if lower := strings.ToLower(f.File); w.taken[lower] && f.Is != TextRole {
		return fmt.Errorf("%s: there is a file of that name already", f.File)
	} else {
		w.taken[lower] = true
	}
	out, err := w.root.OpenFile(f.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	h := sha256.New()
	n := new(counter)
	b := bufio.NewWriterSize(io.MultiWriter(files.Until(w.ctx, out), h, n), 1<<16)
	err = write(b)
	if ferr := b.Flush(); err == nil {
		err = ferr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.File, err)
	}
	f.Bytes, f.SHA256 = int64(*n), hex.EncodeToString(h.Sum(nil))
	w.m.Files = append(w.m.Files, f)
	return nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Problem adds a problem that claims are about. If of is not "", it is the file of a problem
// added before with the same rounds: see Problem.SameRoundsAs.
func (w *Writer) Problem(file string, p *model.Problem, of string) error {
	w.m.Problems = append(w.m.Problems, Problem{File: file, About: p.String(), Digest: Digest(p), SameRoundsAs: of})
	return w.add(File{File: file, Is: ProblemRole}, func(out io.Writer) error { return native.WriteProblem(out, p) })
}

// Schedule adds a schedule with times, which is right for the problem in a file, and claims
// that it is. With formulas it also adds those of the smt engine, under the same name with
// the suffix .smt2. file must end in .json.
func (w *Writer) Schedule(file, problem string, s *model.Solution, formulas bool) error {
	end := s.Problem.Makespan(s.Schedule)
	w.ends[file] = end
	w.m.Claims = append(w.m.Claims, Claim{Kind: ScheduleClaim, Problem: problem, Schedule: file, Method: s.Origin.Method, Chunks: len(s.Problem.Chunks),
		Rounds: s.Schedule.Rounds(), Steps: s.Schedule.Steps(), Makespan: &end})
	err := w.add(File{File: file, Is: ScheduleRole}, func(out io.Writer) error { return native.WriteSolution(out, s) })
	if err == nil && formulas {
		err = w.add(File{File: strings.TrimSuffix(file, ".json") + ".smt2", Is: FormulasRole, Of: file}, func(out io.Writer) error { return smt.WriteSMT2(out, s.Problem, s.Schedule) })
	}
	return err
}

// Certificate adds a certificate for the problem in a file, and claims its bound, or that of
// rounds in steps which it refutes. If it names a proof, that is copied from the file at
// proof, and the formula that it refutes is added for other checkers. It takes the time of
// making the formula.
func (w *Writer) Certificate(ctx context.Context, file, problem string, c *model.Certificate, proof string) error {
	claim := Claim{Kind: BoundClaim, Problem: problem, Certificate: file, By: c.Witness.Kind(), Chunks: len(c.Problem.Chunks), Bound: &c.Bound}
	r, proved := c.Witness.(model.Refutation)
	if proved && r.Epoch == 0 && r.Steps > 0 {
		claim = Claim{Kind: RefutationClaim, Problem: problem, Certificate: file, Chunks: len(c.Problem.Chunks), Rounds: r.Horizon, Steps: r.Steps}
	}
	w.bounds[file] = c.Bound
	w.m.Claims = append(w.m.Claims, claim)
	if err := w.add(File{File: file, Is: CertificateRole}, func(out io.Writer) error { return native.WriteCertificate(out, c) }); err != nil || !proved {
		return err
	}
	if err := w.copy(File{File: r.Proof, Is: ProofRole, Of: file}, proof); err != nil {
		return err
	}
	return w.add(File{File: strings.TrimSuffix(r.Proof, ".lrat") + ".cnf", Is: FormulaRole, Of: file}, func(out io.Writer) error { return cnf.DIMACS(ctx, out, c.Problem, r) })
}

// Workload adds a workload that claims are about.
func (w *Writer) Workload(file string, of *wl.Workload) error {
	w.m.Problems = append(w.m.Problems, Problem{File: file, About: of.String(), Digest: WorkloadDigest(of)})
	return w.add(File{File: file, Is: ProblemRole}, func(out io.Writer) error { return native.WriteWorkload(out, of) })
}

// Timetable adds a schedule of the workload in a file, and claims that it is right.
func (w *Writer) Timetable(file, workload string, s *wl.Schedule) error {
	end := s.Period
	if end == 0 {
		end = s.Makespan()
	}
	w.ends[file] = end
	w.m.Claims = append(w.m.Claims, Claim{Kind: TimetableClaim, Problem: workload, Schedule: file, Method: s.Origin.Method, Makespan: &end})
	return w.add(File{File: file, Is: ScheduleRole}, func(out io.Writer) error { return native.WriteTimetable(out, s) })
}

// WorkloadBound adds a bound on the workload in a file, and claims it.
func (w *Writer) WorkloadBound(file, workload string, c *wl.Certificate) error {
	w.bounds[file] = c.Bound.Value
	w.m.Claims = append(w.m.Claims, Claim{Kind: WorkloadBoundClaim, Problem: workload, Certificate: file, By: c.Bound.Kind, Bound: &c.Bound.Value})
	return w.add(File{File: file, Is: CertificateRole}, func(out io.Writer) error { return native.WriteWorkloadBound(out, c) })
}

// Input adds a file that a row names, as write writes it in our format.
func (w *Writer) Input(file string, write func(io.Writer) error) error {
	return w.add(File{File: file, Is: InputRole}, write)
}

// Row claims a row of the table. What it names is added before.
func (w *Writer) Row(r Row) { w.m.Rows = append(w.m.Rows, r) }

// Table adds the table whose rows are claimed, with the columns of times if times is true.
func (w *Writer) Table(rows []table.Row, times bool) error {
	if err := w.add(File{File: TableCSV, Is: TableRole}, func(out io.Writer) error { return table.WriteCSV(out, rows, times) }); err != nil {
		return err
	}
	return w.add(File{File: TableJSONL, Is: TableRole}, func(out io.Writer) error { return table.WriteJSONL(out, rows, times) })
}

// Model adds a program for MIP solvers about a schedule, copied from the file at path.
// Nothing is claimed of it, and no check looks at it.
func (w *Writer) Model(file, schedule, path string) error {
	return w.copy(File{File: file, Is: ModelRole, Of: schedule}, path)
}

func (w *Writer) copy(f File, path string) error {
	return w.add(f, func(out io.Writer) error {
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(out, in)
		return err
	})
}

// Claim adds a claim that follows from a schedule and a certificate, both added before: a
// GapClaim, CutGapClaim, OptimalClaim, NoneFasterClaim or FewestRoundsClaim. A gap to a bound
// of 0, which has no value, is left out.
func (w *Writer) Claim(kind ClaimKind, schedule, certificate string) {
	c := Claim{Kind: kind, Schedule: schedule, Certificate: certificate}
	if kind == GapClaim || kind == CutGapClaim {
		gap := float64(model.GapOf(w.ends[schedule], w.bounds[certificate]))
		if math.IsInf(gap, 0) {
			return
		}
		c.Gap = &gap
	}
	w.m.Claims = append(w.m.Claims, c)
}

// Close writes the manifest and ends the dossier.
func (w *Writer) Close() error {
	defer w.root.Close()
	if err := w.add(File{File: readmeName, Is: TextRole}, w.m.Readme); err != nil {
		return err
	}
	if err := w.m.Validate(); err != nil {
		return fmt.Errorf("%s: %w", ManifestName, err)
	}
	var text bytes.Buffer
	if err := w.m.Write(&text); err != nil {
		return err
	}
	if text.Len() > maxManifest {
		return fmt.Errorf("%s: of %d bytes, want at most %d: claim less in one directory", ManifestName, text.Len(), maxManifest)
	}
	out, err := w.root.OpenFile(ManifestName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(text.Bytes())
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// Package dossier checks files and directories of evidence: schedules by replay,
// certificates by their checker, problems for meaning. It needs no solver and trusts
// nothing that a file states of itself.
//
// A directory with a manifest is a dossier: it claims something, and is accepted only if
// every claim follows from what its files prove, and it has these files and no others. A
// manifest can be forged as any file can, with the sums in it, so that none is believed:
// what it claims is derived again. What a dossier cannot prove is which problem its reader
// has in mind; that is what Digest, and Asked, are for. verify/SPEC.md, section 16, states
// all of it.
package dossier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/pace"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/workload"
)

// Finding is what came of one document.
type Finding struct {
	File    string
	Kind    string // "schedule", "certificate", "problem", "topology", "collective", "workload", "timetable", "workload bound"
	Verdict verify.Verdict
	Err     error // the file could not be read

	problem *model.Problem
	digest  string // of the problem

	// Of a schedule.
	method    string
	seed      uint64
	makespan  model.Time
	timed     bool       // it has a makespan: its form is not order
	placed    model.Time // when it ends at the times that a list scheduler finds for an order; 0: none
	rounds    int
	steps     int
	transfers int

	certificate *model.Certificate

	// Of a workload, of a schedule of one, and of a bound on one: the workload, and the bound. Its
	// digest is that of the workload, its makespan a period if that is periodic.
	workload *wl.Workload
	bound    *wl.Bound

	tied bool // a problem has the rounds of another one, which is the one that was asked about

	// disowned is why a document of a dossier, though it may be proved for a problem of its
	// own, is not what the dossier claims of it.
	disowned string
}

// Conclusion is what a schedule and a certificate of the same problem state together.
type Conclusion struct {
	Schedule, Certificate string // files
	Kind                  string // of the certificate
	EveryCut              bool   // the bound holds for every cut
	Makespan, Bound       model.Time
	Placed                bool // the schedule has only an order: Makespan is that with the best times for it
}

// Met reports whether the schedule meets the bound.
func (c Conclusion) Met() bool { return c.Makespan == c.Bound }

// ErrEmpty is wrapped by the error for a directory, or files, without a single claim
// to check.
var ErrEmpty = errors.New("holds no schedule and no certificate, so that there is nothing to check")

// Options steer Check.
type Options struct {
	// Documents takes a directory without a manifest for a collection of documents, each
	// of which stands for itself.
	Documents bool
	// Asked is the problem that every document must be about; nil: any.
	Asked *Asked
	// MaxGap is the largest gap to a bound for every cut that schedules may have, of a dossier
	// the shortest ones of each problem; nil: any.
	MaxGap *model.Gap
}

// Report is what came of files and directories.
type Report struct {
	found    []Finding // documents that stand for themselves
	dossiers []*folder
	bare     []string // directories without a manifest
	problems []problemSeen
	wrong    []error // contradictions among documents that stand for themselves
	options  Options
}

// Check checks files and directories one after the other. A directory with a manifest, at any
// depth, is checked as a dossier. Of the directory of a sweep it checks the dossier of
// the table, and that its table is the one that is claimed, and looks at nothing else. Of other
// directories it checks every document, and passes over files in which none is expected (.md,
// .smt2, .mps, .svg, .txt, .cnf, and .lrat, which certificates name). What is not decided when ctx is done is unknown. An error means that
// there is nothing to check, or that a file or a manifest cannot be read.
func Check(ctx context.Context, paths []string, o Options) (*Report, error) {
	r := &Report{options: o}
	for _, path := range paths {
		if err := r.add(ctx, path); err != nil {
			return nil, err
		}
	}
	if len(r.dossiers) == 0 && !slices.ContainsFunc(r.found, func(f Finding) bool { return f.claims() }) {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, ", "), ErrEmpty)
	}
	r.settle()
	return r, nil
}

// add checks a file or a directory.
func (r *Report) add(ctx context.Context, path string) error {
	isDir, err := files.IsDir(path)
	if err != nil {
		return err
	}
	if !isDir {
		if filepath.Base(path) == ManifestName {
			return r.folder(ctx, filepath.Dir(path))
		}
		beside, err := files.OpenDir(ctx, filepath.Dir(path))
		if err != nil {
			return err
		}
		defer beside.Close()
		b, err := files.Read(ctx, path)
		return r.file(ctx, path, b, err, beside)
	}
	dir, err := files.OpenDir(ctx, path)
	if err != nil {
		return err
	}
	defer dir.Close()
	before, dossiers := len(r.found), len(r.dossiers)
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := join(path, name)
		if d.IsDir() {
			if _, err := os.Lstat(filepath.Join(at, ManifestName)); err == nil {
				if err := r.folder(ctx, at); err != nil {
					return err
				}
				return fs.SkipDir
			}
			done, err := r.sweep(ctx, at)
			if err == nil && done {
				err = fs.SkipDir
			}
			return err
		}
		switch slash.Ext(name) {
		case ".md", ".smt2", ".mps", ".svg", ".txt", ".cnf", ".lrat":
			return nil
		}
		beside, err := fs.Sub(dir, slash.Dir(name))
		if err != nil {
			return err
		}
		b, err := dir.ReadFile(name)
		return r.file(ctx, at, b, err, beside)
	})
	if err != nil {
		return err
	}
	claims := slices.ContainsFunc(r.found[before:], func(f Finding) bool { return f.claims() })
	if !claims && len(r.dossiers) == dossiers {
		return fmt.Errorf("%s: %w", path, ErrEmpty)
	}
	if len(r.found) > before {
		r.bare = append(r.bare, path)
	}
	return nil
}

// folder checks a dossier.
func (r *Report) folder(ctx context.Context, path string) error {
	dir, err := files.OpenDir(ctx, path)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := join(path, ManifestName)
	if info, err := os.Lstat(name); err != nil {
		return short(path, err)
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: want a regular file", name)
	}
	in, err := dir.Open(ManifestName)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := ReadManifest(name, in)
	if err != nil {
		return err
	}
	d, err := examine(ctx, path, dir, m)
	if err != nil {
		return short(path, err)
	}
	r.dossiers = append(r.dossiers, d)
	return nil
}

// claims reports whether a finding is the answer to a claim, or to what should be one.
func (f *Finding) claims() bool {
	return decided(f.Kind) || f.Err != nil
}

// join names a file of a directory.
func join(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

// short drops the operation from an error of the operating system.
func short(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// file checks a document that stands for itself: what was read of it, or why it could not be
// read. It returns an error if it was not read since ctx is done.
func (r *Report) file(ctx context.Context, name string, b []byte, err error, beside fs.FS) error {
	if err != nil && ctx.Err() != nil {
		return err
	}
	f := Finding{File: name, Err: err}
	if err == nil {
		f.judge(ctx, b, beside)
	}
	r.found = append(r.found, f)
	return nil
}

// judge checks a document, with the files beside it.
func (f *Finding) judge(ctx context.Context, b []byte, beside fs.FS) {
	name := f.File
	switch schema := native.SchemaOf(b); schema {
	case native.ScheduleSchema:
		f.Kind = "schedule"
		s, err := native.ReadSolution(name, bytes.NewReader(b))
		if err != nil {
			f.Err = err
			return
		}
		f.Verdict = replay.Check(ctx, s.Problem, s.Schedule)
		f.problem, f.method, f.seed, f.transfers = s.Problem, s.Origin.Method, s.Origin.Seed, len(s.Schedule.Transfers)
		f.makespan, f.timed = s.Problem.Makespan(s.Schedule), s.Schedule.Form != model.Ordered
		f.place(ctx, s)
		f.rounds, f.steps = s.Schedule.Rounds(), s.Schedule.Steps()
	case native.CertificateSchema:
		f.Kind = "certificate"
		c, err := native.ReadCertificate(name, bytes.NewReader(b))
		if err != nil {
			f.Err = err
			return
		}
		f.Verdict = cert.CheckIn(ctx, c, beside)
		f.problem, f.certificate = c.Problem, c
	case native.TimetableSchema:
		f.Kind = "timetable"
		s, err := native.ReadTimetable(name, bytes.NewReader(b))
		if err != nil {
			f.Err = err
			return
		}
		f.workload, f.method, f.timed = s.Workload, s.Origin.Method, true
		if f.Verdict, _, f.Err = workload.Check(ctx, s); f.Err == nil {
			f.makespan = f.Verdict.Makespan
		}
	case native.WorkloadBoundSchema:
		f.Kind = "workload bound"
		c, err := native.ReadWorkloadBound(name, bytes.NewReader(b))
		if err != nil {
			f.Err = err
			return
		}
		f.workload, f.bound, f.Verdict = c.Workload, &c.Bound, workload.CheckBound(c)
	case native.WorkloadSchema:
		f.Kind = "workload"
		f.workload, f.Err = native.ReadWorkload(name, bytes.NewReader(b), nil)
	case native.ProblemSchema:
		f.Kind = "problem"
		f.problem, f.Err = native.ReadProblem(name, bytes.NewReader(b))
	case native.TopologySchema:
		f.Kind = "topology"
		_, f.Err = native.ReadTopology(name, bytes.NewReader(b))
	case native.CollectiveSchema:
		f.Kind = "collective"
		_, f.Err = native.ReadCollective(name, bytes.NewReader(b))
	case "":
		f.Err = fmt.Errorf("%s: is no JSON document with a schema, want a schedule or a certificate (%s, %s)", name, native.ScheduleSchema, native.CertificateSchema)
	default:
		f.Err = fmt.Errorf("%s: schema %s is unknown, want %s or %s", name, model.Quote(schema), native.ScheduleSchema, native.CertificateSchema)
	}
	if f.problem != nil {
		f.digest = Digest(f.problem)
	}
	if f.workload != nil {
		f.digest = WorkloadDigest(f.workload)
	}
}

// decided reports whether a document of this kind has a verdict.
func decided(kind string) bool {
	return kind == "schedule" || kind == "certificate" || kind == "timetable" || kind == "workload bound"
}

// mostPlaced is how many transfers of an order get times at most.
const mostPlaced = 1 << 18

// place finds times for a proved schedule that has only an order, and keeps when it ends then, if replay
// proves it with these times, too.
func (f *Finding) place(ctx context.Context, s *model.Solution) {
	if f.timed || f.Verdict.Outcome != verify.Proved || len(s.Schedule.Transfers) > mostPlaced {
		return
	}
	placed, err := pace.Times(ctx, s.Problem, s.Schedule, pace.OrderOf(s.Schedule))
	if err == nil && replay.Check(ctx, s.Problem, placed).Outcome == verify.Proved {
		f.placed = s.Problem.Makespan(placed)
	}
}

// ends returns when a schedule ends, by its own times or by those that were found for its order.
func (f *Finding) ends() model.Time {
	if f.timed {
		return f.makespan
	}
	return f.placed
}

// bounds reports whether the bound of a proved certificate holds for a proved schedule that
// has a makespan.
func (f *Finding) bounds(s *Finding) bool {
	if f.Kind == "workload bound" {
		return s.Kind == "timetable" && s.Err == nil && f.Err == nil && s.disowned == "" && f.disowned == "" &&
			s.Verdict.Outcome == verify.Proved && f.Verdict.Outcome == verify.Proved && f.digest == s.digest
	}
	return s.Kind == "schedule" && s.Err == nil && s.disowned == "" && f.disowned == "" && (s.timed || s.placed > 0) && s.Verdict.Outcome == verify.Proved &&
		f.Kind == "certificate" && f.Err == nil && f.Verdict.Outcome == verify.Proved && f.digest == s.digest &&
		(f.problem.Chunks == nil || slices.Equal(f.problem.Chunks, s.problem.Chunks))
}

// value returns the bound of a certificate, of a problem or of a workload.
func (f *Finding) value() model.Time {
	if f.bound != nil {
		return f.bound.Value
	}
	return f.certificate.Bound
}

// by returns the kind of a certificate's evidence.
func (f *Finding) by() string {
	if f.bound != nil {
		return f.bound.Kind
	}
	return f.certificate.Witness.Kind()
}

// everyCut reports whether a certificate's bound holds for every cut. That of a workload is for the
// workload with the cuts that it has.
func (f *Finding) everyCut() bool { return f.bound == nil && everyCut(f.problem) }

// pairs calls f for every schedule with every certificate whose bound holds for it, by their
// indices.
func pairs(found []Finding, f func(s, c int)) {
	byProblem := map[string][]int{}
	for i := range found {
		if found[i].Kind == "certificate" || found[i].Kind == "workload bound" {
			byProblem[found[i].digest] = append(byProblem[found[i].digest], i)
		}
	}
	for s := range found {
		for _, c := range byProblem[found[s].digest] {
			if found[c].bounds(&found[s]) {
				f(s, c)
			}
		}
	}
}

// conclusions pairs every proved schedule that has times with the proved certificate of the
// largest bound for every cut, and with that of a larger bound for its own cut.
func conclusions(found []Finding) []Conclusion {
	type key struct {
		schedule int
		every    bool
	}
	best := map[key]int{}
	pairs(found, func(s, c int) {
		k := key{s, found[c].everyCut()}
		if b, ok := best[k]; !ok || found[c].value() > found[b].value() {
			best[k] = c
		}
	})
	var all []Conclusion
	for s := range found {
		every, there := best[key{s, true}]
		for _, k := range []key{{s, true}, {s, false}} {
			c, ok := best[k]
			if !ok || !k.every && there && found[c].value() <= found[every].value() {
				continue
			}
			all = append(all, Conclusion{Schedule: found[s].File, Certificate: found[c].File, Kind: found[c].by(), EveryCut: k.every, Makespan: found[s].ends(), Bound: found[c].value(), Placed: !found[s].timed})
		}
	}
	return all
}

// contradiction is a proved schedule that ends before a proved bound, by their indices.
type contradiction struct {
	schedule, certificate int
	err                   error
}

func contradictions(found []Finding) (all []contradiction) {
	pairs(found, func(s, c int) {
		if err := verify.Below(found[s].ends(), found[c].value(), found[c].by()); err != nil {
			all = append(all, contradiction{s, c, fmt.Errorf("%s, %s: %w", found[s].File, found[c].File, err)})
		}
	})
	return all
}

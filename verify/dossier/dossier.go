// Package dossier checks files and directories of evidence: schedules by replay,
// certificates by their checker, problems for meaning. It needs no solver and
// trusts nothing that a file says of itself.
package dossier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// Finding is what came of one file.
type Finding struct {
	File    string
	Kind    string // "schedule", "certificate", "problem", or "" for a file that holds no claim
	Verdict verify.Verdict
	Err     error // the file could not be read

	problem  *model.Problem
	makespan model.Time // of a schedule
	timed    bool       // it has one: its form is not order
	bound    model.Time // of a certificate
	kind     string     // of a certificate
}

// Conclusion is what a schedule and a certificate of the same problem say together.
type Conclusion struct {
	Schedule, Certificate string // files
	Kind                  string // of the certificate
	Makespan, Bound       model.Time
}

// Optimal says whether the schedule meets the bound.
func (c Conclusion) Optimal() bool { return c.Makespan == c.Bound }

// ErrEmpty is wrapped by the error for a directory, or files, without a single claim
// to check.
var ErrEmpty = errors.New("holds no schedule and no certificate, so that there is nothing to check")

// Check checks a file, or all files of a directory and the directories in it. Files
// in which no claim is expected (.md, .smt2, .mps, .svg, .txt,
// .cnf, and .lrat, which certificates name) are passed over; any other
// that cannot be read as one is an error in its finding. What is not decided when ctx is
// done is unknown.
func Check(ctx context.Context, path string) ([]Finding, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, short(path, err)
	}
	if !info.IsDir() {
		return []Finding{file(ctx, path)}, nil
	}
	var found []Finding
	claims := 0
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(name) {
		case ".md", ".smt2", ".mps", ".svg", ".txt", ".cnf", ".lrat":
			return nil
		}
		f := file(ctx, name)
		if f.claims() {
			claims++
		}
		found = append(found, f)
		return nil
	})
	if err != nil {
		return nil, short(path, err)
	}
	if claims == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrEmpty)
	}
	return found, nil
}

// CheckAll checks files and directories one after the other. At least one of them
// must hold a claim.
func CheckAll(ctx context.Context, paths []string) ([]Finding, error) {
	var all []Finding
	for _, path := range paths {
		found, err := Check(ctx, path)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	for i := range all {
		if all[i].claims() {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", strings.Join(paths, ", "), ErrEmpty)
}

// claims says whether a finding is the answer to a claim, or to what should be one.
func (f *Finding) claims() bool {
	return f.Kind == "schedule" || f.Kind == "certificate" || f.Err != nil
}

// short drops the operation from an error of the operating system.
func short(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// file checks one file.
func file(ctx context.Context, name string) Finding {
	f := Finding{File: name}
	b, err := os.ReadFile(name)
	if err != nil {
		f.Err = short(name, err)
		return f
	}
	switch schema := native.SchemaOf(b); schema {
	case native.ScheduleSchema:
		f.Kind = "schedule"
		s, err := native.ReadSolution(name, bytes.NewReader(b))
		if err != nil {
			f.Err = err
			return f
		}
		f.Verdict = replay.Check(ctx, s.Problem, s.Schedule)
		f.problem, f.makespan, f.timed = s.Problem, s.Problem.Makespan(s.Schedule), s.Schedule.Form != model.Ordered
	case native.CertificateSchema:
		f.Kind = "certificate"
		c, err := native.ReadCertificate(name, bytes.NewReader(b))
		if err != nil {
			f.Err = err
			return f
		}
		beside, err := os.OpenRoot(filepath.Dir(name))
		if err != nil {
			f.Err = short(name, err)
			return f
		}
		defer beside.Close()
		f.Verdict = cert.CheckIn(ctx, c, beside.FS())
		f.problem, f.bound, f.kind = c.Problem, c.Bound, c.Witness.Kind()
	case native.ProblemSchema:
		f.Kind = "problem"
		if _, err := native.ReadProblem(name, bytes.NewReader(b)); err != nil {
			f.Err = err
		}
	case native.TopologySchema:
		f.Kind = "topology"
		if _, err := native.ReadTopology(name, bytes.NewReader(b)); err != nil {
			f.Err = err
		}
	case native.CollectiveSchema:
		f.Kind = "collective"
		if _, err := native.ReadCollective(name, bytes.NewReader(b)); err != nil {
			f.Err = err
		}
	case "":
		f.Err = fmt.Errorf("%s: is no JSON document with a schema, want a schedule or a certificate (%s, %s)", name, native.ScheduleSchema, native.CertificateSchema)
	default:
		f.Err = fmt.Errorf("%s: schema %q is unknown, want %s or %s", name, schema, native.ScheduleSchema, native.CertificateSchema)
	}
	return f
}

// Conclusions pairs every proved schedule that has times with the proved certificate
// of the largest bound that holds for it. A schedule that fixes an order alone has no
// makespan to compare.
func Conclusions(found []Finding) []Conclusion {
	var all []Conclusion
	for _, s := range found {
		if s.Kind != "schedule" || s.Err != nil || !s.timed || s.Verdict.Outcome != verify.Proved {
			continue
		}
		best := Conclusion{Schedule: s.File, Makespan: s.makespan, Bound: -1}
		for _, c := range found {
			if c.Kind == "certificate" && c.Err == nil && c.Verdict.Outcome == verify.Proved && c.bound > best.Bound && c.problem.SameUpToCut(s.problem) {
				best.Certificate, best.Kind, best.Bound = c.File, c.kind, c.bound
			}
		}
		if best.Certificate != "" {
			all = append(all, best)
		}
	}
	return all
}

// Report writes findings and conclusions, a line each, and returns the exit status:
// 0 all is proved, 1 something is refuted, 2 something could not be read, 3
// something is unknown.
func Report(found []Finding) (text string, status int) {
	var b strings.Builder
	refuted, unknown, failed := false, false, false
	for _, f := range found {
		switch {
		case f.Err != nil:
			failed = true
			fmt.Fprintf(&b, "ERROR %v\n", f.Err)
		case f.Kind != "schedule" && f.Kind != "certificate":
			fmt.Fprintf(&b, "read %s: %s\n", f.File, f.Kind)
		default:
			fmt.Fprintf(&b, "%s %s: %s\n", word(f.Verdict.Outcome), f.File, f.Verdict.Claim)
			refuted = refuted || f.Verdict.Outcome == verify.Refuted
			unknown = unknown || f.Verdict.Outcome == verify.Unknown
			for _, v := range f.Verdict.Violations {
				fmt.Fprintf(&b, "  %v\n", v)
			}
			if f.Verdict.Outcome == verify.Unknown {
				fmt.Fprintf(&b, "  %s\n", f.Verdict.Reason)
			}
		}
	}
	for _, c := range Conclusions(found) {
		switch {
		case c.Optimal():
			fmt.Fprintf(&b, "optimal %s: %v, the bound of %s\n", c.Schedule, c.Makespan, c.Certificate)
		case c.Makespan < c.Bound:
			failed = true
			fmt.Fprintf(&b, "ERROR %s, %s: %v\n", c.Schedule, c.Certificate, verify.Below(c.Makespan, c.Bound, c.Kind))
		case c.Bound > 0:
			fmt.Fprintf(&b, "gap %s: %v, %.2f%% above the bound of %s, %v\n", c.Schedule, c.Makespan,
				100*float64(c.Makespan-c.Bound)/float64(c.Bound), c.Certificate, c.Bound)
		}
	}
	switch {
	case failed:
		return b.String(), 2
	case refuted:
		return b.String(), 1
	case unknown:
		return b.String(), 3
	}
	return b.String(), 0
}

func word(o verify.Outcome) string {
	if o == verify.Refuted {
		return "REFUTED"
	}
	return o.String()
}

package experiment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve/certify"
)

// Runner runs experiments.
type Runner struct {
	*certify.Evaluator
	Full  bool   // larger instances and longer searches, too: what full is in a file
	Store *Store // keeps what is computed

	// Part and Parts have Compute compute every Parts-th line only, from the Part-th on,
	// counted from 0. Parts is 0 for all of them.
	Part, Parts int

	f        *File
	sections map[string][]*line // by name
	memo     map[string]any     // what was computed or taken from the store, by key
	points   []*decided         // with a schedule, by the measure point
}

// Report computes the rows and figures that the file asks for. It returns the context's
// error when that ends; the store has what was finished.
func (x *Runner) Report(ctx context.Context, f *File) (*report.Report, error) {
	r := &report.Report{Name: f.Name, Title: f.Title, Source: f.Source, About: strings.TrimRight(f.About, "\n")}
	base, err := x.prepare(f)
	if err != nil {
		return nil, err
	}
	for _, s := range f.Sections {
		section := &report.Section{Name: s.Name, Title: s.Title}
		if s.Table != "" {
			section.Table = f.where + "/" + s.Table
		}
		var err error
		if section.About, err = x.expand(base, s.About); err != nil {
			return nil, err
		}
		for _, l := range x.sections[s.Name] {
			if err := x.compute(ctx, s, l); err != nil {
				return nil, err
			}
			for _, b := range s.Rows {
				row, err := x.row(s, b, l)
				if err != nil {
					return nil, err
				}
				if row != nil {
					section.Rows = append(section.Rows, row)
					l.scope.Names["verdict"] = expression.Text(string(row.Verdict))
				}
			}
		}
		if s.Title != "" {
			r.Sections = append(r.Sections, section)
		}
	}
	for _, g := range f.Figures {
		figure, err := x.figure(base, g)
		if err != nil {
			return nil, err
		}
		r.Figures = append(r.Figures, figure)
	}
	return r, nil
}

// Compute computes the lines of its part, and keeps what it computes in the store. It returns
// the context's error when that ends.
func (x *Runner) Compute(ctx context.Context, f *File) error {
	if _, err := x.prepare(f); err != nil {
		return err
	}
	n := 0
	for _, s := range f.Sections {
		if len(s.Compute) == 0 {
			continue
		}
		for _, l := range x.sections[s.Name] {
			if mine := x.Parts == 0 || n%x.Parts == x.Part; mine {
				if err := x.compute(ctx, s, l); err != nil {
					return err
				}
			}
			n++
		}
	}
	return nil
}

// prepare reads the lines of all sections, with nothing computed, and returns the names that
// all of the file has.
func (x *Runner) prepare(f *File) (*expression.Scope, error) {
	x.begin(f)
	base, err := x.base()
	if err != nil {
		return nil, err
	}
	for _, s := range f.Sections {
		if x.sections[s.Name], err = x.lines(base, s); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// begin begins with an experiment.
func (x *Runner) begin(f *File) {
	x.f, x.sections, x.memo, x.points = f, map[string][]*line{}, map[string]any{}, nil
}

// base returns the names that all of the file has.
func (x *Runner) base() (*expression.Scope, error) {
	base := (&expression.Scope{}).In(expression.Record{"full": expression.Truth(x.Full), "none": {}})
	return base, x.define(nil, base, x.f.Define)
}

// line is a line of a section: its names, and what was published.
type line struct {
	scope *expression.Scope
	place string // of the published values: "tacos/tests.csv:4"; "" for a grid
}

// at adds the place in the file, and in the table, to an error.
func (x *Runner) at(l *line, n int, err error) error {
	if err == nil {
		return nil
	}
	place := fmt.Sprintf("%s:%d", x.f.Path, n)
	if l != nil && l.place != "" {
		place += " on " + l.place
	}
	return fmt.Errorf("%s: %w", place, err)
}

func (x *Runner) expand(s *expression.Scope, t *text) (string, error) {
	if t == nil {
		return "", nil
	}
	out, err := t.Expand(s)
	return out, x.at(nil, t.line, err)
}

func (x *Runner) eval(l *line, s *expression.Scope, e *expr) (expression.Value, error) {
	if e == nil {
		return expression.Value{}, nil
	}
	v, err := e.Eval(s)
	return v, x.at(l, e.line, err)
}

// holds reports whether a condition does; one that is not given does.
func (x *Runner) holds(l *line, s *expression.Scope, e *expr) (bool, error) {
	if e == nil {
		return true, nil
	}
	v, err := x.eval(l, s, e)
	return v.IsTrue(), err
}

func (x *Runner) define(l *line, s *expression.Scope, all pairs[expr]) error {
	for i := range all {
		v, err := x.eval(l, s, &all[i].value)
		if err != nil {
			return err
		}
		s.Names[all[i].key] = v
	}
	return nil
}

// compute computes the runs of a line, and what is defined by them.
func (x *Runner) compute(ctx context.Context, s *Section, l *line) error {
	for _, name := range slices.Sorted(maps.Keys(s.Compute)) {
		if err := x.runOf(ctx, s, name, l); err != nil {
			return err
		}
	}
	if err := x.define(l, l.scope, s.Define); err != nil || len(s.Join) == 0 {
		return err
	}
	for name, j := range s.Join {
		l.scope.Names[name] = j.find(x.sections[j.Section], l)
	}
	return x.define(l, l.scope, s.Define)
}

// runOf computes the run of a line that has this name, and gives it to the line.
func (x *Runner) runOf(ctx context.Context, s *Section, name string, l *line) error {
	v, err := x.run(ctx, s, s.Compute[name], l)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && l.place != "":
		return fmt.Errorf("%s: %w", l.place, err)
	case err != nil:
		return fmt.Errorf("%s: section %s: %w", x.f.Path, s.Name, err)
	}
	l.scope.Names[name] = expression.Fields(v)
	return nil
}

// run computes one run of a line.
func (x *Runner) run(ctx context.Context, s *Section, r *Run, l *line) (expression.Record, error) {
	yes, err := x.holds(l, l.scope, r.If)
	if err != nil {
		return nil, err
	}
	if !yes {
		reason, err := x.expand(l.scope, r.Else)
		if reason == "" {
			reason = "ours is not computed"
		}
		if r.Measure == "" {
			return (&result{Reason: reason}).record(), err
		}
		none := expression.Record{}
		for _, name := range measures()[r.Measure].Fields {
			none[name] = expression.Value{}
		}
		none["reason"] = expression.Text(reason)
		return none, err
	}
	spec, err := x.spec(l, s, r)
	if err != nil {
		return nil, err
	}
	if r.Measure != "" {
		for i := range r.With {
			v, err := x.eval(l, l.scope, &r.With[i].value)
			if err != nil {
				return nil, err
			}
			spec[r.With[i].key] = v.String()
		}
		return measures()[r.Measure].compute(ctx, x, spec)
	}
	var methods []string
	for _, t := range r.Methods {
		m, err := x.expand(l.scope, t)
		if err != nil {
			return nil, err
		}
		methods = append(methods, methodNames(m)...)
	}
	return x.best(ctx, spec, methods)
}

// methodNames splits a list of methods.
func methodNames(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
}

// spec is an instance as it is solved: its fields by their keys. Those that are empty are
// left out.
type spec map[string]string

// spec expands the fields of a run, of its section or of the file.
func (x *Runner) spec(l *line, s *Section, r *Run) (spec, error) {
	of := spec{}
	for _, in := range []*Instance{&r.Instance, &s.Instance, &x.f.Instance} {
		keys, values := in.fields()
		for i, v := range values {
			if _, done := of[keys[i]]; done || *v == nil {
				continue
			}
			value, err := x.expand(l.scope, *v)
			if err != nil {
				return nil, err
			}
			of[keys[i]] = value
		}
	}
	maps.DeleteFunc(of, func(_, v string) bool { return v == "" })
	return of, x.beside(of)
}

// beside has the topology and the collective of a spec name the file beside the experiment,
// if there is one, and adds the sum of what is in it, so that a changed file is another
// instance.
func (x *Runner) beside(of spec) error {
	for _, key := range []string{"topology", "collective"} {
		name := of[key]
		if name == "" || x.f.dir == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(x.f.dir, name)
		}
		if !files.Exists(name) {
			continue
		}
		b, err := files.ReadRegular(context.Background(), name)
		if err != nil {
			return err
		}
		of[key], of[key+" sha256"] = name, fmt.Sprintf("%x", sha256.Sum256(b))
	}
	return nil
}

// errUndecided keeps the store from keeping what another run may decide.
var errUndecided = errors.New("undecided")

// whole is a key with what every value depends on.
func (x *Runner) whole(key string) string {
	o := x.Options
	return fmt.Sprintf("%s, seed %d, %v, %d tries, effort %d", key, o.Seed, o.TimeLimit, o.Tries, o.Effort)
}

// keep computes a value, or takes it from the store. The key names all that the value
// depends on beside the program, the seed and the limits. What compute returns with
// errUndecided is returned, and is not kept.
//
// What compute says that the value rests on is kept, too, if proofs are: in a dossier with
// that label, before the value.
func keep[T any](ctx context.Context, x *Runner, label, key string, compute func(*evidence) (T, error)) (T, error) {
	var proofs *foundation
	if dir := x.dossier(label, key); dir != "" {
		proofs = &foundation{dir: dir}
	}
	key = x.whole(key)
	if v, ok := x.memo[key].(T); ok {
		return v, nil
	}
	var open T
	v, err := keepIn(x.Store, key, proofs, func() (T, error) {
		var e evidence
		v, err := compute(&e)
		open = v
		if proofs != nil && (err == nil || errors.Is(err, errUndecided)) {
			var werr error
			if proofs.sum, werr = x.prove(ctx, proofs.dir, &e); werr != nil {
				return v, werr
			}
		}
		return v, err
	})
	switch {
	case errors.Is(err, errUndecided):
		v = open
	case err != nil:
		return v, err
	}
	x.memo[key] = v
	return v, nil
}

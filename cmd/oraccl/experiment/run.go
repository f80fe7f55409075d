package experiment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
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
		for _, l := range x.sections[s.Name] {
			if len(s.Compute) > 0 {
				n++
			}
			if x.Parts > 0 && n%x.Parts != x.Part {
				continue
			}
			if err := x.compute(ctx, s, l); err != nil {
				return err
			}
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
	return base, x.define(base, x.f.Define)
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

func (x *Runner) define(s *expression.Scope, all pairs[expr]) error {
	for i := range all {
		v, err := x.eval(nil, s, &all[i].value)
		if err != nil {
			return err
		}
		s.Names[all[i].key] = v
	}
	return nil
}

// lines returns the lines of a section for which its condition holds, with nothing computed.
func (x *Runner) lines(base *expression.Scope, s *Section) ([]*line, error) {
	var all []*line
	var err error
	if s.Table != "" {
		all, err = x.published(base, s)
	} else {
		all = gridOf(base, s)
	}
	if err != nil {
		return nil, err
	}
	var kept []*line
	for _, l := range all {
		for name := range s.Compute {
			l.scope.Names[name] = expression.Value{}
		}
		for name := range s.Join {
			l.scope.Names[name] = expression.Value{}
		}
		l.scope.Names["verdict"] = expression.Value{}
		if err := x.define(l.scope, s.Define); err != nil {
			return nil, err
		}
		yes, err := x.holds(l, l.scope, s.Only)
		if err != nil {
			return nil, err
		}
		if yes {
			kept = append(kept, l)
		}
	}
	if s.Least == nil {
		return kept, nil
	}
	return leastOf(kept, s.Least), nil
}

// leastOf keeps, of lines that are equal in some columns, the one with the least value, in
// the place of the first.
func leastOf(all []*line, by *least) []*line {
	var kept []*line
	at := map[string]int{}
	for _, l := range all {
		key := keyOf(l, by.By)
		i, known := at[key]
		if !known {
			at[key], kept = len(kept), append(kept, l)
			continue
		}
		v, vok := l.scope.Names[by.Value].Float()
		w, wok := kept[i].scope.Names[by.Value].Float()
		if vok && (!wok || v < w) {
			kept[i] = l
		}
	}
	return kept
}

func keyOf(l *line, columns []string) string {
	key := ""
	for _, name := range columns {
		key += l.scope.Names[name].String() + "\x00"
	}
	return key
}

// published reads the table of a section.
func (x *Runner) published(base *expression.Scope, s *Section) ([]*line, error) {
	var columns []string
	for _, c := range s.Columns {
		kind := string(c.value)
		if kind == "text" {
			kind = ""
		}
		columns = append(columns, strings.TrimSuffix(c.key+":"+kind, ":"))
	}
	read, err := load(x.f.tables, path.Clean(s.Table), columns...)
	if err != nil {
		return nil, err
	}
	var all []*line
	at := map[string]*line{}
	for _, p := range read {
		l := &line{base.In(expression.Record{}), p.place}
		names := l.scope.Names
		names["value"] = expression.Value{}
		for name, text := range p.text {
			if text != "" || slices.Contains(common[1:], name) {
				names[name] = expression.Text(text)
			}
		}
		for _, c := range s.Columns {
			if text := p.text[c.key]; text != "" && (c.value == "int" || c.value == "number") {
				if names[c.key], err = expression.ReadNumber(text); err != nil {
					return nil, fmt.Errorf("%s: %s %w", l.place, c.key, err)
				}
			}
		}
		names["said"] = saidOf(names, p.text["value"])
		if s.Pivot == nil {
			all = append(all, l)
			continue
		}
		key := keyOf(l, s.Pivot.By)
		of := at[key]
		if of == nil {
			of, at[key] = l, l
			all = append(all, l)
			names["all"] = expression.Fields(expression.Record{})
		}
		said, _ := of.scope.Names["all"].Record()
		said[names[s.Pivot.On].String()] = names["said"]
	}
	if s.Pivot == nil {
		return all, nil
	}
	words := map[string]bool{} // that any line has
	for _, l := range all {
		said, _ := l.scope.Names["all"].Record()
		for w := range said {
			words[w] = true
		}
	}
	for _, l := range all {
		said, _ := l.scope.Names["all"].Record()
		for w := range words {
			if _, ok := said[w]; !ok {
				said[w] = expression.Value{}
			}
		}
		delete(l.scope.Names, "all")
		l.scope.Names["said"], l.scope.Names["value"] = expression.Fields(said), expression.Value{}
	}
	return all, nil
}

// saidOf is what a line says was published, with where.
func saidOf(names expression.Record, printed string) expression.Value {
	return expression.Fields(expression.Record{
		"value": names["value"], "printed": expression.Text(printed),
		"source": names["source"], "where": names["where"], "certainty": names["certainty"], "reason": names["reason"],
	})
}

// gridOf returns the product of the lists of a section, the last one fastest.
func gridOf(base *expression.Scope, s *Section) []*line {
	all := []expression.Record{{}}
	for _, p := range s.Grid {
		names := map[string]bool{}
		for _, values := range p.value {
			for name := range values {
				names[name] = true
			}
		}
		var next []expression.Record
		for _, so := range all {
			for _, values := range p.value {
				r := maps.Clone(so)
				for name := range names {
					v := expression.Value{}
					if value, ok := values[name]; ok {
						v = expression.Text(value)
						if n, err := expression.ReadNumber(value); err == nil {
							v = n
						}
					}
					if name == "" {
						name = p.key
					}
					r[name] = v
				}
				next = append(next, r)
			}
		}
		all = next
	}
	var lines []*line
	for _, r := range all {
		lines = append(lines, &line{scope: base.In(r)})
	}
	return lines
}

// compute computes the runs of a line, and what is defined by them.
func (x *Runner) compute(ctx context.Context, s *Section, l *line) error {
	for _, name := range slices.Sorted(maps.Keys(s.Compute)) {
		r := s.Compute[name]
		v, err := x.run(ctx, s, r, l)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if l.place != "" {
				return fmt.Errorf("%s: %w", l.place, err)
			}
			return fmt.Errorf("%s: section %s: %w", x.f.Path, s.Name, err)
		}
		l.scope.Names[name] = expression.Fields(v)
	}
	if err := x.define(l.scope, s.Define); err != nil || len(s.Join) == 0 {
		return err
	}
	for name, j := range s.Join {
		l.scope.Names[name] = j.find(x.sections[j.Section], l)
	}
	return x.define(l.scope, s.Define)
}

// find returns the names of the line that is joined to l, unknown where there is none.
func (j *join) find(lines []*line, l *line) expression.Value {
	var found *line
	for _, m := range lines {
		same := true
		for there, here := range j.By {
			same = same && m.scope.Names[there].String() == l.scope.Names[here].String()
		}
		if !same {
			continue
		}
		if found == nil {
			found = m
		}
		if j.Greatest == "" {
			break
		}
		v, known := m.scope.Names[j.Greatest].Float()
		if w, _ := found.scope.Names[j.Greatest].Float(); known && v > w {
			found = m
		}
	}
	if found == nil {
		return expression.Value{}
	}
	return expression.Fields(found.scope.Names)
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

// keep computes a value, or takes it from the store. The key names all that the value
// depends on beside the program, the seed and the limits. What compute returns with
// errUndecided is returned, and is not kept.
func keep[T any](x *Runner, key string, compute func() (T, error)) (T, error) {
	o := x.Options
	key = fmt.Sprintf("%s, seed %d, %v, %d tries, effort %d", key, o.Seed, o.TimeLimit, o.Tries, o.Effort)
	if v, ok := x.memo[key].(T); ok {
		return v, nil
	}
	var open T
	v, err := keepIn(x.Store, key, func() (T, error) {
		v, err := compute()
		open = v
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

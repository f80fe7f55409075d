package experiment

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/solve/certify"
)

// The names that rows and figures have beside those of their section.
var (
	rowNames    = []string{"ours", "bound", "less", "more", "agrees", "better", "worse", "not_comparable", "not_published"}
	figureNames = []string{"fits", "verdict"}
	eachNames   = []string{"it", "method"}
	tableNames  = []string{"said", "value", "source", "where", "certainty", "reason"}
)

// units are the units of axes by their names in files.
var units = map[string]chart.Unit{"": chart.Plain, "bytes": chart.Bytes, "seconds": chart.Seconds, "bytes/s": chart.BytesPerSecond, "percent": chart.Percent}

// checker checks a file for what the reader of YAML does not know.
type checker struct {
	f   *File
	err error // the first
}

func (c *checker) fail(line int, format string, args ...any) {
	if c.err != nil {
		return
	}
	place := c.f.Path
	if line > 0 {
		place = fmt.Sprintf("%s:%d", place, line)
	}
	c.err = fmt.Errorf("%s: %w", place, fmt.Errorf(format, args...))
}

// used checks that expressions use only known names.
func (c *checker) used(line int, uses, known []string) {
	for _, name := range uses {
		if !slices.Contains(known, name) {
			c.fail(line, "unknown name %s, want one of %s", name, strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
	}
}

func (c *checker) exprs(known []string, all ...*expr) {
	for _, e := range all {
		if e != nil {
			c.used(e.line, e.Uses(), known)
		}
	}
}

func (c *checker) texts(known []string, all ...*text) {
	for _, t := range all {
		if t != nil {
			c.used(t.line, t.Uses(), known)
		}
	}
}

func (c *checker) conditions(known []string, all ...pairs[condition]) {
	for _, p := range all {
		for i := range p {
			c.exprs(known, &p[i].value.expr)
			c.texts(known, &p[i].value.text)
		}
	}
}

// instance checks the fields of an instance as the first of all gives them.
func (c *checker) instance(known []string, all ...*Instance) {
	given := map[string]bool{}
	for _, in := range all {
		keys, values := in.fields()
		for i, v := range values {
			if *v != nil && !given[keys[i]] {
				given[keys[i]] = true
				c.texts(known, *v)
			}
		}
	}
}

// define adds the names of definitions to the known ones. Each may use those before it.
func (c *checker) define(known []string, d pairs[expr]) []string {
	for i := range d {
		c.exprs(known, &d[i].value)
		known = c.add(known, d[i].line, d[i].key)
	}
	return known
}

func (c *checker) add(known []string, line int, name string) []string {
	switch {
	case slices.Contains(known, name):
		c.fail(line, "the name %s has a meaning already", name)
	case slices.Contains(slices.Concat(rowNames, figureNames, eachNames), name), name == "true", name == "false":
		c.fail(line, "the name %s is reserved", name)
	}
	return append(slices.Clip(known), name)
}

// check returns the first thing that is wrong with the file.
func (f *File) check() error {
	c := &checker{f: f}
	if f.Title == "" || len(f.Sections) == 0 {
		c.fail(0, "want a title and sections")
	}
	base := c.define([]string{"full", "none"}, f.Define)
	bySection := map[string][]string{}
	for i, s := range f.Sections {
		if s == nil || s.Name == "" || s.Title == "" && len(s.Rows) > 0 || bySection[s.Name] != nil {
			c.fail(0, "section %d: want a name of its own, and a title", i+1)
			return c.err
		}
		bySection[s.Name] = c.section(base, bySection, s)
	}
	names := map[string]bool{}
	for i, g := range f.Figures {
		if g == nil || g.Name == "" || names[g.Name] || g.Title == nil || len(g.Of) == 0 {
			c.fail(0, "figure %d: want a name of its own, a title, and the sections that it is of", i+1)
			return c.err
		}
		names[g.Name] = true
		c.figure(bySection, g)
	}
	return c.err
}

func (c *checker) section(base []string, above map[string][]string, s *Section) []string {
	wrong := func(format string, args ...any) { c.fail(0, "section %s: %w", s.Name, fmt.Errorf(format, args...)) }
	c.texts(base, s.About)
	known := base
	switch {
	case (s.Table == "") == (len(s.Grid) == 0):
		wrong("want either a table or a grid")
	case s.Table != "" && !fs.ValidPath(s.Table):
		wrong("table %q: want a file in the directory of this one, or below it", s.Table)
	case s.Table == "" && (len(s.Columns) > 0 || s.Least != nil || s.Pivot != nil):
		wrong("columns, least and pivot go with a table")
	}
	columns := []string{}
	for _, p := range s.Columns {
		columns = append(columns, p.key)
		if p.key != "value" {
			known = c.add(known, p.line, p.key)
		}
	}
	if s.Least != nil {
		for _, name := range append([]string{s.Least.Value}, s.Least.By...) {
			if !slices.Contains(columns, name) {
				wrong("least: unknown column %q, want one of %s", name, strings.Join(columns, ", "))
			}
		}
	}
	if s.Pivot != nil {
		for _, name := range append([]string{s.Pivot.On}, s.Pivot.By...) {
			if !slices.Contains(columns, name) {
				wrong("pivot: unknown column %q, want one of %s", name, strings.Join(columns, ", "))
			}
		}
	}
	if s.Table != "" {
		for _, name := range tableNames {
			known = c.add(known, 0, name)
		}
	}
	for _, p := range s.Grid {
		names := map[string]bool{}
		for _, values := range p.value {
			for name := range values {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if name == "" {
				name = p.key
			}
			known = c.add(known, p.line, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Compute)) {
		known = c.add(known, 0, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Join)) {
		known = c.add(known, 0, name)
		j := s.Join[name]
		if j == nil || above[j.Section] == nil || (j.Greatest == "") == (len(j.By) == 0) {
			wrong("join %s: want a section above, and either by or greatest", name)
			continue
		}
		for _, there := range append(slices.Sorted(maps.Keys(j.By)), j.Greatest) {
			if there != "" && !slices.Contains(above[j.Section], there) {
				wrong("join %s: section %s has no name %s", name, j.Section, there)
			}
		}
	}
	known = c.define(known, s.Define)
	for name, j := range s.Join {
		for _, here := range slices.Sorted(maps.Values(j.By)) {
			if !slices.Contains(known, here) {
				wrong("join %s: unknown name %s, want one of %s", name, here, strings.Join(known, ", "))
			}
		}
	}
	c.exprs(known, s.Only)
	for name, r := range s.Compute {
		if r == nil || (r.Measure == "") == (len(r.Methods) == 0) || r.Measure != "" && measures()[r.Measure] == nil {
			wrong("compute %s: want either methods, or a measure: %s", name, strings.Join(slices.Sorted(maps.Keys(measures())), ", "))
			continue
		}
		c.instance(known, &r.Instance, &s.Instance, &c.f.Instance)
		c.exprs(known, r.If)
		c.texts(known, r.Else)
		c.texts(known, r.Methods...)
		c.methods(r.Methods)
		for i := range r.With {
			c.exprs(known, &r.With[i].value)
		}
	}
	for i, b := range s.Rows {
		if b == nil || b.Instance == nil || b.Quantity == nil || b.Of != "" && s.Compute[b.Of] == nil {
			wrong("row %d: want an instance, a quantity, and of: one of %s", i+1, strings.Join(slices.Sorted(maps.Keys(s.Compute)), ", "))
			continue
		}
		if s.Table == "" && b.Published == nil && b.Unpublished == nil {
			wrong("row %d: want published or unpublished, as there is no table", i+1)
		}
		c.row(append(slices.Clip(known), rowNames...), b)
	}
	return known
}

// methods checks the names of methods that are no expressions.
func (c *checker) methods(all list) {
	for _, t := range all {
		names := methodNames(t.Text())
		if strings.Contains(t.Text(), "${") || slices.Equal(names, []string{"all"}) {
			continue
		}
		if _, err := certify.MethodsNamed(names...); err != nil {
			c.fail(t.line, "%w", err)
		}
	}
}

func (c *checker) row(known []string, b *RowBlock) {
	if !slices.Contains(known, "value") {
		known = append(known, "value")
	}
	c.exprs(known, b.Only, b.Published, b.Ours, b.Bound, b.Seconds, b.Better, b.Tolerance)
	c.texts(known, b.Instance, b.Quantity, b.Unpublished, b.By, b.Proved, b.Certificate, b.Digits)
	c.conditions(known, b.NotComparable, b.Why, b.Never)
}

func (c *checker) figure(bySection map[string][]string, g *FigureBlock) {
	used := []string{g.X.Unit, g.Y.Unit}
	if g.Heat != nil {
		used = append(used, g.Heat.Unit)
	}
	for _, u := range used {
		if _, ok := units[u]; !ok {
			c.fail(0, "figure %s: unit %q: want one of%s", g.Name, u, strings.Join(slices.Sorted(maps.Keys(units)), " "))
		}
	}
	known := slices.Clone(figureNames)
	for _, of := range g.Of {
		names, ok := bySection[of.Text()]
		if !ok {
			c.fail(of.line, "figure %s: unknown section %q, want one of %s", g.Name, of.Text(), strings.Join(slices.Sorted(maps.Keys(bySection)), ", "))
			return
		}
		known = append(known, names...)
	}
	if h := g.Heat; h != nil {
		if h.Row == nil || h.Column == nil || h.Value == nil || h.Most <= 0 || len(g.Series) > 0 {
			c.fail(0, "figure %s: heat: want row, column, value and most, above zero, and no series", g.Name)
			return
		}
		for _, p := range append(slices.Clip(h.Counts), h.Lists...) {
			c.exprs(known, &p.value)
		}
		if len(h.Lists) > 0 && h.Worst == nil {
			c.fail(0, "figure %s: heat: lists without worst, which is what they list", g.Name)
		}
		c.texts(known, h.Row, h.Group, h.Column, h.Worst)
		c.exprs(known, h.Value)
	}
	c.texts(known, g.Places)
	c.exprs(known, g.Only, g.Drawn)
	for _, s := range g.Series {
		if s == nil || s.Name == nil || s.Y == nil || (s.X == nil) == (g.Places == nil) {
			c.fail(0, "figure %s: a series: want name, y, and x unless the figure has places", g.Name)
			return
		}
		own := known
		if s.Each != "" {
			c.used(s.Name.line, []string{s.Each}, known)
			own = slices.Concat(known, eachNames)
		}
		c.texts(own, s.Name)
		c.exprs(own, s.Only, s.X, s.Y)
	}
	for i := range g.Table {
		c.texts(known, &g.Table[i].value)
	}
	var base []string
	for _, d := range c.f.Define {
		base = append(base, d.key)
	}
	c.texts(append(base, "full", "none"), g.Title)
}

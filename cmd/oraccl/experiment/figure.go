package experiment

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
)

// figure draws the lines of a figure, and writes its table. Points that are unknown are left
// out, and a figure without any has its table alone.
func (x *Runner) figure(base *expression.Scope, g *FigureBlock) (*report.Figure, error) {
	title, err := x.expand(base, g.Title)
	if err != nil {
		return nil, err
	}
	c := &chart.Chart{Title: title, XName: g.X.Name, YName: g.Y.Name, XUnit: units[g.X.Unit], YUnit: units[g.Y.Unit], LogX: g.X.Log, LogY: g.Y.Log}
	var all, drawn []*line
	names := expression.Record{} // of all lines, unknown for lines that do not have them
	for _, of := range g.Of {
		for _, l := range x.sections[of.Text()] {
			for name := range l.scope.Names {
				names[name] = expression.Value{}
			}
		}
	}
	for _, of := range g.Of {
		for _, l := range x.sections[of.Text()] {
			l = &line{&expression.Scope{Names: l.scope.Names, Outer: base.In(names)}, l.place}
			yes, err := x.holds(l, l.scope, g.Only)
			if err != nil {
				return nil, err
			}
			if !yes {
				continue
			}
			all = append(all, l)
			if yes, err = x.holds(l, l.scope, g.Drawn); err != nil {
				return nil, err
			}
			if !yes {
				continue
			}
			drawn = append(drawn, l)
			if g.Places != nil {
				place, err := x.expand(l.scope, g.Places)
				if err != nil {
					return nil, err
				}
				c.Places = append(c.Places, place)
			}
		}
	}
	fits := expression.Record{}
	for _, s := range g.Series {
		for i, l := range drawn {
			if err := x.plot(c, g, s, l, i); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range c.Series {
		fits[s.Name] = expression.Value{}
		if _, e, ok := chart.PowerLaw(s.X, s.Y); ok {
			fits[s.Name] = expression.Float(e)
		}
	}
	f := &report.Figure{Name: g.Name, Title: title, Table: [][]string{nil}}
	for i := range g.Table {
		f.Table[0] = append(f.Table[0], g.Table[i].key)
	}
	for _, l := range all {
		scope := l.scope.In(expression.Record{"fits": expression.Fields(fits)})
		var cells []string
		for i := range g.Table {
			cell, err := x.expand(scope, &g.Table[i].value)
			if err != nil {
				return nil, err
			}
			cells = append(cells, cell)
		}
		f.Table = append(f.Table, cells)
	}
	var drawing chart.Figure = c
	if g.Heat != nil {
		if drawing, err = x.heat(g, title, drawn); err != nil {
			return nil, err
		}
		if err := x.tell(f, g.Heat, drawn); err != nil {
			return nil, err
		}
	} else if len(c.Series) == 0 {
		return f, nil
	}
	var b bytes.Buffer
	if err := drawing.Write(&b, "svg"); err != nil {
		return nil, fmt.Errorf("%s: figure %s: %w", x.f.Path, g.Name, err)
	}
	f.SVG = b.Bytes()
	return f, nil
}

// heat returns the map of the values of lines.
func (x *Runner) heat(g *FigureBlock, title string, lines []*line) (*chart.Heat, error) {
	h := &chart.Heat{Title: title, Unit: units[g.Heat.Unit], Most: g.Heat.Most}
	for _, l := range lines {
		row, err := x.expand(l.scope, g.Heat.Row)
		if err != nil {
			return nil, err
		}
		group, err := x.expand(l.scope, g.Heat.Group)
		if err != nil {
			return nil, err
		}
		column, err := x.expand(l.scope, g.Heat.Column)
		if err != nil {
			return nil, err
		}
		v, err := x.eval(l, l.scope, g.Heat.Value)
		if err != nil {
			return nil, err
		}
		if value, ok := v.Float(); ok {
			h.Set(row, group, column, value)
		}
	}
	return h, nil
}

// mostWorst is how many of the largest values of a map the report tells of.
const mostWorst = 10

// valued is a line with its value in a map.
type valued struct {
	*line
	value float64
}

// tell adds to a figure what the report tells of the values of a map: how many lines meet some
// conditions, the median, the largest ones.
func (x *Runner) tell(f *report.Figure, h *heatBlock, lines []*line) error {
	var all []valued
	for _, l := range lines {
		v, err := x.eval(l, l.scope, h.Value)
		if err != nil {
			return err
		}
		if value, ok := v.Float(); ok {
			all = append(all, valued{l, value})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b valued) int { return cmp.Compare(b.value, a.value) })
	if len(h.Counts) > 0 {
		table, err := x.counted(h, lines)
		if err != nil {
			return err
		}
		f.Counts = table
		f.Text = []string{fmt.Sprintf("The median is %.4g, the largest value %.4g.", all[len(all)/2].value, all[0].value)}
	}
	lists := h.Lists
	if len(lists) == 0 && h.Worst != nil {
		lists = pairs[expr]{{key: "The largest values"}}
	}
	for i := range lists {
		list := report.List{Title: lists[i].key}
		for _, v := range all {
			condition := &lists[i].value
			if h.Lists == nil {
				condition = nil
			}
			yes, err := x.holds(v.line, v.scope, condition)
			if err != nil {
				return err
			}
			if !yes {
				continue
			}
			one, err := x.expand(v.scope, h.Worst)
			if err != nil {
				return err
			}
			if list.Items = append(list.Items, one); len(list.Items) == mostWorst {
				break
			}
		}
		f.Lists = append(f.Lists, list)
	}
	return nil
}

// counted returns a table of how many lines meet the conditions of a map, in each column and in
// all, and how many there are.
func (x *Runner) counted(h *heatBlock, all []*line) ([][]string, error) {
	var columns []string
	count := map[[2]int]int{} // by column and condition; those of all are the last
	for _, v := range all {
		column, err := x.expand(v.scope, h.Column)
		if err != nil {
			return nil, err
		}
		at := slices.Index(columns, column)
		if at < 0 {
			at, columns = len(columns), append(columns, column)
		}
		count[[2]int{at, -1}]++
		for i := range h.Counts {
			yes, err := x.holds(v, v.scope, &h.Counts[i].value)
			if err != nil {
				return nil, err
			}
			if yes {
				count[[2]int{at, i}]++
			}
		}
	}
	row := func(name string, i int) []string {
		cells, sum := []string{name}, 0
		for at := range columns {
			n := count[[2]int{at, i}]
			cells, sum = append(cells, strconv.Itoa(n)), sum+n
		}
		return append(cells, strconv.Itoa(sum))
	}
	table := [][]string{slices.Concat([]string{""}, columns, []string{"all"}), row("rows", -1)}
	for i := range h.Counts {
		table = append(table, row(h.Counts[i].key, i))
	}
	return table, nil
}

// plot adds the points that a line has in a series.
func (x *Runner) plot(c *chart.Chart, g *FigureBlock, s *SeriesBlock, l *line, at int) error {
	scopes := []*expression.Scope{l.scope}
	if s.Each != "" {
		scopes = nil
		run, _ := l.scope.Get(s.Each)
		fields, _ := run.Record()
		for _, m := range strings.Fields(fields["methods"].String()) {
			scopes = append(scopes, l.scope.In(expression.Record{"method": expression.Text(m), "it": fields[m]}))
		}
	}
	for _, scope := range scopes {
		yes, err := x.holds(l, scope, s.Only)
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		name, err := x.expand(scope, s.Name)
		if err != nil {
			return err
		}
		px, known := float64(at), true
		if s.X != nil {
			v, err := x.eval(l, scope, s.X)
			if err != nil {
				return err
			}
			px, known = v.Float()
		}
		v, err := x.eval(l, scope, s.Y)
		if err != nil {
			return err
		}
		if py, ok := v.Float(); ok && known {
			add(c, chart.Series{Name: name, Dashed: s.Dashed, Fit: s.Fit, Dots: !s.Dashed || s.Fit}, px, py)
		}
	}
	return nil
}

// add adds a point to the series of a name, which begins with its first.
func add(c *chart.Chart, like chart.Series, x, y float64) {
	for i := range c.Series {
		if s := &c.Series[i]; s.Name == like.Name {
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			return
		}
	}
	like.X, like.Y = []float64{x}, []float64{y}
	c.Series = append(c.Series, like)
}

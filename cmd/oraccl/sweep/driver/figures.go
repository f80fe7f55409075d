package driver

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/table"
)

// curve is a figure of a sweep: a value of the rows against another, a line a method. Rows
// that differ in anything but these two and the method belong to different figures.
type curve struct {
	name         string // of the file, before what tells figures of this kind apart
	title        string
	xName, yName string
	xUnit, yUnit chart.Unit
	logY         bool
	x            func(*table.Row) float64
	y            func(*table.Row) (float64, bool)
	bound        func(*table.Row) (float64, bool) // nil: there is no line of bounds
	apart        func(*table.Row) []string        // rows that differ here belong to different figures
	fit, pareto  bool
}

// curves are the figures that a sweep may have: those whose x varies are drawn.
var curves = []curve{
	{name: "makespan-by-size", title: "Makespan", xName: "buffer", yName: "makespan", xUnit: chart.Bytes, yUnit: chart.Seconds, logY: true,
		x: bySize, y: makespanOf, bound: leastOf, apart: func(r *table.Row) []string { return append(cellOf(r), cutOf(r)) }},
	{name: "algbw-by-size", title: "Algorithm bandwidth", xName: "buffer", yName: "algorithm bandwidth", xUnit: chart.Bytes, yUnit: chart.BytesPerSecond,
		x: bySize, y: func(r *table.Row) (float64, bool) { b, ok := r.Algbw(); return float64(b), ok },
		bound: func(r *table.Row) (float64, bool) {
			return float64(r.SizeBytes) / report.InSeconds(max(1, r.BoundPs)), r.BoundPs > 0
		}, apart: func(r *table.Row) []string { return append(cellOf(r), cutOf(r)) }},
	{name: "gap-by-ranks", title: "Above the certified bound", xName: "ranks", yName: "gap", yUnit: chart.Percent,
		x: byRanks, y: (*table.Row).Gap, apart: func(r *table.Row) []string { return append(familyOf(r), cutOf(r)) }},
	{name: "synthesis-by-ranks", title: "Time of the synthesis", xName: "ranks", yName: "time of the synthesis", yUnit: chart.Seconds, logY: true, fit: true,
		x: byRanks, y: func(r *table.Row) (float64, bool) {
			return float64(r.SolvedNs) / 1e9, r.Status == table.Proved && r.SolvedNs > 0
		},
		apart: func(r *table.Row) []string { return append(familyOf(r), cutOf(r)) }},
	{name: "pareto", title: "Transfers and makespan, and what none betters", xName: "transfers", yName: "makespan", yUnit: chart.Seconds, logY: true, pareto: true,
		x: func(r *table.Row) float64 { return float64(r.Transfers) }, y: makespanOf,
		apart: func(r *table.Row) []string { return append(cellOf(r), chart.Bytes.Format(float64(r.SizeBytes))) }},
}

func bySize(r *table.Row) float64  { return float64(r.SizeBytes) }
func byRanks(r *table.Row) float64 { return float64(r.Ranks) }
func makespanOf(r *table.Row) (float64, bool) {
	return report.InSeconds(r.MakespanPs), r.Status == table.Proved && r.MakespanPs > 0
}
func leastOf(r *table.Row) (float64, bool) { return report.InSeconds(r.BoundPs), r.BoundPs > 0 }

// cellOf is what a row's instance is beside its size and its cut.
func cellOf(r *table.Row) []string {
	late, seed := "", ""
	if r.DelayPs > 0 {
		late = fmt.Sprintf("a rank %v late", r.DelayPs)
	}
	if r.Seed != 1 {
		seed = fmt.Sprintf("seed %d", r.Seed)
	}
	return []string{r.Topology, r.Collective, r.Cost, late, seed}
}

// cutOf is how a row's buffer is cut, "" where that is left to the method.
func cutOf(r *table.Row) string {
	if r.Chunks == 0 {
		return ""
	}
	return fmt.Sprintf("chunks per rank: %d", r.Chunks)
}

// figures are digits, which a family's topologies differ in.
var figures = regexp.MustCompile(`\d+`)

// familyOf is what a row's instance is beside its ranks.
func familyOf(r *table.Row) []string {
	family, rest, _ := strings.Cut(r.Topology, ":")
	size, wires, _ := strings.Cut(rest, " ")
	return append([]string{strings.TrimSpace(family + ":" + figures.ReplaceAllString(size, "*") + " " + wires), chart.Bytes.Format(float64(r.SizeBytes))}, cellOf(r)[1:]...)
}

// drawSweep writes the figures that the rows have to a directory, and returns their names in
// order. Old ones of the same kinds that they do not have any more are removed.
func drawSweep(dir string, rows []table.Row) ([]string, error) {
	fresh := map[string]*chart.Chart{}
	for i := range curves {
		c := &curves[i]
		together := map[string][]*table.Row{}
		for j := range rows {
			key := strings.Join(c.apart(&rows[j]), "\x00")
			together[key] = append(together[key], &rows[j])
		}
		for _, key := range slices.Sorted(maps.Keys(together)) {
			if g := c.of(together[key]); g != nil {
				stem := c.name + "-" + slug(c.apart(together[key][0]))
				name := stem
				for n := 2; fresh[name+".svg"] != nil; n++ {
					name = fmt.Sprintf("%s-%d", stem, n)
				}
				fresh[name+".svg"] = g
			}
		}
	}
	for i := range curves {
		old, err := files.Glob(dir, curves[i].name+"-*.svg")
		if err != nil {
			return nil, err
		}
		for _, file := range old {
			if fresh[filepath.Base(file)] == nil {
				if err := os.Remove(file); err != nil {
					return nil, err
				}
			}
		}
	}
	names := slices.Sorted(maps.Keys(fresh))
	for _, name := range names {
		var b bytes.Buffer
		if err := fresh[name].Write(&b, "svg"); err != nil {
			return nil, err
		}
		if err := files.Write(filepath.Join(dir, name), func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// slug makes a part of a file's name of what rows have in common: letters and digits of it, and n for
// what varies, up to a length.
func slug(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		for _, r := range strings.ToLower(strings.ReplaceAll(part, "*", "n")) + " " {
			switch {
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' && b.Len() > 0:
				b.WriteRune(r)
			case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
				b.WriteByte('-')
			}
		}
	}
	name := b.String()
	return strings.Trim(name[:min(len(name), 120)], "-.")
}

// of returns the figure of rows that belong together, or nil where x does not vary.
func (c *curve) of(rows []*table.Row) *chart.Chart {
	points := map[string]map[float64]float64{} // by method
	bounds, xs := map[float64]float64{}, map[float64]bool{}
	var methods []string
	for _, r := range rows {
		x := c.x(r)
		if x <= 0 {
			continue
		}
		if c.bound != nil {
			if y, ok := c.bound(r); ok {
				bounds[x] = y
			}
		}
		y, ok := c.y(r)
		if !ok {
			continue
		}
		if points[r.Method] == nil {
			points[r.Method] = map[float64]float64{}
			methods = append(methods, r.Method)
		}
		if old, seen := points[r.Method][x]; !seen || y < old {
			points[r.Method][x] = y
		}
		xs[x] = true
	}
	if len(xs) < 2 {
		return nil
	}
	title := c.title
	for _, part := range c.apart(rows[0]) {
		if part != "" {
			title += ", " + part
		}
	}
	g := &chart.Chart{Title: title, XName: c.xName, YName: c.yName, XUnit: c.xUnit, YUnit: c.yUnit, LogX: true, LogY: c.logY}
	for _, m := range methods {
		s := series(m, points[m])
		s.Dots, s.Fit = true, c.fit
		if c.pareto { // each point by itself; the front joins them
			for i := range s.X {
				g.Series = append(g.Series, chart.Series{Name: m, X: s.X[i : i+1], Y: s.Y[i : i+1], Dots: true})
			}
			continue
		}
		g.Series = append(g.Series, s)
	}
	if c.pareto {
		g.Series = append(g.Series, front(points))
	}
	if len(bounds) > 1 {
		s := series("certified bound", bounds)
		s.Dashed = true
		g.Series = append(g.Series, s)
	}
	return g
}

// series is a line through points, by x.
func series(name string, points map[float64]float64) chart.Series {
	s := chart.Series{Name: name}
	for _, x := range slices.Sorted(maps.Keys(points)) {
		s.X, s.Y = append(s.X, x), append(s.Y, points[x])
	}
	return s
}

// front is the line of the points of which none is better in both ways.
func front(points map[string]map[float64]float64) chart.Series {
	type point struct{ x, y float64 }
	var all []point
	for _, m := range points {
		for x, y := range m {
			all = append(all, point{x, y})
		}
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	s := chart.Series{Name: "Pareto front", Steps: true, Dashed: true}
	for _, p := range all {
		if n := len(s.Y); n == 0 || p.y < s.Y[n-1] {
			s.X, s.Y = append(s.X, p.x), append(s.Y, p.y)
		}
	}
	if last := all[len(all)-1].x; s.X[len(s.X)-1] < last {
		s.X, s.Y = append(s.X, last), append(s.Y, s.Y[len(s.Y)-1])
	}
	return s
}

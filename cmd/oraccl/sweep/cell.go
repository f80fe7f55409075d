// Package sweep holds a sweep: a grid of instances and methods that expands into
// cells in a fixed order, and the directory that keeps every finished cell, so that a run
// which was killed goes on where it was.
//
// It decides nothing about schedules: the worker that computes a cell hands in its row.
package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/model/traffic"
)

// Cell is one instance with one method: the unit that is computed, kept and lost. Its
// fields are in canonical form, so that two ways to write the same cell are equal.
type Cell struct {
	table.Instance
	TimeLimit time.Duration     `json:"time_limit_ns"`
	CellLimit time.Duration     `json:"cell_limit_ns,omitempty"` // 0: none
	Tries     int               `json:"tries,omitempty"`
	Effort    int               `json:"effort,omitempty"`
	Dual      bool              `json:"dual,omitempty"`
	Proofs    bool              `json:"proofs,omitempty"` // the schedule and the certificate are kept, too
	Files     map[string]string `json:"sha256,omitempty"` // of the files that it names
}

// Results is part of every cell's key. It is raised whenever a method, a bound or a
// verifier answers otherwise than before, so that what was kept is computed again.
const Results = 6

// format is the version of the files in which cells are kept; it is part of every key.
const format = 1

// Problem builds the problem of c, from the files that it names, too.
func (c *Cell) Problem(ctx context.Context) (*model.Problem, error) {
	in := c.Flags()
	return in.Problem(topologies.Files{Context: ctx}, c.Topology)
}

// Text returns the canonical text of c.
func (c *Cell) Text() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b)
}

// Key returns the name under which c is kept: a hash of its text, of the version of the
// format and of that of the results.
func (c *Cell) Key() string { return hash(fmt.Sprintf("cell %d %d %s", format, Results, c.Text())) }

func hash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

// instance is the text of all of c but its method, seed, tries and effort.
func (c Cell) instance() string {
	c.Method, c.Seed, c.Tries, c.Effort = "", 0, 0, 0
	return c.Text()
}

// MaxCells is how many cells a grid may have.
const MaxCells = 1 << 20

// Names are the words that a grid may use and that this package does not know.
type Names struct {
	Methods  []string                 // all methods, in their order
	Default  func(late bool) []string // those that "all" stands for, where a rank is late or none
	Families []string                 // of topologies: what comes before the colon
}

// defaultTimeLimit is that of the command line.
const defaultTimeLimit = time.Minute

// Expand returns the cells of g in their fixed order: that of the axes in the type Grid
// as the digits of a number, the last one fastest, values in the order given.
// A value that cannot be read is an error that names its place; an instance that cannot
// be built is none, it is for the cell's row to say.
func (g *Grid) Expand(ctx context.Context, names Names) ([]Cell, error) {
	base, err := g.base()
	if err != nil {
		return nil, err
	}
	cells := []Cell{base}
	axes, err := g.used()
	if err != nil {
		return nil, err
	}
	for _, a := range axes {
		set, err := g.setters(a.name, *a.value, names)
		if err != nil {
			return nil, err
		}
		if len(cells)*len(set) > MaxCells {
			return nil, fmt.Errorf("the grid has more than %d cells, want fewer: split it", MaxCells)
		}
		next := make([]Cell, 0, len(cells)*len(set))
		for _, c := range cells {
			for _, s := range set {
				next = append(next, s(c)...)
			}
		}
		cells = next
	}
	straggler := base.Straggler
	for i := range cells {
		cells[i].Straggler = 0
		if cells[i].DelayPs > 0 {
			cells[i].Straggler = straggler
		}
	}
	if cells, err = described(ctx, cells); err != nil {
		return nil, err
	}
	return cells, digests(ctx, cells)
}

// ofProblem are the axes that a file of a problem leaves open.
var ofProblem = []string{"problems", "chunks", "seeds", "methods"}

// used returns the axes of g that make its cells: with problems, those that they leave open.
func (g *Grid) used() (axes []named[*Axis], err error) {
	for _, a := range g.axes() {
		switch {
		case len(g.Problems) == 0 && a.name == "problems":
		case len(g.Problems) == 0 || slices.Contains(ofProblem, a.name):
			axes = append(axes, a)
		case len(*a.value) > 0:
			return nil, (*a.value)[0].At(fmt.Errorf("does not go with problems, whose files state it (%s)", g.Problems[0].Place))
		}
	}
	if len(g.Problems) > 0 && g.Straggler.Place != "" {
		return nil, Value(g.Straggler).At(fmt.Errorf("does not go with problems, whose files state who is late (%s)", g.Problems[0].Place))
	}
	return axes, nil
}

// described gives cells the words that are not for the grid to say: those of whole problems, and
// the size where the collective has sizes of its own. Cells that become equal are one. A collective
// that cannot be built leaves its cell as it is: its row will say why.
func described(ctx context.Context, cells []Cell) ([]Cell, error) {
	type words struct {
		topology, collective, cost string
		size                       int64
	}
	read := topologies.Files{Context: ctx}
	known := map[table.Instance]words{}
	seen := map[string]bool{}
	out := cells[:0]
	for _, c := range cells {
		key := c.Instance
		key.SizeBytes, key.Chunks, key.DelayPs, key.Straggler, key.Seed, key.Method = 0, 0, 0, 0, 0, ""
		w, done := known[key]
		switch {
		case done:
		case c.Whole != "":
			p, err := read.Problem(c.Whole)
			if err != nil {
				return nil, err
			}
			w = words{p.Topology.Name, p.Collective.Label(), p.Cost.String(), p.Size}
		default:
			w = words{c.Topology, c.Collective, c.Cost, -1}
			if name, _, spelled := instance.Spelled(c.Collective); spelled && name != "permutation" || read.Exists(c.Collective) {
				in := key.Flags()
				in.Size = instance.DefaultSize // any other must be that of the file
				if p, err := in.Problem(read, c.Topology); err == nil && p.Collective.Ends != nil {
					w.size = p.Size
				}
			}
		}
		known[key] = w
		c.Topology, c.Collective, c.Cost = w.topology, w.collective, w.cost
		if w.size >= 0 {
			c.SizeBytes = w.size
			if seen[c.Text()] {
				continue
			}
			seen[c.Text()] = true
		}
		out = append(out, c)
	}
	return out, nil
}

// base reads the options that all cells share.
func (g *Grid) base() (Cell, error) {
	c := Cell{TimeLimit: defaultTimeLimit}
	var err error
	for _, o := range []struct {
		value Single
		into  *time.Duration
	}{{g.TimeLimit, &c.TimeLimit}, {g.CellLimit, &c.CellLimit}} {
		if o.value.Place != "" {
			if *o.into, err = duration(o.value.Text); err != nil {
				return c, Value(o.value).At(err)
			}
		}
	}
	for _, o := range []struct {
		value Single
		into  *int
		least int
	}{{g.Straggler, &c.Straggler, 0}, {g.Tries, &c.Tries, 0}, {g.Effort, &c.Effort, -1}} {
		if o.value.Place != "" {
			if *o.into, err = whole(o.value.Text, o.least, 1<<20); err != nil {
				return c, Value(o.value).At(err)
			}
		}
	}
	if v := Value(g.Dual); v.Place != "" {
		if c.Dual, err = strconv.ParseBool(v.Text); err != nil {
			return c, v.At(fmt.Errorf("%q: want true or false", v.Text))
		}
	}
	return c, nil
}

func whole(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want a whole number, %d to %d", s, least, most)
	}
	return n, nil
}

// setter puts one value of an axis into a cell; "all" methods make several of one.
type setter func(Cell) []Cell

// defaults are the values of axes that are not given; the others must be.
var defaults = map[string]string{"fails": "none", "alphas": "default", "bandwidths": "default", "costs": "pipelined", "sizes": "8MiB", "chunks": "auto", "delays": "0", "seeds": "1"}

// setters reads the values of an axis.
func (g *Grid) setters(name string, axis Axis, names Names) ([]setter, error) {
	if len(axis) == 0 {
		d, ok := defaults[name]
		if !ok {
			return nil, fmt.Errorf("%s: none given, want at least one (in the grid's file, or as --%s)", name, name)
		}
		axis = Axis{{d, name}}
	}
	var set []setter
	seen := map[string]Value{}
	for _, v := range axis {
		if name == "methods" && v.Text == "all" && len(axis) > 1 {
			return nil, v.At(errors.New("\"all\" beside other methods, want it alone"))
		}
		texts := []string{v.Text}
		if name == "sizes" {
			var err error
			if texts, err = sizes(v.Text); err != nil {
				return nil, v.At(err)
			}
		}
		for _, text := range texts {
			canonical, s, err := read(name, text, names)
			if err != nil {
				return nil, v.At(err)
			}
			if before, twice := seen[canonical]; twice {
				return nil, v.At(fmt.Errorf("%q is there already (%s %q), want every value once", text, before.Place, before.Text))
			}
			seen[canonical] = v
			set = append(set, s)
		}
	}
	return set, nil
}

// sizes expands A..B and A..B*K.
func sizes(s string) ([]string, error) {
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		return []string{s}, nil
	}
	to, by, hasFactor := strings.Cut(to, "*")
	factor := 2
	if hasFactor {
		var err error
		if factor, err = whole(by, 2, 1<<20); err != nil {
			return nil, fmt.Errorf("%q: the factor %w", s, err)
		}
	}
	a, err := model.ParseBytes(from)
	if err != nil {
		return nil, err
	}
	b, err := model.ParseBytes(to)
	if err != nil {
		return nil, err
	}
	if a < 1 || a > b {
		return nil, fmt.Errorf("%q: want a range that goes up from at least one byte, such as 1KiB..1MiB", s)
	}
	var list []string
	for {
		list = append(list, strconv.FormatInt(a, 10))
		if a > b/int64(factor) {
			return list, nil
		}
		a *= int64(factor)
	}
}

// errNoFile is wrapped by the error for a name of nothing.
var errNoFile = errors.New("no such file")

// stays returns an error if a name is not that of a regular file, which wraps errNoFile if there
// is nothing of that name: cells are computed from their files by other processes, and again when
// the sweep goes on, so that what comes from standard input or a pipe would be gone.
func stays(name string) error {
	if name == files.Stdin {
		return fmt.Errorf("%q: standard input does not stay for other processes and for when the sweep goes on, want a file", name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("%q: %w", name, errNoFile)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q: no regular file, which would stay for other processes and for when the sweep goes on", name)
	}
	return nil
}

// read reads a value of an axis: its canonical text and what it does to a cell.
func read(axis, text string, names Names) (string, setter, error) {
	one := func(f func(c *Cell)) setter {
		return func(c Cell) []Cell { f(&c); return []Cell{c} }
	}
	switch axis {
	case "problems":
		if err := stays(text); err != nil {
			return "", nil, err
		}
		return text, one(func(c *Cell) { c.Whole = text }), nil
	case "topologies":
		family, _, _ := strings.Cut(text, ":")
		err := stays(text)
		switch {
		case !errors.Is(err, errNoFile) && err != nil:
			return "", nil, err
		case err != nil && !slices.Contains(names.Families, family):
			return "", nil, fmt.Errorf("%w, nor a topology that topo list knows", err)
		}
		return text, one(func(c *Cell) { c.Topology = text }), nil
	case "fails":
		if text == "none" {
			text = ""
		}
		return text, one(func(c *Cell) { c.Fail = text }), nil
	case "alphas", "bandwidths":
		if text == "default" {
			text = ""
		}
		if strings.Contains(text, "..") {
			return "", nil, fmt.Errorf("%q: want one value of a link, or several cases: ranges are for gap and bound", text)
		}
		return text, one(func(c *Cell) {
			if axis == "alphas" {
				c.Alpha = text
			} else {
				c.Bandwidth = text
			}
		}), nil
	case "collectives":
		if k, err := model.KindNamed(text); err == nil && k != model.Custom {
			text = k.String()
		} else if err := stays(text); err != nil {
			if !errors.Is(err, errNoFile) {
				return "", nil, err
			}
			if name, _, _ := strings.Cut(text, ":"); !traffic.Is(name) {
				return "", nil, fmt.Errorf("%w; want a file, or broadcast, scatter, gather, reduce, allgather, reducescatter, allreduce, alltoall, or one of %s with what it needs, such as alltoallv:moe.csv", err, strings.Join(traffic.Names(), ", "))
			}
		}
		return text, one(func(c *Cell) { c.Collective = text }), nil
	case "costs":
		m, err := model.ParseCostModel(text)
		if err != nil {
			return "", nil, err
		}
		return m.String(), one(func(c *Cell) { c.Cost = m.String() }), nil
	case "sizes":
		n, err := model.ParseBytes(text)
		return fmt.Sprint(n), one(func(c *Cell) { c.SizeBytes = n }), err
	case "chunks":
		if text == "auto" {
			text = "0"
		}
		n, err := whole(text, 0, model.MaxChunks)
		return fmt.Sprint(n), one(func(c *Cell) { c.Chunks = n }), err
	case "delays":
		t, err := model.ParseTime(text)
		return fmt.Sprint(int64(t)), one(func(c *Cell) { c.DelayPs = t }), err
	case "seeds":
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%q: want a whole number from 0 on", text)
		}
		return fmt.Sprint(n), one(func(c *Cell) { c.Seed = n }), err
	case "methods":
		if text == "all" {
			return text, func(c Cell) []Cell {
				var all []Cell
				for _, m := range names.Default(c.DelayPs > 0) {
					c.Method = m
					all = append(all, c)
				}
				return all
			}, nil
		}
		if !slices.Contains(names.Methods, text) {
			return "", nil, fmt.Errorf("%q: want all, or one or more of %s", text, strings.Join(names.Methods, ", "))
		}
		return text, one(func(c *Cell) { c.Method = text }), nil
	}
	panic("an axis that nobody reads: " + axis)
}

// named returns the words of c that may name files.
func (c *Cell) named() []string {
	if c.Whole != "" {
		return []string{c.Whole}
	}
	list := []string{c.Topology}
	if k, err := model.KindNamed(c.Collective); err != nil || k == model.Custom {
		list = append(list, c.Collective)
	}
	if name, file, ok := instance.Spelled(c.Collective); ok && name != "permutation" {
		list = append(list, file)
	}
	return list
}

// digests adds to every cell the hashes of the files that it names, so that a changed
// file makes another cell.
func digests(ctx context.Context, cells []Cell) error {
	known := map[string]string{}
	for i := range cells {
		c := &cells[i]
		for _, name := range c.named() {
			sum, done := known[name]
			if !done {
				if files.Exists(name) {
					b, err := files.ReadRegular(ctx, name) // each cell reads it again, which a pipe does not allow
					if err != nil {
						return err
					}
					h := sha256.Sum256(b)
					sum = hex.EncodeToString(h[:])
				}
				known[name] = sum
			}
			if sum != "" {
				if c.Files == nil {
					c.Files = map[string]string{}
				}
				c.Files[name] = sum
			}
		}
	}
	return nil
}

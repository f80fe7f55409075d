package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// said is a line of a table of published values: what it is about, in columns of the table's
// own, and
//
//	value      as it was printed; blank if it could not be found
//	source     the paper, or the file of a repository
//	where      page, table, figure or line in it
//	certainty  certain: read there; measured: what the authors' program printed when it was
//	           run here; secondary: as others quote it; recalled: from memory
//	reason     why there is no value; blank if there is one
type said struct {
	place string // the file and the line
	text  map[string]string
}

var common = []string{"value", "source", "where", "certainty", "reason"}

var certainties = []string{"certain", "measured", "secondary", "recalled"}

// load reads a table of published values. Columns names what it has beside the common
// ones, each as "name" for text, "name:int" for whole numbers, "name:number" for numbers
// or "name:this|that" for one of some words; "value:…" states what values are. Lines that
// begin with # are comments. An error names file and line.
func load(fsys fs.FS, name string, columns ...string) ([]*said, error) {
	f, err := fsys.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such table of published values", name)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	return read(name, f, columns)
}

func read(name string, in io.Reader, columns []string) ([]*said, error) {
	kinds, want := map[string]string{}, slices.Clone(common)
	for _, c := range columns {
		column, kind, _ := strings.Cut(c, ":")
		kinds[column] = kind
		if !slices.Contains(want, column) {
			want = append(want, column)
		}
	}
	r := csv.NewReader(in)
	r.Comment = '#'
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: no columns, want %s", name, strings.Join(want, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	line, _ := r.FieldPos(0)
	for i, column := range head {
		if !slices.Contains(want, column) || slices.Contains(head[:i], column) {
			return nil, fmt.Errorf("%s:%d: column %q: want %s, once each", name, line, column, strings.Join(want, ", "))
		}
	}
	for _, column := range want {
		if !slices.Contains(head, column) {
			return nil, fmt.Errorf("%s:%d: no column %q", name, line, column)
		}
	}
	var all []*said
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err) // which names the line
		}
		line, _ := r.FieldPos(0)
		p := &said{fmt.Sprintf("%s:%d", name, line), map[string]string{}}
		for i, cell := range cells {
			if err := p.set(head[i], kinds[head[i]], cell); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, line, err)
			}
		}
		if err := p.finish(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no values", name)
	}
	return all, nil
}

// set takes a cell.
func (p *said) set(column, kind, cell string) error {
	p.text[column] = cell
	if cell != strings.TrimSpace(cell) {
		return fmt.Errorf("%s %q: blanks around it", column, cell)
	}
	if slices.Contains(common, column) && cell == "" {
		return nil // finish judges these
	}
	switch {
	case kind == "":
		if cell == "" {
			return fmt.Errorf("no %s", column)
		}
	case kind == "int":
		n, err := strconv.Atoi(cell)
		if err != nil || n < 0 || n > 1e9 {
			return fmt.Errorf("%s %q: want a whole number", column, cell)
		}
	case kind == "number":
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil || math.IsNaN(v) || math.Abs(v) > 1e15 || strings.ContainsAny(cell, "eExX_") {
			return fmt.Errorf("%s %q: want a number such as 1.127", column, cell)
		}
	default:
		if words := strings.Split(kind, "|"); !slices.Contains(words, cell) {
			return fmt.Errorf("%s %q: want %s", column, cell, strings.Join(words, " or "))
		}
	}
	return nil
}

// finish judges the common columns.
func (p *said) finish() error {
	value, certainty, reason := p.text["value"], p.text["certainty"], p.text["reason"]
	switch {
	case p.text["source"] == "":
		return errors.New("no source")
	case value == "" && reason == "":
		return errors.New("neither a value nor a reason why there is none")
	case value != "" && reason != "":
		return fmt.Errorf("a value, %q, and a reason why there is none", value)
	case value == "" && certainty != "":
		return fmt.Errorf("certainty %q of no value", certainty)
	case value != "" && !slices.Contains(certainties, certainty):
		return fmt.Errorf("certainty %q: want %s", certainty, strings.Join(certainties, " or "))
	}
	return nil
}

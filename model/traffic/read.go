package traffic

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/oraccl/oraccl/model"
)

// Table is a table of sizes in bytes.
type Table struct {
	rows  [][]int64
	pairs bool // a line for each pair: ranks that are not named have nothing
}

// Read reads a table of sizes from CSV: numbers of bytes, or such as 64KiB, with as many in each
// line. Lines that begin with # are left out, and so are empty lines. A first line "src,dst,bytes" announces three columns
// instead, a line for each pair of ranks that has something; then the table is square, as
// large as the largest rank of the file asks for, and pairs that are not named have nothing.
// Errors name the file and the line.
func Read(name string, r io.Reader) (*Table, error) {
	c := csv.NewReader(r)
	c.Comment, c.TrimLeadingSpace, c.FieldsPerRecord = '#', true, -1
	t := &Table{}
	pairs := map[[2]int]int64{}
	for {
		cells, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%s:%d:%d: %w, want numbers separated by commas", name, syntax.Line, syntax.Column, syntax.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		if t.rows == nil && !t.pairs && isPairs(cells) {
			t.pairs = true
			continue
		}
		switch {
		case t.pairs && len(cells) != 3:
			return nil, fmt.Errorf("%s:%d: %d numbers, want 3: src, dst and bytes", name, line, len(cells))
		case len(t.rows) > 0 && len(cells) != t.columns():
			return nil, fmt.Errorf("%s:%d: %d numbers, want %d as in the first line", name, line, len(cells), t.columns())
		case len(cells) > MaxMembers || len(t.rows) == MaxMembers || len(pairs) > model.MaxChunks:
			return nil, fmt.Errorf("%s:%d: more than %d rows or columns, want no more", name, line, MaxMembers)
		}
		if t.pairs {
			if err := pair(pairs, cells); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, line, err)
			}
			continue
		}
		row := make([]int64, len(cells))
		for i, s := range cells {
			if row[i], err = bytesOf(s); err != nil && named(cells, i) {
				return nil, fmt.Errorf("%s:%d: column %d: %s is a name, want a table without names of its rows and columns", name, line, i+1, model.Quote(s))
			} else if err != nil {
				return nil, fmt.Errorf("%s:%d: column %d: %w", name, line, i+1, err)
			}
		}
		t.rows = append(t.rows, row)
	}
	if t.pairs {
		t.rows = square(pairs)
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("%s: empty, want numbers of bytes separated by commas", name)
	}
	return t, nil
}

// MaxMembers is how many rows or columns a table has at most: as many as give a matrix with
// MaxChunks numbers.
const MaxMembers = 4096

func bytesOf(s string) (int64, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return 0, errors.New("nothing between two commas, or after the last one, want a number of bytes: 0 where there are none")
	case strings.HasPrefix(s, "-"):
		return 0, fmt.Errorf("%s, want 0 bytes or more", model.Quote(s))
	case strings.ContainsAny(s, ";\t|") || len(strings.Fields(s)) > 2:
		return 0, fmt.Errorf("%s, want one number: numbers are separated by commas", model.Quote(s))
	}
	n, err := model.ParseBytes(s)
	if err == nil && (n < 0 || n > model.MaxSize) {
		err = fmt.Errorf("%d bytes, want 0 to %d", n, int64(model.MaxSize))
	}
	return n, err
}

// isPairs reports whether a line announces columns of pairs.
func isPairs(cells []string) bool {
	return len(cells) == 3 && !slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool {
		return !strings.EqualFold(strings.TrimSpace(cells[i]), []string{"src", "dst", "bytes"}[i])
	})
}

// named reports whether a cell, which is no number, looks like the name of a row or column: it has no
// digit at its beginning, and is not below zero.
func named(cells []string, i int) bool {
	s := strings.TrimSpace(cells[i])
	if s == "" {
		return i == 0 && len(cells) > 1 && named(cells, 1)
	}
	return unicode.IsLetter([]rune(s)[0])
}

// pair reads a line of the form src,dst,bytes.
func pair(pairs map[[2]int]int64, cells []string) error {
	var at [2]int
	for i := range at {
		r, err := strconv.Atoi(strings.TrimSpace(cells[i]))
		if err != nil || r < 0 || r >= MaxMembers {
			return fmt.Errorf("rank %q, want 0 to %d", cells[i], MaxMembers-1)
		}
		at[i] = r
	}
	if _, twice := pairs[at]; twice {
		return fmt.Errorf("the pair %d,%d occurs twice, want it once", at[0], at[1])
	}
	n, err := bytesOf(cells[2])
	pairs[at] = n
	return err
}

func square(pairs map[[2]int]int64) [][]int64 {
	n := 0
	for at := range pairs {
		n = max(n, at[0]+1, at[1]+1)
	}
	rows := make([][]int64, n)
	for i := range rows {
		rows[i] = make([]int64, n)
	}
	for at, bytes := range pairs {
		rows[at[0]][at[1]] = bytes
	}
	return rows
}

// Matrix returns the table as what each of n members has for each.
func (t *Table) Matrix(n int) ([][]int64, error) {
	rows := t.rows
	if t.pairs && len(rows) > n {
		return nil, fmt.Errorf("rank %d is named, want 0 to %d", len(rows)-1, n-1)
	}
	if len(rows) != t.columns() || len(rows) > n || len(rows) < n && !t.pairs {
		return nil, fmt.Errorf("%d rows of %s, want %d of %d: what each member has for each", len(rows), model.Count(t.columns(), "number"), n, n)
	}
	if len(rows) < n {
		square := make([][]int64, n)
		for i := range square {
			square[i] = make([]int64, n)
			if i < len(rows) {
				copy(square[i], rows[i])
			}
		}
		rows = square
	}
	return rows, nil
}

// Vector returns the table, one row or one column, as a list of least to most numbers.
func (t *Table) Vector(least, most int) ([]int64, error) {
	var list []int64
	switch {
	case len(t.rows) == 1 && !t.pairs:
		list = t.rows[0]
	case t.columns() == 1 && !t.pairs:
		for _, row := range t.rows {
			list = append(list, row[0])
		}
	default:
		return nil, fmt.Errorf("%d rows of %s, want one row or one column", len(t.rows), model.Count(t.columns(), "number"))
	}
	if len(list) < least || len(list) > most {
		want := strconv.Itoa(least)
		if most > least {
			want += " to " + strconv.Itoa(most)
		}
		return nil, fmt.Errorf("%s, want %s", model.Count(len(list), "number"), want)
	}
	return list, nil
}

func (t *Table) columns() int {
	if len(t.rows) == 0 {
		return 0
	}
	return len(t.rows[0])
}

// Permutation returns where each of n members sends: "1,0,3,2" names a member for each,
// "shift:K" is K places on, "reverse" the last to the first, and "transpose" exchanges row and
// column of a square. A member that is named by itself sends nothing.
func Permutation(s string, n int) ([]int, error) {
	to := make([]int, n)
	by, arg, hasArg := strings.Cut(s, ":")
	switch by {
	case "shift":
		k, err := strconv.Atoi(arg)
		if !hasArg || err != nil || k <= -n || k >= n {
			return nil, fmt.Errorf("%q: want shift:K with K from %d to %d", s, 1-n, n-1)
		}
		for i := range to {
			to[i] = (i + k + n) % n
		}
		return to, nil
	case "reverse":
		for i := range to {
			to[i] = n - 1 - i
		}
		return to, nil
	case "transpose":
		side := 1
		for side*side < n {
			side++
		}
		if side*side != n {
			return nil, fmt.Errorf("transpose: wants a square number of members, not %d", n)
		}
		for i := range to {
			to[i] = i%side*side + i/side
		}
		return to, nil
	}
	list := strings.Split(s, ",")
	if len(list) != n {
		return nil, fmt.Errorf("%q names %s, want one for each of %d, or shift:K, reverse or transpose", s, model.Count(len(list), "member"), n)
	}
	seen := make([]bool, n)
	for i, x := range list {
		j, err := strconv.Atoi(x)
		if err != nil || j < 0 || j >= n || seen[j] {
			return nil, fmt.Errorf("%q, number %d: want each member once, 0 to %d", x, i+1, n-1)
		}
		to[i], seen[j] = j, true
	}
	return to, nil
}

package plan

import (
	"slices"
	"strconv"
	"strings"
)

func word(i int) string { return strconv.Itoa(i) }

// term is a part of a sum: what the input of a rank holds at an offset from where the sum is.
type term struct {
	rank  int
	delta int64
}

// piece is a part of memory that holds one sum, or of a span: Of is an index in values.
type piece struct {
	start, end int64
	of         int32
}

// undefined is the sum that nobody has written.
const undefined int32 = -1

// nobody is the rank of what was read where nobody wrote.
const nobody = -1

// values interns sums: multisets of terms.
type values struct {
	all   [][]term
	index map[string]int32
}

func newValues() *values { return &values{index: map[string]int32{}} }

func (v *values) intern(terms []term) int32 {
	slices.SortFunc(terms, func(a, b term) int {
		switch {
		case a.rank != b.rank:
			return a.rank - b.rank
		case a.delta < b.delta:
			return -1
		case a.delta > b.delta:
			return 1
		}
		return 0
	})
	var key strings.Builder
	for _, t := range terms {
		key.WriteString(strconv.Itoa(t.rank))
		key.WriteByte(' ')
		key.WriteString(strconv.FormatInt(t.delta, 36))
		key.WriteByte(',')
	}
	if i, ok := v.index[key.String()]; ok {
		return i
	}
	i := int32(len(v.all))
	v.all, v.index[key.String()] = append(v.all, terms), i
	return i
}

// moved is a sum as it is by bytes further on: what was at x is at x+by.
func (v *values) moved(of int32, by int64) int32 {
	if of == undefined || by == 0 {
		return of
	}
	terms := slices.Clone(v.all[of])
	for i := range terms {
		terms[i].delta -= by
	}
	return v.intern(terms)
}

func (v *values) sum(a, b int32) int32 {
	if a == undefined || b == undefined {
		return undefined
	}
	return v.intern(append(slices.Clone(v.all[a]), v.all[b]...))
}

// memory is what a space holds: pieces in order, without gaps between what was written at all.
type memory struct{ pieces []piece }

// at returns what from start to end holds; where nothing is, undefined.
func (m *memory) at(start, end int64) []piece {
	i, _ := slices.BinarySearchFunc(m.pieces, start, func(p piece, x int64) int {
		if p.end <= x {
			return -1
		}
		return 1
	})
	var all []piece
	for x := start; x < end; {
		if i == len(m.pieces) || m.pieces[i].start >= end {
			all = append(all, piece{x, end, undefined})
			break
		}
		p := m.pieces[i]
		if p.start > x {
			all = append(all, piece{x, p.start, undefined})
			x = p.start
		}
		all = append(all, piece{x, min(end, p.end), p.of})
		x = min(end, p.end)
		i++
	}
	return all
}

// put writes pieces, which are contiguous.
func (m *memory) put(list []piece) {
	if len(list) == 0 {
		return
	}
	start, end := list[0].start, list[len(list)-1].end
	i, _ := slices.BinarySearchFunc(m.pieces, start, func(p piece, x int64) int {
		if p.end <= x {
			return -1
		}
		return 1
	})
	j := i
	for j < len(m.pieces) && m.pieces[j].start < end {
		j++
	}
	var all []piece
	if i < j && m.pieces[i].start < start {
		all = append(all, piece{m.pieces[i].start, start, m.pieces[i].of})
	}
	for _, p := range list {
		if n := len(all); n > 0 && all[n-1].of == p.of && all[n-1].end == p.start {
			all[n-1].end = p.end
		} else {
			all = append(all, p)
		}
	}
	if i < j && m.pieces[j-1].end > end {
		all = append(all, piece{end, m.pieces[j-1].end, m.pieces[j-1].of})
	}
	m.pieces = slices.Replace(m.pieces, i, j, all...)
}

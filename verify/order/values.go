package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// undefined is the value of a cell that nothing was written to.
const undefined int32 = -1

// values are sums of contributions, each sum stored once: two cells hold the same
// number exactly if the same contributions were added in the same order, up to the
// order of the two operands of an addition. Numbers below inputs are contributions.
type values struct {
	inputs int32
	sums   [][2]int32
	known  map[[2]int32]int32

	mark  []int32 // of a sum: the last query that met it
	query int32
}

func newValues(p *model.Program) values {
	return values{inputs: int32(p.Inputs * p.Ranks), known: map[[2]int32]int32{}}
}

// add returns a + b; a sum with something undefined is undefined.
func (v *values) add(a, b int32) int32 {
	if a == undefined || b == undefined {
		return undefined
	}
	if a > b {
		a, b = b, a
	}
	if s, ok := v.known[[2]int32{a, b}]; ok {
		return s
	}
	s := v.inputs + int32(len(v.sums))
	v.sums = append(v.sums, [2]int32{a, b})
	v.known[[2]int32{a, b}] = s
	return s
}

// often is where counts are cut off.
const often = 1 << 30

// term is a contribution and how often it occurs.
type term struct{ input, count int32 }

// expand returns what a value consists of, ascending.
func (v *values) expand(value int32) []term {
	if value < v.inputs {
		return []term{{value, 1}}
	}
	for len(v.mark) < len(v.sums) {
		v.mark = append(v.mark, 0)
	}
	v.query++
	met := []int32{value}
	v.mark[value-v.inputs] = v.query
	for i := 0; i < len(met); i++ {
		for _, part := range v.sums[met[i]-v.inputs] {
			if part >= v.inputs && v.mark[part-v.inputs] != v.query {
				v.mark[part-v.inputs] = v.query
				met = append(met, part)
			}
		}
	}
	slices.Sort(met) // a sum has a higher number than its parts
	count := make(map[int32]int32, len(met))
	count[value] = 1
	leaves := map[int32]int32{}
	for i := len(met) - 1; i >= 0; i-- {
		n := count[met[i]]
		for _, part := range v.sums[met[i]-v.inputs] {
			into := leaves
			if part >= v.inputs {
				into = count
			}
			into[part] = min(into[part]+n, often)
		}
	}
	terms := make([]term, 0, len(leaves))
	for input, n := range leaves {
		terms = append(terms, term{input, n})
	}
	slices.SortFunc(terms, func(a, b term) int { return int(a.input - b.input) })
	return terms
}

// maxWords is how many terms of a value are written out.
const maxWords = 6

// words writes a value: "x0[2]+2·x1[2]".
func (m *machine) words(terms []term) string {
	var parts []string
	for i, t := range terms {
		if i == maxWords && len(terms) > maxWords+1 {
			parts = append(parts, fmt.Sprintf("… (%d more)", len(terms)-maxWords))
			break
		}
		w := m.input(t.input)
		switch {
		case t.count >= often:
			w = "many·" + w
		case t.count > 1:
			w = fmt.Sprintf("%d·%s", t.count, w)
		}
		parts = append(parts, w)
	}
	return strings.Join(parts, "+")
}

// input names a contribution: x3[2] is chunk 2 of what rank 3 begins with.
func (m *machine) input(i int32) string {
	return fmt.Sprintf("x%d%s", int(i)/m.p.Inputs, m.chunk(int(i)%m.p.Inputs))
}

// tree writes the order in which a value was combined: "((x0+x1)+x2)".
func (m *machine) tree(value int32) string {
	if value == undefined {
		return "undefined"
	}
	var b strings.Builder
	var write func(v int32, depth int)
	write = func(v int32, depth int) {
		switch {
		case b.Len() > 60 || depth > 60:
			if !strings.HasSuffix(b.String(), "…") {
				b.WriteString("…")
			}
		case v < m.values.inputs:
			fmt.Fprintf(&b, "x%d", int(v)/m.p.Inputs)
		default:
			s := m.values.sums[v-m.values.inputs]
			b.WriteString("(")
			write(s[0], depth+1)
			b.WriteString("+")
			write(s[1], depth+1)
			b.WriteString(")")
		}
	}
	write(value, 0)
	return b.String()
}

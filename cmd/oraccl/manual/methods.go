package manual

import (
	"slices"
	"strings"

	"github.com/oraccl/oraccl/solve"
)

// Method is a method as the program knows it.
type Method struct {
	Name string
	solve.About
	When string // when it runs without being named, such as "named only"; empty: wherever it serves
}

// MethodTable is the table of methods in the README and here. Methods that say the same of
// themselves share a row.
func MethodTable(methods []Method) Table {
	t := Table{Head: []string{"method", "serves", "guarantee", "source"}}
	for i := 0; i < len(methods); {
		m := methods[i]
		var names []string
		for ; i < len(methods) && methods[i].sameRow(m); i++ {
			names = append(names, "`"+methods[i].Name+"`")
		}
		serves := m.Serves
		if m.When != "" {
			serves += "; " + m.When
		}
		t.Rows = append(t.Rows, []string{strings.Join(names, ", "), serves, m.Guarantee, m.Source})
	}
	return t
}

// sameRow reports whether two methods say the same of themselves.
func (m Method) sameRow(n Method) bool {
	return m.Serves == n.Serves && m.Guarantee == n.Guarantee && m.Source == n.Source && m.When == n.When
}

func methodsTopic(methods []Method) Topic {
	t := Topic{
		Name: "methods", What: "METHOD",
		Short: "The methods: what each serves, its guarantee, its source",
		Body: always(func() []Block {
			return []Block{
				Para("`gap` runs the methods that serve the problem, or those of `--methods`; `solve` keeps the best schedule, or runs that of `--method`. " +
					"What they return is verified before it is printed, and a method's guarantee is the method's word: what is certain stands beside a bound that was checked."),
				MethodTable(methods),
				Para("\"Named only\": left out unless it is named, for it is never better than another method where that one can work, or slow for what it finds. " +
					"A method that does not serve a problem explains why, below the table of `gap`."),
			}
		}),
	}
	t.parts = func() (parts []Part) {
		for _, m := range slices.SortedFunc(slices.Values(methods), func(a, b Method) int { return strings.Compare(a.Name, b.Name) }) {
			parts = append(parts, Part{m.Name, always(func() []Block {
				rows := [][]string{{"serves", m.Serves}, {"guarantee", m.Guarantee}, {"source", m.Source}}
				if m.When != "" {
					rows = append(rows, []string{"runs", m.When})
				}
				return []Block{Table{Head: []string{m.Name, ""}, Rows: rows}}
			})})
		}
		return parts
	}
	return t
}

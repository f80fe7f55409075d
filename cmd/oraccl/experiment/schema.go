package experiment

import (
	_ "embed" // the example
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
)

//go:embed example/paper.yaml
var exampleFile string

//go:embed example/times.csv
var exampleTable string

// Example returns an experiment and its table, as the manual shows them and a test runs
// them.
func Example() (file, table string) { return exampleFile, exampleTable }

// Keys are the keys of a part of a file.
type Keys struct {
	Part string
	Rows [][]string // key, what it has, what that is
}

// Schema returns the keys of all parts of a file.
func Schema() []Keys {
	var all []Keys
	for _, p := range []struct {
		name string
		of   any
	}{
		{"The file", File{}}, {"An instance", Instance{}}, {"A section", Section{}}, {"least", least{}}, {"pivot", pivot{}}, {"join", join{}},
		{"A run, beside the keys of an instance", Run{}}, {"A row", RowBlock{}}, {"A figure", FigureBlock{}}, {"An axis", axisBlock{}}, {"A series", SeriesBlock{}}, {"heat", heatBlock{}},
	} {
		k := Keys{Part: p.name}
		t := reflect.TypeOf(p.of)
		for i := range t.NumField() {
			f := t.Field(i)
			if about := f.Tag.Get("about"); about != "" {
				k.Rows = append(k.Rows, []string{"`" + f.Tag.Get("yaml") + "`", kindOf(f.Type), about})
			}
		}
		all = append(all, k)
	}
	return all
}

// kindOf names what a key has.
func kindOf(t reflect.Type) string {
	switch v := reflect.New(t).Elem().Interface().(type) {
	case *expr:
		return "expression"
	case *text:
		return "text"
	case list:
		return "text, or a list"
	case pairs[expr]:
		return "name: expression"
	case pairs[text]:
		return "name: text"
	case pairs[condition]:
		return "condition: text"
	case pairs[word]:
		return "name: kind"
	case pairs[axis]:
		return "name: list"
	case Instance, axisBlock:
		return "keys"
	case map[string]string:
		return "name: name"
	default:
		switch t := reflect.TypeOf(v); {
		case t.Kind() == reflect.Float64:
			return "number"
		case t.Kind() == reflect.Bool:
			return "true or false"
		case t.Kind() == reflect.String:
			return "plain text"
		case t.Kind() == reflect.Map:
			return "name: keys"
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
			return "list of names"
		case t.Kind() == reflect.Slice:
			return "list"
		}
	}
	return "keys"
}

// Measures returns the measures by name: what each is, and its fields.
func Measures() (rows [][]string) {
	all := measures()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{"`" + name + "`", strings.Join(all[name].Fields, ", "), all[name].About})
	}
	return rows
}

// Functions returns the names of the functions that expressions may call.
func Functions() []string { return expression.Names(functions) }

// Fields returns the names of the fields of a run by methods.
func Fields() []string { return slices.Sorted(maps.Keys((&result{}).record())) }

package manual

import (
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/topo"
)

// Value is a value that a flag may have, with what it is, for shells to complete.
type Value struct{ Name, Summary string }

// Values returns the values by the names of the flags, of those that have names as values;
// methods and targets are those of the program.
func Values(methods []string, targets []Value) map[string][]Value {
	named := func(names []string) (all []Value) {
		for _, n := range names {
			all = append(all, Value{Name: n})
		}
		return all
	}
	var collectives, runtimes []string
	for _, k := range model.Kinds() {
		collectives = append(collectives, k.String())
	}
	for _, r := range msccl.Runtimes() {
		runtimes = append(runtimes, r.String())
	}
	v := map[string][]Value{"method": named(methods), "methods": named(methods), "collective": named(collectives), "collectives": named(collectives), "runtime": named(runtimes), "to": targets}
	v["topology"], v["topologies"] = Topologies(), Topologies()
	return v
}

// Topologies returns the names of machines, and those of families with the colon behind which the
// user writes numbers.
func Topologies() []Value {
	var all []Value
	for _, f := range topo.List() {
		name := f.Name
		if strings.HasPrefix(f.Syntax, f.Name+":") {
			name += ":"
		}
		all = append(all, Value{name, f.Summary})
	}
	return all
}

// Listed returns what may stand where begun does, a list with commas of which the last value is
// being written.
func Listed(values []Value, begun string) []Value {
	at := strings.LastIndex(begun, ",") + 1
	all := make([]Value, len(values))
	for i, v := range values {
		all[i] = Value{begun[:at] + v.Name, v.Summary}
	}
	return all
}

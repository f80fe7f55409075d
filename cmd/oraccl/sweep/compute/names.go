package compute

import (
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
)

// Names returns the words that a grid may use.
func Names() sweep.Names {
	n := sweep.Names{Default: func(late bool) []string {
		var names []string
		for _, m := range certify.Methods() {
			if about := m.About(); !about.ComparisonOnly && !about.SwitchesOnly && (late || !about.LateOnly) {
				names = append(names, m.Name())
			}
		}
		return names
	}}
	for _, m := range certify.Methods() {
		n.Methods = append(n.Methods, m.Name())
	}
	for _, f := range topo.List() {
		n.Families = append(n.Families, f.Syntax[:strings.IndexAny(f.Syntax+":", ":[")]) // dgxh100 of dgxh100[:N]
	}
	return n
}

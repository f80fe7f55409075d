package certify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/cayley"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/flows"
	"github.com/oraccl/oraccl/solve/forest"
	"github.com/oraccl/oraccl/solve/innetwork"
	"github.com/oraccl/oraccl/solve/oneshot"
	"github.com/oraccl/oraccl/solve/quotient"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/solve/tacos"
)

// Methods returns every method, quick ones first, sat and exact last: they start from the best
// schedule of the others.
func Methods() []solve.Solver {
	methods := slices.Concat(classic.All(), oneshot.All(), innetwork.All())
	methods = append(methods, quotient.New(), cayley.New(), flows.New(), tacos.New(), stragglar.New(), stragglar.NewPublished(), stragglar.NewMatching(), forest.New(), forest.NewPaths())
	return append(methods, solvers()...)
}

// UnknownMethodError is the error of MethodsNamed for a name that no method has.
type UnknownMethodError struct {
	Name  string
	Known []string // the names that there are
}

// Error names the method and those that there are.
func (e *UnknownMethodError) Error() string {
	return fmt.Sprintf("method %q: want one or more of %s", e.Name, strings.Join(e.Known, ", "))
}

// methodsNamed returns the methods with these names, in the order of allMethods. An error is
// an *UnknownMethodError.
func MethodsNamed(names ...string) ([]solve.Solver, error) {
	all := Methods()
	known := methodNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, &UnknownMethodError{Name: name, Known: known}
		}
	}
	return slices.DeleteFunc(all, func(m solve.Solver) bool { return !slices.Contains(names, m.Name()) }), nil
}

// MethodsListed returns the methods of a list of names that are separated by commas, all of
// them for "". An error is an *UnknownMethodError.
func MethodsListed(list string) ([]solve.Solver, error) {
	if list == "" {
		return Methods(), nil
	}
	return MethodsNamed(strings.Split(list, ",")...)
}

// methodNames returns the names of all methods.
func methodNames() []string {
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name())
	}
	return names
}

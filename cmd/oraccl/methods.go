package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/cayley"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/exact"
	"github.com/oraccl/oraccl/solve/forest"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/solve/tacos"
)

// allMethods returns every method, sat and exact last: they start from the best
// schedule of the others.
func allMethods() []solve.Solver {
	methods := []solve.Solver{tacos.New(), cayley.New(), forest.New(), forest.NewPaths(), stragglar.New(), stragglar.NewPublished(), stragglar.NewMatching()}
	methods = append(methods, classic.All()...)
	return append(methods, sat.NewBarrier(), sat.NewTrees(), sat.New(), exact.NewRolling(), exact.NewReward(), exact.New())
}

// methodsNamed returns the methods of a comma-separated list, in the order of
// allMethods, or all of them for an empty list.
func methodsNamed(list string) ([]solve.Solver, error) {
	methods := allMethods()
	if list == "" {
		return methods, nil
	}
	var names, chosen []string
	for _, m := range methods {
		names = append(names, m.Name())
	}
	for _, name := range strings.Split(list, ",") {
		if !slices.Contains(names, name) {
			err := fmt.Errorf("method %q: want one or more of %s", name, strings.Join(names, ", "))
			if near := nearest(name, names); len(near) > 0 {
				return nil, hinted{err, "did you mean " + strings.Join(near, " or ") + "?"}
			}
			return nil, hinted{err, "oraccl help methods says what they are"}
		}
		chosen = append(chosen, name)
	}
	return slices.DeleteFunc(methods, func(m solve.Solver) bool { return !slices.Contains(chosen, m.Name()) }), nil
}

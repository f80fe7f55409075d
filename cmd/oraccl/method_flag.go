package main

import (
	"errors"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

// methodsListed returns the methods of a comma-separated list, all of them for an empty one.
func methodsListed(list string) ([]solve.Solver, error) {
	if list == "" {
		return certify.Methods(), nil
	}
	chosen, err := certify.MethodsNamed(strings.Split(list, ",")...)
	var unknown *certify.UnknownMethodError
	if !errors.As(err, &unknown) {
		return chosen, err
	}
	if near := nearest(unknown.Name, unknown.Known); len(near) > 0 {
		return nil, exit.Hint(err, "did you mean "+strings.Join(near, " or ")+"?")
	}
	return nil, exit.Hint(err, "oraccl help methods describes them")
}

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
)

// In a web page (command oraccl-site) the command is the same, except that it has only the verbs
// that a page runs, and no manual: each visitor loads the program. What is left out stands in
// beyond_page.go.

// addBeyondPage adds nothing.
func addBeyondPage(*cobra.Command) {}

// run returns false: a page schedules no workloads, and reads the file as that of a topology.
func (*ofWorkload) run(*cobra.Command, []string) (done bool, err error) { return false, nil }

// runPareto returns an error: a SAT solver finds the frontier, and a page has none.
func runPareto(context.Context, *cobra.Command, *certify.Evaluator, *model.Problem, int, string, bool) error {
	return errors.New("--pareto: is not in a page; the installed program has it")
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/manual"
)

// In a web page (command oraccl-site) the command is the same, except that the verbs are not
// there that start processes and run for hours.

// longRunning returns no verbs.
func longRunning() []*cobra.Command { return nil }

// experimentMeant returns "": there are no experiments.
func experimentMeant(error) string { return "" }

// aboutExperiments returns nothing: there are no experiments.
func aboutExperiments() manual.Experiments { return manual.Experiments{} }

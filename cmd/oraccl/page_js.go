package main

import "github.com/spf13/cobra"

// In a web page (command oraccl-site) the command is the same, except that it has only the verbs
// that a page runs, and no manual: each visitor loads the program. What is left out stands in
// beyond_page.go.

// addBeyondPage adds nothing.
func addBeyondPage(*cobra.Command) {}

// run returns false: a page schedules no workloads, and reads the file as that of a topology.
func (*ofWorkload) run(*cobra.Command, []string) (done bool, err error) { return false, nil }

//go:build !js

package main

import (
	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/usage"
)

// addBeyondPage adds what the command has beyond a web page (page_js.go): the verbs that no page
// runs, the manual, and what shells complete.
func addBeyondPage(root *cobra.Command) {
	root.SetVersionTemplate("{{.Version}}\n") // with templates the linker keeps every method of every type
	root.AddCommand(newTopo(), newThroughput(), newCrossover(), newWorkload(), newTrace(), newRepro(), newSweep(), usage.NewCompletion(root), usage.NewMan(root, manualTopics()))
	usage.AddHelp(root, manualTopics())
	usage.AddCompletions(root, completed())
}

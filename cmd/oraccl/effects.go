package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/effect"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

// commandLine is what a command was called with.
func commandLine(cmd *cobra.Command, args []string) *effect.Line {
	value := func(flag string) string {
		if f := cmd.Flags().Lookup(flag); f != nil {
			return f.Value.String()
		}
		return ""
	}
	return &effect.Line{
		Verb: strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), Args: args,
		Given: cmd.Flags().Changed, Value: value, Exists: files.Exists,
		IsDir: func(name string) bool {
			stat, err := os.Stat(name)
			return err == nil && stat.IsDir()
		},
		Uses: methodUses,
	}
}

// methodUses returns which options have an effect on a method.
func methodUses(name string) (solve.Uses, bool) {
	list, err := certify.MethodsNamed(name)
	if err != nil {
		return 0, false
	}
	return list[0].About().Uses, true
}

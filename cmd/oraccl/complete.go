package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
)

// newCompletion returns the verb that writes what shells complete command lines by.
func newCompletion(root *cobra.Command) *cobra.Command {
	write := map[string]func(cmd *cobra.Command) error{
		"bash":       func(cmd *cobra.Command) error { return root.GenBashCompletionV2(cmd.OutOrStdout(), true) },
		"zsh":        func(cmd *cobra.Command) error { return root.GenZshCompletion(cmd.OutOrStdout()) },
		"fish":       func(cmd *cobra.Command) error { return root.GenFishCompletion(cmd.OutOrStdout(), true) },
		"powershell": func(cmd *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(cmd.OutOrStdout()) },
	}
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "The script by which a shell completes verbs, flags, methods, topologies and collectives",
		Long: `completion writes the script by which a shell completes verbs, flags, files, and the names
of methods, topologies and collectives. For the shell that runs now:

  bash         source <(oraccl completion bash)
  zsh          source <(oraccl completion zsh)
  fish         oraccl completion fish | source
  powershell   oraccl completion powershell | Out-String | Invoke-Expression`,
		Example:   "  oraccl completion bash > oraccl.bash",
		ValidArgs: shells,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE:      func(cmd *cobra.Command, args []string) error { return write[args[0]](cmd) },
	}
}

// newMan returns the verb that writes the manual's pages for man. It is for what is released.
func newMan(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man [VERB]",
		Short:  "The manual as a page for man: of the program, or of a verb",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				page, err := manual.Man(root.Short, pages(root), manualTopics())
				fmt.Fprint(cmd.OutOrStdout(), page)
				return err
			}
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || about.GroupID == topics {
				return fmt.Errorf("man %s: want one of the verbs that oraccl help lists", strings.Join(args, " "))
			}
			fmt.Fprint(cmd.OutOrStdout(), manual.ManVerb(pageOf(about)))
			return nil
		},
	}
}

// pageOf is what the manual has of a verb, except for what its examples print.
func pageOf(cmd *cobra.Command) *manual.Verb {
	cmd.InitDefaultHelpFlag()
	v := &manual.Verb{Path: cmd.CommandPath(), Short: cmd.Short, Long: cmd.Long, Usage: cmd.UseLine(), Flags: cmd.LocalFlags().FlagUsages()}
	for line := range strings.Lines(cmd.Example) {
		v.Examples = append(v.Examples, manual.Run{Line: strings.TrimSpace(line)})
	}
	return v
}

// pages are the verbs below cmd.
func pages(cmd *cobra.Command) []*manual.Verb {
	var all []*manual.Verb
	for _, c := range cmd.Commands() {
		if c.GroupID != topics && c.IsAvailableCommand() {
			all = append(append(all, pageOf(c)), pages(c)...)
		}
	}
	return all
}

// addCompletions has shells complete what flags and arguments may be.
func addCompletions(root *cobra.Command) {
	values := map[string]func() []cobra.Completion{
		"collective": func() (all []cobra.Completion) {
			for _, k := range model.Kinds() {
				all = append(all, k.String())
			}
			return all
		},
		"method": methodNames, "methods": methodNames, "topology": topologyNames, "topologies": topologyNames,
		"to": func() (all []cobra.Completion) {
			for _, t := range convert.Targets() {
				all = append(all, cobra.CompletionWithDesc(t.Name, t.Summary))
			}
			return all
		},
		"runtime": func() (all []cobra.Completion) {
			for _, r := range msccl.Runtimes() {
				all = append(all, r.String())
			}
			return all
		},
	}
	values["collectives"] = values["collective"]
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		for flag, of := range values {
			if cmd.Flags().Lookup(flag) == nil {
				continue
			}
			_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return listed(of(), begun), filesToo(flag)
			}) // an error means that it has one
		}
		if strings.Contains(cmd.Use, " TOPO") || strings.Contains(cmd.Use, "[TOPO]") {
			cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return topologyNames(), cobra.ShellCompDirectiveNoSpace // a file will do, too
			}
		}
	}
	visit(root)
}

// listed are the values that may follow in a list of which a part is written.
func listed(values []cobra.Completion, begun string) []cobra.Completion {
	at := strings.LastIndex(begun, ",")
	if at < 0 {
		return values
	}
	var all []cobra.Completion
	for _, v := range values {
		all = append(all, begun[:at+1]+v)
	}
	return all
}

// filesToo lets files be completed as well where a flag takes one.
func filesToo(flag string) cobra.ShellCompDirective {
	if strings.HasPrefix(flag, "topolog") {
		return cobra.ShellCompDirectiveNoSpace
	}
	return cobra.ShellCompDirectiveNoFileComp
}

func methodNames() []cobra.Completion {
	var all []cobra.Completion
	for _, m := range certify.Methods() {
		all = append(all, m.Name())
	}
	return all
}

// topologyNames are the names of machines, and those of families with the colon behind which
// the user writes numbers.
func topologyNames() []cobra.Completion {
	var all []cobra.Completion
	for _, f := range topo.List() {
		name := f.Name
		if strings.HasPrefix(f.Syntax, f.Name+":") {
			name += ":"
		}
		all = append(all, cobra.CompletionWithDesc(name, f.Summary))
	}
	return all
}

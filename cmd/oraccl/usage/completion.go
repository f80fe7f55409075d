//go:build !js

package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/manual"
)

// NewCompletion returns the verb that writes what shells complete command lines by.
func NewCompletion(root *cobra.Command) *cobra.Command {
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

// NewMan returns the verb that writes the manual's pages for man. It is for what is released.
func NewMan(root *cobra.Command, all []manual.Topic) *cobra.Command {
	return &cobra.Command{
		Use:    "man [VERB]",
		Short:  "The manual as a page for man: of the program, or of a verb",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				page, err := manual.Man(root.Short, pages(root), all)
				fmt.Fprint(cmd.OutOrStdout(), page)
				return err
			}
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || about.GroupID == Topics {
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
		if c.GroupID != Topics && c.IsAvailableCommand() {
			all = append(append(all, pageOf(c)), pages(c)...)
		}
	}
	return all
}

// AddCompletions has shells complete what the arguments and flags of the commands below cmd may
// be: values has those of each flag.
func AddCompletions(cmd *cobra.Command, values map[string][]manual.Value) {
	for _, c := range cmd.Commands() {
		AddCompletions(c, values)
	}
	for flag, of := range values {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		then := cobra.ShellCompDirectiveNoFileComp
		if strings.HasPrefix(flag, "topolog") { // files, too
			then = cobra.ShellCompDirectiveNoSpace
		}
		_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completions(manual.Listed(of, begun)), then
		}) // an error means that it has one
	}
	if strings.Contains(cmd.Use, " TOPO") || strings.Contains(cmd.Use, "[TOPO]") {
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completions(manual.Topologies()), cobra.ShellCompDirectiveNoSpace // files, too
		}
	}
}

func completions(values []manual.Value) (all []cobra.Completion) {
	for _, v := range values {
		all = append(all, cobra.CompletionWithDesc(v.Name, v.Summary))
	}
	return all
}

//go:build !js

package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
)

// verbs is the group of the commands that do something.
const verbs = "verbs"

// Topics is the group of the commands that print a topic of the manual.
const Topics = "topics"

// AddHelp gives root the verb help and the topics of the manual. "oraccl TOPIC" is the same
// as "oraccl help TOPIC".
func AddHelp(root *cobra.Command, all []manual.Topic) {
	root.AddGroup(&cobra.Group{ID: verbs, Title: "Verbs:"}, &cobra.Group{ID: Topics, Title: "Topics of the manual (oraccl help TOPIC):"})
	for _, c := range root.Commands() {
		c.GroupID = verbs
	}
	for _, t := range all {
		root.AddCommand(newTopic(t))
	}
	root.SetHelpCommand(newHelp(root))
	root.SetHelpCommandGroupID(verbs)
}

// newTopic returns the command that prints a topic.
func newTopic(t manual.Topic) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   t.Name,
		Short:                 t.Short,
		GroupID:               Topics,
		Args:                  cobra.MaximumNArgs(1),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return printTopic(cmd, &t, args) },
	}
	if t.What != "" {
		cmd.Use = fmt.Sprintf("%s [%s]", t.Name, t.What)
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return partNames(&t), cobra.ShellCompDirectiveNoFileComp
		}
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if err := printTopic(cmd, &t, nil); err != nil {
			cmd.PrintErrln(err)
		}
	})
	return cmd
}

func partNames(t *manual.Topic) []string {
	var names []string
	for _, p := range t.Parts() {
		names = append(names, p.Name)
	}
	return names
}

// printTopic prints a topic, or a part of it.
func printTopic(cmd *cobra.Command, t *manual.Topic, args []string) error {
	body := t.Body
	switch {
	case len(args) > 0 && t.What == "":
		return fmt.Errorf("help %s: has no parts, such as %q", t.Name, args[0])
	case len(args) > 0:
		part, ok := t.Part(args[0])
		if !ok {
			return unknownName(fmt.Sprintf("help %s", t.Name), strings.ToLower(t.What), args[0], partNames(t))
		}
		body = part.Body
	}
	blocks, err := body()
	if err != nil {
		return err
	}
	fmt.Fprint(cmd.OutOrStdout(), manual.Terminal(blocks))
	return nil
}

// unknownName is the error for a name that does not exist; it proposes the nearest.
func unknownName(where, what, name string, names []string) error {
	err := fmt.Errorf("%s: %s %q does not exist; there are %s", where, what, name, strings.Join(names, ", "))
	if near := Meant(name, names, ""); near != "" {
		return exit.Hint(err, near)
	}
	return err
}

// newHelp returns the verb help.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB | TOPIC]",
		Short: "Help on a verb or a topic of the manual",
		Long: `help lists the verbs and the topics of the manual, describes a verb and its flags, or
prints a topic. Topics with parts accept the name of a part: help violations
deadlock, help spec 4, help methods exact.`,
		Example: "  oraccl help\n  oraccl help gap\n  oraccl help bounds\n  oraccl help violations deadlock",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			if about.GroupID == Topics && about.ValidArgsFunction != nil {
				return about.ValidArgsFunction(about, nil, "")
			}
			for _, c := range about.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || about == root && len(args) > 0 {
				var names []string
				for _, group := range []string{verbs, Topics} {
					for _, c := range root.Commands() {
						if c.GroupID == group && c.IsAvailableCommand() {
							names = append(names, c.Name())
						}
					}
				}
				return unknownName("help", "verb or topic", args[0], names)
			}
			switch {
			case about.GroupID == Topics:
				return about.RunE(about, rest)
			case len(rest) > 0:
				var names []string
				for _, c := range about.Commands() {
					names = append(names, c.Name())
				}
				if names == nil {
					return fmt.Errorf("help %s: has no parts, such as %q", about.Name(), rest[0])
				}
				return unknownName("help "+about.Name(), "verb", rest[0], names)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

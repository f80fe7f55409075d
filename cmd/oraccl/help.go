//go:build !js

package main

import (
	_ "embed" // JSON.md
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify/dossier"
)

// The groups of commands.
const (
	verbs  = "verbs"
	topics = "topics"
)

// documented returns the methods in the order of the tables: those first that start from
// the best of the others.
func documented() []manual.Method {
	methods := certify.Methods()
	first := slices.IndexFunc(methods, func(m solve.Solver) bool { return strings.HasPrefix(m.Name(), "sat") })
	ordered := methods[first:]
	slices.Reverse(ordered)
	ordered = slices.Concat(ordered, methods[:first])
	var all []manual.Method
	for _, m := range ordered {
		d := manual.Method{Name: m.Name(), About: m.About()}
		switch {
		case d.About.ComparisonOnly:
			d.When = "named only"
		case d.About.LateOnly:
			d.When = "named only where no rank is late"
		case d.About.AddingOnly:
			d.When = "where switches add"
		}
		all = append(all, d)
	}
	return all
}

// jsonKeys states what the keys of all JSON documents mean.
//
//go:embed JSON.md
var jsonKeys string

// inManual is what the manual has to know of the program.
func inManual() manual.Program {
	return manual.Program{
		Methods: documented(), BusFactor: report.BusFactor, Keys: jsonKeys, Experiments: aboutExperiments(),
		Documents: []manual.Document{
			{Schema: "oraccl/gap/2", Types: []any{report.GapJSON{}}},
			{Schema: "oraccl/bound/1", Types: []any{report.BoundsJSON{}}},
			{Schema: "oraccl/throughput/1", Types: []any{report.ThroughputJSON{}}},
			{Schema: "oraccl/pareto/1", Types: []any{report.ParetoJSON{}}},
			{Schema: "oraccl/lint/1", Types: []any{report.LintJSON{}}},
			{Schema: "oraccl/verify/1", Types: []any{report.VerifyJSON{}, report.DeployJSON{}}},
			{Schema: "oraccl/trace/1", Types: []any{report.TraceJSON{}}},
			{Schema: turns.JobsSchema, Types: []any{turns.JobsFile{}}},
			{Schema: turns.Schema, Types: []any{turns.Report{}}},
			{Schema: "oraccl/check/2", Types: []any{dossier.JSON{}}},
			{Schema: table.Schema, Types: []any{table.JSON{}}},
		},
		Shared: map[string]any{"oraccl/gap/2 bound": report.BoundJSON{}, "oraccl/pareto/1 points[]": report.PointJSON{}, "oraccl/verify/1 violations[]": report.ViolationJSON{}, "oraccl/check/2 files[]": dossier.FileJSON{}},
	}
}

// manualTopics returns the topics of the manual.
func manualTopics() []manual.Topic { return manual.Topics(inManual()) }

// addHelp gives root the verb help and the topics of the manual. "oraccl TOPIC" is the same
// as "oraccl help TOPIC".
func addHelp(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: verbs, Title: "Verbs:"}, &cobra.Group{ID: topics, Title: "Topics of the manual (oraccl help TOPIC):"})
	for _, c := range root.Commands() {
		c.GroupID = verbs
	}
	for _, t := range manualTopics() {
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
		GroupID:               topics,
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
	if near := meant(name, names, ""); near != "" {
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
			if about.GroupID == topics && about.ValidArgsFunction != nil {
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
				for _, group := range []string{verbs, topics} {
					for _, c := range root.Commands() {
						if c.GroupID == group && c.IsAvailableCommand() {
							names = append(names, c.Name())
						}
					}
				}
				return unknownName("help", "verb or topic", args[0], names)
			}
			switch {
			case about.GroupID == topics:
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

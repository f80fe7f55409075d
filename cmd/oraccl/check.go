package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/verify/dossier"
)

func newCheck() *cobra.Command {
	var in problemFlags
	var topology, most string
	var asJSON, documents bool
	cmd := &cobra.Command{
		Use:   "check FILE|DIR...",
		Short: "Check schedules and certificates again, without a solver",
		Long: `check reads files and directories such as those of gap, sweep and repro --proofs. It
executes every schedule exactly and checks every certificate in exact arithmetic. A directory
with a manifest is accepted only if every claim in it follows, and nothing is missing, changed
or superfluous; without a manifest nothing is claimed, and the exit status is 3 unless
--documents is given. Of a sweep's directory it decides the table: every instance is made
again from its words, and every number has to follow. oraccl-check does the same and contains
nothing else. --max-gap makes the exit status 1 where a schedule's gap is larger, or where no
certificate tells it.

A network's name proves nothing: the digest of every problem is printed, and --topology
compares the network with the one that you mean. With --collective the whole problem is
compared; flags that are not given have the defaults of gap.`,
		Example: "  oraccl gap dgx1 --collective allgather --chunks 1 --methods tacos,ring --proofs out\n  oraccl check out --topology dgx1 --collective allgather --size 8MiB",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := dossier.NewAsked(topologies.Files{Context: cmd.Context()}, topology, &in.Flags, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			limit, err := parseMaxGap(cmd, most)
			if err != nil {
				return err
			}
			r, err := dossier.Check(cmd.Context(), args, dossier.Options{Documents: documents, Asked: asked, MaxGap: limit})
			if err != nil {
				return err
			}
			text, s := r.Text()
			if asJSON {
				b, _, err := r.JSON()
				if err != nil {
					return err
				}
				text = string(b)
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			if s != exit.Done {
				return exit.Status(s)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/check/2")
	cmd.Flags().BoolVar(&documents, "documents", false, "a directory without a manifest is a collection of documents, each of which stands for itself")
	cmd.Flags().StringVar(&topology, "topology", "", "compare the network with this one, by `name` or from a file")
	addMaxGap(cmd, &most, "every schedule, and of a directory with a manifest the shortest of each problem")
	in.addCompared(cmd)
	return cmd
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/verify/dossier"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE|DIR...",
		Short: "Check schedules and certificates again, no solver involved",
		Long: `check reads files, or directories such as gap --proofs writes, executes every
schedule exactly, checks every certificate in exact arithmetic, and says which
schedule meets which bound. oraccl-check is the same without anything else in it.`,
		Example: "  oraccl gap dgx1 --collective allgather --chunks 1 --proofs out\n  oraccl check out",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var found []dossier.Finding
			for _, path := range args {
				f, err := dossier.Check(path)
				if err != nil {
					return err
				}
				found = append(found, f...)
			}
			text, s := dossier.Report(found)
			fmt.Fprint(cmd.OutOrStdout(), text)
			if s != exitDone {
				return status(s)
			}
			return nil
		},
	}
}

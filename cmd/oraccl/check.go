package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/verify/dossier"
)

func newCheck() *cobra.Command {
	var asJSON, documents bool
	cmd := &cobra.Command{
		Use:   "check FILE|DIR...",
		Short: "Check schedules and certificates again, no solver involved",
		Long: `check reads files, or directories such as gap --proofs writes, executes every
schedule exactly, checks every certificate in exact arithmetic, and says which
schedule meets which bound. oraccl-check is the same without anything else in it.`,
		Example: "  oraccl gap dgx1 --collective allgather --chunks 1 --methods tacos,ring --proofs out\n  oraccl check out",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := dossier.Check(cmd.Context(), args, dossier.Options{Documents: documents})
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
			if s != exitDone {
				return status(s)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/check/2")
	cmd.Flags().BoolVar(&documents, "documents", false, "a directory without a manifest is a collection of documents, each of which stands for itself")
	return cmd
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Explain a violation code, with its smallest example",
		Example: "  oraccl explain\n  oraccl explain missing-contribution",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			if len(args) == 0 {
				for _, code := range verify.Codes() {
					e, _ := verify.Explain(code)
					fmt.Fprintf(w, "%-24s %s\n", code, e.Sentence)
				}
				return nil
			}
			e, ok := verify.Explain(verify.Code(args[0]))
			if !ok {
				var codes []string
				for _, code := range verify.Codes() {
					codes = append(codes, string(code))
				}
				return exit.Hint(fmt.Errorf("code %q: does not exist", args[0]), usage.Meant(args[0], codes, "oraccl explain lists the codes"))
			}
			fmt.Fprint(w, e)
			return nil
		},
	}
}

// versions names the program and the solvers in it, with their versions.
func versions() string {
	return fmt.Sprintf("oraccl %s, HiGHS %s, Z3 %s", built.Version(), highs.Version(), z3.Version())
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Versions of oraccl and of the solvers in it",
		Example: "  oraccl version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), versions())
		},
	}
}

//go:build !js

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify/workloads"
)

// run does it if the argument is the file of a workload; else done is false.
func (v *ofWorkload) run(cmd *cobra.Command, args []string) (done bool, err error) {
	if len(args) != 1 {
		return false, nil
	}
	w, err := turns.ReadWorkload(cmd.Context(), args[0])
	if w == nil || err != nil {
		return err != nil, err
	}
	effective := 0
	for _, name := range append([]string{"max-file-size"}, v.flags...) {
		if cmd.Flags().Changed(name) {
			effective++
		}
	}
	if cmd.Flags().NFlag() > effective {
		return true, fmt.Errorf("%s: a workload, whose file states its operations: no flag has an effect but --%s", args[0], strings.Join(v.flags, ", --"))
	}
	if err := checkTimeLimit(v.limit); err != nil {
		return true, err
	}
	methods, err := workloads.MethodsListed(v.methods)
	if err != nil {
		return true, err
	}
	if v.bound {
		methods = nil
	}
	if err := checkProofs(v.proofs); err != nil {
		return true, err
	}
	s := session.Of(cmd.Context())
	ctx, end := s.Limited(cmd.Context(), v.limit)
	defer end()
	late, cancel := solve.Grace(ctx, writeGrace)
	defer cancel()
	enter(cmd, "scheduling")
	c, err := workloads.Evaluate(ctx, w, methods, v.best, func(c *workloads.Comparison) {
		s.Keep(func(why solve.Stop) error {
			kept := *c
			kept.Stop = why
			return v.write(cmd, args[0], &kept)
		})
	})
	if err != nil {
		return true, fmt.Errorf("%s: %w", args[0], err)
	}
	if v.proofs != "" {
		enter(cmd, "writing proofs")
		if err := turns.Prove(late, v.proofs, c); err != nil {
			return true, err
		}
	}
	if err := s.Report(func() error { return v.write(cmd, args[0], c) }); err != nil {
		return true, err
	}
	if v.bound {
		if c.Stop != 0 {
			return true, exit.Status(exit.Unknown)
		}
		return true, nil
	}
	status := turns.StatusOf(c)
	if b := c.Best(); v.gate != nil && (b == nil || len(c.Bounds) == 0 || c.Gap(b) > *v.gate) {
		return true, beyond(cmd, *v.gate, []string{args[0]}, status)
	}
	return true, status
}

// write prints what there is, and writes the file that is asked for.
func (v *ofWorkload) write(cmd *cobra.Command, file string, c *workloads.Comparison) error {
	w := cmd.OutOrStdout()
	if v.best && len(c.Rows) > 1 {
		c.Rows = c.Rows[:1]
	}
	written := v.out
	switch {
	case v.out != "" && v.bound:
		if err := turns.WriteBound(v.out, c); err != nil {
			return err
		}
	case v.out != "" && c.Best() != nil:
		if err := turns.Write(v.out, c.Best()); err != nil {
			return err
		}
	default:
		written = ""
	}
	if v.best && !v.asJSON && len(c.Rows) == 1 {
		turns.PrintBest(w, file, c)
	} else if err := turns.PrintComparison(w, c, v.asJSON); err != nil {
		return err
	}
	if v.asJSON {
		return nil
	}
	if written != "" {
		fmt.Fprintf(w, "written to %s\n", quote.Name(written))
	}
	if v.proofs != "" && c.Best() != nil && c.Stop == 0 {
		fmt.Fprintf(w, "proofs are in %s: oraccl check decides them\n", quote.Name(v.proofs))
	}
	return nil
}

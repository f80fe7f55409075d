//go:build !js

package main

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
	"github.com/oraccl/oraccl/solve/certify/proofs"
	"github.com/spf13/cobra"
)

// runPareto is solve --pareto up to a number of chunks per rank.
func runPareto(ctx context.Context, cmd *cobra.Command, e *certify.Evaluator, p *model.Problem, maxChunks int, dir string, asJSON bool) error {
	late, cancel := solve.Grace(ctx, writeGrace)
	defer cancel()
	f, err := pareto.Search(ctx, e, p, maxChunks)
	if err != nil {
		return fmt.Errorf("--pareto: %w", err)
	}
	var at map[*pareto.Point]string
	if dir != "" {
		enter(cmd, "writing proofs")
		if at, err = proofs.WriteFrontier(late, dir, f, e.Scratch, built.Tool()); err != nil {
			return fmt.Errorf("--proofs: %w", err)
		}
	}
	err = session.Of(ctx).Report(func() error {
		if asJSON {
			return report.PrintJSON(cmd.OutOrStdout(), report.ParetoToJSON(f, at))
		}
		report.PrintPareto(cmd.OutOrStdout(), f)
		report.PrintNotes(cmd.OutOrStdout(), p.Topology.Notes)
		return nil
	})
	if err == nil && (len(f.Undecided) > 0 || f.Stopped != 0) {
		err = exit.Status(exit.Unknown)
	}
	return err
}

//go:build !js

package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/lint"
	"github.com/oraccl/oraccl/verify/cert"
)

func newTopoLint() *cobra.Command {
	var in problemFlags
	var claim, busbw string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint TOPO",
		Short: "What is suspicious about a topology, and whether a claimed bandwidth can be",
		Long: `lint looks for links one way only, ranks that are switches and the reverse, links
across the rows of a mesh, figures that are off by a unit, ranks out of reach and
the like, and names the place. Errors make the exit status 1; warnings do not.

With --claim, or --claim-busbw, it also reports whether a certified lower bound refutes that
a collective reaches this algorithmic bandwidth, or this bus bandwidth as NCCL-tests has it,
however the buffer is cut unless --chunks says how. If so, the exit status is 1 too.`,
		Example: "  oraccl topo show torus:4x4 --json > cluster.json\n" +
			"  oraccl topo lint cluster.json\n" +
			"  oraccl topo lint ndv2:2 --collective alltoall --size 1GB --claim 3.524GB/s",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := in.topology(cmd, args)
			if err != nil {
				return err
			}
			found, err := lint.Check(t)
			if err != nil {
				return err
			}
			r := report.Lint{Topology: t, Found: found}
			if claim != "" || busbw != "" {
				if r.Claim, err = in.judge(cmd, args, claim, busbw); err != nil {
					return err
				}
			}
			if asJSON {
				err = report.PrintJSON(cmd.OutOrStdout(), report.LintToJSON(&r))
			} else {
				report.PrintLint(cmd.OutOrStdout(), &r)
			}
			if err == nil && (lint.Errors(found) > 0 || r.Claim != nil && r.Claim.Refuted) {
				return exit.Status(exit.Refuted)
			}
			return err
		},
	}
	in.addFlags(cmd)
	cmd.Flags().StringVar(&claim, "claim", "", "algorithmic bandwidth, size / makespan, that someone claims for --collective: a `rate` such as 100GB/s")
	cmd.Flags().StringVar(&busbw, "claim-busbw", "", "the same as a bus bandwidth, algbw times 2(n-1)/n for an allreduce: a `rate` such as 446GB/s")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/lint/1")
	return cmd
}

// topology returns the topology that is the only argument, or that of --problem.
func (in *problemFlags) topology(cmd *cobra.Command, args []string) (*model.Topology, error) {
	if in.File != "" {
		p, err := in.problem(cmd, args)
		if err != nil {
			return nil, err
		}
		return p.Topology, nil
	}
	t, err := loadTopology(cmd.Context(), args[0], in.Alpha, in.Bandwidth)
	if err == nil {
		t, err = instance.Scaled(t, in.Scale)
	}
	if err == nil {
		t, err = instance.Forwarding(t, in.NoInNetwork)
	}
	if err != nil {
		return nil, err
	}
	return instance.Failed(t, in.Fail)
}

// judge holds the best checked bound of the instance against a claim.
func (in *problemFlags) judge(cmd *cobra.Command, args []string, claim, busbw string) (*report.Claim, error) {
	p, err := in.problem(cmd, args)
	if err != nil {
		return nil, err
	}
	c, err := report.NewClaim(p, claim, busbw)
	if err != nil {
		return nil, err
	}
	ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), time.Minute)
	defer done()
	all, _, err := boundsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	c.Certificate = all[0]
	c.Refuted, c.Bound, err = cert.Refutes(cmd.Context(), c.Certificate, c.Rate)
	return c, err
}

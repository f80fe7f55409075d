package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/lint"
	"github.com/oraccl/oraccl/verify/cert"
)

func newTopoLint() *cobra.Command {
	var in problemFlags
	var claim string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint TOPO",
		Short: "What is suspicious about a topology, and whether a claimed bandwidth can be",
		Long: `lint looks for links one way only, ranks that are switches and the reverse, links
across the rows of a mesh, figures that are off by a unit, ranks out of reach and
the like, and names the place. Errors make the exit status 1; warnings do not.

With --claim it also reports whether a certified lower bound refutes that a
collective reaches this algorithmic bandwidth, however the buffer is cut unless
--chunks says how. If so, the exit status is 1 too.`,
		Example: "  oraccl topo show torus:4x4 --json > cluster.json\n" +
			"  oraccl topo lint cluster.json\n" +
			"  oraccl topo lint ndv2:2 --collective alltoall --size 1GB --claim 3.524GB/s",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTopology(cmd.Context(), args[0], in.Alpha, in.Bandwidth)
			if err != nil {
				return err
			}
			if t, err = instance.Failed(t, in.Fail); err != nil {
				return err
			}
			found, err := lint.Check(t)
			if err != nil {
				return err
			}
			r := lintResult{t: t, found: found}
			switch {
			case claim == "" && in.Collective != "":
				return errors.New("--collective: goes with --claim RATE")
			case claim != "":
				if r.claim, err = in.judge(cmd, args[0], claim); err != nil {
					return err
				}
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), r.json())
			} else {
				r.print(cmd.OutOrStdout())
			}
			if err == nil && (lint.Errors(found) > 0 || r.claim != nil && r.claim.refuted) {
				return exit.Status(exit.Refuted)
			}
			return err
		},
	}
	in.addFlags(cmd)
	cmd.Flags().StringVar(&claim, "claim", "", "algorithmic bandwidth, size / makespan, that someone claims for --collective: a `rate` such as 100GB/s")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/lint/1")
	return cmd
}

// claimed is a claim about a problem, and the certificate that was held against it.
type claimed struct {
	rate        int64 // bytes per second
	refuted     bool
	bound       model.Time
	certificate *model.Certificate
}

// judge holds the best checked bound of the instance against a claim.
func (in *problemFlags) judge(cmd *cobra.Command, topology, claim string) (*claimed, error) {
	c := &claimed{}
	var err error
	if c.rate, err = model.ParseRate(claim); err != nil {
		return nil, fmt.Errorf("--claim: %w", err)
	}
	p, err := in.problem(cmd.Context(), topology)
	if err != nil {
		return nil, err
	}
	ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), time.Minute)
	defer done()
	all, _, err := boundsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	c.certificate = all[0]
	c.refuted, c.bound, err = cert.Refutes(cmd.Context(), c.certificate, c.rate)
	return c, err
}

type lintResult struct {
	t     *model.Topology
	found []lint.Finding
	claim *claimed
}

func (r *lintResult) print(w io.Writer) {
	bad := lint.Errors(r.found)
	fmt.Fprintf(w, "%s: %d errors, %d warnings\n", r.t.Name, bad, len(r.found)-bad)
	for _, f := range r.found {
		fmt.Fprintf(w, "%s %s: %s\n", severity(f.Code), f.Code, f.Text)
	}
	printNotes(w, r.t.Notes)
	if c := r.claim; c != nil {
		word := "NOT REFUTED"
		if c.refuted {
			word = "REFUTED"
		}
		p := c.certificate.Problem
		fmt.Fprintf(w, "%s %v at %.3f GB/s: at most %.3f GB/s (%s: %s)\n", word, p, float64(c.rate)/1e9, gbps(p.Size, c.bound), c.certificate.Witness.Kind(), describe(c.certificate))
	}
}

func severity(c lint.Code) string {
	if c.IsError() {
		return "error"
	}
	return "warning"
}

type lintJSON struct {
	Schema   string        `json:"schema"`
	Topology string        `json:"topology"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Findings []findingJSON `json:"findings"`
	Claim    *claimJSON    `json:"claim"`
	Notes    []string      `json:"notes,omitempty"`
}

type findingJSON struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Text     string `json:"text"`
	Nodes    []int  `json:"nodes"`
	Links    []int  `json:"links"`
	Ports    []int  `json:"ports"`
}

type claimJSON struct {
	Collective string     `json:"collective"`
	SizeBytes  int64      `json:"size_bytes"`
	Cost       string     `json:"cost"`
	Rate       int64      `json:"claimed_bytes_per_second"`
	Refuted    bool       `json:"refuted"`
	AtMostGbps float64    `json:"at_most_gbps"`
	Bound      *boundJSON `json:"bound"`
}

func (r *lintResult) json() lintJSON {
	j := lintJSON{Schema: "oraccl/lint/1", Topology: r.t.Name, Errors: lint.Errors(r.found), Findings: []findingJSON{}, Notes: r.t.Notes.Strings()}
	j.Warnings = len(r.found) - j.Errors
	for _, f := range r.found {
		j.Findings = append(j.Findings, findingJSON{severity(f.Code), string(f.Code), f.Text,
			append([]int{}, f.Nodes...), append([]int{}, f.Links...), append([]int{}, f.Ports...)})
	}
	if c := r.claim; c != nil {
		p := c.certificate.Problem
		j.Claim = &claimJSON{p.Collective.Kind.String(), p.Size, p.Cost.String(), c.rate, c.refuted, gbps(p.Size, c.bound), boundToJSON(c.certificate)}
	}
	return j
}

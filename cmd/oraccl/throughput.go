package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

// The JSON of throughput, schema oraccl/throughput/1.
type throughputJSON struct {
	Schema      string     `json:"schema"`
	Topology    string     `json:"topology"`
	Collective  string     `json:"collective"`
	Ranks       int        `json:"ranks"`
	SizeBytes   int64      `json:"size_bytes"`
	Microsecs   float64    `json:"time_us"`          // in the fluid limit
	AlgbwGbps   float64    `json:"algbw_gbps"`       //
	Exact       string     `json:"seconds_per_byte"` // as a fraction; empty where only floating point knows
	Status      string     `json:"status"`           // what the number is: see the text
	Routes      []string   `json:"computed_by"`      // independent computations that agree
	Cut         *cutJSON   `json:"cut"`              // the limit, where it is a cut
	Bound       *boundJSON `json:"bound"`            // of the size, with latencies; checked
	Seconds     float64    `json:"seconds"`          // that it took
	Notes       []string   `json:"notes,omitempty"`
	Note        string     `json:"note,omitempty"` //
	Stopped     string     `json:"stopped,omitempty"`
	stop        solve.Stop // why not all was done, 0: all was
	certificate *model.Certificate
}

// cutJSON is a set of nodes and what leaves it.
type cutJSON struct {
	Nodes     []int `json:"nodes"`
	Shares    int64 `json:"shares"` // of Of equal ones must cross
	Of        int64 `json:"of"`
	Bandwidth int64 `json:"bandwidth_bytes_per_second"`
}

func newThroughput() *cobra.Command {
	var in problemFlags
	var out string
	var limit time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "throughput TOPO --collective C",
		Short: "The highest rate of a collective in the fluid limit, and what limits it",
		Long: `throughput prints the bytes of the buffer per second if latencies are zero and chunks
infinitely divisible. No schedule with any number of chunks is faster.

For allgather, reducescatter, broadcast and reduce the number is exact. It is computed
twice, by minimum cuts in whole numbers and, up to 64 ranks, by linear programs, which
must agree. For alltoall it is a maximum concurrent flow by HiGHS, with an exact bound
from its dual. For allreduce it is the best that in-trees and out-trees can do, by HiGHS;
other shapes of algorithms have only the bound below it.

When the time limit is reached, or after Ctrl-C, what was found by then is printed, and the
exit status is 3.`,
		Example: "  oraccl throughput dgx1 --collective allgather\n  oraccl throughput torus:8x8 --collective reducescatter --size 1GiB",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			enter(cmd, "reading "+args[0])
			p, err := in.problem(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := checkTimeLimit(limit); err != nil {
				return err
			}
			ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), limit)
			defer done()
			enter(cmd, "computing the fluid limit")
			begin := time.Now()
			f, err := certify.Throughput(ctx, p)
			if err != nil {
				return err
			}
			j := throughputToJSON(p, f, time.Since(begin))
			if out != "" {
				if j.certificate == nil {
					return errors.New("-o: there is no certificate")
				}
				if err := files.Write(out, func(w io.Writer) error { return native.WriteCertificate(w, j.certificate) }); err != nil {
					return err
				}
			}
			err = session.Of(ctx).Report(func() error {
				if asJSON {
					return printJSON(cmd.OutOrStdout(), j)
				}
				j.print(cmd.OutOrStdout(), p)
				return nil
			})
			if err == nil && j.stop != 0 {
				return exit.Status(exit.Unknown)
			}
			return err
		},
	}
	in.addFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the certificate of the bound to this `file`")
	addTimeLimit(cmd, &limit, "wall `time` for the limit and the bound together")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/throughput/1")
	return cmd
}

// throughputToJSON returns the JSON of the fluid limit of p, found in the time it took.
func throughputToJSON(p *model.Problem, f *certify.FluidLimit, took time.Duration) *throughputJSON {
	j := &throughputJSON{Schema: "oraccl/throughput/1", Topology: p.Topology.Name, Collective: p.Collective.Kind.String(),
		Ranks: len(p.Members()), SizeBytes: p.Size, AlgbwGbps: f.Algbw / 1e9, Status: string(f.Status), Routes: f.By,
		Bound: boundToJSON(f.Bound), Seconds: took.Seconds(), Note: f.Note, Notes: p.Topology.Notes.Strings(), certificate: f.Bound, stop: f.Stopped}
	if j.AlgbwGbps > 0 {
		j.Microsecs = float64(p.Size) / j.AlgbwGbps / 1e3
	}
	if f.Stopped != 0 {
		j.Stopped = f.Stopped.String()
	}
	if f.Exact != nil {
		j.Exact = f.Exact.RatString()
	}
	if c := f.Cut; c != nil {
		j.Cut = &cutJSON{c.Nodes, c.Shares, c.Of, c.Bandwidth}
	}
	return j
}

func (j *throughputJSON) print(w io.Writer, p *model.Problem) {
	fmt.Fprintf(w, "%v\n", p)
	what := map[string]string{
		"exact":      "exactly, by " + joined(j.Routes),
		"exact dual": "by a concurrent flow, with an exact dual of the same value",
		"solver":     "by a concurrent flow, according to the solver",
	}[j.Status]
	if what == "" {
		what = "by in-trees and out-trees, according to the solver"
	}
	if j.Status == string(certify.FluidUnknown) {
		fmt.Fprintf(w, "fluid limit  not found: %s\n", why(j.stop))
	} else {
		fmt.Fprintf(w, "fluid limit  %.3f us, %.3f GB/s  %s\n", j.Microsecs, j.AlgbwGbps, what)
	}
	if j.Cut != nil {
		fmt.Fprintf(w, "Limit: %d of %d shares have to leave %s over %.3f GB/s.\n", j.Cut.Shares, j.Cut.Of, nodeSet(p.Topology, j.Cut.Nodes), float64(j.Cut.Bandwidth)/1e9)
	}
	fmt.Fprintln(w, boundLine(j.certificate))
	if j.Note != "" {
		fmt.Fprintln(w, j.Note)
	}
	printNotes(w, p.Topology.Notes)
}

func joined(words []string) string {
	if len(words) == 2 {
		return words[0] + " and by " + words[1]
	}
	return strings.Join(words, "")
}

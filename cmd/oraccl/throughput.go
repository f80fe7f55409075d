//go:build !js

package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve/certify"
)

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

For allgather, reducescatter, broadcast and reduce, and for allgatherv and reducescatterv,
the number is exact. It is computed twice, by minimum cuts in whole numbers and, up to 64
ranks, by linear programs, which must agree. For alltoall, gather, scatter, and all that
goes from one rank to one, such as alltoallv, it is a maximum concurrent flow by HiGHS, with
an exact bound from its dual. For allreduce it is the best that in-trees and out-trees can do, by HiGHS;
other shapes of algorithms have only the bound below it.

When the time limit is reached, or after Ctrl-C, what was found by then is printed, and the
exit status is 3.`,
		Example: "  oraccl throughput dgx1 --collective allgather\n  oraccl throughput torus:8x8 --collective reducescatter --size 1GiB\n  oraccl throughput torus:4x4 --collective halo --size 1MiB",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, ctx, done, err := in.begin(cmd, args, limit, "computing the fluid limit")
			if err != nil {
				return err
			}
			defer done()
			begin := time.Now()
			f, err := certify.Throughput(ctx, p)
			if err != nil {
				return err
			}
			took := time.Since(begin)
			if out != "" {
				if f.Bound == nil {
					return errors.New("-o: there is no certificate")
				}
				if err := files.Write(out, func(w io.Writer) error { return native.WriteCertificate(w, f.Bound) }); err != nil {
					return err
				}
			}
			err = session.Of(ctx).Report(func() error {
				if asJSON {
					return report.PrintJSON(cmd.OutOrStdout(), report.ThroughputToJSON(p, f, took))
				}
				report.PrintThroughput(cmd.OutOrStdout(), p, f)
				return nil
			})
			if err == nil && f.Stopped != 0 {
				return exit.Status(exit.Unknown)
			}
			return err
		},
	}
	in.addFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the certificate of the bound to this `file`")
	addTimeLimit(cmd, &limit, time.Minute, "wall `time` for the limit and the bound together")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/throughput/1")
	return cmd
}

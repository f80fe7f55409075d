//go:build !js

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/calibrate"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
)

func newTopoFit() *cobra.Command {
	var tables []string
	var pair []int
	var out, figure string
	cmd := &cobra.Command{
		Use:   "fit TOPO --measured FILE",
		Short: "Latencies and bandwidths of a topology's links from benchmarks",
		Long: `fit gives the links of a topology the latencies and bandwidths that benchmarks show:
tables of nccl-tests and rccl-tests (all their columns and runs), of OSU's osu_latency,
osu_bw and osu_allreduce, the matrices of p2pBandwidthLatencyTest, or CSV with the columns
src, dst, bytes, seconds.

Measurements are grouped by the links on their route. Each group is fitted by α + β·bytes,
by least squares of relative errors, with 95 % confidence intervals, residuals, outliers,
and a knee where small and large messages follow different lines. Beside it stands the line of
median regression, which a few points far off do not move. A table of a collective
is taken for that of a ring of all ranks, whose slowest neighbours it tells of; one of two
unnamed ranks is of --pair. A fit that does not explain its data is refused.

The result is a topology that every verb reads, with notes that tell where each figure is from.`,
		Example: "  printf 'src,dst,bytes,seconds\\n0,1,1e4,1.71e-6\\n1,2,1e5,5.2e-6\\n0,2,1e6,4.15e-5\\n1,0,1e7,4.013e-4\\n' > times.csv\n" +
			"  oraccl topo fit ring:3 --measured times.csv -o measured.json\n  oraccl gap measured.json --collective allgather --methods ring",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPlot(figure); err != nil {
				return err
			}
			if len(pair) != 2 {
				return fmt.Errorf("--pair %v: want two ranks, such as 0,8", pair)
			}
			t, err := loadTopology(cmd.Context(), args[0], "", "")
			if err != nil {
				return err
			}
			enter(cmd, "reading "+strings.Join(tables, ", "))
			all, err := calibrate.Read(cmd.Context(), tables)
			if err != nil {
				return err
			}
			r, err := calibrate.Topology(t, all, [2]int(pair))
			if err != nil {
				return err
			}
			report.PrintFit(cmd.OutOrStdout(), r)
			if figure != "" {
				if err := report.DrawFit(r, figure); err != nil {
					return err
				}
			}
			if out == "" {
				return nil
			}
			if err := files.Write(out, func(w io.Writer) error { return native.WriteTopology(w, r.Topology) }); err != nil {
				return err
			}
			report.Line(cmd.OutOrStdout(), "written to %s", quote.Name(out))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&tables, "measured", nil, "benchmarks, in `files` separated by commas")
	f.IntSliceVar(&pair, "pair", []int{0, 1}, "the two `ranks` between which a benchmark of two unnamed ranks ran")
	f.StringVarP(&out, "output", "o", "", "write the topology to this `file`, schema oraccl/topology/1")
	f.StringVar(&figure, "plot", "", "draw the measurements and the lines to this `file`, .svg, .png or .pdf")
	_ = cmd.MarkFlagRequired("measured")
	return cmd
}

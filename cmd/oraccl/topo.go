//go:build !js

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/diagram"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/topo"
)

func newTopo() *cobra.Command {
	show := newTopoShow()
	cmd := &cobra.Command{
		Use:     "topo [TOPO]",
		Aliases: []string{"topology"},
		Short:   "List, show, join and check topologies",
		Long: `topo lists, shows, joins and checks topologies. Without a verb it shows the topology.

A topology is a name or a file: ours (JSON), a dump of NCCL or RCCL
(NCCL_TOPO_DUMP_FILE, XML), the output of nvidia-smi topo -m (--bandwidth is then that
of one NVLink) or of rocm-smi --showtopo (that between two GPUs), or an input of TE-CCL.`,
		Example: "  oraccl topo ring:3\n" +
			"  oraccl topo show torus:4x4 --json > torus.json\n" +
			"  oraccl topo lint torus.json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return show.RunE(cmd, args)
		},
	}
	cmd.Flags().AddFlagSet(show.Flags())
	cmd.AddCommand(newTopoList(), show, newTopoJoin(), newTopoLint(), newTopoFit())
	return cmd
}

func newTopoList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "The topologies that can be named",
		Example: "  oraccl topo list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, f := range topo.List() {
				fmt.Fprintf(t, "%s\t%s\n", f.Syntax, f.Summary)
			}
			return t.Flush()
		},
	}
}

func newTopoShow() *cobra.Command {
	var in instance.Flags
	var asJSON, matrix bool
	var out string
	cmd := &cobra.Command{
		Use:     "show TOPO",
		Short:   "Nodes, links and ports of a topology, by name or from a file, as a table, a matrix or a picture",
		Example: "  oraccl topo show dgxh100:2 --matrix\n  oraccl topo show dgxh100:4 -o cluster.svg\n  oraccl topo show dgx1\n  oraccl topo show torus:4x4 --alpha 1us --bandwidth 100GB/s --json > torus.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTopology(cmd.Context(), args[0], in.Alpha, in.Bandwidth)
			if err == nil {
				t, err = instance.Scaled(t, in.Scale)
			}
			if err == nil {
				t, err = instance.Forwarding(t, in.NoInNetwork)
			}
			if err != nil {
				return err
			}
			if t, err = instance.Failed(t, in.Fail); err != nil {
				return err
			}
			if out != "" {
				if filepath.Ext(out) != ".svg" {
					return fmt.Errorf("-o %q: want a name that ends in .svg", out)
				}
				if err := files.Write(out, func(w io.Writer) error { return diagram.SVG(w, t) }); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "written to %s\n", quote.Name(out))
				return nil
			}
			switch {
			case asJSON && matrix:
				return errors.New("--matrix: does not go with --json")
			case asJSON:
				return native.WriteTopology(cmd.OutOrStdout(), t)
			case matrix:
				return report.PrintMatrix(cmd.OutOrStdout(), t)
			}
			return report.PrintTopology(cmd.OutOrStdout(), t)
		},
	}
	in.DefineWires(cmd.Flags())
	cmd.Flags().StringSliceVar(&in.Fail, "fail", nil, "`what` has failed: link:U-V (both ways) or rank:R")
	cmd.Flags().BoolVar(&matrix, "matrix", false, "print the bandwidth between each two ranks, and which ranks are in which machine")
	cmd.Flags().StringVarP(&out, "output", "o", "", "draw the topology in this `file`, .svg: machines as boxes, switches by their level")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/topology/1, which every verb reads as a topology")
	return cmd
}

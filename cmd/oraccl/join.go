//go:build !js

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
)

func newTopoJoin() *cobra.Command {
	var c topologies.Cluster
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "join MACHINE...",
		Short: "A cluster of machines, by name or from their dumps",
		Long: `join puts machines together: names of topologies, dumps of NCCL or RCCL, what nvidia-smi
topo -m or rocm-smi --showtopo prints, or files of ours, also different ones. Each NIC of a dump is at the PCI
bridge or CPU, or the GPUs, that the dump has it at; where there is none, each GPU has one.

NICs are at one switch, on rails (the first NICs of all machines at one switch, the second
at another, and so on), or at the leaves of a fat tree, whose spines are fewer where it is
oversubscribed. What was assumed and left out is in the notes, which the file keeps. It has
each machine and rail as a group, as --group takes them.`,
		Example: "  oraccl topo join dgxh100 --copies 4 --nic 50GB/s --nic-latency 1.3us -o cluster.json\n" +
			"  oraccl topo join dgxh100 dgxa100 --nic 25GB/s --fabric rails -o mixed.json\n" +
			"  oraccl topo join dgxa100 --copies 8 --nic 25GB/s --fabric fattree --machines-per-leaf 2 --oversubscription 2 --json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			enter(cmd, "reading "+strings.Join(args, ", "))
			t, err := topologies.Files{Context: cmd.Context()}.Cluster(args, &c)
			if err != nil {
				return err
			}
			if out != "" {
				if err := files.Write(out, func(w io.Writer) error { return native.WriteTopology(w, t) }); err != nil {
					return err
				}
			}
			if asJSON {
				return native.WriteTopology(cmd.OutOrStdout(), t)
			}
			err = report.PrintTopology(cmd.OutOrStdout(), t)
			if err == nil && out != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "\nwritten to %s\n", quote.Name(out))
			}
			return err
		},
	}
	f := cmd.Flags()
	c.Define(f)
	f.StringVarP(&out, "output", "o", "", "write the topology to this `file`, JSON, which every verb reads")
	f.BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/topology/1")
	return cmd
}

package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/topo"
)

func newTopo() *cobra.Command {
	show := newTopoShow()
	cmd := &cobra.Command{
		Use:     "topo [TOPO]",
		Aliases: []string{"topology"},
		Short:   "List, show and check topologies",
		Long: `topo lists, shows and checks topologies. Without a verb it shows the topology.

A topology is a name or a file: ours (JSON), a dump of NCCL or RCCL
(NCCL_TOPO_DUMP_FILE, XML), the output of nvidia-smi topo -m (--bandwidth is then that
of one NVLink), or an input of TE-CCL.`,
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
	cmd.AddCommand(newTopoList(), show, newTopoLint())
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
	var alpha, bandwidth string
	var fail []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show TOPO",
		Short:   "Nodes, links and ports of a topology, by name or from a file",
		Example: "  oraccl topo show dgx1\n  oraccl topo show torus:4x4 --alpha 1us --bandwidth 100GB/s --json > torus.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTopology(cmd.Context(), args[0], alpha, bandwidth)
			if err != nil {
				return err
			}
			if t, err = instance.Failed(t, fail); err != nil {
				return err
			}
			if asJSON {
				return native.WriteTopology(cmd.OutOrStdout(), t)
			}
			return printTopology(cmd.OutOrStdout(), t)
		},
	}
	cmd.Flags().StringVar(&alpha, "alpha", "", "latency of the links of a named topology: a `time` such as 500ns, or one per dimension, separated by commas")
	cmd.Flags().StringVar(&bandwidth, "bandwidth", "", "bandwidth of the links of a named topology: a `rate` such as 50GiB/s, or one per dimension")
	cmd.Flags().StringSliceVar(&fail, "fail", nil, "`what` has failed: link:U-V (both ways) or rank:R")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/topology/1, which every verb reads as a topology")
	return cmd
}

// printTopology writes one line a node pair and kind of link: parallel links are
// counted.
func printTopology(w io.Writer, t *model.Topology) error {
	fmt.Fprintf(w, "%s: %d ranks, %d switches, %d links, %d ports\n\n", t.Name, t.Ranks, len(t.Switches), len(t.Links), len(t.Ports))
	count := map[model.Link]int{}
	var kinds []model.Link
	for _, l := range t.Links {
		if count[l] == 0 {
			kinds = append(kinds, l)
		}
		count[l]++
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "from\tto\tlinks\tlatency\tbandwidth GB/s each")
	for _, l := range kinds {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%v\t%.3f\n", t.NodeName(l.Src), t.NodeName(l.Dst), count[l], l.Alpha, float64(l.Bandwidth)/1e9)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i, s := range t.Switches {
		if s.Copies {
			fmt.Fprintf(w, "%s copies\n", t.NodeName(t.Ranks+i))
		}
	}
	for _, p := range t.Ports {
		links := slices.Clone(p.Links)
		fmt.Fprintf(w, "port %s: at most %d at a time over links %v\n", p.Name, p.Capacity, links)
	}
	printNotes(w, t.Notes)
	return nil
}

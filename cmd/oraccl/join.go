package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/join"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
)

func newTopoJoin() *cobra.Command {
	var o join.Options
	var copies int
	var nic, latency, out string
	var in instance.Flags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "join MACHINE...",
		Short: "A cluster of machines, by name or from their dumps",
		Long: `join puts machines together: names of topologies, dumps of NCCL or RCCL, what nvidia-smi
topo -m prints, or files of ours, also different ones. Each NIC of a dump is at the PCI
bridge or CPU, or the GPUs, that the dump has it at; where there is none, each GPU has one.

NICs are at one switch, on rails (the first NICs of all machines at one switch, the second
at another, and so on), or at the leaves of a fat tree, whose spines are fewer where it is
oversubscribed. What was assumed and left out is in the notes, which the file keeps, with
the ranks of each machine and rail as --group takes them.`,
		Example: "  oraccl topo join dgxh100 --copies 4 --nic 50GB/s --nic-latency 1.3us -o cluster.json\n" +
			"  oraccl topo join dgxh100 dgxa100 --nic 25GB/s --fabric rails -o mixed.json\n" +
			"  oraccl topo join dgxa100 --copies 8 --nic 25GB/s --fabric fattree --machines-per-leaf 2 --oversubscription 2 --json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Alpha = -1; latency != "" {
				if o.Alpha, err = model.ParseTime(latency); err != nil {
					return fmt.Errorf("--nic-latency: %w", err)
				}
			}
			if nic != "" {
				if o.Bandwidth, err = model.ParseRate(nic); err != nil {
					return fmt.Errorf("--nic: %w", err)
				}
			}
			if copies < 1 || copies > model.MaxNodes || o.PerRank < 0 || o.PerRank > 64 {
				return fmt.Errorf("--copies %d, --nics-per-gpu %d: want 1 to %d copies and at most 64 NICs", copies, o.PerRank, model.MaxNodes)
			}
			var machines []model.Machine
			for _, name := range args {
				enter(cmd, "reading "+name)
				m, err := topologies.Files{Context: cmd.Context()}.Machine(name, in.Alpha, in.Bandwidth)
				if err != nil {
					return err
				}
				if int64(copies)*int64(m.Topology.Nodes()) > model.MaxNodes {
					return fmt.Errorf("--copies %d: makes more than %d nodes of %s", copies, model.MaxNodes, name)
				}
				for range copies {
					machines = append(machines, *m)
				}
			}
			t, err := join.Join(machines, o)
			if err != nil {
				return err
			}
			if t, err = instance.Scaled(t, in.Scale); err != nil {
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
	f.IntVar(&copies, "copies", 1, "how often each machine is there")
	f.StringVar(&nic, "nic", "", "bandwidth of each NIC: a `rate` such as 50GB/s (default: as the dump has it)")
	f.StringVar(&latency, "nic-latency", "", "latency of the link of each NIC: a `time` such as 1.3us (default: as the dump has it, or 1.3us)")
	f.IntVar(&o.PerRank, "nics-per-gpu", 0, "as many NICs at each GPU, instead of those of the dump (default: the dump's, or one where it has none)")
	f.StringVar((*string)(&o.Fabric), "fabric", string(join.Switch), "`what` joins them: switch, rails or fattree")
	f.IntVar(&o.PerLeaf, "machines-per-leaf", 0, "with --fabric fattree: machines at each leaf (default: half of all)")
	f.IntVar(&o.Oversubscription, "oversubscription", 1, "with --fabric fattree: how many `times` more the NICs of a leaf can send than its links to the spines")
	in.DefineWires(f)
	f.StringVarP(&out, "output", "o", "", "write the topology to this `file`, JSON, which every verb reads")
	f.BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/topology/1")
	return cmd
}

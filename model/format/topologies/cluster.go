package topologies

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/join"
)

// Cluster describes how machines become a cluster, as the words of a command line do. Define declares
// its flags.
type Cluster struct {
	instance.Flags        // what the links of the machines are like
	Copies         int    // of each machine
	NIC, Latency   string // of each NIC; "": as the machines have it
	Fabric         string // one of join.Fabrics

	PerRank, PerLeaf, Oversubscription int // see join.Options
}

// Define declares the flags.
func (c *Cluster) Define(set instance.FlagSet) {
	set.IntVar(&c.Copies, "copies", 1, "how often each machine is there")
	set.StringVar(&c.NIC, "nic", "", "bandwidth of each NIC: a `rate` such as 50GB/s (default: as the dump has it, or machines of that name)")
	set.StringVar(&c.Latency, "nic-latency", "", "latency of the link of each NIC: a `time` such as 1.3us (default: as the dump has it, or 1.3us)")
	set.IntVar(&c.PerRank, "nics-per-gpu", 0, "as many NICs at each GPU, instead of those of the dump (default: the dump's, or one where it has none)")
	set.StringVar(&c.Fabric, "fabric", string(join.Switch), "`what` joins them: switch, rails or fattree")
	set.IntVar(&c.PerLeaf, "machines-per-leaf", 0, "with --fabric fattree: machines at each leaf (default: half of all)")
	set.IntVar(&c.Oversubscription, "oversubscription", 1, "with --fabric fattree: how many `times` more the NICs of a leaf can send than its links to the spines")
	c.DefineWires(set)
}

// Cluster reads machines, by name or from files, and joins them. Errors name the flag or the machine.
func (f Files) Cluster(names []string, c *Cluster) (*model.Topology, error) {
	o := join.Options{Alpha: -1, PerRank: c.PerRank, PerLeaf: c.PerLeaf, Oversubscription: c.Oversubscription, Fabric: join.Fabric(c.Fabric)}
	var err error
	if c.Latency != "" {
		if o.Alpha, err = model.ParseTime(c.Latency); err != nil {
			return nil, fmt.Errorf("--nic-latency: %w", err)
		}
	}
	if c.NIC != "" {
		if o.Bandwidth, err = model.ParseRate(c.NIC); err != nil {
			return nil, fmt.Errorf("--nic: %w", err)
		}
	}
	if c.Copies < 1 || c.Copies > model.MaxNodes || o.PerRank < 0 || o.PerRank > 64 {
		return nil, fmt.Errorf("--copies %d, --nics-per-gpu %d: want 1 to %d copies and at most 64 NICs", c.Copies, o.PerRank, model.MaxNodes)
	}
	var machines []model.Machine
	for _, name := range names {
		m, err := f.Machine(name, c.Alpha, c.Bandwidth)
		if err != nil {
			return nil, err
		}
		if int64(c.Copies)*int64(m.Topology.Nodes()) > model.MaxNodes {
			return nil, fmt.Errorf("--copies %d: makes more than %d nodes of %s", c.Copies, model.MaxNodes, name)
		}
		for range c.Copies {
			machines = append(machines, *m)
		}
	}
	t, err := join.Join(machines, o)
	if err != nil {
		return nil, err
	}
	if t, err = instance.Scaled(t, c.Scale); err != nil {
		return nil, err
	}
	return instance.Forwarding(t, c.NoInNetwork)
}

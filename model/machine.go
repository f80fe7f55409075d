package model

// Machine is a topology with the NICs that lead out of it.
type Machine struct {
	Topology *Topology
	NICs     []NIC
	// NICBandwidth is that of a NIC at each rank, in bytes per second and direction, where there are
	// no NICs above, as the machine is sold with; 0: not known.
	NICBandwidth int64
}

// NIC is a way out of a machine, in both directions.
type NIC struct {
	Name      string
	Nodes     []int // those that reach it at once; several share it
	Bandwidth int64 // bytes per second and direction; 0: not known
	Alpha     Time  // latency of the link between the NIC and the switch outside; negative: not known
}

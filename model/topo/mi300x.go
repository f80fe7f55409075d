package topo

import "github.com/oraccl/oraccl/model"

var mi300xFamily = Family{"mi300x", "mi300x", "8 AMD Instinct MI300X, each linked to each",
	"AMD MI300X Platform data sheet; latency is an assumption",
	machine(1, func(int) (*model.Topology, error) { return MI300X() })}

// MI300X builds a node of 8 AMD Instinct MI300X, each linked to each by one
// Infinity Fabric link of 64 GB/s a direction (AMD, "AMD Instinct MI300X
// Platform" data sheet, 2023: 128 GB/s both ways). The latency of 0.7 us is an
// assumption.
func MI300X() (*model.Topology, error) {
	t, err := Full(8, Wire{xgmiAlpha, 64 * gb})
	if err == nil {
		t.Name = "mi300x"
	}
	return t, err
}

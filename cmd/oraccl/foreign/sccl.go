package foreign

import (
	"context"
	"fmt"
	"regexp"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/sccl"
	"github.com/oraccl/oraccl/model/topo"
)

// scclNetworks are the topologies of SCCL that have a name here. Its DGX_A100 is not
// among them: it has 12 links between any two GPUs, where the machine has 12 a GPU.
var scclNetworks = []struct{ theirs, ours string }{
	{`^DGX1$`, "dgx1"},
	{`^Ring\(n=([0-9]+)\)$`, "ring:$1"},
	{`^FullyConnected\(n=([0-9]+)\)$`, "full:$1"},
	{`^Line\(n=([0-9]+)\)$`, "mesh:$1"},
	{`^HubAndSpoke\(n=([0-9]+)\)$`, "switch:$1"},
}

func readSCCL(ctx context.Context, t *Truth, asked *model.Problem, file string, b []byte) (*Imported, error) {
	f, err := sccl.Read(file, b)
	if err != nil {
		return nil, err
	}
	var by sccl.Truth
	if by.Topology, by.Collective, by.Size, err = t.judged(ctx, asked); err != nil {
		return nil, err
	}
	by.Chunks = t.Chunks
	for _, n := range scclNetworks {
		known := regexp.MustCompile(n.theirs)
		if m := known.FindStringSubmatchIndex(f.Network); m != nil && by.Topology == nil {
			ours := string(known.ExpandString(nil, n.ours, f.Network, m))
			if by.Topology, _ = topo.Parse(ours, topo.Options{}); by.Topology != nil {
				by.Topology.Notes.Add(model.Assumed, "the links of %s: the file names its network %.40q", ours, f.Network)
			}
		}
	}
	m, err := f.Import(by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Imported{Imported: m}, nil
}

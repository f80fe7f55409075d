package lint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/lint"
	"github.com/oraccl/oraccl/model/topo"
)

func build(t *testing.T, name string) *model.Topology {
	n, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return n
}

func codes(t *testing.T, n *model.Topology) map[lint.Code]lint.Finding {
	found, err := lint.Check(n)
	require.NoError(t, err)
	all := map[lint.Code]lint.Finding{}
	for _, f := range found {
		if _, known := all[f.Code]; !known {
			all[f.Code] = f
		}
	}
	return all
}

// duplex adds one link each way.
func duplex(n *model.Topology, u, v int) {
	k := n.Links[0]
	k.Src, k.Dst = u, v
	n.Links = append(n.Links, k)
	k.Src, k.Dst = v, u
	n.Links = append(n.Links, k)
}

// examples has, for every code, a topology that is clean except for one change, and the
// place that the finding must name.
var examples = []struct {
	code         lint.Code
	from         string
	change       func(n *model.Topology)
	links, nodes []int
}{
	{lint.Unreachable, "ring:4", func(n *model.Topology) { n.Ranks = 5 }, nil, []int{4}},
	{lint.Unreachable, "line:3", func(n *model.Topology) { n.Links = n.Links[:3] }, nil, []int{2}},
	{lint.Units, "ring:4", func(n *model.Topology) { n.Links[3].Bandwidth *= 1000 }, []int{3}, nil},
	{lint.Units, "ring:4", func(n *model.Topology) { n.Links[3].Bandwidth /= 1024 }, []int{3}, nil},
	{lint.Units, "ring:4", func(n *model.Topology) { n.Links[2].Alpha *= 1e6 }, []int{2}, nil},
	{lint.RowWrap, "mesh:3x4", func(n *model.Topology) { duplex(n, 3, 4) }, []int{34, 35}, []int{3, 4}},
	{lint.Bits, "ring:4", func(n *model.Topology) { n.Links[5].Bandwidth *= 8 }, []int{5}, nil},
	{lint.Bits, "ring:4", func(n *model.Topology) { n.Links[5].Bandwidth /= 8 }, []int{5}, nil},
	{lint.BinaryUnits, "ring:4", func(n *model.Topology) { n.Links[0].Bandwidth = 50e9; n.Links[1].Bandwidth = 50e9 }, []int{0, 1}, nil},
	{lint.Rate, "ring:4", func(n *model.Topology) { n.Links[0].Bandwidth = 50 }, []int{0}, nil},
	{lint.OneWay, "ring:4", func(n *model.Topology) { n.Links = n.Links[1:] }, []int{0}, []int{0, 1}},
	{lint.Asymmetric, "ring:4", func(n *model.Topology) { n.Links[1].Bandwidth /= 2 }, []int{0, 1}, []int{0, 1}},
	{lint.RankAsSwitch, "switch:4", func(n *model.Topology) { n.Ranks, n.Switches = 5, nil }, nil, []int{4}},
	{lint.SwitchAsRank, "ring:4", func(n *model.Topology) { n.Ranks, n.Switches = 3, []model.Switch{{}} }, nil, []int{3}},
	{lint.IsolatedSwitch, "ring:4", func(n *model.Topology) { n.Switches = []model.Switch{{}} }, nil, []int{4}},
	{lint.Parallel, "line:2", func(n *model.Topology) {
		duplex(n, 0, 1)
		n.Links[2].Bandwidth /= 2
		n.Links[3].Bandwidth /= 2
	}, []int{0, 2}, []int{0, 1}},
	{lint.ZeroLatency, "ring:4", func(n *model.Topology) { n.Links[4].Alpha = 0 }, []int{4}, nil},
	{lint.HugeLatency, "ring:4", func(n *model.Topology) { n.Links[4].Alpha = model.Second }, []int{4}, nil},
	{lint.DuplicatePort, "full:3", func(n *model.Topology) {
		n.Ports = []model.Port{{Links: []int{0, 2}, Capacity: 1}, {Links: []int{2, 0}, Capacity: 1}}
	}, []int{0, 2}, nil},
	{lint.IdlePort, "full:3", func(n *model.Topology) { n.Ports = []model.Port{{Links: []int{0, 2}, Capacity: 2}} }, []int{0, 2}, nil},
}

func TestExamples(t *testing.T) {
	seen := map[lint.Code]bool{}
	for _, e := range examples {
		t.Run(string(e.code)+"-"+e.from, func(t *testing.T) {
			n := build(t, e.from)
			require.Empty(t, codes(t, n), "not clean before the change")
			e.change(n)
			f, found := codes(t, n)[e.code]
			require.True(t, found, "got %v", codes(t, n))
			require.Equal(t, e.links, f.Links)
			require.Equal(t, e.nodes, f.Nodes)
			require.NotEmpty(t, f.Text)
			seen[e.code] = true
		})
	}
	for _, c := range lint.Codes() {
		require.True(t, seen[c], "no example of %s", c)
		require.NotEmpty(t, lint.Explain(c), c)
	}
	require.Empty(t, lint.Explain("none"))
}

// TestBuilders checks that what we build ourselves has no errors, and that regular
// networks have not even warnings.
func TestBuilders(t *testing.T) {
	for name, clean := range map[string]bool{
		"ring:2": true, "ring:8": true, "uniring:5": false, "line:5": true, "mesh:3x4": true, "mesh:2x3": true, "mesh:3x3x3": true,
		"torus:3x4": true, "torus:3x3": true, "torus:4x4": true, "torus:2x6": true, "torus:4x4x4": true, "hypercube:4": true, "full:7": true,
		"switch:8": true, "fattree:4x4": false, "dragonfly:2x2x2": false, "dgx1": false, "ndv2:2": false, "ndv2:4": false,
		"dgx2": false, "dgx2:2": false, "dgxa100:2": false, "dgxh100:2": false, "mi250": false, "mi300x": false, "tpuv4:4x4x4": true,
	} {
		n, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		found, err := lint.Check(n)
		require.NoError(t, err)
		for _, f := range found {
			if clean || f.Code.IsError() {
				t.Errorf("%s: %s: %s", name, f.Code, f.Text)
			}
		}
		t.Logf("%s: %d findings", name, len(found))
	}
}

func TestInvalid(t *testing.T) {
	_, err := lint.Check(&model.Topology{Ranks: 2, Links: []model.Link{{Src: 0, Dst: 5, Bandwidth: 1}}})
	require.Error(t, err)
}

package join_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/join"
	"github.com/oraccl/oraccl/model/topo"
)

func named(t *testing.T, name string) model.Machine {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return model.Machine{Topology: tp}
}

// links writes the links from a node that has no more than a few, as "to switch fabric 50000000000".
func links(t *model.Topology, v int) string {
	var list []string
	for _, l := range t.Links {
		if l.Src == v {
			list = append(list, fmt.Sprintf("%s %v %d", t.NodeName(l.Dst), l.Alpha, l.Bandwidth))
		}
	}
	return strings.Join(list, "; ")
}

// groups returns the groups of a kind: "machine0 0-7, machine1 8-15".
func groups(c *model.Topology, k model.GroupKind) string {
	var list []string
	for _, g := range c.Groups {
		if g.Kind == k {
			list = append(list, g.Name+" "+model.RankRanges(g.Ranks))
		}
	}
	return strings.Join(list, ", ")
}

// TestNested: what joins clusters is the machines of the whole; theirs are groups within it. GPUs that
// share a NIC are on its rail, and those with several NICs on several.
func TestNested(t *testing.T) {
	o := join.Options{Bandwidth: 1e9, Alpha: -1, Fabric: join.Rails, PerRank: 2}
	pair, err := join.Join([]model.Machine{named(t, "ring:2"), named(t, "ring:2")}, o)
	require.NoError(t, err)
	require.Equal(t, "rail0 0,2, rail1 0,2, rail2 1,3, rail3 1,3", groups(pair, model.RailGroup))
	shared := model.Machine{Topology: pair, NICs: []model.NIC{{Name: "a", Nodes: []int{1, 3}, Alpha: -1}}}
	o.PerRank = 0
	c, err := join.Join([]model.Machine{shared, shared}, o)
	require.NoError(t, err)
	require.Equal(t, "machine0 0-3, machine1 4-7", groups(c, model.MachineGroup))
	require.Equal(t, "rail0 1,3,5,7", groups(c, model.RailGroup))
	require.Equal(t, []int{6, 7}, c.GroupNamed("m1-machine1").Ranks)
}

func TestJoin(t *testing.T) {
	m := named(t, "dgxh100")
	four := []model.Machine{m, m, m, m}
	o := join.Options{Bandwidth: 50e9, Alpha: 1300 * model.Nanosecond, Fabric: join.Switch, Oversubscription: 1}
	c, err := join.Join(four, o)
	require.NoError(t, err)
	require.Equal(t, "dgxh100 x 4 at one switch", c.Name)
	require.Equal(t, "switch m1 nvswitch0 350ns 450000000000; switch fabric 1.3us 50000000000", links(c, 9))
	whole, err := topo.DGXH100(4)
	require.NoError(t, err)
	require.Len(t, c.Links, len(whole.Links), "as the machine of that name")
	require.Equal(t, "machine0 0-7, machine1 8-15, machine2 16-23, machine3 24-31", groups(c, model.MachineGroup))
	require.Equal(t, "", groups(c, model.RailGroup))

	o.Fabric = join.Rails
	c, err = join.Join(four, o)
	require.NoError(t, err)
	require.Equal(t, "switch m1 nvswitch0 350ns 450000000000; switch rail1 1.3us 50000000000", links(c, 9))
	require.Len(t, c.Switches, 4+8)
	require.Contains(t, groups(c, model.RailGroup), "rail0 0,8,16,24, rail1 1,9,17,25, ")

	o.Fabric, o.Oversubscription, o.PerRank = join.FatTree, 4, 2
	c, err = join.Join(four, o)
	require.NoError(t, err)
	require.Len(t, c.Switches, 4+2+8, "32 NICs a leaf, divided by 4")
	require.Equal(t, "switch m1 nvswitch0 350ns 450000000000; switch leaf0 1.3us 50000000000; switch leaf0 1.3us 50000000000", links(c, 9))
	require.Equal(t, 8, strings.Count(links(c, c.Ranks+4), "spine"))
	o.PerLeaf = 4
	c, err = join.Join(four, o)
	require.NoError(t, err)
	require.Len(t, c.Switches, 4+1, "one leaf needs no spines")

	for want, o := range map[string]join.Options{
		"bandwidth of its NICs is not known": {Fabric: join.Switch, Alpha: -1},
		"want switch, rails or fattree":      {Fabric: "ring", Alpha: -1, Bandwidth: 1},
		"machines a leaf of 4":               {Fabric: join.FatTree, Alpha: -1, Bandwidth: 1, PerLeaf: 5, Oversubscription: 1},
		"oversubscribed 0 times":             {Fabric: join.FatTree, Alpha: -1, Bandwidth: 1},
	} {
		_, err := join.Join(four, o)
		require.ErrorContains(t, err, want)
	}
	_, err = join.Join(four[:1], o)
	require.ErrorContains(t, err, "want at least two")
}

// TestMixed: different machines, ports, and switches that copy keep what they are.
func TestMixed(t *testing.T) {
	a := named(t, "switch:3:copies")
	a.Topology.Ports = []model.Port{{Name: "out", Links: []int{0}, Capacity: 1}}
	b := named(t, "ring:2")
	c, err := join.Join([]model.Machine{b, a, b}, join.Options{Bandwidth: 1e9, Alpha: -1, Fabric: join.Switch})
	require.NoError(t, err)
	require.Equal(t, 7, c.Ranks)
	require.True(t, c.Switches[0].Copies)
	require.Equal(t, 2, c.Links[c.Ports[0].Links[0]].Src, "the first rank of the second machine")
	require.Equal(t, "machine0 0-1, machine1 2-4, machine2 5-6", groups(c, model.MachineGroup))
	require.Contains(t, fmt.Sprint(c.Notes.Strings()), "assumed: ring:2: 1.3us for the link of a NIC; --nic-latency sets it")
}

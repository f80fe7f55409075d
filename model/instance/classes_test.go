package instance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
	"github.com/oraccl/oraccl/model/topo"
)

// figures writes the latency and bandwidth of links by class.
func figures(t *model.Topology) string {
	of := map[string]string{}
	for _, l := range t.Links {
		of[machines.Class(t, l)] = fmt.Sprintf("%v %g", l.Alpha, float64(l.Bandwidth)/1e9)
	}
	return fmt.Sprint(of)
}

func TestClasses(t *testing.T) {
	parse := func(name string) *model.Topology {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		return tp
	}
	require.Equal(t, "map[nic:1.3us 50 nvlink:350ns 450]", figures(parse("dgxh100:2")))
	require.Equal(t, "map[nvlink:700ns 25]", figures(parse("dgx1")))
	require.Equal(t, "map[switch:250ns 53.6870912]", figures(parse("switch:3")))
	dump := &model.Topology{Name: "dump", Ranks: 2, Switches: []model.Switch{{Name: "m0 pci 0000:10"}, {Name: "m0 cpu0"}, {Name: "m0 nic mlx5_0"}, {Name: "leaf0"}, {Name: "spine0"}, {Name: "m1 cpu0"}}}
	for class, ends := range map[string][2]int{"nvlink": {0, 1}, "pcie": {0, 2}, "cpu": {2, 3}, "nic": {4, 5}, "spine": {5, 6}} {
		require.Equal(t, class, machines.Class(dump, model.Link{Src: ends[0], Dst: ends[1]}))
		require.Equal(t, class, machines.Class(dump, model.Link{Src: ends[1], Dst: ends[0]}))
	}
	require.Equal(t, "pcie", machines.Class(dump, model.Link{Src: 0, Dst: 4}), "a NIC is a PCI device")
	require.Equal(t, "nic", machines.Class(dump, model.Link{Src: 5, Dst: 7}), "of a CPU with a NIC")

	before := parse("dgxh100:2")
	after, err := withAlpha(before, "nvlink=400ns,nic=2us")
	require.NoError(t, err)
	require.Equal(t, "map[nic:2us 50 nvlink:400ns 450]", figures(after))
	require.Equal(t, "map[nic:1.3us 50 nvlink:350ns 450]", figures(before), "is not changed")
	require.Contains(t, fmt.Sprint(after.Notes.Strings()), "--alpha nvlink=400ns,nic=2us sets links of these classes")
	after, err = withBandwidth(after, "nic=25GB/s")
	require.NoError(t, err)
	require.Equal(t, "map[nic:2us 25 nvlink:400ns 450]", figures(after))
	after, err = Scaled(after, "0.5")
	require.NoError(t, err)
	require.Equal(t, "map[nic:2us 12.5 nvlink:400ns 225]", figures(after))
	after, err = Scaled(after, "xgmi=0.9")
	require.NoError(t, err)
	require.Equal(t, "map[nic:2us 12.5 nvlink:400ns 202.5]", figures(after))

	for value, want := range map[string]string{
		"pcie=1us":              `dgxh100:2 has no links of the class "pcie", want nic, nvlink`,
		"nic=1us,nic=2us":       "nic is named twice",
		"nic=1us,2us":           `"2us" names no class`,
		"nic=fast":              "--alpha \"nic=fast\"",
		"nic=1000000000000000s": "--alpha",
	} {
		_, err := withAlpha(before, value)
		require.ErrorContains(t, err, want)
	}
	for _, value := range []string{"0", "-1", "11", "1e9", "x", "nic=", "nic=0.000000000001", "0x1", "1/3", "0.5,0.6"} {
		_, err := Scaled(before, value)
		require.ErrorContains(t, err, "--scale", value)
	}
	_, err = withBandwidth(before, "nic=0GB/s")
	require.Error(t, err)
}

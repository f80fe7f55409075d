// Package topo builds topologies by name: the regular networks of the
// literature, and the machines that people own. Each machine's doc comment says
// where its figures come from, and which of them are assumptions.
//
// Ranks of meshes, tori and hypercubes are numbered with the last coordinate
// running fastest.
package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Defaults for the links of a generator.
const (
	DefaultAlpha     = 500 * model.Nanosecond
	DefaultBandwidth = 50 << 30 // bytes a second
)

// maxLinks limits what a name can build, so that a slip of the finger does not
// fill the memory. A file may have more.
const maxLinks = 1 << 22

// Options set the links of a generator. Each list is empty (the default), has one
// value for all links, or one for each dimension or tier.
type Options struct {
	Alpha     []model.Time // latency
	Bandwidth []int64      // bytes a second
}

// Family is a kind of topology that Parse knows.
type Family struct {
	Name    string // "mesh"
	Syntax  string // "mesh:AxB[xC…]"
	Summary string
	build   func(arg string, o Options) (*model.Topology, error)
}

// List returns all families, in the order in which they are shown.
func List() []Family { return slices.Clone(families) }

var families = []Family{
	{"ring", "ring:N", "N ranks in a ring, a link each way between neighbours", sized(2, Ring)},
	{"uniring", "uniring:N", "N ranks in a ring, links one way only", sized(2, UniRing)},
	{"line", "line:N", "N ranks in a row, a link each way between neighbours", sized(2, Line)},
	{"mesh", "mesh:AxB[xC...]", "a mesh of any dimension, links each way", shaped(2, Mesh)},
	{"torus", "torus:AxB[xC...]", "a mesh with wrap-around links", shaped(2, Torus)},
	{"hypercube", "hypercube:D", "2^D ranks, linked where their numbers differ in one bit", sized(1, Hypercube)},
	{"full", "full:N", "N ranks, a link from each to each", sized(2, Full)},
	{"switch", "switch:N", "N ranks at one switch; --alpha is the latency from rank to rank", sized(2, Switch)},
	{"fattree", "fattree:LxR[xS]", "L leaf switches with R ranks each, and S spine switches (default R)", shaped(1, FatTree)},
	{"dragonfly", "dragonfly:GxAxR", "G groups of A routers with R ranks each", shaped(1, Dragonfly)},
	{"dgx1", "dgx1", "NVIDIA DGX-1 V100: 8 ranks, hybrid cube mesh of NVLinks", machine(1, 1, DGX1)},
	{"ndv2", "ndv2[:1|2|4]", "Azure NDv2: 1, 2 or 4 chassis of 8 V100, as TE-CCL models it", machine(1, 4, NDv2)},
	{"dgx2", "dgx2[:1|2]", "NVIDIA DGX-2: 1 or 2 chassis of 16 V100 at an NVSwitch, as TE-CCL models it", machine(1, 2, DGX2)},
	{"dgxa100", "dgxa100[:N]", "NVIDIA DGX A100: N chassis of 8 A100 at an NVSwitch, a 200 Gb/s NIC a rank", machine(1, 1024, DGXA100)},
	{"dgxh100", "dgxh100[:N]", "NVIDIA DGX H100: N chassis of 8 H100 at an NVSwitch, a 400 Gb/s NIC a rank", machine(1, 1024, DGXH100)},
	{"mi250", "mi250", "8 AMD Instinct MI250: 16 dies linked by Infinity Fabric", machine(1, 1, MI250)},
	{"mi300x", "mi300x", "8 AMD Instinct MI300X, each linked to each", machine(1, 1, MI300X)},
	{"tpuv4", "tpuv4:AxBxC", "Google TPU v4: a 3-D torus of optical and electrical ICI links", tpu},
}

// Parse builds the topology with that name, such as "torus:4x4" or "dgx1".
func Parse(name string, o Options) (*model.Topology, error) {
	family, arg, _ := strings.Cut(name, ":")
	for _, f := range families {
		if f.Name != family {
			continue
		}
		t, err := f.build(arg, o)
		if err != nil {
			return nil, fmt.Errorf("topology %q: %w, as in %s", name, err, f.Syntax)
		}
		t.Name = name
		return t, nil
	}
	var names []string
	for _, f := range families {
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("topology %q: unknown, want a file or one of %s", name, strings.Join(names, ", "))
}

// Dimension is the size of one dimension of a mesh or torus, and what its links are.
type Dimension struct {
	Size      int
	Alpha     model.Time
	Bandwidth int64
}

// numbers reads "4x4x2".
func numbers(arg string, least int) ([]int, error) {
	if arg == "" {
		return nil, fmt.Errorf("has no size")
	}
	var list []int
	for i, part := range strings.Split(arg, "x") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", part)
		}
		if n < least || n > model.MaxNodes {
			return nil, fmt.Errorf("dimension %d is %d, want %d to %d", i+1, n, least, model.MaxNodes)
		}
		list = append(list, n)
	}
	return list, nil
}

// dimensions joins sizes and options.
func dimensions(sizes []int, o Options) ([]Dimension, error) {
	for what, n := range map[string]int{"latencies": len(o.Alpha), "bandwidths": len(o.Bandwidth)} {
		if n > 1 && n != len(sizes) {
			return nil, fmt.Errorf("%d %s for %d dimensions, want 1 or %d", n, what, len(sizes), len(sizes))
		}
	}
	dims := make([]Dimension, len(sizes))
	for i, n := range sizes {
		dims[i] = Dimension{n, pick(o.Alpha, i, DefaultAlpha), pick(o.Bandwidth, i, DefaultBandwidth)}
	}
	return dims, nil
}

func pick[T any](list []T, i int, otherwise T) T {
	switch {
	case len(list) == 0:
		return otherwise
	case len(list) == 1:
		return list[0]
	}
	return list[i]
}

// sized is for families with one number and one kind of link.
func sized(least int, build func(Dimension) (*model.Topology, error)) func(string, Options) (*model.Topology, error) {
	return shaped(least, func(dims []Dimension) (*model.Topology, error) {
		if len(dims) != 1 {
			return nil, fmt.Errorf("%d numbers, want one", len(dims))
		}
		return build(dims[0])
	})
}

// shaped is for families with several numbers.
func shaped(least int, build func([]Dimension) (*model.Topology, error)) func(string, Options) (*model.Topology, error) {
	return func(arg string, o Options) (*model.Topology, error) {
		sizes, err := numbers(arg, least)
		if err != nil {
			return nil, err
		}
		dims, err := dimensions(sizes, o)
		if err != nil {
			return nil, err
		}
		return build(dims)
	}
}

// machine is for families whose links are what they are.
func machine(least, most int, build func(chassis int) (*model.Topology, error)) func(string, Options) (*model.Topology, error) {
	return func(arg string, o Options) (*model.Topology, error) {
		if len(o.Alpha)+len(o.Bandwidth) > 0 {
			return nil, fmt.Errorf("is a machine with links of its own; a latency or bandwidth cannot be set")
		}
		n := 1
		if arg != "" {
			var err error
			if n, err = strconv.Atoi(arg); err != nil || n < least || n > most {
				return nil, fmt.Errorf("%q chassis, want %d to %d", arg, least, most)
			}
		}
		return build(n)
	}
}

// builder collects links.
type builder struct{ model.Topology }

func newBuilder(ranks int) *builder { return &builder{model.Topology{Ranks: ranks}} }

// node adds a switch and returns its node.
func (b *builder) node(name string) int {
	b.Switches = append(b.Switches, model.Switch{Name: name})
	return b.Ranks + len(b.Switches) - 1
}

// link adds a link from u to v.
func (b *builder) link(u, v int, alpha model.Time, bandwidth int64) {
	b.Links = append(b.Links, model.Link{Src: u, Dst: v, Alpha: alpha, Bandwidth: bandwidth})
}

// duplex adds a link each way.
func (b *builder) duplex(u, v int, alpha model.Time, bandwidth int64) {
	b.link(u, v, alpha, bandwidth)
	b.link(v, u, alpha, bandwidth)
}

func (b *builder) done() (*model.Topology, error) {
	t := &b.Topology
	return t, t.Validate()
}

// tooLarge refuses what would have too many links.
func tooLarge(links int64) error {
	if links > maxLinks {
		return fmt.Errorf("has %d links, want at most %d", links, maxLinks)
	}
	return nil
}

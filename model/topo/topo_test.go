package topo

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
)

// shape is what is known of a topology without its code: counts, the degree of
// each rank (0: not regular), the largest distance in links between two ranks,
// and the bandwidth that leaves the first half of the ranks, in GB/s.
var shapes = []struct {
	name                             string
	ranks, switches, links, out, far int
	half                             float64
}{
	{"ring:2", 2, 0, 2, 1, 1, 53.6870912},
	{"ring:8", 8, 0, 16, 2, 4, 2 * 53.6870912},
	{"uniring:5", 5, 0, 5, 1, 4, 53.6870912},
	{"line:4", 4, 0, 6, 0, 3, 53.6870912},
	{"mesh:3x3", 9, 0, 24, 0, 4, 0},
	{"mesh:2x3x4", 24, 0, 2 * (12 + 16 + 18), 0, 6, 12 * 53.6870912},
	{"torus:4x4", 16, 0, 64, 4, 4, 8 * 53.6870912},
	{"torus:4x4x4", 64, 0, 384, 6, 6, 32 * 53.6870912},
	{"torus:2x2", 4, 0, 8, 2, 2, 2 * 53.6870912},
	{"hypercube:3", 8, 0, 24, 3, 3, 4 * 53.6870912},
	{"full:8", 8, 0, 56, 7, 1, 16 * 53.6870912},
	{"switch:16", 16, 1, 32, 1, 2, 8 * 53.6870912},
	{"fattree:4x4", 16, 8, 64, 1, 4, 0},
	{"fattree:4x4x2", 16, 6, 48, 1, 4, 0},
	{"dragonfly:3x2x2", 12, 6, 6 + 6 + 24, 1, 5, 0},
	{"rfs:2x4x8", 64, 8, 64 + 64*3 + 128, 5, 4, 64 * 53.6870912},
	{"rfs:4x3x2", 24, 12, 2*24 + 24*2 + 48, 5, 5, 24 * 53.6870912},
	{"rfs:1x1x4", 4, 1, 8, 1, 2, 0},
	{"rfs:3x2x1", 6, 0, 12 + 6, 3, 2, 0},
	{"dgx1", 8, 0, 48, 6, 2, 6 * 25},
	{"ndv2", 8, 0, 32, 4, 2, 0},
	{"ndv2:2", 16, 0, 66, 0, 5, 12.5},
	{"ndv2:4", 32, 1, 136, 0, 6, 0},
	{"dgx2", 16, 1, 32, 1, 2, 0},
	{"dgx2:2", 32, 2, 80, 0, 0, 0},
	{"dgxa100:2", 16, 3, 64, 2, 2, 0},
	{"dgxh100", 8, 1, 16, 1, 2, 0},
	{"mi250", 16, 0, 112, 7, 0, 6 * 50},
	{"mi300x", 8, 0, 56, 7, 1, 16 * 64},
	{"tpuv4:4x4x4", 64, 0, 384, 6, 6, 32 * 50},
	{"tpuv4:2x2x4", 16, 0, 2 * (8 + 8 + 12), 0, 5, 8 * 50},
	{"switch:4:copies", 4, 1, 8, 1, 2, 2 * 53.6870912},
	{"switch:4:read", 4, 1, 8, 1, 2, 0},
	{"switch:4:turn", 4, 1, 8, 1, 2, 0},
	{"dgxh100-nvls", 8, 1, 16, 1, 2, 0},
	{"dgxh100-nvls:2:rails+sharp", 16, 10, 64, 2, 0, 0},
	{"dgxb200", 8, 1, 16, 1, 2, 0},
	{"dgxb200-nvls:4", 32, 5, 128, 2, 0, 0},
	{"dgxh100:3:spine", 24, 12, 48 + 48 + 16, 2, 0, 0},
	{"gb200:nvl72", 72, 18, 2 * 18 * 72, 18, 2, 0},
	{"gb200-nvls:nvl72", 72, 18, 2 * 18 * 72, 18, 2, 0},
}

func TestShapes(t *testing.T) {
	for _, want := range shapes {
		t.Run(want.name, func(t *testing.T) {
			got, err := Parse(want.name, Options{})
			require.NoError(t, err)
			require.NoError(t, got.Validate())
			require.Equal(t, want.name, got.Name)
			require.Equal(t, []int{want.ranks, want.switches, want.links}, []int{got.Ranks, len(got.Switches), len(got.Links)})
			if want.out > 0 {
				for v, out := range got.Out()[:got.Ranks] {
					require.Len(t, out, want.out, "links that leave rank %d", v)
				}
			}
			if want.half > 0 {
				leaving := 0.0
				for _, l := range got.Links {
					if l.Src < got.Ranks/2 && l.Dst >= got.Ranks/2 {
						leaving += float64(l.Bandwidth) / 1e9
					}
				}
				require.InDelta(t, want.half, leaving, 1e-6)
			}
			far := farthest(got)
			require.Positive(t, far, "some rank cannot reach another")
			if want.far > 0 {
				require.Equal(t, want.far, far)
			}
		})
	}
}

// farthest returns the largest distance in links between two ranks, or -1.
func farthest(t *model.Topology) int {
	out, far := t.Out(), 0
	for s := range t.Ranks {
		dist := make([]int, t.Nodes())
		for i := range dist {
			dist[i] = -1
		}
		dist[s] = 0
		queue := []int{s}
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			for _, l := range out[v] {
				if w := t.Links[l].Dst; dist[w] < 0 {
					dist[w] = dist[v] + 1
					queue = append(queue, w)
				}
			}
		}
		for _, d := range dist[:t.Ranks] {
			if d < 0 {
				return -1
			}
			far = max(far, d)
		}
	}
	return far
}

// Every link of these has a twin the other way with the same figures.
func TestSymmetric(t *testing.T) {
	for _, name := range []string{"ring:5", "mesh:3x4", "torus:3x3", "full:4", "dgx1", "dgx2", "mi250", "mi300x", "dgxa100:2"} {
		got, err := Parse(name, Options{})
		require.NoError(t, err)
		count := map[model.Link]int{}
		for _, l := range got.Links {
			count[l]++
		}
		for l, n := range count {
			l.Src, l.Dst = l.Dst, l.Src
			if !got.IsRank(l.Src) || !got.IsRank(l.Dst) {
				continue // a star splits an odd latency
			}
			require.Equal(t, n, count[l], "%s: the reverse of %v", name, l)
		}
	}
}

func TestOptions(t *testing.T) {
	got, err := Parse("mesh:2x3", Options{Alpha: []model.Time{5}, Bandwidth: []int64{7, 9}})
	require.NoError(t, err)
	for _, l := range got.Links {
		want := int64(9)
		if d := l.Dst - l.Src; d == 3 || d == -3 {
			want = 7
		}
		require.Equal(t, model.Time(5), l.Alpha)
		require.Equal(t, want, l.Bandwidth)
	}
	cube, err := Parse("hypercube:3", Options{Alpha: []model.Time{4, 2, 1}})
	require.NoError(t, err)
	for _, l := range cube.Links {
		require.Equal(t, l.Alpha, model.Time(l.Src^l.Dst))
	}
	tree, err := Parse("fattree:2x3", Options{Bandwidth: []int64{5, 6}})
	require.NoError(t, err)
	for _, l := range tree.Links {
		want := int64(6)
		if tree.IsRank(l.Src) || tree.IsRank(l.Dst) {
			want = 5
		}
		require.Equal(t, want, l.Bandwidth)
	}
	fly, err := Parse("dragonfly:3x2x1", Options{Alpha: []model.Time{7, 8, 9}})
	require.NoError(t, err)
	for _, l := range fly.Links {
		u, v := l.Src, l.Dst
		switch {
		case fly.IsRank(u) || fly.IsRank(v):
			require.Equal(t, model.Time(9), l.Alpha)
		case (u-6)/2 == (v-6)/2:
			require.Equal(t, model.Time(8), l.Alpha)
		default:
			require.Equal(t, model.Time(7), l.Alpha)
		}
	}
	rfs, err := Parse("rfs:3x2x2", Options{Bandwidth: []int64{7, 8, 9}})
	require.NoError(t, err)
	for _, l := range rfs.Links {
		u, v := l.Src, l.Dst
		switch {
		case !rfs.IsRank(u) || !rfs.IsRank(v):
			require.Equal(t, int64(9), l.Bandwidth)
		case u/4 == v/4:
			require.Equal(t, int64(8), l.Bandwidth)
			require.Equal(t, u%2, v%2)
		default:
			require.Equal(t, int64(7), l.Bandwidth)
			require.Equal(t, u%4, v%4)
		}
	}
	sw, err := Parse("switch:3", Options{Alpha: []model.Time{7}})
	require.NoError(t, err)
	require.Equal(t, model.Time(7)+model.TransferTime(1, DefaultBandwidth), sw.Duration([]int{0, 3}, 1))
}

func TestErrors(t *testing.T) {
	for name, want := range map[string]string{
		"mesh:0x4":                  `topology "mesh:0x4": dimension 1 is 0, want at least 2`,
		"mesh:4x-1":                 `topology "mesh:4x-1": dimension 2 is -1, want at least 2`,
		"mesh:4x":                   `topology "mesh:4x": dimension 2 is "", want a whole number`,
		"mesh:4x4.5":                `topology "mesh:4x4.5": dimension 2 is "4.5", want a whole number`,
		"ring":                      `topology "ring": has no size, want ring:N`,
		"ring:":                     `topology "ring:": nothing after the colon, want a name such as ring:N`,
		"ring:1":                    `topology "ring:1": size is 1, want at least 2`,
		"ring:3x3":                  `topology "ring:3x3": has 2 sizes, want ring:N`,
		"ring:99999999999999999999": `topology "ring:99999999999999999999": size is 99999999999999999999, want at most 1048576`,
		"full:1000000":              `topology "full:1000000": has 999999000000 links, want at most 4194304`,
		"hypercube:40":              `topology "hypercube:40": size is 40, want at most 17`,
		"torus:9999x999x999":        `topology "torus:9999x999x999": has more than 1048576 ranks, want at most that`,
		"fattree:4":                 `topology "fattree:4": has 1 size, want fattree:LxR[xS]`,
		"fattree:1048576x1048576":   `topology "fattree:1048576x1048576": has 1099511627776 ranks, want 1 to 1048576`,
		"dragonfly:4x4":             `topology "dragonfly:4x4": has 2 sizes, want dragonfly:GxAxR`,
		"rfs:4x4":                   `topology "rfs:4x4": has 2 sizes, want rfs:AxBxC`,
		"rfs:1x9999x1":              `topology "rfs:1x9999x1": rings of 1, full graphs of 9999, switches of 1, want 1 to 4096 of each`,
		"dragonfly:9999x1x1":        `topology "dragonfly:9999x1x1": 9999 groups of 1 routers of 1 ranks, want 1 to 4096 of each`,
		"switch:4:shouts":           `topology "switch:4:shouts": option "shouts", want switch:N, switch:N:copies, switch:N:read or switch:N:turn`,
		"ndv2:3":                    `topology "ndv2:3": 3 chassis, want 1, 2 or 4`,
		"ndv2:five":                 `topology "ndv2:five": "five" chassis, want 1 to 4`,
		"dgx1:2":                    `topology "dgx1:2": is one machine, want no size after its name`,
		"dgxa100:100000":            `topology "dgxa100:100000": "100000" chassis, want 1 to 1024`,
		"tpuv4:4x4":                 `topology "tpuv4:4x4": has 2 sizes, want tpuv4:AxBxC`,
		"tpuv4:64x64x64":            `topology "tpuv4:64x64x64": 64x64x64 chips, want 1 to 4096 in all`,
		"rink:4":                    `topology "rink:4": unknown, did you mean ring:N?`,
		"Torus:4x4":                 `topology "Torus:4x4": unknown, did you mean torus:AxB[xC...]?`,
		"dxg1":                      `topology "dxg1": unknown, did you mean dgx1?`,
		"h100":                      `topology "h100": unknown, did you mean dgxh100[:N[:rails+spine+sharp]] or dgxh100-nvls[:N[:rails+spine+sharp]]?`,
		"bagel:4": `topology "bagel:4": unknown, want a file or one of ring, uniring, line, mesh, torus, hypercube, full, switch, fattree, ` +
			`dragonfly, rfs, dgx1, ndv2, dgx2, dgxa100, dgxh100, dgxh100-nvls, dgxb200, dgxb200-nvls, gb200, gb200-nvls, mi250, mi300x, tpuv4`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(name, Options{})
			require.EqualError(t, err, want)
		})
	}
	for _, bad := range []struct {
		name, want string
		o          Options
	}{
		{"dgx1", `topology "dgx1": is a machine with latencies of its own, which cannot be set; a generator's can, such as ring:8, or a file's`, Options{Alpha: []model.Time{1}}},
		{"tpuv4:4x4x4", `topology "tpuv4:4x4x4": is a machine with bandwidths of its own, which cannot be set; a generator's can, such as ring:8, or a file's`, Options{Bandwidth: []int64{1}}},
		{"mesh:2x2", `topology "mesh:2x2": 3 bandwidths for 2 dimensions, want 1 or 2`, Options{Bandwidth: []int64{1, 2, 3}}},
		{"ring:4", `topology "ring:4": 2 latencies for one kind of link, want 1`, Options{Alpha: []model.Time{1, 2}}},
		{"fattree:2x2x2", `topology "fattree:2x2x2": 3 latencies for 2 tiers (ranks, spines), want 1 or 2`, Options{Alpha: []model.Time{1, 2, 3}}},
		{"ring:4", `topology "ring:4": links[0].alpha: -1 ps, want 0 to 1000000000000000`, Options{Alpha: []model.Time{-1}}},
		{"ring:4", `topology "ring:4": links[0].bandwidth: 0 bytes per second, want more than zero`, Options{Bandwidth: []int64{0}}},
	} {
		_, err := Parse(bad.name, bad.o)
		require.EqualError(t, err, bad.want)
	}
}

// Builders are called with anything, not only with what Parse lets through.
func TestBuildersRefuse(t *testing.T) {
	w := Wire{1, 1}
	for name, build := range map[string]func(n int) (*model.Topology, error){
		"ring":      func(n int) (*model.Topology, error) { return Ring(n, w) },
		"uniring":   func(n int) (*model.Topology, error) { return UniRing(n, w) },
		"full":      func(n int) (*model.Topology, error) { return Full(n, w) },
		"switch":    func(n int) (*model.Topology, error) { return Switch(n, w, true) },
		"torus":     func(n int) (*model.Topology, error) { return Torus([]int{2, n}, []Wire{w, w}) },
		"wires":     func(n int) (*model.Topology, error) { return Torus([]int{2, 2}, []Wire{w}) },
		"hypercube": func(n int) (*model.Topology, error) { return Hypercube(make([]Wire, max(0, min(n, 99)))) },
		"fattree":   func(n int) (*model.Topology, error) { return FatTree(2, n, 2, w, w) },
		"dragonfly": func(n int) (*model.Topology, error) { return Dragonfly(2, 2, n, w, w, w) },
		"rfs":       func(n int) (*model.Topology, error) { return RFS(2, n, 2, w, w, w) },
		"tpuv4":     func(n int) (*model.Topology, error) { return TPUv4(n, 1, 1) },
		"ndv2":      NDv2, "dgx2": DGX2, "dgxa100": DGXA100, "dgxh100": DGXH100,
	} {
		for _, n := range []int{-1, 0, 1 << 40} {
			got, err := build(n)
			require.Error(t, err, "%s %d", name, n)
			require.Nil(t, got)
		}
	}
}

func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range List() {
		require.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		require.True(t, strings.HasPrefix(f.Syntax, f.Name))
		require.NotEmpty(t, f.Summary)
		require.NotEmpty(t, f.Source)
		require.NotContains(t, f.Summary+f.Source+f.Syntax, "\n")
	}
	for _, s := range shapes { // so that no family is without one
		name, _, _ := strings.Cut(s.name, ":")
		delete(seen, name)
	}
	require.Empty(t, seen)
}

func FuzzParse(f *testing.F) {
	for _, s := range shapes {
		f.Add(s.name)
	}
	f.Add("mesh:-1x2")
	f.Add("fattree:1000000x1000000x1000000")
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := Parse(name, Options{}); err == nil {
			require.NoError(t, got.Validate())
		}
	})
}

var update = flag.Bool("update", false, "write golden files")

// The small topologies and all machines of one chassis, as files.
func TestGolden(t *testing.T) {
	for _, name := range []string{
		"ring:2", "ring:4", "uniring:3", "line:3", "mesh:2x3", "torus:3x3", "hypercube:3", "full:4", "switch:4", "switch:3:copies",
		"fattree:2x2", "fattree:2x2x1", "dragonfly:4x2x1", "rfs:3x2x2", "dgx1", "ndv2", "ndv2:2", "ndv2:4", "dgx2", "dgx2:2", "dgxa100", "dgxa100:2",
		"dgxh100", "dgxh100:2", "mi250", "mi300x", "tpuv4:4x4x4",
		"switch:3:turn", "dgxh100-nvls", "dgxh100-nvls:2:spine+sharp", "dgxb200",
	} {
		want, err := Parse(name, Options{})
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, native.WriteTopology(&b, want))
		file := filepath.Join("../../testdata/topologies", strings.NewReplacer(":", "-", "+", "-").Replace(name)+".json")
		if *update {
			require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
		}
		golden, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(golden), b.String(), file)
		got, err := native.ReadTopology(file, bytes.NewReader(golden))
		require.NoError(t, err)
		require.True(t, want.Equal(got))
	}
}

// The cube mesh as it is published: how many NVLinks there are between two GPUs.
func TestDGX1Matrix(t *testing.T) {
	want := [8][8]int{
		{0, 2, 1, 1, 2, 0, 0, 0},
		{2, 0, 1, 2, 0, 1, 0, 0},
		{1, 1, 0, 2, 0, 0, 2, 0},
		{1, 2, 2, 0, 0, 0, 0, 1},
		{2, 0, 0, 0, 0, 2, 1, 1},
		{0, 1, 0, 0, 2, 0, 1, 2},
		{0, 0, 2, 0, 1, 1, 0, 2},
		{0, 0, 0, 1, 1, 2, 2, 0},
	}
	links := func(name string, unit int64) (m [8][8]int) {
		got, err := Parse(name, Options{})
		require.NoError(t, err)
		for _, l := range got.Links {
			require.Equal(t, 700*model.Nanosecond, l.Alpha)
			m[l.Src][l.Dst] += int(l.Bandwidth / unit)
		}
		return m
	}
	require.Equal(t, want, links("dgx1", 25e9))
	require.Equal(t, want, links("ndv2", 25e9), "ndv2 has the same capacities on fewer links")
}

// AMD's connection matrix has a pattern: dies 8 to 15 are wired as 0 to 7 are, except
// for the links between the halves.
func TestMI250Matrix(t *testing.T) {
	got, err := MI250()
	require.NoError(t, err)
	var m [16][16]int
	for _, l := range got.Links {
		m[l.Src][l.Dst]++
	}
	for u := range 8 {
		require.Equal(t, 4, m[2*u][2*u+1], "links inside package %d", u)
	}
	require.Equal(t, [16]int{0, 4, 1, 0, 2}, m[0])
	require.Equal(t, [16]int{4: 4, 1: 1, 13: 1, 14: 1}, m[5])
	require.Equal(t, [16]int{8: 2, 13: 4, 4: 1}, m[12])
	require.Equal(t, [16]int{8: 4, 10: 1, 11: 1, 13: 1}, m[9])
}

// Between chassis of NDv2 only rank 0 sends and only rank 1 receives.
func TestNDv2Between(t *testing.T) {
	for name, want := range map[string]int{"ndv2": 0, "ndv2:2": 2, "ndv2:4": 8} {
		got, err := Parse(name, Options{})
		require.NoError(t, err)
		n := 0
		for _, l := range got.Links {
			if got.IsRank(l.Src) && got.IsRank(l.Dst) && l.Src/8 == l.Dst/8 {
				continue
			}
			n++
			require.Equal(t, 1300*model.Nanosecond, l.Alpha)
			require.Equal(t, int64(12.5e9), l.Bandwidth)
			if got.IsRank(l.Src) {
				require.Zero(t, l.Src%8)
			}
			if got.IsRank(l.Dst) {
				require.Equal(t, 1, l.Dst%8)
			}
		}
		require.Equal(t, want, n, name)
	}
}

// A grid of any sizes has the links that its definition says, and no others.
func TestGridProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "sizes")
		wires := make([]Wire, len(dims))
		for i := range wires {
			wires[i] = Wire{model.Time(i), int64(i + 1)} // so that a link tells its dimension
		}
		wrap := rapid.Bool().Draw(t, "wrap")
		got, err := grid("grid", dims, wires, wrap)
		require.NoError(t, err)
		coordinates := func(v int) []int {
			c := make([]int, len(dims))
			for i := len(dims) - 1; i >= 0; i-- {
				c[i], v = v%dims[i], v/dims[i]
			}
			return c
		}
		links := map[[2]int]int64{}
		for _, l := range got.Links {
			_, twice := links[[2]int{l.Src, l.Dst}]
			require.False(t, twice, "a grid has no parallel links")
			links[[2]int{l.Src, l.Dst}] = l.Bandwidth
		}
		for u := range got.Ranks {
			for v := range got.Ranks {
				differ, adjacent, dim := 0, false, 0
				a, b := coordinates(u), coordinates(v)
				for i := range dims {
					if a[i] != b[i] {
						d := max(a[i]-b[i], b[i]-a[i])
						differ, dim = differ+1, i
						adjacent = d == 1 || wrap && d == dims[i]-1
					}
				}
				bandwidth, linked := links[[2]int{u, v}]
				require.Equal(t, differ == 1 && adjacent, linked, "%v to %v", a, b)
				if linked {
					require.Equal(t, int64(dim+1), bandwidth)
				}
			}
		}
	})
}

// Each pair of groups of a dragonfly has one link each way, and the routers of a group
// share them evenly.
func TestDragonflyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, a, r := rapid.IntRange(1, 7).Draw(t, "groups"), rapid.IntRange(1, 4).Draw(t, "routers"), rapid.IntRange(1, 3).Draw(t, "ranks")
		got, err := Dragonfly(g, a, r, Wire{1, 1}, Wire{2, 2}, Wire{3, 3})
		require.NoError(t, err)
		between, per := map[[2]int]int{}, make([]int, g*a)
		for _, l := range got.Links {
			if l.Bandwidth == 1 {
				between[[2]int{(l.Src - got.Ranks) / a, (l.Dst - got.Ranks) / a}]++
				per[l.Src-got.Ranks]++
			}
		}
		require.Len(t, between, g*(g-1))
		for _, n := range between {
			require.Equal(t, 1, n)
		}
		for _, n := range per {
			require.GreaterOrEqual(t, n, (g-1)/a)
			require.LessOrEqual(t, n, (g-1+a-1)/a)
		}
		if got.Ranks > 1 {
			require.Positive(t, farthest(got))
		}
	})
}

func TestFatTreeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, r, s := rapid.IntRange(1, 5).Draw(t, "leaves"), rapid.IntRange(1, 5).Draw(t, "ranks"), rapid.IntRange(1, 5).Draw(t, "spines")
		got, err := FatTree(l, r, s, Wire{1, 1}, Wire{2, 2})
		require.NoError(t, err)
		out, in := got.Out(), got.In()
		for v := range got.Nodes() {
			want := 1
			switch {
			case v >= got.Ranks+l:
				want = l
			case v >= got.Ranks:
				want = r + s
			}
			require.Len(t, out[v], want)
			require.Len(t, in[v], want)
		}
		if got.Ranks > 1 {
			require.Positive(t, farthest(got))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"dgx1", "torus:200x200"} {
		b.Run("topo="+name, func(b *testing.B) {
			for b.Loop() {
				_, err := Parse(name, Options{})
				require.NoError(b, err)
			}
		})
	}
}

// A builder names what it builds as Parse does.
func TestBuildersName(t *testing.T) {
	for _, name := range []string{"ring:5", "line:5", "uniring:5", "mesh:3x4", "torus:2x3x4", "hypercube:3", "full:4", "switch:4", "switch:4:copies",
		"dragonfly:3x2x2", "rfs:2x3x4", "dgx1", "ndv2", "ndv2:2", "dgx2", "dgx2:2", "dgxa100", "dgxa100:2", "dgxh100:16", "mi250", "mi300x", "tpuv4:4x4x4"} {
		family, arg, _ := strings.Cut(name, ":")
		i := slices.IndexFunc(families, func(f Family) bool { return f.Name == family })
		built, err := families[i].build(arg, Options{})
		require.NoError(t, err)
		require.Equal(t, name, built.Name)
	}
	wire := Wire{Alpha: DefaultAlpha, Bandwidth: DefaultBandwidth}
	tree, err := FatTree(2, 4, 2, wire, wire)
	require.NoError(t, err)
	again, err := Parse(tree.Name, Options{})
	require.NoError(t, err)
	require.Equal(t, tree, again)
}

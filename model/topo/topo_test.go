package topo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
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
	sw, err := Parse("switch:3", Options{Alpha: []model.Time{7}})
	require.NoError(t, err)
	require.Equal(t, model.Time(7)+model.TransferTime(1, DefaultBandwidth), sw.Duration([]int{0, 3}, 1))
}

func TestErrors(t *testing.T) {
	for name, want := range map[string]string{
		"mesh:0x4":                  `topology "mesh:0x4": dimension 1 is 0, want 2 to`,
		"mesh:4x":                   `"" is not a number`,
		"ring":                      `has no size, as in ring:N`,
		"ring:1":                    `dimension 1 is 1, want 2`,
		"ring:3x3":                  `2 numbers, want one`,
		"full:1000000":              `links, want at most`,
		"hypercube:40":              `dimension 40, want at most 17`,
		"torus:9999x999x999":        `ranks`,
		"ndv2:3":                    `3 chassis, want 1, 2 or 4`,
		"dgx1:2":                    `"2" chassis, want 1 to 1`,
		"rink:4":                    `unknown, want a file or one of ring, uniring`,
		"ring:99999999999999999999": `is not a number`,
	} {
		_, err := Parse(name, Options{})
		require.ErrorContains(t, err, want)
		require.False(t, strings.Contains(err.Error(), "\n"))
	}
	_, err := Parse("dgx1", Options{Alpha: []model.Time{1}})
	require.ErrorContains(t, err, "is a machine with links of its own")
	_, err = Parse("mesh:2x2", Options{Bandwidth: []int64{1, 2, 3}})
	require.ErrorContains(t, err, "3 bandwidths for 2 dimensions, want 1 or 2")
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

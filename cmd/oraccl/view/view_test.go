package view

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestText sees to it that text from files stays text, and that nothing is fetched.
func TestText(t *testing.T) {
	topology := &model.Topology{Name: "</script><script>x", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e9}, {Src: 1, Dst: 0, Bandwidth: 1e9}}}
	p := (&model.Problem{Topology: topology, Collective: model.Collective{Kind: model.Broadcast}, Size: 1, Cost: model.Pipelined}).WithChunks(1)
	s := &model.Schedule{Form: model.Timed, Routes: [][]int{{0}}, Transfers: []model.Transfer{{Dst: 1, End: model.Nanosecond}}}
	var b bytes.Buffer
	require.NoError(t, HTML(&b, &Picture{Title: "<script>y", Problem: p, Schedule: s, Verdict: Verdict{Outcome: "proved"}, Bound: &Bound{Value: 500, Kind: "cut"}}))
	page := b.String()
	require.NotContains(t, page, "<script>x")
	require.NotContains(t, page, "<script>y")
	require.NotContains(t, page, "http:")
	require.NotContains(t, page, "https:")
	require.Contains(t, page, `"gap":"100.0%"`)
	require.Equal(t, 3, strings.Count(page, "</script>"))

	b.Reset()
	require.NoError(t, Failure(&b, "bad", errors.New("<script>z")))
	require.NotContains(t, b.String(), "<script>z")
}

// TestLayoutsOfFamilies names the layouts of networks that have a name.
func TestLayoutsOfFamilies(t *testing.T) {
	for name, kind := range map[string]string{
		"ring:8": "circle", "uniring:5": "circle", "ring:3": "circle", "full:16": "circle", "mi300x": "circle",
		"line:9": "grid", "mesh:8x8": "grid", "mesh:3x5": "grid", "torus:4x4x4": "grid", "torus:4x8": "grid", "mesh:2x3x4x5": "grid", "hypercube:5": "grid", "tpuv4:4x4x8": "grid",
		"fattree:4x4": "levels", "switch:16": "levels", "dgx2": "levels", "dgxa100:2": "levels", "dragonfly:3x2x2": "levels",
		"dgx1": "force", "mi250": "force",
	} {
		w, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err, name)
		l := arrange(w)
		require.Equal(t, kind, l.kind, name)
		for v := range l.x {
			require.True(t, l.x[v] >= 0 && l.x[v] <= 1 && l.y[v] >= 0 && l.y[v] <= 1, "%s: node %d", name, v)
			for u := range v {
				require.False(t, l.x[u] == l.x[v] && l.y[u] == l.y[v], "%s: nodes %d and %d", name, u, v)
			}
		}
	}
}

// TestLayouts names the layout of small networks.
func TestLayouts(t *testing.T) {
	both := func(n int, edges ...[2]int) *model.Topology {
		w := &model.Topology{Ranks: n}
		for _, e := range edges {
			w.Links = append(w.Links, model.Link{Src: e[0], Dst: e[1], Bandwidth: 1}, model.Link{Src: e[1], Dst: e[0], Bandwidth: 1})
		}
		return w
	}
	for kind, w := range map[string]*model.Topology{
		"circle": both(5, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 0}),
		"grid":   both(6, [2]int{0, 1}, [2]int{1, 2}, [2]int{3, 4}, [2]int{4, 5}, [2]int{0, 3}, [2]int{1, 4}, [2]int{2, 5}),
		"levels": both(5, [2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}, [2]int{3, 4}),
		"force":  both(5, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 2}),
	} {
		require.Equal(t, kind, arrange(w).kind)
	}
}

// TestHead: the head has the classes of links, when late ranks arrive, and the dimensions of what
// is laid out as a grid.
func TestHead(t *testing.T) {
	w, err := topo.Parse("torus:4x3", topo.Options{})
	require.NoError(t, err)
	w.Links[5].Bandwidth /= 2
	p := (&model.Problem{Topology: w, Collective: model.Collective{Kind: model.AllGather}, Size: 1200, Cost: model.Pipelined, Release: make([]model.Time, 12)}).WithChunks(12)
	p.Release[7] = 3 * model.Microsecond
	pic := &Picture{Problem: p, Schedule: &model.Schedule{Form: model.Timed}, Facts: []Fact{{"algbw", "1 GB/s"}}}
	m, err := when(p, pic.Schedule)
	require.NoError(t, err)
	h := pic.head(m, arrange(w))
	require.Equal(t, []Fact{{"algbw", "1 GB/s"}, {"47 links of", "500ns, 53.69 GB/s"}, {"1 links of", "500ns, 26.84 GB/s"}}, h.Facts)
	require.Equal(t, []arrival{{7, int64(3 * model.Microsecond)}}, h.Arrivals)
	require.Equal(t, []int{4, 3}, h.Grid)
}

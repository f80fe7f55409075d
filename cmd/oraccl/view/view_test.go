package view

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
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
		"fattree:4x4": "levels", "switch:16": "levels", "dgx2": "levels", "dgxa100": "levels", "dragonfly:3x2x2": "levels",
		"dgxa100:2": "machines", "dgxh100:2:rails+spine": "machines", "dgxa100:64": "machines", "dgx1": "blocks", "mi250": "blocks",
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

// TestMachines: what hangs together by fast links, or by short ones, stands in a box, and a switch
// between boxes in none.
func TestMachines(t *testing.T) {
	for name, want := range map[string]int{"dgxa100:2": 2, "dgxh100:8": 8, "mi250": 4, "dgx1": 0, "fattree:4x4": 0, "dgxa100": 0, "torus:4x4": 0} {
		w, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err, name)
		require.Len(t, machines(w), want, name)
	}
	w, err := topo.Parse("dgxa100:2", topo.Options{})
	require.NoError(t, err)
	sets := machines(w)
	for i, list := range sets {
		require.Equal(t, []int{8 * i, 8*i + 1, 8*i + 2, 8*i + 3, 8*i + 4, 8*i + 5, 8*i + 6, 8*i + 7}, list[:8])
		require.Equal(t, fmt.Sprintf("switch nvswitch%d", i), w.NodeName(list[8]))
		require.Len(t, list, 9)
	}
	// Boxes do not touch, and the switch between them is above.
	l := arrange(w)
	last, first := 0.0, 1.0
	for _, v := range sets[0] {
		last = max(last, l.x[v])
	}
	for _, v := range sets[1] {
		first = min(first, l.x[v])
	}
	require.Less(t, last, first)
	require.Equal(t, l.y[18], slices.Min(l.y))
	require.Equal(t, l.y[16], slices.Max(l.y))
	// All links equally fast, those between machines ten times as long.
	for i := range w.Links {
		w.Links[i].Bandwidth = 1
		if w.Links[i].Src == 18 || w.Links[i].Dst == 18 {
			w.Links[i].Alpha = 4 * model.Microsecond
		}
	}
	require.Equal(t, sets, machines(w))
	// No rank may be alone.
	w.Links = slices.DeleteFunc(w.Links, func(k model.Link) bool { return k.Src == 0 && k.Dst == 16 || k.Src == 16 && k.Dst == 0 })
	require.Nil(t, machines(w))
	// Two quads, beside each other, with no link between them over a rank.
	w, err = topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}, blocks(w, neighbours(w)))
	l = arrange(w)
	for _, k := range w.Links {
		for v := range w.Ranks {
			if v == k.Src || v == k.Dst {
				continue
			}
			x, y := (l.x[k.Dst]-l.x[k.Src])*l.aspect, l.y[k.Dst]-l.y[k.Src]
			p, q := (l.x[v]-l.x[k.Src])*l.aspect, l.y[v]-l.y[k.Src]
			along := (p*x + q*y) / (x*x + y*y)
			require.False(t, along > 0 && along < 1 && math.Hypot(p-along*x, q-along*y) < 0.04, "the link from %d to %d passes over %d", k.Src, k.Dst, v)
		}
	}
}

// TestClock: idle time is drawn short, what is busy as it is, and what only one of two is idle in is
// not idle.
func TestClock(t *testing.T) {
	at := func(spans ...model.Time) *moments {
		m := &moments{}
		for i := 0; i+1 < len(spans); i += 2 {
			m.from, m.to, m.order = append(m.from, spans[i]), append(m.to, spans[i+1]), append(m.order, int32(i/2))
			m.last = max(m.last, spans[i+1])
		}
		return m
	}
	one := at(0, 100, 50, 120, 900, 1000)
	c := clockOf(one)
	require.Equal(t, []model.Interval{{From: 120, To: 900}}, c.idle)
	require.Equal(t, []float64{0, 120, 132.5, 145, 245}, []float64{c.at(0), c.at(120), c.at(510), c.at(900), c.at(1000)})
	require.Equal(t, 245.0, c.length())
	require.Equal(t, []model.Interval{{From: 120, To: 500}, {From: 510, To: 900}}, clockOf(one, at(500, 510)).idle)
	require.Equal(t, []model.Interval{{From: 120, To: 900}, {From: 1000, To: 1990}}, clockOf(one, at(0, 10, 1990, 2000)).idle)
	require.Empty(t, clockOf(at(0, 100, 101, 200)).idle, "too short to matter")
	require.Equal(t, 1.0, clockOf(at()).length())
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

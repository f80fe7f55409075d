package forest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestSpanning: on random networks the trees span, keep to the room of links in both
// directions, and reach the least, over all partitions of the ranks, of the room between
// parts over the number of parts less one.
func TestSpanning(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 21))
		p := solvetest.RandomSpread(r, true)
		p.Collective.Kind = model.AllGather
		p.Topology.Switches = nil
		p.Topology.Links = nil
		n := p.Topology.Ranks
		both := func(u, v int) {
			b := 1e9 * (1 + r.Int64N(7))
			p.Topology.Links = append(p.Topology.Links, model.Link{Src: u, Dst: v, Bandwidth: b}, model.Link{Src: v, Dst: u, Bandwidth: b})
		}
		for v := range n - 1 {
			both(v+1, r.IntN(v+1))
		}
		for range r.IntN(3 * n) {
			if u, v := r.IntN(n), r.IntN(n); u != v {
				both(u, v)
			}
		}
		flows, err := spanning(context.Background(), p)
		require.NoError(t, err)
		require.NotEmpty(t, flows)
		f := flows[0].(*forest)
		load, total := make([]float64, len(p.Topology.Links)), 0.0
		for _, tr := range f.down[0] {
			total += float64(tr.Weight)
			for _, tree := range []arborescence.Tree{tr, climbing(tr, f.mirror)} {
				require.Len(t, tree.Arcs, n-1)
				for _, a := range tree.Arcs {
					for _, l := range a.Route {
						load[l] += float64(tr.Weight)
					}
				}
			}
			seen := map[int]bool{tr.Root: true}
			for _, a := range tr.Arcs {
				require.True(t, seen[a.From] && !seen[a.To])
				seen[a.To] = true
			}
		}
		rate := math.Inf(1) // bytes of the buffer a second
		for l, x := range load {
			rate = min(rate, float64(p.Topology.Links[l].Bandwidth)*total/x)
		}
		require.InEpsilon(t, strength(p.Topology), rate, 3*tolerance, "seed %d", seed)
	}
}

// strength returns the least room in one direction between the parts of a partition, over
// the number of parts less one.
func strength(t *model.Topology) float64 {
	part := make([]int, t.Ranks)
	least := math.Inf(1)
	var split func(v, parts int)
	split = func(v, parts int) {
		if v == t.Ranks {
			room := 0.0
			for _, l := range t.Links {
				if part[l.Src] != part[l.Dst] {
					room += float64(l.Bandwidth) / 2
				}
			}
			if parts > 1 {
				least = min(least, room/float64(parts-1))
			}
			return
		}
		for i := range parts + 1 {
			part[v] = i
			split(v+1, max(parts, i+1))
		}
	}
	split(0, 0)
	return least
}

// TestAllReduce: with chunks fine enough, within a few hundredths of the fluid limit, which
// on meshes is much shorter than a reducescatter and an allgather.
func TestAllReduce(t *testing.T) {
	for _, c := range []struct {
		name  string
		chunk int
		most  float64
	}{{"dgx1", 128, 1.06}, {"mesh:3x4", 128, 1.04}, {"torus:3x3", 64, 1.04}, {"switch:6", 8, 1.03}} {
		t.Run(fmt.Sprint(c.name), func(t *testing.T) {
			p := problem(t, c.name, model.AllReduce)
			algbw, err := fluid.AllReduce(context.Background(), p)
			require.NoError(t, err)
			r, err := New().Solve(context.Background(), p, solve.Options{Chunks: c.chunk})
			require.NoError(t, err)
			ratio := algbw * float64(r.Makespan()) / 1e12 / float64(p.Size)
			t.Logf("%.4f of the fluid limit, %d chunks: %s", ratio, len(r.Problem.Chunks), r.Note)
			require.GreaterOrEqual(t, ratio, 1.0)
			require.LessOrEqual(t, ratio, c.most)
		})
	}
}

// TestPlanted: trees that are planted reach nine tenths of the largest rate by themselves, and with them
// the linear program reaches it, which its dual tells.
func TestPlanted(t *testing.T) {
	for _, name := range []string{"torus:4x4", "dgx1", "switch:12", "dgxa100:2"} {
		p := problem(t, name, model.AllGather)
		mirror, ok := mirrored(p.Topology)
		require.True(t, ok)
		limit, err := fluid.Rate(context.Background(), p)
		require.NoError(t, err)
		w, _, err := arborescence.Bypassed(context.Background(), p, limit, 1)
		require.NoError(t, err)
		pack := func() *packing {
			g := &packing{Network: w, edges: edgesOf(w, mirror), at: make([][]int, w.Topology.Nodes()), known: map[string]bool{}}
			for i, e := range g.edges {
				g.at[e.u] = append(g.at[e.u], i)
				g.at[e.v] = append(g.at[e.v], i)
			}
			return g
		}
		g := pack()
		g.plant()
		for _, c := range g.trees {
			require.Len(t, c.tree.Arcs, len(w.Sinks)-1)
		}
		planted, _, err := g.weigh(context.Background())
		require.NoError(t, err)
		largest, err := g.generate(context.Background())
		require.NoError(t, err)
		alone := pack()
		alone.flattest()
		want, err := alone.generate(context.Background())
		require.NoError(t, err)
		t.Logf("%s: %.4f planted, %.4f in all", name, planted, largest)
		require.InEpsilon(t, want, largest, 2*tolerance)
		require.GreaterOrEqual(t, planted, 0.9*largest)
	}
}

package treepack

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/network"
)

// allReduceOn returns an allreduce of 64 MiB under the blocking cost model, cut into this many
// chunks per member.
func allReduceOn(t testing.TB, name string, chunks int) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 64 << 20, Cost: model.Blocking}
	return p.WithChunks(p.DefaultChunks(chunks))
}

// TestPacking: trees are trees, and what links carry is what the packing has counted.
func TestPacking(t *testing.T) {
	for _, name := range []string{"mesh:4x5", "ring:7", "dgx1", "dragonfly:2x3x2", "fattree:3x2x2", "uniring:5"} {
		p := allReduceOn(t, name, 2)
		a := New(network.New(p, false), network.New(p, true))
		require.NotNil(t, a)
		packings := []*packing{a.pack(7, 0, func() bool { return false })}
		if a.next != nil {
			packings = append(packings, a.chains(7))
		}
		for _, g := range packings {
			load := slices.Clone(g.load)
			clear(g.load)
			clear(g.halves[toRoot].load)
			clear(g.halves[fromRoot].load)
			for k, root := range g.root {
				for v := range int32(g.ranks) {
					at := int(v)*g.chunks + k
					if v == root {
						require.EqualValues(t, []int32{-1, -1}, []int32{g.up[at], g.down[at]})
						continue
					}
					require.Equal(t, v, g.n.Hops[g.up[at]].Src)
					require.Equal(t, v, g.n.Hops[g.down[at]].Dst)
					for u, w, hops := v, v, 0; u != root || w != root; hops++ {
						require.Less(t, hops, g.ranks, "a circle in chunk %d on %s", k, name)
						if u != root {
							u = g.n.Hops[g.up[int(u)*g.chunks+k]].Dst
						}
						if w != root {
							w = g.n.Hops[g.down[int(w)*g.chunks+k]].Src
						}
					}
					g.carry(toRoot, g.up[at], g.n.Class[k], 1)
					g.carry(fromRoot, g.down[at], g.n.Class[k], 1)
				}
			}
			require.InDeltaSlice(t, load, g.load, 1e-3*slices.Max(load))
			for r := range load {
				require.InDelta(t, load[r], g.halves[toRoot].load[r]+g.halves[fromRoot].load[r], 1e-3*slices.Max(load))
			}
		}
	}
}

// TestCentres: the middle of a line and of a mesh is central, and on a ring everything is.
func TestCentres(t *testing.T) {
	for name, want := range map[string][]int32{"line:7": {3}, "mesh:5x5": {12}, "mesh:4x4": {5, 6, 9, 10}, "ring:5": {0, 1, 2, 3, 4}} {
		p := allReduceOn(t, name, 1)
		var got []int32
		m := newMiddle(network.New(p, false), network.New(p, true))
		require.Equal(t, m.to, m.from, "links lead both ways on %s", name)
		for _, h := range m.centres(0) {
			got = append(got, h.rank)
		}
		require.Equal(t, want, got, name)
	}
}

// TestLimit: a link serves no half of which the first, or the last, cannot come in time, also where
// links are quicker in one direction than in the other.
func TestLimit(t *testing.T) {
	p := allReduceOn(t, "line:5", 1)
	for i := range p.Topology.Links {
		if l := &p.Topology.Links[i]; l.Src < l.Dst {
			l.Alpha *= 10
		}
	}
	n, back := network.New(p, false), network.New(p, true)
	g := newPacking(n, network.NewExits(n), nil, 7)
	g.limit(newMiddle(n, back))
	far := func(from, to int) (sum float64) { // the way from one rank to another
		for at := from; at != to; {
			next := at + 1
			if to < at {
				next = at - 1
			}
			l := slices.IndexFunc(n.Hops, func(x network.Hop) bool { return int(x.Src) == at && int(x.Dst) == next })
			sum += float64(n.Lasts(&n.Hops[l], n.Largest()))
			at = next
		}
		return sum
	}
	for i := range n.Hops {
		x := &n.Hops[i]
		r := n.Choices[n.Uses[x.Uses].Choice]
		require.Equal(t, max(far(0, int(x.Src)), far(4, int(x.Src))), g.halves[fromRoot].load[r], "copies over %d-%d", x.Src, x.Dst)
		require.Equal(t, max(far(int(x.Dst), 0), far(int(x.Dst), 4)), g.halves[toRoot].load[r], "parts over %d-%d", x.Src, x.Dst)
	}
}

// TestLatent: where parts take long to come together every link carries parts while it can carry
// no copies, and the other way round, which makes the schedule shorter.
func TestLatent(t *testing.T) {
	p := allReduceOn(t, "mesh:4x4", 1)
	p.Size, p.Cost = 1<<20, model.Pipelined
	p = p.WithChunks(p.DefaultChunks(64))
	a := New(network.New(p, false), network.New(p, true))
	require.True(t, a.Latent)
	never := func() bool { return false }
	g := a.pack(7, 0, never)
	latent := newTimes(g, a.back, a.exits, never)

	a.Latent = false
	h := a.pack(7, 0, never)
	usual := newTimes(h, a.back, a.exits, never)
	require.Less(t, latent.makespan, usual.makespan)

	least := func(g *packing, tree []int32) float64 { // what the link with the fewest of a half carries of it
		count := make([]float64, len(g.n.Hops))
		for _, l := range tree {
			if l >= 0 {
				count[l]++
			}
		}
		return slices.Min(count)
	}
	require.Greater(t, least(g, g.up), least(h, h.up))
	require.Greater(t, least(g, g.down), least(h, h.down))
}

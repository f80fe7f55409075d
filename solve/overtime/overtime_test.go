package overtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

func problem(t *testing.T, name string, kind model.Kind, size int64) *model.Problem {
	t.Helper()
	top, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: top, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	require.NoError(t, p.Validate())
	return p
}

// plainColours gives every node and arc a colour of its own, so that nothing is merged.
func plainColours(n *network) {
	n.sources, n.classes = nil, nil
	for r, bytes := range n.demands(nil) {
		if bytes == nil {
			continue
		}
		s := source{rank: r, alike: 1, bytes: bytes}
		for v := range n.p.Topology.Nodes() {
			s.colour = append(s.colour, uint64(v))
		}
		n.sources = append(n.sources, s)
	}
	for i := range n.arcs {
		n.arcs[i].class = i
		n.classes = append(n.classes, 1)
	}
}

// Merging what looks alike does not change the optimum, on networks with symmetries and on random
// ones, at ends that the unit divides and others.
func TestColoursDoNotMatter(t *testing.T) {
	var list []*model.Problem
	for _, name := range []string{"ring:5", "dgx1", "ndv2", "fattree:2x2", "torus:2x3", "hypercube:3", "mesh:2x3"} {
		for _, kind := range []model.Kind{model.AllToAll, model.Scatter, model.Gather} {
			list = append(list, problem(t, name, kind, 24<<10))
		}
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		top := &model.Topology{Name: fmt.Sprint("random ", seed), Ranks: 3 + r.IntN(3), Switches: make([]model.Switch, r.IntN(2))}
		for v := range top.Nodes() {
			top.Links = append(top.Links, model.Link{Src: v, Dst: (v + 1) % top.Nodes(), Alpha: model.Time(100 * (1 + r.IntN(3))), Bandwidth: 1e9 * (1 + r.Int64N(2))})
		}
		for range r.IntN(5) {
			if u, v := r.IntN(top.Nodes()), r.IntN(top.Nodes()); u != v {
				top.Links = append(top.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(100 * r.IntN(3)), Bandwidth: 1e9})
			}
		}
		list = append(list, &model.Problem{Topology: top, Collective: model.Collective{Kind: []model.Kind{model.AllToAll, model.Scatter, model.Gather}[seed%3]}, Size: 60, Cost: model.Blocking})
	}
	merged, between := 0, 0
	for _, p := range list {
		n, plain := newNetwork(p), newNetwork(p)
		n.colour(n.demands(nil))
		plainColours(plain)
		if len(n.classes) < len(plain.classes) {
			merged++
		}
		for _, end := range []model.Time{5 * n.unit, 7*n.unit + n.unit/3 + 1} {
			a, err := n.solve(context.Background(), end)
			require.NoError(t, err)
			b, err := plain.solve(context.Background(), end)
			require.NoError(t, err)
			require.NotNil(t, a)
			require.NotNil(t, b)
			require.InDelta(t, b.part, a.part, 1e-5*max(1, b.part), "%v by %v", p, end)
			if a.part > 0 && a.part < 1 {
				between++
			}
		}
	}
	require.Greater(t, merged, 10)
	require.Greater(t, between, 10)
}

// On one switch with links of B bytes per second and a latency of a each way, n-1 parts take their
// time over B, and 2a: known bounds have that, and there is no more.
func TestNothingMoreOnOneSwitch(t *testing.T) {
	p := problem(t, "switch:8", model.AllToAll, 64<<10)
	l := p.Topology.Links[0]
	known := model.TransferTime(7<<13, l.Bandwidth) + 2*l.Alpha
	w, _, err := Find(context.Background(), p, known)
	require.NoError(t, err)
	require.Nil(t, w)
	w, end, err := Find(context.Background(), p, known*9/10)
	require.NoError(t, err)
	require.NotNil(t, w)
	require.InEpsilon(t, int64(known), int64(end), 1e-3)
}

// Along a line all pass one link after the other: what is sent there by the end less all latencies. A
// reduce is the same backwards.
func TestToTheFarthest(t *testing.T) {
	for _, kind := range []model.Kind{model.Broadcast, model.Reduce} {
		p := problem(t, "line:5", kind, 64<<10)
		l := p.Topology.Links[0]
		known := model.TransferTime(64<<10, l.Bandwidth) + 4*l.Alpha
		w, end, err := Find(context.Background(), p, known*9/10)
		require.NoError(t, err)
		require.NotNil(t, w)
		require.InEpsilon(t, int64(known), int64(end), 1e-3)
		w, _, err = Find(context.Background(), p, known)
		require.NoError(t, err)
		require.Nil(t, w)
	}
}

// What is not served is named as such, and a search that is over ends.
func TestNotServed(t *testing.T) {
	_, _, err := Find(context.Background(), problem(t, "ring:4", model.AllGather, 1<<20), 1)
	require.ErrorIs(t, err, solve.ErrNotServed)
	late := problem(t, "ring:4", model.AllToAll, 1<<20)
	late.Release = []model.Time{0, 0, 1, 0}
	_, _, err = Find(context.Background(), late, 1)
	require.ErrorIs(t, err, solve.ErrNotServed)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w, _, err := Find(ctx, problem(t, "dgx1", model.AllToAll, 64<<10), model.Microsecond)
	require.NoError(t, err)
	require.Nil(t, w)
}

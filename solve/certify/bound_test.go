package certify

import (
	"context"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/stretchr/testify/require"
)

// TestQuickBound: the quick bound is no worse than the best of all where that is ingress or
// distance.
func TestQuickBound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, name := range []string{"torus:6x6", "mesh:4x6", "line:9", "dgx1", "switch:8", "hypercube:5"} {
		for _, kind := range []model.Kind{model.AllGather, model.Broadcast, model.AllToAll, model.Gather, model.AllReduce} {
			for _, size := range []int64{1 << 10, 1 << 28} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
				quick, err := QuickBound(context.Background(), p)
				require.NoError(t, err)
				require.NotNil(t, quick)
				best, err := Bound(t.Context(), p)
				require.NoError(t, err)
				require.LessOrEqual(t, quick.Bound, best.Bound)
				if k := best.Witness.Kind(); kind == model.AllGather && (k == "ingress" || k == "distance" && name != "dgx1") {
					require.Equal(t, best.Bound, quick.Bound, "%s %v %d", name, kind, size)
				}
			}
		}
	}
}

// A bound whose value takes longer than there is time gives way to the next one.
func TestFirstValued(t *testing.T) {
	p := &model.Problem{}
	slow, simple, last := &bound.Proposal{Problem: p, Estimate: 3}, &bound.Proposal{Problem: p, Estimate: 2}, &bound.Proposal{Problem: p, Estimate: 1}
	value := func(ctx context.Context, w *bound.Proposal) (*model.Certificate, error) {
		if w == slow {
			<-ctx.Done()
			return nil, nil
		}
		return &model.Certificate{Problem: w.Problem, Bound: w.Estimate}, nil
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c, first, err := firstValued(over, []*bound.Proposal{slow, simple, last}, value)
	require.NoError(t, err)
	require.Equal(t, model.Time(2), c.Bound)
	require.False(t, first)
	c, first, err = firstValued(over, []*bound.Proposal{simple, last}, value)
	require.NoError(t, err)
	require.Equal(t, model.Time(2), c.Bound)
	require.True(t, first)
	c, _, err = firstValued(over, []*bound.Proposal{slow}, value)
	require.NoError(t, err)
	require.Nil(t, c)
}

// What is found before linear programs begin is valued by then, also where they yield no more: there may be no time for it afterwards.
func TestValuedFirst(t *testing.T) {
	tp, err := topo.Parse("switch:8", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 30, Cost: model.Pipelined}
	found, err := proposals(context.Background(), p)
	require.NoError(t, err)
	require.Equal(t, "volume", found.all[0].Witness.Kind())
	require.Equal(t, found.all[0].Estimate, found.all[0].Yield)
	require.Zero(t, found.all[1].Yield)
}

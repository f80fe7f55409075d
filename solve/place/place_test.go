package place_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/place"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func problem(t *testing.T, name string, kind model.Kind, cost model.CostModel, chunks int) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{Alpha: []model.Time{100}, Bandwidth: []int64{1e12}})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: int64(chunks) * 1000, Cost: cost}
	return p.WithChunks(chunks)
}

// TestPipelining: K chunks over two links take K slots and one more, and pipelined
// only one latency more than the slots.
func TestPipelining(t *testing.T) {
	for cost, want := range map[model.CostModel]model.Time{model.Blocking: 4 * 1100, model.Pipelined: 4*1000 + 2*100, model.Rounds: 4 * 1100} {
		p := problem(t, "line:3", model.Broadcast, cost, 3)
		g := place.NewProgram(p)
		for k := range 3 {
			g.Send(k, 0, 1, model.Copy)
			g.Send(k, 1, 2, model.Copy)
		}
		s, err := g.Place()
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(p, s))
		require.Equal(t, want, p.Makespan(s), cost)
	}
}

// TestExchange: both sides read before either writes, even where one link is busy.
func TestExchange(t *testing.T) {
	p := problem(t, "full:2", model.AllReduce, model.Blocking, 1)
	g := place.NewProgram(p)
	g.Batch(place.Move{Src: 0, Dst: 1, Op: model.Reduction}, place.Move{Src: 1, Dst: 0, Op: model.Reduction})
	s, err := g.Place()
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(p, s))
	require.Equal(t, model.Time(1100), p.Makespan(s))
}

// TestImpossibleExchange: where both directions share a port they cannot.
func TestImpossibleExchange(t *testing.T) {
	p := problem(t, "full:2", model.AllReduce, model.Blocking, 1)
	tp := &model.Topology{Name: "bus", Ranks: 2, Switches: []model.Switch{{}, {}}, Links: []model.Link{
		{Src: 0, Dst: 2, Bandwidth: 1e12}, {Src: 1, Dst: 2, Bandwidth: 1e12}, {Src: 2, Dst: 3, Bandwidth: 1e12},
		{Src: 3, Dst: 0, Bandwidth: 1e12}, {Src: 3, Dst: 1, Bandwidth: 1e12}}}
	p.Topology = tp
	g := place.NewProgram(p)
	g.Batch(place.Move{Src: 0, Dst: 1, Op: model.Reduction}, place.Move{Src: 1, Dst: 0, Op: model.Reduction})
	_, err := g.Place()
	require.ErrorContains(t, err, "cannot exchange chunk 0 at one time")
}

// TestAppend: placing a schedule's transfers again in their order is never slower.
func TestAppend(t *testing.T) {
	p := problem(t, "ring:4", model.Broadcast, model.Blocking, 2)
	g := place.NewProgram(p)
	for k := range 2 {
		g.Send(k, 0, 1, model.Copy)
		g.Send(k, 0, 3, model.Copy)
		g.Send(k, 1, 2, model.Copy)
	}
	s, err := g.Place()
	require.NoError(t, err)
	for i := range s.Transfers { // idle time, as a grid of epochs leaves it
		s.Transfers[i].Start *= 3
		s.Transfers[i].End = s.Transfers[i].Start + 1100
	}
	again := place.NewProgram(p)
	again.Append(s)
	r, err := again.PlaceInOrder()
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(p, r))
	require.Equal(t, model.Time(3*1100), p.Makespan(r))
}

func TestReachable(t *testing.T) {
	require.NoError(t, place.Reachable(problem(t, "ring:4", model.AllGather, model.Blocking, 4).Topology))
	require.ErrorContains(t, place.Reachable(&model.Topology{Name: "x", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}}}), "rank 1 cannot reach rank 0")
}

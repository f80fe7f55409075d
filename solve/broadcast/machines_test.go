package broadcast

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// hosted returns a network of groups of ranks with a switch each, and one switch of all: rank i of a group has links of some
// latency and bandwidth to both, those to the latter first.
func hosted(groups, size int, far, near course) *model.Topology {
	t := &model.Topology{Name: "hosts", Ranks: groups * size}
	center := t.Ranks + groups
	if size == 1 {
		center = t.Ranks
	}
	both := func(u, v int, c course) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: c.latency, Bandwidth: c.bandwidth}, model.Link{Src: v, Dst: u, Alpha: c.latency, Bandwidth: c.bandwidth})
	}
	for v := range t.Ranks {
		both(v, center, far)
		if size > 1 {
			both(v, t.Ranks+v/size, near)
		}
	}
	t.Switches = make([]model.Switch, center+1-t.Ranks)
	return t
}

// TestOverMachines: a broadcast over machines is right, and ends when its plan says or sooner, whatever the number, size, latencies and
// bandwidths of groups.
func TestOverMachines(t *testing.T) {
	small, hubs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		groups, size := rapid.IntRange(3, 7).Draw(t, "groups"), rapid.SampledFrom([]int{1, 2, 4, 6}).Draw(t, "ranks of each")
		far := course{model.Time(rapid.IntRange(0, 3000).Draw(t, "far")) * model.Nanosecond, int64(rapid.IntRange(1, 50).Draw(t, "bandwidth")) * 1e9}
		near := course{model.Time(rapid.IntRange(0, 1000).Draw(t, "near")) * model.Nanosecond, far.bandwidth * int64(size+rapid.IntRange(1, 3).Draw(t, "wider"))}
		p := &model.Problem{Topology: hosted(groups, size, far, near), Size: int64(rapid.IntRange(100, 1<<18).Draw(t, "size")), Cost: model.Pipelined}
		p.Collective = model.Collective{Kind: model.Broadcast, Root: rapid.IntRange(0, groups*size-1).Draw(t, "root")}
		require.NoError(t, p.Validate())
		m := newMachines(p)
		require.NotNil(t, m)
		most := rapid.IntRange(groups*size, 1<<14).Draw(t, "transfers")
		x, found := m.planned(0, 0, int64(most/(groups*size-1)))
		r := overMachines(context.Background(), p, solve.Options{MostTransfers: most})
		if !found {
			return
		}
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, len(r.Schedule.Transfers), most)
		require.LessOrEqual(t, r.Makespan(), x.ends())
		small, hubs = small+min(1, x.rounds), hubs+min(1, x.until)
	})
	require.Positive(t, small)
	require.Positive(t, hubs)
}

// TestSoonOverMachines: hosts are within a few parts in a hundred of what is proved, with few chunks.
func TestSoonOverMachines(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int64
		enough model.Time
		chunks int
	}{
		{"dgxh100:16", 64 << 10, 5_700_000, 800},
		{"dgxh100:16", 1 << 20, 9_000_000, 3_000},
		{"dgxh100:6", 1 << 20, 8_600_000, 2_500},
		{"dgxa100:8", 8 << 20, 48_200_000, 16_000},
		{"switch:16", 1 << 20, 20_540_000, 20_000},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Size = c.size
		m := newMachines(p)
		x, found := m.planned(0, c.enough, 1<<15)
		require.True(t, found, c.name)
		require.LessOrEqual(t, x.ends(), c.enough, c.name)
		require.LessOrEqual(t, int(x.larges()+x.smalls()), c.chunks, c.name)
		r := m.broadcast(context.Background(), (len(p.Members())-1)<<15, 0, c.enough)
		require.InEpsilon(t, int64(x.ends()), int64(r.Makespan()), 1e-3, c.name)
	}
}

// TestNoMachines: there are none where links differ, ranks have others, groups are two or of an odd number, or links of groups are too
// narrow.
func TestNoMachines(t *testing.T) {
	for _, name := range []string{"dgx1", "fattree:4x4", "dgxh100:2", "dgx2:2", "ndv2:4", "mi250", "torus:4x4", "dragonfly:3x2x2"} {
		require.Nil(t, newMachines(problem(t, name, model.Broadcast)), name)
	}
	far, near := course{1000, 1e9}, course{1000, 4e9}
	p := func(top *model.Topology) *model.Problem {
		return &model.Problem{Topology: top, Collective: model.Collective{Kind: model.Broadcast}, Size: 1 << 10, Cost: model.Pipelined}
	}
	require.NotNil(t, newMachines(p(hosted(3, 4, far, near))))
	require.Nil(t, newMachines(p(hosted(3, 3, far, near))))
	require.Nil(t, newMachines(p(hosted(3, 6, far, near))))
	for i := range 8 {
		top := hosted(3, 4, far, near)
		if i < 4 {
			top.Links[20+i].Bandwidth++
		} else {
			top.Links[20+i].Alpha++
		}
		require.Nil(t, newMachines(p(top)), i)
	}
	q := p(hosted(3, 4, far, near))
	q.Cost = model.Blocking
	require.Nil(t, newMachines(q))
}

package broadcast

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestFrame: around switches a frame has every link of the root busy all the time, so that trees take no longer than in
// the fluid limit, the latency of the deepest one, and a period for each of its levels.
func TestFrame(t *testing.T) {
	for _, name := range []string{"fattree:4x4", "dragonfly:3x2x2", "switch:6"} {
		p := problem(t, name, model.Broadcast)
		p.Size = 4 << 20
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := flattest(p, all)[0]
		_, period := units(f.Trees)
		p.Chunks = framed(p, solve.Evenly(p.Space(), 400), period)
		s := newStream(p, f.Trees, 1)
		known := map[model.Time]*frame{}
		frame := s.newFrame(context.Background(), f.Trees, known)
		require.NotNil(t, frame, name)
		require.Equal(t, frame, s.newFrame(context.Background(), f.Trees, known), "the second time it is known")
		require.Equal(t, period, frame.length, "%s: no longer than the root needs", name)
		s.pourFramed(frame)
		require.NoError(t, solvetest.Right(p, s.schedule(context.Background())), name)
		_, last := f.Fluid(p)
		periods := len(p.Chunks)/frame.trees + 1
		require.LessOrEqual(t, s.end(), model.Time(periods+8)*model.Time(frame.length)*frame.tick+model.Time(last*1e12), name)
		d := s.drained(context.Background(), 0)
		require.NoError(t, solvetest.Right(p, d.schedule(context.Background())), name)
		require.Less(t, d.end(), s.end(), name)
	}
}

// TestFrameReordered: with slots in another order chunks wait less, no two hops are in one slot of a link, and what is poured and
// drained begins with slots and ends sooner.
func TestFrameReordered(t *testing.T) {
	p := problem(t, "dragonfly:3x2x2", model.Broadcast)
	p.Size = 1 << 20
	all, err := packings(context.Background(), context.Background(), p)
	require.NoError(t, err)
	f := flattest(p, all)[0]
	for _, g := range all {
		if _, n := units(g.Trees); n == 16 {
			f = g
		}
	}
	p.Chunks = framed(p, solve.Evenly(p.Space(), 1200), 16)
	s := newStream(p, f.Trees, 1)
	known := map[model.Time]*frame{}
	after := s.newFrame(context.Background(), f.Trees, known)
	require.NotNil(t, after)
	before := *known[0]
	before.tick = after.tick
	sum := func(f *frame) (sum model.Time) {
		_, ends := s.planned(f)
		for _, end := range ends {
			sum += end
		}
		return sum
	}
	require.Less(t, sum(after), sum(&before))
	other := newStream(p, f.Trees, 1)
	other.pourFramed(&before)
	s.pourFramed(after)
	d := s.drained(context.Background(), 0)
	require.Less(t, d.end(), other.drained(context.Background(), 0).end())
	schedule := d.schedule(context.Background())
	require.NoError(t, solvetest.Right(p, schedule))
	for _, x := range schedule.Transfers {
		require.Zero(t, x.Start%after.tick)
	}
}

// TestFrameRandom: on random networks with equal links, what has a frame is right.
func TestFrameRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	with := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 19))
		p := random(rng, model.Pipelined)
		if p == nil {
			continue
		}
		for i := range p.Topology.Links {
			l := &p.Topology.Links[i]
			l.Bandwidth, l.Alpha = 1e9, []model.Time{500_000, 250_000, 0}[rng.IntN(3)]
		}
		all, err := packings(context.Background(), context.Background(), p)
		if err != nil {
			continue
		}
		f := all[rng.IntN(len(all))]
		_, period := units(f.Trees)
		p.Chunks = framed(p, solve.Evenly(p.Space(), 400), period)
		s := newStream(p, f.Trees, 1)
		if frame := s.newFrame(context.Background(), f.Trees, map[model.Time]*frame{}); frame != nil {
			with++
			s.pourFramed(frame)
			require.NoError(t, solvetest.Right(p, s.schedule(context.Background())), "seed %d", seed)
		}
	}
	require.Greater(t, with, 50)
}

// TestSlotOf: slots divide latencies, and periods do where that costs little.
func TestSlotOf(t *testing.T) {
	p := problem(t, "fattree:4x4", model.Broadcast)
	for _, c := range []struct {
		lasts  model.Time
		period int
		slot   model.Time
	}{{31_000, 5, 50_000}, {31_000, 8, 31_250}, {20_000, 5, 20_000}, {19_000, 7, 20_000}, {500_000, 7, 500_000}, {500_001, 1, 0}, {200_000, 7, 250_000}} {
		require.Equal(t, c.slot, slotOf(p.Topology, c.lasts, c.period), "%v", c)
	}
	p.Topology.Links[3].Bandwidth++
	require.Zero(t, slotOf(p.Topology, 31_000, 5))
}

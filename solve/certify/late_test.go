package certify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// provedLate solves p by stragglar and returns the makespan of what is proved right.
func provedLate(t *testing.T, p *model.Problem) model.Time {
	t.Helper()
	r, err := stragglar.New().Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err, "%v", p)
	require.True(t, p.SameUpToCut(r.Problem))
	v := replay.Check(context.Background(), r.Problem, r.Schedule)
	require.Equal(t, verify.Proved, v.Outcome, "%v, %s: %v", p, r.Note, v.Violations)
	c, err := Bound(context.Background(), p)
	require.NoError(t, err)
	require.LessOrEqual(t, c.Bound, r.Makespan())
	return r.Makespan()
}

// TestHybrid: with one straggler at D, and latencies that do not matter, the makespan is
// hardly more than max(D+1, (2(n-1)+D)/n) times what the buffer takes over a link,
// which is a certified bound; and never more than that of the ring.
func TestHybrid(t *testing.T) {
	for _, n := range []int{3, 5, 8, 12} {
		tp, err := topo.Switch(n, topo.Wire{Alpha: 20, Bandwidth: 1e12}, false)
		require.NoError(t, err)
		const unit = 1 << 22 // ps, and bytes
		for _, tenths := range []model.Time{1, 5, 9, 12} {
			d := unit * tenths / 10
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: unit, Cost: model.Rounds, Release: make([]model.Time, n)}
			p.Release[n/2] = d
			least := max(d+unit, (model.Time(2*(n-1))*unit+d)/model.Time(n))
			got := provedLate(t, p)
			require.LessOrEqual(t, float64(got), 1.03*float64(least), "n=%d D=%d/10: %d, want about %d", n, tenths, got, least)
			y, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: model.Volume{}})
			require.NoError(t, err)
			require.InEpsilon(t, float64(least), float64(max(y, d+unit)), 1e-4)
			require.LessOrEqual(t, got, d+unit*model.Time(2*(n-1))/model.Time(n)+model.Time(100*n))
		}
	}
}

// TestLateRanks: for all late ranks, delays and topologies the schedules are right,
// and not worse than those of the ring where all ranks are on one switch.
func TestLateRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 40 {
		name := []string{"switch:3", "switch:6", "switch:8", "switch:9", "ring:5", "mesh:2x3", "full:4", "switch:16"}[i%8]
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{
			Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(1 + r.IntN(1<<22)),
			Cost: model.CostModel(1 + r.IntN(4)), Release: make([]model.Time, tp.Ranks),
		}
		if len(tp.Switches) == 0 && p.Cost == model.LinkRounds {
			p.Cost = model.Blocking // link-rounds allow no transfer between ranks that are no neighbours
		}
		if i%5 == 0 {
			p.Size = int64(1 + r.IntN(40))
		}
		for range 1 + r.IntN(tp.Ranks) {
			p.Release[r.IntN(tp.Ranks)] = model.Time(r.IntN(200)) * model.Microsecond
		}
		if i%7 == 0 {
			p = p.WithChunks(int(min(p.Size, int64(tp.Ranks*(1+r.IntN(3))))))
		}
		got := provedLate(t, p)
		if p.Cost != model.Rounds || p.Chunks != nil || tp.Ranks != len(p.Members()) || len(tp.Switches) == 0 {
			continue
		}
		for _, m := range classic.All() {
			if m.Name() == "ring" && p.Size >= int64(tp.Ranks) {
				ring, err := m.Solve(context.Background(), p, solve.Options{})
				require.NoError(t, err)
				require.LessOrEqual(t, got, ring.Makespan()+model.Time(2*tp.Ranks)*1000, fmt.Sprint(p, p.Release))
			}
		}
	}
}

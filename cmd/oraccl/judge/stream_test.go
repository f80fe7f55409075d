package judge

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/tacos"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// synthesised returns a greedy schedule.
func synthesised(t *testing.T, name string, kind model.Kind, cost model.CostModel) (*model.Problem, *model.Schedule) {
	o := topo.Options{}
	if strings.HasPrefix(name, "mesh") {
		o.Bandwidth = []int64{50e9, 75e9}
	}
	tp, err := topo.Parse(name, o)
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1<<20 + 77, Cost: cost}
	r, err := tacos.New().Solve(context.Background(), p.WithChunks(p.DefaultChunks(1)), solve.Options{Seed: 3, Tries: 1})
	require.NoError(t, err)
	return r.Problem, r.Schedule
}

// TestStreamAgrees: stream says the same as replay of schedules that are right, and of
// such in which one transfer was changed, missing or made twice.
func TestStreamAgrees(t *testing.T) {
	refuted := 0
	for _, name := range []string{"mesh:3x4", "torus:4x4", "switch:6", "fattree:2x2", "dgx1"} {
		for _, kind := range []model.Kind{model.AllGather, model.AllToAll, model.Broadcast} {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
				p, s := synthesised(t, name, kind, cost)
				v, err := streamHeld(context.Background(), io.Discard, p, s)
				require.NoError(t, err)
				require.Equal(t, verify.Proved, v.Outcome, "%v: %v", p, v.Violations)
				require.Equal(t, p.Makespan(s), v.Makespan)
				rng := rand.New(rand.NewPCG(1, 2))
				for range 20 {
					m := *s
					m.Transfers = slices.Clone(s.Transfers)
					i, j := rng.IntN(len(m.Transfers)), rng.IntN(len(m.Transfers))
					x, y := &m.Transfers[i], m.Transfers[j]
					switch rng.IntN(5) {
					case 0:
						m.Transfers = slices.Delete(m.Transfers, i, i+1)
					case 1:
						x.Chunk = y.Chunk
					case 2:
						x.Start, x.End = y.Start, y.Start+x.End-x.Start
					case 3:
						m.Transfers = append(m.Transfers, y)
					case 4:
						x.Route, x.Src, x.Dst = y.Route, y.Src, y.Dst
					}
					got, err := streamHeld(context.Background(), io.Discard, p, &m)
					require.NoError(t, err)
					want := replay.Check(context.Background(), p, &m)
					require.Equal(t, want.Outcome, got.Outcome, "%v: replay %v, stream %v", p, want.Violations, got.Violations)
					if got.Outcome == verify.Refuted {
						refuted++
					}
				}
			}
		}
	}
	require.Greater(t, refuted, 300)
}

package cayley

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func gathering(t *testing.T, name string, size int64, chunks int, cost model.CostModel) *model.Problem {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: size, Cost: cost}
	if chunks == 0 {
		return p
	}
	return p.WithChunks(chunks)
}

// TestStream: what is handed out is a right schedule, in order of starts, of the makespan
// that was said before; on tori it is the least that there can be.
func TestStream(t *testing.T) {
	same := 0
	for _, c := range []struct {
		name   string
		chunks int
		least  bool
	}{
		{"ring:7", 7, true}, {"uniring:5", 5, true}, {"torus:4x5", 20, true}, {"torus:6x6", 0, true}, {"torus:3x4", 24, true},
		{"hypercube:5", 32, true}, {"torus:3x3x4", 36, true}, {"full:6", 6, true}, {"torus:4x4", 17, false}, {"torus:12x12", 144, true},
	} {
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds} {
			for _, size := range []int64{32 * 720720, 1<<24 + 1, 20000} {
				p := gathering(t, c.name, size, c.chunks, cost)
				st, err := New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Seed: 1})
				require.NoError(t, err)
				moves := []model.Transfer{}
				stop, err := st.Run(context.Background(), func(list []model.Transfer) bool {
					moves = append(moves, list...)
					return true
				})
				require.NoError(t, err)
				require.Equal(t, solve.Done, stop)
				s := &model.Schedule{Form: st.Form, Routes: st.Routes, Transfers: moves}
				require.NoError(t, solvetest.Right(st.Problem, s), "%v", st.Problem)
				require.EqualValues(t, st.Transfers, len(moves))
				require.True(t, slices.IsSortedFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }))
				sizes := map[int64]bool{}
				for _, k := range st.Problem.Chunks {
					sizes[k.Size] = true
				}
				if len(sizes) == 1 && len(st.Problem.Chunks)%p.Topology.Ranks == 0 {
					require.NotNil(t, st.Orbit, "%v", st.Problem)
					same++
				}
				if st.Orbit != nil { // it is the same schedule
					o, err := st.Orbit.Schedule(st.Problem)
					require.NoError(t, err)
					require.Equal(t, plain(s), plain(o))
				}
				end := st.Problem.Makespan(s)
				if cost != model.LinkRounds {
					require.Equal(t, st.Makespan, end, "%v", st.Problem)
				}
				if n := p.Topology.Ranks; c.least && cost == model.Blocking && size == 32*720720 {
					g := recognise(context.Background(), p.Topology)
					slots := (len(st.Problem.Chunks) - len(st.Problem.Chunks)/n + len(g.gens) - 1) / len(g.gens)
					require.LessOrEqual(t, moves[len(moves)-1].Start, moves[0].End*model.Time(slots-1), "%v", st.Problem)
				}
			}
		}
	}
	require.Greater(t, same, 20)
}

// TestStreamLarge: 40 000 ranks are planned in no time, to end as early as can be.
func TestStreamLarge(t *testing.T) {
	p := gathering(t, "torus:200x200", 40000<<20, 0, model.Blocking)
	st, err := New().(solve.Streamer).Stream(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	require.Equal(t, p.Topology.Duration([]int{0}, 1<<20)*10000, st.Makespan)
	require.Less(t, st.Memory, int64(64<<20))
	count := 0
	stop, err := st.Run(context.Background(), func(list []model.Transfer) bool {
		count += len(list)
		return count < 1_000_000
	})
	require.NoError(t, err)
	require.Equal(t, solve.Interrupted, stop)
	require.Equal(t, 1_000_000, count)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stop, err = st.Run(ctx, func([]model.Transfer) bool { return true })
	require.NoError(t, err)
	require.Equal(t, solve.Interrupted, stop)
}

// TestStreamNotServed: what is not the same for all ranks.
func TestStreamNotServed(t *testing.T) {
	for name, change := range map[string]func(*model.Problem){
		"recognised":                  func(p *model.Problem) { p.Topology.Links = p.Topology.Links[1:] },
		"not broadcast":               func(p *model.Problem) { p.Collective.Kind = model.Broadcast },
		"only what all ranks do":      func(p *model.Problem) { p.Collective.Group = []int{0, 1, 2} },
		"alltoall with as many":       func(p *model.Problem) { p.Collective.Kind = model.AllToAll; p.Chunks = p.Cut(257) },
		"is the same for all":         func(p *model.Problem) { p.Collective.Kind = model.ReduceScatter; p.Chunks = p.Cut(17) },
		"all links of all ranks busy": func(p *model.Problem) { p.Cost = model.Rounds },
		"moves over links that are alike": func(p *model.Problem) {
			for i := range p.Topology.Links {
				if k := p.Topology.Links[i]; k.Src/4 == k.Dst/4 {
					p.Topology.Links[i].Bandwidth *= 2
				}
			}
		},
	} {
		p := gathering(t, "torus:4x4", 1<<20, 0, model.Pipelined)
		p.Topology.Links = slices.Clone(p.Topology.Links)
		change(p)
		_, err := New().(solve.Streamer).Stream(context.Background(), p, solve.Options{})
		require.ErrorIs(t, err, solve.ErrNotServed)
		require.ErrorContains(t, err, name)
	}
}

// plain returns the transfers of a schedule in one order, with their links for routes.
func plain(s *model.Schedule) []model.Transfer {
	list := slices.Clone(s.Transfers)
	for i := range list {
		list[i].Route = int32(s.Routes[list[i].Route][0])
	}
	slices.SortFunc(list, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Route, b.Route))
	})
	return list
}

package forest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestShuttle: on networks without switches whose links differ in all ways, and have twins, schedules are right, read
// forwards and backwards, whatever the chunks.
func TestShuttle(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 31))
		n := 3 + r.IntN(6)
		p := &model.Problem{Topology: &model.Topology{Name: "random", Ranks: n}, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 + r.Int64N(1<<16)}
		p.Cost = []model.CostModel{model.Pipelined, model.Blocking}[r.IntN(2)]
		both := func(u, v int) {
			k := model.Link{Src: u, Dst: v, Bandwidth: 1e9 * (1 + r.Int64N(5)), Alpha: model.Time(r.IntN(4) * 1e6)}
			for range 1 + r.IntN(2) {
				back := k
				back.Src, back.Dst = v, u
				p.Topology.Links = append(p.Topology.Links, k, back)
			}
		}
		for v := range n - 1 {
			both(v+1, r.IntN(v+1))
		}
		for range r.IntN(2 * n) {
			if u, v := r.IntN(n), r.IntN(n); u != v {
				both(u, v)
			}
		}
		p.Collective.Kind = []model.Kind{model.AllReduce, model.AllReduce, model.AllGather}[r.IntN(3)]
		flows, err := grow(context.Background(), p)
		require.NoError(t, err)
		list := shuttles(flows)
		require.NotEmpty(t, list, "seed %d", seed)
		for _, f := range list {
			q := *p
			if q.Chunks = f.even(p, 1+r.Int64N(3)); f.blocks == 1 {
				q.Chunks = p.Cut(int(min(p.Space(), 1+r.Int64N(20))))
			}
			x := newShunting(context.Background(), f.forest, &q)
			starts, end := x.run(x.staggered(r.Float64()), false)
			for _, backwards := range []bool{false, true, false} {
				s := x.emit(starts)
				require.NoError(t, solvetest.Right(&q, s), "seed %d", seed)
				require.Equal(t, end, q.Makespan(s), "seed %d", seed)
				keys := starts
				if backwards = !backwards; backwards {
					keys = x.latest(starts)
				}
				starts, end = x.run(keys, backwards)
			}
		}
	}
}

// TestBalanced: on a DGX-1 both directions of all links carry about as many sums as copies, with a link that failed, too;
// and an allreduce is within two hundredths of the fluid limit.
func TestBalanced(t *testing.T) {
	for _, failed := range []bool{false, true} {
		p := problem(t, "dgx1", model.AllReduce)
		p.Size = 64 << 20
		if links := p.Topology.Links; failed {
			one := func(l model.Link) bool { return min(l.Src, l.Dst) == 0 && max(l.Src, l.Dst) == 4 }
			i := slices.IndexFunc(links, one)
			require.True(t, one(links[i+1]))
			p.Topology.Links = slices.Delete(slices.Clone(links), i, i+2)
		}
		flows, err := growBoth(context.Background(), p)
		require.NoError(t, err)
		f := shuttles(flows)[1] // after that of the largest rate
		same, total := twinsOf(p.Topology), 0.0
		down := make([]float64, len(p.Topology.Links)) // by first twin
		for _, tr := range f.down[0] {
			total += float64(tr.Weight)
			for _, a := range tr.Arcs {
				down[same.of[a.Route[0]][0]] += float64(tr.Weight)
			}
		}
		for l, x := range down {
			part := x / total * f.speed * 25e9 / same.bandwidth(l) // of what the link can carry
			require.LessOrEqual(t, part, 0.56, "link %d", l)
		}
		algbw, err := fluid.AllReduce(context.Background(), p)
		require.NoError(t, err)
		r, err := New().Solve(context.Background(), p, solve.Options{Chunks: 96})
		require.NoError(t, err)
		require.LessOrEqual(t, algbw*float64(r.Makespan())/1e12/float64(p.Size), 1.02)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
}

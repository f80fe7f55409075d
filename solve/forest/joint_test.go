package forest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
)

func machines(t *testing.T, name string, failed int) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	if failed >= 0 {
		links := tp.Links[:0:0]
		for _, l := range tp.Links { // the rank takes part, over what is left to it
			if l.Src != failed && l.Dst != failed || tp.Switches[max(l.Src, l.Dst)-tp.Ranks].Reduces == model.SumsRead {
				links = append(links, l)
			}
		}
		tp.Links = links
	}
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 28, Cost: model.Pipelined}
}

// TestJoint: trees through switches that add span, use what SPEC 4.3 has them use, fit onto the links
// together, and reach the rates of closed forms, in parts of the largest bandwidth.
func TestJoint(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed int
		rate   float64
		less   float64 // which part of it may be missing, besides the tolerance
	}{
		{"dgxh100-nvls", -1, 8. / 9, 0},
		{"switch:4:read", -1, 4. / 5, 0},
		{"switch:16:read", -1, 16. / 17, 0},
		{"switch:8:turn", -1, 1, 0},
		{"dgxh100-nvls:2", -1, 8. / 9, 0},           // the NICs have room for 400 GB/s
		{"dgxh100-nvls:2", 3, 7. / 9, 0},            // seven have room for 350 GB/s
		{"dgxh100-nvls:4", -1, 400. / 450 / 1.5, 0}, // between four machines, without sums there
		{"dgxh100-nvls:4:sharp", -1, 8. / 9, 0.02},  // with them
		{"dgxh100-nvls:2:rails+spine+sharp", -1, 8. / 9, 0},
	} {
		p := machines(t, c.name, c.failed)
		forests, err := joint(context.Background(), p)
		require.NoError(t, err, c.name)
		require.Len(t, forests, 2, c.name)
		for i, f := range forests {
			load, total := make([]float64, len(p.Topology.Links)), 0.0
			for j := range f.down[0] {
				down := &f.down[0][j]
				up := f.paired[down]
				require.Equal(t, down.Root, up.Root)
				total += float64(down.Weight)
				for side, tr := range []*arborescence.Tree{up, down} {
					reaches(t, p, tr, side == ups)
					uses := used(p.Topology, tr, side == ups)
					require.Equal(t, uses, slices.Sorted(slices.Values(tr.Uses)), c.name)
					for _, l := range uses {
						load[l] += float64(down.Weight) / float64(p.Topology.Links[l].Bandwidth)
					}
				}
			}
			most := 0.0
			for _, l := range p.Topology.Links {
				most = max(most, float64(l.Bandwidth))
			}
			rate := total / slices.Max(load) / most
			require.LessOrEqual(t, rate, c.rate*(1+1e-6), c.name)
			require.GreaterOrEqual(t, rate, c.rate*(1-c.less-[]float64{2 * tolerance, flatness + tolerance}[i]), c.name)
		}
	}
}

// reaches checks that a tree leads from its root to all, or from all to it, one hop after the other.
func reaches(t *testing.T, p *model.Problem, tr *arborescence.Tree, up bool) {
	require.Len(t, tr.Arcs, len(p.Members())-1)
	arcs := slices.Clone(tr.Arcs)
	if up {
		slices.Reverse(arcs)
	}
	reached := map[int]bool{tr.Root: true}
	for _, a := range arcs {
		from, to := a.From, a.To
		if up {
			from, to = to, from
		}
		require.True(t, reached[from] && !reached[to])
		reached[to] = true
		require.Equal(t, a.From, p.Topology.Links[a.Route[0]].Src)
		require.Equal(t, a.To, p.Topology.Links[a.Route[len(a.Route)-1]].Dst)
	}
}

// used returns the links that the hops of a tree keep busy, ascending: those of a sum or a multicast
// once, and where ranks read sums the link on which a rank's own contribution goes.
func used(tp *model.Topology, tr *arborescence.Tree, up bool) (links []int) {
	streams := map[int][]arborescence.Arc{}
	for i, a := range tr.Arcs {
		number := a.Stream
		if number == 0 {
			number = -1 - i
		}
		streams[number] = append(streams[number], a)
	}
	for _, arcs := range streams {
		once := map[int]bool{}
		for _, a := range arcs {
			for _, l := range a.Route {
				once[l] = true
			}
		}
		at, w := arcs[0].From, tp.Links[arcs[0].Route[0]].Dst
		if up {
			at, w = arcs[0].To, tp.Links[arcs[0].Route[len(arcs[0].Route)-1]].Src
		}
		if len(arcs) > 1 && tp.Reduces(w) == model.SumsRead {
			for i, l := range tp.Links {
				if up && l.Src == at && l.Dst == w || !up && l.Src == w && l.Dst == at {
					once[i] = true
				}
			}
		}
		for l := range once {
			links = append(links, l)
		}
	}
	slices.Sort(links)
	return links
}

// TestThrough: makespans over those of the fluid limit, where machines differ, too.
func TestThrough(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed int
		rate   float64 // bytes per second
		over   float64
	}{
		{"dgxh100-nvls", -1, 400e9, 0.015},
		{"switch:8:turn", -1, 50 << 30, 0.005},
		{"dgxh100-nvls:2", 3, 350e9, 0.035},
	} {
		p := machines(t, c.name, c.failed)
		r, err := New().Solve(context.Background(), p, solve.Options{Chunks: 64})
		require.NoError(t, err)
		require.NoError(t, r.Schedule.Validate(r.Problem))
		_, joined := r.Problem.Joined(r.Schedule)
		require.True(t, joined, c.name)
		least := float64(p.Size) / c.rate * 1e12
		require.GreaterOrEqual(t, float64(r.Makespan()), least, c.name)
		require.LessOrEqual(t, float64(r.Makespan()), least*(1+c.over), c.name)
	}
}

package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestRepeated: periodic schedules are right, of broadcasts and of reductions, from any root, and about as fast as is
// known to be possible with a few transfers.
func TestRepeated(t *testing.T) {
	for _, c := range []struct {
		name string
		root int
		size int64
		cost model.CostModel
		us   float64
	}{
		{"torus:4x4", 3, 8 << 20, model.Pipelined, 43.9},
		{"torus:4x4", 3, 8 << 20, model.Blocking, 58.8},
		{"dgxh100:4", 13, 8 << 20, model.Pipelined, 37.3},
		{"dgxh100:3", 13, 64 << 10, model.Pipelined, 4.35},
		{"dgxh100:2", 3, 1 << 20, model.Pipelined, 7},
		{"fattree:4x4", 5, 8 << 20, model.Pipelined, 183.3},
		{"switch:16", 1, 1 << 20, model.Pipelined, 21.7},
		{"switch:16", 1, 1 << 10, model.Blocking, 3.11},
		{"rfs:2x2x4", 1, 100, model.Pipelined, 2.51},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := problem(t, c.name, model.Reduce)
			p.Collective.Root, p.Size, p.Cost = c.root, c.size, c.cost
			back, ok := solve.Reverse(p)
			require.True(t, ok)
			all, err := packings(context.Background(), context.Background(), back)
			require.NoError(t, err)
			choices := append(slices.Collect(regular(back)), period{trees: equal(all[0].Trees)})
			r := repeated(context.Background(), back, slices.Values(choices), 1<<13)
			require.NotNil(t, r.Schedule)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			require.LessOrEqual(t, float64(r.Makespan())/1e6, c.us)
			p.Chunks = r.Problem.Chunks
			require.NoError(t, solvetest.Right(p, solve.ReverseSchedule(p, r.Schedule)))
		})
	}
}

// spans fails unless each tree of a shape over n nodes spans them from node 0, parents before children.
func (s shape) spans(t *testing.T, n int) {
	for _, arcs := range s {
		seen := map[int]bool{0: true}
		for _, a := range arcs {
			require.True(t, seen[a.from] && !seen[a.to])
			seen[a.to] = true
		}
		require.Len(t, seen, n)
	}
}

// places returns how many colours a shape has; it fails if a node sends two arcs, or receives two, in one place.
func (s shape) places(t *testing.T) int {
	type use struct {
		node, colour int
		in           bool
	}
	used, count := map[use]bool{}, 0
	for _, arcs := range s {
		for _, a := range arcs {
			require.GreaterOrEqual(t, a.colour, 0)
			for _, u := range []use{{a.from, a.colour, false}, {a.to, a.colour, true}} {
				require.False(t, used[u])
				used[u] = true
			}
			count = max(count, a.colour+1)
		}
	}
	return count
}

// TestShapes: trees of all shapes span, and have as many places in a period as a node has arcs.
func TestShapes(t *testing.T) {
	for d := 1; d <= 6; d++ {
		for turn := 1; turn <= 3; turn++ {
			for _, skewed := range []bool{false, true} {
				s := binomial(1<<d, turn, skewed)
				require.Len(t, s, d)
				s.spans(t, 1<<d)
				require.Equal(t, d, s.places(t))
			}
		}
	}
	require.Nil(t, binomial(6, 1, false))
	for n := 3; n < 20; n++ {
		for k := 1; k < n; k++ {
			rotated(n, 2, k).spans(t, n)
			s := rotated(n, 1, k)
			s.spans(t, n)
			require.LessOrEqual(t, s.places(t), max(len(s), k))
		}
	}
}

// TestColour: arcs that have nothing to do with each other also have as few places as any node has arcs.
func TestColour(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + r.IntN(8)
		var arcs []link
		out, in := make([]int, n), make([]int, n)
		for range r.IntN(60) {
			a := link{r.IntN(n), r.IntN(n), 0}
			arcs = append(arcs, a)
			out[a.from]++
			in[a.to]++
		}
		s := shape{arcs}
		s.colour(n)
		require.LessOrEqual(t, s.places(t), max(slices.Max(out), slices.Max(in)))
	}
}

// TestLine: what a line says of when a link is free is what looking at each moment says.
func TestLine(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		period := model.Time(1 + r.IntN(40))
		var x line
		busy := make([]bool, period)
		for range 20 {
			at, lasts := model.Time(r.IntN(int(period))), model.Time(r.IntN(int(period)+2))
			free := func(at model.Time) bool {
				for i := range lasts {
					if busy[(at+i)%period] {
						return false
					}
				}
				return lasts <= period
			}
			wait := model.Time(0)
			for wait < period && !free(at+wait) {
				wait++
			}
			require.Equal(t, wait, min(period, x.wait(at, lasts, period)), "seed %d", seed)
			if wait == period {
				continue
			}
			x.take((at+wait)%period, lasts, period)
			for i := range lasts {
				busy[(at+wait+i)%period] = true
			}
		}
	}
}

// TestRepeatedMore: where a chunk takes as many periods as there are hops to the farthest rank, there are about as many transfers
// as there may be, in the order of their starts.
func TestRepeatedMore(t *testing.T) {
	tp, err := topo.Parse("torus:6x6", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 1 << 30, Cost: model.Pipelined}
	f, err := Trees(context.Background(), p)
	require.NoError(t, err)
	const most = 1 << 13
	r := repeated(context.Background(), p, slices.Values([]period{{trees: equal(f.Whole.Trees)}}), most)
	n := len(r.Schedule.Transfers)
	require.Greater(t, n, most/2)
	require.LessOrEqual(t, n, most)
	require.True(t, slices.IsSortedFunc(r.Schedule.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }))
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}

// TestSeated: where hops between machines have colours, a period that is no longer than its busiest link needs has room for
// all other hops at places that are an edge colouring, and not always as they come.
func TestSeated(t *testing.T) {
	tight := 0
	for _, hosts := range []int{4, 8, 16} {
		p := problem(t, fmt.Sprint("dgxh100:", hosts), model.Broadcast)
		p.Size = 1 << 20
		groups := newClusters(p)
		c := newCycle(p, period{trees: groups.trees(rotated(hosts, 1, hosts-2))})
		require.NotEmpty(t, c.seats)
		chunks := int64(2 * c.trees)
		size := solve.Evenly(p.Space(), chunks)[0].Size
		least := c.shortest(size)
		if !c.place(context.Background(), size, least, soon) && !c.place(context.Background(), size, least, aligned) {
			tight++
		}
		require.True(t, c.place(context.Background(), size, least, seated), hosts)
		require.True(t, c.place(context.Background(), size, least, mixed), hosts)
		for _, way := range []packing{seated, mixed} {
			if hosts < 16 {
				r := beat{c: c, chunks: chunks, period: least, way: way}.schedule(context.Background())
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			}
		}
	}
	require.Positive(t, tight)
	p := problem(t, "fattree:4x4", model.Broadcast)
	require.Empty(t, newCycle(p, period{trees: stars(p, newNeighbours(p))}).seats, "all have colours")
}

// TestMostTransfers: periodic broadcasts make no more transfers than there is time to verify, over links between ranks or over switches.
func TestMostTransfers(t *testing.T) {
	made := 0
	for _, name := range []string{"fattree:8x8", "torus:8x8", "full:40"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 64 << 20, Cost: model.Pipelined}
		for _, most := range []int{5_000, 50_000} {
			trees := slices.AppendSeq([]period(nil), regular(p))
			r := repeated(t.Context(), p, slices.Values(trees), linksRepeated(p, solve.Options{MostTransfers: most}))
			if r.Schedule == nil {
				require.Empty(t, trees, name)
				continue
			}
			made++
			require.LessOrEqual(t, len(r.Schedule.Transfers), most, name)
			require.Greater(t, len(r.Schedule.Transfers), most/20, name)
		}
	}
	require.Positive(t, made)
}

// TestShares: chunks are dealt to trees so that the last has come as soon as can be, which is when the last of the soonest chunks of all trees
// has.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cycle{trees: rapid.IntRange(1, 6).Draw(t, "trees")}
		for i := range c.trees {
			for range rapid.IntRange(1, 2).Draw(t, "steps") {
				c.steps = append(c.steps, step{tree: i, end: model.Time(rapid.IntRange(1, 60).Draw(t, "end"))})
			}
		}
		chunks, period := rapid.IntRange(1, 40).Draw(t, "chunks"), model.Time(rapid.IntRange(0, 30).Draw(t, "period"))
		var comes []model.Time // chunks of all trees
		for i := range c.trees {
			first := model.Time(0)
			for _, s := range c.steps {
				if s.tree == i {
					first = max(first, s.end)
				}
			}
			for n := range chunks {
				comes = append(comes, first+model.Time(n)*max(1, period)) // what is empty takes no time
			}
		}
		slices.Sort(comes)
		of, end := shares(c.comes(), int64(chunks), period)
		require.Equal(t, comes[chunks-1], end)
		var numbers, want []int32
		for i, list := range c.numbered(int64(chunks), period) {
			require.Len(t, list, int(of[i]))
			for n, k := range list {
				numbers = append(numbers, k)
				for _, s := range c.steps {
					require.False(t, s.tree == i && s.end+model.Time(n)*period > end)
				}
			}
		}
		for k := range chunks {
			want = append(want, int32(k))
		}
		require.ElementsMatch(t, want, numbers)
	})
}

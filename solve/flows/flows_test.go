package flows

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestSuite(t *testing.T) { solvetest.Run(t, New(), solvetest.Config{Serves: 50}) }

func moved(t require.TestingT, network string, bytes [][]int64) *model.Problem {
	tp, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	group := make([]int, len(bytes))
	for i := range group {
		group[i] = i
	}
	c, err := traffic.AllToAll(group, bytes)
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: *c, Size: c.Ends[len(c.Ends)-1], Cost: model.Pipelined}
	require.NoError(t, p.Validate())
	return p
}

// greatest returns the greatest sum of a row or a column, without the diagonal.
func greatest(bytes [][]int64) int64 {
	most := int64(0)
	for i := range bytes {
		row, column := int64(0), int64(0)
		for j := range bytes {
			if i != j {
				row, column = row+bytes[i][j], column+bytes[j][i]
			}
		}
		most = max(most, row, column)
	}
	return most
}

// TestKönig: on one switch the makespan is the time of the greatest sum and the latency, and a
// picosecond for each permutation at most, whatever the matrix.
func TestKönig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "n")
		bytes := make([][]int64, n)
		for i := range bytes {
			bytes[i] = rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 9), rapid.Int64Range(0, 1<<20)), n, n).Draw(t, "row")
		}
		most := greatest(bytes)
		if most == 0 {
			return
		}
		p := moved(t, fmt.Sprintf("switch:%d", n), bytes)
		q, s, slots := birkhoff(p, func() bool { return false })
		require.NotNil(t, s)
		require.NoError(t, q.Validate())
		require.LessOrEqual(t, slots, n*n+2*n)
		require.NoError(t, solvetest.Right(q, s))
		links := q.Topology.Links
		least := links[0].Alpha + links[1].Alpha + model.TransferTime(most, links[0].Bandwidth)
		require.GreaterOrEqual(t, solve.End(s.Transfers), least)
		require.LessOrEqual(t, solve.End(s.Transfers), least+model.Time(len(q.Chunks)))
	})
}

// TestExperts: the skewed matrices of testdata on one switch and over NICs, against what must
// leave or enter a rank, and a machine.
func TestExperts(t *testing.T) {
	for _, x := range []struct {
		experts int
		network string
		above   float64 // the bound, at most
	}{{8, "dgxh100", 1.0001}, {16, "switch:16", 1.0001}, {16, "dgxh100:2", 1.06}, {64, "switch:64", 1.001}} {
		f, err := os.Open(fmt.Sprintf("../../testdata/traffic/moe%d.csv", x.experts))
		require.NoError(t, err)
		table, err := traffic.Read("moe.csv", f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		bytes, err := table.Matrix(x.experts)
		require.NoError(t, err)
		wanted := make([]int64, x.experts)
		for i := range bytes {
			for j, n := range bytes[i] {
				wanted[j] += n
			}
		}
		least, most := wanted[0], wanted[0]
		for _, n := range wanted {
			least, most = min(least, n), max(most, n)
		}
		require.InDelta(t, 10, float64(most)/float64(least), 1.5, "the skew")
		p := moved(t, x.network, bytes)
		bound := model.TransferTime(greatest(bytes), p.Topology.Links[0].Bandwidth)
		if x.network == "dgxh100:2" {
			for _, machine := range []int{0, 1} {
				out, in := int64(0), int64(0)
				for i := range bytes {
					for j := range bytes {
						switch {
						case i/8 == machine && j/8 != machine:
							out += bytes[i][j]
						case i/8 != machine && j/8 == machine:
							in += bytes[i][j]
						}
					}
				}
				bound = max(bound, model.TransferTime(max(out, in), 8*50e9))
			}
		}
		r, err := New().Solve(context.Background(), p, solve.Options{Seed: 1, Bound: bound})
		require.NoError(t, err)
		require.NotNil(t, r.Schedule, x.network)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		t.Logf("%d experts on %s: %v, at least %v, %s", x.experts, x.network, r.Makespan(), bound, r.Note)
		require.LessOrEqual(t, float64(r.Makespan()), float64(bound)*x.above+3e6, x.network)
	}
}

func TestNotServed(t *testing.T) {
	p := moved(t, "switch:3", [][]int64{{0, 1, 0}, {0, 0, 5}, {0, 0, 0}})
	for want, change := range map[string]func(q *model.Problem){
		"several ranks want chunk 0": func(q *model.Problem) {
			q.Collective.Post = append([]model.Condition{{Rank: 0, Value: model.Unit(0)}}, q.Collective.Post...)
		},
		"is nowhere at the start":   func(q *model.Problem) { q.Collective.Pre = q.Collective.Pre[1:] },
		"fills links, which rounds": func(q *model.Problem) { q.Cost = model.Rounds },
		"all arrive at once":        func(q *model.Problem) { q.Release = []model.Time{0, 1, 0} },
		"which allgather does not":  func(q *model.Problem) { q.Collective = model.Collective{Kind: model.AllGather} },
	} {
		q := *p
		change(&q)
		err := New().Serves(&q)
		require.ErrorIs(t, err, solve.ErrNotServed, want)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, New().Serves(p))
}

// TestStopped: a method that is told to end keeps what it has, with the reason why it ended.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := New().Solve(ctx, moved(t, "ring:4", [][]int64{{0, 9, 9, 9}, {9, 0, 9, 9}, {9, 9, 0, 9}, {9, 9, 9, 0}}), solve.Options{})
	require.NoError(t, err)
	require.Nil(t, r.Schedule)
	require.Equal(t, solve.Interrupted, r.Stop)
}

package stragglar

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// Several ranks late together: what SAT solvers find to be the least, where they do, and
// else not far above (n-1+l)/n; every round one send and one receive per rank; all parts
// come together once, and end everywhere.
func TestGather(t *testing.T) {
	for _, c := range []struct{ n, late, chunks, most int }{
		{3, 2, 3, 4}, {3, 2, 6, 8}, {4, 2, 8, 10}, {4, 3, 4, 6}, // the least there can be
		{4, 2, 4, 6}, {5, 2, 5, 8}, {6, 2, 6, 9}, {7, 2, 7, 12}, {8, 2, 16, 22}, {8, 2, 32, 38}, {8, 3, 24, 33}, {8, 4, 32, 44},
		{2, 1, 2, 3}, {8, 7, 8, 14}, {16, 4, 48, 69},
	} {
		ready := c.n - c.late
		p := &model.Problem{Topology: &model.Topology{Ranks: c.n}, Release: make([]model.Time, c.n)}
		for r := ready; r < c.n; r++ {
			p.Release[r] = 1
		}
		g := lateGroup(p, 1, c.chunks)
		require.Equal(t, ready, g.ready)
		rounds, err := gather(context.Background(), c.n, ready, g.roots, g.owners)
		require.NoError(t, err)
		require.LessOrEqual(t, len(rounds), c.most, "%+v", c)
		require.GreaterOrEqual(t, len(rounds)*c.n, c.chunks*(c.n-1+c.late), "%+v", c)

		has := make([][]map[int]bool, c.n) // by rank and chunk: parts, -1 the sum of the ready ranks
		for r := range has {
			has[r] = make([]map[int]bool, c.chunks)
			for k := range has[r] {
				has[r][k] = map[int]bool{}
				if r >= ready {
					has[r][k][r] = true
				} else if g.owners[k] == r {
					has[r][k][-1] = true
				}
			}
		}
		for u, round := range rounds {
			sends, receives := map[int]bool{}, map[int]bool{}
			read := make([]map[int]bool, len(round.moves))
			for i, m := range round.moves {
				require.False(t, sends[m.from] || receives[m.to], "%+v round %d", c, u)
				sends[m.from], receives[m.to] = true, true
				read[i] = map[int]bool{}
				for part := range has[m.from][m.chunk] {
					read[i][part] = true
				}
				require.NotEmpty(t, read[i])
			}
			for i, m := range round.moves {
				if m.op == model.Copy {
					require.Len(t, read[i], c.late+1, "%+v round %d: spreads what is not complete", c, u)
					has[m.to][m.chunk] = read[i]
					continue
				}
				for part := range read[i] {
					require.False(t, has[m.to][m.chunk][part], "%+v round %d: adds twice", c, u)
					has[m.to][m.chunk][part] = true
				}
			}
		}
		for r := range has {
			for k := range has[r] {
				require.Len(t, has[r][k], c.late+1, "%+v: rank %d chunk %d", c, r, k)
			}
		}
	}
}

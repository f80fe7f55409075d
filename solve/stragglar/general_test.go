package stragglar

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// carryOut executes rounds bit by bit: who has the ready ranks' sum of a chunk, who
// has the straggler's part. It fails where a rank sends or receives twice in a round,
// sends what it has not, adds what is there already, or overwrites what it needs.
func carryOut(t *testing.T, n int, owners []int, rounds []Round) {
	t.Helper()
	const ready, late, both = 1, 2, 3
	has := make([][]uint8, n)
	for r := range has {
		has[r] = make([]uint8, len(owners))
	}
	for c, o := range owners {
		has[o][c], has[n-1][c] = ready, late
	}
	for u, round := range rounds {
		sends, receives := make([]bool, n), make([]bool, n)
		type write struct {
			rank, chunk int
			value       uint8
		}
		var writes []write
		for _, m := range round.moves {
			where := fmt.Sprintf("n=%d m=%d round %d: %+v", n, len(owners), u+1, m)
			if sends[m.from] || receives[m.to] {
				require.Fail(t, "two transfers on one port", where)
			}
			sends[m.from], receives[m.to] = true, true
			from, to := has[m.from][m.chunk], has[m.to][m.chunk]
			switch {
			case from == 0:
				require.Fail(t, "sends what it has not", where)
			case m.op == model.Reduction && (to == 0 || from&to != 0):
				require.Fail(t, "adds to nothing, or twice", where)
			case m.op == model.Copy && from != both:
				require.Fail(t, "spreads what is not complete", where)
			case to == both:
				require.Fail(t, "receives what it has", where)
			}
			if m.op == model.Reduction {
				from |= to
			}
			writes = append(writes, write{m.to, m.chunk, from})
		}
		for _, w := range writes {
			has[w.rank][w.chunk] = w.value
		}
	}
	for r := range has {
		for c, v := range has[r] {
			if v != both {
				require.Fail(t, "not complete", "n=%d m=%d: rank %d, chunk %d: %d", n, len(owners), r, c, v)
			}
		}
	}
}

// All of them, with all numbers of chunks: go test -run TestSpread -ranks 300 -all
var (
	upTo = flag.Int("ranks", 140, "largest number of ranks")
	full = flag.Bool("all", false, "several times as many chunks as ranks, too, where there are many")
)

// TestSpread: m + ⌈log2 n⌉ - 1 rounds, no more, for every number of ranks and several
// numbers of chunks.
func TestSpread(t *testing.T) {
	for n := 2; n <= *upTo; n++ {
		for _, m := range []int{1, 2, 3, n - 1, 2 * (n - 1), 3*(n-1) + 1} {
			if n > 40 && m > n && !*full {
				continue
			}
			owners := RoundRobin(n, m)
			rounds, err := Spread(n, owners)
			require.NoError(t, err, "n=%d m=%d", n, m)
			require.Len(t, rounds, m+ceilLog2(n)-1, "n=%d m=%d", n, m)
			carryOut(t, n, owners, rounds)
		}
	}
	for _, n := range []int{255, 256, 257, 258, 300} {
		owners := RoundRobin(n, n-1)
		rounds, err := Spread(n, owners)
		require.NoError(t, err)
		require.Len(t, rounds, n-2+ceilLog2(n))
		carryOut(t, n, owners, rounds)
	}
}

// TestSpreadOwners: any order in which ⌈log2 n⌉ successive owners differ.
func TestSpreadOwners(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 1500 {
		n := 4 + rng.IntN(50)
		if n == 5 {
			continue
		}
		q, m := ceilLog2(n), 1+rng.IntN(60)
		last := make([]int, n-1)
		for x := range last {
			last[x] = -q
		}
		var owners []int
		for c := range m {
			var can []int
			for x := range last {
				if c-last[x] >= q {
					can = append(can, x)
				}
			}
			o := can[rng.IntN(len(can))]
			last[o] = c
			owners = append(owners, o)
		}
		rounds, err := Spread(n, owners)
		require.NoError(t, err)
		require.Len(t, rounds, m+q-1)
		carryOut(t, n, owners, rounds)
	}
}

// TestPairs: for even n every round is a matching of pairs.
func TestPairs(t *testing.T) {
	for n := 2; n <= 64; n += 2 {
		rounds, err := Spread(n, RoundRobin(n, n+3))
		require.NoError(t, err)
		for u, round := range rounds {
			partner := map[int]int{}
			for _, m := range round.moves {
				for _, p := range [][2]int{{m.from, m.to}, {m.to, m.from}} {
					if with, ok := partner[p[0]]; ok {
						require.Equal(t, with, p[1], "n=%d round %d", n, u+1)
					}
					partner[p[0]] = p[1]
				}
			}
		}
	}
}

func TestSpreadRefuses(t *testing.T) {
	for want, bad := range map[string]struct {
		n      int
		owners []int
	}{
		"1 ranks, want 2 or more":                                                 {1, []int{0}},
		"no chunks, want one or more":                                             {4, nil},
		"chunk 1 is owned by 3, want a ready rank, 0 to 2":                        {4, []int{0, 3}},
		"rank 0 owns chunks 0 and 2, want a distance of ⌈log2 n⌉ = 3 or more":     {8, []int{0, 1, 0}},
		"owners [0 0], want A, then B once or more, then A, for 3 ranks":          {3, []int{0, 0}},
		"chunk 4 is owned by 1, want 0, the owner of chunk 0: 5 ranks take turns": {5, []int{0, 1, 2, 3, 1}},
	} {
		_, err := Spread(bad.n, bad.owners)
		require.EqualError(t, err, want)
	}
}

func BenchmarkSpread(b *testing.B) {
	for _, n := range []int{192, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			owners := RoundRobin(n, n-1)
			for b.Loop() {
				if _, err := Spread(n, owners); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package replay

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

// Every run draws the same values; -rapid.seed on the command line draws others.
func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

// drawMultiset draws how often each of some ranks contributes, and a value of that.
func drawMultiset(t *rapid.T, ranks int) (counts []uint32, v model.Value) {
	counts = make([]uint32, ranks)
	var terms []model.Term
	for range rapid.IntRange(1, 4).Draw(t, "terms") {
		r := rapid.IntRange(0, ranks-1).Draw(t, "rank")
		if counts[r] == 0 {
			counts[r] = uint32(rapid.SampledFrom([]int{1, 1, 2, 3, 1 << 20}).Draw(t, "count"))
			terms = append(terms, model.Term{Rank: r, Count: int(counts[r])})
		}
	}
	return counts, model.Multiset(terms...)
}

// TestValues sets values against lists of counts: what they hold after any sums, and which
// of them are equal.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.SampledFrom([]int{1, 2, 3, 64, 65, 130}).Draw(t, "ranks")
		op := rapid.SampledFrom([]model.Operator{model.Sum, model.Max}).Draw(t, "op")
		a := newValues(ranks, op, maxWords)
		var made []value
		var counts [][]uint32
		for range rapid.IntRange(1, 4).Draw(t, "values") {
			c, m := drawMultiset(t, ranks)
			made, counts = append(made, a.of(m)), append(counts, c)
		}
		for range rapid.IntRange(0, 8).Draw(t, "sums") {
			i, j := rapid.IntRange(0, len(made)-1).Draw(t, "left"), rapid.IntRange(0, len(made)-1).Draw(t, "right")
			sum := make([]uint32, ranks)
			for r := range sum {
				sum[r] = min(counts[i][r]+counts[j][r], maxCount)
			}
			made, counts = append(made, a.add(made[i], made[j])), append(counts, sum)
		}
		for i, v := range made {
			for r, want := range counts[i] {
				if op.Idempotent() {
					want = min(want, 1)
				}
				require.Equal(t, want, a.count(v, r), "value %d, rank %d", i, r)
			}
			for j, w := range made {
				same := true
				for r := range counts[i] {
					x, y := counts[i][r], counts[j][r]
					same = same && (x == y || op.Idempotent() && x > 0 && y > 0)
				}
				require.Equal(t, same, a.equal(v, w), "values %d and %d", i, j)
			}
		}
	})
}

// TestOfAnyOrder: what a value holds does not depend on the order of its terms.
func TestOfAnyOrder(t *testing.T) {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		counts := [3]uint32{}
		for i, r := range order {
			counts[r] = uint32(i + 1)
		}
		a := newValues(3, model.Sum, maxWords)
		v := a.of(model.Once(order[:]))
		w := a.of(model.Multiset(model.Term{Rank: order[0], Count: 1}, model.Term{Rank: order[2], Count: 3}, model.Term{Rank: order[1], Count: 2}))
		for r := range 3 {
			require.EqualValues(t, 1, a.count(v, r), "%v", order)
			require.Equal(t, counts[r], a.count(w, r), "%v", order)
		}
	}
}

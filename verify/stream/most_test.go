package stream

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestMost: the sweep over sorted ends finds what counting at every instant finds.
func TestMost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		draw := func() model.Interval {
			from := model.Time(r.IntN(12))
			return model.Interval{From: from, To: from + 1 + model.Time(r.IntN(6))}
		}
		x := draw()
		var spans []model.Interval
		for range r.IntN(8) {
			spans = append(spans, draw())
		}
		want := 0
		for at := x.From; at < x.To; at++ {
			n := 1
			for _, y := range spans {
				if y.From <= at && at < y.To {
					n++
				}
			}
			want = max(want, n)
		}
		require.Equal(t, want, most(spans, x), "%v in %v", spans, x)
	}
}

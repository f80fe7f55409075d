package oneshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// Images of a transfer that is on two links of an orbit at a time would meet: it is not placed, and all that was placed before can be taken back.
func TestImagesThatMeet(t *testing.T) {
	s := searchOn(t, "dragonfly:3x2x2")
	s.p.Size = 2 << 20
	s.most, s.large, s.leading, s.makespan = maxComposed, map[int]int64{}, true, model.MaxTime
	plans := s.plans(layouts(s.p))
	met, placed := 0, 0
	for _, q := range plans {
		for _, order := range s.images.orders {
			s.together(order)
			b := s.divided(2 * order)
			switch ok := b.compose(q); {
			case b.clash:
				require.False(t, ok)
				met++
			case ok:
				placed++
			}
			b.cancel(0)
			require.Empty(t, b.transfers)
		}
	}
	require.Positive(t, met)
	require.Positive(t, placed)
}

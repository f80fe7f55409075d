package broadcast

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// TestReordered: whole places of a period can be exchanged, in any way, and some order of them has chunks wait less.
func TestReordered(t *testing.T) {
	p := problem(t, "dragonfly:4x4x4", model.Broadcast)
	p.Size = 8 << 20
	c := newCycle(p, period{stars(p, newNeighbours(p)), 15})
	require.Equal(t, 15, c.trees)
	size := solve.Evenly(p.Space(), c.inStep(400*15))[0].Size
	last := func() (end model.Time) {
		require.True(t, c.place(context.Background(), size, c.skew, soon))
		for _, s := range c.steps {
			end = max(end, s.end)
		}
		return end
	}
	best := last()
	for i := range c.steps {
		c.steps[i].colour = c.steps[i].colour * 7 % 15
	}
	worse := last()
	require.Greater(t, worse, best)
	c.reorder()
	require.Less(t, last(), worse)
}

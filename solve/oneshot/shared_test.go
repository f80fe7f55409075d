package oneshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// Images of chunks share all of a buffer whatever its size: what is left over is a chunk of which fewer images are sent. All is right then, and each
// byte is in one chunk.
func TestShared(t *testing.T) {
	for _, size := range []int64{1 << 16, 1<<16 - 12, 1<<16 - 2, 1<<16 - 1, 9 << 12} {
		s := searchOn(t, "torus:3x3")
		s.p.Size = size
		s.others, s.most, s.large, s.leading = model.MaxTime, maxComposed, map[int]int64{}, true
		s.guide, s.images = newGuide(s.p, s.ways), newImages(s)
		for range s.p.Topology.Links {
			s.slowness = append(s.slowness, 1)
		}
		plans := append(s.gridPlans(), s.ringPlans()...)
		require.NotEmpty(t, plans)
		s.together(9)
		require.True(t, s.shared(9))
		require.Less(t, s.combine(plans[0], 180), model.MaxTime, "%d bytes", size)
		require.Equal(t, 9, s.imagesOf)
		require.InDelta(t, 180, len(s.best.Chunks), 9)
		at := int64(0)
		for _, c := range s.best.Chunks {
			require.Equal(t, at, c.Offset)
			require.Positive(t, c.Size)
			at += c.Size
		}
		require.Equal(t, size, at)
		left := size % (9 * s.unit()) / s.unit()
		require.Equal(t, int(left), len(s.best.Chunks)%9, "%d bytes", size)
		r := s.result(solve.Done)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
	s := searchOn(t, "torus:3x3")
	s.p.Size = 9 * 4 * fewShared // with nothing left over
	require.True(t, s.shared(9))
	s.p.Size -= 4
	require.False(t, s.shared(9))
	s.p.Size = 36
	require.True(t, s.shared(9))
	s.p.Size = 32
	require.False(t, s.shared(9))
}

package pace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/pace"
)

// three ranks at a switch at which sums are read: links 2r to it, 2r+1 from it, of 1 us and a byte a picosecond.
func atSwitch() *model.Problem {
	t := &model.Topology{Name: "three", Ranks: 3, Switches: []model.Switch{{Name: "s", Copies: true, Reduces: model.SumsRead}}}
	for r := range 3 {
		t.Links = append(t.Links, model.Link{Src: r, Dst: 3, Alpha: model.Microsecond, Bandwidth: 1e12}, model.Link{Src: 3, Dst: r, Alpha: model.Microsecond, Bandwidth: 1e12})
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce}, Size: 2000, Cost: model.Pipelined}
	return p.WithChunks(2)
}

// TestStreams: terms wait at the switch for the link of the reader, which its own contribution keeps busy, too; what is
// written waits for the sum; a branch waits where its link is busy.
func TestStreams(t *testing.T) {
	const us, b = model.Microsecond, 1000 * model.Picosecond
	p := atSwitch()
	read := func(chunk int32) pace.Stream {
		return pace.Stream{Chunk: chunk, Op: model.Reduction, Routes: [][]int{{2, 1}, {4, 1}}} // by rank 0
	}
	write := pace.Stream{Op: model.Copy, Routes: [][]int{{0, 3}, {0, 5}}, Ended: []int32{0}}
	s, err := pace.Streams(t.Context(), p, []pace.Stream{read(0), read(1), write})
	require.NoError(t, err)
	var times [][2]model.Time
	for _, x := range s.Transfers {
		times = append(times, [2]model.Time{x.Start, x.End})
	}
	end := 2*us + b // of the first sum
	require.Equal(t, [][2]model.Time{{0, end}, {0, end}, {b, end + b}, {b, end + b}, {end, 2 * end}, {end, 2 * end}}, times)
	require.NoError(t, s.Validate(p))
	moved := pace.Stream{Chunk: 1, Op: model.Copy, Routes: [][]int{{2, 5}}, Ended: []int32{0}} // takes the link of a branch
	s, err = pace.Streams(t.Context(), p, []pace.Stream{read(0), moved, write})
	require.NoError(t, err)
	require.Equal(t, []model.Time{2 * end, 2*end + b}, []model.Time{s.Transfers[3].End, s.Transfers[4].End})

	for want, all := range map[string][]pace.Stream{
		"wait for each other":       {{Op: model.Copy, Routes: [][]int{{0, 3}}, Ended: []int32{1}}, {Op: model.Copy, Routes: [][]int{{0, 3}}, Landed: []int32{0}}},
		"want routes over a switch": {{Op: model.Copy, Routes: [][]int{{0, 3}, {2, 5}}}},
	} {
		_, err := pace.Streams(t.Context(), p, all)
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = pace.Streams(ctx, p, []pace.Stream{read(0)})
	require.ErrorIs(t, err, context.Canceled)
	p.Cost = model.Rounds
	_, err = pace.Streams(t.Context(), p, []pace.Stream{read(0)})
	require.ErrorContains(t, err, "rounds")
}

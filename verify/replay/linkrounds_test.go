package replay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// In link-rounds a rank uses all of its links in one round, each once, and a chunk
// goes one hop; rounds have one send and one receive per rank.
func TestLinkRounds(t *testing.T) {
	link := func(u, v int) model.Link { return model.Link{Src: u, Dst: v, Alpha: 1, Bandwidth: 1e9} }
	// Links: 0: 0->1, 1: 0->2, 2: 1->2, 3: 2->0.
	p := (&model.Problem{
		Topology:   &model.Topology{Name: "triangle", Ranks: 3, Links: []model.Link{link(0, 1), link(0, 2), link(1, 2), link(2, 0)}},
		Collective: model.Collective{Kind: model.Broadcast}, Size: 8, Cost: model.LinkRounds,
	}).WithChunks(1)
	both := &model.Schedule{Form: model.InRounds, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{
		{Src: 0, Dst: 1, Route: 0, Op: model.Copy, Start: 0, End: 1}, {Src: 0, Dst: 2, Route: 1, Op: model.Copy, Start: 0, End: 1},
	}}
	relayed := &model.Schedule{Form: model.InRounds, Routes: [][]int{{0}, {0, 2}}, Transfers: []model.Transfer{
		{Src: 0, Dst: 1, Route: 0, Op: model.Copy, Start: 0, End: 1}, {Src: 0, Dst: 2, Route: 1, Op: model.Copy, Start: 1, End: 2},
	}}
	codes := func(p *model.Problem, s *model.Schedule) (codes []verify.Code) {
		for _, v := range Check(context.Background(), p, s).Violations {
			codes = append(codes, v.Code)
		}
		return codes
	}
	require.Empty(t, codes(p, both))
	require.Equal(t, []verify.Code{verify.NoSuchLink}, codes(p, relayed))
	twice := *both
	twice.Transfers = append(twice.Transfers[:2:2], twice.Transfers[0])
	require.Contains(t, codes(p, &twice), verify.LinkOverlap)

	single := *p
	single.Cost = model.Rounds
	require.Equal(t, []verify.Code{verify.PortOverload}, codes(&single, both))
	require.Empty(t, codes(&single, relayed))
}

package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/workload"
)

// What cannot be one collective is refused with the reason; what can has the transfers of all, at their times.
func TestOne(t *testing.T) {
	net := &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e12}, {Src: 1, Dst: 0, Bandwidth: 1e12}}}
	send := func(chunk, src int32, at model.Time) model.Transfer {
		return model.Transfer{Chunk: chunk, Src: src, Dst: 1 - src, Route: src, Start: at, End: at + 8}
	}
	made := func(change func(*workload.Schedule)) *workload.Schedule {
		w := &workload.Workload{Topology: net, Cost: model.Pipelined}
		for i, from := range []int64{0, 8} {
			w.Ops = append(w.Ops, workload.Op{ID: string(rune('a' + i)), Kind: "broadcast", Root: i, Size: 8, Chunks: []model.Chunk{{Size: 8}}, Buffer: workload.Region{Buffer: "x", Offset: from}})
		}
		s := &workload.Schedule{Workload: w, Programs: []*model.Schedule{
			{Form: model.Timed, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{send(0, 0, 0)}},
			{Form: model.Timed, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{send(0, 1, 0)}}},
			Placed: []workload.Placement{{Op: 0, At: 5}, {Op: 1, Program: 1, At: 2}}}
		change(s)
		return s
	}
	p, one, err := made(func(*workload.Schedule) {}).One(model.Collective{Kind: model.AllGather})
	require.NoError(t, err)
	require.Equal(t, []model.Chunk{{Size: 8}, {Offset: 8, Size: 8}}, p.Chunks)
	require.Len(t, one.Transfers, 2)
	require.Equal(t, []model.Time{2, 5}, []model.Time{one.Transfers[0].Start, one.Transfers[1].Start})
	require.Equal(t, []int32{1, 0}, []int32{one.Transfers[0].Chunk, one.Transfers[1].Chunk})
	require.Equal(t, []int{1}, one.Routes[one.Transfers[0].Route])
	for want, change := range map[string]func(*workload.Schedule){
		"goes on for ever":                         func(s *workload.Schedule) { s.Workload.Periodic = true },
		`operation b: works on "y", want "x"`:      func(s *workload.Schedule) { s.Workload.Ops[1].Buffer.Buffer = "y" },
		"operation b: want collectives that":       func(s *workload.Schedule) { s.Workload.Ops[1].Kind = workload.Compute },
		"operation a: want collectives that":       func(s *workload.Schedule) { s.Workload.Ops[0].Operator = "max" },
		"operation a: its chunk 0 is cut by anoth": func(s *workload.Schedule) { s.Workload.Ops[1].Buffer.Offset = 4 },
	} {
		_, _, err := made(change).One(model.Collective{Kind: model.AllReduce})
		require.ErrorContains(t, err, want)
	}
}

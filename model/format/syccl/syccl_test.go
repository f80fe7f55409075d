package syccl

import (
	"strings"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/stretchr/testify/require"
)

const good = `{"coll_name": "AllGather", "ngpus": 2, "chunk_size_byte": 64, "num_algs": 2, "alg_times": [2.5, 3],
 "algorithms": [{"final_schedule": {"Time": 2.5, "Schedule": {
  "init_devs": [[[0, 0], [0]], [[0, 1], [0]], [[1, 0], [1]], [[1, 1], [1]]],
  "chunk_sizes": [[[0, 0], 32], [[0, 1], 32], [[1, 0], 32], [[1, 1], 32]],
  "Events": [
   {"src_chunk": "(0, 1)", "sends": [{"src_gpu": 0, "dst_gpu": 1, "epoch": 500, "copy": true, "reduce": false}]},
   {"src_chunk": "(0, 0)", "sends": [{"src_gpu": 0, "dst_gpu": 1, "epoch": 0, "copy": true, "reduce": false}]},
   {"src_chunk": [1, 0], "sends": [{"src_gpu": 1, "dst_gpu": 0, "epoch": 0, "copy": true, "reduce": false}]},
   {"src_chunk": "(1, 1)", "sends": [{"src_gpu": 1, "dst_gpu": 0, "epoch": 500, "copy": true, "reduce": false}]}
  ]}}}, {}]}`

func TestImport(t *testing.T) {
	f, err := Read("x.json", []byte(good))
	require.NoError(t, err)
	require.Equal(t, 2.5, f.Lasts)
	network, err := topo.Parse("mesh:2", topo.Options{})
	require.NoError(t, err)
	m, err := f.Import(Truth{Topology: network})
	require.NoError(t, err)
	require.NoError(t, m.Schedule.Validate(m.Problem))
	require.EqualValues(t, 128, m.Problem.Size)
	require.Len(t, m.Schedule.Transfers, 4)
	require.EqualValues(t, 0, m.Schedule.Transfers[0].Chunk) // the earlier one of rank 0
	require.EqualValues(t, 1, m.Schedule.Transfers[2].Chunk)
	require.Equal(t, [][]int32{nil, nil, {0}, {1}}, m.Order.Left)
	require.Equal(t, "Events[1]: chunk (0, 0) from 0 to 1", m.Source(0))
	m, err = f.Import(Truth{Topology: network, Collective: &model.Collective{Kind: model.AllGather}, Size: 1 << 20})
	require.NoError(t, err)
	require.EqualValues(t, 1<<18, m.Problem.Chunks[0].Size)
}

func TestRefused(t *testing.T) {
	for _, x := range []struct{ from, to, want string }{
		{`"coll_name": "AllGather"`, `"coll_name": "Gossip"`, `coll_name: "Gossip", want`},
		{`"ngpus": 2`, `"ngpus": 0`, "ngpus: want 1"},
		{`"chunk_size_byte": 64`, `"chunk_size_byte": -1`, "chunk_size_byte"},
		{`[[1, 1], [1]]`, `[[1, 0], [1]]`, "init_devs[3]: chunk (1, 0) is there twice"},
		{`[[1, 1], [1]]`, `[[1, 1], [2]]`, "init_devs[3]: rank 2, want 0 to 1"},
		{`[[1, 1], 32]`, `[[1, 2], 32]`, "chunk_sizes[3]"},
		{`[[1, 1], 32]`, `[[1, 1], 0.5]`, "chunk_sizes[3]"},
		{`"(1, 1)"`, `"(1; 1)"`, `want "(origin, index)"`},
		{`"(1, 1)"`, `"(1, 7)"`, "Events[3].src_chunk: chunk (1, 7) is not in init_devs"},
		{`"epoch": 500`, `"epoch": -1`, "Events[0].sends[0]: want an epoch"},
		{`"dst_gpu": 1, "epoch": 500`, `"dst_gpu": 0, "epoch": 500`, "want src_gpu and dst_gpu"},
		{`}, {}]}`, `}, {}]} x`, "after the end"},
		{`"algorithms": [`, `"algorithms": [{}, `, "final_schedule.Schedule: missing"},
	} {
		_, err := Read("x.json", []byte(strings.Replace(good, x.from, x.to, 1)))
		require.ErrorContains(t, err, x.want, x.to)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(good))
	network, err := topo.Parse("mesh:2", topo.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		Is(b)
		x, err := Read("x.json", b)
		if err != nil {
			return
		}
		if m, err := x.Import(Truth{Topology: network}); err == nil && len(m.Objections) == 0 {
			require.NoError(t, m.Schedule.Validate(m.Problem))
		}
	})
}

package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/stretchr/testify/require"
)

// TestNCCLIsRight: what NCCL runs on named machines is right, for every collective that its rings and
// trees serve, at sizes that fill no piece and at those that fill many.
func TestNCCLIsRight(t *testing.T) {
	for _, name := range []string{"dgxh100", "dgxa100:2", "dgxh100:3"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllReduce, model.AllGather, model.ReduceScatter, model.Broadcast} {
			for _, size := range []int64{9, 100_000, 1<<27 + 4096} {
				p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
				if kind == model.Broadcast {
					p.Collective.Root = 3
				}
				given, err := NCCL(context.Background(), "", p)
				require.NoError(t, err)
				require.Len(t, given, map[bool]int{true: 2, false: 1}[kind == model.AllReduce])
				if given[0].Schedule == nil {
					require.Equal(t, "9 bytes, want at least "+fmt.Sprint(network.Ranks)+", one for each part", given[0].Before["nccl"].Reason)
					require.Greater(t, int64(network.Ranks), size)
					given = given[1:]
				}
				for i := range given {
					row, out, err := given[i].Row(context.Background(), &certify.Evaluator{SMTMost: 1, Options: solve.Options{TimeLimit: time.Minute}})
					require.NoError(t, err)
					require.Nil(t, out, "%s %v %d %+v", name, kind, size, out)
					require.Equal(t, verify.Proved, row.Outcome(), "%s %v %d %s: %v", name, kind, size, row.Method, row.Violations())
				}
			}
		}
	}
	network, err := topo.Parse("dgxh100", topo.Options{})
	require.NoError(t, err)
	_, err = NCCL(context.Background(), "", &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllToAll}, Size: 1 << 20, Cost: model.Pipelined})
	require.NoError(t, err) // it is said in the row that it does not serve this
}

// TestNVLSIsRight: what NCCL does where ranks read sums at switches is right, on one host and on several, whose number
// is a power of two or not; at sizes that fill no piece and at those that fill many, with both timed cost models, with a
// rank that comes late, with fewer heads than GPUs, and over a fabric of rails.
func TestNVLSIsRight(t *testing.T) {
	fewer := `a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0
a:1:2 [0] NCCL INFO NVLS Head  0:  0  8
a:1:2 [0] NCCL INFO NVLS Head  1:  2 10
a:1:2 [0] NCCL INFO NVLS Head  2:  4 12
a:1:2 [0] NCCL INFO NVLS Head  3:  6 14
a:1:2 [0] NCCL INFO 16 coll channels, 16 collnet channels, 8 nvls channels, 32 p2p channels, 4 p2p channels per peer
`
	log := filepath.Join(t.TempDir(), "heads.log")
	require.NoError(t, os.WriteFile(log, []byte(fewer), 0o600))
	for _, x := range []struct {
		network, log string
		size         int64
		cost         model.CostModel
		late         bool
		most         float64 // of the bound of volume on one host, (1+1/n)·S/B, or of that between hosts
	}{
		{"dgxh100-nvls", "", 1 << 30, model.Pipelined, false, 1.11},
		{"dgxh100-nvls", "", 9, model.Pipelined, false, 0},
		{"dgxh100-nvls", "", 1000, model.Pipelined, true, 0},
		{"dgxh100-nvls", "", 1 << 22, model.Blocking, false, 0},
		{"dgxb200-nvls", "", 1 << 30, model.Pipelined, false, 1.2},
		{"dgxh100-nvls:2", "", 1 << 26, model.Pipelined, false, 0},
		{"dgxh100-nvls:3", "", 1<<24 + 17, model.Pipelined, true, 0},
		{"dgxh100-nvls:5", "", 1 << 22, model.Blocking, false, 0},
		{"dgxh100-nvls:4:rails+spine", "", 1 << 24, model.Pipelined, false, 0},
		{"dgxh100-nvls:2", log, 1 << 24, model.Pipelined, false, 0},
	} {
		network, err := topo.Parse(x.network, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: x.size, Cost: x.cost}
		if x.late {
			p.Release = make([]model.Time, network.Ranks)
			p.Release[3] = 5 * model.Microsecond
		}
		given, err := NCCL(t.Context(), x.log, p)
		require.NoError(t, err)
		g := given[len(given)-1]
		require.Equal(t, map[bool]string{true: "nccl-nvls", false: "nccl-nvls-tree"}[network.Ranks == 8], g.Name)
		row, out, err := g.Row(t.Context(), &certify.Evaluator{SMTMost: 1 << 13, Options: solve.Options{TimeLimit: time.Minute}})
		require.NoError(t, err)
		require.Nil(t, out, "%+v: %+v", x, out)
		require.Equal(t, verify.Proved, row.Outcome(), "%+v: %v", x, row.Violations())
		if x.most > 0 {
			least := float64(x.size) * 9 / 8 / float64(network.Links[0].Bandwidth) * 1e12
			require.Less(t, float64(row.Makespan), x.most*least, "%+v", x)
			require.GreaterOrEqual(t, float64(row.Makespan), least, "%+v", x)
		}
		if x.log != "" {
			require.Contains(t, g.Note, "NVLSTree over 8 channels: 4 GPUs of a host read sums")
		}
	}
	for name, want := range map[string]string{"dgxh100:2": "", "switch:16:read": "the heads of hosts 0 and 1 are at one switch", "switch:16:turn": "at no switch of rank 0 ranks read sums"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
		given, err := NCCL(t.Context(), log, p)
		if want == "" {
			require.ErrorContains(t, err, "no rings in it")
			continue
		}
		require.NoError(t, err)
		require.Contains(t, given[0].Before["nccl"].Reason, want)
	}
}

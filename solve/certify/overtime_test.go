//go:build cgo

package certify_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/overtime"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// The checker finds that prices that change with time yield what is expected of them, which is more
// than other bounds do where latencies and bandwidths matter at once.
func TestPricesOverTime(t *testing.T) {
	for _, x := range []struct {
		topo  string
		kind  model.Kind
		size  int64
		other model.Time // the best of all other kinds
	}{
		{"dgx1", model.AllToAll, 64 << 10, 1574 * model.Nanosecond},
		{"dgx1", model.Gather, 64 << 10, 1564 * model.Nanosecond},
		{"ndv2", model.AllToAll, 64 << 10, 1574 * model.Nanosecond},
		{"mi250", model.Scatter, 1 << 20, 4139 * model.Nanosecond},
		{"mi250", model.Gather, 1 << 20, 4139 * model.Nanosecond},
		{"mi250", model.Broadcast, 1 << 20, 7229 * model.Nanosecond},
		{"mi250", model.Reduce, 1 << 20, 7229 * model.Nanosecond},
		{"mi250", model.Broadcast, 8 << 20, 31696 * model.Nanosecond},
		{"dgx1", model.Broadcast, 1 << 20, 8857 * model.Nanosecond},
		{"fattree:4x4", model.AllToAll, 64 << 10, 2945 * model.Nanosecond},
		{"rfs:2x4x8", model.Gather, 1 << 20, 4346 * model.Nanosecond},
	} {
		top, err := topo.Parse(x.topo, topo.Options{})
		require.NoError(t, err)
		for _, cost := range []model.CostModel{model.Pipelined, model.Blocking} {
			p := &model.Problem{Topology: top, Collective: model.Collective{Kind: x.kind}, Size: x.size, Cost: cost}
			w, expected, err := overtime.Find(context.Background(), p, x.other)
			require.NoError(t, err)
			require.NotNil(t, w, "%v", p)
			yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: *w})
			require.NoError(t, err)
			require.InEpsilon(t, int64(expected), int64(yield), 1e-3, "%v", p)
			require.Greater(t, yield, x.other)
			c, err := certify.Bound(context.Background(), p)
			require.NoError(t, err)
			require.InEpsilon(t, int64(yield), int64(c.Bound), 1e-3, "%v", p)
			require.Equal(t, verify.Proved, cert.Check(context.Background(), c).Outcome)
		}
	}
}

// So are prices of what is copied on its way over switches, or added up.
func TestSharedFlows(t *testing.T) {
	for i, x := range []struct {
		topo  string
		kind  model.Kind
		size  int64
		other model.Time // the best of all other kinds
		least model.Time
	}{
		{"fattree:4x4", model.Broadcast, 64 << 10, 4278 * model.Nanosecond, 4652 * model.Nanosecond},
		{"fattree:4x4", model.Reduce, 64 << 10, 4278 * model.Nanosecond, 4652 * model.Nanosecond},
		{"fattree:4x4", model.AllGather, 64 << 10, 2916 * model.Nanosecond, 3029 * model.Nanosecond},
		{"fattree:4x4", model.ReduceScatter, 64 << 10, 2916 * model.Nanosecond, 3029 * model.Nanosecond},
		{"dragonfly:3x2x2", model.Broadcast, 64 << 10, 4291 * model.Nanosecond, 4673 * model.Nanosecond},
		{"dragonfly:3x2x2", model.ReduceScatter, 64 << 10, 2916 * model.Nanosecond, 3165 * model.Nanosecond},
		{"rfs:2x4x8", model.Reduce, 64 << 10, 2205 * model.Nanosecond, 2261 * model.Nanosecond},
		{"fattree:4x4", model.AllReduce, 64 << 10, 4278 * model.Nanosecond, 4702 * model.Nanosecond},
		{"mi250", model.AllReduce, 1 << 20, 7410 * model.Nanosecond, 7690 * model.Nanosecond},
		{"dragonfly:3x2x2", model.AllReduce, 64 << 10, 4583 * model.Nanosecond, 4996 * model.Nanosecond},
		{"dgx2:2", model.AllReduce, 64 << 10, 4656 * model.Nanosecond, 4842 * model.Nanosecond},
		{"dgx2:2", model.AllGather, 64 << 10, 4163 * model.Nanosecond, 4174 * model.Nanosecond},
		{"dgx2:2", model.ReduceScatter, 64 << 10, 4163 * model.Nanosecond, 4174 * model.Nanosecond},
		{"dgxh100-nvls:4", model.Broadcast, 1 << 20, 7771 * model.Nanosecond, 8178 * model.Nanosecond},
		{"dgxh100-nvls:4", model.Reduce, 1 << 20, 7771 * model.Nanosecond, 8178 * model.Nanosecond},
		{"dgx1", model.AllReduce, 64 << 10, 2344 * model.Nanosecond, 2404 * model.Nanosecond},
		{"dgx2:2", model.Broadcast, 1 << 20, 14486 * model.Nanosecond, 14650 * model.Nanosecond},
		{"dgx2:2", model.Reduce, 8 << 20, 87799 * model.Nanosecond, 87970 * model.Nanosecond},
		{"fattree:4x4", model.Reduce, 8 << 20, 159167 * model.Nanosecond, 159714 * model.Nanosecond},
		{"dgxh100:16", model.Broadcast, 1 << 20, 8301 * model.Nanosecond, 8868 * model.Nanosecond},
		{"dgxh100:16", model.Reduce, 8 << 20, 26651 * model.Nanosecond, 27220 * model.Nanosecond},
		{"dgxa100:4", model.Reduce, 256 << 10, 6461 * model.Nanosecond, 6866 * model.Nanosecond},
		{"dragonfly:4x2x2", model.Reduce, 8 << 20, 159126 * model.Nanosecond, 159700 * model.Nanosecond}, // by cuts
	} {
		if testing.Short() && i >= 4 { // the others take long
			break
		}
		top, err := topo.Parse(x.topo, topo.Options{})
		require.NoError(t, err)
		for _, cost := range []model.CostModel{model.Pipelined, model.Blocking} {
			p := &model.Problem{Topology: top, Collective: model.Collective{Kind: x.kind}, Size: x.size, Cost: cost}
			w, expected, complete, err := overtime.FindShared(context.Background(), p, x.other, 1, false)
			require.NoError(t, err)
			require.NotNil(t, w, "%v", p)
			require.True(t, complete, "%v", p)
			again, _, _, err := overtime.FindShared(context.Background(), p, x.other, 1, false)
			require.NoError(t, err)
			require.Equal(t, w, again, "%v: not the same every time", p)
			yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: *w})
			require.NoError(t, err)
			require.InEpsilon(t, int64(expected), int64(yield), 1e-3, "%v", p)
			require.GreaterOrEqual(t, yield, x.least, "%v", p)
			c, err := certify.Bound(context.Background(), p)
			require.NoError(t, err)
			require.InEpsilon(t, int64(yield), int64(c.Bound), 1e-3, "%v", p)
			require.Equal(t, verify.Proved, cert.Check(context.Background(), c).Outcome)
		}
	}
}

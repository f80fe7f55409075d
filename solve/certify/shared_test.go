//go:build cgo

package certify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// No witness that linear programs yield is refused by the checker, which drops it: not on networks
// with symmetries, where what looks alike has one column, nor on random ones.
func TestNoWitnessIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	var tops []*model.Topology
	for _, name := range []string{"fattree:4x4", "dragonfly:2x3x2", "rfs:2x2x2", "switch:6", "dgxh100:2", "ndv2:2"} {
		top, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		tops = append(tops, top)
	}
	for seed := range uint64(9) {
		r := rand.New(rand.NewPCG(seed, 77))
		top := &model.Topology{Name: fmt.Sprint("random ", seed), Ranks: 3 + r.IntN(4), Switches: make([]model.Switch, 1+r.IntN(3))}
		link := func(u, v int) {
			top.Links = append(top.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(100000 * (1 + r.IntN(4))), Bandwidth: 1e10 * (1 + r.Int64N(2))})
		}
		for v := range top.Nodes() {
			link(v, (v+1)%top.Nodes())
		}
		for range 3 + r.IntN(8) {
			if u, v := r.IntN(top.Nodes()), r.IntN(top.Nodes()); u != v {
				link(u, v)
			}
		}
		tops = append(tops, top)
	}
	shown := 0
	for _, top := range tops {
		for _, kind := range []model.Kind{model.Broadcast, model.Reduce, model.AllGather, model.ReduceScatter, model.AllReduce} {
			for _, size := range []int64{64 << 10, 1 << 20} {
				p := &model.Problem{Topology: top, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
				require.NoError(t, p.Validate())
				found, err := unshared(context.Background(), p)
				require.NoError(t, err)
				for _, one := range []bool{true, false} {
					if one && kind != model.AllReduce {
						continue
					}
					refused, err := found.share(context.Background(), one)
					require.NoError(t, err)
					require.NoError(t, refused, "%v", p)
				}
				if len(found.all) > 0 && found.all[0].Yield > 0 {
					shown++
					c, err := Value(context.Background(), found.all[0])
					require.NoError(t, err)
					require.Equal(t, found.all[0].Yield, c.Bound)
				}
			}
		}
	}
	require.Greater(t, shown, 20)
}

package cert

import (
	"context"
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// The straggler's m chunks take m + ⌈log2 n⌉ - 1 rounds, whatever their sizes; over a
// switch that copies m; and nothing is said of another cost model, or another rank than
// there is.
func TestSpreadRounds(t *testing.T) {
	for n := 2; n <= 20; n++ {
		for _, m := range []int{1, 2, n, 3*n + 1} {
			for _, name := range []string{"switch", "copyswitch"} {
				tp, err := topo.Parse(fmt.Sprintf("switch:%d", n), topo.Options{})
				require.NoError(t, err)
				want := m + bits.Len(uint(n-1)) - 1
				if name == "copyswitch" {
					tp.Switches[0].Copies = true
					want = m
				}
				p := (&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1000, Cost: model.Rounds, Release: make([]model.Time, n)}).WithChunks(m)
				p.Release[n-1] = model.Millisecond
				got, err := SpreadRounds(context.Background(), p, model.Spread{Source: n - 1})
				require.NoError(t, err)
				require.Equal(t, want, got, "%s n=%d m=%d", name, n, m)
				_, err = SpreadRounds(context.Background(), p, model.Spread{Source: n})
				require.Error(t, err)
				p.Cost = model.Pipelined
				_, err = SpreadRounds(context.Background(), p, model.Spread{Source: n - 1})
				require.Error(t, err)
			}
		}
	}
}

package bound

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// unlimited is a budget that is never spent.
func unlimited(t *testing.T) *solve.Budget {
	b, cancel := solve.NewBudget(context.Background(), 0, 1)
	t.Cleanup(cancel)
	return b
}

// TestPartition: on random networks, with and without switches, no partition has less
// bandwidth that enters its parts, over their number less one, than the one that is found.
func TestPartition(t *testing.T) {
	found, missed := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 3 + r.IntN(4)
		tp := &model.Topology{Name: "random", Ranks: n}
		if seed%4 == 0 {
			tp.Switches = []model.Switch{{Name: "s"}}
		}
		link := func(u, v int) {
			if u != v {
				tp.Links = append(tp.Links, model.Link{Src: u, Dst: v, Bandwidth: 1e9 * (1 + r.Int64N(9))})
			}
		}
		for v := range tp.Nodes() {
			link(v, (v+1)%tp.Nodes())
		}
		for range r.IntN(4 * n) {
			link(r.IntN(tp.Nodes()), r.IntN(tp.Nodes()))
		}
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 30, Cost: model.Pipelined}
		f := newFinder(unlimited(t), p)
		least := math.Inf(1)
		part := make([]int, tp.Nodes())
		var assign func(v, parts int)
		assign = func(v, parts int) {
			if v == tp.Nodes() {
				sets := make([][]int, parts)
				for u, i := range part {
					if i < parts {
						sets[i] = append(sets[i], u)
					}
				}
				if parts > 1 {
					least = min(least, f.entered(sets)/float64(parts-1))
				}
				return
			}
			for i := range parts + 1 {
				switch part[v] = i; {
				case v < n:
					assign(v+1, max(parts, i+1))
				case i == parts:
					part[v] = math.MaxInt
					fallthrough
				default:
					assign(v+1, parts)
				}
			}
		}
		assign(0, 0)
		rate := math.Inf(1)
		single := make([][]int, n)
		for v := range single {
			single[v] = []int{v}
		}
		for parts := single; len(parts) > 1; parts = f.apart(rate) {
			next := f.entered(parts) / float64(len(parts)-1)
			if next >= rate*(1-1e-9) {
				break
			}
			rate = next
		}
		require.GreaterOrEqual(t, rate, least*(1-1e-9), "seed %d", seed)
		if rate > least*(1+1e-9) {
			require.NotNil(t, tp.Switches, "seed %d", seed)
			missed++
		}
		if bound, _ := f.partition(); bound > 0 {
			found++
		}
	}
	require.Greater(t, found, 20)
	require.Less(t, missed, 10, "of 50 networks with a switch")
}

// TestPartitionOfMachines: parts that follow from how machines are wired.
func TestPartitionOfMachines(t *testing.T) {
	for _, c := range []struct {
		name      string
		parts     int
		transfers float64 // of each chunk
		links     float64 // between parts
		bandwidth float64
	}{
		{"mi250", 8, 14, 48, 50e9},  // 8 pairs of dies
		{"ndv2:4", 4, 6, 4, 12.5e9}, // 4 chassis, with a network card for what enters and one for what leaves
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 40, Cost: model.Pipelined}
		bound, w := newFinder(unlimited(t), p).partition()
		require.Len(t, w.(model.Partition).Parts, c.parts, c.name)
		require.InEpsilon(t, float64(p.Size)*c.transfers/c.links/c.bandwidth*1e12, float64(bound), 1e-6, c.name)
	}
}

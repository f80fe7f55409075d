package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestExchange: a root and the rank whose sum comes last add what they get from each other, neither waits for the other one, and all is
// right, however hops are moved since.
func TestExchange(t *testing.T) {
	for _, name := range []string{"full:2", "ring:4", "hypercube:4", "mesh:3x3", "torus:2x4", "mi250", "dgx1"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		both := 0
		for _, k := range []int{1, 3} {
			whole := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 64 << 10, Cost: model.Pipelined}
			s := newSearch(context.Background(), whole, solve.Options{})
			s.groups()
			*s.shops[0].s.mutual = true
			x := s.newTrial(0, cut{parts: k, ratio: 1}, anywhere)
			x.divide()
			work := &counter{ctx: context.Background(), limit: usualWork / 8}
			x.alternates = true
			x.try(true, 1, work)
			require.NotNil(t, x.best, name)
			for move := range 4 {
				require.NoError(t, solvetest.Right(x.p, x.best.emit(x.p)), "%s, %d parts, move %d", name, k, move)
				both += exchanges(x)
				y := *x.best
				switch move {
				case 0:
					x.graft(1, work)
					continue
				case 1:
					y.rehang(0.5, x.rng)
				case 2:
					y.jobs = append([]job(nil), y.jobs...)
					y.late(y.waits())
				}
				x.best = &y
			}
		}
		require.Positive(t, both, name)
	}
}

// exchanges returns how many pairs of ranks add what they get from each other at the same time.
func exchanges(x *trial) (n int) {
	mutual := x.best.mutual()
	for i, k := range mutual {
		if k > int32(i) {
			a, b := &x.best.jobs[i], &x.best.jobs[k]
			if x.best.exchanged(a, b, x.p, x.parts[a.part].size) == model.Reduction && x.best.exchanged(b, a, x.p, x.parts[a.part].size) == model.Reduction {
				n++
			}
		}
	}
	return n
}

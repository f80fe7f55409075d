package improve

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestRepair: whatever is taken out, brought again, undone and justified, the schedule
// remains right, its measure is what it would be from the beginning, undo brings back what
// there was, and justify lets nothing end later than the last.
func TestRepair(t *testing.T) {
	for i, name := range []string{"torus:3x4", "fattree:2x3x2", "dgx2", "mesh:2x4", "dragonfly:2x2x2", "ndv2:2"} {
		for _, kind := range []model.Kind{model.AllGather, model.AllToAll, model.ReduceScatter, model.Broadcast, model.Gather, model.AllReduce} {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: cost}
				p = p.WithChunks(p.DefaultChunks(1))
				patterns, err := patternsOf(p, &model.Schedule{})
				require.NoError(t, err)
				exercise(t, p, newRepair(network.New(p, false), patterns, uint64(i)))
			}
		}
	}
}

// TestRepairOfGroups: the same where ranks forward what is not theirs.
func TestRepairOfGroups(t *testing.T) {
	for i, name := range []string{"torus:3x4", "fattree:4x2", "ring:8", "dragonfly:2x2x2"} {
		for _, kind := range model.Kinds() {
			tp, err := topo.Parse(name, topo.Options{})
			require.NoError(t, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind, Group: []int{6, 1, 4, 3}}, Size: 1 << 20, Cost: model.Pipelined}
			if kind.Rooted() {
				p.Collective.Root = 4
			}
			p = p.WithChunks(p.DefaultChunks(2))
			require.NoError(t, p.Validate())
			patterns, err := patternsOf(p, &model.Schedule{})
			require.NoError(t, err)
			exercise(t, p, newRepair(network.New(p, false), patterns, uint64(i)))
		}
	}
}

// exercise grows the trees of an empty repair, and then does with them all that a search does.
func exercise(t *testing.T, p *model.Problem, r *repair) {
	for tree := range r.of {
		for n := 0; !r.grow(int32(tree)); n++ { // hops are overlooked now and then
			require.Less(t, n, 20)
		}
		r.trim(int32(tree))
	}
	first := r.write()
	require.NoError(t, solvetest.Right(p, first), p)
	again := newRepair(r.n, r.patterns, 0)
	require.True(t, again.read(first))
	require.Equal(t, first.Transfers, again.write().Transfers)
	r.aim(1+r.length()/4, r.length())
	for step := range 20 {
		before, cost, length := sorted(r.copy()), r.cost(), r.length()
		done := r.renew(3)
		if done {
			right(t, p, r)
		}
		known := [4]model.Time{r.tardy, r.total, model.Time(r.count), model.Time(r.beyond)}
		r.recount()
		require.Equal(t, known, [4]model.Time{r.tardy, r.total, model.Time(r.count), model.Time(r.beyond)})
		if !done || r.rng.Below(2) == 0 {
			r.undo()
			require.Equal(t, before, sorted(r.copy()))
			require.Equal(t, cost, r.cost())
			r.justify(step%2 == 0 && len(r.sides) > 1 || !r.sides[0].reduces)
			require.LessOrEqual(t, r.length(), length)
			right(t, p, r)
		}
	}
}

// right checks the schedule of a repair, unless two transfers to a rank outside the group that
// end together leave it none.
func right(t *testing.T, p *model.Problem, r *repair) {
	if s := r.write(); s != nil || r.outside == nil {
		require.NoError(t, solvetest.Right(p, s), p)
	}
}

// sorted returns moves without their places in lists.
func sorted(moves []move) []move {
	for i := range moves {
		moves[i].at = 0
	}
	slices.SortFunc(moves, func(a, b move) int {
		return slices.Compare([]model.Time{model.Time(a.tree), model.Time(a.hop), a.start}, []model.Time{model.Time(b.tree), model.Time(b.hop), b.start})
	})
	return moves
}

package tacos

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestAgenda compares an agenda with a list of picoseconds.
func TestAgenda(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const end = 60
		var a agenda
		var busy [end]bool
		free := func(at, long int) bool {
			return at < end && !slices.Contains(busy[max(0, at):min(end, at+long)], true) || at >= end
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "spans") {
			from, long := rapid.IntRange(0, end-8).Draw(t, "from"), rapid.IntRange(1, 7).Draw(t, "long")
			if !free(from, long) {
				continue
			}
			for at := range long {
				busy[from+at] = true
			}
			a.enter(span{model.Interval{From: model.Time(from), To: model.Time(from + long)}, int32(i)})
			if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				a.strike(model.Time(from), int32(i))
				for at := range long {
					busy[from+at] = false
				}
			}
		}
		at, long := rapid.IntRange(0, end-1).Draw(t, "at"), rapid.IntRange(1, 9).Draw(t, "for")
		next := at
		for !free(next, long) {
			next++
		}
		require.Equal(t, model.Time(next), a.next(model.Time(at), model.Time(long)))
		last := at
		for last >= 0 && !free(last, long) {
			last--
		}
		if last >= 0 {
			require.Equal(t, model.Time(last), a.last(model.Time(at), model.Time(long)))
		} else {
			require.Negative(t, a.last(model.Time(at), model.Time(long)))
		}
	})
}

// TestRepair: whatever is taken out, brought again, undone and justified, the schedule
// remains right, its measure is what it would be from the beginning, undo brings back what
// there was, and justify lets nothing end later than the last.
func TestRepair(t *testing.T) {
	for i, name := range []string{"torus:3x4", "fattree:2x3x2", "dgx2", "mesh:2x4", "dragonfly:2x2x2", "ndv2:2"} {
		for _, kind := range []model.Kind{model.AllGather, model.AllToAll, model.ReduceScatter, model.Broadcast, model.Gather} {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: cost}
				p = p.WithChunks(p.DefaultChunks(1))
				s, err := newSynthesis(p)
				require.NoError(t, err)
				first := s.try(1, 0, func() bool { return false })
				n := s.forward
				if kind.Reduces() {
					n = s.backward
				}
				r := newRepair(n, s.pattern, nil, uint64(i))
				r.read(first)
				r.aim(r.last()*3/4, r.last())
				require.NoError(t, solvetest.Right(p, r.write(s)))
				for range 20 {
					before, cost, end := sorted(r.copy()), r.cost(), r.last()
					done := r.renew(3)
					if done {
						require.NoError(t, solvetest.Right(p, r.write(s)), p)
					}
					known := [5]model.Time{r.tardy, r.total, model.Time(r.count), model.Time(r.beyond)}
					r.aim(r.due, r.limit)
					require.Equal(t, known, [5]model.Time{r.tardy, r.total, model.Time(r.count), model.Time(r.beyond)})
					if !done || r.rng.Below(2) == 0 {
						r.undo()
						require.Equal(t, before, sorted(r.copy()))
						require.Equal(t, cost, r.cost())
						r.justify()
						require.LessOrEqual(t, r.last(), end)
						require.NoError(t, solvetest.Right(p, r.write(s)), p)
					}
				}
			}
		}
	}
}

// sorted returns moves without their places in lists.
func sorted(moves []move) []move {
	for i := range moves {
		moves[i].at = 0
	}
	slices.SortFunc(moves, func(a, b move) int {
		return slices.Compare([]model.Time{model.Time(a.chunk), model.Time(a.lane), a.start}, []model.Time{model.Time(b.chunk), model.Time(b.lane), b.start})
	})
	return moves
}

// TestQueue: what comes first is taken first.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q events.Queue
	var want []model.Time
	for range 500 {
		at := model.Time(rng.IntN(100))
		want = append(want, at)
		q.Add(events.Event{At: at, Tie: rng.Uint32(), ID: rng.Int32()})
	}
	slices.Sort(want)
	for _, at := range want {
		require.Equal(t, at, q.Take().At)
	}
}

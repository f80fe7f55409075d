package order

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest/programs"
)

// full writes a value of the machine as the explorer does.
func (m *machine) full(v int32) string {
	switch {
	case v == undefined:
		return ""
	case v < m.values.inputs:
		return fmt.Sprintf("x%d", v)
	}
	s := m.values.sums[v-m.values.inputs]
	return plus(m.full(s[0]), m.full(s[1]))
}

// draws is how many random programs are compared.
const draws = 3000

// TestAgainstExplorer compares the one execution with all of them, on random programs:
// what can be the end, whether there is a race, how many slots are enough.
func TestAgainstExplorer(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 20261121))
	var stuck, raced, clean, remote, odd, slots int
	for i := range draws {
		p := programs.Draw(rng)
		require.NoError(t, p.Validate())
		r := Check(context.Background(), p)
		x := explore(p, 0, 0)
		at := func() string { return fmt.Sprintf("program %d: %+v\n%+v", i, p.Processes, r.Verdict.Violations) }

		// what is executed is the same in all executions
		ends := map[string]bool{}
		left := 0
		for _, w := range x.finals {
			ends[fmt.Sprint(w.pc)] = true
			left = 0
			for _, f := range w.fifos {
				left += len(f)
			}
		}
		require.Len(t, ends, 1, at())
		require.True(t, ends[fmt.Sprint(r.m.pc)], "the end %v, the explorer's %v: %s", r.m.pc, ends, at())
		require.Equal(t, r.Deadlock == verify.Proved, !slices.ContainsFunc(p.Processes, func(q model.Process) bool {
			return int(r.m.pc[r.m.proc[[2]int{q.Rank, q.ID}]]) < len(q.Steps)
		}), at())
		require.Equal(t, left > 0, r.Counts[verify.UnmatchedSend] > 0, at())
		require.Equal(t, x.length, r.Counts[verify.CountMismatch] > 0, at())
		require.Equal(t, x.beyond, r.Counts[verify.OutOfBounds] > 0, at())

		// races between steps, and the result where there is none
		between := 0 // races that are not within a step
		for code, n := range r.Counts {
			if code == verify.ReadWriteRace || code == verify.WriteWriteRace {
				between += n
			}
		}
		for _, e := range r.m.events {
			if in := &p.Processes[e.proc].Steps[e.step]; programs.Overlaps(in) {
				between--
			}
		}
		require.Equal(t, len(x.races) > 0, between > 0, "%v: %s", x.races, at())
		switch {
		case between > 0:
			raced++
			require.Equal(t, verify.Refuted, r.Verdict.Outcome)
		default:
			require.Len(t, x.finals, 1, at())
			for _, w := range x.finals {
				for rank := range p.Ranks {
					for c, v := range r.m.memory[rank] {
						require.Equal(t, w.cells[rank][c], r.m.full(v), at())
					}
				}
			}
			require.Equal(t, x.undef, r.Counts[verify.UninitialisedRead] > 0, at())
			switch {
			case r.Deadlock == verify.Refuted:
				stuck++
			case r.Counts[verify.OutOfBounds]+r.Counts[verify.CountMismatch]+r.Counts[verify.UnmatchedSend] > 0:
				odd++
			default:
				clean++
				if r.RemoteOnly > 0 {
					remote++
				}
			}
		}

		// slots
		if r.Deadlock != verify.Proved || r.Matching != verify.Proved || r.Bounds != verify.Proved {
			continue
		}
		for _, per := range []int{0, 1} {
			least := r.Slots(per)
			require.Positive(t, least, at())
			for s := 1; s <= least; s++ {
				y := explore(p, s, per)
				for _, w := range y.finals {
					all := true
					for j := range p.Processes {
						all = all && w.pc[j] == len(p.Processes[j].Steps)
					}
					require.Equal(t, s == least, all, "%d slots of %d, %d chunks a transfer: %s", s, least, per, at())
					require.Equal(t, all, r.Completes(s, per), at())
				}
			}
			if least > 1 {
				slots++
			}
		}
	}
	t.Logf("%d programs: %d deadlock, %d race, %d right in all orders (%d through other ranks), %d else; %d times more than one slot", draws, stuck, raced, clean, remote, odd, slots)
	require.Greater(t, min(stuck, raced, clean), draws/20)
	require.Greater(t, min(odd, slots, remote), 20)
}

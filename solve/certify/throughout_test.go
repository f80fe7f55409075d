package certify

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/pace"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// TestThroughout compares the intervals for ranges of figures with what is found for figures within: there
// the order of the schedule is right, ends within the interval, and its gap to the best bound is within
// that of gaps.
func TestThroughout(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	r := rand.New(rand.NewPCG(2, 1))
	for _, x := range []struct {
		topology string
		flags    instance.Flags
		methods  []string
	}{
		{"ring:4", instance.Flags{Collective: "allreduce", Size: "64KiB", Alpha: "600ns..900ns"}, []string{"ring", "mixed", "direct"}},
		{"switch:5", instance.Flags{Collective: "allgather", Size: "1MiB", Alpha: "100ns..2us", Bandwidth: "10GB/s..50GB/s"}, []string{"ring", "direct", "tacos"}},
		{"mesh:3x3", instance.Flags{Collective: "alltoall", Size: "1MiB", Alpha: "1us,1us..2us", Bandwidth: "10GB/s..20GB/s,50GB/s", Cost: "blocking"}, []string{"direct", "tacos"}},
		{"dgx1", instance.Flags{Collective: "reducescatter", Size: "8MiB", Bandwidth: "nvlink=20GB/s..25GB/s"}, []string{"ring", "tacos"}},
		{"full:4", instance.Flags{Collective: "allreduce", Size: "1MiB", Bandwidth: "10GB/s..50GB/s", Alpha: "1us..5us", Cost: "rounds"}, []string{"ring", "direct"}},
	} {
		x.flags.Straggler = -1
		ranges, err := x.flags.Ranges()
		require.NoError(t, err)
		at := func(values []int64) (*model.Problem, error) {
			return x.flags.At(ranges, values).Problem(noFiles{}, x.topology)
		}
		u := &Uncertain{At: at}
		var middle []int64
		for _, r := range ranges {
			u.Axes = append(u.Axes, Axis{r.Words, r.Fast, r.Slow})
			middle = append(middle, r.Middle())
		}
		p, err := at(middle)
		require.NoError(t, err)
		methods, err := MethodsNamed(x.methods...)
		require.NoError(t, err)
		e := &Evaluator{Methods: methods, Named: true, Scratch: t.TempDir(), Options: solve.Options{TimeLimit: 20e9, Seed: 1}, Progress: Silent{}}
		ev, err := e.Evaluate(t.Context(), p)
		e.Close()
		require.NoError(t, err)
		all, err := u.Evaluate(t.Context(), ev)
		require.NoError(t, err)
		require.Len(t, all.Rows, len(x.methods))
		require.Positive(t, all.Least)
		var inner []*model.Problem // for figures within
		var bounds []model.Time
		for range 12 {
			var values []int64
			for _, a := range u.Axes {
				low, high := min(a.Fast, a.Slow), max(a.Fast, a.Slow)
				v := low + r.Int64N(high-low+1)
				values = append(values, v-v%1000) // halves of an odd number differ by a picosecond
			}
			q, err := at(values)
			require.NoError(t, err)
			best, err := Bound(t.Context(), AnyCut(q))
			require.NoError(t, err)
			require.GreaterOrEqual(t, best.Bound, all.Least)
			inner, bounds = append(inner, q), append(bounds, best.Bound)
		}
		for i, row := range ev.Rows {
			span := all.Rows[i]
			require.Equal(t, row.Method, span.Method)
			require.NoError(t, span.Err)
			require.LessOrEqual(t, span.GapLeast, span.GapAtMost)
			require.LessOrEqual(t, span.Earliest, row.Makespan)
			if row.Result.Schedule.Form == model.InRounds {
				require.LessOrEqual(t, row.Makespan, span.Latest)
				continue
			}
			fast, err := at(ends(u, true))
			require.NoError(t, err)
			slow, err := at(ends(u, false))
			require.NoError(t, err)
			enclosure, err := pace.Enclose(row.Result.Problem, row.Result.Schedule, nil, fast.Topology, slow.Topology)
			require.NoError(t, err)
			for j, within := range inner {
				q := *row.Result.Problem
				q.Topology = within.Topology
				s, err := enclosure.On(t.Context(), within.Topology)
				require.NoError(t, err)
				v := replay.Check(t.Context(), &q, s)
				require.Equal(t, verify.Proved, v.Outcome, "%s %s %v: %v", x.topology, row.Method, within, v.Violations)
				end := q.Makespan(s)
				require.LessOrEqual(t, span.Earliest, end)
				require.GreaterOrEqual(t, span.Latest, end)
				require.LessOrEqual(t, model.GapOf(end, bounds[j]), span.GapAtMost, "%s %s %v", x.topology, row.Method, within)
			}
		}
	}
}

func ends(u *Uncertain, fast bool) (values []int64) {
	for _, a := range u.Axes {
		if fast {
			values = append(values, a.Fast)
		} else {
			values = append(values, a.Slow)
		}
	}
	return values
}

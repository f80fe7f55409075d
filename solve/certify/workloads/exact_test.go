package workloads_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	checks "github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/workload/exact"
	"github.com/oraccl/oraccl/verify"
)

// closed returns the makespan of the best of a schedule and what exact and sat find, which engines must prove, and
// of which each solver must claim that there is nothing shorter.
func closed(t *testing.T, incumbent *wl.Schedule) model.Time {
	t.Helper()
	x := searched(t, incumbent, exact.Schedule)
	y := searched(t, incumbent, exact.Satisfy)
	require.True(t, x.Closed)
	require.True(t, y.Closed)
	require.Equal(t, x.Schedule.Makespan(), y.Schedule.Makespan())
	require.Equal(t, y.Schedule.Makespan(), y.Before)
	return x.Schedule.Makespan()
}

// searched returns what a solver finds, with the schedule it began with where it finds nothing.
func searched(t *testing.T, incumbent *wl.Schedule, search func(context.Context, *wl.Schedule, exact.Options) (*exact.Result, error)) *exact.Result {
	t.Helper()
	if highs.Available() != nil {
		t.Skip("no solver")
	}
	x, err := search(t.Context(), incumbent, exact.Options{TimeLimit: time.Minute})
	require.NoError(t, err)
	if x.Schedule == nil {
		x.Schedule = incumbent
		return x
	}
	require.Less(t, x.Schedule.Makespan(), incumbent.Makespan())
	require.NoError(t, x.Schedule.Validate())
	v, each, err := checks.Check(t.Context(), x.Schedule, 0)
	require.NoError(t, err)
	require.Equal(t, verify.Proved, v.Outcome, "%+v", each)
	return x
}

// one is a computation, or a transfer, that keeps one resource for a time.
type one struct {
	ranks       []int
	keeps       string
	lasts, busy int
	after       []int
}

// shortest returns the least makespan of all orders in which each comes as early as it can.
func shortest(all []one) int {
	best := 1 << 30
	start := make([]int, len(all))
	placed := make([]bool, len(all))
	var place func(n, end int)
	place = func(n, end int) {
		if end >= best {
			return
		}
		if n == len(all) {
			best = end
			return
		}
		for i := range all {
			if placed[i] || slices.ContainsFunc(all[i].after, func(j int) bool { return !placed[j] }) {
				continue
			}
			at := 0
			for _, j := range all[i].after {
				at = max(at, start[j]+all[j].lasts)
			}
			for moved := true; moved; {
				moved = false
				for j := range all {
					if placed[j] && all[j].keeps == all[i].keeps && start[j] < at+all[i].busy && at < start[j]+all[j].busy {
						at, moved = start[j]+all[j].busy, true
					}
				}
			}
			start[i], placed[i] = at, true
			place(n+1, max(end, at+all[i].lasts))
			placed[i] = false
		}
	}
	place(0, 0)
	return best
}

// tiny returns a random workload of computations and transfers, whose lengths are multiples of unit picoseconds or,
// with a unit above 1, not quite; and its parts as all orders see them.
func tiny(t *testing.T, r *rand.Rand, unit int) (*wl.Workload, []one) {
	odd := func() int { return r.IntN(max(1, unit/10)) }
	net := &model.Topology{Name: "three", Ranks: 3}
	for u := range 3 {
		for v := range 3 {
			if u != v {
				net.Links = append(net.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(2)*unit + odd()), Bandwidth: 1e12})
			}
		}
	}
	w := &wl.Workload{Topology: net, Cost: model.Pipelined}
	var all []one
	for i := range 4 + r.IntN(3) {
		op := wl.Op{ID: fmt.Sprint("op", i), Group: fmt.Sprint("g", i)}
		var x one
		if r.IntN(2) == 0 {
			d := (1+r.IntN(4))*unit + odd()
			x = one{[]int{r.IntN(3)}, "", d, d, nil}
			x.keeps = fmt.Sprint("rank ", x.ranks)
			op.Kind, op.Duration = wl.Compute, []model.Time{model.Time(d)}
		} else {
			l := net.Links[r.IntN(len(net.Links))]
			n := (1+r.IntN(3))*unit + odd()
			x = one{[]int{l.Src, l.Dst}, fmt.Sprint("link ", l.Src, l.Dst), n + int(l.Alpha), n, nil}
			op.Kind, op.Size, op.Chunks = wl.SendRecv, int64(n), []model.Chunk{{Size: int64(n)}}
		}
		w.Groups, w.Ops = append(w.Groups, wl.Group{Name: op.Group, Ranks: x.ranks}), append(w.Ops, op)
		for j := range i {
			if r.IntN(3) > 0 {
				continue
			}
			scope := wl.ByAll
			if slices.ContainsFunc(x.ranks, func(v int) bool { return slices.Contains(all[j].ranks, v) }) {
				scope = wl.ByRank
			}
			w.Edges = append(w.Edges, wl.Edge{From: j, To: i, Scope: scope})
			x.after = append(x.after, j)
		}
		all = append(all, x)
	}
	require.NoError(t, w.Validate())
	return w, all
}

// On tiny workloads of computations and transfers, exact and sat find the least makespan, as all orders do.
func TestExactAgainstAllOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 3))
	better := 0
	for range 25 {
		w, all := tiny(t, r, 1)
		s, _, err := checks.Find(t.Context(), w, nil)
		require.NoError(t, err)
		found := closed(t, s)
		require.EqualValues(t, shortest(all), found)
		if found < s.Makespan() {
			better++
		}
	}
	require.Positive(t, better)
}

// Where times have no tick in common, what sat claims is no more than the least makespan, which its schedule is near to.
func TestSatisfyWithoutATick(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	r := rand.New(rand.NewPCG(15, 4))
	better := 0
	for range 12 {
		w, all := tiny(t, r, 1009)
		s, _, err := checks.Find(t.Context(), w, nil)
		require.NoError(t, err)
		least := shortest(all)
		x := searched(t, s, exact.Satisfy)
		require.Zero(t, x.Tick)
		require.LessOrEqual(t, int(x.Before), least)
		require.GreaterOrEqual(t, int(x.Before), least*95/100)
		require.GreaterOrEqual(t, int(x.Schedule.Makespan()), least)
		require.LessOrEqual(t, int(x.Schedule.Makespan()), least*105/100)
		if x.Schedule != s {
			better++
		}
	}
	require.Positive(t, better)
}

// Of jobs that take turns, exact finds the least makespan, as all orders do; that of the first is the vector of 22.
func TestExactFindsTheLeastOfTurns(t *testing.T) {
	for _, c := range []struct {
		c, m []int
		n    int
	}{{[]int{9, 2, 9}, []int{9, 9, 2}, 1}, {[]int{3, 1}, []int{3, 1}, 2}, {[]int{2, 3}, []int{4, 1}, 2}} {
		var jobs []crossover.Job
		var all []one
		for i := range c.c {
			jobs = append(jobs, crossover.Coarse(string(rune('A'+i)), model.Time(c.c[i]), model.Time(c.m[i])))
			jobs[i].Rate = c.n
			for k := range c.n {
				n := len(all)
				compute := one{nil, "GPU", c.c[i], c.c[i], nil}
				if k > 0 {
					compute.after = []int{n - 1}
				}
				all = append(all, compute, one{nil, "network", c.m[i], c.m[i], []int{n}})
			}
		}
		want := shortest(all)
		if len(c.c) == 3 {
			require.Equal(t, 22, want)
		}
		require.EqualValues(t, want, closed(t, crossover.Build(nil, 0, jobs, crossover.Finite(jobs, crossover.RoundRobin), nil)))
	}
}

// Collectives by themselves, and in sequence, take as many steps as they must.
func TestExactOfCollectives(t *testing.T) {
	for _, c := range []struct {
		kind, topology string
		chunks         int
		steps          int // of a chunk
	}{{"broadcast", "full:4", 1, 1}, {"broadcast", "ring:4", 1, 2}, {"reduce", "ring:4", 1, 2}, {"allgather", "full:3", 3, 1}, {"reducescatter", "full:3", 3, 1}, {"allreduce", "full:2", 1, 1}, {"alltoall", "full:3", 9, 1}} {
		net := network(t, c.topology)
		net = &model.Topology{Name: net.Name, Ranks: net.Ranks, Links: slices.Clone(net.Links)}
		for i := range net.Links {
			net.Links[i].Alpha, net.Links[i].Bandwidth = 0, 1e12
		}
		w := &wl.Workload{Topology: net, Cost: model.Pipelined, Ops: []wl.Op{{ID: c.kind, Kind: wl.Kind(c.kind), Size: int64(4 * c.chunks)}}}
		w.Ops[0].Chunks = w.Problem(0).Cut(c.chunks)
		s, _, err := checks.Find(t.Context(), w, nil)
		require.NoError(t, err)
		late := *s // that there is something to find
		late.Placed = slices.Clone(s.Placed)
		late.Placed[0].At += 4
		require.EqualValues(t, int64(c.steps)*w.Ops[0].Chunks[0].Size, closed(t, &late), c.kind)
	}
}

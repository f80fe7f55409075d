//go:build cgo

package oneshot

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// composing returns a search for compositions of an allreduce, and its plans.
func composing(t *testing.T, name string, size int64) (*search, []*plan) {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Pipelined}
	b, cancel := solve.Options{}.Budget(context.Background())
	t.Cleanup(cancel)
	s := &search{p: p, b: b, others: model.MaxTime, most: maxComposed, large: map[int]int64{}, ways: &ways{}}
	s.guide, s.images = newGuide(p, s.ways), newImages(s)
	for i := range tp.Links {
		s.slowness = append(s.slowness, s.guide.router.fastest/float64(tp.Links[i].Bandwidth))
	}
	plans := append(s.gridPlans(), s.ringPlans()...)
	for _, x := range layouts(p) {
		plans = append(plans, x.plans()...)
	}
	return s, plans
}

// Hops of one class wait for hops of the same classes, last equally long, and are as many in each plan of the family.
func TestFamilies(t *testing.T) {
	for name, uneven := range map[string]bool{"hypercube:4": false, "torus:8x4": true, "mesh:4x4": true, "dgxh100:2": false, "dragonfly:2x2x2": true} {
		s, plans := composing(t, name, 1<<20)
		all := turns(plans)
		of := s.families(all, false)
		require.NotEmpty(t, of, name)
		require.Equal(t, uneven, all.uneven(), name)
		for _, x := range append(of, s.families(all, true)...) {
			count := map[int]int{}
			for i, q := range x.plans {
				for j, n := range q.bases {
					c := s.base(q.plan, n)
					labels, before := s.guide.labels(c)
					waits, found := map[int][]int{}, map[int]int{}
					for h, l := range labels {
						k, known := x.number[l]
						require.True(t, known, name)
						found[k]++
						var list []int
						for _, p := range before[h] {
							list = append(list, x.number[labels[p]])
						}
						slices.Sort(list)
						list = slices.Compact(list)
						if found[k] > 1 {
							require.Equal(t, waits[k], list, name)
						}
						waits[k] = list
						w := c.steps[s.guide.hops(c)[h].step].pairs[s.guide.hops(c)[h].pair]
						require.Equal(t, x.classes[k].lasts, s.guide.t.Duration(s.ways.routes[w.route], 1), name)
					}
					if i == 0 && j == 0 {
						count = found
					}
					require.Equal(t, count, found, name)
				}
			}
		}
	}
}

// Slots divide all latencies, unless what divides these is far shorter: then the least one.
func TestSlot(t *testing.T) {
	for _, c := range []struct {
		least, unit model.Time
		about, want float64
	}{
		{1_000_000, 500_000, 260_000, 250_000},
		{1_000_000, 500_000, 900_000, 500_000},
		{1_000_000, 500_000, 1_100_000, 1_000_000},
		{700_000, 50_000, 260_000, 700_000. / 3},
		{700_000, 50_000, 90_000, 50_000},
		{500_000, 500_000, 2_000_000, 500_000},
	} {
		require.InDelta(t, c.want, latencies{c.least, c.unit}.slot(c.about), 1, "%+v", c)
	}
}

// On a hypercube whose members exchange sums along each dimension, and where the buffer takes a latency over all links of a member, as much
// of it is over as there is time after the latencies.
func TestTimetable(t *testing.T) {
	s, plans := composing(t, "hypercube:3", 1<<20)
	k := &s.p.Topology.Links[0]
	s.p.Size = int64(3 * float64(k.Alpha) * float64(k.Bandwidth) / 1e12)
	of := slices.DeleteFunc(s.families(turns(plans), false), func(x *family) bool { return len(x.classes) != 3 || x.plans[0].transfers(1) != 24 })
	require.Len(t, of, 1)
	slot := float64(of[0].classes[0].lasts) / 4
	for more := 1; more <= 4; more++ {
		x := s.timetable(of, slot, 12+more)
		require.NotNil(t, x)
		require.InDelta(t, float64(more)/4, x.over, 1e-3)
		for class := range of[0].classes {
			for _, part := range []float64{0.25, 0.5, 1} {
				at := x.at(0, class, part)
				require.LessOrEqual(t, at, float64(12+more)*slot-float64(of[0].classes[class].tail)*0.999)
				for _, b := range of[0].classes[class].before {
					require.GreaterOrEqual(t, at, x.at(0, b, part)+4*slot*0.999)
				}
			}
		}
	}
}

// Chunks that follow timetables are sooner over than those that all follow one plan.
func TestSchedule(t *testing.T) {
	s, plans := composing(t, "hypercube:4", 1<<19)
	s.together(1)
	plans = slices.DeleteFunc(plans, func(q *plan) bool { return !s.estimate(q) })
	s.pure(plans)
	before := s.makespan
	s.bound = before / 10 * 9
	s.schedule(best(plans))
	require.Less(t, float64(s.makespan), 0.97*float64(before))
	r := s.result(solve.Done)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}

// More chunks of the plan of the best schedule are tried, and kept only where they end sooner.
func TestFiner(t *testing.T) {
	sooner := 0
	for _, name := range []string{"dgxh100:2", "fattree:4x4", "dragonfly:3x2x2", "torus:4x4"} {
		s, plans := composing(t, name, 1<<20)
		plans = slices.DeleteFunc(plans, func(q *plan) bool { return !s.estimate(q) })
		s.leading = true
		s.together(1)
		s.combine(plans[0], s.pieces(plans[0], 1))
		before, chunks, note := s.makespan, len(s.best.Chunks), s.note
		s.finer(plans)
		require.LessOrEqual(t, s.makespan, before)
		require.Equal(t, note, s.note)
		if s.makespan < before {
			sooner++
			require.Greater(t, len(s.best.Chunks), chunks)
			require.NoError(t, solvetest.Right(s.best, s.result(solve.Done).Schedule))
		}
		end, last := s.makespan, len(s.best.Chunks)
		if s.finer(plans); s.makespan == end {
			require.Len(t, s.best.Chunks, last)
		}
	}
	require.Positive(t, sooner)
}

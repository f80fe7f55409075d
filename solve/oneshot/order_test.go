package oneshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// Whatever ranks the hops of chunks are to have, those of a timetable, too, once they are in order what is placed by them is an allreduce.
func TestOrder(t *testing.T) {
	for _, name := range []string{"hypercube:4", "dgx1", "torus:2x8", "ring:16", "mesh:3x4", "dragonfly:3x2x2"} {
		s, r, checked := searchOn(t, name), rand.New(rand.NewPCG(3, 0)), 0
		s.p.Size = 1 << 16
		var plans []*plan
		for q := range estimated(s) {
			plans = append(plans, q)
		}
		for _, q := range append(plans, s.ringPlans()...) {
			b := s.divided(3)
			var courses []*course
			for k := range b.p.Chunks {
				c := b.course(q, k)
				hops := slices.Clone(s.guide.hops(c))
				for i := range hops {
					hops[i].rank = model.Time(r.IntN(len(hops)))
				}
				c.order(s.n(), hops)
				var ranks []model.Time
				for _, h := range hops {
					ranks = append(ranks, h.rank)
				}
				courses, b.ranks = append(courses, c), append(b.ranks, ranks)
			}
			if !b.place(courses, nil, model.MaxTime) {
				continue
			}
			s.best = nil
			s.keep(b, "")
			got := s.result(solve.Done)
			require.NoError(t, solvetest.Right(got.Problem, got.Schedule), "%s: %s", name, q)
			checked++
		}
		require.Greater(t, checked, 20, name)
	}
}

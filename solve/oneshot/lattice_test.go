package oneshot

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// ready prepares a search for placing courses.
func ready(s *search) {
	s.leading = true
	s.others, s.most, s.large = model.MaxTime, maxComposed, map[int]int64{}
	s.guide, s.images = newGuide(s.p, s.ways), newImages(s)
	for i := range s.p.Topology.Links {
		s.slowness = append(s.slowness, s.guide.fastest/float64(s.p.Topology.Links[i].Bandwidth))
	}
	s.together(1)
}

// Plans through any states are allreduces, also backwards, in any order of their steps, and with images.
func TestPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"ring:8", "mi250", "dragonfly:3x2x2", "fattree:2x4", "mesh:2x4", "dgx1"} {
		s := searchOn(t, name)
		ready(s)
		for _, x := range layouts(s.p) {
			for _, q := range s.paths(x) {
				require.True(t, s.estimate(q))
				s.together([]int{1, s.copiesOf(q)}[r.IntN(2)])
				of := candidates([]*plan{q})
				for range 2 {
					m := &mixture{counts: make([]int, len(of))}
					for i := range of {
						m.counts[i] = 2 + r.IntN(3)
						more := make([]model.Time, q.steps())
						for j := range more {
							more[j] = model.Time(r.IntN(1000000))
						}
						m.more = append(m.more, more)
					}
					chunks := 0
					for _, n := range m.counts {
						chunks += n
					}
					s.best = nil
					if s.mixed(of, m, model.MaxTime, chunks) == model.MaxTime {
						continue
					}
					got := s.result(solve.Done)
					require.NoError(t, solvetest.Right(got.Problem, got.Schedule), "%s: %s", name, fmt.Sprint(q.radix, q.turns, q.mirrored, m, s.copies))
				}
			}
		}
	}
}

package verifytest

import (
	"maps"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Shrink returns a problem and a schedule that still fail, as p and s do, and of which nothing
// simple can be left out: a transfer, a condition of a custom collective, a count above one,
// a port, the release times.
func Shrink(p *model.Problem, s *model.Schedule, fails func(*model.Problem, *model.Schedule) bool) (*model.Problem, *model.Schedule) {
	for again := true; again; {
		again = false
		try := func(q *model.Problem, t *model.Schedule) {
			if q.Validate() == nil && fails(q, t) {
				p, s, again = q, t, true
			}
		}
		for i := len(s.Transfers) - 1; i >= 0 && wellFormed(p, s); i-- {
			t := CloneSchedule(s)
			remove(t, i)
			try(p, t)
		}
		for _, of := range []func(q *model.Problem) *[]model.Condition{
			func(q *model.Problem) *[]model.Condition { return &q.Collective.Pre },
			func(q *model.Problem) *[]model.Condition { return &q.Collective.Post },
		} {
			for i := len(*of(p)) - 1; i >= 0; i-- {
				q := CloneProblem(p)
				*of(q) = slices.Delete(*of(q), i, i+1)
				try(q, s)
			}
			for i := range *of(p) {
				counts := Counts{}
				for j, n := range (*of(p))[i].Value.Terms() {
					counts[j] = n
				}
				for _, j := range slices.Sorted(maps.Keys(counts)) {
					for _, n := range []int{0, 1, 2, counts[j] - 1} {
						if n >= counts[j] || n < 0 {
							continue
						}
						fewer := maps.Clone(counts)
						if fewer[j] = n; n == 0 {
							delete(fewer, j)
						}
						q := CloneProblem(p)
						(*of(q))[i].Value = Multiset(fewer)
						if q.Validate() == nil && fails(q, s) {
							p, counts, again = q, fewer, true
							break
						}
					}
				}
			}
		}
		for i := len(p.Topology.Ports) - 1; i >= 0; i-- {
			q := CloneProblem(p)
			q.Topology.Ports = slices.Delete(q.Topology.Ports, i, i+1)
			try(q, s)
		}
		if p.Release != nil {
			q := CloneProblem(p)
			q.Release = nil
			try(q, s)
		}
	}
	return p, s
}

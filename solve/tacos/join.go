package tacos

import (
	"slices"
	"sync"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/place"
)

// join puts the two halves of an allreduce together, reduction and spreading, in the
// best of some ways. Where ranks are late it times reductions, of which spread may be
// empty, such that they do not wait for the late ranks longer than they must.
func (s *synthesis) join(pt *network.Pattern, reduce, spread []model.Transfer, stop func() bool) *model.Schedule {
	if len(reduce)+len(spread) == 0 {
		return s.schedule([]model.Transfer{})
	}
	after(reduce, spread)
	relayed := slices.ContainsFunc(reduce, func(t model.Transfer) bool { return t.Op == model.Copy })
	if relayed { // ranks outside the group forward: what they get first must be copied
		if !s.p.Late() {
			return s.schedule(append(reduce, spread...))
		}
		// They are timed once more, in the order of their starts: so the first to start is it.
		solve.CopyFirst(s.p, reduce, func(t *model.Transfer) model.Time { return t.Start })
		program := place.NewProgram(s.p)
		program.Append(s.schedule(append(reduce, spread...)))
		placed, err := program.PlaceInOrder()
		if err != nil {
			return nil
		}
		return placed
	}
	root := make([]int32, len(pt.From))
	for k := range root {
		root[k] = pt.From[k][0]
	}
	var best *model.Schedule
	var least model.Time
	if !s.p.Late() {
		best = s.schedule(slices.Concat(reduce, spread))
		if least = s.p.Makespan(best); s.both != nil && least <= s.both.Volume+s.both.Volume/nearly {
			return best
		}
	}
	jobs := newHalves(s.forward, reduce, spread, root)
	var all []int
	for levels := 1; levels <= maxLevels && levels <= len(root); levels *= 2 {
		all = append(all, levels)
	}
	for some := range slices.Chunk(all, max(1, s.threads)) {
		timed := make([][]model.Transfer, len(some))
		var wg sync.WaitGroup
		for i, levels := range some {
			wg.Go(func() { timed[i] = jobs.retime(levels, stop) })
		}
		wg.Wait()
		for _, moves := range timed { // one after the other, whatever the number of goroutines
			if moves == nil {
				return best
			}
			t := s.schedule(moves)
			makespan := s.p.Makespan(t)
			if best == nil || makespan < least {
				best, least = t, makespan
			}
			if makespan > least+least/16 {
				return best // more levels are worse here
			}
		}
	}
	return best
}

// Two halves, one after the other, are good enough if they are longer than a bound by no more
// than 1/nearly.
const nearly = 128

// maxLevels is into how many classes of priority the chunks of an allreduce are
// divided at most.
const maxLevels = 8

// after moves the second half to where the first one ends.
func after(first, second []model.Transfer) {
	end := solve.End(first)
	for i := range second {
		second[i].Start += end
		second[i].End += end
	}
}

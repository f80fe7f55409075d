package trace

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Joined is what the files of several ranks of one run show together.
type Joined struct {
	Ranks   []int        // of the files, ascending
	Offsets []model.Time // of each rank's clock from that of the first one, as the collectives tell
	Error   model.Time   // the median distance of the ends of a collective that is left then
	Job     Job
}

// Join brings the files of several ranks of one run together, by the collectives, which end on all
// ranks at about one time: the median difference of their ends is the difference of the clocks. What a
// collective takes is the least of what it takes on any rank, since the others wait in it. The files
// must have the same collectives in the same order.
func Join(traces []*Trace) (*Joined, error) {
	if len(traces) < 2 {
		return nil, fmt.Errorf("%d files, want those of at least two ranks", len(traces))
	}
	all := slices.Clone(traces)
	slices.SortStableFunc(all, func(a, b *Trace) int { return a.Rank - b.Rank })
	first := all[0]
	for i, t := range all {
		switch {
		case t.Rank < 0:
			return nil, fmt.Errorf("%s: does not say of which rank it is", t.File)
		case i > 0 && t.Rank == all[i-1].Rank:
			return nil, fmt.Errorf("%s and %s: both of rank %d", all[i-1].File, t.File, t.Rank)
		case len(t.Calls) == 0 || len(t.Jobs) == 0:
			return nil, fmt.Errorf("%s: has no collectives with times", t.File)
		case len(t.Calls) != len(first.Calls):
			return nil, fmt.Errorf("%s: %d collectives, and %s has %d: not of one run, or of other steps", t.File, len(t.Calls), first.File, len(first.Calls))
		}
		for k, c := range t.Calls {
			if o := first.Calls[k]; c.Kind != o.Kind || c.Bytes != o.Bytes {
				return nil, fmt.Errorf("%s: collective %d is %s of %d bytes, and in %s %s of %d", t.File, k, c.Kind, c.Bytes, first.File, o.Kind, o.Bytes)
			}
		}
	}
	j := &Joined{Job: first.Jobs[0]}
	j.Job.Name, j.Job.Ranks, j.Job.Comm, j.Job.Exposed = "", max(first.Ranks, len(all)), nil, nil
	var left []model.Time
	for _, t := range all {
		var ends []model.Time
		for k, c := range t.Calls {
			o := first.Calls[k]
			ends = append(ends, c.Start+c.Duration-o.Start-o.Duration)
		}
		offset, _ := median(slices.Clone(ends))
		for _, e := range ends {
			if t != first {
				left = append(left, max(e-offset, offset-e))
			}
		}
		j.Ranks, j.Offsets = append(j.Ranks, t.Rank), append(j.Offsets, offset)
	}
	j.Error, _ = median(left)
	j.late(all)
	return j, nil
}

// late finds who comes last, and what the collectives take.
func (j *Joined) late(all []*Trace) {
	calls := all[0].Calls
	releases, last := make([][]model.Time, len(all)), make([]int, len(all))
	var afterFirst, afterNext []model.Time
	steps := map[string]model.Time{}
	for k := range calls {
		starts := make([]model.Time, len(all))
		least := model.MaxTime
		for i, t := range all {
			starts[i] = t.Calls[k].Start - j.Offsets[i]
			least = min(least, t.Calls[k].Duration)
		}
		if calls[k].Step != "" {
			steps[calls[k].Step] += least
		}
		sorted := slices.Clone(starts)
		slices.Sort(sorted)
		latest := 0
		for i, at := range starts {
			releases[i] = append(releases[i], at-sorted[0])
			if at >= starts[latest] {
				latest = i
			}
		}
		last[latest]++
		afterFirst = append(afterFirst, sorted[len(sorted)-1]-sorted[0])
		afterNext = append(afterNext, sorted[len(sorted)-1]-sorted[len(sorted)-2])
	}
	var comm, compute []model.Time
	for _, m := range steps {
		comm = append(comm, m)
	}
	j.Job.Comm = medianOf(comm)
	for _, t := range all {
		if c := t.Jobs[0].Compute; c != nil {
			compute = append(compute, *c)
		}
	}
	if len(compute) > 0 {
		c := slices.Max(compute)
		j.Job.Compute = &c
	}
	usual := 0
	j.Job.Releases = nil
	for i := range all {
		m, _ := median(releases[i])
		j.Job.Releases = append(j.Job.Releases, m)
		if last[i] > last[usual] {
			usual = i
		}
	}
	a, _ := median(afterFirst)
	b, _ := median(afterNext)
	j.Job.Late = &Late{Rank: j.Ranks[usual], Times: last[usual], Of: len(calls), AfterFirst: a, AfterNext: b}
}

package bound

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// maxLateTimes limits how many arrivals are looked at, the last ones.
const maxLateTimes = 16

// lateTimes returns arrivals of members that an allreduce waits for while others are
// there, the last ones first.
func (f *finder) lateTimes() []model.Time {
	if f.custom != nil || !f.fromAll || !f.toAll {
		return nil
	}
	times := make([]model.Time, 0, len(f.members))
	for _, r := range f.members {
		times = append(times, f.p.ReleaseOf(r))
	}
	slices.Sort(times)
	first := times[0]
	times = slices.Compact(times)
	slices.Reverse(times)
	times = times[:min(len(times), maxLateTimes)]
	return slices.DeleteFunc(times, func(at model.Time) bool { return at == first })
}

// lateLoad returns what must move at since or later: with n members, l of them not there
// before, n-1+l times each chunk.
func (f *finder) lateLoad(since model.Time) *load {
	l := f.newLoad()
	late := 0
	for _, r := range f.members {
		if f.p.ReleaseOf(r) >= since {
			late++
		}
	}
	for i := range f.parts {
		l.add(f.shape(int32(i)), int64(len(f.members)-1+late))
	}
	for r := range l.src {
		l.src[r] = true
	}
	l.since = since
	return l
}

package cert

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// maxLateTimes limits how many arrivals are looked at, the last ones.
const maxLateTimes = 16

// lateTimes returns arrivals of members, if an allreduce waits for some of them but
// not for all, the last ones first.
//
// Lemma (late). Of an allreduce, let l of n members arrive at D > 0 or later, 0 < l < n.
// Then of each item there are at least n-1+l transfers that start at D or later.
//
// Proof. Call late every rank that arrives at D or later, and old what a member that is
// not late contributes. A transfer starts at D or later if it starts or ends at a late
// rank, passes one [(late)], or reads a late contribution [(arrive): a chain leads to
// where it reads, and its first transfer starts at a late rank]. Let f be a rank whose slot
// is the first to contain all l late contributions, at the time t0; l = 1: f is where that
// one is at the start, and t0 = 0. As in (combine) there are transfers of three kinds.
//
// First, for each late member other than f one with which its contribution left it on a
// chain to f that had ended by t0. They differ in their source, which is a late member.
// Second, for each member other than f one that wrote into its slot, which contained all
// late contributions then for the first time, at t0 or later. It read a late
// contribution [else they were all there before]. They differ in their destination, and
// none is of the first kind [one of those that does not end at f ended before t0].
//
// These are l + n-1 or more, unless f is a late member; then they are l-1 + n-1 or more.
// In that case take a chain that brings an old contribution to f. Its last transfer e ends
// at f. Its first one to end at a late rank, c, which may be e, starts at a rank that is
// not late. Both start at D or later. If e ended by t0, c is of neither kind: its source is
// not a late member, and it ends at f or, as a transfer follows it that ended by t0, ended
// before t0. If e ended after t0, it is of neither kind: it ends at f, and after t0.
func (j *job) lateTimes() []model.Time {
	if j.p.Collective.Kind != model.AllReduce {
		return nil
	}
	var times []model.Time
	for _, r := range j.p.Members() {
		times = append(times, j.p.ReleaseOf(r))
	}
	slices.Sort(times)
	times = slices.Compact(times)[1:] // the first members are there, and do not wait
	slices.Reverse(times)
	return times[:min(len(times), maxLateTimes)]
}

// lateMembers returns how many members arrive at since or later.
func (j *job) lateMembers(since model.Time) int {
	n := 0
	for _, r := range j.p.Members() {
		if j.p.ReleaseOf(r) >= since {
			n++
		}
	}
	return n
}

// lateLoad returns the transfers of (late), each as a chain of its own, that starts at
// since or later at any rank.
func (j *job) lateLoad(since model.Time) *load {
	each := int64(len(j.p.Members()) - 1 + j.lateMembers(since))
	l := j.total(func(*load, int) int64 { return each })
	for r := range j.t.Ranks {
		l.from[r] = max(since, j.p.ReleaseOf(r))
	}
	return l
}

package cert

import (
	"errors"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "the transfers that the collective needs in all have to pass the links that enter ranks, and those that leave ranks; for an allreduce with late ranks, n-1+l of each chunk after l of n members have come",
	Holds:  "nothing",
	Needs:  "that not both switches copy and switches add, unless ranks read sums at all of these",
	Lemmas: "combine, late, passing, reading, direct, senders, turning",
}, func(j *job, _ model.Volume) (model.Time, error) { return j.volume() })

// volume returns the bound that the collective yields as a whole: this many transfers
// it needs, and each has to pass a link that enters its destination and one that leaves
// its source. Where no switch adds, two transfers never share the last link at one time,
// and where none copies, the first [(apart)]; so (passing) holds for all links that enter
// ranks, or for all that leave ranks. Where switches do both, see reading.go.
//
// Where ranks come late, the same is said of the transfers that have to wait for them:
// see late.go. Where ranks read sums and have no other way, more is said of what is sent first and
// what comes last: see turning.go.
func (j *job) volume() (model.Time, error) {
	best, err := j.entering(j.total(func(l *load, k int) int64 {
		for r := range j.start(k) {
			j.startsAt(l, r)
		}
		return j.transfers(k)
	}))
	if err != nil {
		return 0, err
	}
	for _, since := range j.lateTimes() {
		t, err := j.entering(j.lateLoad(since))
		if err != nil {
			return 0, err
		}
		best = max(best, t)
	}
	return max(best, j.readers()), nil
}

// entering returns the bound of a load each of whose transfers passes a link that
// enters a rank, and one that leaves a rank.
func (j *job) entering(l *load) (model.Time, error) {
	for r := range j.t.Ranks {
		j.endsAt(l, r)
	}
	var in, out []int
	for i, k := range j.t.Links {
		if j.t.IsRank(k.Dst) {
			in = append(in, i)
		}
		if j.t.IsRank(k.Src) {
			out = append(out, i)
		}
	}
	if j.adds() && j.copies() {
		return j.reading(in, out, l)
	}
	return j.either(in, out, l, !j.adds(), !j.copies())
}

// either returns the bound of a load that passes the links in, and the links out, where
// what it counts passes them one by one.
func (j *job) either(in, out []int, l *load, apartIn, apartOut bool) (best model.Time, err error) {
	if !apartIn && !apartOut {
		return 0, errors.New("topology: switches copy and add, so that what passes a link at one time can count for many transfers")
	}
	if apartIn {
		if best, err = j.passing(j.lanes(in, l), l); err != nil {
			return 0, err
		}
	}
	if apartOut {
		other, err := j.passing(j.lanes(out, l), l)
		if err != nil {
			return 0, err
		}
		best = max(best, other)
	}
	return best, nil
}

// adds reports whether any switch adds.
func (j *job) adds() bool {
	_, adds := j.t.Reducer()
	return adds
}

// copies reports whether any switch copies.
func (j *job) copies() bool {
	for _, s := range j.t.Switches {
		if s.Copies {
			return true
		}
	}
	return false
}

// transfers returns a number of transfers that item k needs at least: one for each
// rank whose slot must end with something other than what is there at the start
// [another slot, another transfer], and more where contributions are combined.
//
// Lemma (combine). Let each of m contributions be at one rank alone at the start,
// at m >= 2 different ranks, and let g >= 1 ranks have to end with all of them. Then
// there are at least (m-1) + (g-1) transfers.
//
// Proof. Let f be a rank whose slot is the first to contain all m, at the time t0.
// [One must; at the start none does, since m >= 2.] Of each of the m ranks other
// than f take the transfer with which its contribution left it on a chain to f that
// had ended by t0 [(arrive)]. These are m-1 at least, and differ in their source.
// Each of the g or g-1 ranks other than f that must end with all m has a transfer
// that wrote all m there for the first time, at t0 or later [f was first]. These are
// g-1 at least, and differ in their destination. None of the latter is one of the
// former: one of the former that does not end at f is followed on its chain by one
// that starts when it has ended, and ends by t0, so that it ended before t0
// [transfers last longer than 0].
func (j *job) transfers(k int) int64 {
	if m, ends := j.combined(k); m >= 2 && len(ends) >= 1 {
		return int64(m-1) + int64(len(ends)-1)
	}
	n := int64(0)
	for r, want := range j.goal(k) {
		if !j.settled(k, r, want) {
			n++
		}
	}
	return n
}

// combined returns m of the lemma (combine) and the ranks that have to end with all, 0 and
// none where the lemma does not apply to item k. What is at the start must be m different
// single contributions.
func (j *job) combined(k int) (m int, ends []int) {
	at := map[int]bool{}
	for _, v := range j.start(k) {
		c, single := v.Single()
		if !single || at[c] {
			return 0, nil
		}
		at[c] = true
	}
	var seen model.Value
	all := false
	for r, want := range j.goal(k) {
		if !model.Identical(seen, want) || seen.Len() == 0 {
			seen, all = want, true
			n := 0
			for c := range j.terms(want) {
				if at[c] {
					n++
				}
			}
			all = n == len(at)
		}
		if all {
			ends = append(ends, r)
		}
	}
	return len(at), ends
}

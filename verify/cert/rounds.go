package cert

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/oraccl/oraccl/model"
)

var _ = []Kind{
	rule(Kind{
		Shows:  "the ranks that hold a contribution at most double each round",
		Holds:  "the contribution",
		Needs:  "no switch copies",
		Costs:  []model.CostModel{model.Rounds},
		Lemmas: "doubling",
	}, (*job).doubling),
	rule(Kind{
		Shows:  "a rank sends what only it has at one chunk per round, and the last chunk then spreads by doubling",
		Holds:  "the rank",
		Costs:  []model.CostModel{model.Rounds},
		Lemmas: "spread",
	}, func(j *job, w model.Spread) (model.Time, error) { return j.spread(w.Source) }),
	rule(Kind{
		Shows:  "a rank receives one chunk per round, and the first complete chunk is combined by doubling",
		Holds:  "the rank",
		Costs:  []model.CostModel{model.Rounds},
		Lemmas: "combine in rounds",
	}, func(j *job, w model.Combine) (model.Time, error) { return j.combine(w.Dest) }),
}

// The bounds of this file hold in rounds only. A round in which a chunk of size
// bytes or more is moved over one of some links lasts no less than the hop does:
// see hop. Rounds in which nothing happens take no time and are not counted.

// hop returns the least time of a hop over one of some links, MaxTime if there are
// none: the latencies that lead to it from a rank and from it to a rank, its own,
// and its τ.
func (j *job) hop(size int64, among func(l model.Link) bool) model.Time {
	least := model.MaxTime
	for _, l := range j.t.Links {
		if among(l) {
			alpha := j.near.head[l.Src].Add(l.Alpha).Add(j.far.head[l.Dst])
			least = min(least, alpha.Add(model.TransferTime(size, l.Bandwidth)))
		}
	}
	return least
}

func (j *job) fromRank(l model.Link) bool { return j.t.IsRank(l.Src) }

func (j *job) inRounds() error {
	if j.p.Cost != model.Rounds {
		return fmt.Errorf("cost: %v, want rounds for a witness of this kind", j.p.Cost)
	}
	return nil
}

// doubling returns the bound of a contribution to an item that many ranks need.
//
// Lemma (doubling). Where no switch copies, let h ranks have a contribution to an
// item at the start, and let n >= h ranks have it or need it. Then at least
// ⌈log2(n/h)⌉ rounds begin when one of the h has arrived, and move the item.
//
// Proof. A rank sends at most once a round [(round)], and what it sends goes to one
// rank, so that those who have it at most double. [Slots where it is overwritten do
// not help.] A round that adds to them moves the item.
func (j *job) doubling(w model.Doubling) (model.Time, error) {
	if err := j.inRounds(); err != nil {
		return 0, err
	}
	if j.copies() {
		return 0, errors.New("topology: a switch copies, so that one send can reach many ranks")
	}
	item, err := j.item(w.Chunk, w.Shard)
	if err != nil {
		return 0, err
	}
	holders, first := map[int]bool{}, model.MaxTime
	for r, v := range j.start(item) {
		if j.contains(v, w.Source) {
			holders[r] = true
			first = min(first, j.p.ReleaseOf(r))
		}
	}
	n := len(holders)
	for r, want := range j.goal(item) {
		if !holders[r] && j.contains(want, w.Source) {
			n++
		}
	}
	if n == len(holders) {
		return 0, errNothing
	}
	if len(holders) == 0 {
		return model.MaxTime, nil // needed and nowhere to be had
	}
	size := j.size(item)
	if j.free {
		size = 1
	}
	return first.Add(j.hop(size, j.fromRank).Mul(int64(log2(n, len(holders))))), nil
}

// log2 returns ⌈log2(n/h)⌉ for n >= h >= 1.
func log2(n, h int) int { return bits.Len(uint((n - 1) / h)) }

// phase is what broadcast and combine count: for how many items, of which sizes, at
// least how many rounds of spreading or combining are needed.
type phase struct {
	rounds int
	sizes  []int64
}

// phases sorts items by the rounds that they need: phases[i] holds those that need
// i+1 or more.
type phases []phase

func (p *phases) add(rounds int, size int64) {
	for len(*p) < rounds {
		*p = append(*p, phase{rounds: len(*p) + 1})
	}
	for i := range rounds {
		(*p)[i].sizes = append((*p)[i].sizes, size)
	}
}

// spread returns the bound of what a rank h alone has.
//
// Lemma (spread). Let h alone have, of m >= 1 items, a contribution that at least
// n-1 >= 1 other ranks need. Then after the arrival of h there are m rounds in each
// of which h sends one of the m items, each of them once, and, where no switch
// copies, ⌈log2 n⌉ - 1 more that move one of them.
//
// Proof. Take for each item the first round in which h sends it. [It must, for it
// alone has what is needed.] In a round h sends one item [(round)], so that these
// are m rounds. Let x be the item of the last of them. Before that only h has the
// contribution to x, and after it at most two ranks; from then on those who have it
// at most double, and each round that adds to them moves x [(doubling)].
//
// Where the cut is free, the rounds in which h sends carry all bytes between them.
// Their time is least where one round carries all [latency plus time is a concave
// function of the bytes that go over a link].
func (j *job) spread(h int) (model.Time, error) {
	all, err := j.spreading(h)
	if err != nil {
		return 0, err
	}
	leaving := func(l model.Link) bool { return l.Src == h }
	return j.longest(all, leaving, func(sends, more model.Time) model.Time {
		return j.p.ReleaseOf(h).Add(sends).Add(more)
	})
}

// spreading returns what h alone has and others need, by rounds.
func (j *job) spreading(h int) (phases, error) {
	if err := errors.Join(j.inRounds(), j.rank("source", h)); err != nil {
		return nil, err
	}
	var all phases
	copies := j.copies()
	j.each(func(k int) int64 { return j.dependants(k, h) }, func(k int, n int64) {
		switch {
		case n > 0 && copies:
			all.add(1, j.size(k))
		case n > 0:
			all.add(log2(int(n)+1, 1), j.size(k))
		}
	})
	return all, nil
}

// SpreadRounds returns how many rounds that begin after the arrival of the source of a
// witness every right schedule of p has at least, by the lemma (spread): m + ⌈log2 n⌉ - 1
// for an allreduce of m chunks among n ranks. Rounds need not be equally long, so that
// this says nothing of time. Where p has no chunks it is for the fewest there can be. It
// takes O(chunks·members).
func SpreadRounds(ctx context.Context, p *model.Problem, w model.Spread) (int, error) {
	if err := p.Validate(); err != nil {
		return 0, fmt.Errorf("problem: %w", err)
	}
	j := newJob(ctx, p)
	all, err := j.spreading(w.Source)
	if !j.work.Go(1) {
		return 0, stopped(j.work.Why())
	}
	most := 0
	for _, f := range all {
		most = max(most, len(f.sizes)+f.rounds-1)
	}
	return most, err
}

// dependants returns how many ranks other than h need of item k a contribution that
// h alone has at the start: of the one of which most do.
func (j *job) dependants(k, h int) int64 {
	need := map[int]int64{} // by contribution
	for r, v := range j.start(k) {
		if r == h {
			for c := range j.terms(v) {
				need[c] = 0
			}
		}
	}
	for r, v := range j.start(k) {
		if r != h && len(need) > 0 {
			for c := range j.terms(v) {
				delete(need, c)
			}
		}
	}
	most := int64(0)
	for c := range need {
		var seen model.Value
		has := false
		for r, want := range j.goal(k) {
			if seen.Len() == 0 || !model.Identical(seen, want) {
				seen, has = want, j.contains(want, c)
			}
			if has && r != h {
				need[c]++
			}
		}
		most = max(most, need[c])
	}
	return most
}

// combine returns the bound of what a rank d must end with.
//
// Lemma (combine in rounds). Let every slot of m >= 1 items contain at most h
// different contributions at the start, and let d have to end with n > h different
// ones of each, or need to receive the item while n <= h. Then there are m rounds,
// after the arrival of d, in each of which d receives one of the items, each of them
// once; and before all of these ⌈log2(n/h)⌉ - 1 more, which move one of them.
//
// Proof. Take for each item the last round in which d receives it. [It must, for its
// slot changes in no other way.] In a round d receives one item [(round)], so that
// these are m rounds. Let x be the item of the first of them: when it ends, d has n
// contributions to x for good. A round in which the most that any slot of x contains
// grows moves x, and, where no switch adds, at most doubles it, for a slot becomes the sum
// of itself and one other at most [(round)]; so there were ⌈log2(n/h)⌉ such rounds up to
// this one, which may be one of them. Where switches add, only the m rounds count: what d
// receives in one is one stream.
func (j *job) combine(d int) (model.Time, error) {
	if err := errors.Join(j.inRounds(), j.rank("dest", d)); err != nil {
		return 0, err
	}
	var all phases
	impossible := false
	j.each(func(k int) int64 {
		if !j.needs(k, d) {
			return 0
		}
		most, n := 0, 0
		for _, v := range j.start(k) {
			most = max(most, v.Len())
		}
		for r, want := range j.goal(k) {
			if r == d {
				n = want.Len()
			}
		}
		if most == 0 {
			impossible = true // needed and nowhere to be had
			return 0
		}
		if j.adds() {
			return 1
		}
		return int64(max(1, log2(max(n, most), most)))
	}, func(k int, rounds int64) {
		if rounds > 0 {
			all.add(int(rounds), j.size(k))
		}
	})
	if impossible {
		return model.MaxTime, nil
	}
	entering := func(l model.Link) bool { return l.Dst == d }
	first := model.MaxTime
	for r := range j.t.Ranks {
		first = min(first, j.p.ReleaseOf(r))
	}
	return j.longest(all, entering, func(receives, more model.Time) model.Time {
		return max(j.p.ReleaseOf(d), first.Add(more)).Add(receives)
	})
}

// longest returns the best bound of any phase: one round for each of its items over
// one of the links at h or d, and its other rounds over any link, joined by sum.
func (j *job) longest(all phases, at func(model.Link) bool, sum func(own, more model.Time) model.Time) (model.Time, error) {
	if len(all) == 0 {
		return 0, errNothing
	}
	best := model.Time(0)
	for _, f := range all {
		own, bytes, least := model.Time(0), int64(0), f.sizes[0]
		hops := map[int64]model.Time{} // by size
		for _, size := range f.sizes {
			if _, known := hops[size]; !known {
				hops[size] = j.hop(size, at)
			}
			own = own.Add(hops[size])
			bytes += size
			least = min(least, size)
		}
		if j.free {
			own, least = j.hop(bytes, at), 1
		}
		more := j.hop(least, j.fromRank)
		if f.rounds == 1 {
			more = 0
		}
		best = max(best, sum(own, more.Mul(int64(f.rounds-1))))
	}
	return best, nil
}

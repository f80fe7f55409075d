package broadcast

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	demand "github.com/oraccl/oraccl/solve/network"
)

// drained returns a stream that ends sooner, if it finds one; s itself otherwise.
//
// Trees of the largest rate keep all links busy, and so some of them are deeper than the farthest rank is away: what
// comes over the others makes up for that, except at the end. There the last chunks would go down deep trees alone,
// while links near the root have nothing left to carry. So what comes later than a time is taken out, and is brought
// again on ways of its own, from wherever the chunk is by then, over links that are idle: for instance on a ring, where
// all chunks go all the way round, each of the last ones is sent both ways and goes round a part. Each way is as late as
// it can be, so that what leaves the root last has the shortest way to go. The time is searched for, by steps that grow, even
// where one of them fails, and then by halving.
func (s *stream) drained(ctx context.Context, bound model.Time) *stream {
	s.fill()
	best, late, looks := s, s.end(), drainLooks
	end, low := late, max(bound, s.first())
	try := func(middle model.Time) bool {
		middle -= middle % s.grain
		for _, first := range []bool{true, false} {
			if c := s.clone(); c.drain(ctx, middle, first, &looks) {
				best, end = c, c.end()
				return true
			}
		}
		return false
	}
	more := func() bool { return end-low > end/smallestGain && looks > 0 && ctx.Err() == nil }
	failed := low
	for step := max(1, (late-low)/firstStep); more() && late-step > low; step *= 2 {
		if middle := late - step; middle < end && !try(middle) && middle > failed {
			failed = middle
		}
	}
	if failed < end { // else more was asked for later, and found
		low = failed
	}
	for more() {
		if middle := (low + end) / 2; !try(middle) {
			low = middle
		}
	}
	return best
}

// smallestGain is by which part of the time the end is known in the search for it.
const smallestGain = 1 << 13

// firstStep is by which part of what there may be to gain the end is put forward first: little has to be brought again
// then. It is twice as much each time.
const firstStep = 64

// drainLooks is about how many links the search looks at.
const drainLooks = 1 << 22

// manyGaps is how often a time for a hop is put forward until it is given up.
const manyGaps = 16

// fill gives up what is idle for less than a chunk takes: there is much of it where trees share links, and searches pass
// over it again and again.
func (s *stream) fill() {
	for _, uses := range s.uses[0] {
		for _, u := range uses {
			s.board.Fill(u, 0)
		}
	}
}

// first returns the time at which each rank has a chunk.
func (s *stream) first() (last model.Time) {
	for v := range s.ranks {
		first := model.MaxTime
		for k := range s.trains {
			first = min(first, s.at[s.slot(k, v)])
		}
		if first < model.MaxTime {
			last = max(last, first)
		}
	}
	return last
}

// late is a chunk that came to a rank after the end.
type late struct {
	chunk, rank int
	was         model.Time // when it came
}

// drain has all that comes after end come until then, and reports whether that could be done within a number of looks at
// links, which it counts down: what left the root first is seen to first, or last.
func (s *stream) drain(ctx context.Context, end model.Time, first bool, looks *int) bool {
	var all []late
	var groups []int                        // of one chunk each: where they begin
	emitted := make([]model.Time, s.trains) // by chunk: when it first left the root
	root := s.p.Collective.Root
	for k := range s.trains {
		begin, left := len(all), model.MaxTime
		for v := range s.ranks {
			i := s.slot(k, v)
			if s.by[i] < 0 {
				continue
			}
			if s.hops[s.by[i]].from == root {
				left = min(left, s.at[i])
			}
			if s.at[i] > end {
				all = append(all, late{chunk: k, rank: v, was: s.at[i]})
				s.cancel(k, v)
			}
		}
		if emitted[k] = left; begin < len(all) {
			groups = append(groups, begin)
			slices.SortStableFunc(all[begin:], func(a, b late) int { return cmp.Compare(b.was, a.was) })
		}
	}
	slices.SortStableFunc(groups, func(i, j int) int { return cmp.Compare(emitted[all[i].chunk], emitted[all[j].chunk]) })
	if !first {
		slices.Reverse(groups)
	}
	b := &back{stream: s, looks: looks, need: make([]model.Time, s.ranks), via: make([]int32, s.ranks), done: make([]bool, s.ranks)}
	for _, begin := range groups {
		k := all[begin].chunk
		for i := begin; i < len(all) && all[i].chunk == k; i++ {
			if *looks <= 0 || i%(every/64) == 0 && ctx.Err() != nil {
				return false
			}
			if s.by[s.slot(k, all[i].rank)] < 0 && !b.bring(k, all[i].rank, end) {
				return false
			}
		}
	}
	return true
}

// back searches for ways backwards in time.
type back struct {
	*stream
	looks *int
	need  []model.Time // by rank: until when it must have a chunk
	via   []int32      // by rank: the hop that it must have it for
	done  []bool
}

// bring brings a chunk to a rank until end, over links that are idle, and reports whether there is a way. It is that
// which begins last; ranks on it that would get the chunk later get it by this way alone.
func (b *back) bring(chunk, rank int, end model.Time) bool {
	z := b.size(chunk)
	for u := range b.need {
		b.need[u], b.done[u] = math.MinInt64, false
	}
	lead := b.lead[z]
	b.need[rank] = end - lead
	for {
		u := -1
		for v, need := range b.need {
			if !b.done[v] && need >= 0 && (u < 0 || need > b.need[u]) {
				u = v
			}
		}
		if u < 0 {
			return false
		}
		if at := b.at[b.slot(chunk, u)]; at <= b.need[u]+lead {
			b.take(chunk, u, rank)
			return true
		}
		b.done[u] = true
		for _, h := range b.into[u] {
			v := b.hops[h].from
			if b.done[v] {
				continue
			}
			if start := b.idle(b.uses[z][h], b.need[u]+lead-b.lasts[z][h]); start > b.need[v] {
				b.need[v], b.via[v] = start, h
			}
		}
	}
}

// idle returns the last time, at the latest at, at which a hop can begin, or one before all times if it is not found soon:
// where links of a hop are often idle, but not at the times at which they are needed.
func (b *back) idle(uses []demand.Use, at model.Time) model.Time {
	for range manyGaps {
		*b.looks -= len(uses)
		last := at
		for i := range uses {
			last = b.board.Last(uses[i:i+1], 0, last)
		}
		if last < 0 {
			break
		}
		last -= last % b.grain
		if last == at || len(uses) == 1 && b.grain == 1 {
			return last
		}
		at = last
	}
	return math.MinInt64
}

// take books the way that was found from a rank to another.
func (b *back) take(chunk, from, to int) {
	for u := from; u != to; {
		h, start := b.via[u], b.need[u]
		if u = b.hops[h].to; b.by[b.slot(chunk, u)] >= 0 {
			b.cancel(chunk, u)
		}
		b.book(chunk, h, start)
	}
}

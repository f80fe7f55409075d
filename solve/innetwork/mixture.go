package innetwork

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// mixture is how an allreduce among the n ranks of one machine is put together of three phases. In rounds of n-1 slots, owners
// get what others contribute to a chunk each, from one after the other. In periods of n+1 slots, every rank writes to all a sum
// that it has, in the first slot, and then one after the other reads that of another chunk. In as many rounds as at first,
// what has not been written goes from its owner to one rank after the other. So no link ever waits for a sum, if the rounds
// take the latency a from rank to rank. With x >= a·n/(n-1) for the buffer over a link that takes, in the limit of small chunks,
//
//	a(2n-4)/(n-1) + (n+1)x/n
//
// which is the least there is: see the lemma (turning) of package verify/cert. For smaller buffers no form is known that is better than those
// without sums in switches: see package oneshot.
type mixture struct{ rounds, periods int }

// mostRounds is up to how many rounds are tried: their latencies are rounded up to a slot in as many times n-1.
const mostRounds = 96

// mix tries the mixture that should end first.
func (s *search) mix(b *solve.Budget) {
	n, planes := s.size, len(s.planes)
	var best mixture
	least := model.MaxTime
	for rounds := 1; rounds <= mostRounds && !b.Spent(); rounds += 1 + rounds/8 {
		end := func(periods int) (model.Time, bool) {
			chunks := planes * n * (rounds + periods)
			if int64(chunks) > s.p.Space() || chunks > model.MaxChunks || 2*(n-1)*chunks > maxTransfers {
				return 0, false
			}
			size := (s.p.Space()-1)/int64(chunks) + 1
			slot, took := s.slot(s.insideLinks, size), s.longest(size)
			sums := model.Time(n-2)*slot + took // when owners have the sums of the first round
			return model.Time(2*rounds*(n-1)+periods*(n+1)-1)*slot + took, sums <= model.Time(rounds*(n-1))*slot
		}
		low, high := 0, 1 // of all numbers of periods for which there is time the largest
		for _, ok := end(high); ok; _, ok = end(high) {
			low, high = high, 2*high
		}
		for high-low > 1 {
			mid := (low + high) / 2
			if _, ok := end(mid); ok {
				low = mid
			} else {
				high = mid
			}
		}
		if t, ok := end(low); ok && t < least {
			least, best = t, mixture{rounds, low}
		}
	}
	if least == model.MaxTime || s.result.Schedule != nil && least >= s.result.Makespan() {
		return
	}
	q := s.p.WithChunks(planes * n * (best.rounds + best.periods))
	if made := s.mixed(b, q, best); made != nil && (s.result.Schedule == nil || q.Makespan(made) < s.result.Makespan()) {
		s.result.Problem, s.result.Schedule = q, made
		s.result.Note = fmt.Sprintf("each of %d ranks reads sums at %d switches, in turns with writing them, and adds up others before", n, planes)
	}
}

// longest returns how long a chunk of some size is on its way between two ranks of the machine at most, if it does not wait.
func (x *machines) longest(size int64) (longest model.Time) {
	y := &builder{machines: x, p: &model.Problem{Chunks: []model.Chunk{{Size: size}}}}
	for plane := range x.planes {
		for i := range x.size {
			longest = max(longest, y.took(place{plane: plane}, 0, i, 0), y.took(place{plane: plane}, 0, 0, i))
		}
	}
	return longest
}

// mixed returns the schedule of a mixture for a problem that has as many chunks, or nil if the budget is spent before.
func (x *machines) mixed(budget *solve.Budget, p *model.Problem, m mixture) *model.Schedule {
	n, planes, y := x.size, len(x.planes), x.builder(p, woven)
	woven := m.rounds * (n - 1)
	last := woven + m.periods*(n+1)
	for plane := range planes {
		of := func(turn, owner int) place { return place{k: plane + (turn*n+owner)*planes, plane: plane} }
		for t := range m.rounds {
			for d := 1; d < n; d++ {
				for i := range n {
					to := (i + d) % n
					y.one(of(t, to), i, to, t*(n-1)+d-1, model.Reduction)
					y.one(of(m.periods+t, i), i, to, last+t*(n-1)+d-1, model.Copy)
				}
			}
		}
		for t := range m.periods {
			if budget.Spent() {
				return nil
			}
			for r := range n {
				y.toAll(of(t, r), r, woven+t*(n+1))
				y.sum(of(m.rounds+t, r), r, woven+t*(n+1)+1+r)
			}
		}
	}
	return y.s
}

// one has a rank send a chunk to another one in a slot.
func (y *builder) one(c place, src, dst, at int, op model.Op) {
	start := model.Time(at) * y.inside.slot
	y.add(c.k, y.members[0][src], y.members[0][dst], op, y.within(c, 0, src, dst), start, start+y.took(c, 0, src, dst))
}

// toAll has a rank write a chunk to all others, over its plane, in a slot. It goes on from the switch when the rank reads a sum there,
// for which no other one needs its link from the switch.
func (y *builder) toAll(c place, rank, at int) {
	ranks, slot := y.members[0], y.inside.slot
	for i, r := range ranks {
		if i != rank {
			y.add(c.k, ranks[rank], r, model.Copy, y.within(c, 0, rank, i), model.Time(at)*slot, model.Time(at+1+rank)*slot+y.took(c, 0, rank, i))
		}
	}
}

// sum has a rank read the sum of a chunk in a slot.
func (y *builder) sum(c place, reader, at int) {
	ranks, start, end := y.members[0], model.Time(at)*y.inside.slot, model.Time(0)
	for i := range ranks {
		if i != reader {
			end = max(end, start+y.took(c, 0, i, reader))
		}
	}
	for i, r := range ranks {
		if i != reader {
			y.add(c.k, r, ranks[reader], model.Reduction, y.within(c, 0, i, reader), start, end)
		}
	}
}

package innetwork

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Links between machines have nothing to carry until the first sums have been read, and again while the last ones are written. They
// carry some chunks apart then, each of which costs a link as much as there are ranks in a machine: what each rank contributes goes to its
// peer at the chunk's home, where the sum is read of what ranks hold then; and from a home where all ranks have the
// sum each of them sends it to its peers. Of n ranks with the latency a in a machine that saves 2a/n: the bound
// crossing, and for two machines coverage, count with as much (package verify/cert).

// apart adds the first chunks, and of as many last ones what comes before they go from their homes: that is returned.
func (y *builder) apart(chunks int) (last []func()) {
	for k := range chunks {
		y.early(y.placeOf(k))
	}
	for k := len(y.p.Chunks) - chunks; k < len(y.p.Chunks); k++ {
		last = append(last, y.late(y.placeOf(k)))
	}
	return last
}

// early adds a chunk that each rank sends to its peer at the home before sums are read.
func (y *builder) early(c place) {
	at := make([]model.Time, y.size)
	for g := range y.members {
		for d := 0; d < y.size && g != c.home; d++ {
			i := (c.owner + d) % y.size
			at[i] = max(at[i], y.send(place{k: c.k, plane: c.plane, owner: i, home: c.home}, g, c.home, model.Reduction, 0))
		}
	}
	sum := y.total(c, at)
	y.write(c, c.home, c.owner, c.owner, sum)
	for g := range y.members {
		if g != c.home {
			y.write(c, g, c.owner, c.owner, y.send(c, c.home, g, model.Copy, sum))
		}
	}
}

// total has the owner of a chunk at home read the sum of what ranks there hold from some time on each, and returns when it has it.
// No rank sends its term before what comes to the owner from other machines is there, which would be lost (SPEC 4.3).
func (y *builder) total(c place, from []model.Time) model.Time {
	return y.readFrom(c, c.home, c.owner, func(i int) model.Time { return max(from[i], from[c.owner]) })
}

// late adds a chunk up to where all ranks at its home have the sum, and returns what sends it from each to its peers.
func (y *builder) late(c place) func() {
	sum, come := y.read(c, c.home, c.owner, c.owner, 0), model.Time(0)
	for g := range y.members {
		if g != c.home {
			come = max(come, y.send(c, g, c.home, model.Reduction, max(y.read(c, g, c.owner, c.owner, 0), y.after(c, g, c.home, sum))))
		}
	}
	at := y.write(c, c.home, c.owner, c.owner, max(sum, come))
	return func() {
		for g := range y.members {
			for d := 1; d <= y.size && g != c.home; d++ {
				i := (c.owner + d) % y.size
				y.send(place{k: c.k, plane: c.plane, owner: i, home: c.home}, c.home, g, model.Copy, at[i])
			}
		}
	}
}

// tryAparts tries how many chunks of the best cut are apart: two thirds of what links between machines carry until a sum is read first, and then
// fewer, or more, as long as that is better.
func (s *search) tryAparts(b *solve.Budget) {
	q, n := s.result.Problem, len(s.members)
	if q == nil || n < 2 || s.tree != nil || !s.reads || s.size < 2 || s.kind != model.AllReduce {
		return
	}
	slots := int(s.longest(largest(q))/s.builder(q, s.best).across.slot) + 1
	places := len(s.planes) * s.size * n
	most := len(q.Chunks) / places / 2
	first := min(max(1, 2*slots/(3*len(s.planes)*s.size*(n-1))), most)
	better := func(apart int) bool {
		if apart < 1 || apart > most || b.Spent() || s.result.Makespan() <= s.enough {
			return false
		}
		before := s.result.Makespan()
		at, ok := s.tryApart(b, q, s.best, apart)
		return ok && at < before
	}
	better(first)
	fewer := first - 1
	for better(fewer) {
		fewer--
	}
	for more := first + 1; fewer == first-1 && better(more); more++ {
	}
}

// largest returns the bytes of the largest chunk.
func largest(p *model.Problem) (size int64) {
	for _, c := range p.Chunks {
		size = max(size, c.Size)
	}
	return size
}

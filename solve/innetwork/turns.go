package innetwork

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// turned is an allreduce among machines whose links to each other carry sums and copies in turns. A block is a chunk of each
// rank of each machine, on its way home or back: in as many slots as there are other machines, each machine sends to the one that
// is d further, for d = 1, 2, …, so that all links between machines are busy. Blocks of sums go until the first of them is
// ready to go back; from then on blocks of copies and of sums follow each other in turns, and when no sum is left, copies alone.
// The sum of a chunk's home is read when those of other machines are there, so that they are part of it: while
// sums alone go between machines, those who read them have no others to read.
//
// Were chunks added one after the other, each as early as it can be, sums and copies would come in waves, in which now
// switches within machines had too much to do and now links between them too little.
type turned struct {
	*builder
	come [][][]model.Time // by block, chunk in it and rank at its home: from when on the rank holds what it adds to the sum
	free model.Time       // from when on links between machines have nothing to do
	took model.Time       // how long a chunk is on its way between two ranks of a machine at most
}

// inTurns adds all chunks, the first and last blocks of them apart (see apart), and reports whether the budget sufficed.
func (y *builder) inTurns(budget *solve.Budget, apart int) bool {
	round := len(y.planes) * y.size * len(y.members)
	blocks := (len(y.p.Chunks) + round - 1) / round
	b := turned{builder: y, come: make([][][]model.Time, blocks), took: y.longest(largest(y.p))}
	for k := range y.p.Chunks {
		b.come[k/round] = append(b.come[k/round], make([]model.Time, y.size))
	}
	gathered, spread, copied := 0, 0, true
	for gathered < blocks || spread < blocks-apart {
		if budget.Spent() {
			return false
		}
		next := spread // the blocks that come last are gathered before most others, so that they are ready at the end
		if next >= apart {
			next += apart
		}
		copies := gathered == blocks || !copied && gathered > next && spread < blocks-apart && b.back(next)
		switch copied = copies; {
		case copies:
			b.spread(next)
			spread++
		case gathered < apart:
			b.fromPeers(gathered)
			gathered++
		default:
			b.gather(gathered)
			gathered++
		}
	}
	for i := range apart {
		b.toPeers(apart + i)
	}
	return true
}

// block returns the places of the chunks of one.
func (b *turned) block(i int) (all []place) {
	round := len(b.planes) * b.size * len(b.members)
	for k := i * round; k < min((i+1)*round, len(b.p.Chunks)); k++ {
		all = append(all, b.placeOf(k))
	}
	return all
}

// back reports whether a block is ready to go out when links are free.
func (b *turned) back(i int) bool {
	come := model.Time(0)
	for _, at := range b.come[i] {
		come = max(come, slices.Max(at))
	}
	return come+b.took <= b.free
}

// gather adds what brings the sums of a block home.
func (b *turned) gather(i int) {
	n, chunks := len(b.members), b.block(i)
	from := b.free
	for _, c := range chunks {
		for g := range n {
			if g != c.home {
				from = max(from, b.read(c, g, c.owner, c.owner, 0))
			}
		}
	}
	b.cross(chunks, from, 1, func(j int, c place, d, _ int, at model.Time) {
		end := b.send(c, (c.home+n-d)%n, c.home, model.Reduction, at)
		b.come[i][j][c.owner] = max(b.come[i][j][c.owner], end)
	})
}

// fromPeers adds what brings contributions to a block home, each from the rank's peer.
func (b *turned) fromPeers(i int) {
	n := len(b.members)
	b.cross(b.block(i), b.free, b.size, func(j int, c place, d, e int, at model.Time) {
		r := (c.owner + e) % b.size
		end := b.send(place{k: c.k, plane: c.plane, owner: r, home: c.home}, (c.home+n-d)%n, c.home, model.Reduction, at)
		b.come[i][j][r] = max(b.come[i][j][r], end)
	})
}

// spread adds what reads the sums of a block at home, and takes them to all.
func (b *turned) spread(i int) {
	n, chunks := len(b.members), b.block(i)
	from := b.free
	for j, c := range chunks {
		sum := b.total(c, b.come[i][j])
		b.write(c, c.home, c.owner, c.owner, sum)
		from = max(from, sum)
	}
	b.cross(chunks, from, 1, func(_ int, c place, d, _ int, at model.Time) {
		to := (c.home + d) % n
		b.write(c, to, c.owner, c.owner, b.send(c, c.home, to, model.Copy, at))
	})
}

// toPeers adds what reads the sums of a block at home, writes them to the ranks there, and has each of these send them to its peers.
func (b *turned) toPeers(i int) {
	n, chunks := len(b.members), b.block(i)
	has := make([][]model.Time, len(chunks))
	for j, c := range chunks {
		has[j] = b.write(c, c.home, c.owner, c.owner, b.total(c, b.come[i][j]))
	}
	b.cross(chunks, b.free, b.size, func(j int, c place, d, e int, at model.Time) {
		r := (c.owner + e) % b.size
		b.send(place{k: c.k, plane: c.plane, owner: r, home: c.home}, c.home, (c.home+d)%n, model.Copy, max(at, has[j][r]))
	})
}

// cross calls send for each chunk of a block as often as times, in a slot of its own each time, from a time on: first for machines that are
// 1 further than its home, or 1 before it, then for those that are 2 further, and so on.
func (b *turned) cross(chunks []place, from model.Time, times int, send func(j int, c place, d, e int, at model.Time)) {
	slot := b.across.slot
	at := (from + slot - 1) / slot * slot
	for d := 1; d < len(b.members); d++ {
		for plane := range b.planes {
			for e := range times {
				for j, c := range chunks {
					if c.plane == plane {
						send(j, c, d, e, at)
					}
				}
				at += slot
			}
		}
	}
	b.free = at
}

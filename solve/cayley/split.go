package cayley

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// maxSplit is for how many hops packets are scheduled one by one.
const maxSplit = 1 << 17

// packet is one part on its way from one rank to another.
type packet struct {
	item, src, at int
	word          []int // what it has still to take
	left          int   // the sum of word at the start
	moved         int   // the last round, counted from 1, in which it took one
}

// split schedules packets one by one, where ranks need not do the same. Of two
// shortest ways, ranks whose coordinates have an even sum begin with one and the
// others with the other; then the ways are changed one after the other while that
// makes the sum of the squares of the links' loads less. In each round a packet with
// more hops left goes first (farthest to go, which is optimal in many rings and
// arrays). It takes O(rounds · packets · generators) time.
func (g *group) split(ctx context.Context, p *model.Problem, parts [][]int, words [][][]int, items []item, weight []float64, least model.Time) (*model.Schedule, error) {
	load := make([][]int, len(g.gens)) // by generator and the rank that its link leaves
	for s := range load {
		load[s] = make([]int, g.n)
	}
	walk := func(src int, word []int, visit func(s, v int)) {
		v := src
		for s, m := range word {
			for range m {
				visit(s, v)
				v = g.add(v, g.gens[s].step)
			}
		}
	}
	price := func(src int, word []int) float64 {
		var sum float64
		walk(src, word, func(s, v int) { sum += weight[s] * weight[s] * float64(2*load[s][v]+1) })
		return sum
	}
	shift := func(src int, word []int, n int) { walk(src, word, func(s, v int) { load[s][v] += n }) }

	var packets []packet
	for i, x := range items {
		for u := range g.n {
			word := x.word
			if list := words[x.to]; len(list) == 2 {
				word = list[(g.parity(u)+x.part+x.to/2)%2]
			}
			packets = append(packets, packet{item: i, src: u, at: u, word: word})
			shift(u, word, 1)
		}
	}
	for pass, changed := 0, true; changed && pass < 20 && ctx.Err() == nil; pass++ {
		changed = false
		for i := range packets {
			x := &packets[i]
			if len(words[items[x.item].to]) < 2 {
				continue
			}
			shift(x.src, x.word, -1)
			cheapest := price(x.src, x.word)
			for _, w := range words[items[x.item].to] {
				if c := price(x.src, w); c < cheapest {
					x.word, cheapest, changed = w, c, true
				}
			}
			shift(x.src, x.word, 1)
		}
	}
	for i := range packets {
		x := &packets[i]
		x.word = slices.Clone(x.word)
		for _, m := range x.word {
			x.left += m
		}
	}
	program := place.NewProgram(p).Until(ctx)
	busy := make([]int, len(g.gens)*g.n) // the last round, counted from 1, of each link
	var byLeft [][]int                   // the packets with this many hops left, in order of index
	for i := range packets {
		for len(byLeft) <= packets[i].left {
			byLeft = append(byLeft, nil)
		}
		byLeft[packets[i].left] = append(byLeft[packets[i].left], i)
	}
	var batch []place.Move
	for round, moved := 1, true; moved && ctx.Err() == nil; round++ {
		moved, batch = false, batch[:0]
		for left := 1; left < len(byLeft); left++ {
			// Farthest first: what was moved in this round is one bucket lower already,
			// and stays there.
			list := byLeft[len(byLeft)-left]
			stay := list[:0]
			var gone []int
			for _, i := range list {
				x := &packets[i]
				take := -1
				for s, m := range x.word {
					if m > 0 && x.moved < round && busy[s*g.n+x.at] < round && (take < 0 || m > x.word[take]) {
						take = s
					}
				}
				if take < 0 {
					stay = append(stay, i)
					continue
				}
				busy[take*g.n+x.at], x.moved, moved = round, round, true
				s, d := &g.gens[take], items[x.item]
				if chunks := parts[x.src*g.n+g.add(x.src, d.to)]; d.part < len(chunks) {
					batch = append(batch, place.Move{Chunk: chunks[d.part], Src: x.at, Dst: g.add(x.at, s.step), Routes: s.ways[x.at]})
				}
				x.at = g.add(x.at, s.step)
				x.word[take]--
				gone = append(gone, i)
			}
			byLeft[len(byLeft)-left] = stay
			byLeft[len(byLeft)-left-1] = append(byLeft[len(byLeft)-left-1], gone...)
		}
		program.Batch(batch...)
	}
	return best(program, least)
}

// parity returns the sum of the coordinates of v, modulo 2.
func (g *group) parity(v int) int {
	sum := 0
	for i := len(g.sides) - 1; i >= 0; i-- {
		sum += v % g.sides[i]
		v /= g.sides[i]
	}
	return sum % 2
}

package cayley

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// maxConveyed is up to how many chunks an all-to-all is planned for one rank: n² chunks for
// n ranks.
const maxConveyed = model.MaxChunks

// parcel is an item on its way from rank 0, as all ranks send it.
type parcel struct {
	item int
	at   int   // where it is
	word []int // what it has still to take
	left int   // the sum of word
}

// convey plans an all-to-all in slots, on links that are alike. Of the items that wait
// for a generator that with the most hops left goes first, and of generators that
// with the most still to carry chooses first. It takes O(hops · generators) time, whatever the
// latency.
func (g *group) convey(ctx context.Context, p *model.Problem) ([]model.Turn, error) {
	if len(p.Chunks) > maxConveyed || len(p.Chunks)%(g.n*g.n) != 0 {
		return nil, solve.NotServed("plans for one rank alone an alltoall with as many chunks for each of its %d pairs, and %d at most, not %d", g.n*g.n, maxConveyed, len(p.Chunks))
	}
	each := len(p.Chunks) / (g.n * g.n)
	w := &weave{group: g, p: p}
	if _, ok := w.clock(); !ok {
		return nil, solve.NotServed("plans for one rank alone only what moves over links that are alike")
	}
	weight := slices.Repeat([]float64{1}, len(g.gens))
	items, load := g.route(ctx, g.words(), each, weight)
	parcels := make([]parcel, len(items))
	waiting := make([]levels, len(g.gens))
	put := func(i int32) {
		for s, m := range parcels[i].word {
			if m > 0 {
				waiting[s].put(parcels[i].left, i)
			}
		}
	}
	hops := 0
	for i, x := range items {
		y := parcel{item: i, word: slices.Clone(x.word)}
		for _, m := range y.word {
			y.left += m
		}
		hops += y.left
		parcels[i] = y
		put(int32(i))
	}
	type move struct {
		slot int
		item int32
	}
	var turns []model.Turn
	var under []move // on their way, in order
	order := make([]int, len(g.gens))
	for s := range order {
		order[s] = s
	}
	for slot := 0; len(turns) < hops; slot++ {
		if slot%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for len(under) > 0 && under[0].slot+w.delay <= slot {
			put(under[0].item)
			under = under[1:]
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(load[b], load[a]) })
		before := len(turns)
		for _, s := range order {
			i := waiting[s].take(func(i int32, level int) bool { return parcels[i].left == level && parcels[i].word[s] > 0 })
			if i < 0 {
				continue
			}
			x := &parcels[i]
			turns = append(turns, model.Turn{
				Route: int32(s), Owner: int32(g.sub(0, x.at)), Part: int32(items[x.item].to*each + items[x.item].part), Start: w.slot * model.Time(slot),
			})
			x.at = g.add(x.at, g.gens[s].step)
			x.word[s]--
			x.left--
			load[s]--
			if x.left > 0 {
				under = append(under, move{slot, i})
			}
		}
		if len(turns) == before { // nothing waits
			slot = under[0].slot + w.delay - 1
		}
	}
	return turns, nil
}

// levels are items by how many hops they have left. One may be in it that is elsewhere by now.
type levels struct {
	lists [][]int32
	some  []uint64 // a bit for each list that is not empty
}

func (l *levels) put(level int, i int32) {
	for len(l.lists) <= level {
		l.lists = append(l.lists, nil)
		if len(l.lists) > 64*len(l.some) {
			l.some = append(l.some, 0)
		}
	}
	l.lists[level] = append(l.lists[level], i)
	l.some[level/64] |= 1 << (level % 64)
}

// take returns the first item of the highest level of which that is true, or -1, and drops
// those before it.
func (l *levels) take(there func(i int32, level int) bool) int32 {
	for j := len(l.some) - 1; j >= 0; j-- {
		for l.some[j] != 0 {
			level := 64*j + bits.Len64(l.some[j]) - 1
			list := l.lists[level]
			for len(list) > 0 {
				i := list[0]
				list = list[1:]
				if there(i, level) {
					l.lists[level] = list
					if len(list) == 0 {
						l.some[j] &^= 1 << (level % 64)
					}
					return i
				}
			}
			l.lists[level] = nil
			l.some[j] &^= 1 << (level % 64)
		}
	}
	return -1
}

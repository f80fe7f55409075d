package smt

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

// TestRetold: told otherwise, all accesses come once, a transfer reads before it writes, and each slot holds the same when it is read: the
// accesses to it come as their times say, except that reads which follow one another may change places, and so may reductions.
func TestRetold(t *testing.T) {
	moved := 0
	for seed := range uint64(3000) {
		c := cases.Random(rand.New(rand.NewPCG(seed, 5)))
		if c.S.Form == model.Ordered {
			continue
		}
		e, err := NewEncoder(c.P, c.S)
		require.NoError(t, err)
		for k := range c.P.Chunks {
			before := e.accesses(k)
			q := &Query{Chunk: k}
			told, n := e.retell(q, before)
			require.Len(t, told.accesses, len(before))
			if !slices.Equal(before, told.accesses) {
				moved++
			}
			bySlot := make([][]access, len(q.rank))
			for _, a := range told.accesses {
				bySlot[n.of(e.rankOf(&a))] = append(bySlot[n.of(e.rankOf(&a))], a)
			}
			for c, list := range told.slots { // in the order of time
				require.Len(t, bySlot[c], len(list))
				for len(list) > 0 {
					turn := 1
					for turn < len(list) && e.harmless(&list[0], &list[turn]) {
						turn++
					}
					require.ElementsMatch(t, transfers(list[:turn]), transfers(bySlot[c][:turn]), "seed %d", seed)
					list, bySlot[c] = list[turn:], bySlot[c][turn:]
				}
			}
			read := map[int32]bool{}
			for _, a := range told.accesses {
				require.Equal(t, a.write, read[a.place], "seed %d: transfer %d", seed, a.transfer)
				read[a.place] = true
			}
		}
	}
	require.Greater(t, moved, 300)
}

// transfers returns whose accesses some are, negative ones for what is read.
func transfers(list []access) (of []int32) {
	for _, a := range list {
		if a.write {
			of = append(of, a.transfer)
		} else {
			of = append(of, -1-a.transfer)
		}
	}
	return of
}

// TestOtherOrders: the form of a chunk that is retold depends on its trees alone, not on when other ranks send, nor in which order one does or gets
// what it adds up. Another tree has another form, and so has one that a rank sends down before it has the chunk.
func TestOtherOrders(t *testing.T) {
	type send struct {
		src, dst int
		from, to model.Time
	}
	form := func(kind model.Kind, sends []send) identity {
		c := cases.New(7, model.Collective{Kind: kind}, 1, model.Timed)
		if kind != model.Broadcast { // the same backwards, before or instead
			for _, x := range sends {
				c.Send(0, x.dst, x.src, model.Reduction, 100-x.to, 100-x.from)
			}
		}
		if kind != model.Reduce {
			for _, x := range sends {
				c.Send(0, x.src, x.dst, model.Copy, 100+x.from, 100+x.to)
			}
		}
		e, err := NewEncoder(c.P, c.S)
		require.NoError(t, err)
		q := &Query{Chunk: 0, p: c.P, s: c.S}
		told, n := e.retell(q, e.accesses(0))
		return (&former{Encoder: e}).form(q, told, n)
	}
	first := []send{{0, 1, 0, 10}, {0, 2, 5, 15}, {1, 3, 12, 20}, {1, 4, 14, 24}, {2, 5, 16, 22}, {0, 6, 20, 30}}
	later := []send{{0, 6, 0, 30}, {0, 2, 5, 15}, {0, 1, 12, 20}, {2, 4, 31, 40}, {2, 3, 44, 54}, {1, 5, 21, 25}}
	other := []send{{0, 1, 0, 10}, {0, 2, 5, 15}, {1, 3, 12, 20}, {2, 4, 17, 24}, {2, 5, 16, 22}, {1, 6, 20, 30}}
	early := []send{{0, 1, 0, 10}, {0, 2, 5, 15}, {1, 3, 9, 20}, {1, 4, 14, 24}, {2, 5, 16, 22}, {0, 6, 20, 30}}
	for _, kind := range []model.Kind{model.Broadcast, model.Reduce, model.AllReduce} {
		require.Equal(t, form(kind, first), form(kind, later), "%v", kind)
		require.NotEqual(t, form(kind, first), form(kind, other), "%v", kind)
		require.NotEqual(t, form(kind, first), form(kind, early), "%v", kind)
	}
}

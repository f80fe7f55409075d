package quotient

import (
	"slices"

	"github.com/oraccl/oraccl/solve/ejection"
)

// images is how a plan of an allreduce is the same read backwards: for each hop of one part of a pair there is one of the other part that is turned
// round, a copy for a sum and a sum for a copy. So half of the jobs are left, and trees twice as fine can be looked for.
type images struct {
	pairs [][2]int32   // parts
	arcs  [2][][]int32 // by direction, child and arc: the number of the one of the other direction
}

// newImages finds the image of each arc of a shop with two directions, and enters those of its machines. It returns nil if there are none.
func newImages(shop *ejection.Shop, parts []part, pairs [][2]int32) *images {
	for _, pair := range pairs {
		if !alikeOn(shop, parts[pair[0]].kind, parts[pair[1]].kind) {
			return nil
		}
	}
	x := &images{pairs: pairs}
	shop.Back, shop.Lag = make([]int32, shop.Machines), make([]int32, shop.Machines)
	for m := range shop.Back {
		shop.Back[m] = -1
	}
	for dir := range x.arcs {
		for _, list := range shop.Arcs[dir] {
			x.arcs[dir] = append(x.arcs[dir], make([]int32, len(list)))
		}
	}
	for child, list := range shop.Arcs[0] {
		if len(list) != len(shop.Arcs[1][child]) {
			return nil
		}
		done := make([]bool, len(list))
		for i := range list {
			found := false
			for k := range shop.Arcs[1][child] {
				b := &shop.Arcs[1][child][k]
				if found = !done[k] && b.Parent == list[i].Parent && imaged(shop, list[i].Way, b.Way); found {
					done[k] = true
					x.arcs[0][child][i], x.arcs[1][child][k] = int32(k), int32(i)
					break
				}
			}
			if !found {
				return nil
			}
		}
	}
	return x
}

// alikeOn reports whether parts of two kinds take as many slots, everywhere.
func alikeOn(shop *ejection.Shop, a, b int32) bool {
	for _, kinds := range shop.Ways {
		for w := range kinds[a] {
			if x, y := &kinds[a][w], &kinds[b][w]; x.Lasts != y.Lasts || !slices.Equal(x.Stays, y.Stays) {
				return false
			}
		}
	}
	return true
}

// imaged reports whether one way of copies may be that of hops turned round to another way of sums, and enters which machine each takes for which.
func imaged(shop *ejection.Shop, copies, sums int32) bool {
	for kind := range shop.Ways[0] {
		a, b := &shop.Ways[0][kind][copies], &shop.Ways[1][kind][sums]
		if len(a.Stays) != len(b.Stays) || a.Lasts != b.Lasts {
			return false
		}
		for i, v := range a.Stays {
			u := b.Stays[len(b.Stays)-1-i]
			lag := u.Off - v.Off
			for _, m := range []int32{v.Machine, u.Machine} {
				other := v.Machine + u.Machine - m
				if shop.Back[m] >= 0 && (shop.Back[m] != other || shop.Lag[m] != lag) || v.Width != u.Width {
					return false
				}
				shop.Back[m], shop.Lag[m] = other, lag
			}
		}
	}
	return true
}

// numbers returns the number on the grid of each of some parts, or -1.
func (x *images) numbers(parts int) []int {
	list := make([]int, parts)
	for i := range list {
		if list[i] = i; x != nil {
			list[i] = -1
		}
	}
	if x != nil {
		for i, pair := range x.pairs {
			list[pair[0]] = i
		}
	}
	return list
}

// halvedPairs returns the pairs of the halves of some parts, whose pairs are known; or, if there are none, those of two halves of a part.
func halvedPairs(pairs [][2]int32, parts int) (list [][2]int32) {
	if pairs == nil {
		for i := range int32(parts) {
			list = append(list, [2]int32{2 * i, 2*i + 1})
		}
	}
	for _, p := range pairs {
		list = append(list, [2]int32{2 * p[0], 2 * p[1]}, [2]int32{2*p[0] + 1, 2*p[1] + 1})
	}
	return list
}

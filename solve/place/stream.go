package place

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// streams returns, for each transfer of a schedule, the number of the multicast or the sum that it
// is a part of, 0 for others: copies that begin with one link at one time and part at switches that
// copy, and reductions that end with one and meet at switches that add. It takes O(n²) time for n
// transfers of one.
func (g *Program) streams(s *model.Schedule) []int {
	of := make([]int, len(s.Transfers))
	if _, joined := g.p.Joined(s); !joined {
		return of
	}
	type key struct {
		chunk, link int
		at          model.Time
		op          model.Op
	}
	members := map[key][]int{}
	for i, t := range s.Transfers {
		route := s.Routes[t.Route]
		k := key{int(t.Chunk), route[0], t.Start, model.Copy}
		if t.Op == model.Reduction {
			k = key{int(t.Chunk), route[len(route)-1], t.End, model.Reduction}
		}
		fits := func(j int) bool { return g.joins(s.Routes[s.Transfers[j].Route], route, t.Op) }
		if slices.ContainsFunc(members[k], func(j int) bool { return !fits(j) }) {
			continue
		}
		if members[k] = append(members[k], i); len(members[k]) == 2 {
			of[members[k][0]] = 1 + members[k][0]
		}
		if len(members[k]) > 1 {
			of[i] = 1 + members[k][0]
		}
	}
	return of
}

// joins reports whether copies over two routes with the same first link, or reductions over two
// with the same last one, can be parts of a multicast, or of a sum.
func (g *Program) joins(a, b []int, op model.Op) bool {
	t := g.p.Topology
	if op == model.Reduction {
		a, b = slices.Clone(a), slices.Clone(b)
		slices.Reverse(a)
		slices.Reverse(b)
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == 0 || n == len(a) || n == len(b) {
		return false
	}
	v, able := t.Links[a[n]].Src, false
	if op == model.Reduction {
		v = t.Links[a[n]].Dst
		able = t.Adds(v, &g.p.Collective) != model.NoReducing
	} else {
		able = t.Copies(v)
	}
	return able && (t.Reduces(v) != model.SumsRead || len(a) == 2 && len(b) == 2)
}

// alone has nothing of the batch that begins with a flow be written where a sum of it ends, from
// when that begins to when it has come: other sums of the batch begin later, and what else is added
// ends later.
func (g *Program) alone(first int32) {
	sums := map[int64][]int32{} // by slot: flows of sums
	key := func(f *flow) int64 { return int64(f.Dst)*int64(len(g.p.Chunks)) + int64(f.Chunk) }
	for i := first; i < int32(len(g.flows)); i++ {
		if f := &g.flows[i]; f.Stream > 0 && f.Op == model.Reduction {
			for _, j := range sums[key(f)] {
				if g.flows[j].Stream != f.Stream {
					f.own = append(f.own, j)
				}
			}
			sums[key(f)] = append(sums[key(f)], i)
		}
	}
	if len(sums) == 0 {
		return
	}
	for i := first; i < int32(len(g.flows)); i++ {
		if f := &g.flows[i]; f.Stream == 0 {
			f.waw = append(f.waw, sums[key(f)]...)
		}
	}
}

package cnf

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/hops"
)

// arc leads from rank to rank over bundles. Under rounds it has none.
type arc struct {
	from, to int
	over     []int
}

// findArcs lists arcs in the order of section 10.3.
func (f *formula) findArcs() error {
	tooMany := tooLarge("more than %d arcs", maxArcs)
	if f.p.Cost == model.Rounds {
		if n := int64(f.t.Ranks); n*(n-1) > maxArcs {
			return tooMany
		}
		for u := range f.t.Ranks {
			for v := range f.t.Ranks {
				if v != u {
					f.arcs = append(f.arcs, arc{from: u, to: v})
				}
			}
		}
		return nil
	}
	steps, passed := 0, 0
	return hops.Search(f.t, f.bundles, hops.Visitor{
		Look: func(bool) error {
			if steps++; steps > maxPaths {
				return tooLarge("more than %d steps on paths over switches", maxPaths)
			}
			return nil
		},
		Found: func(src, dst int, over []int) error {
			f.arcs = append(f.arcs, arc{src, dst, slices.Clone(over)})
			if len(f.arcs) > maxArcs {
				return tooMany
			}
			if passed += len(over); passed > maxPaths {
				return tooLarge("arcs over more than %d links in all", maxPaths)
			}
			return nil
		},
	})
}

// timing is what an arc costs a chunk, in epochs from the start.
type timing struct {
	delay int
	busy  [][2]int // by place in over: from, and until before; empty if equal
}

// timings returns those of all arcs for chunks of a size.
func (f *formula) timings(size int64) ([]timing, error) {
	for _, a := range f.arcs {
		f.spans += len(a.over)
	}
	if f.spans > maxPairs {
		return nil, tooLarge("arcs over more than %d links in all, for each size of a chunk", maxPairs)
	}
	all := make([]timing, len(f.arcs))
	for i, a := range f.arcs {
		if f.epoch == 0 {
			all[i].delay = 1
			for range a.over {
				all[i].busy = append(all[i].busy, [2]int{0, 1})
			}
			continue
		}
		route := make([]int, len(a.over))
		for j, b := range a.over {
			route[j] = f.bundles[b].Link
		}
		all[i].delay = whole(f.t.Duration(route, size), f.epoch)
		if all[i].delay < 1 {
			return nil, fmt.Errorf("an epoch of %d ps is longer than %d bytes take from rank %d to rank %d", int64(f.epoch), size, a.from, a.to)
		}
		for _, span := range f.t.Busy(f.p.Cost, route, size, nil) {
			from, length := whole(span.From, f.epoch), whole(span.To-span.From, f.epoch)
			if span.From%f.epoch != 0 {
				from++
				length--
			}
			all[i].busy = append(all[i].busy, [2]int{from, from + max(0, length)})
		}
	}
	return all, nil
}

package cnf

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// bundle is a number of links that are alike, named by the lowest: section 10.3.
type bundle struct {
	link  int // the lowest
	count int
	ports []int // ascending
}

// arc leads from rank to rank over bundles. Under rounds it has none.
type arc struct {
	from, to int
	over     []int
}

// bundle sorts links into bundles.
func (f *formula) bundle() {
	portsOf := make([][]int, len(f.t.Links))
	for i, port := range f.t.Ports {
		for _, l := range port.Links {
			if n := len(portsOf[l]); n == 0 || portsOf[l][n-1] != i {
				portsOf[l] = append(portsOf[l], i)
			}
		}
	}
	type kind struct {
		model.Link
		ports string
	}
	known := map[kind]int{}
	for i, l := range f.t.Links {
		key := kind{l, fmt.Sprint(portsOf[i])}
		if b, is := known[key]; is {
			f.bundles[b].count++
			continue
		}
		known[key] = len(f.bundles)
		f.bundles = append(f.bundles, bundle{link: i, count: 1, ports: portsOf[i]})
	}
}

func (f *formula) ends(b int) (src, dst int) {
	l := f.t.Links[f.bundles[b].link]
	return l.Src, l.Dst
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
	leave := make([][]int, f.t.Nodes())
	for b := range f.bundles {
		src, _ := f.ends(b)
		leave[src] = append(leave[src], b)
	}
	// A path is a stack of bundles, with how many of those that leave its end have
	// been looked at.
	type turn struct{ node, tried int }
	steps, passed := 0, 0
	for start := range f.t.Ranks {
		on := map[int]bool{start: true}
		path, stack := []int{}, []turn{{start, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.tried == len(leave[top.node]) {
				delete(on, top.node)
				if stack = stack[:len(stack)-1]; len(path) > 0 {
					path = path[:len(path)-1]
				}
				continue
			}
			b := leave[top.node][top.tried]
			top.tried++
			if steps++; steps > maxPaths {
				return tooLarge("more than %d steps on paths over switches", maxPaths)
			}
			_, end := f.ends(b)
			switch {
			case on[end]:
			case f.t.IsRank(end):
				f.arcs = append(f.arcs, arc{start, end, append(slices.Clone(path), b)})
				if len(f.arcs) > maxArcs {
					return tooMany
				}
				if passed += len(path) + 1; passed > maxPaths {
					return tooLarge("arcs over more than %d links in all", maxPaths)
				}
			default:
				on[end] = true
				path = append(path, b)
				stack = append(stack, turn{end, 0})
			}
		}
	}
	return nil
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
			route[j] = f.bundles[b].link
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

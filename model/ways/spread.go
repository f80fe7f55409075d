package ways

import (
	"math"

	"github.com/oraccl/oraccl/model"
)

// Spread finds routes from rank to rank that pass switches only, and spreads what goes over them: of the
// routes with the fewest links, and of these of those whose narrowest link is the widest, it takes the one
// whose links are used the least. That is what hardware does with the links between two GPUs, which a file that
// names two ranks leaves open.
type Spread struct {
	t     *model.Topology
	out   [][]int
	busy  []model.Time // of each link, with all that was given to it
	finds *Finder
}

// NewSpread returns a finder for t, whose links are idle. It takes O(links·log(links)) time.
func NewSpread(t *model.Topology) *Spread {
	return &Spread{t: t, out: t.Out(), busy: make([]model.Time, len(t.Links)), finds: New(t)}
}

// Route returns the links of a route from rank u to rank v for some bytes, and counts them as used; nil if
// there is none. Of equal routes it is the one on which the busiest link, with these bytes, is the least busy, and of
// those the one with the lowest numbers of links, from its beginning. It takes time in proportion to the links of all
// routes with the fewest links.
func (w *Spread) Route(u, v int, bytes int64) []int {
	dist := w.finds.distances(v)
	if u == v || dist[u] < 0 {
		return nil
	}
	step := func(at, l int) bool { // it leads from a node to v with the fewest links
		next := w.t.Links[l].Dst
		return dist[next] == dist[at]-1 && (next == v || !w.t.IsRank(next))
	}
	widths := map[int]int64{v: math.MaxInt64}
	var width func(at int) int64
	width = func(at int) int64 {
		if known, ok := widths[at]; ok {
			return known
		}
		widest := int64(0)
		for _, l := range w.out[at] {
			if step(at, l) {
				widest = max(widest, min(w.t.Links[l].Bandwidth, width(w.t.Links[l].Dst)))
			}
		}
		widths[at] = widest
		return widest
	}
	wide := width(u)
	type end struct {
		link int
		busy model.Time
	}
	ends := map[int]end{v: {link: -1}}
	var from func(at int) end
	from = func(at int) end {
		if known, ok := ends[at]; ok {
			return known
		}
		best := end{link: -1}
		for _, l := range w.out[at] {
			if !step(at, l) || min(w.t.Links[l].Bandwidth, width(w.t.Links[l].Dst)) < wide {
				continue
			}
			busy := max(w.busy[l].Add(w.takes(l, bytes)), from(w.t.Links[l].Dst).busy)
			if best.link < 0 || busy < best.busy {
				best = end{l, busy}
			}
		}
		ends[at] = best
		return best
	}
	var route []int
	for at := u; at != v; at = w.t.Links[route[len(route)-1]].Dst {
		l := from(at).link
		route = append(route, l)
		w.busy[l] = w.busy[l].Add(w.takes(l, bytes))
	}
	return route
}

// takes is how long bytes occupy a link.
func (w *Spread) takes(link int, bytes int64) model.Time {
	return w.t.Duration([]int{link}, bytes) - w.t.Links[link].Alpha
}

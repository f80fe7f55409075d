// Package ways lists the ways from a rank to another over switches: the simple paths that
// have no rank inside. Readers of foreign formats use it, since such files name the two
// ranks and leave the way between them open.
package ways

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Finder finds ways in a topology.
type Finder struct {
	t    *model.Topology
	next [][]int       // of each node, the nodes that it has links to, each once
	into [][]int       // of each node, the nodes that have links to it, each once
	near map[int][]int // what distances returned
}

// New returns a finder for t. It takes O(links·log(links)) time.
func New(t *model.Topology) *Finder {
	f := &Finder{t: t, next: make([][]int, t.Nodes()), into: make([][]int, t.Nodes()), near: map[int][]int{}}
	for _, l := range t.Links {
		f.next[l.Src] = append(f.next[l.Src], l.Dst)
		f.into[l.Dst] = append(f.into[l.Dst], l.Src)
	}
	for v := range f.next {
		for _, list := range []*[]int{&f.next[v], &f.into[v]} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	return f
}

// steps is how many times the search for the ways between two ranks goes on from a node.
const steps = 1 << 14

// Between returns ways from rank u to rank v of at most maxLinks links, the shortest first and those
// of equal length by the numbers of their nodes, as lists of nodes from u to v. It returns
// at most limit of them; all reports whether there are no others, of any length. A link
// from u to v is a way.
func (f *Finder) Between(u, v, maxLinks, limit int) (found [][]int, all bool) {
	dist := f.distances(v)
	if u == v || dist[u] < 0 {
		return nil, true
	}
	all = true
	left := steps
	on := make([]bool, f.t.Nodes())
	path := []int{u}
	deeper := false // there are ways of more links than are looked for
	var walk func(links int)
	walk = func(links int) {
		if left--; left < 0 {
			all = false
		}
		for _, w := range f.next[path[len(path)-1]] {
			if !all {
				return
			}
			switch {
			case w == v:
				if links != 1 {
					continue
				}
				if len(found) == limit {
					all = false
					return
				}
				found = append(found, append(slices.Clone(path), v))
			case f.t.IsRank(w) || on[w] || dist[w] < 0:
			case dist[w] >= links:
				deeper = true
			default:
				on[w] = true
				path = append(path, w)
				walk(links - 1)
				path = path[:len(path)-1]
				on[w] = false
			}
		}
	}
	longest := f.t.Nodes() - f.t.Ranks + 1 // a way passes each switch once at most
	for links := dist[u]; links <= maxLinks && all; links++ {
		deeper = false
		walk(links)
		if !deeper || links == longest { // no way was left out because of its length
			return found, all
		}
	}
	return found, false
}

// distances returns, for u and every switch, how many links the shortest way to v has, or
// -1. Ranks other than v have the distance that they begin at.
func (f *Finder) distances(v int) []int {
	if d := f.near[v]; d != nil {
		return d
	}
	d := make([]int, f.t.Nodes())
	for i := range d {
		d[i] = -1
	}
	d[v] = 0
	for queue := []int{v}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, w := range f.into[at] {
			if d[w] >= 0 {
				continue
			}
			d[w] = d[at] + 1
			if !f.t.IsRank(w) {
				queue = append(queue, w)
			}
		}
	}
	if len(f.near)*len(d) > 1<<24 { // enough is kept
		clear(f.near)
	}
	f.near[v] = d
	return d
}

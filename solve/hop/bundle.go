package hop

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Bundle is a maximal set of links that are alike: with the same ends and figures, in the same
// ports.
type Bundle struct {
	Src, Dst int
	Links    []int // ascending
	Ports    []int // ascending
}

// Bundled is a hop over bundles: of each, any link will do.
type Bundled struct {
	Src, Dst int
	Bundles  []int
}

// Bundles numbers the bundles of a topology by their lowest link.
func Bundles(t *model.Topology) []Bundle {
	var all []Bundle
	of := map[string]int{}
	ports := t.PortsOf()
	for i, l := range t.Links {
		set := slices.Clone(ports[i])
		slices.Sort(set)
		key := fmt.Sprint(l, set)
		b, known := of[key]
		if !known {
			b = len(all)
			of[key] = b
			all = append(all, Bundle{Src: l.Src, Dst: l.Dst, Ports: set})
		}
		all[b].Links = append(all[b].Links, i)
	}
	return all
}

// AllBundled returns the hops over bundles: from every rank over switches, each at most once, to
// every other rank that can be reached so, by source, then in the order of a search in depth that
// takes bundles in their order. It returns false if there are more than most.
func AllBundled(t *model.Topology, bundles []Bundle, most int) ([]Bundled, bool) {
	leaving := make([][]int, t.Nodes())
	for b := range bundles {
		leaving[bundles[b].Src] = append(leaving[bundles[b].Src], b)
	}
	var hops []Bundled
	for s := range t.Ranks {
		visited := make([]bool, t.Nodes())
		var path []int
		var walk func(v int) bool
		walk = func(v int) bool {
			for _, b := range leaving[v] {
				w := bundles[b].Dst
				if w == s || visited[w] {
					continue
				}
				path = append(path, b)
				if !t.IsRank(w) {
					visited[w] = true
					if !walk(w) {
						return false
					}
					visited[w] = false
				} else if hops = append(hops, Bundled{s, w, slices.Clone(path)}); len(hops) > most {
					return false
				}
				path = path[:len(path)-1]
			}
			return true
		}
		if !walk(s) {
			return nil, false
		}
	}
	return hops, true
}

package forestcoll

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	between "github.com/oraccl/oraccl/model/ways"
)

// ways finds the links of a topology that a path of the file stands for. The file's names
// of switches are its own; which switch is meant follows from the ranks that a switch has
// paths between.
type ways struct {
	t      *model.Topology
	out    [][]int
	finder *between.Finder
	rank   map[string]int
	reach  []map[int]bool          // of each switch of t: the ranks that reach it over switches
	theirs map[string]map[int]bool // of each switch of the file: the ranks beside it
	known  map[string][][]int      // by source, destination and what is between: parallel routes
	load   map[int]int64           // bytes of each link so far
	found  map[[2]int][][]int      // all routes over switches alone
}

const maxRoutes = 1 << 10 // of a pair of ranks

func newWays(t *model.Topology, f *File, rank map[string]int) *ways {
	w := &ways{t: t, out: t.Out(), finder: between.New(t), rank: rank, theirs: map[string]map[int]bool{}, known: map[string][][]int{}, load: map[int]int64{}, found: map[[2]int][][]int{}}
	for _, tree := range f.Trees {
		for _, s := range tree.Sends {
			last := 0 // the last rank on the path
			for i, name := range s.Path {
				if _, isRank := rank[name]; !isRank {
					continue
				}
				for _, between := range s.Path[last+1 : max(i, last+1)] {
					if w.theirs[between] == nil {
						w.theirs[between] = map[int]bool{}
					}
					w.theirs[between][rank[s.Path[last]]] = true
					w.theirs[between][rank[name]] = true
				}
				last = i
			}
		}
	}
	w.reach = make([]map[int]bool, len(t.Switches))
	for r := range t.Ranks {
		seen := map[int]bool{}
		for queue := []int{r}; len(queue) > 0; queue = queue[1:] {
			for _, l := range w.out[queue[0]] {
				if v := t.Links[l].Dst; !t.IsRank(v) && !seen[v] {
					seen[v] = true
					queue = append(queue, v)
					if w.reach[v-t.Ranks] == nil {
						w.reach[v-t.Ranks] = map[int]bool{}
					}
					w.reach[v-t.Ranks][r] = true
				}
			}
		}
	}
	return w
}

// route returns the links of a path, of parallel ones those that have carried least, and
// counts bytes on them; nil and two ranks where there are none.
func (w *ways) route(path []string, bytes int64) (route []int, missing [2]int) {
	from := 0
	for i := 1; i < len(path); i++ {
		v, isRank := w.rank[path[i]]
		if !isRank {
			continue
		}
		u := w.rank[path[from]]
		part := w.pick(u, v, path[from+1:i])
		if part == nil {
			return nil, [2]int{u, v}
		}
		route = append(route, part...)
		from = i
	}
	for _, l := range route {
		w.load[l] += bytes
	}
	return route, missing
}

func (w *ways) pick(u, v int, between []string) []int {
	var best []int
	least := int64(-1)
	for _, route := range w.candidates(u, v, between) {
		most := int64(0)
		for _, l := range route {
			most = max(most, w.load[l]/max(1, w.t.Links[l].Bandwidth>>20)) // time, not bytes
		}
		if least < 0 || most < least {
			best, least = route, most
		}
	}
	return best
}

// candidates returns the parallel routes from u to v that a path over the given switches
// may mean: over the fewest ranks that the switches of the file's path have in common with
// those of the route. A path without switches is a link, or, where t has none, any way over
// switches.
func (w *ways) candidates(u, v int, between []string) [][]int {
	direct := [][]int{}
	for _, l := range w.out[u] {
		if w.t.Links[l].Dst == v {
			direct = append(direct, []int{l})
		}
	}
	if len(between) == 0 && len(direct) > 0 {
		return direct
	}
	wanted := map[int]bool{}
	for _, name := range between {
		for r := range w.theirs[name] {
			wanted[r] = true
		}
	}
	var best [][]int
	least := -1
	for _, route := range w.overSwitches(u, v) {
		reach := map[int]bool{}
		for _, l := range route[:len(route)-1] {
			for r := range w.reach[w.t.Links[l].Dst-w.t.Ranks] {
				reach[r] = true
			}
		}
		outside := 0
		for r := range wanted {
			if !reach[r] {
				outside++
			}
		}
		// First all that are wanted, then few that are not, then short.
		score := (outside*(w.t.Ranks+1)+len(reach))*maxPath + len(route)
		if least < 0 || score < least {
			best, least = nil, score
		}
		if score == least {
			best = append(best, route)
		}
	}
	return best
}

// overSwitches returns the shortest simple routes from u to v over switches alone, up to
// maxRoutes.
func (w *ways) overSwitches(u, v int) [][]int {
	key := [2]int{u, v}
	if list, known := w.found[key]; known {
		return list
	}
	var list [][]int
	paths, _ := w.finder.Between(u, v, maxPath-1, maxRoutes)
	for _, path := range paths {
		if len(path) == 2 {
			continue
		}
		routes := [][]int{nil}
		for i, at := range path[:len(path)-1] {
			var longer [][]int
			for _, route := range routes {
				for _, l := range w.out[at] {
					if w.t.Links[l].Dst == path[i+1] {
						longer = append(longer, append(slices.Clone(route), l))
					}
				}
			}
			routes = longer[:min(len(longer), maxRoutes)]
		}
		if list = append(list, routes...); len(list) >= maxRoutes {
			list = list[:maxRoutes]
			break
		}
	}
	w.found[key] = list
	return list
}

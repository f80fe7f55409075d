package forestcoll

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

var tuple = regexp.MustCompile(`^\(\s*(-?\d+)\s*,\s*'([^']*)'\s*,\s*(-?\d+)\s*\)$`)

// maxNode is how large the numbers in names may be.
const maxNode = 1 << 16

// ranks returns the rank of each name that roots, sources and destinations have, and how
// many ranks there are, if ranks is 0, or at least. Numbers are ranks; (2, 'GPU', 3) is the
// fourth of the third machine, all machines having the same number; other names are
// numbered as they sort.
func (f *File) ranks(ranks int) (map[string]int, int, error) {
	of := map[string]int{}
	for _, t := range f.Trees {
		of[t.Root] = 0
		for _, s := range t.Sends {
			of[s.Src], of[s.Dst] = 0, 0
		}
	}
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	numbers, tuples := true, true
	machines, per, most := 0, 0, 0
	at := make([][2]int, len(names))
	for i, name := range names {
		if v, err := strconv.Atoi(name); err == nil && v >= 0 && v < maxNode {
			at[i][1] = v
			most = max(most, v+1)
			tuples = false
			continue
		}
		numbers = false
		m := tuple.FindStringSubmatch(name)
		if m == nil {
			tuples = false
			continue
		}
		a, errA := strconv.Atoi(m[1])
		b, errB := strconv.Atoi(m[3])
		if errA != nil || errB != nil || a < 0 || b < 0 || a >= maxNode || b >= maxNode {
			tuples = false
			continue
		}
		at[i] = [2]int{a, b}
		machines, per = max(machines, a+1), max(per, b+1)
	}
	switch {
	case len(names) == 0:
		return nil, 0, fmt.Errorf("has no trees")
	case numbers:
		for i, name := range names {
			of[name] = at[i][1]
		}
	case tuples:
		if ranks > 0 && ranks%machines == 0 && ranks/machines > per {
			per = ranks / machines // the last of each machine may be missing
		}
		most = machines * per
		for i, name := range names {
			of[name] = at[i][0]*per + at[i][1]
		}
	default:
		most = len(names)
		for i, name := range names {
			of[name] = i
		}
	}
	if limit := cmp.Or(ranks, maxNode); most > limit {
		return nil, 0, fmt.Errorf("has %d ranks, want at most %d", most, limit)
	}
	return of, most, nil
}

// Machines returns how many machines the names (2, 'GPU', 3) are of, and how many ranks each
// has, or 0 and 0 where ranks have other names.
func (f *File) Machines() (machines, per int) {
	_, most, err := f.ranks(0)
	if err != nil {
		return 0, 0
	}
	for _, t := range f.Trees {
		m := tuple.FindStringSubmatch(t.Root)
		if m == nil {
			return 0, 0
		}
		a, _ := strconv.Atoi(m[1])
		machines = max(machines, a+1)
	}
	if machines == 0 || most%machines != 0 {
		return 0, 0
	}
	return machines, most / machines
}

// Passes reports whether a path passes a node of that kind, such as NVSwitch in (2, 'NVSwitch', 0).
func (f *File) Passes(kind string) bool {
	for _, t := range f.Trees {
		for _, s := range t.Sends {
			for _, name := range s.Path {
				if m := tuple.FindStringSubmatch(name); m != nil && m[2] == kind {
					return true
				}
			}
		}
	}
	return false
}

// own returns a topology of the links that the paths use, for want of another.
func (f *File) own() (*model.Topology, error) {
	of, n, err := f.ranks(0)
	if err != nil {
		return nil, err
	}
	t := &model.Topology{Name: "the links that the file uses", Ranks: n}
	node := map[string]int{}
	for name, r := range of {
		node[name] = r
	}
	seen := map[[2]int]bool{}
	for _, tree := range f.Trees {
		for _, s := range tree.Sends {
			for i, name := range s.Path {
				if _, known := node[name]; !known {
					node[name] = n + len(t.Switches)
					t.Switches = append(t.Switches, model.Switch{})
				}
				if i == 0 {
					continue
				}
				for _, key := range [][2]int{{node[s.Path[i-1]], node[name]}, {node[name], node[s.Path[i-1]]}} {
					if key[0] != key[1] && !seen[key] {
						seen[key] = true
						t.Links = append(t.Links, model.Link{Src: key[0], Dst: key[1], Bandwidth: 50 << 30})
					}
				}
			}
		}
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return t, nil
}

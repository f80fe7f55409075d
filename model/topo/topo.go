// Package topo builds topologies by name: the regular networks of the
// literature, and the machines that people own. Each machine's doc comment says
// where its figures come from, and which of them are assumptions.
//
// Ranks of meshes, tori, hypercubes and the like are numbered with the last coordinate
// running fastest. Latencies are whole picoseconds, bandwidths bytes per second and
// direction.
package topo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Family is a kind of topology that Parse knows.
type Family struct {
	Name    string // "mesh"
	Syntax  string // "mesh:AxB[xC...]"
	Summary string // what it is, in a line
	Source  string // where its figures come from; for a generator, what they are by default
	build   func(arg string, o Options) (*model.Topology, error)
}

// byDefault is the Source of the families whose links Options set.
const byDefault = "generator: 500 ns and 50 GiB/s a link unless set"

// families is in the order in which it is shown. Each is declared beside its builder.
var families = []Family{
	ringFamily, uniRingFamily, lineFamily, meshFamily, torusFamily, hypercubeFamily, fullFamily, switchFamily,
	fatTreeFamily, dragonflyFamily, rfsFamily,
	dgx1Family, ndv2Family, dgx2Family, dgxA100Family, dgxH100Family, dgxH100NVLSFamily, dgxB200Family, dgxB200NVLSFamily, gb200Family, gb200NVLSFamily, mi250Family, mi300xFamily, tpuV4Family,
}

// List returns all families, in the order in which they are shown.
func List() []Family { return slices.Clone(families) }

// Parse builds the topology with that name, such as "torus:4x4" or "dgx1". It
// takes time in proportion to the links; what would have more than some millions
// of them is refused before any is built.
func Parse(name string, o Options) (*model.Topology, error) {
	family, arg, hasArg := strings.Cut(name, ":")
	i := slices.IndexFunc(families, func(f Family) bool { return f.Name == family })
	if i < 0 {
		return nil, unknown(name, family)
	}
	f := families[i]
	if hasArg && arg == "" {
		return nil, fmt.Errorf("topology %q: nothing after the colon, want a name such as %s", name, f.Syntax)
	}
	t, err := f.build(arg, o)
	if err != nil {
		return nil, fmt.Errorf("topology %q: %w", name, err)
	}
	t.Name = name
	return t, nil
}

// unknown is the error for a name of no family; it suggests those that are near.
func unknown(name, family string) error {
	var near, all []string
	for _, f := range families {
		all = append(all, f.Name)
		if similar(strings.ToLower(family), f.Name) {
			near = append(near, f.Syntax)
		}
	}
	if len(name) > 64 {
		name = name[:64] + "..."
	}
	if near != nil {
		return fmt.Errorf("topology %q: unknown, did you mean %s?", name, strings.Join(near, " or "))
	}
	return fmt.Errorf("topology %q: unknown, want a file or one of %s", name, strings.Join(all, ", "))
}

// similar reports whether someone who wrote got may have meant want: part of it, or
// all except for one letter, or two where it is long.
func similar(got, want string) bool {
	switch {
	case len(got) > 2*len(want) || len(got) < 2:
		return false
	case strings.Contains(want, got) || strings.Contains(got, want):
		return true
	}
	return distance(got, want) <= 1+len(want)/6
}

// distance returns how many letters must be put in, left out or changed to make a
// of b, two neighbours changing places counting as one.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

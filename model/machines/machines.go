// Package machines finds the machines of a cluster in its topology: which ranks are in one box, which
// are on one rail, and how far out each switch is. Topologies do not state that; the names that
// importers, builders and package join give switches do.
package machines

import (
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Class returns what kind of link a link is, by the names of its switches, as importers,
// builders and package join give them: nvlink between ranks and to NVSwitches (xGMI, too), pcie, cpu, nic
// to the switches outside machines, spine between those, and switch for others.
func Class(t *model.Topology, l model.Link) string {
	a, b := LevelOf(t, l.Src), LevelOf(t, l.Dst)
	if a > b {
		a, b = b, a
	}
	switch {
	case b == AtNIC && a == AtRank:
		return "pcie"
	case b == AtSpine:
		return "spine"
	case b == Outside && a == Outside:
		return "spine"
	case b == Outside || b == AtNIC:
		return "nic"
	case b == AtCPU:
		return "cpu"
	case b == AtPCI:
		return "pcie"
	case b == AtSwitch:
		return "switch"
	}
	return "nvlink"
}

// Level is where a node is, from the inside of a machine outwards.
type Level int

// The levels. AtSwitch is a switch whose name tells nothing.
const (
	AtRank Level = iota
	AtNVSwitch
	AtSwitch
	AtPCI
	AtCPU
	AtNIC
	Outside
	AtSpine
)

// LevelOf returns the level of a node, by its name.
func LevelOf(t *model.Topology, v int) Level {
	if t.IsRank(v) {
		return AtRank
	}
	name := t.Switches[v-t.Ranks].Name
	if machine, rest, ok := strings.Cut(name, " "); ok && strings.HasPrefix(machine, "m") && strings.Trim(machine[1:], "0123456789") == "" {
		name = rest
	}
	for _, p := range []struct {
		prefixes string
		level    Level
	}{{"nvswitch", AtNVSwitch}, {"pci,pix,pxb,phb", AtPCI}, {"cpu,node,sys", AtCPU}, {"nic", AtNIC}, {"fabric,rail,leaf,infiniband", Outside}, {"spine", AtSpine}} {
		if slices.ContainsFunc(strings.Split(p.prefixes, ","), func(s string) bool { return strings.HasPrefix(name, s) }) {
			return p.level
		}
	}
	return AtSwitch
}

// Of returns the machines of t: nodes that are joined without a switch outside machines, each list
// ascending, by their first ranks. Nodes outside are in none. Where no node is outside, all is one
// machine.
func Of(t *model.Topology) [][]int {
	of := make([]int, t.Nodes())
	for v := range of {
		of[v] = v
	}
	root := func(v int) int {
		for of[v] != v {
			of[v] = of[of[v]]
			v = of[v]
		}
		return v
	}
	for _, l := range t.Links {
		if LevelOf(t, l.Src) < Outside && LevelOf(t, l.Dst) < Outside {
			a, b := root(l.Src), root(l.Dst)
			of[max(a, b)] = min(a, b)
		}
	}
	at := map[int]int{}
	var list [][]int
	for v := range of {
		if LevelOf(t, v) >= Outside {
			continue
		}
		r := root(v)
		i, known := at[r]
		if !known {
			i = len(list)
			at[r], list = i, append(list, nil)
		}
		list[i] = append(list[i], v)
	}
	return list
}

// Ranks returns the ranks of each machine that has some.
func Ranks(t *model.Topology) (list [][]int) {
	for _, nodes := range Of(t) {
		nodes = slices.DeleteFunc(nodes, func(v int) bool { return !t.IsRank(v) })
		if len(nodes) > 0 {
			list = append(list, nodes)
		}
	}
	return list
}

// Rails returns the ranks with the same place in their machines, for each place, or nil where
// machines are of different sizes or there is but one.
func Rails(t *model.Topology) [][]int {
	machines := Ranks(t)
	if len(machines) < 2 || slices.ContainsFunc(machines, func(m []int) bool { return len(m) != len(machines[0]) }) {
		return nil
	}
	rails := make([][]int, len(machines[0]))
	for _, m := range machines {
		for i, r := range m {
			rails[i] = append(rails[i], r)
		}
	}
	return rails
}

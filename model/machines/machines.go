// Package machines finds the machines of a cluster in its topology: which ranks are in one box, which
// are on one rail, and how far out each switch is. Where a topology has groups for its machines or rails, it
// is these; else the names tell, that importers, builders and package join give switches.
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
// ascending, by their first ranks. Nodes outside are in none, nor is a switch that has links to ranks of
// two groups that are machines. Where no node is outside, all is one machine.
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
	outside := spanning(t)
	join := func(u, v int) {
		a, b := root(u), root(v)
		of[max(a, b)] = min(a, b)
	}
	machines := t.GroupsOf(model.MachineGroup)
	for _, ranks := range machines {
		for _, r := range ranks {
			join(ranks[0], r)
		}
	}
	for _, l := range t.Links {
		if !outside[l.Src] && !outside[l.Dst] && (len(machines) == 0 || !t.IsRank(l.Src) || !t.IsRank(l.Dst)) {
			join(l.Src, l.Dst)
		}
	}
	at := map[int]int{}
	var list [][]int
	for v := range of {
		if outside[v] {
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

// spanning returns which nodes are outside machines.
func spanning(t *model.Topology) []bool {
	outside, machine := make([]bool, t.Nodes()), map[int]int{}
	for v := range outside {
		outside[v] = LevelOf(t, v) >= Outside
	}
	for i, ranks := range t.GroupsOf(model.MachineGroup) {
		for _, r := range ranks {
			machine[r] = i
		}
	}
	first := map[int]int{} // by switch: the machine of a rank at it
	for _, l := range t.Links {
		for _, end := range [][2]int{{l.Src, l.Dst}, {l.Dst, l.Src}} {
			m, in := machine[end[0]]
			if !in || t.IsRank(end[1]) {
				continue
			}
			if other, known := first[end[1]]; known && other != m {
				outside[end[1]] = true
			}
			first[end[1]] = m
		}
	}
	return outside
}

// Ranks returns the ranks of each machine that has some.
func Ranks(t *model.Topology) (list [][]int) {
	if list = t.GroupsOf(model.MachineGroup); list != nil {
		return list
	}
	for _, nodes := range Of(t) {
		nodes = slices.DeleteFunc(nodes, func(v int) bool { return !t.IsRank(v) })
		if len(nodes) > 0 {
			list = append(list, nodes)
		}
	}
	return list
}

// Rails returns the ranks with the same place in their machines, for each place, or nil where
// machines are of different sizes or there is but one, and t has no groups for rails.
func Rails(t *model.Topology) [][]int {
	if list := t.GroupsOf(model.RailGroup); list != nil {
		return list
	}
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

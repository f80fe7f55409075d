package model

import (
	"fmt"
	"slices"
	"strings"
)

// Group is ranks that belong together: those of one machine, those on one rail, or others that a
// file names. It is no part of the network: what is right and what is a bound does not depend on
// groups, which say where hierarchical methods divide it, and what --group may be called.
type Group struct {
	Name  string // a letter, then letters, digits, '-', '_' and '.'; no two groups have the same
	Kind  GroupKind
	Ranks []int // in the order of the group, each once; no two machines have one in common
}

// GroupKind is what the ranks of a group have in common.
type GroupKind uint8

// The kinds of groups.
const (
	OtherGroup   GroupKind = iota
	MachineGroup           // one machine
	RailGroup              // a switch to which one NIC of each machine leads
)

var groupKinds = []string{"other", "machine", "rail"}

// String returns the name used in files: "machine".
func (k GroupKind) String() string {
	if int(k) < len(groupKinds) {
		return groupKinds[k]
	}
	return fmt.Sprintf("GroupKind(%d)", uint8(k))
}

// ParseGroupKind is the inverse of GroupKind.String.
func ParseGroupKind(s string) (GroupKind, error) {
	if i := slices.Index(groupKinds, s); i >= 0 {
		return GroupKind(i), nil
	}
	return 0, fmt.Errorf("kind of group %s: want %s", Quote(s), strings.Join(groupKinds, ", "))
}

// GroupsOf returns the ranks of each group of a kind, in the order of the groups.
func (t *Topology) GroupsOf(k GroupKind) (list [][]int) {
	for i := range t.Groups {
		if t.Groups[i].Kind == k {
			list = append(list, t.Groups[i].Ranks)
		}
	}
	return list
}

// GroupNamed returns the group of a name, nil if there is none.
func (t *Topology) GroupNamed(name string) *Group {
	for i := range t.Groups {
		if t.Groups[i].Name == name {
			return &t.Groups[i]
		}
	}
	return nil
}

// validateGroups reports the first thing that is wrong with groups. It takes O(ranks + members) time.
func (t *Topology) validateGroups() error {
	names := map[string]int{}
	machine := make(map[int]int)
	for i := range t.Groups {
		g, place := &t.Groups[i], Element("groups", i)
		if err := checkGroupName(g.Name); err != nil {
			return Within(place, err)
		}
		if err := checkUnique("groups", names, i, g.Name); err != nil {
			return err
		}
		if g.Kind > RailGroup {
			return Within(place, wrong("kind", "%v, want %s", g.Kind, strings.Join(groupKinds, ", ")))
		}
		if len(g.Ranks) == 0 {
			return Within(place, wrong("ranks", "empty, want at least one rank"))
		}
		seen := make(map[int]bool, len(g.Ranks))
		for j, r := range g.Ranks {
			switch other, taken := machine[r]; {
			case r < 0 || r >= t.Ranks:
				return Within(place, wrong(Element("ranks", j), "rank %d does not exist, want 0 to %d", r, t.Ranks-1))
			case seen[r]:
				return Within(place, wrong(Element("ranks", j), "rank %d is named twice, want it once", r))
			case taken && g.Kind == MachineGroup:
				return Within(place, wrong(Element("ranks", j), "rank %d is in the machine of %s already, want it in one", r, Element("groups", other)))
			}
			if seen[r] = true; g.Kind == MachineGroup {
				machine[r] = i
			}
		}
	}
	return nil
}

// checkGroupName returns an error if a group cannot be called s on a command line, where ranks and
// ranges stand beside it.
func checkGroupName(s string) error {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_.", c)) {
			return wrong("name", "%s, want a letter, then letters, digits, '-', '_' and '.'", Quote(s))
		}
	}
	if s == "" {
		return wrong("name", "empty, want one")
	}
	return nil
}

// RankRanges writes ranks, neighbours in the list whose numbers follow each other as a range:
// "0-3,8", as --group reads them.
func RankRanges(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if part := fmt.Sprint(ranks[i]); j > i {
			parts = append(parts, fmt.Sprintf("%s-%d", part, ranks[j]))
		} else {
			parts = append(parts, part)
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

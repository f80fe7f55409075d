package model

import (
	"fmt"
	"slices"
)

// Topology is a network: ranks, switches, directed links between them, and
// ports that several links share.
type Topology struct {
	Name     string
	Ranks    int      // the nodes 0..Ranks-1
	Switches []Switch // the nodes Ranks..Ranks+len(Switches)-1
	Links    []Link   // parallel links are distinct
	Ports    []Port
	// Groups are names for ranks that belong together; nil: none are known. Equal does not compare them.
	Groups []Group
	// Notes are what was left out or assumed when the topology was read from a file of
	// another tool. They are no part of the network: Equal does not compare them.
	Notes Notes
	// Whole is the network before some of it failed, nil if nothing is known of one, and Was the number there of each node that is left. They are no
	// part of the network: Equal does not compare them.
	Whole *Topology
	Was   []int
}

// Link is a directed edge. A chunk of b bytes passes it in
// Alpha + ⌈b·10¹²/Bandwidth⌉ picoseconds.
type Link struct {
	Src, Dst  int   // nodes
	Alpha     Time  // latency
	Bandwidth int64 // bytes per second
}

// Port is a capacity that several links of one node share, such as a NIC.
type Port struct {
	Name     string
	Links    []int // all of them leave, or all enter, one node
	Capacity int   // how many transfers may use its links at one time
}

// Limits on what Validate accepts, far above what any method can use, so that
// an absurd file is refused before memory is allocated for it.
const (
	MaxNodes     = 1 << 20
	MaxLinks     = 1 << 26
	MaxChunks    = 1 << 22
	MaxTransfers = 1 << 31
	MaxHeld      = 1 << 22 // transfers that are held in memory, 40 bytes each, where schedules can be made or verified piece by piece
	MaxSize      = 1 << 50 // bytes

	MaxAlpha   = 1000 * Second
	MaxRelease = 1_000_000 * Second
	MaxName    = 1 << 10 // bytes
)

// Nodes returns the number of nodes, ranks and switches.
func (t *Topology) Nodes() int { return t.Ranks + len(t.Switches) }

// IsRank reports whether node v is a rank.
func (t *Topology) IsRank(v int) bool { return v < t.Ranks }

// NodeName returns "rank 3" or "switch nvswitch0".
func (t *Topology) NodeName(v int) string {
	switch {
	case v < 0 || v >= t.Nodes():
		return fmt.Sprintf("node %d", v)
	case v < t.Ranks:
		return fmt.Sprintf("rank %d", v)
	case t.Switches[v-t.Ranks].Name != "":
		return "switch " + t.Switches[v-t.Ranks].Name
	}
	return fmt.Sprintf("switch %d", v)
}

// Out returns, for each node, the links that leave it, in order of index.
// It takes O(nodes + links) time.
func (t *Topology) Out() [][]int {
	return t.incident(func(l Link) int { return l.Src })
}

// In returns, for each node, the links that enter it, in order of index.
// It takes O(nodes + links) time.
func (t *Topology) In() [][]int {
	return t.incident(func(l Link) int { return l.Dst })
}

func (t *Topology) incident(end func(Link) int) [][]int {
	count := make([]int, t.Nodes())
	for _, l := range t.Links {
		count[end(l)]++
	}
	flat := make([]int, len(t.Links))
	lists := make([][]int, t.Nodes())
	for v, n := range count {
		lists[v], flat = flat[:0:n], flat[n:]
	}
	for i, l := range t.Links {
		lists[end(l)] = append(lists[end(l)], i)
	}
	return lists
}

// PortsOf returns, for each link, the ports that it belongs to.
func (t *Topology) PortsOf() [][]int {
	of := make([][]int, len(t.Links))
	for p, port := range t.Ports {
		for _, l := range port.Links {
			of[l] = append(of[l], p)
		}
	}
	return of
}

// Reversed returns the topology with every link turned round; links, ports and
// nodes keep their indices. The reverse of a sum is a multicast: a switch of it copies
// where one of t adds, and none adds.
func (t *Topology) Reversed() *Topology {
	r := *t
	r.Name = t.Name + " reversed"
	r.Whole, r.Was = nil, nil
	r.Links = slices.Clone(t.Links)
	for i, l := range r.Links {
		r.Links[i].Src, r.Links[i].Dst = l.Dst, l.Src
	}
	r.Switches = slices.Clone(t.Switches)
	for i, s := range t.Switches {
		r.Switches[i] = Switch{Name: s.Name, Copies: s.Reduces != NoReducing}
	}
	return &r
}

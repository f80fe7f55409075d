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
}

// Switch is a node that forwards and holds nothing.
type Switch struct {
	Name string
	// Copies says that the switch can send what enters it to several of its
	// links at once (multicast).
	Copies bool
}

// Link is a directed edge. A chunk of b bytes passes it in
// Alpha + ⌈b·10¹²/Bandwidth⌉ picoseconds.
type Link struct {
	Src, Dst  int   // nodes
	Alpha     Time  // latency
	Bandwidth int64 // bytes a second
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
	MaxSize      = 1 << 50 // bytes
)

// Nodes returns the number of nodes, ranks and switches.
func (t *Topology) Nodes() int { return t.Ranks + len(t.Switches) }

// IsRank says whether node v is a rank.
func (t *Topology) IsRank(v int) bool { return v < t.Ranks }

// Copies says whether node v is a switch that can copy.
func (t *Topology) Copies(v int) bool {
	return v >= t.Ranks && t.Switches[v-t.Ranks].Copies
}

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
// nodes keep their indices. No switch of it copies: the reverse of copying is
// adding, which switches do not do here.
func (t *Topology) Reversed() *Topology {
	r := *t
	r.Name = t.Name + " reversed"
	r.Links = slices.Clone(t.Links)
	for i, l := range r.Links {
		r.Links[i].Src, r.Links[i].Dst = l.Dst, l.Src
	}
	r.Switches = slices.Clone(t.Switches)
	for i := range r.Switches {
		r.Switches[i].Copies = false
	}
	return &r
}

// Validate reports the first thing that makes t meaningless: a link without
// ends, a negative latency, a port over links of different nodes, a name twice.
// It takes O(nodes + links + ports) time.
func (t *Topology) Validate() error {
	if t.Ranks < 1 || t.Ranks > MaxNodes {
		return fmt.Errorf("ranks: %d, want 1 to %d", t.Ranks, MaxNodes)
	}
	if len(t.Switches) > MaxNodes || len(t.Links) > MaxLinks || len(t.Ports) > MaxLinks {
		return fmt.Errorf("%d switches, %d links, %d ports: want at most %d, %d, %d",
			len(t.Switches), len(t.Links), len(t.Ports), MaxNodes, MaxLinks, MaxLinks)
	}
	names := map[string]int{}
	for i, s := range t.Switches {
		if j, twice := names[s.Name]; twice && s.Name != "" {
			return fmt.Errorf("switches[%d]: name %q is that of switches[%d] already", i, s.Name, j)
		}
		names[s.Name] = i
	}
	for i, l := range t.Links {
		switch n := t.Nodes(); {
		case l.Src < 0 || l.Src >= n:
			return fmt.Errorf("links[%d]: source %d, want a node, 0 to %d", i, l.Src, n-1)
		case l.Dst < 0 || l.Dst >= n:
			return fmt.Errorf("links[%d]: destination %d, want a node, 0 to %d", i, l.Dst, n-1)
		case l.Src == l.Dst:
			return fmt.Errorf("links[%d]: leads from node %d to itself", i, l.Src)
		case l.Alpha < 0 || l.Alpha > 1000*Second:
			return fmt.Errorf("links[%d]: latency %d ps, want 0 to 10^15", i, l.Alpha)
		case l.Bandwidth <= 0:
			return fmt.Errorf("links[%d]: bandwidth %d B/s, want more than zero", i, l.Bandwidth)
		}
	}
	names = map[string]int{}
	for i, p := range t.Ports {
		if j, twice := names[p.Name]; twice && p.Name != "" {
			return fmt.Errorf("ports[%d]: name %q is that of ports[%d] already", i, p.Name, j)
		}
		names[p.Name] = i
		if p.Capacity < 1 {
			return fmt.Errorf("ports[%d]: capacity %d, want at least 1", i, p.Capacity)
		}
		if err := t.validatePort(p); err != nil {
			return fmt.Errorf("ports[%d]: %w", i, err)
		}
	}
	return nil
}

func (t *Topology) validatePort(p Port) error {
	if len(p.Links) == 0 {
		return fmt.Errorf("no links, want at least one")
	}
	seen := map[int]bool{}
	sameSrc, sameDst := true, true
	for i, l := range p.Links {
		if l < 0 || l >= len(t.Links) {
			return fmt.Errorf("link %d does not exist, want 0 to %d", l, len(t.Links)-1)
		}
		if seen[l] {
			return fmt.Errorf("link %d is named twice", l)
		}
		seen[l] = true
		if i > 0 {
			sameSrc = sameSrc && t.Links[l].Src == t.Links[p.Links[0]].Src
			sameDst = sameDst && t.Links[l].Dst == t.Links[p.Links[0]].Dst
		}
	}
	if !sameSrc && !sameDst {
		return fmt.Errorf("its links neither all leave nor all enter one node")
	}
	return nil
}

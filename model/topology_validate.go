package model

// Validate reports the first thing that makes t meaningless: a link without
// ends, a negative latency, a port over links of different nodes, a name twice.
// It takes O(nodes + links + ports) time.
func (t *Topology) Validate() error {
	switch {
	case t.Ranks < 1 || t.Ranks > MaxNodes:
		return wrong("ranks", "%d, want 1 to %d", t.Ranks, MaxNodes)
	case len(t.Switches) > MaxNodes:
		return wrong("switches", "%d, want at most %d", len(t.Switches), MaxNodes)
	case len(t.Links) > MaxLinks:
		return wrong("links", "%d, want at most %d", len(t.Links), MaxLinks)
	case len(t.Ports) > MaxLinks:
		return wrong("ports", "%d, want at most %d", len(t.Ports), MaxLinks)
	}
	if err := CheckName(t.Name); err != nil {
		return Within("name", err)
	}
	names := map[string]int{}
	for i, s := range t.Switches {
		if err := checkUnique("switches", names, i, s.Name); err != nil {
			return err
		}
	}
	for i, l := range t.Links {
		if err := t.validateLink(l); err != nil {
			return Within(Element("links", i), err)
		}
	}
	if err := t.validateSwitches(); err != nil {
		return err
	}
	names = map[string]int{}
	for i, p := range t.Ports {
		if err := checkUnique("ports", names, i, p.Name); err != nil {
			return err
		}
		if err := t.validatePort(p); err != nil {
			return Within(Element("ports", i), err)
		}
	}
	if err := t.validateGroups(); err != nil {
		return err
	}
	if len(t.Notes) > MaxNotes {
		return wrong("notes", "%d, want at most %d", len(t.Notes), MaxNotes)
	}
	for i, n := range t.Notes {
		if err := CheckName(n.String()); err != nil {
			return Within(Element("notes", i), err)
		}
	}
	return nil
}

// validateSwitches checks how switches add. Links must be valid.
func (t *Topology) validateSwitches() error {
	var out, in [][]int
	for i, s := range t.Switches {
		if s == (Switch{Name: s.Name, Copies: s.Copies}) {
			continue
		}
		if out == nil {
			out, in = t.Out(), t.In()
		}
		if err := t.validateReducing(i, out, in); err != nil {
			return Within(Element("switches", i), err)
		}
	}
	return nil
}

// checkUnique checks the name of element i of a list, and enters it in names.
// Several may have none.
func checkUnique(list string, names map[string]int, i int, name string) error {
	if name == "" {
		return nil
	}
	if err := CheckName(name); err != nil {
		return Within(Element(list, i)+".name", err)
	}
	if j, twice := names[name]; twice {
		return wrong(Element(list, i)+".name", "%s is that of %s already, want another", Quote(name), Element(list, j))
	}
	names[name] = i
	return nil
}

func (t *Topology) validateLink(l Link) error {
	switch n := t.Nodes(); {
	case l.Src < 0 || l.Src >= n:
		return wrong("src", "node %d does not exist, want 0 to %d", l.Src, n-1)
	case l.Dst < 0 || l.Dst >= n:
		return wrong("dst", "node %d does not exist, want 0 to %d", l.Dst, n-1)
	case l.Src == l.Dst:
		return wrong("dst", "node %d is the source too, want another", l.Dst)
	case l.Alpha < 0 || l.Alpha > MaxAlpha:
		return wrong("alpha", "%d ps, want 0 to %d", int64(l.Alpha), int64(MaxAlpha))
	case l.Bandwidth <= 0:
		return wrong("bandwidth", "%d bytes per second, want more than zero", l.Bandwidth)
	}
	return nil
}

func (t *Topology) validatePort(p Port) error {
	if p.Capacity < 1 {
		return wrong("capacity", "%d, want at least 1", p.Capacity)
	}
	if len(p.Links) == 0 {
		return wrong("links", "empty, want at least one")
	}
	seen := make(map[int]bool, len(p.Links))
	sameSrc, sameDst := true, true
	for i, l := range p.Links {
		if l < 0 || l >= len(t.Links) {
			return wrong(Element("links", i), "link %d does not exist, want 0 to %d", l, len(t.Links)-1)
		}
		if seen[l] {
			return wrong(Element("links", i), "link %d is named twice, want it once", l)
		}
		seen[l] = true
		sameSrc = sameSrc && t.Links[l].Src == t.Links[p.Links[0]].Src
		sameDst = sameDst && t.Links[l].Dst == t.Links[p.Links[0]].Dst
	}
	if !sameSrc && !sameDst {
		return wrong("links", "they neither all leave nor all enter one node, want either")
	}
	return nil
}

package instance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Failed returns t without what has failed: of each entry "link:u-v" every link between
// the nodes u and v, either way; of "rank:r" the rank with its links. The ranks that are
// left are renumbered from 0 in their old order; links and ports likewise. What cuts a
// rank off is refused, naming it.
func Failed(t *model.Topology, entries []string) (*model.Topology, error) {
	if len(entries) == 0 {
		return t, nil
	}
	deadRank := make([]bool, t.Nodes())
	deadLink := make([]bool, len(t.Links))
	for _, e := range entries {
		if err := strike(t, e, deadRank, deadLink); err != nil {
			return nil, fmt.Errorf("--fail %q: %w", e, err)
		}
	}
	left := without(t, deadRank, deadLink)
	if left.Ranks < 2 {
		return nil, fmt.Errorf("--fail %s: leaves %d ranks, want at least 2", strings.Join(entries, ","), left.Ranks)
	}
	left.Whole = t
	if t.Whole != nil {
		left.Whole = t.Whole
		for v, w := range left.Was {
			left.Was[v] = t.Was[w]
		}
	}
	left.Name += " without " + strings.Join(entries, ",")
	if err := left.Validate(); err != nil {
		return nil, fmt.Errorf("--fail: %w", err)
	}
	if cut := severed(t, deadRank, deadLink); cut != "" {
		return nil, &Error{fmt.Errorf("--fail %s: cuts %s apart: %s", strings.Join(entries, ","), t.Name, cut), "a collective needs a path from every rank to every other; ranks are numbered here as before the failure"}
	}
	return left, nil
}

// strike marks what one entry names.
func strike(t *model.Topology, entry string, deadRank, deadLink []bool) error {
	kind, what, _ := strings.Cut(entry, ":")
	switch kind {
	case "rank":
		r, err := strconv.Atoi(what)
		if err != nil || r < 0 || r >= t.Ranks {
			return fmt.Errorf("no rank %q, want 0 to %d", what, t.Ranks-1)
		}
		deadRank[r] = true
		return nil
	case "link":
		from, to, _ := strings.Cut(what, "-")
		u, uerr := strconv.Atoi(from)
		v, verr := strconv.Atoi(to)
		if uerr != nil || verr != nil || min(u, v) < 0 || max(u, v) >= t.Nodes() {
			return fmt.Errorf("no link %q, want two nodes of 0 to %d, such as 0-1", what, t.Nodes()-1)
		}
		found := false
		for i, l := range t.Links {
			if l.Src == u && l.Dst == v || l.Src == v && l.Dst == u {
				deadLink[i], found = true, true
			}
		}
		if !found {
			return fmt.Errorf("no link joins %s and %s", t.NodeName(u), t.NodeName(v))
		}
		return nil
	}
	return fmt.Errorf("want link:U-V or rank:R")
}

// without returns t less the dead ranks with their links, and the dead links.
func without(t *model.Topology, deadRank, deadLink []bool) *model.Topology {
	left := &model.Topology{Name: t.Name, Switches: t.Switches, Notes: t.Notes}
	node := make([]int, t.Nodes())
	for v := range node {
		node[v] = -1
		if t.IsRank(v) && !deadRank[v] {
			node[v] = left.Ranks
			left.Ranks++
			left.Was = append(left.Was, v)
		}
	}
	for s := range t.Switches {
		node[t.Ranks+s] = left.Ranks + s
		left.Was = append(left.Was, t.Ranks+s)
	}
	link := make([]int, len(t.Links))
	for i, l := range t.Links {
		link[i] = -1
		if l.Src, l.Dst = node[l.Src], node[l.Dst]; l.Src >= 0 && l.Dst >= 0 && !deadLink[i] {
			link[i] = len(left.Links)
			left.Links = append(left.Links, l)
		}
	}
	for _, g := range t.Groups {
		var ranks []int
		for _, r := range g.Ranks {
			if node[r] >= 0 {
				ranks = append(ranks, node[r])
			}
		}
		if len(ranks) > 0 {
			g.Ranks = ranks
			left.Groups = append(left.Groups, g)
		}
	}
	for _, p := range t.Ports {
		var links []int
		for _, l := range p.Links {
			if link[l] >= 0 {
				links = append(links, link[l])
			}
		}
		if len(links) > 0 {
			p.Links = links
			left.Ports = append(left.Ports, p)
		}
	}
	return left
}

// severed names the cut that a failure makes, with the ranks as they were numbered before
// it, or returns "" if every rank that is left reaches every other. It takes O(links).
func severed(t *model.Topology, deadRank, deadLink []bool) string {
	dead := func(l int) bool {
		k := t.Links[l]
		return deadLink[l] || deadRank[k.Src] || deadRank[k.Dst]
	}
	first := slices.Index(deadRank[:t.Ranks], false)
	sides := func(forwards bool) (near, far []int) {
		seen := reached(t, first, forwards, dead)
		for r := range t.Ranks {
			switch {
			case deadRank[r]:
			case seen[r]:
				near = append(near, r)
			default:
				far = append(far, r)
			}
		}
		return near, far
	}
	near, far := sides(true)
	if len(far) > 0 {
		return fmt.Sprintf("no link leads from %s to %s any more", ranges(near), ranges(far))
	}
	near, far = sides(false)
	if len(far) > 0 {
		return fmt.Sprintf("no link leads from %s to %s any more", ranges(far), ranges(near))
	}
	return ""
}

// reached returns the nodes that a node reaches over links that are not dead, or backwards
// those that reach it. It takes O(links).
func reached(t *model.Topology, from int, forwards bool, dead func(l int) bool) []bool {
	lists, end := t.Out(), func(l int) int { return t.Links[l].Dst }
	if !forwards {
		lists, end = t.In(), func(l int) int { return t.Links[l].Src }
	}
	seen := make([]bool, t.Nodes())
	seen[from] = true
	for stack := []int{from}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, l := range lists[v] {
			if w := end(l); !dead(l) && !seen[w] {
				seen[w] = true
				stack = append(stack, w)
			}
		}
	}
	return seen
}

// connected returns an error that names two ranks between which there is no path, or nil.
func connected(t *model.Topology) error {
	none := func(int) bool { return false }
	if r := slices.Index(reached(t, 0, true, none)[:t.Ranks], false); r >= 0 {
		return fmt.Errorf("rank 0 cannot reach rank %d on %s", r, t.Name)
	}
	if r := slices.Index(reached(t, 0, false, none)[:t.Ranks], false); r >= 0 {
		return fmt.Errorf("rank %d cannot reach rank 0 on %s", r, t.Name)
	}
	return nil
}

// ranges writes an ascending list such as "ranks 0-3,8", of long ones only the beginning.
func ranges(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("rank %d", list[0])
	}
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if len(parts) == 8 {
			parts = append(parts, "...")
			break
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return "ranks " + strings.Join(parts, ",")
}

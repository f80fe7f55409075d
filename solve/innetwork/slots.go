package innetwork

import "github.com/oraccl/oraccl/model"

// line is a link as slots that are free or taken: next[k] leads to the first free one from k on.
type line struct{ next []int32 }

func (l *line) free(k int) int {
	for len(l.next) <= k {
		l.next = append(l.next, int32(len(l.next)))
	}
	root := k
	for int(l.next[root]) != root {
		root = int(l.next[root])
		for len(l.next) <= root {
			l.next = append(l.next, int32(len(l.next)))
		}
	}
	for int(l.next[k]) != root {
		k, l.next[k] = int(l.next[k]), int32(root)
	}
	return root
}

// take takes slot k, which must be free.
func (l *line) take(k int) {
	l.free(k + 1)
	l.next[k] = int32(k + 1)
}

// net is links of one kind, whose slots are equally long. A transfer that starts at slot k
// passes each link of its way in that link's slot k, which is later by latencies.
type net struct {
	slot  model.Time
	lines map[int]*line
}

func (n *net) line(l int) *line {
	at := n.lines[l]
	if at == nil {
		at = &line{}
		n.lines[l] = at
	}
	return at
}

// take takes the first slot from a time on in which all of the links are free.
func (n *net) take(ready model.Time, links ...int) int {
	k := int((ready + n.slot - 1) / n.slot)
	for again := true; again; {
		again = false
		for _, l := range links {
			if at := n.line(l).free(k); at != k {
				k, again = at, true
			}
		}
	}
	for _, l := range links {
		n.line(l).take(k)
	}
	return k
}

package teccl

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Nodes returns the number of nodes that the file needs: the largest number and one.
func (f *File) Nodes() int {
	n := 0
	for _, flow := range f.Flows {
		n = max(n, flow.From+1, flow.To+1, flow.Source+1)
		for _, v := range flow.Via {
			n = max(n, v+1)
		}
	}
	return n
}

// numbering returns the node of t for each of the file's, or nil if the file has more
// nodes than t. With switches, each chassis has its switch first; where the file's own
// switches and ranks do not fit that but do fit ranks first, it is ranks first.
func (f *File) numbering(t *model.Topology) []int {
	n := t.Nodes()
	if f.Nodes() > n {
		return nil
	}
	plain := make([]int, n)
	for i := range plain {
		plain[i] = i
	}
	w := len(t.Switches)
	if w == 0 || n%w != 0 {
		return plain
	}
	first := make([]int, n)
	per := n / w
	for i := range first {
		if chassis := i / per; i%per == 0 {
			first[i] = t.Ranks + chassis
		} else {
			first[i] = i - chassis - 1
		}
	}
	if !f.consistent(t, first) && f.consistent(t, plain) {
		return plain
	}
	return first
}

// numbered states, of a topology with switches, what the numbers in the file were taken for.
func numbered(t *model.Topology, number []int) string {
	if len(t.Switches) == 0 {
		return ""
	}
	order := "ranks first, then switches"
	if !t.IsRank(number[0]) {
		order = "the switch of a chassis first, then its ranks"
	}
	return fmt.Sprintf(": the numbers of the file are taken as %s, and a flow names the switches on its way, such as \"via switches %d\"", order, slices.Index(number, t.Ranks))
}

// consistent reports whether flows go from ranks over switches to ranks.
func (f *File) consistent(t *model.Topology, number []int) bool {
	for _, flow := range f.Flows {
		for _, v := range []int{flow.Source, flow.From, flow.To} {
			if !t.IsRank(number[v]) {
				return false
			}
		}
		for _, v := range flow.Via {
			if t.IsRank(number[v]) {
				return false
			}
		}
	}
	return true
}

// Misfits returns how many flows have no links for their way on t, and all of them where
// the file has another number of nodes.
func (f *File) Misfits(t *model.Topology) int {
	if f.Nodes() != t.Nodes() {
		return len(f.Flows)
	}
	number := f.numbering(t)
	links := linksOf(t)
	n := 0
	for _, flow := range f.Flows {
		if route, _ := links.route(flow, number); route == nil {
			n++
		}
	}
	return n
}

// links are the links from a node to a node; of parallel ones the first.
type links map[[2]int]int

func linksOf(t *model.Topology) links {
	m := links{}
	for i, l := range t.Links {
		if _, also := m[[2]int{l.Src, l.Dst}]; !also {
			m[[2]int{l.Src, l.Dst}] = i
		}
	}
	return m
}

// route returns the links of a flow, or nil and the two nodes of t without one.
func (m links) route(flow Flow, number []int) (route []int, missing [2]int) {
	at := number[flow.From]
	for _, v := range append(append([]int{}, flow.Via...), flow.To) {
		l, ok := m[[2]int{at, number[v]}]
		if !ok {
			return nil, [2]int{at, number[v]}
		}
		route = append(route, l)
		at = number[v]
	}
	return route, missing
}

// name states which flow it is.
func (f Flow) name() string { return fmt.Sprintf("line %d: %q", f.Line, f.String()) }

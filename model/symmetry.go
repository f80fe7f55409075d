package model

import "fmt"

// Translations are the elements of an abelian group Z_a × Z_b × ... as they move the ranks,
// switches and links of a topology, which are the same afterwards. The ranks are the
// elements, numbered with the last coordinate fastest, and translation by w takes rank v to
// v + w.
type Translations struct {
	o     *Orbit
	t     *Topology
	links [][]int32 // by class: by the rank that they leave, or, from switches, that they enter
	class []int32   // by link
	out   int       // of this many classes the links leave ranks
}

// Translations says how the translations by o's group move the topology, or why they do not
// leave it the same. It takes O(links · sides) time.
//
// Of the links that leave a rank those are alike that lead equally far, or to switches, with
// the same figures; one is moved to that in the same place among those alike. So a
// switch is moved to where the links to it are, all of them to the same. Links from
// switches are moved with their two ends, and again those that are alike by their places.
func (o *Orbit) Translations(t *Topology) (*Translations, error) {
	if len(t.Ports) > 0 {
		return nil, fmt.Errorf("%s has ports, want links and switches alone", t.Name)
	}
	x := &Translations{o: o, t: t, class: make([]int32, len(t.Links))}
	if err := x.match(t.Out(), func(k Link, v int) int {
		if t.IsRank(k.Dst) {
			return o.Sub(k.Dst, v)
		}
		return -1
	}); err != nil {
		return nil, err
	}
	x.out = len(x.links)
	if len(t.Switches) == 0 {
		return x, nil
	}
	first, err := x.switches()
	if err != nil {
		return nil, err
	}
	in := t.In()
	for v := range in {
		fromSwitches := in[v][:0]
		for _, l := range in[v] {
			if !t.IsRank(t.Links[l].Src) {
				fromSwitches = append(fromSwitches, l)
			}
		}
		in[v] = fromSwitches
	}
	if err := x.match(in, func(k Link, v int) int { // the switch as it is seen from v
		a := first[k.Src-t.Ranks]
		return t.Links[x.links[a.class][o.Sub(a.rank, v)]].Dst
	}); err != nil {
		return nil, err
	}
	return x, nil
}

// match finds the translates of the links that are listed by rank: those with the same
// figures, the same of what side says of them, and the same place among such.
func (x *Translations) match(lists [][]int, side func(k Link, v int) int) error {
	type key struct {
		side      int
		alpha     Time
		bandwidth int64
		copy      int
	}
	number := map[key]int{}
	begin := len(x.links)
	for v, list := range lists[:x.t.Ranks] {
		if len(list) != len(lists[0]) {
			return fmt.Errorf("%d links leave or enter rank %d, want %d as at rank 0", len(list), v, len(lists[0]))
		}
		seen := map[key]int{}
		for _, l := range list {
			k := x.t.Links[l]
			c := key{side(k, v), k.Alpha, k.Bandwidth, 0}
			n := seen[c]
			seen[c]++
			c.copy = n
			if v == 0 {
				number[c] = begin + len(number)
				x.links = append(x.links, make([]int32, x.t.Ranks))
			}
			i, known := number[c]
			if !known {
				return fmt.Errorf("link %d from %s to %s is no translate of one at rank 0", l, x.t.NodeName(k.Src), x.t.NodeName(k.Dst))
			}
			x.links[i][v], x.class[l] = int32(l), int32(i)
		}
	}
	return nil
}

// approach is a link that leads to a switch: its class, and the rank that it leaves.
type approach struct{ class, rank int }

// switches checks that translations move switches: links to one are moved to links to one.
// It returns an approach of each.
func (x *Translations) switches() ([]approach, error) {
	first := make([]approach, len(x.t.Switches))
	for i := range first {
		first[i].class = -1
	}
	end := func(c, v int) int { return x.t.Links[x.links[c][v]].Dst }
	for c := range x.links {
		for v := range x.t.Ranks {
			if s := end(c, v); !x.t.IsRank(s) && first[s-x.t.Ranks].class < 0 {
				first[s-x.t.Ranks] = approach{c, v}
			}
		}
	}
	for i, a := range first {
		if a.class < 0 {
			return nil, fmt.Errorf("no link from a rank leads to %s, want one", x.t.NodeName(x.t.Ranks+i))
		}
	}
	for l, k := range x.t.Links {
		if !x.t.IsRank(k.Src) && !x.t.IsRank(k.Dst) {
			return nil, fmt.Errorf("link %d from %s to %s: want a rank at one end", l, x.t.NodeName(k.Src), x.t.NodeName(k.Dst))
		}
	}
	unit := 1
	for i := len(x.o.Sides) - 1; i >= 0; i-- {
		for c := range x.links {
			for v := range x.t.Ranks {
				s := end(c, v)
				if x.t.IsRank(s) {
					break // and so do the others of its class
				}
				a := first[s-x.t.Ranks]
				if end(c, x.o.Add(v, unit)) != end(a.class, x.o.Add(a.rank, unit)) {
					return nil, fmt.Errorf("the links of ranks %d and %d to %s have translates to different switches, by rank %d", v, a.rank, x.t.NodeName(s), unit)
				}
			}
		}
		unit *= x.o.Sides[i]
	}
	return first, nil
}

// Classes returns how many classes of links there are that are each other's translates.
func (x *Translations) Classes() int { return len(x.links) }

// Class returns the class of a link, from 0 to Classes()-1.
func (x *Translations) Class(l int) int { return int(x.class[l]) }

// Link returns the translate of link l by rank w.
func (x *Translations) Link(l, w int) int { return int(x.links[x.class[l]][x.o.Add(x.at(l), w)]) }

// at returns the rank by which the links of l's class are listed.
func (x *Translations) at(l int) int {
	if int(x.class[l]) < x.out {
		return x.t.Links[l].Src
	}
	return x.t.Links[l].Dst
}

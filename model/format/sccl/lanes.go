package sccl

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/ways"
)

// How many ways between two ranks are looked at, and of how many links. Where there are
// more, a step that fits none of these is undecided.
const (
	maxWays  = 64
	maxLinks = 8
)

// lane is what sends share in a round: parallel links, or a port.
type lane struct {
	links    []int // none: a port
	capacity int   // sends a round
}

// lanes are those of a topology.
type lanes struct {
	t       *model.Topology
	list    []lane
	between map[[2]int][]int // lanes of links by their ends; those of different ports are apart
	ports   [][]int          // of each link: the lanes of its ports
	degree  [2][]int         // of each node: how many links leave it, and enter it
	finder  *ways.Finder
	known   map[[2]int]*choice
}

// choice is what a send can choose from: ways, each a list of lanes of links in order and
// then of ports.
type choice struct {
	ways   [][]int
	all    bool // there are no others
	copies bool // a switch copies on one of them: what it sends to several counts once, which is not looked into
}

func newLanes(t *model.Topology) *lanes {
	n := &lanes{t: t, between: map[[2]int][]int{}, ports: make([][]int, len(t.Links)), finder: ways.New(t), known: map[[2]int]*choice{}}
	n.degree = [2][]int{make([]int, t.Nodes()), make([]int, t.Nodes())}
	for _, p := range t.Ports {
		for _, l := range p.Links {
			n.ports[l] = append(n.ports[l], len(n.list))
		}
		n.list = append(n.list, lane{capacity: p.Capacity})
	}
links:
	for i, l := range t.Links {
		n.degree[0][l.Src]++
		n.degree[1][l.Dst]++
		ends := [2]int{l.Src, l.Dst}
		for _, j := range n.between[ends] {
			if b := &n.list[j]; slices.Equal(n.ports[b.links[0]], n.ports[i]) {
				b.links = append(b.links, i)
				b.capacity++
				continue links
			}
		}
		n.between[ends] = append(n.between[ends], len(n.list))
		n.list = append(n.list, lane{[]int{i}, 1})
	}
	return n
}

// choices returns the ways from rank src to rank dst that pass no other rank.
func (n *lanes) choices(src, dst int) *choice {
	pair := [2]int{src, dst}
	if c := n.known[pair]; c != nil {
		return c
	}
	paths, all := n.finder.Between(src, dst, maxLinks, maxWays)
	c := &choice{all: all}
	for _, path := range paths {
		list := [][]int{nil}
		for i, v := range path[1:] {
			var longer [][]int
			for _, way := range list {
				for _, lane := range n.between[[2]int{path[i], v}] {
					longer = append(longer, append(slices.Clone(way), lane))
				}
			}
			if list = longer; len(list) > maxWays {
				list, c.all = list[:maxWays], false
			}
			c.copies = c.copies || n.t.Copies(v)
		}
		c.ways = append(c.ways, list...)
	}
	for i, way := range c.ways {
		for _, l := range way {
			c.ways[i] = append(c.ways[i], n.ports[n.list[l].links[0]]...)
		}
	}
	n.known[pair] = c
	return c
}

// Whether the sends of a step can go over a network.
type answer int

const (
	unknown answer = iota
	fits
	impossible
)

// fit chooses a way for each send of a step so that no lane has more sends than its rounds
// allow. sends are the ends of each, between which there are ways. The search is complete
// for a few dozen sends; for more, it is a greedy choice, improved along chains of sends that
// make room for each other, and what does not fit is impossible only where counting shows it.
// What does not fit has a way all the same.
func (n *lanes) fit(sends [][2]int, rounds int) ([][]int, answer) {
	f := &fitting{n: n, rounds: rounds, load: make([]int, len(n.list)), at: make([]int, len(sends)), work: maxWork}
	for _, s := range sends {
		f.from = append(f.from, n.choices(s[0], s[1]))
	}
	f.greedy()
	for f.excess > 0 && f.improve() {
	}
	result := fits
	if f.excess > 0 {
		result = unknown
		if f.tooMany(sends) {
			result = impossible
		} else if len(sends) <= maxSearched {
			result = f.search(sends)
		}
	}
	chosen := make([][]int, len(sends))
	for i := range chosen {
		chosen[i] = f.way(i)
	}
	return chosen, result
}

// How much a search may do: moves looked at, and sends that it is made for.
const (
	maxWork     = 1 << 21
	maxSearched = 1 << 10
)

type fitting struct {
	n      *lanes
	rounds int
	from   []*choice
	at     []int // the way of each send
	load   []int // of each lane
	excess int   // by how much lanes are too full, in all
	work   int   // how many more moves may be looked at
}

func (f *fitting) way(i int) []int { return f.from[i].ways[f.at[i]] }

// room returns how many more sends a lane can take.
func (f *fitting) room(lane int) int { return f.n.list[lane].capacity*f.rounds - f.load[lane] }

// add changes the number of sends that take a way.
func (f *fitting) add(way []int, by int) {
	for _, l := range way {
		f.excess -= max(0, -f.room(l))
		f.load[l] += by
		f.excess += max(0, -f.room(l))
	}
}

// greedy gives each send the way whose fullest lane is the least full.
func (f *fitting) greedy() {
	for i, c := range f.from {
		best, least := 0, -1.0
		for w, way := range c.ways {
			fullest := 0.0
			for _, l := range way {
				fullest = max(fullest, float64(f.load[l]+1)/float64(f.n.list[l].capacity))
			}
			if least < 0 || fullest < least {
				best, least = w, fullest
			}
			if len(c.ways) == 1 {
				break
			}
		}
		f.at[i] = best
		f.add(c.ways[best], 1)
	}
}

// move is that a send takes another way.
type move struct{ send, to int }

// improve lessens the excess by a chain of moves: a send leaves a lane that is too full for a
// way on which at most one lane is full, which another send then leaves, and so on.
func (f *fitting) improve() bool {
	on := map[int][]int{}
	f.work -= len(f.from)
	for i, c := range f.from {
		if len(c.ways) > 1 {
			for _, l := range f.way(i) {
				on[l] = append(on[l], i)
			}
		}
	}
	before := f.excess
	for first := range f.load {
		if f.room(first) >= 0 {
			continue
		}
		type link struct {
			move
			up int // the lane that the send makes room on
		}
		came := map[int]link{first: {up: -1}}
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			lane := queue[0]
			for _, i := range on[lane] {
				for to, way := range f.from[i].ways {
					if f.work--; f.work < 0 {
						return false
					}
					if to == f.at[i] || slices.Contains(way, lane) {
						continue
					}
					full, where := 0, -1
					for _, l := range way {
						if f.room(l) <= 0 && !slices.Contains(f.way(i), l) {
							full, where = full+1, l
						}
					}
					if _, seen := came[where]; full > 1 || seen {
						continue
					}
					if full == 1 {
						came[where] = link{move{i, to}, lane}
						queue = append(queue, where)
						continue
					}
					chain := []move{{i, to}}
					for at := lane; came[at].up >= 0; at = came[at].up {
						chain = append(chain, came[at].move)
					}
					if f.try(chain, before) {
						return true
					}
				}
			}
		}
	}
	return false
}

// try makes moves if the excess is less after them.
func (f *fitting) try(chain []move, before int) bool {
	was := make([]int, len(chain))
	for k, m := range chain {
		was[k] = f.at[m.send]
		f.add(f.way(m.send), -1)
		f.at[m.send] = m.to
		f.add(f.way(m.send), 1)
	}
	if f.excess < before {
		return true
	}
	for k := len(chain) - 1; k >= 0; k-- {
		i := chain[k].send
		f.add(f.way(i), -1)
		f.at[i] = was[k]
		f.add(f.way(i), 1)
	}
	return false
}

// tooMany reports whether counting shows that the sends do not fit: a node sends or receives
// more than its links carry, or a lane is on every way of too many sends.
func (f *fitting) tooMany(sends [][2]int) bool {
	var ends [2]map[int]int
	ends[0], ends[1] = map[int]int{}, map[int]int{}
	must := make([]int, len(f.load))
	for i, s := range sends {
		c := f.from[i]
		if c.copies {
			continue
		}
		for side, v := range s {
			if ends[side][v]++; ends[side][v] > f.rounds*f.n.degree[side][v] {
				return true
			}
		}
		if !c.all {
			continue
		}
		for _, l := range c.ways[0] {
			if !slices.ContainsFunc(c.ways[1:], func(way []int) bool { return !slices.Contains(way, l) }) {
				if must[l]++; must[l] > f.rounds*f.n.list[l].capacity {
					return true
				}
			}
		}
	}
	return false
}

// search tries all choices, those with the fewest ways first; of sends between the same ranks
// it makes no difference which takes which.
func (f *fitting) search(sends [][2]int) answer {
	order := make([]int, len(sends))
	all := true
	for i := range order {
		order[i] = i
		all = all && f.from[i].all && !f.from[i].copies
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := len(f.from[a].ways) - len(f.from[b].ways); d != 0 {
			return d
		}
		return slices.Compare(sends[a][:], sends[b][:])
	})
	kept := slices.Clone(f.at)
	clear(f.load)
	f.excess = 0
	f.work = maxWork
	var try func(k int) bool
	try = func(k int) bool {
		if k == len(order) {
			return true
		}
		i, from := order[k], 0
		if k > 0 && sends[order[k-1]] == sends[i] {
			from = f.at[order[k-1]]
		}
		for to := from; to < len(f.from[i].ways); to++ {
			if f.work--; f.work < 0 {
				return false
			}
			way := f.from[i].ways[to]
			f.add(way, 1)
			if f.at[i] = to; f.excess == 0 && try(k+1) {
				return true
			}
			f.add(way, -1)
		}
		return false
	}
	switch {
	case try(0):
		return fits
	case f.work >= 0 && all:
		f.at = kept
		return impossible
	}
	f.at = kept
	return unknown
}

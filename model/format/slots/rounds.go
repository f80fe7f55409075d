package slots

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/components"
)

// rounds gives the transfers rounds, as early as what they come after and the links allow.
// Those that must each have begun when the other ends are in one round.
func (x *Maker) rounds(m *model.Imported) error {
	s := m.Schedule
	group, count := x.together()
	members := make([][]int, count) // in the order that groups have
	for i, g := range group {
		members[g] = append(members[g], i)
	}
	at := make([]model.Time, count)
	full := newRoom(m.Problem.Topology)
	for g, list := range members {
		for _, i := range list {
			for _, j := range x.moves[i].after {
				if group[j] == int32(g) {
					return fmt.Errorf("the transfers from lines %d and %d must be in one round and one after the other", x.moves[i].line, x.moves[j].line)
				}
				at[g] = max(at[g], at[group[j]]+1)
			}
			for _, j := range x.moves[i].with {
				at[g] = max(at[g], at[group[j]])
			}
			if len(x.moves[i].ranks) > 2 {
				return fmt.Errorf("what is received in line %d is relayed, which takes more than a round", x.moves[i].line)
			}
		}
		if !full.fits(-1, s, list) {
			return fmt.Errorf("%d transfers must be in one round, for which %s has too few links", len(list), m.Problem.Topology.Name)
		}
		for !full.fits(at[g], s, list) {
			at[g]++
		}
		full.add(at[g], s, list)
	}
	s.Form, s.After = model.InRounds, nil
	for i := range s.Transfers {
		s.Transfers[i].Start, s.Transfers[i].End = at[group[i]], at[group[i]]+1
	}
	m.Problem.Cost = model.LinkRounds
	return nil
}

// together numbers the sets of transfers that come after each other in a circle, those that others
// come after first.
func (x *Maker) together() (group []int32, count int) {
	return components.Of(len(x.moves), func(i int32) []int32 { return slices.Concat(x.moves[i].after, x.moves[i].with) })
}

// room is what links and ports carry in each round.
type room struct {
	t     *model.Topology
	ports [][]int // of a link
	used  map[[2]int64]int
}

func newRoom(t *model.Topology) *room {
	r := &room{t: t, ports: make([][]int, len(t.Links)), used: map[[2]int64]int{}}
	for p := range t.Ports {
		for _, l := range t.Ports[p].Links {
			r.ports[l] = append(r.ports[l], p)
		}
	}
	return r
}

// fits reports whether transfers fit into a round beside what is there.
func (r *room) fits(round model.Time, s *model.Schedule, transfers []int) bool {
	more := map[[2]int64]int{}
	for _, i := range transfers {
		for name := range r.needs(round, s, i) {
			if more[name]++; r.used[name]+more[name] > r.most(name) {
				return false
			}
		}
	}
	return true
}

func (r *room) add(round model.Time, s *model.Schedule, transfers []int) {
	for _, i := range transfers {
		for name := range r.needs(round, s, i) {
			r.used[name]++
		}
	}
}

// needs returns the links that a transfer uses in a round, and the ports, which are
// numbered from -1 down.
func (r *room) needs(round model.Time, s *model.Schedule, transfer int) map[[2]int64]bool {
	names := map[[2]int64]bool{}
	for _, l := range s.Routes[s.Transfers[transfer].Route] {
		names[[2]int64{int64(round), int64(l)}] = true
		for _, p := range r.ports[l] {
			names[[2]int64{int64(round), int64(-1 - p)}] = true
		}
	}
	return names
}

func (r *room) most(name [2]int64) int {
	if name[1] < 0 {
		return r.t.Ports[-1-name[1]].Capacity
	}
	return 1
}

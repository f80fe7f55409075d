package slots

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/ways"
)

// Schedule writes the transfers down as the schedule of m, over the shortest ways of its problem's
// topology: what is sent on one channel takes one way, and channels share equal ways evenly. Where there is none from a rank to another one that it sends to, m gets objections. An
// error that wraps ErrNoSchedule states what does not fit.
//
// Ranks that exchange values in place, each reading before the other writes, cannot wait
// for each other's transfers to end. Then the schedule is one in rounds, at
// the cost model link-rounds, in which they do that in one round.
func (x *Maker) Schedule(m *model.Imported) error {
	s := m.Schedule
	connections, bytes := x.connections(m.Problem)
	spread, routes := ways.NewSpread(m.Problem.Topology), map[connection][]int{}
	for _, c := range connections {
		routes[c] = spread.Route(int(c.src), int(c.dst), bytes[c])
	}
	known := map[string]int32{}
	lines := make([]int, len(x.moves))
	for i := range x.moves {
		t := &x.moves[i]
		if !t.over {
			return fmt.Errorf("line %d: what is received of chunk %d is never used: %w", t.line, t.chunk, ErrNoSchedule)
		}
		lines[i] = t.line
		var route []int
		for j, u := range t.ranks[:len(t.ranks)-1] {
			way := routes[connection{u, t.ranks[j+1], t.channels[j]}]
			if way == nil {
				m.Object("no-such-link", fmt.Sprintf("line %d", t.line), fmt.Sprintf("%s has no link and no way over switches from rank %d to rank %d", m.Problem.Topology.Name, u, t.ranks[j+1]))
			}
			route = append(route, way...)
		}
		name := fmt.Sprint(route)
		id, ok := known[name]
		if !ok {
			id = int32(len(s.Routes))
			known[name] = id
			s.Routes = append(s.Routes, route)
		}
		after := slices.Concat(t.after, t.with)
		slices.Sort(after)
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: t.chunk, Src: t.ranks[0], Dst: t.ranks[len(t.ranks)-1], Route: id, Op: t.op})
		s.After = append(s.After, slices.Compact(after))
	}
	m.Source = func(i int) string { return fmt.Sprintf("line %d", lines[i]) }
	if len(m.Objections) > 0 {
		return nil
	}
	m.Order = x.order()
	if _, err := s.TopologicalOrder(); err != nil {
		if err := x.rounds(m); err != nil {
			return fmt.Errorf("ranks exchange values in place, so that no transfer can be the first, and %w: %w", err, ErrNoSchedule)
		}
	}
	return nil
}

// connection is from one rank to another, on a channel.
type connection struct{ src, dst, channel int32 }

// connections returns the connections in the order in which they are used first, and what each carries.
func (x *Maker) connections(p *model.Problem) (all []connection, bytes map[connection]int64) {
	bytes = map[connection]int64{}
	for i := range x.moves {
		t := &x.moves[i]
		for j, channel := range t.channels {
			c := connection{t.ranks[j], t.ranks[j+1], channel}
			if _, known := bytes[c]; !known {
				all = append(all, c)
			}
			bytes[c] = min(bytes[c]+p.Chunks[t.chunk].Size, model.MaxSize)
		}
	}
	return all, bytes
}

// order returns what the transfers wait for.
func (x *Maker) order() *model.Precedence {
	n := len(x.moves)
	o := &model.Precedence{Ended: make([][]int32, n), Left: make([][]int32, n), Begun: make([][]int32, n)}
	for i := range x.moves {
		m := &x.moves[i]
		o.Ended[i], o.Left[i], o.Begun[i] = slices.Concat(m.after, m.sums, m.ended), slices.Clone(m.left), m.with
		for _, list := range []*[]int32{&o.Ended[i], &o.Left[i]} {
			slices.Sort(*list)
			*list = slices.DeleteFunc(slices.Compact(*list), func(j int32) bool { return j == int32(i) })
		}
	}
	return o
}

package msccl

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/ways"
)

// schedule writes the transfers down.
func (x *importer) schedule(m *model.Imported) error {
	s := m.Schedule
	shortest := ways.NewShortest(m.Problem.Topology)
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
			way := shortest.Route(int(u), int(t.ranks[j+1]))
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

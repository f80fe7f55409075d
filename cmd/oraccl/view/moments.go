package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/streams"
)

// moments says when transfers are drawn: in picoseconds or, where a schedule has an order
// and no times, in steps, a transfer being one later than the last that it waits for.
type moments struct {
	steps    bool
	from, to []model.Time // of each transfer
	last     model.Time
	streams  *streams.Streams // what is drawn as one thing
	order    []int32          // the transfers by when they start
	notes    []string
}

// when finds the moments of a schedule that is valid for p. A transfer in rounds lasts as
// long as its round: what it brings is there when the round ends.
func when(p *model.Problem, s *model.Schedule) (*moments, error) {
	if err := s.Validate(p); err != nil {
		return nil, err
	}
	n := len(s.Transfers)
	m := &moments{from: make([]model.Time, n), to: make([]model.Time, n), order: make([]int32, n)}
	switch s.Form {
	case model.Timed:
		for i := range s.Transfers {
			m.from[i], m.to[i] = s.Transfers[i].Start, max(s.Transfers[i].Start, s.Transfers[i].End)
		}
	case model.InRounds:
		spans := p.RoundSpans(s)
		for i := range s.Transfers {
			r := spans[s.Transfers[i].Start]
			m.from[i], m.to[i] = r.From, r.To
		}
	default:
		m.steps = true
		m.notes = append(m.notes, "The schedule has an order and no times: what is drawn are steps, each transfer one after the last that it waits for.")
		order, err := s.TopologicalOrder()
		if err != nil {
			return nil, fmt.Errorf("the order cannot be drawn: %w", err)
		}
		for _, i := range order {
			for _, j := range s.After[i] {
				m.from[i] = max(m.from[i], m.to[j])
			}
			m.to[i] = m.from[i] + 1
		}
	}
	for i := range m.order {
		m.order[i] = int32(i)
		m.last = max(m.last, m.to[i])
	}
	m.streams = streams.Find(p, s, m.from, m.to)
	slices.SortFunc(m.order, func(i, j int32) int { return cmp.Or(cmp.Compare(m.from[i], m.from[j]), cmp.Compare(i, j)) })
	if m.last > 1<<53 {
		m.notes = append(m.notes, "Times beyond 2^53 ps are rounded.")
	}
	return m, nil
}

package view

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Why a transfer of the critical path did not start earlier.
const (
	becauseStart = iota // it is the first: it starts when the schedule does, or its ranks arrive
	becauseData         // what it sends was written by the one before it
	becauseLink         // a link of its route was kept busy by the one before it
	becauseRound        // the round before had to end
	becauseWait         // nothing that is looked for ended then: the schedule lets it wait
)

// hop is a transfer of the critical path.
type hop struct {
	transfer int32
	because  uint8
}

// critical returns a chain of transfers, first to last, that explains the makespan: it ends
// with the one that ends last, and each begins when the one before it lets it: it wrote what
// is sent, or kept a link busy, or was of the round before. Where no such transfer ends then,
// the last to end of those that it depends on is taken, and the gap is marked as waiting.
// Ports are not looked for. It takes O(n log n) time for n transfers.
func critical(p *model.Problem, s *model.Schedule, m *moments) []hop {
	if len(s.Transfers) == 0 {
		return nil
	}
	before := predecessors(p, s, m)
	at := m.order[0]
	for _, i := range m.order {
		if m.to[i] > m.to[at] {
			at = i
		}
	}
	var path []hop
	for {
		b := before[at]
		path = append(path, hop{at, b.because})
		if b.transfer < 0 || len(path) > len(s.Transfers) {
			break
		}
		at = b.transfer
	}
	slices.Reverse(path)
	return path
}

// use is the last that kept a link busy, or wrote a slot.
type use struct {
	transfer int32
	until    model.Time
}

// predecessors finds, for each transfer, why it does not start earlier.
func predecessors(p *model.Problem, s *model.Schedule, m *moments) []hop {
	ends := slices.Clone(m.order)
	slices.SortFunc(ends, func(i, j int32) int {
		return cmp.Or(cmp.Compare(m.to[i], m.to[j]), cmp.Compare(m.from[i], m.from[j]), cmp.Compare(i, j))
	})
	found := make([]hop, len(s.Transfers))
	chunks := int64(len(p.Chunks))
	written := make(map[int64]int32, len(s.Transfers))
	links := make([]use, len(p.Topology.Links))
	for l := range links {
		links[l].transfer = -1
	}
	var busy []model.Interval
	done := 0
	for _, i := range m.order {
		t := &s.Transfers[i]
		for done < len(ends) && m.to[ends[done]] <= m.from[i] && ends[done] != i {
			e := &s.Transfers[ends[done]]
			written[int64(e.Dst)*chunks+int64(e.Chunk)] = ends[done]
			done++
		}
		best := hop{-1, becauseStart}
		var until model.Time
		take := func(j int32, end, wanted model.Time, because uint8) {
			switch {
			case best.transfer >= 0 && best.because != becauseWait:
			case end == wanted:
				best = hop{j, because}
			case best.transfer < 0 || end > until:
				best, until = hop{j, becauseWait}, end
			}
		}
		if j, ok := written[int64(t.Src)*chunks+int64(t.Chunk)]; ok {
			take(j, m.to[j], m.from[i], becauseData)
		}
		busy = m.streams.Busy(i, busy[:0])
		for k, l := range s.Routes[t.Route] {
			from := busy[k].From
			if u := links[l]; u.transfer >= 0 && u.until <= from && m.from[u.transfer] < m.from[i] {
				take(u.transfer, u.until, from, becauseLink)
			}
		}
		if done > 0 && s.Form == model.InRounds {
			take(ends[done-1], m.to[ends[done-1]], m.from[i], becauseRound)
		}
		if m.from[i] == 0 || m.from[i] == p.ReleaseOf(int(t.Src)) || m.from[i] == p.ReleaseOf(int(t.Dst)) {
			if best.transfer < 0 || best.because == becauseWait {
				best = hop{-1, becauseStart}
			}
		}
		found[i] = best
		for k, l := range s.Routes[t.Route] {
			if end := busy[k].To; end >= links[l].until {
				links[l] = use{i, end}
			}
		}
	}
	return found
}

package stream

import (
	"encoding/binary"

	"github.com/oraccl/oraccl/model"
)

// times knows durations and spans by kind of route and size of chunk: routes whose links
// have the same figures and lie alike between ranks are of one kind.
type times struct {
	p       *model.Problem
	rounds  bool
	numbers map[string]int32
	sample  [][]int // by kind: a route
	sizes   []int64
	classes []int32 // by chunk: index of its size
	known   []figures
}

// figures are those of a transfer: how long it lasts and when each link is busy, from its
// start.
type figures struct {
	lasts model.Time // the transfer's own time, in rounds too
	busy  []model.Interval
}

func newTimes(p *model.Problem, form model.Form) times {
	t := times{p: p, rounds: form == model.InRounds, numbers: map[string]int32{}, classes: make([]int32, len(p.Chunks))}
	number := map[int64]int32{}
	for k, c := range p.Chunks {
		i, known := number[c.Size]
		if !known {
			i = int32(len(t.sizes))
			number[c.Size] = i
			t.sizes = append(t.sizes, c.Size)
		}
		t.classes[k] = i
	}
	return t
}

// kindOf returns the kind of a route. What is wrong with the route does not matter here.
func (t *times) kindOf(route []int) int32 {
	var key []byte
	for _, l := range route {
		if l < 0 || l >= len(t.p.Topology.Links) {
			continue
		}
		k := t.p.Topology.Links[l]
		key = binary.AppendVarint(key, int64(k.Alpha))
		key = binary.AppendVarint(key, k.Bandwidth)
		if t.p.Topology.IsRank(k.Dst) {
			key = append(key, 1)
		} else {
			key = append(key, 0)
		}
	}
	i, known := t.numbers[string(key)]
	if !known {
		i = int32(len(t.sample))
		t.numbers[string(key)] = i
		t.sample = append(t.sample, route)
	}
	return i
}

func (t *times) class(chunk int32) int32 { return t.classes[chunk] }

// maxKnown is how many figures are kept.
const maxKnown = 1 << 16

// figures returns those of a kind of route and a class of chunks.
func (t *times) figures(kind, class int32) figures {
	i := int(kind)*len(t.sizes) + int(class)
	if i >= maxKnown {
		return t.compute(kind, class)
	}
	if i >= len(t.known) {
		t.known = append(t.known, make([]figures, min(maxKnown, len(t.sample)*len(t.sizes))-len(t.known))...)
	}
	f := &t.known[i]
	if f.lasts == 0 {
		*f = t.compute(kind, class)
	}
	return *f
}

func (t *times) compute(kind, class int32) figures {
	route, size := t.sample[kind], t.sizes[class]
	f := figures{lasts: t.p.Topology.Duration(route, size)}
	if t.rounds {
		for range route {
			f.busy = append(f.busy, model.Interval{From: 0, To: 1})
		}
		return f
	}
	f.busy = t.p.Topology.Busy(t.p.Cost, route, size, nil)
	return f
}

// atOnce returns how many transfers over routes of a kind can be on their way at one time
// if they do not overlap on the first link.
func (t *times) atOnce(kind int32) int64 {
	most := int64(1)
	for class := range t.sizes {
		f := t.compute(kind, int32(class))
		if !t.rounds && f.busy[0].To > 0 {
			most = max(most, int64(f.lasts/f.busy[0].To)+1)
		}
	}
	return most
}

// spans follows the rounds of a schedule: see model.Problem.RoundSpans.
type spans struct {
	at      model.Time // the end of the rounds before
	round   model.Time // the one being followed
	arrived model.Time // when the last of its ranks arrives
	longest model.Time // how long its longest transfer lasts
}

func (s *spans) add(p *model.Problem, t *model.Transfer, route []int, lasts model.Time) {
	if t.Start != s.round {
		s.at, s.round, s.arrived, s.longest = s.end(), t.Start, 0, 0
	}
	s.arrived = max(s.arrived, p.ReleaseOf(int(t.Src)))
	for _, l := range route {
		if v := p.Topology.Links[l].Dst; p.Topology.IsRank(v) {
			s.arrived = max(s.arrived, p.ReleaseOf(v))
		}
	}
	s.longest = max(s.longest, lasts)
}

// end returns the end of the round that is being followed.
func (s *spans) end() model.Time { return max(s.at, s.arrived).Add(s.longest) }

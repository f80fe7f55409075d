// Package export writes schedules for other tools: Chakra execution traces, one file a rank,
// for ASTRA-sim and others (MLCommons Chakra, schema et_def.proto); GOAL for LogGOPSim and
// ATLAHS (Hoefler et al., "LogGOPSim", 2010); and Chrome's trace events, which Perfetto and
// chrome://tracing show.
//
// Chakra and GOAL know sends, receives and what waits for what on one rank, and no buffers.
// So a transfer becomes a send and a receive with a tag of its own, and, where it reduces,
// a computation after the receive. What is sent waits for what wrote it last; what
// overwrites or adds waits for what wrote and read there before. Where that has not ended
// when the receive begins, a computation after the receive waits instead, and where a send
// is still under way when its chunk is overwritten, a computation before it keeps what it
// sends. So every wait is for something that has ended by then in the schedule: there can be
// no circle, and an execution that keeps to the waits has the result of the schedule. Times are left
// to the simulator, except for ranks that arrive late, which begin with a computation of that
// length.
//
// The schedule must be right and have times: of the form model.Timed or model.InRounds.
package export

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// kind is what a node does.
type kind uint8

const (
	send kind = iota
	receive
	hold   // keeps what is sent, which is overwritten while it is on its way
	reduce // adds what was received to what is there
	write  // puts what was received in place, where that has to wait
	arrive // a rank that is late
)

// node is something that one rank does.
type node struct {
	kind     kind
	transfer int32
	deps     []int32    // of the same rank, ascending
	start    model.Time // in the schedule
}

// program is what all ranks do.
type program struct {
	p     *model.Problem
	s     *model.Schedule
	from  []model.Time // of each transfer, from the start of the schedule
	to    []model.Time
	ranks [][]int32 // the transfers that concern each rank
}

// newProgram finds when the transfers are, and whom they concern.
func newProgram(p *model.Problem, s *model.Schedule) (*program, error) {
	if err := s.Validate(p); err != nil {
		return nil, err
	}
	if s.Form == model.Ordered {
		return nil, fmt.Errorf("the schedule is of the form %v, want one with times", s.Form)
	}
	g := &program{p: p, s: s, from: make([]model.Time, len(s.Transfers)), to: make([]model.Time, len(s.Transfers)), ranks: make([][]int32, p.Topology.Ranks)}
	var spans []model.Interval
	if s.Form == model.InRounds {
		spans = p.RoundSpans(s)
	}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		g.from[i], g.to[i] = t.Start, t.End
		if s.Form == model.InRounds {
			g.from[i] = spans[t.Start].From
			g.to[i] = g.from[i].Add(p.Topology.Duration(s.Routes[t.Route], p.Chunks[t.Chunk].Size))
		}
		g.ranks[t.Src] = append(g.ranks[t.Src], int32(i))
		g.ranks[t.Dst] = append(g.ranks[t.Dst], int32(i))
	}
	return g, nil
}

// event is when a transfer concerns a rank.
type event struct {
	at       model.Time
	what     uint8 // ends, begins to arrive, is sent: at one time in this order
	transfer int32
}

const (
	ends uint8 = iota
	begins
	leaves
)

// slot is what a rank knows of a chunk: the node that wrote it last, and those that sent it
// since, each with when it ended.
type slot struct {
	writer int32 // or -1
	ended  model.Time
	reads  []read
}

type read struct {
	node, transfer int32
	ended          model.Time
}

// scan is the way through what happens at a rank.
type scan struct {
	*program
	nodes []node
	held  map[int32]bool // the sends that are under way when their chunk is overwritten
	found map[int32]bool // the same, as they are found
}

// rank returns what a rank does, in the order in which it begins. It takes O(n log n) time
// for n transfers, and for each write the sends of what it overwrites.
func (g *program) rank(r int) []node {
	first := &scan{program: g, found: map[int32]bool{}}
	first.walk(r)
	if len(first.found) == 0 {
		return first.nodes
	}
	second := &scan{program: g, held: first.found, found: map[int32]bool{}}
	second.walk(r)
	return second.nodes
}

func (g *scan) add(k kind, e event, deps ...int32) int32 {
	slices.Sort(deps)
	g.nodes = append(g.nodes, node{k, e.transfer, slices.Compact(deps), e.at})
	return int32(len(g.nodes) - 1)
}

func (g *scan) walk(r int) {
	var events []event
	for _, i := range g.ranks[r] {
		if int(g.s.Transfers[i].Src) == r {
			events = append(events, event{g.from[i], leaves, i})
		} else {
			events = append(events, event{g.from[i], begins, i}, event{g.to[i], ends, i})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what), cmp.Compare(a.transfer, b.transfer))
	})
	late := int32(-1)
	if g.p.ReleaseOf(r) > 0 && len(events) > 0 {
		late = g.add(arrive, event{transfer: -1})
	}
	slots := map[int32]*slot{}
	receives := map[int32]int32{}
	for _, e := range events {
		t := &g.s.Transfers[e.transfer]
		s := slots[t.Chunk]
		if s == nil {
			s = &slot{writer: -1}
			slots[t.Chunk] = s
		}
		var deps []int32
		if s.writer >= 0 {
			deps = append(deps, s.writer)
		}
		switch e.what {
		case leaves:
			if late >= 0 && len(deps) == 0 {
				deps = append(deps, late)
			}
			if g.held[e.transfer] {
				at := g.add(hold, e, deps...)
				g.add(send, e, at)
				s.reads = append(s.reads, read{at, e.transfer, e.at})
				continue
			}
			s.reads = append(s.reads, read{g.add(send, e, deps...), e.transfer, g.to[e.transfer]})
		case begins:
			for _, x := range s.reads {
				if x.ended <= e.at {
					deps = append(deps, x.node)
				}
			}
			if late >= 0 && len(deps) == 0 {
				deps = append(deps, late)
			}
			receives[e.transfer] = g.add(receive, e, deps...)
		case ends:
			g.end(e, s, receives[e.transfer])
		}
	}
}

// end puts what was received in place, with a node of its own where it reduces or has to
// wait for more than the receive did.
func (g *scan) end(e event, s *slot, received int32) {
	t, began := &g.s.Transfers[e.transfer], g.from[e.transfer]
	deps := []int32{received}
	if s.writer >= 0 && s.ended > began {
		deps = append(deps, s.writer)
	}
	kept := s.reads[:0]
	for _, x := range s.reads {
		switch {
		case x.ended > e.at: // still on its way; it took what it sends when it began
			g.found[x.transfer] = true
			kept = append(kept, x)
		case x.ended > began || x.node > received:
			deps = append(deps, x.node)
		}
	}
	s.reads = kept
	s.writer, s.ended = received, e.at
	switch {
	case t.Op == model.Reduction:
		s.writer = g.add(reduce, e, deps...)
	case len(deps) > 1:
		s.writer = g.add(write, e, deps...)
	}
}

package model

import (
	"fmt"
	"slices"
)

// Op is what a transfer does at its destination.
type Op uint8

// The operations.
const (
	Copy      Op = iota // overwrites what is there
	Reduction           // adds to what is there
)

var opNames = []string{"copy", "reduce"}

// String returns "copy" or "reduce".
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// ParseOp is the inverse of Op.String.
func ParseOp(s string) (Op, error) {
	if i := slices.Index(opNames, s); i >= 0 {
		return Op(i), nil
	}
	return 0, fmt.Errorf("operation %q: want copy or reduce", s)
}

// Form says what a schedule fixes of its transfers' order.
type Form uint8

// The forms.
const (
	// Timed: each transfer has a start and an end in picoseconds. It goes with
	// the cost models Blocking and Pipelined.
	Timed Form = iota + 1
	// InRounds: Start is the round, counted from 0, and End is Start+1. All
	// transfers of a round read what was there before it. It goes with the cost
	// model Rounds.
	InRounds
	// Ordered: there are no times; a transfer starts at any time after those
	// that it waits for have ended. It goes with every cost model.
	Ordered
)

var formNames = []string{"", "timed", "rounds", "order"}

// String returns the name used in files: "timed".
func (f Form) String() string {
	if int(f) < len(formNames) && f > 0 {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// ParseForm is the inverse of Form.String.
func ParseForm(s string) (Form, error) {
	if i := slices.Index(formNames, s); i > 0 {
		return Form(i), nil
	}
	return 0, fmt.Errorf("form %q: want timed, rounds or order", s)
}

// Transfer is one chunk on its way from one rank to another. It is 40 bytes.
type Transfer struct {
	Chunk    int32
	Src, Dst int32 // ranks
	Route    int32 // index into Schedule.Routes: a path of links from Src to Dst
	Op       Op
	// Start and End depend on the schedule's form: picoseconds, or the round and
	// the round after, or both 0.
	Start, End Time
}

// Schedule is a set of transfers. Their order in the slice means nothing.
type Schedule struct {
	Form      Form
	Routes    [][]int // each a path of links, at least one; see Topology.Duration
	Transfers []Transfer
	// After holds, for each transfer of an Ordered schedule, the transfers that
	// must have ended before it starts. Other forms have none.
	After [][]int32
}

// Rounds returns the number of rounds of a schedule InRounds, and 0 for others.
func (s *Schedule) Rounds() int {
	if s.Form != InRounds {
		return 0
	}
	last := Time(0)
	for i := range s.Transfers {
		last = max(last, s.Transfers[i].End)
	}
	return int(last)
}

// FormFor returns the form in which schedules for a cost model are timed.
func FormFor(c CostModel) Form {
	if c == Rounds {
		return InRounds
	}
	return Timed
}

// Makespan returns the end of the last transfer, counted from time 0: for
// rounds the end of the last round of RoundSpans. An Ordered schedule has no
// times, and gets 0. s must be structurally valid. It takes O(transfers) time.
func (p *Problem) Makespan(s *Schedule) Time {
	last := Time(0)
	switch s.Form {
	case Timed:
		for i := range s.Transfers {
			last = max(last, s.Transfers[i].End)
		}
	case InRounds:
		if spans := p.RoundSpans(s); len(spans) > 0 {
			last = spans[len(spans)-1].To
		}
	}
	return last
}

// RoundSpans returns from when to when each round of a schedule InRounds lasts.
// A round begins when the one before it has ended and every rank that sends or
// receives in it has arrived; it lasts as long as its longest transfer.
func (p *Problem) RoundSpans(s *Schedule) []Interval {
	spans := make([]Interval, s.Rounds())
	for i := range s.Transfers {
		t := &s.Transfers[i]
		route := s.Routes[t.Route]
		r := &spans[t.Start]
		r.From = max(r.From, p.ReleaseOf(int(t.Src)))
		for _, l := range route {
			if v := p.Topology.Links[l].Dst; p.Topology.IsRank(v) {
				r.From = max(r.From, p.ReleaseOf(v))
			}
		}
		r.To = max(r.To, p.Topology.Duration(route, p.Chunks[t.Chunk].Size))
	}
	at := Time(0)
	for i, r := range spans { // so far From holds the arrivals, To the duration
		from := max(at, r.From)
		at = from.Add(r.To)
		spans[i] = Interval{from, at}
	}
	return spans
}

// Validate reports the first thing that makes s meaningless for p: a chunk, rank
// or route that does not exist, a form that does not go with the cost model, a
// cycle in the order. It does not say whether s is feasible or right; verify
// does. p must be valid and have chunks. It takes O(transfers + routes) time.
func (s *Schedule) Validate(p *Problem) error {
	if p.Chunks == nil {
		return ErrNoChunks
	}
	switch {
	case s.Form < Timed || s.Form > Ordered:
		return fmt.Errorf("form: missing, want timed, rounds or order")
	case s.Form != Ordered && s.Form != FormFor(p.Cost):
		return fmt.Errorf("form: %v does not go with cost model %v, want %v or order", s.Form, p.Cost, FormFor(p.Cost))
	case int64(len(s.Transfers)) > MaxTransfers:
		return fmt.Errorf("transfers: %d, want at most %d", len(s.Transfers), int64(MaxTransfers))
	}
	for i, r := range s.Routes {
		if len(r) == 0 {
			return fmt.Errorf("routes[%d]: empty, want at least one link", i)
		}
		for j, l := range r {
			if l < 0 || l >= len(p.Topology.Links) {
				return fmt.Errorf("routes[%d][%d]: link %d does not exist, want 0 to %d", i, j, l, len(p.Topology.Links)-1)
			}
		}
	}
	rounds := Time(1024 + 16*len(s.Transfers)) // leaves room for empty rounds, not for absurd ones
	for i := range s.Transfers {
		t := &s.Transfers[i]
		switch {
		case t.Chunk < 0 || int(t.Chunk) >= len(p.Chunks):
			return fmt.Errorf("transfers[%d]: chunk %d does not exist, want 0 to %d", i, t.Chunk, len(p.Chunks)-1)
		case t.Src < 0 || int(t.Src) >= p.Topology.Ranks:
			return fmt.Errorf("transfers[%d]: source %d is no rank, want 0 to %d", i, t.Src, p.Topology.Ranks-1)
		case t.Dst < 0 || int(t.Dst) >= p.Topology.Ranks:
			return fmt.Errorf("transfers[%d]: destination %d is no rank, want 0 to %d", i, t.Dst, p.Topology.Ranks-1)
		case t.Src == t.Dst:
			return fmt.Errorf("transfers[%d]: from rank %d to itself", i, t.Src)
		case t.Route < 0 || int(t.Route) >= len(s.Routes):
			return fmt.Errorf("transfers[%d]: route %d does not exist, want 0 to %d", i, t.Route, len(s.Routes)-1)
		case t.Op > Reduction:
			return fmt.Errorf("transfers[%d]: operation %d does not exist, want copy or reduce", i, t.Op)
		case t.Start < 0 || t.End < t.Start:
			return fmt.Errorf("transfers[%d]: from %d to %d, want 0 <= start <= end", i, t.Start, t.End)
		case s.Form == Ordered && t.End != 0:
			return fmt.Errorf("transfers[%d]: has a time, want none in the form order", i)
		case s.Form == Timed && t.End == t.Start:
			return fmt.Errorf("transfers[%d]: starts and ends at %d ps, want an end after the start", i, t.Start)
		case s.Form == InRounds && (t.End != t.Start+1 || t.Start >= rounds):
			return fmt.Errorf("transfers[%d]: round %d to %d, want one round, below %d", i, t.Start, t.End, rounds)
		}
	}
	if s.Form != Ordered {
		if s.After != nil {
			return fmt.Errorf("after: belongs to the form order, not %v", s.Form)
		}
		return nil
	}
	_, err := s.TopologicalOrder()
	return err
}

// TopologicalOrder returns the transfers of an Ordered schedule in an order that
// respects After, those that are free to choose by ascending index, or an error
// that names a transfer on a cycle. It takes O(transfers + order) time.
func (s *Schedule) TopologicalOrder() ([]int32, error) {
	n := len(s.Transfers)
	if len(s.After) != n {
		return nil, fmt.Errorf("after: %d lists, want one for each of %d transfers", len(s.After), n)
	}
	waits := make([]int32, n)
	next := make([][]int32, n)
	for i, before := range s.After {
		for _, j := range before {
			if j < 0 || int(j) >= n {
				return nil, fmt.Errorf("after[%d]: transfer %d does not exist, want 0 to %d", i, j, n-1)
			}
			next[j] = append(next[j], int32(i))
			waits[i]++
		}
	}
	order := make([]int32, 0, n)
	for i := range waits {
		if waits[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for done := 0; done < len(order); done++ {
		for _, i := range next[order[done]] {
			if waits[i]--; waits[i] == 0 {
				order = append(order, i)
			}
		}
	}
	if len(order) < n {
		i := slices.IndexFunc(waits, func(w int32) bool { return w > 0 })
		return nil, fmt.Errorf("after: transfer %d waits for itself, directly or through others", i)
	}
	return order, nil
}

package model

import (
	"cmp"
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

// Form states what a schedule fixes of its transfers' order.
type Form uint8

// The forms.
const (
	// Timed: each transfer has a start and an end in picoseconds. It goes with
	// the cost models Blocking and Pipelined.
	Timed Form = iota + 1
	// InRounds: Start is the round, counted from 0, and End is Start+1. All
	// transfers of a round read what was there before it. It goes with the cost
	// models Rounds and LinkRounds.
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

// Steps returns the least number of steps that the rounds of a schedule InRounds fall into,
// a step being a run of rounds in which nothing is read that was written in it (Cai et
// al., "Synthesizing optimal collective algorithms", PPoPP 2021), and 0 for other forms.
// It takes O(n·log n) time for n transfers.
func (s *Schedule) Steps() int {
	if s.Form != InRounds || len(s.Transfers) == 0 {
		return 0
	}
	order := make([]int, len(s.Transfers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(s.Transfers[i].Start, s.Transfers[j].Start) })
	type slot struct{ rank, chunk int32 }
	steps, written := 1, map[slot]bool{} // in this step, in rounds before this one
	for i := 0; i < len(order); {
		round := order[i:]
		for n := range round {
			if s.Transfers[round[n]].Start != s.Transfers[round[0]].Start {
				round = round[:n]
				break
			}
		}
		for _, x := range round {
			if t := &s.Transfers[x]; written[slot{t.Src, t.Chunk}] {
				steps++
				clear(written)
				break
			}
		}
		for _, x := range round {
			t := &s.Transfers[x]
			written[slot{t.Dst, t.Chunk}] = true
		}
		i += len(round)
	}
	return steps
}

// FormFor returns the form in which schedules for a cost model are timed.
func FormFor(c CostModel) Form {
	if c.Synchronous() {
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

// RoundsAfterArrival returns how many rounds of a schedule InRounds begin when the last
// member has arrived.
func (p *Problem) RoundsAfterArrival(s *Schedule) int {
	n, last := 0, p.LastArrival()
	for _, span := range p.RoundSpans(s) {
		if span.From >= last {
			n++
		}
	}
	return n
}

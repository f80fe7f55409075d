package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Explanation states what a code means.
type Explanation struct {
	Code     Code
	Sentence string // begins in lower case, says when the code occurs
	Rule     string // the section of SPEC.md that it comes from
	Example  Example
}

// Example is the smallest schedule that shows a code. It is on a ring of three
// ranks with one link each way, 1 byte a chunk, every transfer lasting 1 ns over
// links without latency, unless Story says otherwise.
//
// The example of a code of concurrent programs is a Program instead, that of a code of execution
// plans a Plan, or a Story
// alone where the code is about the file or the runtime.
type Example struct {
	Story    string
	Problem  *model.Problem
	Schedule *model.Schedule
	Program  *model.Program
	Plan     *model.Plan // of a code of execution plans
	File     string      // of what is wrong with their file: the smallest one, as text
}

// String writes the explanation as a user reads it.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (SPEC.md, section %s)\n\nExample: %s.\n", e.Code, e.Sentence, e.Rule, e.Example.Story)
	if e.Example.Schedule == nil {
		b.WriteString(e.Example.Text())
		return b.String()
	}
	for i, t := range e.Example.Schedule.Transfers {
		switch e.Example.Schedule.Form {
		case model.Timed:
			fmt.Fprintf(&b, "  transfer %d: %v chunk %d, %d->%d, %v to %v\n", i, t.Op, t.Chunk, t.Src, t.Dst, t.Start, t.End)
		case model.InRounds:
			fmt.Fprintf(&b, "  transfer %d: %v chunk %d, %d->%d, round %d\n", i, t.Op, t.Chunk, t.Src, t.Dst, t.Start)
		default:
			fmt.Fprintf(&b, "  transfer %d: %v chunk %d, %d->%d, after %v\n", i, t.Op, t.Chunk, t.Src, t.Dst, e.Example.Schedule.After[i])
		}
	}
	return b.String()
}

// Text writes a program or plan as an explanation shows it.
func (e Example) Text() string {
	var b strings.Builder
	writeProgram(&b, e.Program)
	writePlan(&b, e.Plan)
	for line := range strings.Lines(e.File) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// Codes returns all codes in the order of the catalogue.
func Codes() []Code {
	var codes []Code
	for _, e := range slices.Concat(catalogue, programs, plans, workloads) {
		codes = append(codes, e.Code)
	}
	return codes
}

// Explain returns what a code means; ok is false if there is no such code.
func Explain(c Code) (e Explanation, ok bool) {
	all := slices.Concat(catalogue, programs, plans, workloads)
	i := slices.IndexFunc(all, func(e Explanation) bool { return e.Code == c })
	if i < 0 {
		return Explanation{}, false
	}
	return all[i], true
}

// threeRanks is the ring of the examples: link 2i leads from rank i to the next,
// link 2i+1 back.
func threeRanks() *model.Topology {
	t := &model.Topology{Name: "three ranks", Ranks: 3}
	for i := range 3 {
		t.Links = append(t.Links, model.Link{Src: i, Dst: (i + 1) % 3, Bandwidth: 1e9}, model.Link{Src: (i + 1) % 3, Dst: i, Bandwidth: 1e9})
	}
	return t
}

// example makes an example of a collective of size bytes in that many chunks.
func example(story string, kind model.Kind, size int64, form model.Form, transfers ...model.Transfer) Example {
	cost := model.Pipelined
	if form == model.InRounds {
		cost = model.Rounds
	}
	p := &model.Problem{Topology: threeRanks(), Collective: model.Collective{Kind: kind}, Size: size, Cost: cost}
	s := &model.Schedule{Form: form, Transfers: transfers}
	for i := range 6 {
		s.Routes = append(s.Routes, []int{i})
	}
	return Example{Story: story, Problem: p.WithChunks(int(size)), Schedule: s}
}

// over returns a transfer of a chunk over a link of threeRanks that starts at ns
// nanoseconds and lasts one.
func over(link int32, op model.Op, chunk int32, ns int64) model.Transfer {
	src, dst := link/2, (link/2+1)%3
	if link%2 == 1 {
		src, dst = dst, src
	}
	at := model.Time(ns) * model.Nanosecond
	return model.Transfer{Chunk: chunk, Src: src, Dst: dst, Route: link, Op: op, Start: at, End: at + model.Nanosecond}
}

// inRound is over for the form InRounds.
func inRound(link int32, op model.Op, chunk int32, round int64) model.Transfer {
	t := over(link, op, chunk, 0)
	t.Start, t.End = model.Time(round), model.Time(round+1)
	return t
}

// lasting changes when a transfer ends.
func lasting(t model.Transfer, d model.Time) model.Transfer {
	t.End = t.Start + d
	return t
}

// unordered takes the times from an example and puts an order in their place.
func unordered(e Example, after ...[]int32) Example {
	e.Schedule.Form, e.Schedule.After = model.Ordered, after
	for i := range e.Schedule.Transfers {
		e.Schedule.Transfers[i].Start, e.Schedule.Transfers[i].End = 0, 0
	}
	return e
}

// late makes a rank of an example late.
func late(e Example, rank int, by model.Time) Example {
	e.Problem.Release = make([]model.Time, 3)
	e.Problem.Release[rank] = by
	return e
}

// custom gives an example a pre- and postcondition of its own.
func custom(e Example, pre, post []model.Condition) Example {
	e.Problem.Collective = model.Collective{Kind: model.Custom, Chunks: len(e.Problem.Chunks), Pre: pre, Post: post}
	return e
}

// atSwitch gives an example a switch that copies and that ranks read sums at, with links
// to and from every rank, and a multicast at it from rank src to others after 1 ns.
func atSwitch(e Example, src int32, dsts ...int32) Example {
	t := e.Problem.Topology
	t.Switches = []model.Switch{{Name: "s", Copies: true, Reduces: model.SumsRead}}
	for r := range t.Ranks {
		half := model.Link{Src: r, Dst: t.Ranks, Alpha: t.Links[0].Alpha, Bandwidth: t.Links[0].Bandwidth}
		back := half
		back.Src, back.Dst = half.Dst, half.Src
		t.Links = append(t.Links, half, back)
	}
	for _, dst := range dsts {
		route := []int{6 + 2*int(src), 7 + 2*int(dst)}
		e.Schedule.Transfers = append(e.Schedule.Transfers, model.Transfer{Src: src, Dst: dst, Route: int32(len(e.Schedule.Routes)), Op: cp, Start: model.Nanosecond, End: 2 * model.Nanosecond})
		e.Schedule.Routes = append(e.Schedule.Routes, route)
	}
	return e
}

// rerouted gives the first transfer of an example another route.
func rerouted(e Example, route ...int) Example {
	e.Schedule.Routes[e.Schedule.Transfers[0].Route] = route
	return e
}

const (
	cp  = model.Copy
	red = model.Reduction
)

// The catalogue. Each example is run by a test, which insists on its code.
var catalogue = []Explanation{
	{MissingContribution, "a rank ends without a contribution that it must have", "6.3",
		example("a broadcast from rank 0 that never reaches rank 2", model.Broadcast, 1, model.Timed, over(0, cp, 0, 0))},
	{DoubleContribution, "a rank ends with a contribution more often than it must", "6.3",
		example("a reduce to rank 0 that adds rank 1 twice", model.Reduce, 1, model.Timed,
			over(1, red, 0, 0), over(1, red, 0, 1), over(4, red, 0, 0))},
	{WrongValue, "a rank ends with a contribution that does not belong there", "6.3",
		custom(example("rank 2 must get what rank 0 holds, and gets what rank 1 holds added to it", model.Broadcast, 1, model.Timed,
			over(5, cp, 0, 0), over(2, red, 0, 1)),
			[]model.Condition{{Rank: 0, Value: model.Unit(0)}, {Rank: 1, Value: model.Unit(1)}}, []model.Condition{{Rank: 2, Value: model.Unit(0)}})},
	{SendUndefined, "a rank sends a chunk of which it holds nothing yet", "6.1",
		example("a broadcast from rank 0 that rank 1 passes on before it has it", model.Broadcast, 1, model.Timed,
			over(0, cp, 0, 0), over(2, cp, 0, 0), over(5, cp, 0, 1))},
	{ReduceUndefined, "a transfer adds to a slot that holds nothing", "6.1",
		example("a broadcast from rank 0 that adds at rank 1 instead of copying", model.Broadcast, 1, model.Timed,
			over(0, red, 0, 0), over(0, cp, 0, 1), over(5, cp, 0, 0))},
	{ReadWriteRace, "a transfer reads a slot that another one writes, and nothing orders them", "5.3",
		unordered(example("an untimed broadcast from rank 0 in which rank 1 may pass on the chunk before it arrives", model.Broadcast, 1, model.Timed,
			over(0, cp, 0, 0), over(2, cp, 0, 0)), nil, nil)},
	{WriteWriteRace, "two transfers write one slot at the same time, and at least one of them overwrites", "5.2",
		example("a broadcast from rank 0 that reaches rank 2 from both sides at one instant", model.Broadcast, 1, model.Timed,
			over(0, cp, 0, 0), over(2, cp, 0, 1), over(5, cp, 0, 1))},
	{LinkOverlap, "a link carries two chunks at the same time", "4.1",
		example("a broadcast of two chunks from rank 0 that sends both to rank 1 at once", model.Broadcast, 2, model.Timed,
			over(0, cp, 0, 0), over(0, cp, 1, 0), over(5, cp, 0, 0), over(5, cp, 1, 1))},
	{PortOverload, "more transfers use a port at the same time than it has capacity", "4.2",
		example("a broadcast in rounds in which rank 0 sends twice in one round", model.Broadcast, 1, model.InRounds,
			inRound(0, cp, 0, 0), inRound(5, cp, 0, 0))},
	{StaleSum, "a slot is written while a sum or a multicast that has what was there, and writes it there again, is on its way", "4.3",
		atSwitch(example("a broadcast in which rank 1 writes back to rank 0 while ranks 1 and 2 receive what rank 0 writes to all", model.Broadcast, 1, model.Timed,
			over(0, cp, 0, 0), over(1, cp, 0, 1)), 0, 1, 2)},
	{NoSuchLink, "a transfer has a route that is no path from its source to its destination", "3.1",
		rerouted(example("a broadcast from rank 0 whose first transfer goes to rank 1 over the link from rank 1 to rank 2", model.Broadcast, 1, model.Timed,
			over(0, cp, 0, 0), over(5, cp, 0, 0)), 2)},
	{TooFast, "a transfer ends before the chunk can have arrived", "3.2",
		example("a broadcast whose first transfer takes 0.5 ns over a link that needs 1 ns", model.Broadcast, 1, model.Timed,
			lasting(over(0, cp, 0, 0), 500), over(5, cp, 0, 0))},
	{TooSlow, "a transfer ends later than the cost model says", "3.2",
		example("a broadcast whose first transfer takes 2 ns over a link that needs 1 ns", model.Broadcast, 1, model.Timed,
			lasting(over(0, cp, 0, 0), 2000), over(5, cp, 0, 0))},
	{BeforeRelease, "a rank sends, receives or relays before it arrives", "3.3",
		late(example("a broadcast to rank 2, which arrives after 5 ns, at once", model.Broadcast, 1, model.Timed,
			over(0, cp, 0, 0), over(5, cp, 0, 0)), 2, 5*model.Nanosecond)},
	{Malformed, "a problem or schedule says something that has no meaning", "2",
		example("a broadcast with a transfer of a chunk that does not exist", model.Broadcast, 1, model.Timed, over(0, cp, 7, 0))},
}

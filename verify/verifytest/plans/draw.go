package plans

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Unit is how many bytes the moves of Right have: an element for each thread, and more of packets.
const Unit = 16 * Threads

// base is a plan without operations: a channel from each rank to each other, of memory and of a
// port; two units of input and as many of output, in place, and of scratch six, of which the
// last four are room for two of packets.
func base(ranks int) *model.Plan {
	p := &model.Plan{Ranks: ranks, Message: 2 * Unit}
	for r := range ranks {
		p.Inputs = append(p.Inputs, len(p.Buffers))
		p.Buffers = append(p.Buffers, model.PlanBuffer{Rank: r, Name: "i", Space: 2 * r, Size: 2 * Unit, User: true},
			model.PlanBuffer{Rank: r, Name: "s", Space: 2*r + 1, Size: 6 * Unit, Packets: 3 * Unit})
		p.Semaphores = append(p.Semaphores, 0)
	}
	for r := range ranks {
		for q := range ranks {
			for _, kind := range []string{"memory", "port"} {
				p.Counters = append(p.Counters, model.PlanCounter{Name: fmt.Sprintf("%s channel of gpu %d to gpu %d", kind, r, q), From: r, To: q})
			}
		}
	}
	return p
}

func counter(p *model.Plan, from, to int, port bool) int {
	c := 2 * (from*p.Ranks + to)
	if port {
		c++
	}
	return c
}

// Spans: units of a rank's input, of its scratch, and of packets.
func user(r, unit int) model.PlanSpan {
	return model.PlanSpan{Buffer: 2 * r, Start: int64(unit) * Unit, Size: Unit}
}

func scratch(r, unit int) model.PlanSpan {
	return model.PlanSpan{Buffer: 2*r + 1, Start: int64(unit) * Unit, Size: Unit}
}

func slots(r, unit int) model.PlanSpan {
	return model.PlanSpan{Buffer: 2*r + 1, Start: int64(1+unit) * Unit, Size: Unit, Packet: true}
}

func move(name string, dsts []model.PlanSpan, srcs ...model.PlanSpan) model.PlanOp {
	m := model.PlanMove{Srcs: srcs, Dsts: dsts, Grain: 16}
	for _, s := range slices.Concat(srcs, dsts) {
		if s.Packet {
			m.Grain = 8
		}
	}
	return model.PlanOp{Verb: model.PlanCompute, Name: name, Moves: []model.PlanMove{m}}
}

var nop = model.PlanOp{Verb: model.PlanJoin, Name: "nop"}

// sync signals some counters, or waits for them.
func sync(verb model.PlanVerb, name string, ids ...int) model.PlanOp {
	return model.PlanOp{Verb: verb, Name: name, IDs: ids}
}

// Kinds is how many kinds of plans Right makes.
const Kinds = 8

// Right makes a plan of two ranks that is right.
func Right(kind int) *model.Plan {
	p := base(2)
	want := func(r, unit int, ranks []int, from int) {
		p.Wants = append(p.Wants, model.PlanWant{Buffer: 2 * r, Start: int64(unit) * Unit, Size: Unit, Ranks: ranks, From: int64(from) * Unit})
	}
	for r := range 2 {
		q := 1 - r
		to, from := counter(p, r, q, false), counter(p, q, r, false)
		signal, wait := sync(model.PlanSignal, "signal", to), sync(model.PlanWait, "wait", from)
		block := func(id int, ops ...model.PlanOp) {
			for i := range ops {
				ops[i].Label = i
			}
			p.Blocks = append(p.Blocks, model.PlanBlock{Rank: r, ID: id, Ops: ops})
		}
		switch kind {
		case 0: // each puts its unit to the other
			want(r, q, []int{q}, q)
			block(0, signal, wait, nop, move("put", []model.PlanSpan{user(q, r)}, user(r, r)), nop, signal, wait)
		case 1: // each reads its unit of the other, adds, and writes to both
			want(r, 0, []int{0, 1}, 0)
			want(r, 1, []int{0, 1}, 1)
			block(0, signal, wait, nop, move("rres", []model.PlanSpan{user(r, r), user(q, r)}, user(r, r), user(q, r)), nop, signal, wait)
		case 2: // packets there, summed, and back
			want(r, 0, []int{0, 1}, 0)
			want(r, 1, []int{0, 1}, 1)
			block(0, move("ppkt", []model.PlanSpan{slots(q, 0)}, user(r, q)), move("respkt", []model.PlanSpan{user(r, r), slots(q, 1)}, slots(r, 0), user(r, r)))
			block(1, move("upkt", []model.PlanSpan{user(r, q)}, slots(r, 1)))
		case 3: // through a proxy, with a copy
			want(r, q, []int{q}, q)
			put := move("pwsf", []model.PlanSpan{scratch(q, 0)}, user(r, r))
			put.Verb, put.Ports, put.IDs, put.Flush = model.PlanRequest, []int{q}, []int{counter(p, r, q, true)}, true
			ready := sync(model.PlanSignal, "signal", counter(p, r, q, true))
			ready.Ports = []int{q}
			take := sync(model.PlanWait, "wait", counter(p, q, r, true))
			block(0, ready, take, nop, put, take, nop, move("copy", []model.PlanSpan{user(r, q)}, scratch(r, 0)))
		case 7: // two threads hand over transfers of one channel at once, and then one signals
			want(r, q, []int{q}, q)
			twice := move("put", []model.PlanSpan{scratch(q, 0)}, user(r, r))
			twice.Moves = append(twice.Moves, move("put", []model.PlanSpan{scratch(q, 1)}, user(r, r)).Moves...)
			twice.Verb, twice.Ports = model.PlanRequest, []int{q, q}
			put := move("pwsf", []model.PlanSpan{scratch(q, 2)}, user(r, r))
			put.Verb, put.Ports, put.IDs, put.Flush = model.PlanRequest, []int{q}, []int{counter(p, r, q, true)}, true
			ready := sync(model.PlanSignal, "signal", counter(p, r, q, true))
			ready.Ports = []int{q}
			take := sync(model.PlanWait, "wait", counter(p, q, r, true))
			block(0, ready, take, nop, twice, nop, put, take, nop, move("copy", []model.PlanSpan{user(r, q)}, scratch(r, 0)), move("copy", []model.PlanSpan{user(r, q)}, scratch(r, 1)))
		case 4: // two threadblocks and a semaphore
			want(r, q, []int{q}, q)
			block(0, move("copy", []model.PlanSpan{scratch(r, 1)}, user(r, r)), nop, sync(model.PlanRelease, "sem_release", r))
			block(1, signal, wait, nop, sync(model.PlanAcquire, "sem_acquire", r), nop, move("put", []model.PlanSpan{user(q, r)}, scratch(r, 1)), nop, signal, wait)
		case 5: // a barrier of two threadblocks, and two moves in order of their threads
			want(r, q, []int{q}, q)
			meet := model.PlanOp{Verb: model.PlanBarrier, Name: "barrier", Barrier: 0, Blocks: 2}
			block(0, signal, wait, nop, move("get", []model.PlanSpan{scratch(r, 0)}, user(q, q)), meet)
			block(1, meet, move("copy", []model.PlanSpan{scratch(r, 1)}, scratch(r, 0)), move("copy", []model.PlanSpan{user(r, q)}, scratch(r, 1)), nop, signal, wait)
		case 6: // packets through a proxy
			want(r, q, []int{q}, q)
			put := move("ppkt", []model.PlanSpan{slots(q, 1)}, slots(r, 0))
			put.Verb, put.Ports = model.PlanRequest, []int{q}
			block(0, move("cpkt", []model.PlanSpan{slots(r, 0)}, user(r, r)), nop, put, move("upkt", []model.PlanSpan{user(r, q)}, slots(r, 1)))
		}
	}
	return p
}

// Mutations names the kinds of mutations.
var Mutations = []string{
	"drop a join", "drop a signal", "drop a wait", "drop a move", "drop a barrier", "drop a release", "drop an acquire", "drop a request",
	"repeat an operation", "exchange two neighbours", "exchange two operations", "move an operation to the end", "move an operation to the front", "move an operation to another threadblock",
	"relax a signal or wait", "another counter", "another counter of the same rank", "another semaphore", "other threadblocks at a barrier", "another barrier",
	"a source one unit on", "a destination one unit on", "a source of another rank", "a destination to another rank", "a source in another buffer", "a destination in another buffer",
	"half a move", "one more source", "one more destination", "exchange source and destination", "wait for the proxy, or not", "drop the signal of a request", "start half a unit later", "drop a threadblock",
	"a join more",
}

// Mutate changes a copy of a plan in one place, and reports whether there was one.
func Mutate(p *model.Plan, kind int, rng *rand.Rand) (*model.Plan, bool) {
	c := *p
	c.Blocks = slices.Clone(p.Blocks)
	var places [][2]int
	for b := range c.Blocks {
		c.Blocks[b].Ops = slices.Clone(c.Blocks[b].Ops)
		for i := range c.Blocks[b].Ops {
			o := &c.Blocks[b].Ops[i]
			o.IDs = slices.Clone(o.IDs)
			o.Moves = slices.Clone(o.Moves)
			for k := range o.Moves {
				o.Moves[k].Srcs, o.Moves[k].Dsts = slices.Clone(o.Moves[k].Srcs), slices.Clone(o.Moves[k].Dsts)
			}
			places = append(places, [2]int{b, i})
		}
	}
	drop := func(verbs ...model.PlanVerb) bool {
		for _, j := range rng.Perm(len(places)) {
			b, i := places[j][0], places[j][1]
			if slices.Contains(verbs, c.Blocks[b].Ops[i].Verb) {
				c.Blocks[b].Ops = slices.Delete(c.Blocks[b].Ops, i, i+1)
				return true
			}
		}
		return false
	}
	change := func(f func(o *model.PlanOp) bool) bool {
		for _, j := range rng.Perm(len(places)) {
			if f(&c.Blocks[places[j][0]].Ops[places[j][1]]) {
				return true
			}
		}
		return false
	}
	span := func(f func(s *model.PlanSpan), dst bool) bool {
		return change(func(o *model.PlanOp) bool {
			if len(o.Moves) == 0 {
				return false
			}
			list := o.Moves[0].Srcs
			if dst {
				list = o.Moves[0].Dsts
			}
			f(&list[rng.IntN(len(list))])
			return true
		})
	}
	at := places[rng.IntN(len(places))]
	ops := &c.Blocks[at[0]].Ops
	ok := true
	one := func(s *model.PlanSpan) {
		s.Start += Unit
		most := c.Buffers[s.Buffer].Size
		if s.Packet {
			most = c.Buffers[s.Buffer].Packets
		}
		if s.Start+s.Size > most {
			s.Start -= 2 * Unit
		}
		s.Start = max(s.Start, 0)
	}
	other := func(s *model.PlanSpan) { s.Buffer = (s.Buffer + 2) % len(c.Buffers) }
	buffer := func(s *model.PlanSpan) {
		if !s.Packet {
			s.Buffer ^= 1
		} else {
			one(s)
		}
	}
	switch Mutations[kind] {
	case "drop a join":
		ok = drop(model.PlanJoin)
	case "drop a signal":
		ok = drop(model.PlanSignal)
	case "drop a wait":
		ok = drop(model.PlanWait)
	case "drop a move":
		ok = drop(model.PlanCompute)
	case "drop a barrier":
		ok = drop(model.PlanBarrier)
	case "drop a release":
		ok = drop(model.PlanRelease)
	case "drop an acquire":
		ok = drop(model.PlanAcquire)
	case "drop a request":
		ok = drop(model.PlanRequest)
	case "repeat an operation":
		*ops = slices.Insert(*ops, at[1], (*ops)[at[1]])
	case "exchange two neighbours":
		if ok = at[1] > 0; ok {
			(*ops)[at[1]], (*ops)[at[1]-1] = (*ops)[at[1]-1], (*ops)[at[1]]
		}
	case "exchange two operations":
		to := places[rng.IntN(len(places))]
		a, b := &c.Blocks[at[0]].Ops[at[1]], &c.Blocks[to[0]].Ops[to[1]]
		ok = c.Blocks[at[0]].Rank == c.Blocks[to[0]].Rank
		if ok {
			*a, *b = *b, *a
		}
	case "move an operation to the end":
		o := (*ops)[at[1]]
		*ops = append(slices.Delete(*ops, at[1], at[1]+1), o)
	case "move an operation to the front":
		o := (*ops)[at[1]]
		*ops = slices.Insert(slices.Delete(*ops, at[1], at[1]+1), 0, o)
	case "move an operation to another threadblock":
		ok = false
		for b := range c.Blocks {
			if b != at[0] && c.Blocks[b].Rank == c.Blocks[at[0]].Rank && !ok {
				c.Blocks[b].Ops = append(c.Blocks[b].Ops, (*ops)[at[1]])
				*ops = slices.Delete(*ops, at[1], at[1]+1)
				ok = true
			}
		}
	case "relax a signal or wait":
		ok = change(func(o *model.PlanOp) bool {
			if o.Verb != model.PlanSignal && o.Verb != model.PlanWait || o.Ports != nil {
				return false
			}
			o.Relaxed = !o.Relaxed
			return true
		})
	case "another counter", "another counter of the same rank":
		ok = change(func(o *model.PlanOp) bool {
			if o.Verb != model.PlanSignal && o.Verb != model.PlanWait || o.Ports != nil {
				return false
			}
			if kind%2 == 0 {
				o.IDs[0] ^= 1
			} else {
				o.IDs[0] = rng.IntN(len(c.Counters))
			}
			return true
		})
	case "another semaphore":
		ok = change(func(o *model.PlanOp) bool {
			if o.Verb != model.PlanAcquire && o.Verb != model.PlanRelease {
				return false
			}
			o.IDs[0] = (o.IDs[0] + 1) % len(c.Semaphores)
			return true
		})
	case "other threadblocks at a barrier", "another barrier":
		ok = change(func(o *model.PlanOp) bool {
			if o.Verb != model.PlanBarrier {
				return false
			}
			if Mutations[kind] == "another barrier" {
				o.Barrier++
			} else {
				o.Blocks = 1 + o.Blocks%3
			}
			return true
		})
	case "a source one unit on":
		ok = span(one, false)
	case "a destination one unit on":
		ok = span(one, true)
	case "a source of another rank":
		ok = span(other, false)
	case "a destination to another rank":
		ok = span(other, true)
	case "a source in another buffer":
		ok = span(buffer, false)
	case "a destination in another buffer":
		ok = span(buffer, true)
	case "half a move":
		ok = change(func(o *model.PlanOp) bool {
			for k := range o.Moves {
				for _, list := range [][]model.PlanSpan{o.Moves[k].Srcs, o.Moves[k].Dsts} {
					for j := range list {
						list[j].Size = Unit / 2
					}
				}
			}
			return len(o.Moves) > 0
		})
	case "one more source":
		ok = change(func(o *model.PlanOp) bool {
			if o.Verb != model.PlanCompute {
				return false
			}
			o.Moves[0].Srcs = append(o.Moves[0].Srcs, user(rng.IntN(c.Ranks), rng.IntN(2)))
			return true
		})
	case "one more destination":
		ok = change(func(o *model.PlanOp) bool {
			if o.Verb != model.PlanCompute {
				return false
			}
			o.Moves[0].Dsts = append(o.Moves[0].Dsts, scratch(rng.IntN(c.Ranks), rng.IntN(2)))
			return true
		})
	case "exchange source and destination":
		ok = change(func(o *model.PlanOp) bool {
			if len(o.Moves) == 0 || o.Moves[0].Grain == 8 {
				return false
			}
			o.Moves[0].Srcs[0], o.Moves[0].Dsts[0] = o.Moves[0].Dsts[0], o.Moves[0].Srcs[0]
			return true
		})
	case "wait for the proxy, or not":
		ok = change(func(o *model.PlanOp) bool { o.Flush = !o.Flush; return o.Verb == model.PlanRequest })
	case "drop the signal of a request":
		ok = change(func(o *model.PlanOp) bool {
			had := o.Verb == model.PlanRequest && o.IDs != nil
			if had {
				o.IDs = nil
			}
			return had
		})
	case "start half a unit later":
		ok = change(func(o *model.PlanOp) bool {
			if len(o.Moves) == 0 {
				return false
			}
			for k := range o.Moves {
				for _, list := range [][]model.PlanSpan{o.Moves[k].Srcs, o.Moves[k].Dsts} {
					for j := range list {
						list[j].Size = Unit / 2
						list[j].Start += Unit / 2
					}
				}
			}
			return true
		})
	case "drop a threadblock":
		c.Blocks = slices.Delete(c.Blocks, at[0], at[0]+1)
	case "a join more":
		*ops = slices.Insert(*ops, at[1], nop)
	}
	return &c, ok
}

// Package slots puts what ranks do with memory of any number of places into transfers between
// slots: each rank has one for every chunk. What is received into a place of its own while the slot
// holds something else is added to the slot, or replaces it, when the rank does that; or it is a
// transfer's way through the rank, if it is only sent on.
//
// A reader of another tool's files executes them once, and calls a Maker for each chunk that is
// received, added up or sent; what comes out is a model.Imported. Right files alone have a meaning
// here: then the one execution that is taken orders conflicting accesses as any other one does.
package slots

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// ErrNoSchedule is wrapped by errors that explain why a file is no schedule in our terms.
var ErrNoSchedule = errors.New("has no schedule of transfers between slots")

// maxCounts is how many counts of contributions, and how many slots, there may be at the beginning.
const maxCounts = 1 << 26

// Value is what a place holds of a chunk. It is never changed.
type Value struct {
	chunk int32
	count []int32 // how often each rank's contribution is in it
	aside []int32 // transfers that it is the sum of, if they are not part of the slot
}

// moved is a transfer that was begun.
type moved struct {
	chunk       int32
	ranks       []int32 // that it passes, from its source on
	channels    []int32 // of each hop
	op          model.Op
	over        bool    // it is in a slot
	line        int     // where it was received last
	after       []int32 // those that must have ended when it begins
	with        []int32 // those that must have begun when it ends: they read what it replaces, or add to the same
	sums        []int32 // those that added to what it reads or replaces, before the last one of after did
	ended, left []int32 // those that must have ended, and left their source, because of the form of the file
}

// place is a slot.
type place struct {
	holds *Value
	write int32   // the transfer that wrote it last, or -1
	sums  []int32 // the reductions before that one since it was read or replaced
	reads []int32
}

// Sent is a chunk on its way.
type Sent struct {
	holds    *Value
	Transfer int32
}

// Maker makes transfers.
type Maker struct {
	ranks int
	slots [][]place
	moves []moved
}

// New returns a Maker for some ranks, each with an empty slot for every chunk. It fails if there are
// too many of both, contributions being how many values there are at the beginning.
func New(ranks, chunks, contributions int) (*Maker, error) {
	if int64(ranks)*int64(ranks)*int64(contributions) > maxCounts || int64(ranks)*int64(chunks) > maxCounts {
		return nil, fmt.Errorf("%d chunks on %d ranks: %w for a schedule", chunks, ranks, model.ErrTooLarge)
	}
	x := &Maker{ranks: ranks}
	for range ranks {
		slots := make([]place, chunks)
		for c := range slots {
			slots[c].write = -1
		}
		x.slots = append(x.slots, slots)
	}
	return x, nil
}

// Hold puts a contribution to a chunk, that of the rank from, into the slot of a rank, at the beginning.
func (x *Maker) Hold(from, rank int, chunk int32) *Value {
	v := &Value{chunk: chunk, count: make([]int32, x.ranks)}
	v.count[from] = 1
	x.slots[rank][chunk].holds = v
	return v
}

// Aside is what was sent, as the rank that it came to adds it up or sends it on.
func (x *Maker) Aside(s Sent, line int) *Value {
	x.moves[s.Transfer].line = line
	return &Value{chunk: s.holds.chunk, count: s.holds.count, aside: []int32{s.Transfer}}
}

// Receive puts a chunk into its slot, or aside if the slot holds something else and the
// place is not where the chunk must be at the end.
func (x *Maker) Receive(rank int, s Sent, goal bool, line int) (*Value, error) {
	x.moves[s.Transfer].line = line
	slot := &x.slots[rank][s.holds.chunk]
	v := &Value{chunk: s.holds.chunk, count: s.holds.count}
	if slot.holds != nil && !goal && !slices.Equal(slot.holds.count, v.count) {
		v.aside = []int32{s.Transfer}
		return v, nil
	}
	return v, x.commit(rank, s.Transfer, model.Copy, v)
}

// Combine adds values. A slot and what was aside become the slot; what was aside alone
// replaces the slot if it comes to where the chunk must be at the end.
func (x *Maker) Combine(rank int, parts []*Value, goal bool) (*Value, error) {
	v := parts[0]
	if len(parts) > 1 {
		v = &Value{chunk: parts[0].chunk, count: slices.Clone(parts[0].count)}
		for _, p := range parts[1:] {
			if p.chunk != v.chunk {
				return nil, fmt.Errorf("adds chunk %d to chunk %d: %w", p.chunk, v.chunk, ErrNoSchedule)
			}
			for r, n := range p.count {
				v.count[r] += n
			}
		}
	}
	var aside []int32
	slots := 0
	for _, p := range parts {
		if aside = append(aside, p.aside...); p.aside == nil {
			slots++
		}
	}
	switch slot := &x.slots[rank][v.chunk]; {
	case len(parts) == 1 && (aside == nil || !goal):
		return v, nil
	case len(parts) == 1 && len(aside) == 1:
		v = &Value{chunk: v.chunk, count: v.count}
		return v, x.commit(rank, aside[0], model.Copy, v)
	case slots == 0:
		v.aside = aside
		return v, nil
	case slots == 1:
		for _, p := range parts {
			if p.aside == nil && (slot.holds == nil || !slices.Equal(slot.holds.count, p.count)) {
				return nil, fmt.Errorf("adds to chunk %d, of which gpu %d holds something else by now: %w", v.chunk, rank, ErrNoSchedule)
			}
		}
		for _, t := range aside {
			if err := x.commit(rank, t, model.Reduction, v); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	return nil, fmt.Errorf("adds %d values of chunk %d that gpu %d keeps apart: %w", slots, v.chunk, rank, ErrNoSchedule)
}

// Send begins a transfer from a slot, or lets one that was put aside go on, over a channel.
func (x *Maker) Send(rank, to, channel int, v *Value) (Sent, error) {
	slot := &x.slots[rank][v.chunk]
	switch {
	case len(v.aside) == 1 && !x.moves[v.aside[0]].over && int(x.moves[v.aside[0]].ranks[len(x.moves[v.aside[0]].ranks)-1]) == rank:
		t := v.aside[0]
		x.moves[t].ranks, x.moves[t].channels = append(x.moves[t].ranks, int32(to)), append(x.moves[t].channels, int32(channel))
		return Sent{v, t}, nil
	case v.aside != nil || slot.holds == nil || !slices.Equal(slot.holds.count, v.count):
		return Sent{}, fmt.Errorf("sends a value of chunk %d that is not the one gpu %d has in its slot: %w", v.chunk, rank, ErrNoSchedule)
	}
	t := int32(len(x.moves))
	m := moved{chunk: v.chunk, ranks: []int32{int32(rank), int32(to)}, channels: []int32{int32(channel)}}
	if slot.write >= 0 {
		m.after, m.sums = append(m.after, slot.write), slot.sums
	}
	slot.reads = append(slot.reads, t)
	x.moves = append(x.moves, m)
	return Sent{v, t}, nil
}

// Wait notes which others a transfer waits for because of the form of the file: those that must have ended when
// it begins, and those that must have left their source.
func (x *Maker) Wait(transfer int32, ended, left []int32) {
	m := &x.moves[transfer]
	m.ended, m.left = append(m.ended, ended...), append(m.left, left...)
}

// Len is how many transfers were begun.
func (x *Maker) Len() int { return len(x.moves) }

// commit ends a transfer: its slot holds v.
func (x *Maker) commit(rank int, t int32, op model.Op, v *Value) error {
	m := &x.moves[t]
	if m.over || int(m.ranks[len(m.ranks)-1]) != rank {
		return fmt.Errorf("uses what it received in line %d of chunk %d again: %w", m.line, m.chunk, ErrNoSchedule)
	}
	slot := &x.slots[rank][m.chunk]
	m.op, m.over = op, true
	m.with = append(m.with, slot.reads...)
	var sums []int32
	switch {
	case slot.write < 0:
	case op == model.Reduction && x.moves[slot.write].op == model.Reduction && len(slot.reads) == 0:
		m.with = append(m.with, slot.write)
		sums = append(slices.Clip(slot.sums), slot.write)
	default:
		m.after, m.sums = append(m.after, slot.write), append(m.sums, slot.sums...)
	}
	*slot = place{holds: v, write: t, sums: sums}
	return nil
}

package tacos

import (
	"context"
	"fmt"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// backward is a sweep over a mirrored network that can be read from its end: what spreads from
// the roots of trees to all ranks, read backwards, is reduced to them.
type backward interface {
	sweep

	// record has run keep which hop brought what: a byte for each delivery, and one for each
	// rank and slot.
	record()

	// reductions passes the transfers to emit once more, as reductions that start at from and
	// later: those of the last slot first. It returns the latest end, and false if emit did.
	reductions(from model.Time, emit func([]model.Transfer) bool) (model.Time, bool)
}

// maxInto is how many hops may lead to a rank where that is kept in a byte.
const maxInto = math.MaxUint8

func (e *lockstep[K]) record() { e.by = make([]uint8, len(e.log)) }

// emitted is how many transfers reductions passes on at a time, about.
const emitted = 1 << 14

func (e *lockstep[K]) reductions(from model.Time, emit func([]model.Transfer) bool) (model.Time, bool) {
	ranks := e.Problem.Topology.Ranks
	at := make([]int32, ranks) // how much of the log is left
	for v := range at {
		at[v] = int32(e.chunks)
	}
	end := from
	batch := make([]model.Transfer, 0, emitted+maxInto)
	for slot := len(e.counts) - 1; slot >= 0; slot-- {
		// In whole slots: what had arrived before another left leaves after it has arrived.
		start := from.Add(e.slot * model.Time(len(e.counts)-1-slot))
		for v, n := range e.counts[slot] {
			for range n {
				at[v]--
				i := e.place(v, int(at[v]))
				k := e.log[i]
				x := &e.Hops[e.Into[v]+int32(e.by[i])]
				src, dst := e.Ends(x)
				t := model.Transfer{Chunk: int32(k), Src: src, Dst: dst, Route: x.Route, Op: model.Reduction, Start: start, End: start + e.Lasts(x, e.Class[k])}
				end = max(end, t.End)
				batch = append(batch, t)
			}
			if len(batch) >= emitted {
				if !emit(batch) {
					return end, false
				}
				batch = batch[:0]
			}
		}
	}
	return end, len(batch) == 0 || emit(batch)
}

// streamReducing prepares a reduce, reduce-scatter or allreduce among all ranks in slots: what
// lockstep spreads over the mirrored network, read backwards, and for an allreduce then what
// it spreads from the same roots.
func (s solver) streamReducing(p *model.Problem, o solve.Options) (*solve.Stream, error) {
	p = solve.Cut(p, o.Chunks)
	back, pt := network.New(p, true), network.Trees(p, 0)
	slot, delay, ok := lockstepTime(back, pt)
	if !ok {
		return nil, solve.NotServed("hands out reductions while it works only where links are alike and not shared and all ranks are there at once")
	}
	for v := range p.Topology.Ranks {
		if back.Into[v+1]-back.Into[v] > maxInto {
			return nil, solve.NotServed("hands out reductions while it works only where at most %d links leave a rank", maxInto)
		}
	}
	deliveries := int64(len(p.Chunks)) * int64(p.Topology.Ranks-1)
	st := &solve.Stream{
		Problem: p, Form: model.FormFor(p.Cost), Routes: back.Routes, Transfers: deliveries,
		Memory: lockstepMemory(back, delay) + 2*int64(len(p.Chunks)+logTile)*int64(p.Topology.Ranks) + 1<<20,
		Note:   fmt.Sprintf("in slots of %v", slot),
	}
	if p.Collective.Kind == model.AllReduce {
		st.Transfers *= 2
		st.Memory += lockstepMemory(back, delay) // what is no longer needed goes later
	}
	st.Run = func(ctx context.Context, emit func([]model.Transfer) bool) (solve.Stop, error) {
		b, cancel := o.Budget(ctx)
		defer cancel()
		stop, threads := b.Spent, b.Threads()
		refused := false
		pass := func(list []model.Transfer) bool {
			refused = refused || stop() || !emit(list)
			return !refused
		}
		end, done := reduceAlong(back, pt, o.Seed, threads, stop, pass)
		if !done {
			return unfinished(p, b, refused)
		}
		if p.Collective.Kind != model.AllReduce {
			return solve.Done, nil
		}
		then := newSweep(network.New(p, false), pt, o.Seed)
		if then == nil || !then.run(threads, stop, func(list []model.Transfer) bool {
			for i := range list {
				list[i].Start, list[i].End = list[i].Start.Add(end), list[i].End.Add(end)
			}
			return pass(list)
		}) || refused {
			return unfinished(p, b, refused)
		}
		return solve.Done, nil
	}
	return st, nil
}

// reduceAlong hands out reductions to the roots of a pattern, and returns when they have all
// arrived, or false. What it needs memory for is gone when it returns.
func reduceAlong(back *network.Network, pt *network.Pattern, seed uint64, threads int, stop func() bool, emit func([]model.Transfer) bool) (model.Time, bool) {
	e, ok := newSweep(back, pt, seed).(backward)
	if !ok {
		return 0, false
	}
	e.record()
	if !e.run(threads, stop, func([]model.Transfer) bool { return true }) {
		return 0, false
	}
	return e.reductions(0, emit)
}

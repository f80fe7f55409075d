package tacos

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// Stream implements solve.Streamer for allgather and broadcast among all ranks, and for what
// reduces among all in lockstep only. It makes one try: in lockstep where the links are alike and not shared and the ranks arrive at once,
// else event by event, which takes some times as long.
func (s solver) Stream(_ context.Context, p *model.Problem, o solve.Options) (*solve.Stream, error) {
	if !network.Everyone(p) {
		return nil, solve.NotServed("hands out while it works only what all ranks take part in")
	}
	switch p.Collective.Kind {
	case model.AllGather, model.Broadcast, model.Reduce, model.ReduceScatter, model.AllReduce:
	default:
		return nil, solve.NotServed("hands out while it works only allgather, broadcast, reduce, reducescatter and allreduce, not %v", p.Collective.Kind)
	}
	if o.Unwind > 0 {
		return nil, solve.NotServed("unwinds switches only where the schedule is held in memory")
	}
	if err := network.Connected(p); err != nil {
		return nil, err
	}
	if p.Collective.Kind.Reduces() {
		return s.streamReducing(p, o)
	}
	p = solve.Cut(p, o.Chunks)
	n := network.New(p, false)
	pt, err := network.Spreading(p)
	if err != nil {
		return nil, err
	}
	st := &solve.Stream{Problem: p, Form: model.FormFor(p.Cost), Routes: n.Routes}
	slot, delay, ok := lockstepTime(n, pt)
	if ok {
		st.Memory, st.Note = lockstepMemory(n, delay), fmt.Sprintf("in slots of %v", slot)
	} else {
		st.Memory, st.Note = byEventsMemory(n), "event by event"
	}
	for _, from := range pt.From {
		st.Transfers += int64(p.Topology.Ranks - len(from))
	}
	st.Run = func(ctx context.Context, emit func([]model.Transfer) bool) (solve.Stop, error) {
		b, cancel := o.Budget(ctx)
		defer cancel()
		refused := false
		e := newSweep(n, pt, o.Seed)
		if e == nil {
			e = &byEvents{n, pt, o.Seed}
		}
		done := e.run(b.Threads(), b.Spent, func(list []model.Transfer) bool {
			refused = refused || !emit(list)
			return !refused
		})
		if done && !refused {
			return solve.Done, nil
		}
		return unfinished(p, b, refused)
	}
	return st, nil
}

// unfinished returns why a stream has not come to its end.
func unfinished(p *model.Problem, b *solve.Budget, refused bool) (solve.Stop, error) {
	switch stop := b.Stop(); {
	case refused && stop != solve.TimeLimit:
		return solve.Interrupted, nil
	case stop != 0:
		return stop, nil
	}
	return 0, fmt.Errorf("came to no end on %v, which is a defect: please report it", p)
}

// lockstepMemory returns how many bytes lockstep needs at most.
func lockstepMemory(n *network.Network, delay int) int64 {
	ranks, chunks, hops := int64(n.Problem.Topology.Ranks), int64(len(n.Problem.Chunks)), int64(len(n.Hops))
	entry := int64(4)
	if chunks <= 1<<16 {
		entry = 2
	}
	logs := ranks*(chunks+logTile)*entry + (ranks+7)/8*8*((chunks+63)/64*8)
	ring := ranks * 4 * int64(delay+1)
	out := 2 * (inFlight + 1) * hops * int64(unsafe.Sizeof(model.Transfer{})) // buffers grow by up to twice
	return logs + ring + out + 16*(ranks+chunks+hops) + 1<<20
}

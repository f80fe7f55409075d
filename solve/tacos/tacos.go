// Package tacos is the greedy synthesis of Won et al., "TACOS: Topology-Aware
// Collective Algorithm Synthesizer for Distributed Machine Learning" (MICRO 2024,
// arXiv:2304.05301): time goes from event to event, and whenever a link is free it
// is given a chunk that its source has and its destination lacks.
//
// It is sound by construction: a transfer only ever reads what had arrived before
// it started. It departs from the paper in four points. Of some candidates the
// rarest chunk is sent, not a random one, which shortens the end phase. Switches are
// not unwound into links of a fraction of the bandwidth: a path over a switch takes
// the switch's own links for as long as it needs them. Chunks that have one
// destination each (scatter, gather, alltoall) move by tokens: see tokens.go. And
// the two halves of an allreduce have no barrier between them.
package tacos

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// solver is the greedy method.
type solver struct{}

// New returns the greedy method.
func New() solve.Solver { return solver{} }

// Name implements solve.Solver.
func (solver) Name() string { return "tacos" }

// maxDeliveries limits what is synthesised: schedules are held in memory, with 40
// bytes a transfer.
const maxDeliveries = 1 << 26

// Serves implements solve.Solver.
func (solver) Serves(p *model.Problem) error {
	kind := p.Collective.Kind
	if kind == model.Custom {
		return solve.NotServed("serves the eight standard collectives, not custom ones")
	}
	if _, ok := solve.Reverse(p); kind.Reduces() && kind != model.AllReduce && !ok || kind == model.AllReduce && p.Late() {
		return solve.NotServed("serves no reductions where ranks are late")
	}
	chunks := len(p.Chunks)
	if p.Chunks == nil {
		chunks = p.DefaultChunks(1)
	}
	if int64(chunks)*int64(p.Topology.Ranks) > maxDeliveries {
		return solve.NotServed("would make %d transfers, at most %d are held in memory", int64(chunks)*int64(p.Topology.Ranks), maxDeliveries)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	return nil
}

// work is the number of deliveries after which no more seeds are tried.
const work = 1 << 18

// maxTries is how many seeds are tried at most.
const maxTries = 32

// Solve implements solve.Solver. It tries several seeds, derived from o.Seed, as
// many as fit a fixed amount of work, and keeps the best schedule, the first of
// equals: so the number of cores makes no difference.
func (s solver) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := s.Serves(p); err != nil {
		return solve.Result{}, err
	}
	if p.Chunks == nil {
		p = p.WithChunks(int(min(int64(p.DefaultChunks(max(1, o.Chunks))), p.Space())))
	}
	begin := time.Now()
	stop := func() bool {
		return ctx.Err() != nil || o.TimeLimit > 0 && time.Since(begin) > o.TimeLimit
	}
	tries := max(1, min(maxTries, work/(1+len(p.Chunks)*p.Topology.Ranks)))
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	build := builder(p)
	found := make([]*model.Schedule, tries)
	errs := make([]error, tries)
	var wg sync.WaitGroup
	slots := make(chan struct{}, threads)
	for i := range tries {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if !stop() {
				found[i], errs[i] = build(o.Seed<<8+uint64(i), stop)
			}
		})
	}
	wg.Wait()
	result := solve.Result{Problem: p, Stop: solve.Done, Note: fmt.Sprintf("best of %d tries", tries)}
	for i, f := range found {
		if errs[i] != nil {
			return solve.Result{}, errs[i]
		}
		if f != nil && (result.Schedule == nil || p.Makespan(f) < result.Makespan()) {
			result.Schedule = f
		}
	}
	if tries == 1 {
		result.Note = ""
	}
	switch {
	case ctx.Err() == context.Canceled:
		result.Stop = solve.Interrupted
	case stop():
		result.Stop = solve.TimeLimit
	}
	return result, nil
}

// build makes one schedule from a seed, or none if it is stopped.
type build func(seed uint64, stop func() bool) (*model.Schedule, error)

// builder returns how schedules for p are made.
func builder(p *model.Problem) build {
	switch kind := p.Collective.Kind; kind {
	case model.AllGather, model.Broadcast:
		n := newNetwork(p)
		return func(seed uint64, stop func() bool) (*model.Schedule, error) { return n.flood(seed, stop), nil }
	case model.Scatter, model.Gather, model.AllToAll:
		n := newNetwork(p)
		distances := n.distances()
		return func(seed uint64, stop func() bool) (*model.Schedule, error) {
			return n.tokens(distances, seed, stop), nil
		}
	case model.AllReduce:
		scatter, gather := *p, *p
		scatter.Collective.Kind, gather.Collective.Kind = model.ReduceScatter, model.AllGather
		if len(p.Chunks)%len(p.Members()) != 0 || scatter.Validate() != nil {
			// Too few chunks for a shard each: reduce all to one rank, broadcast from it.
			scatter.Collective.Kind, gather.Collective.Kind = model.Reduce, model.Broadcast
			scatter.Collective.Root, gather.Collective.Root = p.Members()[0], p.Members()[0]
		}
		return joined(p, builder(&scatter), builder(&gather))
	default:
		q, _ := solve.Reverse(p)
		forward := builder(q)
		return func(seed uint64, stop func() bool) (*model.Schedule, error) {
			s, err := forward(seed, stop)
			if s == nil || err != nil {
				return nil, err
			}
			return again(p, solve.ReverseSchedule(p, s))
		}
	}
}

// joined makes an allreduce of its two halves. The program keeps the order of each,
// and starts every transfer as soon as its data and links allow.
func joined(p *model.Problem, first, second build) build {
	return func(seed uint64, stop func() bool) (*model.Schedule, error) {
		a, err := first(seed, stop)
		if a == nil || err != nil {
			return nil, err
		}
		b, err := second(seed+1<<32, stop)
		if b == nil || err != nil {
			return nil, err
		}
		return again(p, a, b)
	}
}

// again times schedules anew, one after the other: reversed ones may have idle time
// at their beginning, and ports that shared a latency may not after reversal.
func again(p *model.Problem, parts ...*model.Schedule) (*model.Schedule, error) {
	program := place.NewProgram(p)
	for _, s := range parts {
		program.Append(s)
	}
	return program.PlaceInOrder()
}

// flood makes a schedule in which every chunk goes everywhere, and leaves out the
// transfers to ranks that neither want the chunk nor pass it on.
func (n *network) flood(seed uint64, stop func() bool) *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(n.p.Cost), Routes: n.routes}
	x := n.newTry(seed, func(t model.Transfer) { s.Transfers = append(s.Transfers, t) })
	if !x.run(stop) {
		return nil
	}
	n.prune(s)
	return s
}

// prune goes back in time and keeps what is of use.
func (n *network) prune(s *model.Schedule) {
	useful := make([]set, len(n.wants))
	for r := range useful {
		useful[r] = append(set(nil), n.wants[r]...)
	}
	keep := make([]bool, len(s.Transfers))
	dropped := false
	for i := len(s.Transfers) - 1; i >= 0; i-- { // emitted in order of start
		t := &s.Transfers[i]
		if keep[i] = useful[t.Dst].has(int(t.Chunk)); keep[i] {
			useful[t.Src].add(int(t.Chunk))
		} else {
			dropped = true
		}
	}
	if !dropped {
		return
	}
	kept := s.Transfers[:0]
	for i, t := range s.Transfers {
		if keep[i] {
			kept = append(kept, t)
		}
	}
	s.Transfers = kept
}

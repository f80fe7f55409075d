// Package innetwork holds collectives for which switches add and copy: allreduce, reduce,
// reducescatter, broadcast and allgather.
//
// Where ranks read sums at a switch (model.SumsRead, NVLink SHARP), each rank owns a part of the
// buffer: it reads the sum of that part from all, and writes it to all. With n ranks at links of
// B bytes per second each way this takes (1+1/n)·S/B for S bytes, in the limit of small chunks:
// each rank sends each part once, and its own sum; it receives that sum once, and every part.
// A link carries one chunk at a time, so that time falls into slots. What follows the example of
// NCCL's NVLS and of MSCCL++'s switch channels (Shah et al., "MSCCL++", 2025). While no sum has been read yet, and
// when none is left to be read, links carry contributions and sums from rank to rank: see mixture, which is optimal in that limit
// for all but small buffers.
//
// Where switches turn sums round (model.SumsTurned, SHARP: Graham et al., COM-HPC 2016), all ranks
// send at once up a tree, and the sum comes down to all: S/B, and one latency, whatever n is.
//
// Machines whose ranks read sums are put together by the network between them: ranks of equal
// number own a part in common. Each reads its machine's sum, they add these up among each other,
// by a tree of switches or at one of them that sends the sum back, and each writes what
// comes of it to its machine. All chunks are on their way at once, each as early as it can be, or, among three machines and more, sums and
// copies in turns: see turned. Some of them go from peer to peer before sums are read, or after they are written: see apart.
// Where ranks of a machine cannot read sums, but the network between machines turns them round,
// they add up parts among each other. The other collectives are the halves of an allreduce: what is
// summed is passed up to the root or to a rank with its shard, what is spread goes down from there.
//
// For small sizes there are forms with fewer latencies: machines that exchange their sums, each
// with each, binomial trees of machines, and ranks that read all sums (NCCL's and MSCCL++'s
// one-shot forms). The best of all forms and cuts is returned.
package innetwork

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// All returns the method of this package.
func All() []solve.Solver { return []solve.Solver{method{}} }

type method struct{}

// maxTransfers limits what is made where the cut is open, of reads and writes in turns twice as
// much; a caller's own cut may ask for up to model.MaxHeld.
const maxTransfers = 1 << 20

// Name implements solve.Solver.
func (method) Name() string { return "in-network" }

// About implements solve.Solver.
func (method) About() solve.About {
	return solve.About{
		Serves:    "allreduce, reduce, reducescatter, broadcast, allgather, timed, no rank late, where switches add or copy: machines at whose switches ranks read sums, trees that turn sums round, both, or a switch that copies",
		Guarantee: "allreduce, in the limit of small chunks, with the latency a from rank to rank: where n ranks of one machine read sums at switches a(2n-4)/(n-1) + (1+1/n)·S/B, optimal from S/B = an/(n-1) on, pipelined; S/B and one latency at a tree that turns them round",
		Source:    "NCCL's NVLS; Graham et al., COM-HPC 2016; `solve/innetwork`",
		Quick:     true,

		SwitchesOnly: true,
	}
}

// Serves implements solve.Solver.
func (method) Serves(p *model.Problem) error {
	switch p.Collective.Kind {
	case model.AllReduce, model.Reduce, model.ReduceScatter, model.Broadcast, model.AllGather:
	default:
		return solve.NotServed("serves allreduce, reduce, reducescatter, broadcast and allgather, not %v", p.Collective.Kind)
	}
	switch {
	case p.Cost.Synchronous():
		return solve.NotServed("serves blocking and pipelined schedules, not those in %v", p.Cost)
	case p.Late():
		return solve.NotServed("serves ranks that are all there at the start")
	case len(p.Members()) < 2:
		return solve.NotServed("one member alone moves nothing")
	}
	for _, port := range p.Topology.Ports {
		if port.Capacity < len(port.Links) {
			return solve.NotServed("serves no ports that limit what uses their links")
		}
	}
	_, err := newMachines(p)
	return err
}

// Solve implements solve.Solver. It is deterministic, and uses no options but Chunks, Bound,
// Enough and the time limit.
func (m method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	all, err := newMachines(p)
	if err != nil {
		return solve.Result{}, err
	}
	s := search{p: p, enough: max(o.Bound, o.Enough), result: solve.Result{Problem: solve.Cut(p, 1), Stop: solve.Done}}
	most := 0
	for _, x := range all {
		s.machines = x
		if p.Chunks == nil && o.Chunks == 0 {
			s.cuts(b)
			s.tryAparts(b)
			continue
		}
		q := solve.Cut(p, o.Chunks)
		for _, f := range x.forms() {
			if n := len(q.Chunks) * x.each(f); n <= model.MaxHeld {
				s.try(b, q, f)
			} else {
				most = max(most, n)
			}
		}
	}
	if most > 0 && s.result.Schedule == nil {
		return solve.Result{}, solve.NotServed("would make %d transfers, more than %d", most, model.MaxHeld)
	}
	if stop := b.Stop(); stop != 0 {
		s.result.Stop = stop
	}
	return s.result, nil
}

// search looks for the best cut and form.
type search struct {
	*machines
	p      *model.Problem
	enough model.Time
	result solve.Result
	best   form // of the result
}

// try keeps the schedule of a cut and a form if it is the best, and returns its makespan, or ok
// false if there is none.
func (s *search) try(b *solve.Budget, q *model.Problem, f form) (at model.Time, ok bool) {
	return s.tryApart(b, q, f, 0)
}

// tryApart is try with some chunks of each place apart.
func (s *search) tryApart(b *solve.Budget, q *model.Problem, f form, apart int) (at model.Time, ok bool) {
	made := s.schedule(b, q, f, apart)
	if made == nil {
		return 0, false
	}
	at = q.Makespan(made)
	if s.result.Schedule == nil || at < s.result.Makespan() {
		s.result.Problem, s.result.Schedule, s.result.Note, s.best = q, made, s.note(f), f
		if apart > 0 {
			s.result.Note += ", some before sums are read and after they are written"
		}
	}
	return at, true
}

// cuts tries every form with finer and finer cuts, until that is of little use.
func (s *search) cuts(b *solve.Budget) {
	shards := s.p.Shards()
	unit := shards * len(s.planes)
	if shards == 1 {
		unit = int(min(int64(s.owners()), s.p.Space()))
	}
	fits := func(parts int, f form) bool {
		return int64(parts) <= s.p.Space() && parts <= model.MaxChunks && parts*s.each(f) <= model.MaxHeld
	}
	for _, f := range s.forms() { // quick: a shard in one piece, and in one for each plane
		for _, parts := range slices.Compact([]int{shards, shards * len(s.planes)}) {
			if parts < unit && fits(parts, f) {
				s.try(b, s.p.WithChunks(parts), f)
			}
		}
	}
	if slices.Contains(s.forms(), woven) && s.p.Cost == model.Pipelined {
		s.mix(b)
	}
	for _, f := range s.forms() {
		if s.result.Schedule != nil && s.result.Makespan() <= s.enough {
			return
		}
		most := maxTransfers / s.each(f)
		if f == woven {
			most *= 2
		}
		most = int(min(int64(most), s.p.Space()))
		best, worse := model.MaxTime, 0
		for parts, last := unit, model.Time(0); worse < 2 && fits(parts, f) && (parts == unit || parts <= most); {
			at, ok := s.try(b, s.p.WithChunks(parts), f)
			if !ok && b.Spent() || ok && at <= s.enough {
				break
			}
			if !ok || at >= best-best/1000 {
				worse++
			}
			if ok && at < last && 2*at-last >= s.result.Makespan() {
				break // what chunks of length L take is about a+bL, so that this form will not be the best
			}
			if ok {
				best = min(best, at)
			}
			next := 2 * parts
			if f == turns && 2*next <= most {
				next *= 2
			}
			switch {
			case f == woven && s.p.Cost == model.Pipelined && parts == 2*unit && ok && last > at:
				// What chunks of length L take is a+bL, so that these two tell how many are
				// enough for a five hundredth.
				enough := 1 + 1000*int64(last-at)/int64(max(1, 2*at-last))
				next, worse = max(next, int(min(int64(most/unit), enough))*unit), 1
			case next > most && most > parts+parts/4:
				next = most / unit * unit // what is left of a step
			}
			parts, last = next, at
			if s.tree != nil && s.size == 1 {
				break // a tree that turns sums round passes every chunk at its links' rate
			}
		}
	}
}

// note states what was put together.
func (x *machines) note(f form) string {
	across := ""
	switch {
	case len(x.members) == 1:
	case x.tree != nil && x.reduces():
		across = fmt.Sprintf("sums of %d turned round in trees", len(x.members))
	case x.tree != nil:
		across = fmt.Sprintf("copied to %d in trees", len(x.members))
	default:
		across = fmt.Sprintf("%d machines, between them %v", len(x.members), f)
	}
	within := fmt.Sprintf("each of %d ranks reads sums at %d switches", x.size, len(x.planes))
	switch {
	case !x.reads && !x.reduces():
		within = fmt.Sprintf("each of %d ranks sends a part to all", x.size)
	case !x.reads:
		within = fmt.Sprintf("each of %d ranks adds up a part", x.size)
	case !x.reduces():
		within = fmt.Sprintf("%d ranks write to all at %d switches", x.size, len(x.planes))
	case f == woven:
		within += ", in turns with writing them"
	case f == oneShot:
		within = fmt.Sprintf("each of %d ranks reads all sums at %d switches", x.size, len(x.planes))
	case x.kind == model.Reduce && across == "":
		within = fmt.Sprintf("the root reads sums at %d switches", len(x.planes))
	}
	switch {
	case x.size == 1:
		return across
	case across == "":
		return within
	}
	return within + ", " + across
}

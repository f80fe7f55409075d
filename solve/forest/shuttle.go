package forest

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/heap"
	"github.com/oraccl/oraccl/solve/improve"
)

// shuttled is a spanning forest of an allreduce, or the trees of an allgather, whose hops go over single links. They are
// given times by list scheduling (Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
// Mathematics 17, 1969), in which links never wait where there is something to carry, forwards and backwards in turn: each
// time in the order of the schedule before (Li and Willis, "An iterative scheduling technique for resource-constrained
// project scheduling", European Journal of Operational Research 56, 1992).
// First come those hops after which most must follow, and chunks one after the other, more or less: see staggers. So
// leaves run ahead at the beginning, and at the end there are copies to leaves left for all links.
type shuttled struct {
	*forest
	stagger float64    // that of the best schedule, once it is known; else 0
	ends    model.Time // of the last number of chunks
}

var (
	// staggers are into which part of the time chunks are spread that go up and down at their earliest.
	staggers = []float64{0.2, 0.5, 0.9}
	// turns is how often a schedule is read backwards and forwards again.
	turns = 2
)

// maxBehind is by which part flows are behind the best that are still tried with finer chunks.
const maxBehind = 0.03

// shuttles returns flows as shuttled ones, if all are such.
func shuttles(flows []flow) (list []*shuttled) {
	for _, f := range flows {
		g, ok := f.(*forest)
		if !ok || g.mirror == nil && (g.up != nil || g.paired != nil || g.ends != nil) {
			return nil
		}
		for _, t := range slices.Concat(g.down...) {
			if slices.ContainsFunc(t.Arcs, func(a arborescence.Arc) bool { return len(a.Route) > 1 || a.Stream > 0 }) {
				return nil
			}
		}
		g.pooled = true
		list = append(list, &shuttled{forest: g})
	}
	return list
}

// shuttle returns the best schedule of flows over several numbers of chunks.
func shuttle(ctx context.Context, p *model.Problem, o solve.Options, flows []*shuttled) solve.Result {
	best := solve.Result{Stop: solve.Done}
	for g := solve.NewGrowth(o, 1); g.Pieces > 0; {
		for _, f := range flows {
			q := *p
			if fixed(p, o) {
				q = *solve.Cut(p, o.Chunks)
			} else {
				q.Chunks = f.even(p, g.Pieces)
			}
			s := f.schedule(ctx, &q)
			if s != nil && (best.Schedule == nil || q.Makespan(s) < best.Makespan()) {
				best.Problem, best.Schedule, best.Note = &q, s, f.String()
			}
		}
		if stop := solve.StopOf(ctx); stop != 0 {
			if best.Schedule == nil {
				return solve.Stopped(ctx, p)
			}
			best.Stop = stop
			return best
		}
		if fixed(p, o) {
			break
		}
		if g.Pieces >= someCuts {
			fastest := slices.MinFunc(flows, func(a, b *shuttled) int { return cmp.Compare(a.ends, b.ends) })
			flows = slices.DeleteFunc(flows, func(f *shuttled) bool {
				return float64(f.ends) > float64(fastest.ends)*(1+maxBehind) && f.speed < fastest.speed*(1+maxBehind)
			})
		}
		g.Next(best, g.Pieces*maxShuttled/int64(len(best.Schedule.Transfers)))
	}
	if len(best.Schedule.Transfers) > improve.MaxRerouted {
		return best
	}
	return improve.Result(ctx, best, o)
}

// even returns the space of p in equal chunks, for each block that number or, if there is one block, fewest times as many.
func (f *shuttled) even(p *model.Problem, pieces int64) (chunks []model.Chunk) {
	if f.blocks == 1 {
		pieces *= fewest
	}
	for b := range f.blocks {
		block := f.block(b, p.Space())
		for _, c := range solve.Evenly(block.to-block.from, pieces) {
			chunks = append(chunks, model.Chunk{Offset: block.from + c.Offset, Size: c.Size})
		}
	}
	return chunks
}

// schedule returns the best schedule of p, which has chunks, or nil when ctx is done before there is one.
func (f *shuttled) schedule(ctx context.Context, p *model.Problem) *model.Schedule {
	x := newShunting(ctx, f.forest, p)
	best, least := []model.Time(nil), model.MaxTime
	for _, stagger := range staggers {
		if f.stagger > 0 && stagger != f.stagger {
			continue
		}
		starts, end := x.run(x.staggered(stagger), false)
		if starts == nil {
			break
		}
		for turn := range turns {
			if end < least {
				best, least = starts, end
				if len(p.Chunks) >= someCuts*fewest && turn == 0 {
					f.stagger = stagger
				}
			}
			if starts, end = x.run(x.latest(starts), true); starts == nil {
				break
			}
			if end < least {
				best, least = starts, end
			}
			if starts, end = x.run(starts, false); starts == nil {
				break
			}
		}
		if starts != nil && end < least {
			best, least = starts, end
		}
	}
	f.ends = least
	if best == nil {
		return nil
	}
	return x.emit(best)
}

// shunting is the hops of all chunks, to be given times.
type shunting struct {
	ctx   context.Context
	p     *model.Problem
	each  int // hops of a chunk
	plans [][]job
	of    []int          // by chunk: its plan
	nth   []float64      // by chunk: how many of its tree come before it, as a part of them
	kind  []int          // by chunk: which of the sizes it has
	links [][]int        // by machine: twins
	busy  [][]model.Time // by kind and machine
	alpha [][]model.Time // likewise: until a chunk is there once it is sent
}

// job is a hop of a tree, up or down.
type job struct {
	from, to      int
	op            model.Op
	machine       int32
	before, after []int32 // jobs that it waits for, and that wait for it
}

func newShunting(ctx context.Context, f *forest, p *model.Problem) *shunting {
	n := len(p.Chunks)
	x := &shunting{ctx: ctx, p: p, of: make([]int, n), nth: make([]float64, n), kind: make([]int, n)}
	same := twinsOf(p.Topology)
	machine := make([]int32, len(p.Topology.Links))
	for l, list := range same.of {
		if list[0] == l {
			machine[l] = int32(len(x.links))
			x.links = append(x.links, list)
		}
		machine[l] = machine[list[0]]
	}
	kinds := map[int64]int{}
	for k, c := range p.Chunks {
		kind, known := kinds[c.Size]
		if !known {
			kind = len(x.busy)
			kinds[c.Size] = kind
			busy, alpha := make([]model.Time, len(x.links)), make([]model.Time, len(x.links))
			for m, list := range x.links {
				span := p.Topology.Busy(p.Cost, list[:1], c.Size, nil)[0]
				busy[m] = span.To - span.From
				alpha[m] = p.Topology.Duration(list[:1], c.Size) - busy[m]
			}
			x.busy, x.alpha = append(x.busy, busy), append(x.alpha, alpha)
		}
		x.kind[k] = kind
	}
	number := map[*arborescence.Tree]int{}
	for _, trees := range f.down {
		for i := range trees {
			number[&trees[i]] = len(x.plans)
			x.plans = append(x.plans, jobsOf(trees[i], f.mirror, machine, p.Topology.Ranks))
		}
	}
	x.each = len(x.plans[0])
	count := make([]float64, len(x.plans))
	for k, t := range f.choose(f.down, p, false) {
		x.of[k], x.nth[k] = number[t], count[number[t]]
		count[number[t]]++
	}
	for k := range x.nth {
		x.nth[k] /= count[x.of[k]]
	}
	return x
}

// jobsOf returns the hops of a tree, up over the mirror images of its links, if there are such, and then down, each after
// those that it waits for.
func jobsOf(t arborescence.Tree, mirror func(link int) int, machine []int32, ranks int) (jobs []job) {
	last := make([][]int32, ranks) // by rank: those that bring it what it sends next
	add := func(a arborescence.Arc, op model.Op) {
		i := int32(len(jobs))
		j := job{from: a.From, to: a.To, op: op, machine: machine[a.Route[0]], before: last[a.From]}
		for _, b := range j.before {
			jobs[b].after = append(jobs[b].after, i)
		}
		jobs = append(jobs, j)
		last[a.To] = append(last[a.To], i)
	}
	if mirror != nil {
		for _, a := range climbing(t, mirror).Arcs {
			add(a, model.Reduction)
		}
	}
	for _, a := range t.Arcs {
		last[a.To] = nil
		add(a, model.Copy)
	}
	return jobs
}

// job returns a job by its number among those of all chunks, the number of the first of its chunk, and the kind of that.
func (x *shunting) job(i int32) (j *job, first int32, kind int) {
	k := int(i) / x.each
	return &x.plans[x.of[k]][int(i)%x.each], int32(k * x.each), x.kind[k]
}

// staggered returns what has jobs run first after which most must follow, while chunks are spread over a part of the time.
func (x *shunting) staggered(part float64) []model.Time {
	load := make([]model.Time, len(x.links))
	keys := make([]model.Time, len(x.of)*x.each)
	for i := int32(len(keys)) - 1; i >= 0; i-- {
		j, first, kind := x.job(i)
		rest := model.Time(0)
		for _, a := range j.after {
			rest = max(rest, -keys[first+a])
		}
		keys[i] = -(rest + x.busy[kind][j.machine] + x.alpha[kind][j.machine])
		load[j.machine] += x.busy[kind][j.machine] / model.Time(len(x.links[j.machine]))
	}
	whole := part * float64(slices.Max(load))
	for i := range keys {
		keys[i] += model.Time(whole * x.nth[i/x.each])
	}
	return keys
}

// latest returns what has jobs run in the reverse order of that in which they end in a schedule.
func (x *shunting) latest(starts []model.Time) []model.Time {
	keys := make([]model.Time, len(starts))
	for i, s := range starts {
		j, _, kind := x.job(int32(i))
		keys[i] = -(s + x.busy[kind][j.machine])
	}
	return keys
}

// run gives jobs times: links take those with the least keys of those that are ready, at once, from the first on or, read
// backwards, from the last. It returns when each starts, and the end; nil when the context is done.
func (x *shunting) run(keys []model.Time, backwards bool) (starts []model.Time, end model.Time) {
	n := len(keys)
	starts = make([]model.Time, n)
	left, after := make([]int32, n), make([]model.Time, n) // how many it waits for yet, and until when at least
	free := make([]int, len(x.links))
	ready := make([]heap.Heap[entry], len(x.links))
	var events heap.Heap[entry] // jobs that get ready, and links that get free: those below 0
	for m, l := range x.links {
		free[m] = len(l)
	}
	for i := range int32(n) {
		j, _, kind := x.job(i)
		if left[i] = int32(len(j.before)); backwards {
			left[i] = int32(len(j.after))
		}
		if left[i] == 0 {
			at := model.Time(0)
			if backwards {
				at = x.alpha[kind][j.machine]
			}
			events.Push(entry{at, i})
		}
	}
	var touched []int32
	for steps := 0; len(events) > 0; steps++ {
		if steps%(1<<10) == 0 && x.ctx.Err() != nil {
			return nil, model.MaxTime
		}
		now := events[0].key
		for touched = touched[:0]; len(events) > 0 && events[0].key == now; {
			e := events.Pop()
			if e.id < 0 {
				free[^e.id]++
				touched = append(touched, ^e.id)
				continue
			}
			j, _, _ := x.job(e.id)
			ready[j.machine].Push(entry{keys[e.id], e.id})
			touched = append(touched, j.machine)
		}
		for _, m := range touched {
			for free[m] > 0 && len(ready[m]) > 0 {
				i := ready[m].Pop().id
				free[m]--
				j, first, kind := x.job(i)
				starts[i] = now
				sent := now + x.busy[kind][m]
				there := sent + x.alpha[kind][m]
				events.Push(entry{sent, ^m})
				next := j.after
				if backwards {
					end, next = max(end, sent), j.before
				} else {
					end = max(end, there)
				}
				for _, a := range next {
					at := there
					if backwards {
						at = sent + x.alpha[kind][x.plans[x.of[int(i)/x.each]][a].machine]
					}
					after[first+a] = max(after[first+a], at)
					if left[first+a]--; left[first+a] == 0 {
						events.Push(entry{after[first+a], first + a})
					}
				}
			}
		}
	}
	if backwards {
		for i := range starts {
			j, _, kind := x.job(int32(i))
			starts[i] = end - starts[i] - x.busy[kind][j.machine]
		}
	}
	return starts, end
}

// emit returns the schedule in which jobs start at these times, each over a twin that is free.
func (x *shunting) emit(starts []model.Time) *model.Schedule {
	s := &model.Schedule{Form: model.FormFor(x.p.Cost)}
	for l := range x.p.Topology.Links {
		s.Routes = append(s.Routes, []int{l})
	}
	order := make([]int32, len(starts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(starts[a], starts[b]), cmp.Compare(a, b)) })
	until := make([]model.Time, len(x.p.Topology.Links))
	for _, i := range order {
		j, _, kind := x.job(i)
		l := slices.MinFunc(x.links[j.machine], func(a, b int) int { return cmp.Compare(until[a], until[b]) })
		until[l] = starts[i] + x.busy[kind][j.machine]
		s.Transfers = append(s.Transfers, model.Transfer{
			Chunk: i / int32(x.each), Src: int32(j.from), Dst: int32(j.to), Op: j.op, Route: int32(l),
			Start: starts[i], End: until[l] + x.alpha[kind][j.machine],
		})
	}
	return s
}

// entry is something with a key: the least one and the least number come first.
type entry struct {
	key model.Time
	id  int32
}

// Before orders a heap.
func (e entry) Before(f entry) bool { return e.key < f.key || e.key == f.key && e.id < f.id }

package cayley

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Stream implements solve.Streamer for what all ranks do alike: on groups whose links are all
// alike, and on ranks at the same switches. The plan is that of one rank (see weave, convey
// and star), which is a schedule for all by translation. Only an allgather is handed
// out transfer by transfer too, in runs of as many as there are ranks.
func (method) Stream(ctx context.Context, p *model.Problem, o solve.Options) (*solve.Stream, error) {
	if err := alike(p); err != nil {
		return nil, err
	}
	if x := recogniseStar(p.Topology); x != nil {
		q := solve.Cut(p, o.Chunks)
		orbit, err := x.orbit(q)
		if err != nil {
			return nil, err
		}
		return stated(q, orbit, x.String()), nil
	}
	if p.Cost == model.Rounds {
		return nil, solve.NotServed("keeps all links of all ranks busy at once, which is not possible here")
	}
	g := recognise(ctx, p.Topology)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g == nil {
		return nil, solve.NotServed("%s is not recognised as a Cayley graph of an abelian group under its numbering", p.Topology.Name)
	}
	p = solve.Cut(p, o.Chunks)
	if p.Collective.Kind != model.AllGather {
		orbit, err := g.orbit(ctx, p, o.Seed)
		if err != nil {
			return nil, err
		}
		return stated(p, orbit, g.String()), nil
	}
	w, err := g.woven(ctx, p, o.Seed)
	if err != nil {
		return nil, err
	}
	n := g.n
	routes := make([][]int, 0, len(g.gens)*n)
	for i := range g.gens {
		for _, l := range g.gens[i].links {
			routes = append(routes, []int{l})
		}
	}
	end := w.end
	if p.Cost.Synchronous() {
		end = 0 // it is counted in rounds, whose lengths may differ
	}
	orbit := g.inOrbits(w.gathering())
	if orbit.Validate(p) != nil {
		orbit = nil // ranks own different numbers of chunks
	}
	batch := int64(n) * int64(unsafe.Sizeof(model.Transfer{}))
	return &solve.Stream{
		Problem: p, Form: model.FormFor(p.Cost), Routes: routes, Transfers: int64(len(p.Chunks)) * int64(n-1), Makespan: end,
		Memory: 3*batch + int64(len(w.turns))*int64(unsafe.Sizeof(turn{})) + 16*int64(len(p.Chunks)) + 160*int64(len(p.Topology.Links)),
		Orbit:  orbit, Note: g.String(),
		Run: func(ctx context.Context, emit func([]model.Transfer) bool) (solve.Stop, error) {
			return w.run(ctx, o.TimeLimit, emit), nil
		},
	}, nil
}

// woven returns the best plan of an allgather of what ranks own of p.
func (g *group) woven(ctx context.Context, p *model.Problem, seed uint64) (*weave, error) {
	w := &weave{group: g, p: p, parts: owned(p)}
	if !w.measure() {
		return nil, solve.NotServed("plans for one rank alone only what moves over links that are alike")
	}
	w.plan(ctx, seed)
	if w.turns == nil && w.n > 1 {
		return nil, ctx.Err()
	}
	return w, nil
}

// turn is what all ranks receive over one generator in one slot: rank u part number part of
// what rank u - from owns.
type turn struct{ slot, gen, from, part int32 }

// weave is a plan with what it takes to carry it out.
type weave struct {
	*group
	p     *model.Problem
	parts [][]int        // by rank: its chunks
	most  int            // parts of a rank
	lasts [][]model.Time // by generator and size class
	sizes []int64        // by size class
	class []int32        // by chunk
	large []int32        // by part: the class of its largest chunk
	slot  model.Time
	delay int // after this many slots what is sent has arrived
	least model.Time
	turns []turn
	end   model.Time // of the last transfer
}

// uneven is by how much a slot may be longer than some link is busy: 1/uneven of it.
const uneven = 64

// maxDelay limits the delay of what is woven.
const maxDelay = 1 << 10

// many is from how many ranks on slots are longer than it takes where there is no other plan:
// for the larger ones of chunks that are not equal, or so that a latency has maxDelay of them.
const many = 1 << 14

// clock finds the length of slots, and reports whether the links are alike. It returns the
// paces of the smallest chunk.
func (w *weave) clock() (slowest []pace, ok bool) {
	var sizes []int64
	number := map[int64]int32{}
	w.class = make([]int32, len(w.p.Chunks))
	for k, c := range w.p.Chunks {
		i, known := number[c.Size]
		if !known {
			i = int32(len(sizes))
			number[c.Size] = i
			sizes = append(sizes, c.Size)
		}
		w.class[k] = i
	}
	w.sizes = sizes
	w.lasts = make([][]model.Time, len(w.gens))
	shortest, longest, alike := model.MaxTime, model.Time(0), true
	for i := range sizes {
		paces := w.paces(w.p, sizes[i])
		least, most := model.MaxTime, model.Time(0)
		for j, x := range paces {
			w.lasts[j] = append(w.lasts[j], x.lasts)
			least, most, longest = min(least, x.busy), max(most, x.busy), max(longest, x.lasts)
		}
		shortest, w.slot, alike = min(shortest, least), max(w.slot, most), alike && most-least <= most/uneven
		if i == 0 || sizes[i] < slices.Min(sizes[:i]) {
			slowest = paces
		}
	}
	if w.n >= many {
		w.slot = max(w.slot, (longest+maxDelay-1)/maxDelay)
	} else {
		alike = w.slot-shortest <= w.slot/uneven
	}
	w.delay = int((longest + w.slot - 1) / max(1, w.slot))
	return slowest, alike
}

// measure finds the length of slots and what no plan can do without, and reports whether the
// links are alike and the delay is not over maxDelay.
func (w *weave) measure() bool {
	slowest, ok := w.clock()
	for _, list := range w.parts {
		w.most = max(w.most, len(list))
	}
	w.large = make([]int32, w.most)
	for q := range w.large {
		w.large[q] = -1
		for _, list := range w.parts {
			if q < len(list) && (w.large[q] < 0 || w.sizes[w.class[list[q]]] > w.sizes[w.large[q]]) {
				w.large[q] = w.class[list[q]]
			}
		}
	}
	w.least = leastTime(slowest, min(w.most*(w.n-1), len(w.p.Chunks)-1))
	return ok && w.delay <= maxDelay
}

// plan makes some plans, until one ends as early as any can or ctx does, and keeps the best.
func (w *weave) plan(ctx context.Context, seed uint64) {
	w.end = model.MaxTime
	tries := max(1, min(maxTries, 1<<21/(w.n*w.most*len(w.gens))))
	for try := 0; try < tries && w.end > w.least; try++ {
		turns := w.weave(ctx, rand.New(rand.NewPCG(seed, uint64(try))))
		if turns == nil {
			return
		}
		end := model.Time(0)
		for i := max(0, len(turns)-(w.delay+1)*len(w.gens)); i < len(turns); i++ {
			x := turns[i]
			end = max(end, w.slot*model.Time(x.slot)+w.lasts[x.gen][w.large[x.part]])
		}
		if end < w.end {
			w.turns, w.end = turns, end
		}
	}
}

// weave makes a plan. In every slot each generator takes a part that was there before and
// is missing at its other end, that which has waited longest. One that finds none takes
// over what another one was given that finds one more. It returns nil if ctx ends before.
func (w *weave) weave(ctx context.Context, rng *rand.Rand) []turn {
	all := w.n * w.most
	here, taken := make([]bool, all), make([]bool, all) // by difference and part
	queues := make([][]int32, len(w.gens))              // by generator: what it could have brought since, in that order
	arrive := func(x int) {
		here[x] = true
		for i := range w.gens {
			if y := w.add(x/w.most, w.gens[i].step)*w.most + x%w.most; !taken[y] {
				queues[i] = append(queues[i], int32(y))
			}
		}
	}
	for _, q := range rng.Perm(w.most) {
		taken[q] = true
		arrive(q)
	}
	next := func(i int) int32 {
		for len(queues[i]) > 0 && taken[queues[i][0]] {
			queues[i] = queues[i][1:]
		}
		if len(queues[i]) == 0 {
			return -1
		}
		return queues[i][0]
	}
	turns := make([]turn, 0, all)
	due := make([]int, w.delay+1) // by slot, modulo its length: how many turns there were before it ended
	landed := 0
	given := make([]int32, len(w.gens))
	for slot := 0; len(turns) < all-w.most; slot++ {
		if slot%64 == 0 && ctx.Err() != nil {
			return nil
		}
		for ; slot >= w.delay && landed < due[(slot-w.delay)%(w.delay+1)]; landed++ {
			arrive(int(turns[landed].from)*w.most + int(turns[landed].part))
		}
		give := func(i int, y int32) {
			given[i], taken[y] = y, true
		}
		order := rng.Perm(len(w.gens))
		for _, i := range order {
			given[i] = -1
			if y := next(i); y >= 0 {
				give(i, y)
			}
		}
		for _, i := range order {
			for _, j := range order {
				if given[i] >= 0 || given[j] < 0 {
					continue
				}
				y := given[j]
				if !here[w.sub(int(y)/w.most, w.gens[i].step)*w.most+int(y)%w.most] {
					continue
				}
				if z := next(j); z >= 0 {
					given[i] = y
					give(j, z)
				}
			}
		}
		for i, y := range given {
			if y >= 0 {
				turns = append(turns, turn{int32(slot), int32(i), y / int32(w.most), y % int32(w.most)})
			}
		}
		due[slot%(w.delay+1)] = len(turns)
	}
	return turns
}

// run hands out the plan for all ranks, turn after turn.
func (w *weave) run(ctx context.Context, limit time.Duration, emit func([]model.Transfer) bool) solve.Stop {
	begin := time.Now()
	free, filled := make(chan []model.Transfer, 3), make(chan []model.Transfer, 2)
	for range 3 {
		free <- make([]model.Transfer, 0, w.n)
	}
	gone := make(chan struct{})
	var making sync.WaitGroup
	making.Go(func() {
		defer close(filled)
		for _, x := range w.turns {
			select {
			case <-gone:
				return
			case batch := <-free:
				filled <- w.translate(x, batch[:0])
			}
		}
	})
	enough := sync.OnceFunc(func() { close(gone) })
	defer making.Wait()
	defer enough()
	stop := solve.Done
	for batch := range filled {
		switch {
		case stop != solve.Done: // what has been made is dropped
			continue
		case ctx.Err() != nil || !emit(batch):
			stop = solve.Interrupted
		case limit > 0 && time.Since(begin) > limit:
			stop = solve.TimeLimit
		default:
			free <- batch
		}
		if stop != solve.Done {
			enough()
		}
	}
	return stop
}

// translate appends what a turn is at every rank.
func (w *weave) translate(x turn, batch []model.Transfer) []model.Transfer {
	s := &w.gens[x.gen]
	start := w.slot * model.Time(x.slot)
	back := w.sub(s.step, int(x.from)) // rank v sends what rank v + back owns to rank v + step
	row := w.sides[len(w.sides)-1]
	for first := 0; first < w.n; first += row {
		to, owner := w.add(first, s.step), w.add(first, back)
		to, toAt := to-to%row, to%row
		owner, ownerAt := owner-owner%row, owner%row
		for j := range row {
			if list := w.parts[owner+ownerAt]; int(x.part) < len(list) {
				k := list[x.part]
				batch = append(batch, model.Transfer{
					Chunk: int32(k), Src: int32(first + j), Dst: int32(to + toAt), Route: x.gen*int32(w.n) + int32(first+j),
					Start: start, End: start + w.lasts[x.gen][w.class[k]],
				})
			}
			if toAt++; toAt == row {
				toAt = 0
			}
			if ownerAt++; ownerAt == row {
				ownerAt = 0
			}
		}
	}
	return batch
}

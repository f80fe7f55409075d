package cayley

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// arrival is what every rank u receives over one generator: part number part of what
// rank u - from owns.
type arrival struct {
	from, part int
	gen        int
	start      model.Time
}

// pace is how long a link of a generator is busy with a part, and how long the part
// is on its way.
type pace struct{ busy, lasts model.Time }

// maxTries is how many plans are made at most, and maxWork about how many parts are
// looked at for them.
const (
	maxTries = 200
	maxWork  = 1 << 23
)

// gather copies the parts of each rank to all others. g may be nil.
func (g *group) gather(ctx context.Context, p *model.Problem, parts [][]int, rng *rand.Rand) (*model.Schedule, error) {
	if g == nil {
		return gatherAnywhere(ctx, p, parts, rng)
	}
	most, size := 0, int64(0)
	for _, list := range parts {
		most = max(most, len(list))
	}
	for _, c := range p.Chunks {
		size = max(size, c.Size)
	}
	paces := g.paces(p, size)
	var plan []arrival
	last, least := model.MaxTime, leastTime(paces, most*(g.n-1))
	tries := max(1, min(maxTries, maxWork/(most*g.n*g.n)))
	for try := 0; try < tries && last > least; try++ {
		if s, t := g.plan(ctx, paces, most, try, rng); s != nil && t < last {
			plan, last = s, t
		}
	}
	slices.SortStableFunc(plan, func(a, b arrival) int { return cmp.Compare(a.start, b.start) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	program := place.NewProgram(p).Until(ctx)
	var batch []place.Move
	for i, a := range plan {
		s := &g.gens[a.gen]
		for u := range g.n {
			if list := parts[g.sub(u, a.from)]; a.part < len(list) {
				v := g.sub(u, s.step)
				batch = append(batch, place.Move{Chunk: list[a.part], Src: v, Dst: u, Routes: s.ways[v]})
			}
		}
		if i+1 == len(plan) || plan[i+1].start > a.start {
			program.Batch(batch...)
			batch = batch[:0]
		}
	}
	return best(program, least)
}

// paces returns the pace of each generator for parts of that size.
func (g *group) paces(p *model.Problem, size int64) []pace {
	paces := make([]pace, len(g.gens))
	for i, s := range g.gens {
		beta := model.TransferTime(size, s.link.Bandwidth)
		switch {
		case p.Cost.Synchronous():
			paces[i] = pace{1, 1}
		case p.Cost == model.Blocking:
			paces[i] = pace{beta.Add(s.link.Alpha), beta.Add(s.link.Alpha)}
		default:
			paces[i] = pace{beta, beta.Add(s.link.Alpha)}
		}
	}
	return paces
}

// leastTime returns a time before which no rank can have received that many parts
// over one link of each generator. It only says when to stop looking.
func leastTime(paces []pace, parts int) model.Time {
	free := make([]model.Time, len(paces))
	var last model.Time
	for range parts {
		next := 0
		for i := range paces {
			if free[i].Add(paces[i].lasts) < free[next].Add(paces[next].lasts) {
				next = i
			}
		}
		last = max(last, free[next].Add(paces[next].lasts))
		free[next] = free[next].Add(paces[next].busy)
	}
	return last
}

// plan states what each rank receives when and over which generator, and when the last
// of it arrives. Whenever generators are free, as many as can be get a part, by a
// maximum matching (Kuhn's augmenting paths), parts of near ranks first; every second
// try has the order of parts drawn at random instead. It takes
// O(arrivals · generators · ranks · parts) time, and returns nil if ctx ends before.
func (g *group) plan(ctx context.Context, paces []pace, parts, try int, rng *rand.Rand) ([]arrival, model.Time) {
	dist := g.distances()
	order := rng.Perm(g.n * parts)
	if try%2 == 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(dist[a/parts], dist[b/parts]) })
	}
	here := make([]model.Time, g.n*parts) // when it arrives; MaxTime: it is not yet on its way
	missing := order[:0:len(order)]
	for _, x := range order {
		if x/parts == 0 {
			here[x] = 0
			continue
		}
		here[x] = model.MaxTime
		missing = append(missing, x)
	}
	free := make([]model.Time, len(paces))
	var plan []arrival
	var now, last model.Time
	for len(missing) > 0 {
		taker := map[int]int{} // part -> generator
		var visit func(gen int, seen map[int]bool) bool
		visit = func(gen int, seen map[int]bool) bool {
			for _, x := range missing {
				if seen[x] || here[g.sub(x/parts, g.gens[gen].step)*parts+x%parts] > now {
					continue
				}
				seen[x] = true
				if other, taken := taker[x]; !taken || visit(other, seen) {
					taker[x] = gen
					return true
				}
			}
			return false
		}
		for _, gen := range rng.Perm(len(paces)) {
			if ctx.Err() != nil {
				return nil, 0
			}
			if free[gen] <= now {
				visit(gen, map[int]bool{})
			}
		}
		rest := missing[:0]
		for _, x := range missing {
			gen, taken := taker[x]
			if !taken {
				rest = append(rest, x)
				continue
			}
			plan = append(plan, arrival{x / parts, x % parts, gen, now})
			here[x] = now.Add(paces[gen].lasts)
			free[gen] = now.Add(paces[gen].busy)
			last = max(last, here[x])
		}
		missing = rest
		next := model.MaxTime
		for _, list := range [][]model.Time{free, here} {
			for _, t := range list {
				if t > now {
					next = min(next, t)
				}
			}
		}
		now = next
	}
	return plan, last
}

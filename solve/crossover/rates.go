package crossover

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// arc says that to begins length or more after from, height periods later.
type arc struct {
	from, to int
	length   model.Time
	height   int
}

// events are the starts of a period: for each job and iteration the computation, then its
// buckets.
type events struct {
	jobs  []Job
	first [][]int // of job and iteration: its computation; buckets follow
	all   []Start
}

func eventsOf(jobs []Job) *events {
	e := &events{jobs: jobs}
	for j := range jobs {
		e.first = append(e.first, nil)
		for i := range jobs[j].Rate {
			e.first[j] = append(e.first[j], len(e.all))
			for b := -1; b < len(jobs[j].Buckets); b++ {
				e.all = append(e.all, Start{Job: j, Iteration: i, Bucket: b})
			}
		}
	}
	return e
}

// length returns how long what starts takes.
func (e *events) length(x int) model.Time {
	s := e.all[x]
	if s.Bucket < 0 {
		return e.jobs[s.Job].Compute
	}
	return e.jobs[s.Job].Buckets[s.Bucket].Time
}

// own returns the arcs within jobs.
func (e *events) own() []arc {
	var arcs []arc
	for j := range e.jobs {
		for i, c := range e.first[j] {
			next, height := 0, 1
			if i+1 < len(e.first[j]) {
				next, height = i+1, 0
			}
			to := e.first[j][next]
			arcs = append(arcs, arc{c, to, e.jobs[j].Compute, height})
			for k, b := range e.jobs[j].Buckets {
				arcs = append(arcs, arc{c, c + 1 + k, b.Ready, 0}, arc{c + 1 + k, to, b.Time, height})
			}
		}
	}
	return arcs
}

// row returns the arcs by which one resource serves a list in order, again in each period.
func (e *events) row(list []int) []arc {
	var arcs []arc
	for i, x := range list {
		if i+1 < len(list) {
			arcs = append(arcs, arc{x, list[i+1], e.length(x), 0})
		} else {
			arcs = append(arcs, arc{x, list[0], e.length(x), 1})
		}
	}
	return arcs
}

// starts returns the earliest starts with a period, or nil if the arcs have none so short
// (longest paths: Bellman and Ford). It takes O(events·arcs) time.
func (e *events) starts(arcs []arc, period model.Time) []model.Time {
	at := make([]model.Time, len(e.all))
	for round := 0; ; round++ {
		changed := false
		for _, a := range arcs {
			if t := at[a.from] + a.length - period*model.Time(a.height); t > at[a.to] {
				at[a.to], changed = t, true
			}
		}
		if !changed {
			return at
		}
		if round > len(e.all) {
			return nil
		}
	}
}

// least returns the least period of arcs above a bound, and below a limit, with the starts; nil if
// there is none: the greatest ratio of length to height of a cycle, by bisection.
func (e *events) least(arcs []arc, bound, limit model.Time) (model.Time, []model.Time) {
	if limit <= bound || e.starts(arcs, limit-1) == nil {
		return 0, nil
	}
	lo, hi := bound-1, limit-1
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if e.starts(arcs, mid) != nil {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, e.starts(arcs, hi)
}

// maxTries is how many orders Rates tries.
const maxTries = 4096

// Rates returns a periodic schedule of jobs with any rates: of the orders in which the GPUs can
// serve a period, and in which the network serves the same jobs in the same order, the best, of
// all of them if they are few, else of those that spread each job evenly and of exchanges of
// neighbours. T* of all iterations need not be attained, and need not be attainable: to find
// the least period is strongly NP-hard. For jobs of rate 1 it is Periodic.
func Rates(ctx context.Context, jobs []Job) *Schedule {
	if s, err := Periodic(jobs); err == nil {
		return s
	}
	e := eventsOf(jobs)
	own := e.own()
	bound := Bounds(jobs)[0].Value
	best, starts := model.MaxTime/4, []model.Time(nil)
	tries := 0
	try := func(order []int) bool { // a list of jobs
		if tries++; tries > maxTries || ctx.Err() != nil && starts != nil {
			return false
		}
		done := make([]int, len(jobs))
		var gpu, net []int
		for _, j := range order {
			c := e.first[j][done[j]]
			done[j]++
			gpu = append(gpu, c)
			for k := range jobs[j].Buckets {
				net = append(net, c+1+k)
			}
		}
		arcs := slices.Concat(own, e.row(gpu), e.row(net))
		if t, at := e.least(arcs, bound, best); at != nil {
			best, starts = t, at
			return true
		}
		return false
	}
	even := spread(jobs)
	try(even)
	for better := true; better && best > bound && tries < maxTries; { // exchanges of neighbours, and moves
		better = false
		for a := range even {
			for b := a + 1; b < len(even); b++ {
				if even[a] == even[b] || best == bound {
					continue
				}
				even[a], even[b] = even[b], even[a]
				if try(even) {
					better = true
				} else {
					even[a], even[b] = even[b], even[a]
				}
			}
		}
	}
	s := &Schedule{Period: best}
	for x, at := range starts {
		y := e.all[x]
		y.At = at
		s.Starts = append(s.Starts, y)
	}
	return s
}

// spread returns a period's order in which the iterations of each job are as far apart as can be.
func spread(jobs []Job) []int {
	type turn struct{ job, num, den int }
	var all []turn
	for j := range jobs {
		for i := range jobs[j].Rate {
			all = append(all, turn{j, 2*i + 1, 2 * jobs[j].Rate})
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return cmp.Compare(a.num*b.den, b.num*a.den) })
	var order []int
	for _, t := range all {
		order = append(order, t.job)
	}
	return order
}

// Shared is a pair of starts that share a resource, which hence must not overlap.
type Shared struct{ A, B int } // indices of what Events returns

// Events returns what is to be started in a period, for each job and iteration the computation and then
// its buckets, at no time; how long each takes; the pairs that share the GPUs or the network; and what
// must wait for what within jobs.
func Events(jobs []Job) (starts []Start, lengths []model.Time, pairs []Shared, waits []Wait) {
	e := eventsOf(jobs)
	for a, x := range e.all {
		lengths = append(lengths, e.length(a))
		for b, y := range e.all[:a] {
			if (x.Bucket < 0) == (y.Bucket < 0) && (x.Job != y.Job || x.Bucket >= 0) {
				pairs = append(pairs, Shared{b, a})
			}
		}
	}
	for _, a := range e.own() {
		waits = append(waits, Wait{a.from, a.to, a.length, a.height})
	}
	return e.all, lengths, pairs, waits
}

// Wait says that To starts Length or more after From, Height periods later.
type Wait struct {
	From, To int
	Length   model.Time
	Height   int
}

// Arrange returns the schedule of least period in which the second of each pair of Events comes after the
// end of the first, heights of the pair periods earlier, and the first 1-height periods after the
// second; nil if its period is not below limit. It takes O(events·pairs·log(limit)) time.
func Arrange(jobs []Job, heights []int, limit model.Time) *Schedule {
	e := eventsOf(jobs)
	_, lengths, pairs, _ := Events(jobs)
	arcs := e.own()
	for i, p := range pairs {
		arcs = append(arcs, arc{p.A, p.B, lengths[p.A], heights[i]}, arc{p.B, p.A, lengths[p.B], 1 - heights[i]})
	}
	period, at := e.least(arcs, Bounds(jobs)[0].Value, limit)
	if at == nil {
		return nil
	}
	s := &Schedule{Period: period}
	for x := range at {
		y := e.all[x]
		y.At = at[x]
		s.Starts = append(s.Starts, y)
	}
	return s
}

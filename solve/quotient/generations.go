//go:build !js

package quotient

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// generations are the parts of an allreduce that follow a sketch one generation after the other, like the products of an assembly line. In each period
// one generation is added up inside the groups, the one before between them, the one before that is copied to other groups, and one more
// is copied inside. None of these wait for each other, and so a period is as long as the busiest machine needs for one generation: its hops are the
// edges of a bipartite multigraph, and are sent in the order of an edge colouring (see coloured), each level by itself. What sums alone or copies
// alone leave idle serves the others. In the first and last periods some are missing.
type generations struct {
	k      *sketch
	t      *trial
	n      int          // generations
	of     []int        // by part: its generation
	as     []int        // by part: the part of the first generation whose hops it has
	first  []part       // the first generation
	trees  *balance     // of these
	hops   []job        // of the trees, by part
	stage  []int        // by hop: how many periods after those that wait for nothing it is sent
	start  []model.Time // by hop: since the period began
	period model.Time   // how long one lasts
	lags   [2]int       // by level: after how many periods what a hop brings is there
	busy   model.Time   // for how long machines are busy in all periods, at least
	halved int          // how often its parts are to be halved in what is tried next: see grown
}

// newGenerations returns those of a cut, as many as halve its parts, with the hops of others of the same parts unless that is nil. It returns nil if there
// are too many or the sketch does not reach all members.
func (s *search) newGenerations(k *sketch, c cut, like *generations) *generations {
	t := s.newSketched(k, c)
	if t == nil {
		return nil
	}
	g := &generations{k: k, t: t, n: 1 << c.halved, of: make([]int, len(t.parts)), as: make([]int, len(t.parts))}
	all, seen := make([]int, t.x.s.t.Ranks), make([]int, t.x.s.t.Ranks) // by root
	for i := range t.parts {
		all[t.parts[i].root]++
	}
	number := map[[2]int]int{}
	for i := range t.parts {
		u := t.parts[i].root
		each := all[u] / g.n
		at := [2]int{u, seen[u] % each}
		if g.of[i] = seen[u] / each; g.of[i] == 0 {
			number[at] = len(g.first)
			g.first = append(g.first, t.parts[i])
		}
		g.as[i] = number[at]
		seen[u]++
	}
	if like != nil {
		g.time(&plan{s: t.x.s, parts: g.first, jobs: slices.Clone(like.hops)})
		return g
	}
	g.trees = k.trees(model.AllReduce, t.x, g.first, max(s.bound/model.Time(g.n), 1), t.rng)
	if len(g.trees.trees) == 0 {
		return nil
	}
	g.time(g.trees.plan())
	return g
}

// balance has machines more evenly busy, if they are not: ranks move to other parents in the trees, which are not deeper then.
func (g *generations) balance(ctx context.Context, bound model.Time) {
	b := g.trees
	clear(b.least)
	b.depth = 0
	for i := range b.trees {
		b.depth = max(b.depth, slices.Max(b.trees[i].depth))
	}
	for range levellings {
		if g.busy <= bound+bound/evenEnough || ctx.Err() != nil {
			break
		}
		b.improve(min(levelMoves*len(g.hops), mostMoves), levelHeat)
		h := *g
		if h.time(b.plan()); h.busy < g.busy {
			*g = h
		}
	}
}

// time sets the hops of a generation, and when in a period they start.
func (g *generations) time(x *plan) {
	g.hops, g.start = x.jobs, make([]model.Time, len(x.jobs))
	most, late := slices.Max(x.s.loads(x)), [2]model.Time{} // a machine may serve both levels
	for level := range late {
		var edges [][2]int32
		var list []int
		lasts := model.Time(0) // what a hop takes of a machine
		for i := range x.jobs {
			j := &x.jobs[i]
			if g.level(j) != level {
				continue
			}
			w := x.s.step(j).way
			visits := x.s.ways[w].visits
			edges, list = append(edges, [2]int32{visits[0].machine, visits[len(visits)-1].machine}), append(list, i)
			tm := x.s.at(w, &x.parts[j.part])
			for _, span := range tm.spans {
				lasts = max(lasts, span.To-span.From)
			}
			late[level] = max(late[level], tm.lasts)
		}
		colours, count := colourEdges(edges, len(x.s.lanes))
		for e, i := range list {
			g.start[i] = model.Time(colours[e]) * lasts
		}
		late[level] -= lasts
		most = max(most, model.Time(count)*lasts)
	}
	g.busy = most * model.Time(g.n)
	g.pace(most, late)
	g.stage = x.stages(g)
}

// level returns 0 for a hop inside a group and 1 for one between groups.
func (g *generations) level(j *job) int {
	if g.k.group[j.src] == g.k.group[j.dst] {
		return 0
	}
	return 1
}

// pace sets how long a period lasts in which machines are busy for some time, and after how many periods what hops of each level bring is there, which
// is some time after the last of them has left: longer periods or more of them, so that all is over soonest.
func (g *generations) pace(busy model.Time, late [2]model.Time) {
	best := never
	for inside := 1; inside <= mostLag; inside++ {
		for between := 1; between <= mostLag; between++ {
			period := max(busy, (busy+late[0])/model.Time(inside)+1, (busy+late[1])/model.Time(between)+1)
			if end := period * model.Time(g.n+2*inside+2*between); end < best {
				best, g.period, g.lags = end, period, [2]int{inside, between}
			}
		}
	}
}

// promises returns about when all is over with as many generations as there can be.
func (g *generations) promises() float64 {
	return float64(g.busy) * (1 + float64(slices.Max(g.stage))/(2*mostGenerations))
}

// stages returns for each job after how many periods it can start, if what others bring is there after as many as generations say.
func (x *plan) stages(g *generations) []int {
	waits, stage := x.waits(), slices.Repeat([]int{-1}, len(x.jobs))
	var of func(i int32) int
	of = func(i int32) int {
		if stage[i] < 0 {
			stage[i] = 0
			for _, k := range waits[i] {
				stage[i] = max(stage[i], of(k)+g.lags[g.level(&x.jobs[k])])
			}
		}
		return stage[i]
	}
	for i := range x.jobs {
		of(int32(i))
	}
	return stage
}

// plan returns a plan in which each hop starts as early as it can, in the order of periods.
func (g *generations) plan(ctx context.Context) *plan {
	x := &plan{s: g.t.x.s, parts: g.t.parts}
	by := make([][]int, len(g.first))
	for i := range g.hops {
		by[g.hops[i].part] = append(by[g.hops[i].part], i)
	}
	var rank []float64
	for i := range g.t.parts {
		for _, h := range by[g.as[i]] {
			j := g.hops[h]
			j.part = int32(i)
			j.start = g.period*model.Time(g.of[i]+g.stage[h]) + g.start[h]
			x.jobs, rank = append(x.jobs, j), append(rank, float64(j.start))
		}
	}
	y := *x
	y.jobs = slices.Clone(x.jobs)
	y.dispatch(y.waits(), rank)
	if ctx.Err() == nil {
		x.early(x.waits(), nil)
	}
	if x.end == 0 || y.end < x.end {
		x = &y
	}
	return x
}

// Limits of what is tried.
const (
	mostShifts      = 8       // parts of a rank in a generation
	fewShifts       = 2       // numbers of them that are tried in more than one generation
	mostGenerations = 32      // at most
	mostLag         = 16      // periods
	mostRooted      = 128     // members
	mostGrown       = 1 << 18 // jobs, and half of the transfers
	levellings      = 4       // attempts to have machines more evenly busy
	mostLevelled    = 1 << 17 // hops of those for which there are
	levelMoves      = 5       // ranks moved for each hop of a generation
	mostMoves       = 200000  // at most
	levelHeat       = 0.05
	evenEnough      = 80 // the part of the bound by which machines may be busier without such an attempt
	busyEnough      = 30 // and for more generations to be tried
)

// inGenerations tries generations of the sizes whose machines are all busiest, more and more of them as long as that helps.
func (s *search) inGenerations() {
	if s.p.Collective.Kind != model.AllReduce || s.p.Chunks != nil || len(s.p.Members()) > mostRooted || len(s.shops) == 0 {
		return
	}
	if x := s.shops[0].s; len(x.reps) == 1 || x.stays() {
		return
	}
	if s.lines == nil {
		s.lines = s.promising()
	}
	for ; len(s.lines) > 0; s.lines = s.lines[1:] {
		if g := s.lines[0]; s.best == nil || g.busy < s.best.best.end {
			s.grown(g)
		}
		if s.ctx.Err() != nil {
			return
		}
	}
}

// assembles reports whether generations that follow a sketch are worth trying: hops from one group to another are over one switch or, where an edge
// colouring says less, latencies count little.
func (s *search) assembles(k *sketch) bool {
	x, longest := s.shops[0].s, model.Time(0)
	for i := range s.p.Topology.Links {
		longest = max(longest, s.p.Topology.Links[i].Alpha)
	}
	return k.colours(x) || s.bound > fewLatencies*longest
}

// promising returns generations for each sketch, those that promise most; nil if the time is over before they are found.
func (s *search) promising() []*generations {
	list := []*generations{}
	shared := []*shares{nil}
	x, fluid := s.findShares()
	if x != nil {
		shared = append(shared, x)
	}
	if fluid == 0 {
		fluid = s.bound
	}
	for _, k := range sketches(s.p.Topology) {
		if !s.assembles(k) {
			continue
		}
		var all []*generations
		even, enough := 0, func(g *generations) bool { return g.busy <= fluid+fluid/evenEnough }
		for parts := 1; parts <= mostShifts && even < fewShifts; parts++ {
			for _, of := range shared {
				g := s.newGenerations(k, cut{parts: parts, ratio: 1, shares: of}, nil)
				if s.ctx.Err() != nil {
					return nil
				}
				if g != nil {
					if all = append(all, g); enough(g) {
						even++
					}
				}
			}
		}
		by := func(a, b *generations) int { return cmp.Compare(a.promises(), b.promises()) }
		slices.SortStableFunc(all, by)
		levelled := 0
		for _, g := range all {
			if enough(g) {
				continue
			}
			if levelled += len(g.hops); even >= fewShifts || levelled > mostLevelled {
				break
			}
			if g.balance(s.ctx, fluid); s.ctx.Err() != nil {
				return nil
			}
			if enough(g) {
				even++
			}
		}
		slices.SortStableFunc(all, by)
		for _, g := range all[:min(fewShifts, len(all))] {
			if g.busy <= s.bound+s.bound/busyEnough {
				list = append(list, g)
			}
		}
	}
	return list
}

// grown tries more and more generations like some, and then moves hops of the best and of the last ones. If it is interrupted it goes on with as many.
func (s *search) grown(like *generations) {
	var best, last *trial
	for ; 1<<like.halved <= mostGenerations && !s.near(); like.halved++ {
		c := like.t.cut
		c.halved = like.halved
		g := s.newGenerations(like.k, c, like)
		if s.ctx.Err() != nil {
			return
		}
		if g == nil {
			break
		}
		if jobs := len(g.hops) * g.n; jobs > mostGrown || jobs*g.t.x.s.g.Order() > s.o.AtMost(2*mostGrown) {
			break
		}
		t := g.t
		t.keep(g.plan(s.ctx))
		s.grew = true
		s.note(t)
		if last = t; best != nil && t.best.end > best.best.end/1000*worthTwice {
			break
		}
		best = t
	}
	for _, t := range []*trial{best, last} {
		if t != nil && !s.near() {
			t.best.justifyAll(s.ctx)
			s.note(t)
		}
	}
}

//go:build cgo

package oneshot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/sat/cadical"
)

// Limits of the search for patterns.
const (
	mostUnits     = 64     // of latency on the longest way
	mostPatterns  = 4000   // found in all
	mostAsked     = 64     // questions at a time
	patternTurns  = 3      // times that patterns are looked for and mixed before other methods have their time
	moreRounds    = 2      // than the diameter
	priceUnits    = 20     // whole numbers that stand for the prices of all that a chunk uses
	leastBudget   = 0.3    // the part of what a pattern may cost if it is to help that is tried first
	mostBudget    = 0.9    // and last
	moreBudget    = 0.1    // if there is none
	lessBudget    = 0.2    // if there is one
	mostConflicts = "4000" // of a question
	jumpTries     = 1000   // changes of a pattern that are tried
	muchOver      = 1.02   // times the buffer that may follow patterns, with which prices are out of date
	littleOver    = 1.001  // the same, with which the makespan is that of the linear program
	sameEnd       = 5000   // makespans that differ by such a part are the same
	sidestep      = 20     // the part by which a makespan grows that is too short
	enoughFor     = 101    // percent of the bound, with which there are enough plans
	leastFollowed = 1e-6   // of the buffer, for a pattern to be improved once more
	fewPatterned  = 64     // chunks of a mixture of patterns, each with its images
)

// pattern is an allreduce of one chunk in rounds, each as long as a latency.
type pattern struct {
	jumps  []jump // in the order of their rounds
	rounds int
}

// jump is what one rank sends to its neighbour in a round.
type jump struct {
	from, to, round int
	dropped         bool // the receiver drops what it has, for what comes in this round
}

// compare orders jumps.
func (a jump) compare(b jump) int {
	switch {
	case a.round != b.round:
		return a.round - b.round
	case a.from != b.from:
		return a.from - b.from
	}
	return a.to - b.to
}

// right reports whether a pattern leaves the sum of all at each of n ranks, at most 64.
func (x *pattern) right(n int) bool { return newWalk(n, x.rounds).follow(x.jumps, 0, x.rounds) }

// walk is whose contributions each rank has before each round of a pattern, and after the last one.
type walk struct {
	has, next [][]uint64 // by round and rank, as sets
}

// newWalk returns the walk of n ranks, at most 64, in which nothing is sent in some rounds.
func newWalk(n, rounds int) *walk {
	w := &walk{}
	for range rounds + 1 {
		own := make([]uint64, n)
		for v := range own {
			own[v] = 1 << v
		}
		w.has, w.next = append(w.has, own), append(w.next, make([]uint64, n))
	}
	return w
}

// follow reports whether jumps leave the sum of all at each rank. Then the walk is theirs; else it stays as it was. Before the first round and after
// the last one the jumps must be those of the walk: up to the first round all ranks have what they had, and if they do after the last one, too, the rest
// is right.
func (w *walk) follow(jumps []jump, first, last int) bool {
	rounds, i := len(w.has)-1, 0
	for i < len(jumps) && jumps[i].round < first {
		i++
	}
	now := w.has[first]
	round := first
	for ; round < rounds && (round <= last || !slices.Equal(now, w.has[round])); round++ {
		next := w.next[round+1]
		copy(next, now)
		begin := i
		for ; i < len(jumps) && jumps[i].round == round; i++ {
			if jumps[i].dropped {
				next[jumps[i].to] = 0
			}
		}
		for _, y := range jumps[begin:i] {
			if next[y.to]&now[y.from] != 0 {
				return false
			}
			next[y.to] |= now[y.from]
		}
		now = next
	}
	if round == rounds {
		all := uint64(1)<<len(now) - 1
		for _, sum := range now {
			if sum != all {
				return false
			}
		}
	}
	for r := first + 1; r <= round; r++ {
		w.has[r], w.next[r] = w.next[r], w.has[r]
	}
	return true
}

// steps returns a step for each round.
func (x *pattern) steps() []step {
	steps := make([]step, x.rounds)
	for i := range steps {
		steps[i].phase = exchanging
	}
	for _, y := range x.jumps {
		s := &steps[y.round]
		s.pairs = append(s.pairs, pair{from: y.from, to: y.to})
		if y.dropped && !slices.Contains(s.stale, y.to) {
			s.stale = append(s.stale, y.to)
		}
	}
	return steps
}

// patternOf returns the pattern of steps, which all exchange.
func patternOf(steps []step) *pattern {
	x := &pattern{rounds: len(steps)}
	for i, s := range steps {
		for _, w := range s.pairs {
			x.jumps = append(x.jumps, jump{w.from, w.to, i, slices.Contains(s.stale, w.to)})
		}
	}
	slices.SortFunc(x.jumps, jump.compare)
	return x
}

// patterns finds patterns for networks without switches whose links have the same latency, so that a mixture of them is sooner over: column
// generation (Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9, 1961). The linear
// program for mixtures has prices of intervals in which links have much to send, see mixer. They make a price of each link and round, and a
// pattern that costs less than one lets more chunks follow plans in the same time. A SAT solver finds such patterns, with prices in whole numbers
// of units, and local search improves them, again and again as prices change.
//
// All jumps of a chunk wait as long: a jump of round t is sent no sooner than after t latencies, and no later than leaves a latency for it and each
// round after it. So chunks that go one after the other through all rounds take about as long as the linear program says.
type patterns struct {
	s         *search
	m         *mixer
	plans     []*plan            // of the mixer
	whole     []*offer           // plans of the network before some of it failed
	offers    []*offer           // plans that may help
	hubs      *hubSearch         // finds others, nil: none does
	settled   int                // how often it has
	loose     bool               // hops of a chunk may wait one by one
	asks      bool               // a SAT solver finds others
	shapes    map[*plan]*pattern // of the plans that are patterns
	known     map[string]bool    // jumps of patterns, and hubs
	in, out   [][]int            // by member: from which there are links to it, and to which from it
	p         *model.Problem     // of one chunk, in rounds
	latency   model.Time         // between the members that are farthest apart
	unit      model.Time         // the least latency of a link, or more where there are many of them on the way
	rounds    int                // the diameter
	lasts     model.Time         // a round
	end       model.Time         // by which all of the buffer may follow plans
	budget    []float64          // by rounds above the diameter
	times     []int              // the same: how often patterns have been asked for
	exhausted bool               // no question is left
	r         *rand.Rand
	asked     int // questions so far
}

// patterned looks for mixtures of patterns, and reports whether it has found what is sooner over. Where a SAT solver finds none hops of a chunk may wait
// one by one, too: there are few chunks then.
func (s *search) patterned(of []*plan, m *mixer, end model.Time) bool {
	x, before, together := s.newPatterns(of, m, end), s.makespan, s.copies
	if x == nil {
		return false
	}
	s.mixing = &mixing{copies: together, patterns: x}
	s.mixAgain()
	for turn := 1; turn < patternTurns && x.asks && !x.exhausted && !s.over() && s.b.Left() < math.MaxInt64; turn++ {
		s.mixAgain()
	}
	if found := s.makespan; !x.asks && !s.b.Spent() {
		first := s.mixing
		s.mixing = &mixing{copies: together, patterns: x.apart(of, m, end)}
		if s.mixAgain(); s.makespan == found {
			s.mixing = first
		}
	}
	if s.makespan < before {
		return true
	}
	s.mixing = nil // what follows is no mixture of patterns
	return false
}

// newPatterns returns a search for patterns that goes on from plans with their mixer and a makespan, or nil if it does not serve the network.
func (s *search) newPatterns(of []*plan, m *mixer, end model.Time) *patterns {
	if s.bound == 0 || s.makespan <= s.bound/100*enoughFor {
		return nil
	}
	x := &patterns{s: s, plans: slices.Clone(of), known: map[string]bool{}, shapes: map[*plan]*pattern{}, end: end, budget: slices.Repeat([]float64{leastBudget}, moreRounds+1), times: make([]int, moreRounds+1), r: rand.New(rand.NewPCG(19, uint64(s.n())))}
	x.whole, x.asks = s.fromWhole(), s.jumps()
	x.offers = slices.Clone(x.whole)
	if x.asks {
		if _, err := cadical.Find(); err != nil {
			s.missing, x.asks = err, false
		}
	}
	if !x.asks && hubbed(s.p) && !s.images.regular() {
		x.hubs = s.hubSearch(31)
	}
	if !x.asks && x.hubs == nil && x.offers == nil {
		return nil
	}
	for u := range s.n() {
		for v := range s.n() {
			x.latency = max(x.latency, model.Time(s.guide.between(u, v)/perPicosecond))
		}
	}
	t := s.p.Topology
	x.unit = model.MaxTime
	for _, l := range t.Links {
		x.unit = min(x.unit, l.Alpha)
	}
	x.unit = max(x.unit, x.latency/mostUnits, 1)
	x.m = &mixer{s: s}
	for _, list := range m.all {
		x.m.all = append(x.m.all, abreast(list))
	}
	if !x.asks {
		return x
	}
	x.rounds = int(x.latency / x.unit)
	x.in, x.out = make([][]int, s.n()), make([][]int, s.n())
	for l, k := range t.Links {
		x.lasts = max(x.lasts, t.Duration([]int{l}, 1))
		if u, v := s.images.number[k.Src], s.images.number[k.Dst]; !slices.Contains(x.out[u], v) {
			x.out[u], x.in[v] = append(x.out[u], v), append(x.in[v], u)
		}
	}
	p := *s.p
	p.Size, p.Cost, p.Chunks = s.unit(), model.LinkRounds, []model.Chunk{{Size: s.unit()}}
	x.p = &p
	return x
}

// apart returns a search in which hops of a chunk may wait one by one, with the same offers. That promises more than is found by it; where chunks are
// few, or many hops are in the way of each other, it finds more all the same.
func (x *patterns) apart(of []*plan, m *mixer, end model.Time) *patterns {
	y := *x
	y.plans, y.m, y.end, y.exhausted = slices.Clone(of), &mixer{s: x.s, all: slices.Clone(m.all)}, end, false
	y.offers, y.known, y.settled, y.loose = slices.Clone(x.whole), map[string]bool{}, 0, true
	return &y
}

// jumps reports whether all hops of a network are over one link each, and of one latency, and formulas are small enough.
func (s *search) jumps() bool {
	t := s.p.Topology
	if n := s.n(); n != t.Nodes() || n > mostPatterned || len(t.Ports) > 0 || t.Links[0].Alpha == 0 {
		return false
	}
	return !slices.ContainsFunc(t.Links, func(l model.Link) bool { return l.Alpha != t.Links[0].Alpha })
}

// tariff is what a jump costs: by round, and in it by the number of its ranks.
type tariff [][]float64

// number returns the number of two members in a tariff.
func (x *patterns) number(u, v int) int { return u*x.s.n() + v }

// costs returns what a pattern costs.
func (x *patterns) costs(y *pattern, t tariff) (sum float64) {
	for _, j := range y.jumps {
		sum += t[j.round][x.number(j.from, j.to)]
	}
	return sum
}

// tariff returns the prices of the linear program for patterns of some rounds.
func (x *patterns) tariff(f *filled, rounds int) tariff {
	s, all := x.s, make(tariff, rounds)
	for round := range all {
		all[round] = make([]float64, s.n()*s.n())
		after, left := model.Time(round)*x.lasts, model.Time(rounds-round)*x.lasts
		by := make([]float64, len(s.images.size))
		for i, c := range f.cuts {
			if c.after <= after && c.left <= left {
				by[c.orbit] += f.prices[i]
			}
		}
		for l, k := range s.p.Topology.Links {
			o := s.images.orbit[l]
			all[round][x.number(s.images.number[k.Src], s.images.number[k.Dst])] = by[o] * float64(s.p.Size) / float64(k.Bandwidth) * 1e12 / float64(s.images.size[o])
		}
	}
	return all
}

// more finds patterns until it has asked for some number of them, or half of the time has passed.
func (x *patterns) more() {
	b, cancel := x.s.b.Share(2)
	defer cancel()
	for last := x.asked + mostAsked; x.asked < last && len(x.plans) < mostPatterns && !b.Spent(); {
		f := x.settle(muchOver)
		if f == nil {
			return
		}
		if x.end <= x.s.bound {
			x.exhausted = true
			return
		}
		if x.take(f) || x.moreHubs() || x.polish(f) {
			continue
		}
		if !x.asks {
			x.exhausted = true
			return
		}
		more := x.next()
		if x.exhausted = more < 0; x.exhausted {
			return
		}
		x.times[more]++
		budget, t := &x.budget[more], x.tariff(f, x.rounds+more)
		next := *budget + moreBudget*float64(x.s.b.Threads())
		found, err := x.answers(t, *budget)
		if err != nil {
			x.s.missing, x.exhausted = err, true
			return
		}
		for i, y := range found {
			if y == nil {
				continue
			}
			next = min(next, max(leastBudget, *budget+moreBudget*float64(i)-lessBudget))
			x.add(y)
			x.add(x.improved(y, t))
		}
		*budget = next
	}
}

// next returns how many rounds more than the diameter patterns are to have that are asked for: those that have been asked for least often, the fewest
// first and more often; -1 if all that are soon enough over have no answers.
func (x *patterns) next() int {
	best := -1
	for i, budget := range x.budget {
		if model.Time(x.rounds+i)*x.lasts < x.end && budget <= mostBudget && (best < 0 || (i+1)*x.times[i] < (best+1)*x.times[best]) {
			best = i
		}
	}
	return best
}

// answers asks for patterns with a budget and, if there are more threads, with more.
func (x *patterns) answers(t tariff, budget float64) ([]*pattern, error) {
	found, errs := make([]*pattern, x.s.b.Threads()), make([]error, x.s.b.Threads())
	var g sync.WaitGroup
	for i := range found {
		x.asked++
		seed := uint64(x.asked)
		g.Go(func() { found[i], errs[i] = x.ask(t, budget+moreBudget*float64(i), seed) })
	}
	g.Wait()
	return found, errors.Join(errs...)
}

// settle sets the makespan to one by which all of the buffer, and no more than some multiple of it, may follow plans, or to the least, and returns
// what follows each plan then; nil if the time is over. What may follow plans grows about as the time does that is left after the latencies.
func (x *patterns) settle(more float64) *filled {
	var best *filled
	least := x.latency
	low, high := model.Time(0), model.MaxTime
	for end := x.end; ; {
		f := x.m.fill(end)
		if f == nil {
			return nil
		}
		if !f.whole {
			continue
		}
		if f.sum < 1 {
			low = end
		} else {
			high, best = end, f
		}
		if f.sum >= 1 && f.sum <= more || best != nil && high-low <= high/sameEnd {
			x.end = high
			return best
		}
		end = least + model.Time(float64(end-least)/max(0.5, 2*f.sum/(1+more)))
		if end <= low || end >= high {
			if end = low + (high-low)/2; high == model.MaxTime {
				end = low + low/sidestep
			}
		}
	}
}

// mixing returns what a search for mixtures goes on with: the plans that the best mixtures take, and schedules of these; nil if the time is over.
func (x *patterns) mixing(copies int) *mixing {
	if x.settle(littleOver) == nil {
		return nil
	}
	var parts [][]float64
	for _, more := range []model.Time{0, 1, 2} {
		f := x.m.fill(x.end + x.end/100*more)
		if f == nil {
			return nil
		}
		for i := range f.parts {
			f.parts[i] /= max(f.sum, 1e-9)
		}
		parts = append(parts, f.parts)
	}
	m := &mixing{copies: copies, patterns: x}
	var used []int // those that most follow first
	for i := range x.plans {
		if slices.ContainsFunc(parts, func(list []float64) bool { return list[i] > 0 }) {
			used = append(used, i)
		}
	}
	slices.SortStableFunc(used, func(i, j int) int { return cmp.Compare(parts[0][j], parts[0][i]) })
	taken := make([][]float64, len(parts))
	for _, i := range used {
		m.of = append(m.of, x.plans[i])
		for j, list := range parts {
			taken[j] = append(taken[j], list[i])
		}
	}
	m.tries = x.s.exchange(m.of, fewPatterned, m.of, taken)
	if x.asks && x.s.makespan > x.end+x.end/muchLater {
		x.travel(used, copies)
	}
	return m
}

// add adds a pattern and, where each link has one that leads back, the same backwards, if they are new.
func (x *patterns) add(y *pattern) {
	n := x.s.n()
	for _, steps := range [][]step{y.steps(), mirrored(y.steps(), n)} {
		live(steps, n)
		z := patternOf(steps)
		if key := fmt.Sprint(z.jumps); !x.known[key] && !slices.ContainsFunc(z.jumps, func(j jump) bool { return !slices.Contains(x.out[j.from], j.to) }) {
			x.known[key] = true
			q := x.s.listed(steps)
			all := x.s.windows(q)
			for i := range all {
				all[i].after, all[i].left = model.Time(all[i].step)*x.lasts, model.Time(z.rounds-all[i].step)*x.lasts
			}
			x.plans, x.m.all = append(x.plans, q), append(x.m.all, all)
			x.shapes[q] = z
		}
	}
}

// improved returns a pattern in which jumps are replaced by others as long as that costs no more: sent in another round, or by another rank that
// has the same, or any others, where all is still right.
func (x *patterns) improved(y *pattern, t tariff) *pattern {
	n := x.s.n()
	now, next, w := &pattern{slices.Clone(y.jumps), y.rounds}, &pattern{rounds: y.rounds}, newWalk(n, y.rounds)
	if !w.follow(y.jumps, 0, y.rounds) {
		return y
	}
	for range jumpTries {
		i := x.r.IntN(len(now.jumps))
		old := now.jumps[i]
		with := old
		switch x.r.IntN(5) {
		case 0: // none in its place
			next.jumps = append(append(next.jumps[:0], now.jumps[:i]...), now.jumps[i+1:]...)
			if w.follow(next.jumps, old.round, old.round) {
				now, next = next, now
			}
			continue
		case 1:
			with.round = x.r.IntN(y.rounds)
		case 2:
			with.from = x.in[old.to][x.r.IntN(len(x.in[old.to]))]
		case 3:
			with.to = x.out[old.from][x.r.IntN(len(x.out[old.from]))]
			with.round, with.dropped = x.r.IntN(y.rounds), x.r.IntN(2) == 0
		default:
			with.from = x.r.IntN(n)
			with.to = x.out[with.from][x.r.IntN(len(x.out[with.from]))]
			with.round, with.dropped = x.r.IntN(y.rounds), x.r.IntN(2) == 0
		}
		if with == old || t[with.round][x.number(with.from, with.to)] > t[old.round][x.number(old.from, old.to)] {
			continue
		}
		next.jumps = append(append(next.jumps[:0], now.jumps[:i]...), now.jumps[i+1:]...)
		at, _ := slices.BinarySearchFunc(next.jumps, with, jump.compare)
		next.jumps = slices.Insert(next.jumps, at, with)
		if w.follow(next.jumps, min(old.round, with.round), max(old.round, with.round)) {
			now, next = next, now
		}
	}
	return now
}

// ask returns a pattern that costs no more than a budget, or nil if none is found, or an error of the solver.
func (x *patterns) ask(t tariff, budget float64, seed uint64) (*pattern, error) {
	if budget > mostBudget {
		return nil, nil
	}
	price := func(src, dst, round int) int {
		return int(math.Round(t[round][x.number(x.s.images.number[src], x.s.images.number[dst])] * priceUnits))
	}
	q := sat.Question{Problem: x.p, Horizon: len(t), Transfers: int(budget * priceUnits), Cost: price}
	form, err := q.Encode()
	if err != nil {
		return nil, err
	}
	r, err := cadical.Solve(x.s.b.Context(), form, cadical.Options{Seed: seed, Args: []string{"--sat", "--phase=0", "-c", mostConflicts}})
	if err != nil || r.Answer != cadical.Satisfiable {
		return nil, err
	}
	found, err := form.Schedule(r.Model)
	if err != nil {
		return nil, err
	}
	y := &pattern{rounds: len(t)}
	for _, tr := range found.Transfers {
		y.jumps = append(y.jumps, jump{x.s.images.number[tr.Src], x.s.images.number[tr.Dst], int(tr.Start), tr.Op == model.Copy})
	}
	slices.SortFunc(y.jumps, jump.compare)
	return y, nil
}

// polish adds improved patterns: of those that are followed, as they are and with one round more, in which nothing is sent at first. It reports
// whether there are any.
func (x *patterns) polish(f *filled) bool {
	if !x.asks {
		return false
	}
	before, tariffs := len(x.plans), map[int]tariff{}
	for i, q := range x.plans[:before] {
		y := x.shapes[q]
		if y == nil || f.parts[i] < leastFollowed {
			continue
		}
		for _, z := range []*pattern{y, y.longer(x.r.IntN(y.rounds + 1))} {
			if x.s.b.Spent() || model.Time(z.rounds)*x.lasts >= x.end {
				continue
			}
			t := tariffs[z.rounds]
			if t == nil {
				t = x.tariff(f, z.rounds)
				tariffs[z.rounds] = t
			}
			if z = x.improved(z, t); x.costs(z, t) < cheapEnough {
				x.add(z)
			}
		}
	}
	return len(x.plans) > before
}

// longer returns a pattern with one round more, which comes at some place: nothing is sent in it.
func (x *pattern) longer(at int) *pattern {
	y := &pattern{slices.Clone(x.jumps), x.rounds + 1}
	for i := range y.jumps {
		if y.jumps[i].round >= at {
			y.jumps[i].round++
		}
	}
	return y
}

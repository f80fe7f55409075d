package oneshot

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// lattice looks for plans of a layout among all lists of states: of any two that it finds, one keeps some links less busy or
// is sooner over. It sets labels, as for shortest paths with several costs (Martins, "On a multicriteria shortest path
// problem", European Journal of Operational Research 16, 1984).
type lattice struct {
	s    *search
	q    *plan
	kind []int     // by link: the number of its kind
	slow []float64 // by kind: how long a byte takes over one of its links, as a part of all of them
	legs [][]int   // by two members: the kinds of the links between them; nil: not asked for yet
}

// cost is what is to pay between two states, or up to one.
type cost struct {
	latency model.Time
	busy    []float64 // by kind
	peak    float64   // of a step, where it is busiest
}

// paid is what a step leads to and costs.
type paid struct {
	cost
	at *standing // nil: there is no such step
}

// list is a list of states, where it leads, and what it costs: a label.
type list struct {
	cost
	*standing
	from *list
}

// Limits of the lattice.
const (
	latticeWork = 1 << 24 // pairs of states times pairs of members
	mostLists   = 64      // for each state
	mostPaths   = 16      // of a layout, about
)

// paths returns plans of a layout of which none is better than another one, among all lists of states; none where there are too many
// of these.
func (s *search) paths(x *layout) (plans []*plan) {
	d, n := len(x.radix), len(x.member)
	work := n * n
	for range d {
		work *= 7 // what may become of a dimension
	}
	if work > latticeWork {
		return nil
	}
	l := &lattice{s: s, q: &plan{layout: x, nearby: true}, legs: make([][]int, n*n)}
	l.sort()
	s.guide.router.forget()
	all := uint(1)<<d - 1
	at := map[state][]*list{{}: {l.start()}}
	states := l.states()
	for i, from := range states {
		if len(at[from]) == 0 {
			continue
		}
		for _, to := range states[i+1:] {
			if from.summed&^to.summed != 0 || from.summed == to.summed && to.owned&^from.owned != 0 {
				continue
			}
			for _, a := range at[from] {
				if s.b.Spent() {
					return nil
				}
				if b := l.longer(a, to); b != nil {
					at[to] = add(at[to], b)
				}
			}
		}
	}
	for _, a := range at[state{summed: all}] {
		if len(plans) >= mostPaths {
			break
		}
		q := l.plan(a)
		plans = append(plans, q)
		if !mirrors(q.turns[0]) {
			plans = append(plans, &plan{layout: x, nearby: true, turns: q.turns, mirrored: true})
		}
	}
	return plans
}

// states returns all states, each after those from which it may come.
func (l *lattice) states() (all []state) {
	d := len(l.q.radix)
	for summed := range uint(1) << d {
		for owned := range uint(1) << d {
			if owned&^summed == 0 {
				all = append(all, state{summed, owned})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b state) int {
		return cmp.Or(cmp.Compare(bits.OnesCount(a.summed), bits.OnesCount(b.summed)), cmp.Compare(bits.OnesCount(b.owned), bits.OnesCount(a.owned)))
	})
	return all
}

// sort numbers the kinds of links.
func (l *lattice) sort() {
	type kind struct {
		alpha     model.Time
		bandwidth int64
		out, in   bool
	}
	t := l.s.p.Topology
	numbers, count := map[kind]int{}, []float64{}
	for _, x := range t.Links {
		k := kind{x.Alpha, x.Bandwidth, t.IsRank(x.Src), t.IsRank(x.Dst)}
		n, known := numbers[k]
		if !known {
			n = len(count)
			numbers[k] = n
			count, l.slow = append(count, 0), append(l.slow, 1/float64(x.Bandwidth))
		}
		count[n]++
		l.kind = append(l.kind, n)
	}
	for k := range l.slow {
		l.slow[k] /= count[k]
	}
}

// leg returns the kinds of the links of a shortest route.
func (l *lattice) leg(w pair) []int {
	known := &l.legs[w.from*len(l.q.member)+w.to]
	if *known == nil {
		for _, link := range l.s.guide.along(w) {
			*known = append(*known, l.kind[link])
		}
	}
	return *known
}

// start returns the list without states.
func (l *lattice) start() *list {
	return &list{cost: cost{busy: make([]float64, len(l.slow))}, standing: l.q.begin(make([]int, len(l.q.radix)))}
}

// pay returns what a step costs.
func (l *lattice) pay(from *standing, to state) *paid {
	g := l.s.guide
	x, next := g.next(from, to, from.digits)
	p := &paid{cost: cost{busy: make([]float64, len(l.slow))}, at: next}
	if next == nil {
		return p
	}
	after := make([]model.Time, len(l.q.member))
	for _, w := range x.pairs {
		t := model.Time(g.between(w.from, w.to) / perPicosecond)
		if x.phase != exchanging {
			t += after[w.from]
		}
		after[w.to] = max(after[w.to], t)
		p.latency = max(p.latency, t)
		for _, k := range l.leg(w) {
			p.busy[k] += l.slow[k]
			p.peak = max(p.peak, p.busy[k])
		}
	}
	return p
}

// longer returns a list with a state more, nil if none can follow.
func (l *lattice) longer(a *list, to state) *list {
	p := l.pay(a.standing, to)
	if p.at == nil {
		return nil
	}
	b := &list{cost: cost{a.latency + p.latency, slices.Clone(a.busy), max(a.peak, p.peak)}, standing: p.at, from: a}
	for k := range p.busy {
		b.busy[k] += p.busy[k]
	}
	return b
}

// dominates reports whether a list costs no more than another one in any respect.
func (a *list) dominates(b *list) bool {
	for k := range a.busy {
		if a.busy[k] > b.busy[k]*(1+1e-9) {
			return false
		}
	}
	return a.latency <= b.latency && a.peak <= b.peak*(1+1e-9)
}

// add adds a list to those that lead to a state if none of these is as good and there are few, and takes out those that it is better
// than.
func add(lists []*list, a *list) []*list {
	for _, b := range lists {
		if b.dominates(a) {
			return lists
		}
	}
	if lists = slices.DeleteFunc(lists, a.dominates); len(lists) >= mostLists {
		return lists
	}
	return append(lists, a)
}

// plan returns a plan that goes through the states of a list, and through those in which other dimensions stand in their places
// for as much.
func (l *lattice) plan(a *list) *plan {
	var states []state
	for b := a; b.from != nil; b = b.from {
		states = append(states, b.at)
	}
	slices.Reverse(states)
	q := &plan{layout: l.q.layout, nearby: true}
	for shift := range l.q.radix {
		turned := make([]state, len(states))
		for i, x := range states {
			turned[i] = state{l.turned(x.summed, shift), l.turned(x.owned, shift)}
		}
		if shift == 0 || l.alike(a, turned) && !slices.ContainsFunc(q.turns, func(old []state) bool { return slices.Equal(old, turned) }) {
			q.turns = append(q.turns, turned)
		}
	}
	return q
}

// turned returns a set of dimensions moved on by some.
func (l *lattice) turned(set uint, by int) (moved uint) {
	d := len(l.q.radix)
	for j := range d {
		moved |= set >> j & 1 << ((j + by) % d)
	}
	return moved
}

// alike reports whether a list of states costs no more than another one.
func (l *lattice) alike(a *list, states []state) bool {
	b := l.start()
	for _, next := range states {
		if b = l.longer(b, next); b == nil {
			return false
		}
	}
	return b.dominates(a)
}

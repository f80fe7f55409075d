package oneshot

import (
	"cmp"
	"math"
	"slices"
)

// state is how far a chunk is: along which dimensions of a layout sums are added up, as a set, and along which of these only
// owners have them, those with some digit. It begins with no dimension, and ends with all added up and no owners. A plan goes
// through states between these.
type state struct{ summed, owned uint }

// turn returns the states in which owners add up along the first dimensions of an order, all exchange sums along the others,
// one after the other, and then sums go back.
func turn(order []int, collected int) (states []state) {
	at := state{}
	for i, j := range order {
		at.summed |= 1 << j
		if i < collected {
			at.owned |= 1 << j
		}
		states = append(states, at)
	}
	for i := collected - 1; i >= 0; i-- {
		at.owned &^= 1 << order[i]
		states = append(states, at)
	}
	return states
}

// mirrors reports whether a plan through these states is the same backwards: owners add up, all exchange, and sums go back.
func mirrors(states []state) bool {
	at := state{}
	for i, to := range states {
		if to.owned != at.owned && to.owned != at.owned|to.summed&^at.summed && to.summed != at.summed {
			return false
		}
		if states[len(states)-1-i].owned != at.owned {
			return false
		}
		at = to
	}
	return true
}

// product returns how many digits there are in some dimensions together.
func (x *layout) product(dimensions uint) int {
	all := 1
	for j, r := range x.radix {
		if dimensions>>j&1 == 1 {
			all *= r
		}
	}
	return all
}

// between returns how many transfers go from one state to another one.
func (x *layout) between(from, to state) int {
	n := len(x.member)
	return n/x.product(to.owned)*x.product(to.summed&^from.summed) - n/x.product(from.owned|to.owned)
}

// ownDigits returns the digits of the owners with some number in each dimension.
func (q *plan) ownDigits(states []state, owner int) []int {
	digits := make([]int, len(q.radix))
	seen := uint(0)
	for _, x := range states {
		for j, r := range q.radix {
			if bit := uint(1) << j; x.owned&^seen&bit != 0 {
				digits[j], owner = owner%r, owner/r
			}
		}
		seen |= x.owned
	}
	return digits
}

// holders returns the members that have their digits of some dimensions.
func (q *plan) holders(owned uint, digits []int) (list []int) {
	for v := range q.member {
		if q.holds(v, owned, digits) {
			list = append(list, v)
		}
	}
	return list
}

func (q *plan) holds(v int, owned uint, digits []int) bool {
	for j := range q.radix {
		if owned>>j&1 == 1 && q.digits[j][v] != digits[j] {
			return false
		}
	}
	return true
}

// standing is where a chunk is on its way through states.
type standing struct {
	q      *plan
	at     state
	digits []int // of owners, by dimension
	home   []int // by member: the one whose digits tell which sum it has, or is to have next
}

// begin returns where chunks begin whose owners have some digits.
func (q *plan) begin(digits []int) *standing {
	x := &standing{q: q, digits: digits, home: make([]int, len(q.member))}
	for v := range x.home {
		x.home[v] = v
	}
	return x
}

// next returns what leads to a state, whose owners have some digits, without routes, and where a chunk is then, or nil if nobody has
// what is needed. Digits differ from those before only where owners exchange sums.
func (g *guide) next(x *standing, to state, digits []int) (step, *standing) {
	q, from := x.q, x.at
	grown := to.summed &^ from.summed
	y := &standing{q: q, at: to, digits: digits, home: x.home}
	had, have := q.holders(from.owned, x.digits), q.holders(to.owned, digits)
	own := func(v int) int { // the owner in v's group
		for j, r := range q.radix {
			if (to.owned|from.owned)>>j&1 == 1 {
				v = q.peer(v, j, digits[j]-q.digits[j][v]+r)
			}
		}
		return v
	}
	switch {
	case grown == 0:
		down := g.forest(have, had, own, func(u, v int) int64 { return g.between(v, u) })
		slices.Reverse(down)
		y.home = slices.Clone(x.home)
		for k, w := range down {
			down[k].from, down[k].to = w.to, w.from
			y.home[w.from] = y.home[w.to]
		}
		return step{phase: spreading, pairs: down}, y
	case from.owned == from.summed && to.owned == to.summed: // each sum is at one place
		return step{phase: collecting, pairs: g.forest(had, have, own, g.between)}, y
	}
	s, ok := g.exchange(x, to, had, have)
	if !ok {
		return s, nil
	}
	return s, y
}

// part returns the digits of a member in some dimensions, as a number.
func (x *layout) part(v int, dimensions uint) (sum int) {
	for j, r := range x.radix {
		if sum *= r; dimensions>>j&1 == 1 {
			sum += x.digits[j][v]
		}
	}
	return sum
}

// exchange returns the step in which each of some members gets the sums of all parts of its group from some who had them:
// from its peer, or from the nearest that has each, and of these from its peer, if it is among them, else from the one that
// sends least. It returns false if nobody has one of them.
func (g *guide) exchange(x *standing, to state, had, have []int) (s step, ok bool) {
	q := x.q
	s.phase = exchanging
	others := (uint(1)<<len(q.radix) - 1) &^ x.at.summed
	having := map[int][]int{} // by number of the sum
	holds := make([]bool, len(q.member))
	for _, v := range had {
		c := q.part(x.home[v], others)
		having[c] = append(having[c], v)
		holds[v] = true
	}
	sends := make([]int, len(q.member))
	grown := to.summed &^ x.at.summed
	for d := range q.product(grown) {
		for _, v := range have {
			u, left := x.home[v], d // a peer, of whom the sum is
			for j, r := range q.radix {
				if grown>>j&1 == 1 {
					u, left = q.peer(u, j, left%r), left/r
				}
			}
			if d == 0 {
				if holds[v] {
					continue
				}
				s.stale = append(s.stale, v)
			}
			sum := q.part(u, others)
			source, least := -1, int64(math.MaxInt64)
			if holds[u] && x.home[u] == u {
				source, least = u, g.between(u, v)
			}
			if source < 0 || q.nearby {
				for _, w := range having[sum] {
					if far := g.between(w, v); far < least || far == least && source != u && sends[w] < sends[source] {
						source, least = w, far
					}
				}
			}
			if source < 0 {
				return s, false
			}
			sends[source]++
			s.pairs = append(s.pairs, pair{from: source, to: v})
		}
	}
	slices.SortStableFunc(s.pairs, func(a, b pair) int { return cmp.Compare(g.between(b.from, b.to), g.between(a.from, a.to)) })
	return s, true
}

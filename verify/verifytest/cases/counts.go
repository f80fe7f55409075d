package cases

import (
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
)

// RandomCounts returns what Counts does, right or with one or two changes of how often
// contributions occur, or, unless it has the form Ordered, of transfers.
func RandomCounts(rng *rand.Rand, form model.Form) *Case {
	c := Counts(rng, model.Operator(rng.IntN(4)), form)
	for range max(0, rng.IntN(4)-1) {
		if form == model.Ordered || rng.IntN(2) == 0 {
			c.recount(rng)
		} else {
			c.mutate(rng)
		}
	}
	return c
}

// Counts returns a right schedule of a custom collective in which contributions occur more
// than once, in any order of the counts, at the start and at the end: ranks send at random
// what they have, and what some of them end with is wanted.
func Counts(rng *rand.Rand, op model.Operator, form model.Form) *Case {
	n, chunks := 2+rng.IntN(3), 1+rng.IntN(2)
	collective := model.Collective{Kind: model.Custom, Op: op, Chunks: chunks}
	type move struct {
		chunk, src, dst int
		op              model.Op
	}
	var moves []move
	for k := range chunks {
		has := make([][]int, n) // by rank: how often each contribution, nil: undefined
		for r := range has {
			if rng.IntN(3) > 0 || r == n-1 && has[0] == nil {
				has[r] = make([]int, n)
				for j := range has[r] {
					has[r][j] = max(0, rng.IntN(5)-1)
				}
				has[r][rng.IntN(n)]++
				collective.Pre = append(collective.Pre, model.Condition{Rank: r, Chunk: k, Value: value(has[r])})
			}
		}
		for range rng.IntN(4) / chunks {
			src, dst := rng.IntN(n), rng.IntN(n)
			if src == dst || has[src] == nil {
				continue
			}
			m := move{k, src, dst, model.Reduction}
			if has[dst] == nil || rng.IntN(4) == 0 {
				m.op, has[dst] = model.Copy, make([]int, n)
			}
			for j, c := range has[src] {
				has[dst][j] += c
			}
			moves = append(moves, m)
		}
		wants := false
		for r, v := range has {
			if v != nil && (rng.IntN(3) > 0 || r == n-1) {
				collective.Post, wants = append(collective.Post, model.Condition{Rank: r, Chunk: k, Value: value(v)}), true
			}
		}
		if !wants {
			return Counts(rng, op, form)
		}
	}
	c := New(n, collective, 1, form)
	for i, m := range moves {
		c.Step(i, m.chunk, m.src, m.dst, m.op)
	}
	return c
}

// value returns the multiset with these counts.
func value(counts []int) model.Value {
	var terms []model.Term
	for r, c := range counts {
		if c > 0 {
			terms = append(terms, model.Term{Rank: r, Count: c})
		}
	}
	return model.Multiset(terms...)
}

// recount changes how often a contribution is in a condition of a custom collective, at the
// start or at the end.
func (c *Case) recount(rng *rand.Rand) {
	p := *c.P
	list := &p.Collective.Pre
	if rng.IntN(2) == 0 {
		list = &p.Collective.Post
	}
	changed := append([]model.Condition(nil), *list...)
	at := &changed[rng.IntN(len(changed))]
	counts := counts(c.P, at.Value)
	counts[rng.IntN(len(counts))] += 1
	if j := rng.IntN(len(counts)); at.Value.Len() > 1 && counts[j] > 0 {
		counts[j]--
	}
	at.Value = value(counts)
	*list, c.P = changed, &p
}

// counts returns how often each rank's contribution is in v.
func counts(p *model.Problem, v model.Value) []int {
	c := make([]int, p.Topology.Ranks)
	for r, n := range v.Terms() {
		c[r] += n
	}
	return c
}

// Package stragglar is the allreduce that hides a persistent straggler: Devraj et
// al., "Efficient AllReduce with Stragglers" (arXiv:2505.23523). While one rank is
// late the others reduce among themselves; when it arrives, the rest takes
// n-2+log2 n rounds instead of the 2(n-1) of a ring.
//
// NewPublished is the paper's construction, for powers of two, NewMatching its heuristic
// for other even numbers. New is a construction for every number n of ranks and m of
// chunks, in m + ⌈log2 n⌉ - 1 rounds, the least there can be.
package stragglar

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// published is the construction of the paper, for powers of two.
type published struct{}

// NewPublished returns the construction of the paper (section 4 and theorem 1):
// allreduce for n = 2^q ranks, in n-1 chunks.
func NewPublished() solve.Solver { return published{} }

// Name implements solve.Solver.
func (published) Name() string { return "stragglar-published" }

// About implements solve.Solver.
func (published) About() solve.About {
	return solve.About{
		Serves:    "allreduce, 2^q ranks",
		Guarantee: "n-2+log2 n rounds after the straggler's arrival on a switch",
		Source:    "Devraj et al., arXiv:2505.23523",
		LateOnly:  true,
	}
}

// Serves implements solve.Solver.
func (published) Serves(p *model.Problem) error {
	n := len(p.Members())
	switch {
	case p.Collective.Kind != model.AllReduce:
		return solve.NotServed("serves allreduce, not %v", p.Collective.Kind)
	case n < 2 || n&(n-1) != 0:
		return solve.NotServed("serves a power of two of ranks, not %d", n)
	case p.Chunks != nil && len(p.Chunks) != n-1:
		return solve.NotServed("cuts the buffer into %d chunks, not %d", n-1, len(p.Chunks))
	case p.Space() < int64(n-1):
		return solve.NotServed("cuts the buffer into %d chunks, more than its %d bytes", n-1, p.Space())
	case n > 1<<11:
		return solve.NotServed("would make more than 2^23 transfers for %d ranks", n)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	return nil
}

// Solve implements solve.Solver. The straggler is the member that arrives last.
func (s published) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	b, cancel := o.Budget(ctx)
	defer cancel()
	ctx = b.Context()
	if err := s.Serves(p); err != nil {
		return solve.Result{}, err
	}
	n := len(p.Members())
	if p.Chunks == nil {
		p = p.WithChunks(n - 1)
	}
	owners := make([]int, n-1)
	for c := range owners {
		owners[c] = c
	}
	return hide(p, owners, Rounds(n), "").place(ctx)
}

// move is a transfer between members: the ready ones are 0..n-2, the straggler n-1.
type move struct {
	chunk, from, to int
	op              model.Op
}

// Round is what happens at one time after the straggler's arrival.
type Round struct{ moves []move }

// state is what the ready members hold before round u. Chunks are numbered from 1;
// those below 1 are virtual: everyone has them, and their transfers are left out,
// which gives the start-up for nothing. With q = log2 n the members fall into
// classes[1..q], classes[j] having 2^(j-1) members: a member of classes[j] holds
// all chunks up to u-q-1 and chunk u-j, and nothing else that is complete.
type state struct {
	q       int
	u       int
	classes [][]int
}

// Rounds returns the rounds after the arrival for n = 2^q members, n-2+q of them.
// Member u-1 has the ready members' sum of chunk u.
func Rounds(n int) []Round {
	q := bits.Len(uint(n)) - 1
	s := &state{q: q, u: 1, classes: make([][]int, q+1)}
	// Owners must be in classes[q] when it is their turn: the first ones begin there.
	next := 0
	for j := q; j >= 1; j-- {
		for range 1 << (j - 1) {
			s.classes[j] = append(s.classes[j], next)
			next++
		}
	}
	var rounds []Round
	for s.u = 1; s.u <= n-1; s.u++ {
		rounds = append(rounds, s.exchange(n))
	}
	s.classes[1] = append(s.classes[1], n-1) // the straggler holds the last chunk, and all before
	for ; s.u <= n-1+q-1; s.u++ {
		rounds = append(rounds, s.spread(n))
	}
	return rounds
}

// chunk returns the number of the chunk that the members of class j have and the
// base has not, as an index, or -1 if it is virtual.
func (s *state) chunk(j int) int {
	if c := s.u - j; c >= 1 {
		return c - 1
	}
	return -1
}

// exchange is a round with the straggler: it swaps chunk u with the chunk's owner,
// and each other member x of the base classes[q] swaps with a member y of another
// class: x sends u-q, which y lacks, and gets what y's class has. Owners that are
// soon due are matched with classes[q-1], which is the next base.
func (s *state) exchange(n int) Round {
	owner := s.u - 1
	base := slices.DeleteFunc(slices.Clone(s.classes[s.q]), func(x int) bool { return x == owner })
	due := func(x int) int { // in how many rounds x is owner again: never is late
		if x >= s.u {
			return x - s.u
		}
		return n + x
	}
	slices.SortFunc(base, func(a, b int) int { return cmp.Compare(due(a), due(b)) })
	r := Round{[]move{{s.u - 1, n - 1, owner, model.Reduction}, {s.u - 1, owner, n - 1, model.Reduction}}}
	next := make([][]int, s.q+1)
	s.swap(base, next, &r)
	next[1] = append(next[1], owner)
	s.classes = next
	return r
}

// spread is a round after the last chunk has come in: the straggler is one more
// member of the class of the last chunk, so that the base is exactly half of all.
func (s *state) spread(n int) Round {
	var r Round
	next := make([][]int, s.q+1)
	s.swap(s.classes[s.q], next, &r)
	s.classes = next
	return r
}

// swap matches the base with the other classes, the highest first, and writes down
// the next state: who is in class j, or was matched with it, is in class j+1.
func (s *state) swap(base []int, next [][]int, r *Round) {
	i := 0
	for j := s.q - 1; j >= 1; j-- {
		for _, y := range s.classes[j] {
			x := base[i]
			i++
			if c := s.chunk(s.q); c >= 0 {
				r.moves = append(r.moves, move{c, x, y, model.Copy})
			}
			if c := s.chunk(j); c >= 0 {
				r.moves = append(r.moves, move{c, y, x, model.Copy})
			}
			next[j+1] = append(next[j+1], y, x)
		}
	}
}

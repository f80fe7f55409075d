package stragglar

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/matching"
	"github.com/oraccl/oraccl/solve/place"
)

// matched is the paper's heuristic where the number of ranks is no power of two.
type matched struct{}

// maxMatched is the largest number of ranks for which the heuristic runs: each of its
// rounds takes O(n³) time.
const maxMatched = 512

// NewMatching returns the paper's heuristic for even numbers of ranks that are no
// powers of two: allreduce in n-1 chunks, whose rounds after the straggler's arrival
// are matchings of maximum weight, the best of some ways to break their ties. It is here
// for comparison: it takes up to some 5 % more rounds than New needs.
func NewMatching() solve.Solver { return matched{} }

// Name implements solve.Solver.
func (matched) Name() string { return "stragglar-matching" }

// About implements solve.Solver.
func (matched) About() solve.About {
	return solve.About{
		Serves:    fmt.Sprintf("allreduce, even numbers of ranks from 6 to %d that are no powers of two", maxMatched),
		Guarantee: "none: a heuristic, for comparison",
		Source:    "the same authors' matchings of maximum weight",
		LateOnly:  true,
	}
}

// Serves implements solve.Solver.
func (matched) Serves(p *model.Problem) error {
	n := len(p.Members())
	switch {
	case p.Collective.Kind != model.AllReduce:
		return solve.NotServed("serves allreduce, not %v", p.Collective.Kind)
	case n < 6 || n%2 != 0 || n&(n-1) == 0:
		return solve.NotServed("serves an even number of ranks, 6 or more, that is no power of two, not %d", n)
	case n > maxMatched:
		return solve.NotServed("would take too long for %d ranks, want %d at most", n, maxMatched)
	case p.Chunks != nil && len(p.Chunks) != n-1:
		return solve.NotServed("cuts the buffer into %d chunks, not %d", n-1, len(p.Chunks))
	case p.Space() < int64(n-1):
		return solve.NotServed("cuts the buffer into %d chunks, more than its %d bytes", n-1, p.Space())
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	return nil
}

// Solve implements solve.Solver. The straggler is the member that arrives last. It uses
// no options.
func (h matched) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	b, cancel := o.Budget(ctx)
	defer cancel()
	ctx = b.Context()
	if err := h.Serves(p); err != nil {
		return solve.Result{}, err
	}
	n := len(p.Members())
	if p.Chunks == nil {
		p = p.WithChunks(n - 1)
	}
	rounds, err := fewestRounds(ctx, n)
	if err != nil {
		return solve.Result{}, err
	}
	if rounds == nil {
		return solve.Result{Problem: p, Stop: solve.Interrupted}, nil
	}
	return hide(p, RoundRobin(n, n-1), rounds, "").place(ctx)
}

// chunkSet is a set of chunks, a bit each.
type chunkSet []uint64

func (s chunkSet) add(c int) { s[c/64] |= 1 << (c % 64) }

// highest returns the last chunk of s, -1 if there is none.
func (s chunkSet) highest() int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0 {
			return 64*i + bits.Len64(s[i]) - 1
		}
	}
	return -1
}

// offers returns the chunk that a rank with s sends to one with t: the first that only
// s has, or with last the last one; -1 if there is none.
func (s chunkSet) offers(t chunkSet, last bool) int {
	for k := range s {
		i := k
		if last {
			i = len(s) - 1 - k
		}
		switch only := s[i] &^ t[i]; {
		case only == 0:
		case last:
			return 64*i + bits.Len64(only) - 1
		default:
			return 64*i + bits.TrailingZeros64(only)
		}
	}
	return -1
}

// holdings are the complete chunks of each rank before round u, counted from 0; rank u
// is the owner of chunk u. Rank r is vertex label[r] of the matchings.
type holdings struct {
	n, q, u int
	has     []chunkSet
	label   []int
}

const (
	// mostOrders is in how many orders of the ranks the matchings are looked for at most.
	mostOrders = 16
	// mostMatched is how many steps they take in all at most, as n⁴ for each order.
	mostMatched = 1 << 28
)

// fewestRounds returns the fewest of the rounds after the arrival in several orders of the
// ranks, the first the ranks' own, or nil if ctx ends before there are any. Which of the
// heaviest matchings is taken the paper leaves open, and that makes a few rounds more or
// less.
func fewestRounds(ctx context.Context, n int) (best []Round, err error) {
	label := make([]int, n)
	for r := range label {
		label[r] = r
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for range min(mostOrders, max(1, mostMatched/(n*n*n*n))) {
		rounds, err := matchedRounds(ctx, n, label)
		if err != nil || rounds == nil {
			return best, err
		}
		if best == nil || len(rounds) < len(best) {
			best = rounds
		}
		rng.Shuffle(n, func(i, j int) { label[i], label[j] = label[j], label[i] })
	}
	return best, nil
}

// matchedRounds returns the rounds after the arrival, or nil if ctx ends. In round
// u < n-1 the straggler and the owner exchange chunk u. In rounds 1 to q-1 rank u-1
// passes chunk u-1 on to rank u-1+q. Of the other ranks as many as can are paired,
// such that as many transfers as can take place; see worth. Rank r is vertex label[r] of
// the matchings, which decides between those that are equally heavy.
func matchedRounds(ctx context.Context, n int, label []int) ([]Round, error) {
	h := &holdings{n: n, q: ceilLog2(n), has: make([]chunkSet, n), label: label}
	for r := range h.has {
		h.has[r] = make(chunkSet, (n-1+63)/64)
	}
	var rounds []Round
	for missing := n * (n - 1); missing > 0; h.u++ {
		if ctx.Err() != nil {
			return nil, nil
		}
		moves, err := h.round()
		if err != nil {
			return nil, err
		}
		for _, m := range moves {
			h.has[m.to].add(m.chunk)
		}
		missing -= len(moves)
		rounds = append(rounds, Round{moves})
	}
	return rounds, nil
}

// round returns the moves of the next round.
func (h *holdings) round() ([]move, error) {
	var moves []move
	busy := make([]bool, h.n)
	send := func(from, to, chunk int, op model.Op) {
		moves = append(moves, move{chunk, from, to, op})
		busy[from], busy[to] = true, true
	}
	if h.entering() {
		send(h.n-1, h.u, h.u, model.Reduction)
		send(h.u, h.n-1, h.u, model.Reduction)
	}
	if 0 < h.u && h.u < h.q {
		send(h.u-1, h.u-1+h.q, h.u-1, model.Copy)
	}
	var edges []matching.Edge
	for x := range h.n {
		for y := x + 1; y < h.n && !busy[x]; y++ {
			if w := h.worth(x, y); w > 0 && !busy[y] {
				edges = append(edges, matching.Edge{U: h.label[x], V: h.label[y], Weight: w})
			}
		}
	}
	mate, err := matching.Max(h.n, edges, true)
	if err != nil {
		return nil, err
	}
	rank := make([]int, h.n)
	for r, v := range h.label {
		rank[v] = r
	}
	for x, v := range h.label {
		if mate[v] < 0 {
			continue
		}
		y := rank[mate[v]]
		if c := h.has[x].offers(h.has[y], !h.entering()); c >= 0 {
			send(x, y, c, model.Copy)
		}
	}
	return moves, nil
}

// entering reports whether chunks still come in from the straggler.
func (h *holdings) entering() bool { return h.u < h.n-1 }

// worth returns how many transfers take place if x and y are paired, 0 if they may not
// be. While chunks come in, the oldest is sent, and a rank that is owner in d < q
// rounds is kept from the chunks later than u+d-q; in the first q rounds it is one
// that has something with one that has nothing and is not due for what its round has
// for it. After that the newest is sent.
func (h *holdings) worth(x, y int) int64 {
	a, b := h.has[x], h.has[y]
	if h.u < h.q {
		empty := func(r int) bool { return h.has[r].highest() < 0 }
		if empty(x) != empty(y) && (!empty(x) || x > 2*(h.q-1)) && (!empty(y) || y > 2*(h.q-1)) {
			return 1
		}
		return 0
	}
	if h.entering() {
		for _, p := range [2]struct{ soon, other int }{{x, y}, {y, x}} {
			d := p.soon - h.u
			if d > 0 && d < h.q && h.has[p.other].highest() > h.u+d-h.q {
				return 0
			}
		}
	}
	w := int64(0)
	if a.offers(b, false) >= 0 {
		w++
	}
	if b.offers(a, false) >= 0 {
		w++
	}
	return w
}

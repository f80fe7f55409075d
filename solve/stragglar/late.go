package stragglar

import (
	"context"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/matching"
)

// maxLateRanks is the largest number of ranks for which several late ones are served
// by matchings: each round takes O(n³) time.
const maxLateRanks = 64

// gathering is the state of the rounds after several ranks have arrived together. The
// ready ranks are 0..ready-1, the late ones ready..n-1. Each chunk has a root, to which
// every late rank sends its part, and, if the root is late itself, the owner the sum of
// the ready ranks; what is complete there is then spread. That is l merges and n-1
// copies of each byte for l late ranks, which no schedule can do with less, and with the
// roots taking turns among all ranks every port has the same share of them:
// (n-1+l)/n of the buffer.
type gathering struct {
	n, ready int
	roots    []int // by chunk
	owners   []int
	merged   [][]bool // by chunk and rank: it has sent its part
	missing  []int    // by chunk: parts that the root still waits for
	has      [][]bool // by chunk and rank: it is complete there
	holders  []int    // by chunk
}

// gather returns the rounds for n ranks of which the last n-ready are late, or nil if ctx
// ends. Each is a matching of senders with receivers of the largest size, of those one
// that completes chunks early and spreads rare ones first.
func gather(ctx context.Context, n, ready int, roots, owners []int) ([]Round, error) {
	g := &gathering{n: n, ready: ready, roots: roots, owners: owners}
	left := 0
	for c, root := range roots {
		g.merged, g.has = append(g.merged, make([]bool, n)), append(g.has, make([]bool, n))
		missing := n - ready
		if root < ready && owners[c] != root {
			missing++ // the sum of the ready ranks is elsewhere
		}
		g.missing, g.holders = append(g.missing, missing), append(g.holders, 0)
		left += missing + n - 1
	}
	var rounds []Round
	for left > 0 {
		if ctx.Err() != nil {
			return nil, nil
		}
		moves, err := g.round()
		if err != nil {
			return nil, err
		}
		left -= len(moves)
		rounds = append(rounds, Round{moves})
	}
	return rounds, nil
}

// offer returns what x best sends to y, and what that is worth: 0 for nothing.
func (g *gathering) offer(x, y int) (chunk int, op model.Op, worth int64) {
	chunks := int64(len(g.roots))
	for c, root := range g.roots {
		var w int64
		o := model.Copy
		switch {
		case g.missing[c] > 0 && root == y && !g.merged[c][x] && (x >= g.ready || g.owners[c] == x) && x != root:
			o, w = model.Reduction, 2*chunks*int64(g.n)+(chunks-int64(c))*int64(g.n)
		case g.has[c][x] && !g.has[c][y]:
			w = chunks * int64(g.n-g.holders[c])
		}
		if w > worth {
			chunk, op, worth = c, o, w
		}
	}
	return chunk, op, worth
}

// round returns the moves of the next round.
func (g *gathering) round() ([]move, error) {
	type pair struct{ x, y int }
	offers := map[pair]move{}
	var edges []matching.Edge
	for x := range g.n {
		for y := range g.n {
			if x == y {
				continue
			}
			if c, op, w := g.offer(x, y); w > 0 {
				offers[pair{x, y}] = move{c, x, y, op}
				edges = append(edges, matching.Edge{U: x, V: g.n + y, Weight: w})
			}
		}
	}
	mate, err := matching.Max(2*g.n, edges, true)
	if err != nil {
		return nil, err
	}
	var moves []move
	for x := range g.n {
		if mate[x] >= 0 {
			moves = append(moves, offers[pair{x, mate[x] - g.n}])
		}
	}
	for _, m := range moves {
		c := m.chunk
		if m.op == model.Copy {
			g.has[c][m.to] = true
			g.holders[c]++
			continue
		}
		g.merged[c][m.from] = true
		if g.missing[c]--; g.missing[c] == 0 {
			g.has[c][m.to] = true
			g.holders[c]++
		}
	}
	return moves, nil
}

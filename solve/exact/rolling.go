package exact

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/ten"
)

const (
	// roundColumns is how many columns a round may have.
	roundColumns = 12000
	// roundTime is the longest that the solver may take for a round.
	roundTime = 20 * time.Second
	// roundGap is how close to the best a round must get.
	roundGap = 0.01
)

// servesRounds reports whether the shortest useful round of n is small enough.
func servesRounds(n *ten.Network) error {
	if n.Problem.Late() {
		return solve.NotServed("serves ranks that all arrive at once")
	}
	n.Open()
	if n.Horizon = longest(n); n.Horizon > 0 {
		if columns, _ := size(n); columns > maxColumns {
			return tooLarge(int64(columns), "for a round of %d epochs", n.Horizon)
		}
	}
	return nil
}

// longest returns the epochs of the slowest transfer.
func longest(n *ten.Network) int {
	most := 1
	for h := range n.Hops {
		for k := range n.Problem.Chunks {
			most = max(most, n.Delay(k, h))
		}
	}
	return most
}

// rounds finds a schedule in rounds of some epochs each. What a round sends arrives in it,
// and the next one starts from there. A round is worth the epochs for which demands are
// met in it, and at its end half as much for what brought chunks nearer to others.
// Afterwards everything starts as early as it can, so that the ends of rounds cost little.
func (r *run) rounds(q *model.Problem, hops []hop.Hop, epoch, _ model.Time) (s *model.Schedule, done bool) {
	state := *q
	state.Collective = custom(q)
	s = &model.Schedule{Form: model.FormFor(q.Cost)}
	at, count, width := 0, 0, 0
	for ; len(state.Collective.Post) > 0; count++ {
		n := ten.New(&state, hops, epoch, 0)
		n.Open()
		slowest := longest(n)
		if width == 0 {
			width = 4 * slowest
		}
		n.Horizon = width
		for n.Horizon > slowest {
			if columns, _ := size(n); columns <= roundColumns {
				break
			}
			n.Horizon--
		}
		if r.options.Progress != nil {
			columns, rows := size(n)
			r.options.Progress(solve.Progress{Note: fmt.Sprintf("round %d of %d epochs of %v, %d demands left: %d columns, %d rows", count+1, n.Horizon, epoch, len(state.Collective.Post), columns, rows)})
		}
		if r.budget.Stop() != 0 {
			r.limited()
			r.notes = append(r.notes, fmt.Sprintf("%v in round %d, with %d demands left", r.stop, count+1, len(state.Collective.Post)))
			return nil, false
		}
		e := encodeFor(n, r.w, progress(n), true)
		result, err := highs.Solve(r.budget.Context(), &e.Model, highs.Options{TimeLimit: roundTime, MIPGap: roundGap, Seed: r.options.Seed, Threads: max(0, r.options.Threads)})
		if err != nil {
			r.notes = append(r.notes, err.Error())
			return nil, false
		}
		r.raw = result.RawStatus
		var part *model.Schedule
		if result.HasSolution {
			if part, err = e.decode(result.Values); err != nil {
				r.notes = append(r.notes, err.Error())
				return nil, false
			}
		}
		if part == nil || len(part.Transfers) == 0 {
			if width > 64*slowest {
				r.notes = append(r.notes, fmt.Sprintf("gave up in round %d: no progress in %d epochs", count+1, n.Horizon))
				return nil, false
			}
			width *= 2
			continue
		}
		end := 0
		for _, t := range part.Transfers {
			end = max(end, int(t.End))
			t.Route += int32(len(s.Routes))
			t.Start, t.End = t.Start+model.Time(at), t.End+model.Time(at)
			s.Transfers = append(s.Transfers, t)
			state.Collective.Pre = append(state.Collective.Pre, model.Condition{Rank: int(t.Dst), Chunk: int(t.Chunk), Value: valueOf(q, int(t.Chunk))})
		}
		s.Routes = append(s.Routes, part.Routes...)
		at += end
		model.SortConditions(state.Collective.Pre)
		state.Collective.Post = slices.DeleteFunc(state.Collective.Post, func(c model.Condition) bool {
			return slices.ContainsFunc(part.Transfers, func(t model.Transfer) bool { return int(t.Dst) == c.Rank && int(t.Chunk) == c.Chunk })
		})
	}
	s.Transfers = useful(q, s.Transfers)
	r.notes = append(r.notes, fmt.Sprintf("a heuristic: %d rounds of at most %d epochs of %v", count, width, epoch))
	return s, true
}

// useful returns the transfers that meet a demand, or bring a chunk to where a useful one
// takes it from.
func useful(q *model.Problem, all []model.Transfer) []model.Transfer {
	type slot struct{ rank, chunk int32 }
	needed := map[slot]bool{}
	for k := range q.Chunks {
		for rank := range q.Goal(k) {
			needed[slot{int32(rank), int32(k)}] = true
		}
	}
	slices.SortStableFunc(all, func(a, b model.Transfer) int { return cmp.Compare(b.End, a.End) })
	kept := slices.DeleteFunc(all, func(t model.Transfer) bool {
		if !needed[slot{t.Dst, t.Chunk}] {
			return true
		}
		needed[slot{t.Src, t.Chunk}] = true
		return false
	})
	slices.Reverse(kept)
	return kept
}

// custom returns q's collective with its conditions written out.
func custom(q *model.Problem) model.Collective {
	c := model.Collective{Kind: model.Custom, Chunks: len(q.Chunks)}
	for k := range q.Chunks {
		has := map[int]bool{}
		for rank, v := range q.Start(k) {
			has[rank] = true
			c.Pre = append(c.Pre, model.Condition{Rank: rank, Chunk: k, Value: v})
		}
		for rank, v := range q.Goal(k) {
			if !has[rank] {
				c.Post = append(c.Post, model.Condition{Rank: rank, Chunk: k, Value: v})
			}
		}
	}
	model.SortConditions(c.Pre)
	model.SortConditions(c.Post)
	return c
}

// valueOf returns what chunk k is.
func valueOf(q *model.Problem, k int) model.Value {
	for _, v := range q.Start(k) {
		return v
	}
	return model.Value{}
}

// progress returns the worth of having chunks, in units of half an epoch for a demand that
// is met.
func progress(n *ten.Network) func(chunk, rank, epoch int) lp.Rat {
	ranks := n.Problem.Topology.Ranks
	far := distances(n)
	gain := make([][]float64, len(n.Problem.Chunks)) // by chunk and rank
	for k := range gain {
		gain[k] = make([]float64, ranks)
		for d := range ranks {
			if !n.Wants(k, d) {
				continue
			}
			nearest := 0
			for h := range ranks {
				if n.Holds(k, h) && (nearest == 0 || far[h][d] < nearest) {
					nearest = far[h][d]
				}
			}
			for r := range ranks {
				if r != d && far[r][d] < nearest {
					gain[k][r] += float64(nearest-far[r][d]) / float64(nearest)
				}
			}
		}
	}
	return func(chunk, rank, epoch int) lp.Rat {
		worth := int64(0)
		if n.Wants(chunk, rank) {
			worth = 1000
		}
		if epoch == n.Horizon {
			worth += int64(500 * float64(n.Horizon) * gain[chunk][rank] / float64(ranks))
			if !n.Wants(chunk, rank) {
				worth += int64(500 * float64(n.Horizon) * gain[chunk][rank])
			}
		}
		return lp.Int(worth)
	}
}

// distances returns the epochs from each rank to each, by Floyd and Warshall, for the first
// chunk.
func distances(n *ten.Network) [][]int {
	ranks := n.Problem.Topology.Ranks
	far := make([][]int, ranks)
	for u := range far {
		far[u] = make([]int, ranks)
		for v := range far[u] {
			if u != v {
				far[u][v] = 1 << 30
			}
		}
	}
	for h, x := range n.Hops {
		far[x.Src][x.Dst] = min(far[x.Src][x.Dst], n.Delay(0, h))
	}
	for w := range far {
		for u := range far {
			for v := range far {
				far[u][v] = min(far[u][v], far[u][w]+far[w][v])
			}
		}
	}
	return far
}

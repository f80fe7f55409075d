package cayley

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// maxWords is how many ways to write a difference as a shortest sum of generators are
// looked at.
const maxWords = 64

// item is what every rank sends to the rank at one difference from it: part number
// part of it.
type item struct {
	to, part int
	word     []int // how often it takes each generator
}

// allToAll sends every item by a shortest way, chosen to balance the load of the
// generators, in the rounds that colours of edges make. Where the load cannot be
// balanced with all ranks doing the same, as on a ring of an even length with an odd
// number of chunks per pair, ranks send differently: see split. The better of the two
// is returned, or the first that ends by enough. What all ranks do alike is planned first, within
// milliseconds: it is the answer if ctx ends before others are placed.
func (g *group) allToAll(ctx context.Context, p *model.Problem, enough model.Time) (*model.Schedule, error) {
	parts := make([][]int, g.n*g.n)
	most, size := 0, int64(0)
	for k, c := range p.Chunks {
		from, to := p.Owner(k)
		parts[from*g.n+to] = append(parts[from*g.n+to], k)
		if from != to {
			most, size = max(most, len(parts[from*g.n+to])), max(size, c.Size)
		}
	}
	words := g.words()
	paces := g.paces(p, size)
	weight := make([]float64, len(g.gens))
	for i, a := range paces {
		weight[i] = float64(a.busy)
	}
	items, load := g.route(ctx, words, most, weight)
	var edges [][2]int
	hops := 0
	for i, x := range items {
		for s, n := range x.word {
			hops += n
			for range n {
				edges = append(edges, [2]int{i, s})
			}
		}
	}
	least := max(enough, leastTime(paces, hops), g.farthest(paces))
	conveyed, cerr := g.orbit(ctx, p, 0) // the same for all ranks, or not possible
	if cerr == nil && conveyed.Last(p) <= least {
		return conveyed.Schedule(p)
	}
	var other *model.Schedule
	if slices.Max(load) > (hops+len(load)-1)/len(load) && hops*g.n <= maxSplit {
		var err error
		if other, err = g.split(ctx, p, parts, words, items, weight, least); err == nil && solve.End(other.Transfers) <= least {
			return other, nil
		}
	}
	if err := ctx.Err(); err != nil && cerr == nil {
		return conveyed.Schedule(p)
	} else if err != nil {
		return nil, err
	}
	colour, rounds := colourEdges(edges, len(items), len(g.gens))
	program := place.NewProgram(p).Until(ctx)
	byRound := make([][]int, rounds)
	for e, c := range colour {
		byRound[c] = append(byRound[c], e)
	}
	at := make([]int, len(items)) // how far the item has come
	for _, list := range byRound {
		var batch []place.Move
		for _, e := range list {
			x, s := &items[edges[e][0]], &g.gens[edges[e][1]]
			for u := range g.n {
				if chunks := parts[u*g.n+g.add(u, x.to)]; x.part < len(chunks) {
					v := g.add(u, at[edges[e][0]])
					batch = append(batch, place.Move{Chunk: chunks[x.part], Src: v, Dst: g.add(v, s.step), Routes: s.ways[v]})
				}
			}
			at[edges[e][0]] = g.add(at[edges[e][0]], s.step)
		}
		program.Batch(batch...)
	}
	schedule, err := best(program, least)
	if cerr == nil && (err != nil || conveyed.Last(p) < solve.End(schedule.Transfers)) {
		schedule, err = conveyed.Schedule(p)
	}
	if err == nil && other != nil && solve.End(other.Transfers) < solve.End(schedule.Transfers) {
		return other, nil
	}
	return schedule, err
}

// farthest returns a time before which nothing gets from a rank to the one that is the most
// steps away.
func (g *group) farthest(paces []pace) model.Time {
	step := model.MaxTime
	for _, x := range paces {
		step = min(step, x.lasts)
	}
	return step.Mul(int64(slices.Max(g.distances())))
}

// words returns for each element some of the shortest ways, up to maxWords, to write
// it as a sum of generators, as how often each occurs.
func (g *group) words() [][][]int {
	dist := g.distances()
	order := make([]int, g.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return dist[a] - dist[b] })
	words := make([][][]int, g.n)
	words[0] = [][]int{make([]int, len(g.gens))}
	for _, d := range order[1:] {
		for i, s := range g.gens {
			before := g.sub(d, s.step)
			if dist[before] != dist[d]-1 {
				continue
			}
			for _, w := range words[before] {
				w = slices.Clone(w)
				w[i]++
				known := func(x []int) bool { return slices.Equal(x, w) }
				if len(words[d]) < maxWords && !slices.ContainsFunc(words[d], known) {
					words[d] = append(words[d], w)
				}
			}
		}
	}
	return words
}

// route chooses a word for each item, so that the sum of the squares of the
// generators' loads is the least that changing one item after the other reaches,
// and returns how many items take each generator. When ctx ends it leaves words as they are.
func (g *group) route(ctx context.Context, words [][][]int, parts int, weight []float64) (items []item, load []int) {
	load = make([]int, len(g.gens))
	for d := 1; d < g.n; d++ {
		for part := range parts {
			items = append(items, item{d, part, nil})
		}
	}
	for first, changed := true, true; changed && (first || ctx.Err() == nil); first = false {
		changed = false
		for i := range items {
			x := &items[i]
			addTo(load, x.word, -1)
			word, least := x.word, cost(load, x.word, weight)
			for _, w := range words[x.to] {
				if c := cost(load, w, weight); x.word == nil && word == nil || c < least {
					word, least, changed = w, c, true
				}
			}
			x.word = word
			addTo(load, x.word, 1)
		}
	}
	return items, load
}

func addTo(load, word []int, n int) {
	for s, m := range word {
		load[s] += n * m
	}
}

// cost returns by how much the sum of the squares of the loads grows with word.
func cost(load, word []int, weight []float64) float64 {
	var sum float64
	for s, m := range word {
		if m > 0 {
			sum += weight[s] * weight[s] * float64(m*(2*load[s]+m))
		}
	}
	return sum
}

package cayley

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// maxAnywhere is for how many (rank, part) pairs a gathering is planned rank by rank.
const maxAnywhere = 1 << 14

// gatherAnywhere is gather for networks of ranks without a group: the same matching,
// made for every rank on its own, of the links that enter it and are free with parts
// that are held at their other ends and missing here. On such networks it is a
// heuristic.
func gatherAnywhere(ctx context.Context, p *model.Problem, parts [][]int, rng *rand.Rand) (*model.Schedule, error) {
	t := p.Topology
	paces := make([]pace, len(t.Links))
	size := int64(0)
	for _, c := range p.Chunks {
		size = max(size, c.Size)
	}
	for i, k := range t.Links {
		one := group{gens: []generator{{link: k}}}
		paces[i] = one.paces(p, size)[0]
	}
	least := model.Time(0)
	for _, in := range t.In() {
		var entering []pace
		for _, i := range in {
			entering = append(entering, paces[i])
		}
		least = max(least, leastTime(entering, len(p.Chunks)-len(parts[t.Links[in[0]].Dst])))
	}
	var plan []model.Transfer
	last := model.MaxTime
	tries := max(1, min(maxTries, maxWork/(len(p.Chunks)*t.Ranks*t.Ranks)))
	for try := 0; try < tries && last > least; try++ {
		if s, end := planAnywhere(ctx, p, parts, paces, try, rng); s != nil && end < last {
			plan, last = s, end
		}
	}
	slices.SortStableFunc(plan, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	program := place.NewProgram(p).Until(ctx)
	var batch []place.Move
	for i, a := range plan {
		batch = append(batch, place.Move{Chunk: int(a.Chunk), Src: int(a.Src), Dst: int(a.Dst), Routes: [][]int{{int(a.Route)}}})
		if i+1 == len(plan) || plan[i+1].Start > a.Start {
			program.Batch(batch...)
			batch = batch[:0]
		}
	}
	return best(program, least)
}

// planAnywhere returns what is received where, when, over which link (Route), and when
// the last of it arrives; nil if ctx ends before. Every rank must be reachable from every other.
func planAnywhere(ctx context.Context, p *model.Problem, parts [][]int, paces []pace, try int, rng *rand.Rand) (plan []model.Transfer, last model.Time) {
	t := p.Topology
	in := t.In()
	chunks := len(p.Chunks)
	here := make([][]model.Time, t.Ranks) // when each chunk arrives; MaxTime: not on its way
	missing := make([][]int, t.Ranks)
	order := rng.Perm(chunks)
	for u := range here {
		here[u] = make([]model.Time, chunks)
		for k := range here[u] {
			here[u][k] = model.MaxTime
		}
		for _, k := range parts[u] {
			here[u][k] = 0
		}
		if try%2 == 1 {
			order = rng.Perm(chunks)
		}
		for _, k := range order {
			if here[u][k] > 0 {
				missing[u] = append(missing[u], k)
			}
		}
	}
	free := make([]model.Time, len(t.Links))
	for now, left := model.Time(0), true; left; {
		left = false
		next := model.MaxTime
		for u := range missing {
			if len(missing[u]) == 0 {
				continue
			}
			if ctx.Err() != nil {
				return nil, 0
			}
			left = true
			taker := map[int]int{} // chunk -> link
			var visit func(link int, seen map[int]bool) bool
			visit = func(link int, seen map[int]bool) bool {
				for _, k := range missing[u] {
					if seen[k] || here[t.Links[link].Src][k] > now {
						continue
					}
					seen[k] = true
					if other, taken := taker[k]; !taken || visit(other, seen) {
						taker[k] = link
						return true
					}
				}
				return false
			}
			for _, i := range rng.Perm(len(in[u])) {
				if link := in[u][i]; free[link] <= now {
					visit(link, map[int]bool{})
				}
			}
			rest := missing[u][:0]
			for _, k := range missing[u] {
				link, taken := taker[k]
				if !taken {
					rest = append(rest, k)
					continue
				}
				a := model.Transfer{Chunk: int32(k), Src: int32(t.Links[link].Src), Dst: int32(u), Route: int32(link), Start: now, End: now.Add(paces[link].lasts)}
				plan = append(plan, a)
				here[u][k], free[link] = a.End, now.Add(paces[link].busy)
				last = max(last, a.End)
			}
			missing[u] = rest
		}
		for _, times := range append(here, free) {
			for _, at := range times {
				if at > now {
					next = min(next, at)
				}
			}
		}
		now = next
	}
	return plan, last
}

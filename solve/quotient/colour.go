package quotient

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// coloured gives the jobs of a gathering that follows a sketch times, in the order of an edge colouring of its hops between
// groups. Most of these leave roots, so that they can start at once, and each takes a machine where it begins and one where it ends: they
// are the edges of a bipartite multigraph, and fall into as many matchings as its busiest machine has hops (Kőnig, 1916). List
// scheduling by itself misses that by a few, where no symmetry makes each hop a matching. What a matching brings is passed on
// inside its groups during the next one, by all ranks of a group to those next to them, then to those after these, and so on,
// which are matchings, too.
func (x *plan) coloured(k *sketch) {
	waits := x.waits()
	var edges [][2]int32
	edge := make([]int, len(x.jobs)) // by job: the number of its edge, or -1
	inside := make([][]int, x.s.t.Ranks)
	for i := range x.jobs {
		j := &x.jobs[i]
		edge[i] = -1
		switch {
		case k.group[j.src] == k.group[j.dst] && len(waits[i]) == 0:
			inside[j.src] = append(inside[j.src], i)
		case k.group[j.src] != k.group[j.dst]:
			visits := x.s.ways[x.s.step(j).way].visits
			edge[i] = len(edges)
			edges = append(edges, [2]int32{visits[0].machine, visits[len(visits)-1].machine})
		}
	}
	colours, count := colourEdges(edges, len(x.s.lanes))
	rank := slices.Repeat([]float64{math.NaN()}, len(x.jobs))
	for _, list := range inside { // what roots send to their own groups is spread evenly
		slices.SortStableFunc(list, func(a, b int) int {
			return cmp.Or(cmp.Compare(x.jobs[a].part, x.jobs[b].part), cmp.Compare(k.turn(&x.jobs[a]), k.turn(&x.jobs[b])))
		})
		for n, i := range list {
			rank[i] = float64(n*count/len(list)) + 0.5
		}
	}
	var of func(i int) float64
	of = func(i int) float64 {
		if math.IsNaN(rank[i]) {
			if edge[i] >= 0 {
				rank[i] = float64(colours[edge[i]])
			} else {
				rank[i] = of(int(waits[i][0])) + float64(k.turn(&x.jobs[i]))/float64(4*x.s.t.Ranks)
			}
		}
		return rank[i]
	}
	for i := range rank {
		of(i)
	}
	x.dispatch(waits, rank)
}

// colours reports whether hops between groups take two machines each, as over one switch, so that they are the edges of a graph.
func (k *sketch) colours(s *shop) bool {
	for c, out := range s.out {
		for i := range out {
			if k.group[s.reps[c]] != k.group[out[i].to] && len(s.ways[out[i].way].visits) != 2 {
				return false
			}
		}
	}
	return true
}

// turn returns how many places of its group a hop leads on.
func (k *sketch) turn(j *job) int {
	n := k.size[k.group[j.dst]]
	return ((k.place[j.dst]-k.place[j.src])%n + n) % n
}

// colourEdges colours the edges of a bipartite multigraph, both of whose sides have vertices 0 to n-1, with as many colours as
// the largest degree. It takes O(edges·(n + colours)).
func colourEdges(edges [][2]int32, n int) (colours []int, count int) {
	degree := make([]int, 2*n)
	for _, e := range edges {
		degree[e[0]]++
		degree[n+int(e[1])]++
	}
	if len(edges) > 0 {
		count = slices.Max(degree)
	}
	at := make([][]int, 2*n) // by vertex and colour: the number of its edge, or -1
	for v, d := range degree {
		if d > 0 {
			at[v] = slices.Repeat([]int{-1}, count)
		}
	}
	ends := func(e int) [2]int { return [2]int{int(edges[e][0]), n + int(edges[e][1])} }
	colours = make([]int, len(edges))
	for e := range edges {
		u, v := ends(e)[0], ends(e)[1]
		a, b := slices.Index(at[u], -1), slices.Index(at[v], -1)
		var path []int // from v, of edges that have a and b in turn; it does not come to u
		for w, c := v, a; at[w][c] >= 0; c = a + b - c {
			f := at[w][c]
			path = append(path, f)
			w = ends(f)[0] + ends(f)[1] - w
		}
		for _, f := range path {
			for _, w := range ends(f) {
				at[w][colours[f]] = -1
			}
			colours[f] = a + b - colours[f]
		}
		for _, f := range append(path, e) {
			if f == e {
				colours[e] = a
			}
			for _, w := range ends(f) {
				at[w][colours[f]] = f
			}
		}
	}
	return colours, count
}

// gathered returns a plan of an allgather that follows the sketch, or nil if it does not reach all members.
func (k *sketch) gathered(x *reducing, parts []part, goal model.Time, rng *rand.Rand) *plan {
	b := k.trees(model.AllGather, x, parts, goal, rng)
	if len(b.trees) == 0 {
		return nil
	}
	y := b.plan()
	y.coloured(k)
	return y
}

// summed returns a plan of a reducescatter that follows the sketch, or nil: it is an allgather on the network with its links
// turned round, read backwards.
func (k *sketch) summed(x *reducing, parts []part, goal model.Time, rng *rand.Rand) *plan {
	y := k.gathered(x.turned(), parts, goal, rng)
	if y == nil {
		return nil
	}
	y = x.s.backward(y, x.twins)
	y.early(y.waits(), nil)
	return y
}

// own chooses the roots of the parts of an allreduce. Of k groups, one whose ranks have the share o of all roots takes in
// (1-o) + (k-1)·o buffers, and sends as many: what others have added up and what is to be added up there. So the shares
// for which all groups are over at once are larger where the links into a group are faster. Inside a group the shares are equal.
// It returns false, and changes nothing, if two groups leave no choice or all groups have equal shares.
func (k *sketch) own(s *shop, parts []part) bool {
	into, all := map[int]float64{}, 0.0 // bandwidth, by group
	for i := range s.t.Links {
		if l := &s.t.Links[i]; k.group[l.Src] != k.group[l.Dst] && k.size[k.group[l.Dst]] > 0 {
			into[k.group[l.Dst]] += float64(l.Bandwidth)
		}
	}
	least := math.Inf(1)
	for _, b := range into {
		all, least = all+b, min(least, b)
	}
	n := float64(len(k.size))
	if n < 3 || least*n >= all {
		return false
	}
	share := make([]float64, len(s.reps)) // by orbit
	for v, c := range s.class {
		if g := k.group[v]; s.member[v] {
			share[c] += max(0, (into[g]/all*(2*n-2)-1)/(n-2)) / float64(k.size[g])
		}
	}
	owned := make([]float64, len(share))
	for i := range parts {
		best := -1
		for c := range share {
			if share[c] > 0 && (best < 0 || (owned[c]+1)*share[best] < (owned[best]+1)*share[c]) {
				best = c
			}
		}
		owned[best]++
		parts[i].root = int(s.reps[best])
	}
	return true
}

// both returns a plan of an allreduce that follows the sketch, or nil. Its jobs start in the order that they have in sums and
// gatherings alone, these begun at several times while the sums go on, as long as ctx is not done.
func (k *sketch) both(ctx context.Context, x *reducing, parts []part, goal model.Time, rng *rand.Rand) *plan {
	sums := k.summed(x, parts, goal, rng)
	if sums == nil || ctx.Err() != nil {
		return nil
	}
	copies := k.gathered(x, parts, goal, rng)
	if copies == nil {
		return nil
	}
	all := &plan{s: x.s, parts: parts, jobs: append(slices.Clone(sums.jobs), copies.jobs...)}
	waits := all.waits()
	rank := make([]float64, len(all.jobs))
	var best *plan
	for _, later := range []float64{1, 0.7, 0.4} {
		if ctx.Err() != nil {
			break
		}
		for i := range all.jobs {
			if rank[i] = float64(all.jobs[i].start); all.jobs[i].op == model.Copy {
				rank[i] += later * float64(sums.end)
			}
		}
		y := *all
		y.jobs = slices.Clone(all.jobs)
		if y.dispatch(waits, rank); best == nil || y.end < best.end {
			best = &y
		}
	}
	return best
}

package bound

import (
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// partition returns the bound of the transfers that an allreduce needs between parts of the
// network: 2(k-1) for each chunk among k parts.
//
// The parts with the least bandwidth that enters them, over their number less one, are found
// as the strength of a graph is (Cunningham, "Optimal attack and reinforcement of a network",
// 1985): by Dinkelbach's iteration, each step of which asks for the partition with the least
// bandwidth that enters it less λ for each part. It is a search in floating point; the parts
// found are then looked at exactly.
func (f *finder) partition() (model.Time, model.Witness) {
	n := len(f.members)
	if n < 3 || n > maxParts {
		return 0, nil
	}
	if f.adds {
		return f.readers()
	}
	single := make([][]int, n)
	for i, r := range f.members {
		single[i] = []int{r}
	}
	best := single
	rate := f.entered(single) / float64(n-1)
	for !f.budget.Spent() {
		parts := f.apart(rate)
		if len(parts) < 2 {
			break
		}
		r := f.entered(parts) / float64(len(parts)-1)
		if r >= rate*(1-1e-9) {
			break
		}
		rate, best = r, parts
	}
	if len(best) == n || len(best) < 3 {
		return 0, nil // the volume, or a cut
	}
	w := f.whole(best)
	f.parted = w.Parts
	return f.between(w), w
}

// readers returns the bound of the partition into members that read sums at one switch, or at
// switches that have ranks in common, with these switches.
func (f *finder) readers() (model.Time, model.Witness) {
	of := f.t.Parts(func(l *model.Link) bool { return f.t.IsRank(l.Src) && f.t.Reduces(l.Dst) == model.SumsRead })
	at, parts := map[int]int{}, [][]int(nil)
	for v := range f.t.Nodes() {
		if !f.t.IsRank(v) && f.t.Reduces(v) != model.SumsRead {
			continue
		}
		g, known := at[of[v]]
		if !known {
			g = len(parts)
			at[of[v]] = g
			parts = append(parts, nil)
		}
		parts[g] = append(parts[g], v)
	}
	home := map[int]bool{}
	for _, r := range f.members {
		home[of[r]] = true
	}
	if len(home) < 2 || len(home) < len(parts) {
		return 0, nil
	}
	w := model.Partition{Parts: parts}
	f.parted = parts
	return f.between(w), w
}

// maxParts limits the members, of each of which an iteration takes a maximum flow.
const maxParts = 512

// entered returns the bandwidth of the links that enter parts from elsewhere.
func (f *finder) entered(parts [][]int) (sum float64) {
	part := make([]int, f.t.Nodes())
	for i, nodes := range parts {
		for _, v := range nodes {
			part[v] = i + 1
		}
	}
	for i := range f.t.Links {
		if l := &f.t.Links[i]; part[l.Dst] != 0 && part[l.Src] != part[l.Dst] {
			sum += float64(l.Bandwidth)
		}
	}
	return sum
}

// apart returns the partition of the members with the least bandwidth that enters parts less
// rate for each. What a set is worth by that is intersecting submodular, so that the greedy
// algorithm for the truncation of Dilworth finds it (Barahona, "Separating from the dominant of the
// spanning tree polytope", 1992): member by member the most that all sets with it and with
// members before it allow, each time a minimum cut; sets that allow no more are joined where
// they have a rank in common. A switch may be in any part, or in none; with switches the
// least is not always found.
func (f *finder) apart(rate float64) (parts [][]int) {
	n := f.t.Nodes()
	given := make([]float64, n)
	for i, v := range f.members {
		if f.budget.Spent() {
			return nil
		}
		g := f.newFlow(n + 1)
		for _, l := range f.t.Links {
			g.add(l.Src, l.Dst, float64(l.Bandwidth))
		}
		positive := 0.0
		for _, u := range f.members[:i] {
			if given[u] > 0 {
				positive += given[u]
				g.add(u, v, given[u])
			} else {
				g.add(n, u, -given[u])
			}
		}
		for _, u := range f.members[i+1:] {
			g.add(n, u, math.Inf(1))
		}
		value, _ := g.cut(n, v)
		if f.budget.Spent() {
			return nil // that need be no minimum
		}
		given[v] = value - positive - rate
		_, outside := g.cutFromSink(v)
		set := []int{}
		for u := range n {
			if !outside[u] {
				set = append(set, u)
			}
		}
		parts = slices.DeleteFunc(parts, func(old []int) bool {
			if !slices.ContainsFunc(old, func(u int) bool { return f.t.IsRank(u) && slices.Contains(set, u) }) {
				return false
			}
			set = append(set, old...)
			return true
		})
		parts = append(parts, set)
	}
	taken := make([]bool, n)
	for i := range parts {
		parts[i] = slices.DeleteFunc(parts[i], func(u int) bool {
			again := taken[u]
			taken[u] = true
			return again
		})
		slices.Sort(parts[i])
	}
	return parts
}

// whole returns parts as a certificate takes them: ranks that take no part join the part of
// the member that is the first on a way from them.
func (f *finder) whole(parts [][]int) model.Partition {
	part := make([]int, f.t.Nodes())
	w := model.Partition{}
	for i, nodes := range parts {
		for _, v := range nodes {
			part[v] = i + 1
		}
		w.Parts = append(w.Parts, slices.Clone(nodes))
	}
	for r := range f.t.Ranks {
		if part[r] != 0 {
			continue
		}
		home := 1
		seen := map[int]bool{r: true}
		for queue := []int{r}; len(queue) > 0; queue = queue[1:] {
			if part[queue[0]] != 0 {
				home = part[queue[0]]
				break
			}
			for _, l := range f.out[queue[0]] {
				if v := f.t.Links[l].Dst; !seen[v] {
					seen[v] = true
					queue = append(queue, v)
				}
			}
		}
		w.Parts[home-1] = append(w.Parts[home-1], r)
	}
	for _, nodes := range w.Parts {
		slices.Sort(nodes)
	}
	return w
}

// between returns the exact bound of a partition.
func (f *finder) between(w model.Partition) model.Time {
	part := make([]int, f.t.Nodes())
	for i, nodes := range w.Parts {
		for _, v := range nodes {
			part[v] = i + 1
		}
	}
	apartIn, apartOut := true, true
	for i, s := range f.t.Switches {
		v := f.t.Ranks + i
		if !s.Copies && s.Reduces == model.NoReducing || f.within(part, v) {
			continue
		}
		if s.Copies && part[v] != 0 {
			return 0
		}
		adds := s.Reduces != model.NoReducing
		apartIn = apartIn && !adds
		apartOut = apartOut && !s.Copies && !(adds && part[v] != 0)
	}
	home := map[int]bool{}
	for _, r := range f.members {
		home[part[r]] = true
	}
	l := f.newLoad()
	for i := range f.parts {
		l.add(f.shape(int32(i)), 2*int64(len(home)-1))
	}
	for _, r := range f.members {
		l.src[r] = true
	}
	for r := range l.dst {
		l.dst[r] = true
	}
	var in, out []int
	for i := range f.t.Links {
		k := &f.t.Links[i]
		if part[k.Src] != part[k.Dst] {
			if part[k.Dst] != 0 {
				in = append(in, i)
			}
			if part[k.Src] != 0 {
				out = append(out, i)
			}
		}
	}
	return f.either(in, out, l, apartIn, apartOut)
}

// within reports whether ranks read sums at switch v, all of them in its part.
func (f *finder) within(part []int, v int) bool {
	if f.t.Reduces(v) != model.SumsRead || part[v] == 0 {
		return false
	}
	for _, l := range f.t.Links {
		if l.Src == v && f.t.IsRank(l.Dst) && part[l.Dst] != part[v] || l.Dst == v && f.t.IsRank(l.Src) && part[l.Src] != part[v] {
			return false
		}
	}
	return true
}

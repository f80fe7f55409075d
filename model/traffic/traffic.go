// Package traffic makes custom collectives out of sizes: the vector variants of MPI's
// collectives, in which every rank, or every pair, has as many bytes as a table states (MPI 4.1,
// chapter 6, "Collective Communication": MPI_Alltoallv, MPI_Allgatherv and so on), the exchange
// with the neighbours in a grid (MPI_Neighbor_alltoallv), and permutations, in which every rank
// sends to one other.
//
// Each shard of such a collective is what goes from one rank to those that want it. Sizes of
// zero make no shard, and neither does what a rank has for itself. The group of what is returned is
// left open: the caller knows whether it is all ranks.
package traffic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Names returns the names that Make knows.
func Names() []string {
	return []string{"alltoallv", "allgatherv", "reducescatterv", "gatherv", "scatterv", "halo", "halo-corners", "permutation"}
}

// Is reports whether Make knows a name.
func Is(name string) bool { return slices.Contains(Names(), name) }

// Rooted reports whether the collective of that name has a root.
func Rooted(name string) bool { return name == "gatherv" || name == "scatterv" }

// Pairwise reports whether the sizes of the collective of that name are a matrix, with a row for
// each sender and a column for each receiver.
func Pairwise(name string) bool { return name == "alltoallv" }

// builder collects the shards of a collective.
type builder struct {
	c     model.Collective
	sizes []int64
}

// add adds a shard of some bytes, if there are any, that is at first where pre says and must
// come to where post says.
func (b *builder) add(bytes int64, pre, post []model.Condition) {
	if bytes == 0 {
		return
	}
	k := len(b.sizes)
	for _, list := range []struct {
		from []model.Condition
		to   *[]model.Condition
	}{{pre, &b.c.Pre}, {post, &b.c.Post}} {
		for _, d := range list.from {
			d.Chunk = k
			*list.to = append(*list.to, d)
		}
	}
	b.sizes = append(b.sizes, bytes)
}

// send adds what a rank has for another one.
func (b *builder) send(bytes int64, from, to int) {
	if from != to {
		v := model.Unit(from)
		b.add(bytes, []model.Condition{{Rank: from, Value: v}}, []model.Condition{{Rank: to, Value: v}})
	}
}

// done returns the collective, or an error if it moves nothing.
func (b *builder) done(name string) (*model.Collective, error) {
	if len(b.sizes) == 0 {
		return nil, errors.New("no rank has a byte for another one, want one or more")
	}
	b.c.Kind, b.c.Name, b.c.Chunks = model.Custom, name, len(b.sizes)
	if b.c.Ends = model.EndsOf(b.sizes); b.c.Ends[len(b.sizes)-1] > model.MaxSize {
		return nil, fmt.Errorf("more than %d bytes in all, want at most that", int64(model.MaxSize))
	}
	model.SortConditions(b.c.Pre)
	model.SortConditions(b.c.Post)
	return &b.c, nil
}

// AllToAll returns the collective in which member i of the group has bytes[i][j] for member j.
func AllToAll(group []int, bytes [][]int64) (*model.Collective, error) {
	b := &builder{}
	for i, row := range bytes {
		for j, n := range row {
			b.send(n, group[i], group[j])
		}
	}
	return b.done("alltoallv")
}

// PerMember returns allgatherv, reducescatterv, gatherv or scatterv: the part of the buffer that
// is of member i, or for it, has bytes[i]. root is a rank.
func PerMember(name string, group []int, root int, bytes []int64) (*model.Collective, error) {
	b := &builder{}
	all := func(value func(r int) model.Value) []model.Condition {
		list := make([]model.Condition, len(group))
		for i, r := range group {
			list[i] = model.Condition{Rank: r, Value: value(r)}
		}
		return list
	}
	sum := slices.Sorted(slices.Values(group))
	for i, n := range bytes {
		r := group[i]
		switch name {
		case "allgatherv":
			b.add(n, []model.Condition{{Rank: r, Value: model.Unit(r)}}, all(func(int) model.Value { return model.Unit(r) }))
		case "reducescatterv":
			b.add(n, all(model.Unit), []model.Condition{{Rank: r, Value: model.Once(sum)}})
		case "gatherv":
			b.send(n, r, root)
		case "scatterv":
			b.send(n, root, r)
		default:
			return nil, fmt.Errorf("%q has no part for each member", name)
		}
	}
	return b.done(name)
}

// Halo returns the exchange of ranks with their neighbours in a grid of these dimensions, the last
// one fastest: those whose coordinates differ by one in one dimension get bytes[0], those that
// differ so in two get bytes[1], and so on. In a dimension that is closed the last coordinate
// is beside the first.
func Halo(name string, dims []int, closed []bool, bytes []int64) (*model.Collective, error) {
	b := &builder{}
	n := 1
	for _, d := range dims {
		n *= d
	}
	at := make([]int, len(dims))
	for r := range n {
		for d, v := len(dims)-1, r; d >= 0; d-- {
			at[d], v = v%dims[d], v/dims[d]
		}
		seen := map[int]bool{r: true} // in a closed dimension of two, both neighbours are one
		steps(len(dims), func(step []int) {
			to, apart := 0, 0
			for d, s := range step {
				c := at[d] + s
				if closed[d] {
					c = (c + dims[d]) % dims[d]
				}
				if c < 0 || c >= dims[d] {
					return
				}
				if s != 0 {
					apart++
				}
				to = to*dims[d] + c
			}
			if apart >= 1 && apart <= len(bytes) && !seen[to] {
				seen[to] = true
				b.send(bytes[apart-1], r, to)
			}
		})
	}
	return b.done(name)
}

// steps calls visit with every vector of -1, 0 and 1, those with fewer numbers other than 0 first.
func steps(n int, visit func([]int)) {
	all := [][]int{nil}
	for range n {
		var next [][]int
		for _, v := range all {
			for _, s := range []int{0, -1, 1} {
				next = append(next, append(slices.Clone(v), s))
			}
		}
		all = next
	}
	apart := func(v []int) (k int) {
		for _, s := range v {
			k += s * s
		}
		return k
	}
	slices.SortStableFunc(all, func(a, b []int) int { return apart(a) - apart(b) })
	for _, v := range all {
		visit(v)
	}
}

// Permute returns the collective in which member i of the group sends some bytes to member to[i].
func Permute(group, to []int, bytes int64) (*model.Collective, error) {
	b := &builder{}
	for i, j := range to {
		b.send(bytes, group[i], group[j])
	}
	return b.done("permutation")
}

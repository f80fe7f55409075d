package network

import (
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Pair is where a chunk goes from and to. Where they are one rank, the chunk stays.
type Pair struct{ Src, Dst int32 }

// Pairs returns them by chunk of p, which has chunks. A chunk that nobody wants stays at rank 0. An
// error, which wraps solve.ErrNotServed, names a chunk that several ranks want, or that is not
// what a rank has at the start.
func Pairs(p *model.Problem) ([]Pair, error) {
	list := make([]Pair, len(p.Chunks))
	for k := range p.Chunks {
		d, n := Pair{-1, -1}, 0
		var value model.Value
		for r, v := range p.Goal(k) {
			d.Dst, value, n = int32(r), v, n+1
		}
		if n > 1 {
			return nil, solve.NotServed("several ranks want chunk %d: serves what one rank wants", k)
		}
		for r, v := range p.Start(k) {
			if n == 1 && v.Equal(value) && (d.Src < 0 || int32(r) == d.Dst) {
				d.Src = int32(r)
			}
		}
		switch {
		case n == 0:
			d = Pair{0, 0}
		case d.Src < 0:
			return nil, solve.NotServed("what rank %d wants of chunk %d is nowhere at the start", d.Dst, k)
		}
		list[k] = d
	}
	return list, nil
}

// Parts returns p cut into one chunk a shard, or p itself where it can be cut in one way alone and is.
func Parts(p *model.Problem) *model.Problem {
	if p.Chunks != nil && !p.Collective.Cuttable() {
		return p
	}
	return p.WithChunks(p.Shards())
}

// Matrix returns the bytes that each rank has for each other one; nil rows are of those that
// have none. Errors are those of Pairs.
func Matrix(p *model.Problem) ([][]int64, error) {
	p = Parts(p)
	pairs, err := Pairs(p)
	if err != nil {
		return nil, err
	}
	bytes := make([][]int64, p.Topology.Ranks)
	for k, d := range pairs {
		if d.Src == d.Dst {
			continue
		}
		if bytes[d.Src] == nil {
			bytes[d.Src] = make([]int64, p.Topology.Ranks)
		}
		bytes[d.Src][d.Dst] += p.Chunks[k].Size
	}
	return bytes, nil
}

// Sources returns the ranks that have something for all members of p, an allgather, broadcast or custom
// collective, and how much: weights, in units of grain shards or, of a custom one, bytes. An error,
// which wraps solve.ErrNotServed, is that of Spreading, or names a chunk that some members alone want, or
// that several ranks have, or another collective.
func Sources(p *model.Problem) (ranks []int, weights []int64, grain int64, err error) {
	switch kind := p.Collective.Kind; kind {
	case model.AllGather:
		ranks = p.Members()
	case model.Broadcast:
		ranks = []int{p.Collective.Root}
	case model.Custom:
		bytes, grain, err := contributions(p)
		if err != nil {
			return nil, nil, 0, err
		}
		for r, n := range bytes {
			if n > 0 {
				ranks, weights = append(ranks, r), append(weights, n/grain)
			}
		}
		return ranks, weights, grain, nil
	default:
		return nil, nil, 0, solve.NotServed("serves allgather, reducescatter, broadcast and reduce, not %v", kind)
	}
	return ranks, slices.Repeat([]int64{1}, len(ranks)), 1, nil
}

// contributions returns the bytes that each rank has at first and that all members must get, and
// the greatest common divisor of all chunks. Errors are those of Sources.
func contributions(p *model.Problem) (bytes []int64, grain int64, err error) {
	p = Parts(p)
	pt, err := Spreading(p)
	if err != nil {
		return nil, 0, err
	}
	members := len(p.Members())
	bytes = make([]int64, p.Topology.Ranks)
	common := new(big.Int)
	for k, c := range p.Chunks {
		switch n := len(pt.Goals(k, p.Topology.Ranks)); {
		case n == 0:
			continue
		case n != members:
			return nil, 0, solve.NotServed("%d of %d members want chunk %d", n, members, k)
		case len(pt.From[k]) != 1:
			return nil, 0, solve.NotServed("%d ranks have chunk %d at the start", len(pt.From[k]), k)
		}
		bytes[pt.From[k][0]] += c.Size
		common.GCD(nil, nil, common, big.NewInt(c.Size))
	}
	return bytes, max(1, common.Int64()), nil
}

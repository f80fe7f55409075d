// Package fluid computes how fast a collective can be in the fluid limit, where latencies
// vanish and chunks are infinitely divisible: the least time for each byte of the buffer,
// exactly, with the limiting cut.
//
// For allgather that is ForestColl's bound (Zhao et al., "ForestColl: throughput-optimal
// collective communications on heterogeneous network fabrics", arXiv:2402.06787): the
// largest ratio, over sets S of nodes that leave out some rank, of what the ranks in S
// contribute to the bandwidth of the links that leave S. It can be reached, by packing
// spanning out-trees (Edmonds, "Edge-disjoint branchings", 1973). Broadcast is the case of
// one source; reducescatter and reduce are the same with every link turned round.
//
// Two computations that share nothing but the topology give the number. Rate finds the
// set by Dinkelbach's iteration on minimum cuts, in whole numbers. RateByLP solves a linear
// program for each sink by HiGHS and reads the set off its dual. AllToAll solves
// the maximum concurrent flow of what goes from single ranks to single ranks as a linear program, whose dual prices are a
// certificate of its own.
package fluid

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/maxflow"
	"github.com/oraccl/oraccl/solve/network"
)

// Limit is what bounds a collective in the fluid limit.
type Limit struct {
	// Shares is how many of the Of equal shards of the buffer must leave the nodes; of a custom
	// collective, how many of Of bytes.
	Shares, Of int64
	// Bandwidth is that of the links that leave the nodes, in bytes per second.
	Bandwidth int64
	// Nodes is the set, ascending, as model.Cut takes it.
	Nodes []int
}

// TimeOf returns the seconds that a buffer of size bytes takes.
func (l Limit) TimeOf(size int64) *big.Rat {
	t := big.NewRat(size, l.Of)
	return t.Mul(t, big.NewRat(l.Shares, l.Bandwidth))
}

// Algbw returns the bytes of the buffer that pass in a second.
func (l Limit) Algbw() *big.Rat { return new(big.Rat).Inv(l.TimeOf(1)) }

// Witness returns the set as a certificate takes it.
func (l Limit) Witness() model.Cut { return model.Cut{Nodes: l.Nodes} }

// instance is a collective as flows: each source has weight shards of its own, which
// every sink needs.
type instance struct {
	t        *model.Topology
	sources  []int
	weight   []int64 // by source
	grain    int64   // shards or bytes in each unit of weight
	sinks    []int
	backward bool // the links of t are those of the problem turned round
}

// newInstance returns an error that wraps solve.ErrNotServed for other collectives than
// allgather, reducescatter, broadcast and reduce, and custom ones that are like them with parts of
// their own sizes.
func newInstance(p *model.Problem) (*instance, error) {
	in := &instance{t: p.Topology, sinks: p.Members()}
	q := p
	switch kind := p.Collective.Kind; {
	case kind == model.ReduceScatter, kind == model.Reduce:
		back := *p
		in.backward, in.t, q = true, p.Topology.Reversed(), &back
		if back.Collective.Kind = model.AllGather; kind == model.Reduce {
			back.Collective.Kind = model.Broadcast
		}
	case solve.SumsUp(p):
		var ok bool
		if q, ok = solve.Reverse(p); !ok {
			return nil, solve.NotServed("cannot be read backwards")
		}
		in.backward, in.t = true, q.Topology
	}
	var err error
	if in.sources, in.weight, in.grain, err = network.Sources(q); err != nil {
		return nil, err
	}
	for _, port := range p.Topology.Ports {
		if port.Capacity < len(port.Links) {
			return nil, solve.NotServed("ports, which limit transfers and not bandwidth")
		}
	}
	if len(in.sinks) < 2 {
		return nil, solve.NotServed("one member alone moves nothing")
	}
	return in, nil
}

// limit returns the Limit of a set of nodes of in.t, given by a mark for each.
func (in *instance) limit(side []bool) (Limit, error) {
	l := Limit{}
	for i, r := range in.sources {
		l.Of += in.weight[i] * in.grain
		if side[r] {
			l.Shares += in.weight[i] * in.grain
		}
	}
	for _, link := range in.t.Links {
		if side[link.Src] && !side[link.Dst] {
			sum, carry := bits.Add64(uint64(l.Bandwidth), uint64(link.Bandwidth), 0)
			if carry != 0 || sum > 1<<62 {
				return Limit{}, solve.NotServed("bandwidths that add up to more than 2^62 bytes per second")
			}
			l.Bandwidth = int64(sum)
		}
	}
	for v, in2 := range side {
		if in2 != in.backward { // what leaves S backwards enters it forwards
			l.Nodes = append(l.Nodes, v)
		}
	}
	return l, nil
}

// Rate returns the Limit of p's collective, by minimum cuts in whole numbers. Each round
// of Dinkelbach's iteration ("On nonlinear fractional programming", 1967) replaces the
// best set by one that is strictly better, until no sink has a better one, which takes a
// maximum flow for each sink and a few more. An error wraps solve.ErrNotServed if p is
// not served, names a rank that nothing reaches, or is ctx's.
func Rate(ctx context.Context, p *model.Problem) (Limit, error) {
	in, err := newInstance(p)
	if err != nil {
		return Limit{}, err
	}
	unit := gcd(in.t)
	best := Limit{}
	for _, d := range in.sinks {
		if len(in.sources) == 1 && in.sources[0] == d {
			continue
		}
		for {
			if err := ctx.Err(); err != nil {
				return Limit{}, err
			}
			side, better, err := in.cut(d, best, unit)
			if err != nil {
				return Limit{}, err
			}
			if !better {
				break
			}
			l, err := in.limit(side)
			if err != nil {
				return Limit{}, err
			}
			if l.Bandwidth == 0 {
				return Limit{}, fmt.Errorf("fluid: rank %d and the nodes %v: no link leads between them", d, l.Nodes)
			}
			best = l
		}
	}
	return best, nil
}

// gcd returns the greatest common divisor of all bandwidths.
func gcd(t *model.Topology) int64 {
	g := int64(0)
	for _, l := range t.Links {
		for a, b := l.Bandwidth, g; ; a, b = b, a%b {
			if b == 0 {
				g = a
				break
			}
		}
	}
	return max(g, 1)
}

// cut looks for a set without d that is better than best: with Shares/Bandwidth = a/b, one
// of sources of weight s and bandwidth w with s·b > w·a. Such a set exists if the flow from a node
// that feeds each source by b, over links of capacity w·a, does not bring all of it to d.
func (in *instance) cut(d int, best Limit, unit int64) (side []bool, better bool, err error) {
	a, b := best.Shares/in.grain, best.Bandwidth/unit
	if a == 0 {
		a, b = 0, 1
	}
	for x, y := a, b; ; x, y = y, x%y {
		if y == 0 {
			a, b = a/max(x, 1), b/max(x, 1)
			break
		}
	}
	n := in.t.Nodes()
	g := maxflow.New(n + 1)
	total := int64(0)
	for i, s := range in.sources {
		hi, lo := bits.Mul64(uint64(b), uint64(in.weight[i]))
		if hi != 0 || lo > 1<<60 {
			return nil, false, errors.New("fluid: sizes and bandwidths too different for whole numbers")
		}
		g.Add(n, s, int64(lo))
		if total += int64(lo); total > 1<<60 {
			return nil, false, errors.New("fluid: bandwidths too different for whole numbers")
		}
	}
	for _, l := range in.t.Links {
		hi, lo := bits.Mul64(uint64(l.Bandwidth/unit), uint64(a))
		if hi != 0 || lo > 1<<60 {
			lo = uint64(total) // as good as infinite
		}
		g.Add(l.Src, l.Dst, min(int64(lo), total))
	}
	if g.MaxFlow(n, d) >= total {
		return nil, false, nil
	}
	side = g.Reached()[:n]
	return side, true, nil
}

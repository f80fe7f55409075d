package fluid

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// RateByLP returns the Limit of p's collective by linear programs, independently of Rate.
// For each sink it asks for the largest rate x at which all sources together can send to
// it, x from each; the dual of that is a cut, which is read off and evaluated exactly. The
// second value is the largest relative difference between a program's optimum and its
// cut: beyond rounding it is 0, or the solver is wrong.
func RateByLP(ctx context.Context, p *model.Problem) (l Limit, off float64, err error) {
	in, err := newInstance(p)
	if err != nil {
		return Limit{}, 0, err
	}
	var best *big.Rat
	for _, d := range in.sinks {
		if len(in.sources) == 1 && in.sources[0] == d {
			continue
		}
		one, difference, err := in.toSink(ctx, d)
		if err != nil {
			return Limit{}, 0, fmt.Errorf("fluid: to rank %d: %w", d, err)
		}
		off = max(off, difference)
		if t := one.TimeOf(1); best == nil || t.Cmp(best) > 0 {
			best, l = t, one
		}
	}
	return l, off, nil
}

// toSink solves the program of one sink. Flows are in units of the largest bandwidth.
func (in *instance) toSink(ctx context.Context, d int) (Limit, float64, error) {
	scale := int64(1)
	for _, l := range in.t.Links {
		scale = max(scale, l.Bandwidth)
	}
	m := &lp.Model{Sense: lp.Maximise}
	x := m.AddNonNegative("x", lp.Int(1))
	flows := make([][]lp.Term, in.t.Nodes()) // out minus in
	for _, l := range in.t.Links {
		f := m.AddColumn(lp.Column{Upper: lp.At(lp.Frac(l.Bandwidth, scale)), Lower: lp.AtInt(0)})
		flows[l.Src] = append(flows[l.Src], lp.T(f, 1))
		flows[l.Dst] = append(flows[l.Dst], lp.T(f, -1))
	}
	rows := make([]int, in.t.Nodes())
	for v := range flows {
		rows[v] = -1
		if v == d {
			continue
		}
		for _, s := range in.sources {
			if s == v {
				flows[v] = append(flows[v], lp.T(x, -1))
			}
		}
		rows[v] = m.AddEQ("", lp.Int(0), flows[v]...)
	}
	r, err := highs.Solve(ctx, m, highs.Options{})
	if err != nil {
		return Limit{}, 0, err
	}
	if r.Status != highs.Optimal || r.RowDuals == nil {
		return Limit{}, 0, fmt.Errorf("the solver says %s", r.RawStatus)
	}
	// The dual of a conservation row is a potential, 0 at the sink; those with the most
	// differ from the others by links that are full. Any threshold between gives a cut
	// that binds.
	most := 0.0
	for _, row := range rows {
		if row >= 0 {
			most = max(most, math.Abs(r.RowDuals[row]))
		}
	}
	side := make([]bool, len(rows))
	for v, row := range rows {
		side[v] = row >= 0 && math.Abs(r.RowDuals[row]) > most/2
	}
	l, err := in.limit(side)
	if err != nil {
		return Limit{}, 0, err
	}
	if l.Shares == 0 || l.Bandwidth == 0 {
		return Limit{}, 0, fmt.Errorf("the dual is no cut: %d shards over %d bytes per second", l.Shares, l.Bandwidth)
	}
	exact, _ := new(big.Rat).SetFrac64(l.Bandwidth, l.Shares).Float64()
	return l, math.Abs(r.Objective*float64(scale)/exact - 1), nil
}

// Concurrent is the maximum concurrent flow of an alltoall.
type Concurrent struct {
	// Algbw is, according to the solver, the bytes of the buffer that pass per second.
	Algbw float64
	// Flows holds, by member and link, the bytes per second of what comes from that member,
	// when from each member to each other one Algbw/members passes.
	Flows [][]float64
	// Prices of links, from the dual: a certificate of kind prices.
	Prices model.Prices
	// Bound is the exact upper bound on the bytes per second that the prices prove.
	Bound *big.Rat
}

// maxFlowColumns limits the programs that are taken on.
const maxFlowColumns = 400_000

// AllToAll solves the maximum concurrent flow of p's alltoall: no copying helps there, so
// that this is the fluid limit. Flows are added up by source.
func AllToAll(ctx context.Context, p *model.Problem) (*Concurrent, error) {
	t, members := p.Topology, p.Members()
	if p.Collective.Kind != model.AllToAll {
		return nil, solve.NotServed("serves alltoall, not %v", p.Collective.Kind)
	}
	if len(members) < 2 {
		return nil, solve.NotServed("one member alone moves nothing")
	}
	if n := len(members) * len(t.Links); n > maxFlowColumns {
		return nil, solve.NotServed("too large: %d columns, want at most %d", n, maxFlowColumns)
	}
	scale := int64(1)
	for _, l := range t.Links {
		scale = max(scale, l.Bandwidth)
	}
	m := &lp.Model{Sense: lp.Maximise}
	x := m.AddNonNegative("x", lp.Int(1))
	capacity := make([][]lp.Term, len(t.Links))
	columns := make([][]int, len(members))
	for member, s := range members {
		columns[member] = make([]int, len(t.Links))
		balance := make([][]lp.Term, t.Nodes()) // in minus out
		for i, l := range t.Links {
			columns[member][i] = -1
			if l.Dst == s {
				continue
			}
			f := m.AddNonNegative("", lp.Int(0))
			columns[member][i] = f
			capacity[i] = append(capacity[i], lp.T(f, 1))
			balance[l.Dst] = append(balance[l.Dst], lp.T(f, 1))
			balance[l.Src] = append(balance[l.Src], lp.T(f, -1))
		}
		for _, d := range members {
			balance[d] = append(balance[d], lp.T(x, -1))
		}
		for v, terms := range balance {
			if v != s {
				m.AddEQ("", lp.Int(0), terms...)
			}
		}
	}
	rows := make([]int, len(t.Links))
	for i, terms := range capacity {
		rows[i] = m.AddLE("", lp.Frac(t.Links[i].Bandwidth, scale), terms...)
	}
	r, err := highs.Solve(ctx, m, highs.Options{})
	if err != nil {
		return nil, err
	}
	if r.Status != highs.Optimal || r.RowDuals == nil {
		return nil, fmt.Errorf("fluid: the solver says %s", r.RawStatus)
	}
	c := &Concurrent{Algbw: r.Objective * float64(scale) * float64(len(members)), Prices: model.Prices{Links: make([]int64, len(t.Links))}}
	for member := range members {
		flow := make([]float64, len(t.Links))
		for i, column := range columns[member] {
			if column >= 0 {
				flow[i] = max(0, r.Values[column]*float64(scale))
			}
		}
		c.Flows = append(c.Flows, flow)
	}
	most := 0.0
	for _, row := range rows {
		most = max(most, math.Abs(r.RowDuals[row]))
	}
	for i, row := range rows {
		c.Prices.Links[i] = int64(math.Round(math.Abs(r.RowDuals[row]) / most * priceUnit))
	}
	c.Bound = priced(p, c.Prices.Links)
	return c, nil
}

// priceUnit is the largest price: fine enough that rounding loses a millionth, and one that
// the denominators of small duals divide.
const priceUnit = 2 * 2 * 2 * 3 * 3 * 5 * 7 * 11 * 13 // 360 360

// priced returns the bytes of the buffer a second that prices leave: each pair's shard pays
// for the cheapest way, and all links together sell no more than their bandwidth.
func priced(p *model.Problem, prices []int64) *big.Rat {
	t, members := p.Topology, p.Members()
	sold := new(big.Int)
	for i, l := range t.Links {
		sold.Add(sold, new(big.Int).Mul(big.NewInt(prices[i]), big.NewInt(l.Bandwidth)))
	}
	paid := int64(0)
	for _, s := range members {
		far := cheapest(t, prices, s)
		for _, d := range members {
			paid += far[d]
		}
	}
	if paid == 0 {
		return nil
	}
	bound := new(big.Rat).SetFrac(sold, big.NewInt(paid))
	return bound.Mul(bound, big.NewRat(int64(len(members)), 1))
}

// cheapest returns the price of the cheapest way from s to each node, by Bellman and Ford.
func cheapest(t *model.Topology, prices []int64, s int) []int64 {
	far := make([]int64, t.Nodes())
	for v := range far {
		far[v] = math.MaxInt64 / 4
	}
	far[s] = 0
	for changed := true; changed; {
		changed = false
		for i, l := range t.Links {
			if c := far[l.Src] + prices[i]; c < far[l.Dst] {
				far[l.Dst], changed = c, true
			}
		}
	}
	return far
}

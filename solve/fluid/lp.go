package fluid

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/network"
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
	most := slices.Max(in.weight) // of which x is the rate
	rows := make([]int, in.t.Nodes())
	for v := range flows {
		rows[v] = -1
		if v == d {
			continue
		}
		for i, s := range in.sources {
			if s == v {
				flows[v] = append(flows[v], lp.Term{Col: x, Coef: lp.Frac(-in.weight[i], most)})
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
	highest := 0.0
	for _, row := range rows {
		if row >= 0 {
			highest = max(highest, math.Abs(r.RowDuals[row]))
		}
	}
	side := make([]bool, len(rows))
	for v, row := range rows {
		side[v] = row >= 0 && math.Abs(r.RowDuals[row]) > highest/2
	}
	l, err := in.limit(side)
	if err != nil {
		return Limit{}, 0, err
	}
	if l.Shares == 0 || l.Bandwidth == 0 {
		return Limit{}, 0, fmt.Errorf("the dual is no cut: %d shards over %d bytes per second", l.Shares, l.Bandwidth)
	}
	exact, _ := new(big.Rat).SetFrac64(l.Bandwidth, l.Shares).Float64()
	return l, math.Abs(r.Objective*float64(scale)/float64(most*in.grain)/exact - 1), nil
}

// Concurrent is the maximum concurrent flow of what goes from single ranks to single ranks.
type Concurrent struct {
	// Algbw is, according to the solver, the bytes of the buffer that pass per second.
	Algbw float64
	// Flows holds, by rank and link, the bytes per second of what comes from that rank, when each
	// pair's part of the buffer takes equally long; nil for a rank that has nothing for others.
	Flows [][]float64
	// Prices of links, from the dual: a certificate of kind prices.
	Prices model.Prices
	// Bound is the exact upper bound on the bytes per second that the prices prove.
	Bound *big.Rat
}

// demands is what each rank has for each other one, in units of which the buffer has whole.
type demands struct {
	of    [][]int64 // by rank, nil where it has nothing
	whole int64
}

// demandsOf returns the demands of p, or an error that wraps solve.ErrNotServed where several
// ranks want one part.
func demandsOf(p *model.Problem) (d demands, err error) {
	d.whole = p.Size
	switch members := p.Members(); p.Collective.Kind {
	case model.AllToAll, model.Gather, model.Scatter: // all parts are equal, whatever bytes are left over
		d.of, d.whole = make([][]int64, p.Topology.Ranks), int64(len(members))
		for _, u := range members {
			for _, v := range members {
				if u == v || p.Collective.Kind == model.Gather && v != p.Collective.Root || p.Collective.Kind == model.Scatter && u != p.Collective.Root {
					continue
				}
				if d.of[u] == nil {
					d.of[u] = make([]int64, p.Topology.Ranks)
				}
				d.of[u][v] = 1
			}
		}
	case model.Custom:
		d.of, err = network.Matrix(p)
	default:
		err = solve.NotServed("serves what goes from one rank to one, which %v does not", p.Collective.Kind)
	}
	if err == nil && !slices.ContainsFunc(d.of, func(row []int64) bool { return row != nil }) {
		err = solve.NotServed("nothing moves")
	}
	return d, err
}

// maxFlowColumns limits the programs that are taken on.
const maxFlowColumns = 400_000

// AllToAll solves the maximum concurrent flow of p, an alltoall, gather, scatter or custom collective in
// which each part goes from one rank to one: no copying helps there, so that this is the fluid
// limit. Flows are added up by source.
func AllToAll(ctx context.Context, p *model.Problem) (*Concurrent, error) {
	t := p.Topology
	d, err := demandsOf(p)
	if err != nil {
		return nil, err
	}
	sources, most := 0, int64(1)
	for _, row := range d.of {
		if row != nil {
			sources, most = sources+1, max(most, slices.Max(row))
		}
	}
	if n := sources * len(t.Links); n > maxFlowColumns {
		return nil, solve.NotServed("too large: %d columns, want at most %d", n, maxFlowColumns)
	}
	scale := int64(1)
	for _, l := range t.Links {
		scale = max(scale, l.Bandwidth)
	}
	m := &lp.Model{Sense: lp.Maximise}
	x := m.AddNonNegative("x", lp.Int(1)) // the rate of the largest demand
	capacity := make([][]lp.Term, len(t.Links))
	columns := make([][]int, len(d.of))
	for s, row := range d.of {
		if row == nil {
			continue
		}
		columns[s] = make([]int, len(t.Links))
		balance := make([][]lp.Term, t.Nodes()) // in minus out
		for i, l := range t.Links {
			columns[s][i] = -1
			if l.Dst == s {
				continue
			}
			f := m.AddNonNegative("", lp.Int(0))
			columns[s][i] = f
			capacity[i] = append(capacity[i], lp.T(f, 1))
			balance[l.Dst] = append(balance[l.Dst], lp.T(f, 1))
			balance[l.Src] = append(balance[l.Src], lp.T(f, -1))
		}
		for v, want := range row {
			if want > 0 {
				balance[v] = append(balance[v], lp.Term{Col: x, Coef: lp.Frac(-want, most)})
			}
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
	c := &Concurrent{Algbw: r.Objective * float64(scale) / float64(most) * float64(d.whole), Flows: make([][]float64, len(d.of)), Prices: model.Prices{Links: make([]int64, len(t.Links))}}
	for s := range columns {
		if columns[s] == nil {
			continue
		}
		flow := make([]float64, len(t.Links))
		for i, column := range columns[s] {
			if column >= 0 {
				flow[i] = max(0, r.Values[column]*float64(scale))
			}
		}
		c.Flows[s] = flow
	}
	dearest := 0.0
	for _, row := range rows {
		dearest = max(dearest, math.Abs(r.RowDuals[row]))
	}
	for i, row := range rows {
		c.Prices.Links[i] = int64(math.Round(math.Abs(r.RowDuals[row]) / dearest * priceUnit))
	}
	c.Bound = priced(t, d, c.Prices.Links)
	return c, nil
}

// priceUnit is the largest price: fine enough that rounding loses a millionth, and one that
// the denominators of small duals divide.
const priceUnit = 2 * 2 * 2 * 3 * 3 * 5 * 7 * 11 * 13 // 360 360

// priced returns the bytes of the buffer a second that prices leave: each pair's part pays
// for the cheapest way, and all links together sell no more than their bandwidth.
func priced(t *model.Topology, d demands, prices []int64) *big.Rat {
	sold, paid := new(big.Int), new(big.Int)
	for i, l := range t.Links {
		sold.Add(sold, new(big.Int).Mul(big.NewInt(prices[i]), big.NewInt(l.Bandwidth)))
	}
	for s, row := range d.of {
		if row == nil {
			continue
		}
		far := cheapest(t, prices, s)
		for v, want := range row {
			if want > 0 {
				paid.Add(paid, new(big.Int).Mul(big.NewInt(far[v]), big.NewInt(want)))
			}
		}
	}
	if paid.Sign() == 0 {
		return nil
	}
	bound := new(big.Rat).SetFrac(sold, paid)
	return bound.Mul(bound, big.NewRat(d.whole, 1))
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

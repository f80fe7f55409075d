package overtime

import (
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/maxflow"
)

// cutting solves a program without columns for what flows to destinations. That so much can flow is the same as that what is
// sent over each cut between a source and a destination is no less (Ford and Fulkerson, "Maximal flow through a network", Canadian
// Journal of Mathematics 8, 1956). There are many cuts, but few matter: they are found one after the other, for each destination
// one over which least is sent, and the program of those that are known is solved again (J. F. Benders, "Partitioning procedures for
// solving mixed-variables programming problems", Numerische Mathematik 4, 1962). With fewer of them the optimum is larger, and its
// prices hold nevertheless. So the search may end at any time.
//
// The solver has the dual of that: its columns are what a class of arcs costs in a window, and what a cut is worth; its rows are
// what is sent on all hops of a kind in some windows, whose arcs cost no less than the cuts are worth that it crosses. Rows of
// hops with detours matter rarely: they are added once they do not hold.
//
// Cuts are not looked for where the optimum of those that are known is, which jumps, but closer to where most is known to arrive
// (Ben-Ameur and Neto, "Acceleration of cutting-plane and column generation algorithms", Networks 49, 2007).
type cutting struct {
	*split
	lp      *highs.Growing
	flow    *maxflow.Network
	stages  []*stage
	tariffs []tariff  // the columns of lp, after that of what arrives at most
	known   []cut     // the columns behind those
	place   []int32   // of rows in lp, 0 where one is not there: that of what arrives
	rows    int32     // of lp, but the first
	payers  [][]payer // by row

	optimum  []float64 // what is sent, by row
	arriving float64   // there, over the cuts that are known
	centre   []float64 // what is sent where most is known to arrive
	sure     float64   // how much that is

	best offer
}

// tariff is a column of what a class of arcs costs in a window.
type tariff struct {
	class, window int
	most          float64 // what these arcs carry then
	rows          []int32
	entries       []float64
}

// payer is a tariff of a row.
type payer struct {
	column int32
	entry  float64
}

// Numbers of the search for cuts.
const (
	towards     = 0.1  // how far from the centre to the optimum cuts are looked for
	patience    = 10   // rounds in which what is found should grow
	hardly      = 3e-4 // by which part of itself
	mostRounds  = 60   // in which the program is solved
	exactly     = 1e-5 // how near to the optimum is near enough
	notAtAll    = 1e-6 // by how much a row may not hold
	maxAdmitted = 256  // rows that are added at a time
	farther     = 16   // the part of an end that another one may be away if prices of cuts for the one shall do for the other
	leastPaid   = 1e-9 // what cuts are worth that count
)

// cut solves a program by cuts, until ctx is done or little more is to be found. There are no duals if ctx is done before any
// prices are found.
func (x *split) cut(ctx context.Context) error {
	c := &cutting{split: x, flow: maxflow.New(0)}
	kinds := x.byColumn()
	for i := range x.roots {
		for k := range x.roots[i].ends {
			c.stages = append(c.stages, x.stage(&x.roots[i], &x.roots[i].ends[k], x.flows[i][k]))
		}
	}
	err := c.begin(kinds)
	defer c.lp.Close()
	if err != nil {
		return err
	}
	err = c.search(ctx)
	if ctx.Err() != nil {
		x.stopped = true
	}
	if c.best.prices == nil {
		x.duals = nil
		return err
	}
	c.take()
	return nil // what was found holds
}

// byColumn returns of which kind each column is; that of z is of none.
func (x *split) byColumn() []*sent {
	kinds := make([]*sent, x.NumColumns())
	for _, byEnd := range x.flows {
		for _, flows := range byEnd {
			for _, f := range flows {
				for _, p := range f.of {
					for _, c := range p.kind.columns {
						if c >= 0 {
							kinds[c] = p.kind
						}
					}
				}
			}
		}
	}
	return kinds
}

// begin makes the program without cuts. Its rows are how much arrives, and what all hops without detours send.
func (c *cutting) begin(kinds []*sent) (err error) {
	c.place, c.payers = make([]int32, len(kinds)), make([][]payer, len(kinds))
	for row, k := range kinds {
		if k != nil && k.direct {
			c.rows++
			c.place[row] = c.rows
		}
	}
	room := make([]float64, 1+c.rows)
	room[0] = -1
	if c.lp, err = highs.NewGrowing(room); err != nil {
		return err
	}
	if err := c.lp.Add(-mostParts, []int32{0}, []float64{-1}); err != nil {
		return err
	}
	for class, byWindow := range c.use {
		numbers := slices.Repeat([]int{-1}, len(byWindow))
		for k, terms := range byWindow {
			if len(terms) == 0 || c.unpriced[class] {
				continue
			}
			numbers[k] = c.passages + len(c.tariffs)
			if err := c.charge(c.tariff(class, k, kinds)); err != nil {
				return err
			}
		}
		c.capacity = append(c.capacity, numbers)
	}
	c.duals = make([]float64, c.passages+len(c.tariffs))
	return nil
}

// charge adds a tariff.
func (c *cutting) charge(t tariff) error {
	c.tariffs = append(c.tariffs, t)
	var rows []int32
	var entries []float64
	for i, row := range t.rows {
		c.payers[row] = append(c.payers[row], payer{int32(len(c.tariffs)), t.entries[i]})
		if at := c.place[row]; at > 0 {
			rows, entries = append(rows, at), append(entries, t.entries[i])
		}
	}
	return c.lp.Add(-t.most, rows, entries)
}

// tariff returns the column of a class of arcs in a window.
func (c *cutting) tariff(class, k int, kinds []*sent) tariff {
	t := tariff{class: class, window: k, most: c.most[class] * float64(c.cuts[k+1]-c.cuts[k])}
	for _, term := range summed(c.use[class][k]) {
		times, _ := term.Coef.Float64()
		t.rows = append(t.rows, int32(term.Col))
		t.entries = append(t.entries, -times/float64(kinds[term.Col].count))
	}
	return t
}

// admit adds the row of what is sent by some hops.
func (c *cutting) admit(row int32) error {
	c.rows++
	c.place[row] = c.rows
	var columns []int32
	var entries []float64
	for _, p := range c.payers[row] {
		columns, entries = append(columns, p.column), append(entries, p.entry)
	}
	for i := range c.known {
		k := &c.known[i]
		if n, found := slices.BinarySearch(k.rows, row); found {
			columns, entries = append(columns, int32(1+len(c.tariffs)+i)), append(entries, k.parts[n])
		}
	}
	return c.lp.AddRow(0, columns, entries)
}

// search solves the program, and adds cuts and rows, again and again.
func (c *cutting) search(ctx context.Context) error {
	c.centre = c.even()
	c.optimum, c.arriving = c.centre, mostParts
	if _, err := c.separate(ctx, c.centre); err != nil {
		return err
	}
	last := 0.0
	for round := 1; round <= mostRounds && ctx.Err() == nil; round++ {
		r, err := c.lp.Maximise(ctx)
		if err != nil {
			return unlessDone(ctx, err)
		}
		c.arriving, c.optimum = r.RowDuals[0], make([]float64, len(c.place))
		for row, at := range c.place {
			if at > 0 {
				c.optimum[row] = r.RowDuals[at]
			}
		}
		admitted, err := c.offer(r.Values)
		if err != nil {
			return err
		}
		if round%patience == 0 {
			if c.best.at <= last*(1+hardly) || round == patience && c.best.at > c.end()*(1+1./farther) {
				return nil
			}
			if c.early == c.late && c.best.part < 1-precision { // the end is too soon, which is all that prices show then
				return nil
			}
			last = c.best.at
		}
		if excluded, err := c.improve(ctx); err != nil || !excluded && !admitted {
			return err
		}
	}
	return nil
}

// unlessDone returns an error, or nil if ctx is done, which may be why there is one.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// even returns what is sent where each kind has as much of the arcs as others, of those in the program.
func (c *cutting) even() []float64 {
	sent := make([]float64, len(c.place))
	for i := range c.tariffs {
		t := &c.tariffs[i]
		sum := 0.0
		for n, row := range t.rows {
			if c.place[row] > 0 {
				sum -= t.entries[n]
			}
		}
		for _, row := range t.rows {
			if at := sent[row]; c.place[row] > 0 && (at == 0 || t.most/sum < at) {
				sent[row] = t.most / sum
			}
		}
	}
	return sent
}

// improve adds cuts that exclude the optimum, and reports whether there are such ones. What is sent is looked at
// closer and closer to the optimum, until some do.
func (c *cutting) improve(ctx context.Context) (excluded bool, err error) {
	if c.arriving-c.sure < exactly {
		return false, nil
	}
	for step := towards; ctx.Err() == nil; step = min(1, 2*step) {
		at := make([]float64, len(c.optimum))
		for i, v := range c.optimum {
			at[i] = (1-step)*c.centre[i] + step*v
		}
		if excluded, err = c.separate(ctx, at); excluded || err != nil || step == 1 {
			return excluded, err
		}
	}
	return false, nil
}

// separate adds a minimum cut of each stage in which less of what is sent can arrive than at the optimum, and reports whether one of
// them excludes that. What is sent is the new centre if more is known to arrive than of the old one.
func (c *cutting) separate(ctx context.Context, sent []float64) (excluded bool, err error) {
	least := math.Inf(1)
	for _, s := range c.stages {
		if ctx.Err() != nil {
			return excluded, nil
		}
		arrives := s.arrives(c.flow, sent)
		least = min(least, arrives)
		if arrives > c.arriving-exactly {
			continue
		}
		k := s.cut(c.flow.Reached(), len(sent))
		crossing, rows, entries := 0.0, []int32{0}, []float64{-1}
		for i, row := range k.rows {
			crossing += k.parts[i] * c.optimum[row]
			if at := c.place[row]; at > 0 {
				rows, entries = append(rows, at), append(entries, k.parts[i])
			}
		}
		excluded = excluded || crossing < c.arriving-exactly/2
		c.known = append(c.known, k)
		if err := c.lp.Add(0, rows, entries); err != nil {
			return excluded, err
		}
	}
	if least > c.sure {
		c.sure, c.centre = least, sent
	}
	return excluded, nil
}

// offer is prices of arcs, what cuts are worth, and how much arrives at most at these prices.
type offer struct {
	prices, worth []float64
	part          float64
	at            float64 // the end by which not all can have arrived, as they show
}

// offer keeps the prices of a solution if they show more than the best ones, and admits rows that do not hold.
func (c *cutting) offer(values []float64) (admitted bool, err error) {
	o := offer{prices: make([]float64, len(c.tariffs)), worth: make([]float64, len(c.known))}
	worth := 0.0
	for _, v := range values[1+len(c.tariffs):] {
		worth += max(0, v)
	}
	if worth == 0 {
		return false, nil
	}
	for i := range o.worth {
		if v := values[1+len(c.tariffs)+i] / worth; v > leastPaid {
			o.worth[i] = v
		}
	}
	for i := range o.prices {
		o.prices[i] = max(0, values[1+i]/worth)
	}
	lacks := c.lacks(&o)
	for row, n := 0, 0; row < len(lacks) && n < maxAdmitted; row++ {
		if lacks[row] > notAtAll && c.place[row] == 0 {
			if err := c.admit(int32(row)); err != nil {
				return true, err
			}
			n++
			admitted = true
		}
	}
	c.raise(&o, lacks)
	for i, t := range c.tariffs {
		o.part += o.prices[i] * t.most
		c.duals[c.passages+i] = o.prices[i]
	}
	o.at = c.end() * (2 - o.part)
	if c.early < c.late {
		o.at = c.end() + (1-o.part)/c.rate()
	}
	if o.at > c.best.at {
		c.best = o
	}
	return admitted, nil
}

// lacks returns by how much cuts that are crossed are worth more than arcs cost, by row.
func (c *cutting) lacks(o *offer) []float64 {
	lacks := make([]float64, len(c.place))
	for i, worth := range o.worth {
		if k := &c.known[i]; worth > 0 {
			for n, row := range k.rows {
				lacks[row] += worth * k.parts[n]
			}
		}
	}
	for i, price := range o.prices {
		if t := &c.tariffs[i]; price > 0 {
			for n, row := range t.rows {
				lacks[row] += price * t.entries[n]
			}
		}
	}
	return lacks
}

// raise raises prices until they are enough.
func (c *cutting) raise(o *offer, lacks []float64) {
	for i := range c.tariffs {
		t := &c.tariffs[i]
		more := 0.0
		for n, row := range t.rows {
			more = max(more, lacks[row]/-t.entries[n])
		}
		if more == 0 {
			continue
		}
		o.prices[i] += more
		for n, row := range t.rows {
			lacks[row] += more * t.entries[n]
		}
	}
}

// end returns the end of the program.
func (c *cutting) end() float64 { return float64(c.cuts[len(c.cuts)-1]) }

// take makes duals of the program as a whole of the best offer: what flows pays for all cuts that it crosses.
func (c *cutting) take() {
	copy(c.duals[c.passages:], c.best.prices)
	c.part = c.best.part
	for i, worth := range c.best.worth {
		if worth > 0 {
			k := &c.known[i]
			for n := range k.of.ways {
				if w := &k.of.ways[n]; k.crossed(w) {
					c.duals[w.number] += worth * w.count
				}
			}
		}
	}
}

package overtime

import (
	"context"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// solution is what a program came to.
type solution struct {
	*network
	cuts  []model.Time // between windows
	part  float64      // of all bytes that can arrive in time
	price [][]float64  // by class of arcs, window: what a byte pays on one of them
}

// program is the flow over time from each source until an end: bytes in each window on each arc
// of a class, and bytes that wait at each node of a colour between windows.
//
//	maximise z
//	balance   what waits at a node after a window = what waited before + what came - what left;
//	          after the last one z times what the source has for it
//	capacity  Σ over sources of what is on an arc of a class in a window <= bandwidth·length
type program struct {
	*network
	lp.Model
	cuts     []model.Time
	z        int
	scale    float64 // bytes in a unit
	capacity [][]int // by class, window: the row
	use      [][][]lp.Term
	failed   bool // a number that is none
}

// solve returns the optimum for an end, or nil if ctx is done before it is solved. Where one
// rank sends, time is cut into fewer windows if the program would be too large.
func (n *network) solve(ctx context.Context, end model.Time) (*solution, error) {
	cuts, _, _ := n.windows(end, maxWindows)
	if columns := n.perWindow(); len(n.sources) == 1 && columns*len(cuts) > maxColumns && fewColumns/columns >= minWindows {
		cuts, _, _ = n.windows(end, fewColumns/columns)
	}
	p := n.program(cuts)
	if p == nil {
		return nil, solve.NotServed("a program of more than %d columns", maxColumns)
	}
	p.capacities()
	if p.failed || ctx.Err() != nil {
		return nil, nil
	}
	r, err := highs.Solve(ctx, &p.Model, highs.Options{})
	if err != nil || r.Status != highs.Optimal || r.RowDuals == nil {
		return nil, err
	}
	s := &solution{network: n, cuts: p.cuts, part: r.Objective}
	for c, rows := range p.capacity {
		list := make([]float64, len(rows))
		for k, row := range rows {
			if row >= 0 {
				list[k] = math.Abs(r.RowDuals[row]) / float64(n.classes[c])
			}
		}
		s.price = append(s.price, list)
	}
	return s, nil
}

// perWindow returns how many columns a program has for a window, at most: one for each class of arcs, and one for each
// colour of nodes, of each source.
func (n *network) perWindow() (columns int) {
	for _, s := range n.sources {
		colours := map[uint64]bool{}
		for _, c := range s.colour {
			colours[c] = true
		}
		columns += len(n.classes) + len(colours)
	}
	return columns
}

// program returns the program with some windows, without capacities, or nil if it is too large.
func (n *network) program(cuts []model.Time) *program {
	p := &program{network: n, cuts: cuts, scale: 1}
	p.Sense = lp.Maximise
	p.z = p.AddNonNegative("z", lp.Int(1))
	for i := range n.sources {
		for _, b := range n.sources[i].bytes {
			p.scale = max(p.scale, b)
		}
	}
	p.use = make([][][]lp.Term, len(n.classes))
	for c := range p.use {
		p.use[c] = make([][]lp.Term, len(p.cuts)-1)
	}
	for i := range n.sources {
		if p.flow(&n.sources[i]); p.NumColumns() > maxColumns {
			return nil
		}
	}
	return p
}

// flow adds the columns and balances of a source.
func (p *program) flow(s *source) {
	node := map[uint64]int{} // by colour: a node that stands for all
	for v, c := range s.colour {
		if _, known := node[c]; !known {
			node[c] = v
		}
	}
	type alike struct {
		class    int
		src, dst uint64
	}
	count := map[alike]int{}
	key := func(a *arc) alike { return alike{a.class, s.colour[a.src], s.colour[a.dst]} }
	for i := range p.arcs {
		count[key(&p.arcs[i])]++
	}
	columns := map[alike][]int{}
	column := func(a *arc) []int {
		k := key(a)
		if columns[k] != nil || a.dst == s.rank {
			return columns[k]
		}
		list := make([]int, len(arrivals(p.cuts, a.alpha)))
		share := lp.Frac(int64(s.alike)*int64(count[k]), int64(p.classes[a.class]))
		for w := range list {
			list[w] = p.AddNonNegative("", lp.Int(0))
			p.use[a.class][w] = append(p.use[a.class][w], lp.Term{Col: list[w], Coef: share})
		}
		columns[k] = list
		return list
	}
	for v, c := range s.colour {
		if node[c] == v && v != s.rank {
			p.balance(s, v, column)
		}
	}
}

// balance adds the balances of one node, for all those of its colour.
func (p *program) balance(s *source, v int, column func(*arc) []int) {
	windows := len(p.cuts) - 1
	rows := make([][]lp.Term, windows)
	for _, i := range p.out[v] {
		for w, x := range column(&p.arcs[i]) {
			rows[w] = append(rows[w], lp.T(x, -1))
		}
	}
	for _, i := range p.in[v] {
		there := arrivals(p.cuts, p.arcs[i].alpha)
		for w, x := range column(&p.arcs[i]) {
			rows[there[w]] = append(rows[there[w]], lp.T(x, 1))
		}
	}
	before := -1
	for w, terms := range rows {
		if before >= 0 {
			terms = append(terms, lp.T(before, 1))
		}
		if w+1 < windows {
			before = p.AddNonNegative("", lp.Int(0))
			terms = append(terms, lp.T(before, -1))
		} else if b := s.bytes[v]; b > 0 {
			terms = append(terms, lp.Term{Col: p.z, Coef: p.number(-b / p.scale)})
		}
		if len(terms) > 0 {
			p.AddEQ("", lp.Int(0), summed(terms)...)
		}
	}
}

// summed adds up terms of one column.
func summed(terms []lp.Term) []lp.Term {
	place := map[int]int{}
	var sum []lp.Term
	for _, t := range terms {
		i, known := place[t.Col]
		if !known {
			place[t.Col] = len(sum)
			sum = append(sum, t)
			continue
		}
		sum[i].Coef = sum[i].Coef.Add(t.Coef)
	}
	return sum
}

// capacities adds the rows of the arcs.
func (p *program) capacities() {
	bandwidth := make([]float64, len(p.classes))
	for i := range p.arcs {
		bandwidth[p.arcs[i].class] = p.arcs[i].bandwidth
	}
	for c, byWindow := range p.use {
		rows := make([]int, len(byWindow))
		for k, terms := range byWindow {
			if rows[k] = -1; len(terms) > 0 {
				length := float64(p.cuts[k+1] - p.cuts[k])
				rows[k] = p.AddLE("", p.number(bandwidth[c]*length/p.scale), terms...)
			}
		}
		p.capacity = append(p.capacity, rows)
	}
}

func (p *program) number(x float64) lp.Rat {
	r, ok := lp.Float(x)
	p.failed = p.failed || !ok
	return r
}

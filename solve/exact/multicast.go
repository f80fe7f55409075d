package exact

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp"
)

// switches is what the switches of a problem can do with the multicasts of the encoding. Where the
// problem is a reduction read backwards these are its sums, and copies says where it adds.
type switches struct {
	copies []bool // by node
	reads  []bool // by node: a rank's own contribution goes there and back
	sums   []int  // by node: how many sums at one time; 0: any number
	sum    bool   // multicasts are sums read backwards
}

// switchesOf returns those of p, which is solved through q, p itself or p read backwards.
func switchesOf(p, q *model.Problem) switches {
	t := p.Topology
	w := switches{copies: make([]bool, t.Nodes()), reads: make([]bool, t.Nodes()), sums: make([]int, t.Nodes()), sum: p != q}
	for v := range w.copies {
		w.copies[v] = q.Topology.Copies(v)
		w.reads[v] = t.Reduces(v) == model.SumsRead
		if v >= t.Ranks && w.sum {
			w.sums[v] = t.Switches[v-t.Ranks].Sums
		}
	}
	return w
}

// reading reports whether a rank can write to several, or read a sum, at a switch where what
// takes part may wait, which the encoding does not know.
func (w *switches) reading() bool {
	for v := range w.copies {
		if w.copies[v] && w.reads[v] {
			return true
		}
	}
	return false
}

// multicasts are the ways of hops, joined where a switch can copy: what leaves one rank at one
// epoch passes each of their links once, however many it goes to.
type multicasts struct {
	ways    []*way
	beside  map[int][]*way // by link: the first parts of multicasts that take it, too, for what the rank has itself
	derived []derived
}

// way is a part of the ways of some hops: from their rank up to a link.
type way struct {
	link   int // the first of equal parallel ones
	width  int
	alike  []int // those
	hops   []int
	onward []*way
	copies bool // its end makes one of what goes on

	cover   map[[2]int]family // by chunk and epochs: what passes of what keeps links busy so long
	several []family          // by chunk: whether it is a multicast or, where only links count, nil
}

// links returns the parallel links of a way's end.
func (x *way) links() []int { return x.alike }

// family is columns of one thing, one for each epoch of a window.
type family struct{ column, first, last int }

func (f family) at(t int) (column int, ok bool) {
	return f.column + t - f.first, t >= f.first && t <= f.last
}

// derived is a column that the sends decide: the largest sum of columns of some sets, or
// whether it is more than 1.
type derived struct {
	column  int
	sets    [][]int
	several bool
}

// newMulticasts joins the ways of e's hops, and adds columns and rows where they part at switches
// that copy:
//
//	cover    M[x,k,t] >= Σ M of each way on behind x     what leaves together passes x once
//	several  Σ F[k,h,t] <= 1 + (hops behind x - 1)·S[x,k,t]
//	own      where S, the link back to the rank is taken, too, at a switch that reads
//	sums     Σ S at a switch <= its limit
//	alone    the slot at which a sum ends is written by nothing else meanwhile
func newMulticasts(e *encoding, w switches) *multicasts {
	m := &multicasts{beside: map[int][]*way{}}
	e.multicasts = m
	type key struct {
		before *way
		src    int
		link   int
	}
	known := map[key]*way{}
	for h := range e.Hops {
		var before *way
		for n, l := range e.Hops[h].Routes[0] {
			k := key{before, e.Hops[h].Src, l}
			x := known[k]
			if x == nil {
				x = &way{link: l, width: len(e.Hops[h].Routes), cover: map[[2]int]family{}}
				for _, route := range e.Hops[h].Routes {
					x.alike = append(x.alike, route[n])
				}
				known[k] = x
				m.ways = append(m.ways, x)
				if before != nil {
					before.onward = append(before.onward, x)
				}
			}
			x.hops = append(x.hops, h)
			before = x
		}
	}
	t := e.Problem.Topology
	byRank := make([][]*way, t.Ranks) // the first parts
	for _, x := range m.ways {
		l := t.Links[x.link]
		first := t.IsRank(l.Src)
		v := l.Dst
		x.copies = len(x.onward) > 1 && w.copies[v] && !(w.reads[v] && (!first || slices.ContainsFunc(x.hops, func(h int) bool { return len(e.Hops[h].Routes[0]) != 2 })))
		if first {
			byRank[l.Src] = append(byRank[l.Src], x)
		}
	}
	joins := func(x *way) bool { // on its way on
		var any func(x *way) bool
		any = func(x *way) bool { return x.copies || slices.ContainsFunc(x.onward, any) }
		return any(x)
	}
	for _, x := range m.ways {
		l := t.Links[x.link]
		first, v := t.IsRank(l.Src), l.Dst
		if first && joins(x) && (w.sum || w.reads[v]) || x.copies && w.sums[v] > 0 {
			m.isSeveral(e, x)
		}
		if first && x.copies && w.reads[v] {
			for back, k := range t.Links {
				if k.Src == v && k.Dst == l.Src {
					m.beside[back] = append(m.beside[back], x)
				}
			}
		}
	}
	for v, limit := range w.sums {
		var at []*way
		for _, x := range m.ways {
			if x.copies && t.Links[x.link].Dst == v {
				at = append(at, x)
			}
		}
		if limit > 0 && len(at) > 0 {
			e.capacity(nil, at, limit)
		}
	}
	if w.sum {
		for _, list := range byRank {
			m.alone(e, list)
		}
	}
	return m
}

// isSeveral adds, for each chunk, whether what passes x goes to several ranks.
func (m *multicasts) isSeveral(e *encoding, x *way) {
	for k := range e.Problem.Chunks {
		f := e.family(fmt.Sprintf("S_%d_%d", x.link, k), k, x.hops, true)
		x.several = append(x.several, f)
		for t := f.first; t <= f.last; t++ {
			s, _ := f.at(t)
			d := derived{column: s, sets: [][]int{nil}, several: true}
			terms := []lp.Term{lp.T(s, int64(1-len(x.hops)))}
			for _, h := range x.hops {
				if c := e.column(k, h, t); c >= 0 {
					terms, d.sets[0] = append(terms, lp.T(c, 1)), append(d.sets[0], c)
				}
			}
			e.AddLE("", lp.Int(1), terms...)
			m.derived = append(m.derived, d)
		}
	}
}

// family adds columns for the epochs in which some hops may begin with a chunk.
func (e *encoding) family(name string, k int, hops []int, integer bool) family {
	f := family{first: e.Horizon, last: -1}
	for _, h := range hops {
		if first, last := e.Window(k, h); first <= last {
			f.first, f.last = min(f.first, first), max(f.last, last)
		}
	}
	for t := f.first; t <= f.last; t++ {
		c := e.AddColumn(lp.Column{Name: fmt.Sprintf("%s_%d", name, t), Upper: lp.AtInt(1), Integer: integer})
		if t == f.first {
			f.column = c
		}
	}
	return f
}

// alone states that while a sum comes to a rank, read backwards while a multicast leaves it,
// nothing else does: list has the first parts of the ways that leave a rank.
func (m *multicasts) alone(e *encoding, list []*way) {
	if !slices.ContainsFunc(list, func(x *way) bool { return x.several != nil }) {
		return
	}
	for k := range e.Problem.Chunks {
		for t := range e.Horizon {
			var others []lp.Term
			for _, x := range list {
				if x.several == nil {
					continue
				}
				lasts := 0
				for _, h := range x.hops {
					lasts = max(lasts, e.Delay(k, h))
				}
				others = append(others, e.under(x.several[k], t, lasts)...)
			}
			if len(others) == 0 {
				continue
			}
			for _, x := range list {
				for _, f := range e.covers(x, k, 1) {
					c, there := f.at(t)
					if !there {
						continue
					}
					terms := append(slices.Clone(others), lp.T(c, 1))
					if x.several != nil {
						if s, own := x.several[k].at(t); own { // it is no other
							terms = slices.DeleteFunc(terms, func(y lp.Term) bool { return y.Col == s })
						}
					}
					if len(terms) > 1 {
						e.AddLE("", lp.Int(1), terms...)
					}
				}
			}
		}
	}
}

// under returns the columns of what begins in the last epochs up to t, t itself the last.
func (e *encoding) under(f family, t, epochs int) (terms []lp.Term) {
	for s := max(0, t-epochs+1); s <= t; s++ {
		if c, there := f.at(s); there {
			terms = append(terms, lp.T(c, 1))
		}
	}
	return terms
}

// longest returns for how many epochs chunk k keeps links busy on some hop over x.
func (e *encoding) longest(x *way, k int) int {
	most := 0
	for _, h := range x.hops {
		most = max(most, e.Busy(k, h))
	}
	return most
}

// passing returns the columns of what passes x with chunk k at epoch t, of each multicast one.
func (e *encoding) passing(x *way, k, t int) (terms []lp.Term) {
	if h := x.hops[0]; len(x.hops) == 1 {
		first, last := e.Window(k, h)
		return e.under(family{e.first[k][h], first, last}, t, e.Busy(k, h))
	}
	var lengths []int
	for _, h := range x.hops {
		lengths = append(lengths, e.Busy(k, h))
	}
	slices.Sort(lengths)
	before := 0
	for _, busy := range slices.Compact(lengths) {
		for _, f := range e.covers(x, k, busy) {
			for s := max(0, t-busy+1); s <= t-before; s++ { // of what is shorter others tell
				if c, there := f.at(s); there {
					terms = append(terms, lp.T(c, 1))
				}
			}
		}
		before = busy
	}
	return terms
}

// covers returns families that count what passes x with chunk k, of what keeps links busy for
// a number of epochs or more.
func (e *encoding) covers(x *way, k, busy int) (all []family) {
	switch {
	case len(x.onward) == 0:
		for _, h := range x.hops {
			if first, last := e.Window(k, h); e.Busy(k, h) >= busy && first <= last {
				all = append(all, family{e.first[k][h], first, last})
			}
		}
		return all
	case !x.copies:
		for _, y := range x.onward {
			all = append(all, e.covers(y, k, busy)...)
		}
		return all
	}
	lengths := []int{}
	for _, h := range x.hops {
		if b := e.Busy(k, h); b >= busy {
			lengths = append(lengths, b)
		}
	}
	if len(lengths) == 0 {
		return nil
	}
	key := [2]int{k, slices.Min(lengths)}
	f, known := x.cover[key]
	if !known {
		var sets [][]family
		for _, y := range x.onward {
			if list := e.covers(y, k, busy); len(list) > 0 {
				sets = append(sets, list)
			}
		}
		f = e.family(fmt.Sprintf("M_%d_%d_%d", x.link, k, busy), k, x.hops, false)
		for t := f.first; t <= f.last; t++ {
			c, _ := f.at(t)
			d := derived{column: c}
			for _, list := range sets {
				terms, set := []lp.Term{lp.T(c, -1)}, []int(nil)
				for _, g := range list {
					if column, there := g.at(t); there {
						terms, set = append(terms, lp.T(column, 1)), append(set, column)
					}
				}
				if len(set) > 0 {
					e.AddLE("", lp.Int(0), terms...)
					d.sets = append(d.sets, set)
				}
			}
			e.derived = append(e.derived, d)
		}
		x.cover[key] = f
	}
	return []family{f}
}

// derive gives the columns that the sends decide their values.
func (e *encoding) derive(x []lp.Rat) {
	for _, d := range e.derived { // what passes the links behind a way comes before it
		most := 0
		for _, set := range d.sets {
			n := 0
			for _, c := range set {
				n += x[c].Sign()
			}
			most = max(most, n)
		}
		if d.several {
			most = min(1, most/2)
		}
		x[d.column] = lp.Int(int64(most))
	}
}

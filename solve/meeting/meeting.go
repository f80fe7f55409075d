//go:build cgo

package meeting

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Instance is an allreduce on a shop that is mirrored: its Back is not nil. Roots, Twins and Kinds of the shop do not matter.
type Instance struct {
	Shop  *ejection.Shop
	Roots []int32 // where patterns may have their roots: one rank of those that are alike
	Class []int32 // by rank: what number of Roots it is like, -1 if it is no member
	Kind  int32   // of all parts
	Parts int     // how many there are: each takes machines once for each hop
	Bin   float64 // slots of a bin of time
	Bins  int     // until the end
}

// Pattern is what a share of the buffer takes.
type Pattern struct {
	Share float64
	Root  int32
	Twin  int32    // who exchanges sums with the root, or -1
	Meets int      // the bin in which the sums are at the root or, with a twin, are exchanged
	Hops  [2][]Hop // by direction, parents before children
}

// Hop does a job: it brings a rank what it lacks or, in direction 1, takes its sum.
type Hop struct {
	Rank, By int32 // the number of the arc
	Bin      int32 // in which it starts, as its direction counts them
}

// New returns a program that is not solved yet. It is closed when it is no longer reached; Close frees it before.
func New(x Instance, rng *rand.Rand) (*Program, error) {
	g := newProgram(x, rng)
	return g, g.err
}

// Close frees the program. It cannot be solved after that.
func (g *Program) Close() { g.lp.Close() }

// Later returns a program that is like one but ends some bins later. It begins with the patterns of that, each with all times at which it may meet. The
// other one is not closed.
func (g *Program) Later(more int) (*Program, error) {
	x := g.Instance
	x.Bins += more
	y, err := New(x, g.rng)
	if err != nil {
		return y, err
	}
	y.sowed = len(g.columns) > 0
	for i := range g.columns {
		if p := &g.columns[i]; i >= len(g.shares) || g.shares[i] > usedShare {
			for later := range more + 1 {
				y.add(p.shifted(later, more-later))
			}
		}
	}
	return y, y.err
}

// shifted returns a pattern with bins more before it meets, and more after that.
func (p *Pattern) shifted(before, after int) Pattern {
	q := *p
	q.Meets += before
	for dir, more := range [2]int{before, after} {
		q.Hops[dir] = slices.Clone(p.Hops[dir])
		for i := range q.Hops[dir] {
			q.Hops[dir][i].Bin += int32(more)
		}
	}
	return q
}

// Most returns about how many times the buffer patterns can carry at most: what all rows have room for at some prices, divided by what the pattern
// costs that is found to be the cheapest at these, the least of all rounds (Farley, "A note on bounding a class of linear programming problems,
// including cutting stock problems", Operations Research 38, 1990). That would be a bound if none was cheaper.
func (g *Program) Most() float64 { return g.most }

// Solve returns the patterns of the program and how many times the buffer they carry: when that is enough, or nearly the most that they can, when
// they cannot carry as much as is needed, when no patterns are found that are worth more than they cost, or when ctx is done. It goes on where the call
// before it ended.
func (g *Program) Solve(ctx context.Context, needed, enough float64) (patterns []Pattern, whole float64, err error) {
	if !g.sowed && g.err == nil {
		g.sow(ctx)
		g.sowed = ctx.Err() == nil
	}
	for g.err == nil && ctx.Err() == nil && g.whole < enough && g.most >= needed && g.whole < nearlyMost*g.most && !g.over {
		g.round(ctx)
	}
	for j, share := range g.shares {
		if share > usedShare {
			p := g.columns[j]
			p.Share = share
			p.Hops[1] = slices.Clone(p.Hops[1])
			for i := range p.Hops[1] {
				h := &p.Hops[1][i]
				h.By = g.images[h.Rank][h.By]
			}
			patterns = append(patterns, p)
		}
	}
	if ctx.Err() != nil {
		g.err = nil
	}
	return patterns, g.whole, g.err
}

// Least returns how many bins there are at least if there is to be a pattern, or math.MaxInt if not all members are within reach of a root: the sums come
// from the farthest rank to where they meet, and the whole goes back to it.
func Least(x Instance) int {
	g := newShape(x)
	least := math.MaxInt
	for _, c := range g.cores {
		from, lag := []int32{c.root}, 0
		if c.twin != nil {
			from, lag = append(from, c.twin.to), int(c.twin.lag)
		}
		if deep := g.depth(from); deep >= 0 {
			least = min(least, 2*deep+lag+1)
		}
	}
	return least
}

// depth returns after how many bins what some ranks have is at all members at the earliest, -1 if it is not (Bellman and Ford).
func (g *Program) depth(from []int32) (deep int) {
	at := slices.Repeat([]int32{ejection.Nowhere}, g.Shop.Ranks)
	for _, u := range from {
		at[u] = 0
	}
	for again := true; again; {
		again = false
		for _, list := range g.out {
			for _, a := range list {
				if by := at[a.from] + a.lag; by < at[a.to] {
					at[a.to], again = by, true
				}
			}
		}
	}
	for v, c := range g.Class {
		if c >= 0 && at[v] >= ejection.Nowhere {
			return -1
		}
		if c >= 0 {
			deep = max(deep, int(at[v]))
		}
	}
	return deep
}

const (
	usedShare  = 1e-9  // of the buffer: what carries no more is not used
	nearlyMost = 0.999 // of what patterns can carry
)

// Program is the linear program.
type Program struct {
	Instance
	rng     *rand.Rand
	ranks   int     // members
	out     [][]arc // by parent
	into    [][]arc // by child
	classes []class
	cores   []core
	row     []int32   // by machine and bin
	room    []float64 // by row
	images  [][]int32 // by child and arc: the arc of direction 1 that is the image

	lp      *highs.Growing
	columns []Pattern // their sums go over arcs of copies
	shares  []float64 // of the buffer, by column
	whole   float64   // their sum
	most    float64   // see Most
	err     error
	sowed   bool // first patterns were found
	rounds  int
	idle    int  // rounds at the program's own prices, in turn, that found nothing
	over    bool // no more are worth while

	own     []float64   // by row: the program's prices; nil: there are none yet
	centre  []float64   // by row: the same with those of the rounds before
	prices  []float64   // by row: those at which patterns are looked for
	table   [][]float64 // by class and bin: what a hop costs that starts then
	tail    [][]float64 // by class and bin: the least that one costs from then on
	best    [][]float64 // by class and bin: the least that one costs from then on, with the time that passes
	bestBin [][]int32   // and when it starts
	load    []float64   // by row: scratch, 0
}

// arc is a hop of copies.
type arc struct{ from, to, by, class, lag int32 }

// class is hops that take the same machines for the same times: rows for each bin in which they start.
type class struct {
	machine, off []int32 // bins
	width        []float64
	lag          int32 // bins
}

// bins returns how many bins some slots are, about.
func (g *Program) bins(slots int32) int32 { return int32(math.Round(float64(slots) / g.Bin)) }

// newShape returns a program without rows: what hops there are.
func newShape(x Instance) *Program {
	s := x.Shop
	g := &Program{Instance: x, out: make([][]arc, s.Ranks), into: make([][]arc, s.Ranks)}
	for _, c := range x.Class {
		if c >= 0 {
			g.ranks++
		}
	}
	ways := s.Ways[0][x.Kind]
	for w := range ways {
		c, lag := class{}, ways[w].Lasts // without the time that machines take
		for _, v := range ways[w].Stays {
			c.machine, c.off, c.width = append(c.machine, v.Machine), append(c.off, g.bins(v.Off)), append(c.width, float64(v.Width))
			lag = min(lag, ways[w].Lasts-v.Width)
		}
		c.lag = g.bins(lag)
		g.classes = append(g.classes, c)
	}
	for child, list := range s.Arcs[0] {
		for by, a := range list {
			y := arc{a.Parent, int32(child), int32(by), a.Way, g.classes[a.Way].lag}
			g.out[a.Parent], g.into[child] = append(g.out[a.Parent], y), append(g.into[child], y)
		}
	}
	g.cores = g.allCores()
	return g
}

// newProgram returns a program without columns.
func newProgram(x Instance, rng *rand.Rand) *Program {
	g := newShape(x)
	g.rng, g.most = rng, math.Inf(1)
	for _, c := range g.classes {
		n := max(0, x.Bins-int(c.lag))
		g.table, g.tail = append(g.table, make([]float64, n)), append(g.tail, make([]float64, n))
		g.best, g.bestBin = append(g.best, make([]float64, n)), append(g.bestBin, make([]int32, n))
	}
	g.fold()
	g.images = imagesOf(x.Shop)
	g.prices, g.centre, g.load = make([]float64, len(g.room)), make([]float64, len(g.room)), make([]float64, len(g.room))
	g.lp, g.err = highs.NewGrowing(g.room)
	return g
}

// pools returns for each machine the first one that serves hops like its own: between the same ranks and as long. They are one row for each bin.
func pools(s *ejection.Shop, kind int32) (first []int32) {
	serves := make([][]string, s.Machines)
	for child, arcs := range s.Arcs[0] {
		for _, a := range arcs {
			w := &s.Ways[0][kind][a.Way]
			for _, v := range w.Stays {
				key := fmt.Sprint(a.Parent, child, w.Lasts, v.Off, v.Width)
				if len(w.Stays) > 1 { // what it takes with others is its own
					key = fmt.Sprint(key, v.Machine)
				}
				serves[v.Machine] = append(serves[v.Machine], key)
			}
		}
	}
	known := map[string]int32{}
	for m, list := range serves {
		slices.Sort(list)
		key := fmt.Sprint(list, s.Lag[m])
		if _, found := known[key]; !found {
			known[key] = int32(m)
		}
		first = append(first, known[key])
	}
	return first
}

// fold numbers the rows: a bin of a pool is one with the bin that the images of its hops take, of the pool that they do.
func (g *Program) fold() {
	s, pool := g.Shop, pools(g.Shop, g.Kind)
	g.row = slices.Repeat([]int32{-1}, s.Machines*g.Bins)
	each := g.Bin / float64(g.Parts)
	for m := range s.Machines {
		for b := range g.Bins {
			i := m*g.Bins + b
			first := int(pool[m])*g.Bins + b
			if g.row[first] < 0 {
				g.row[first] = int32(len(g.room))
				g.room = append(g.room, 0)
				if back := s.Back[m]; back >= 0 {
					at := g.Bins - 1 - b - int(g.bins(s.Lag[m]))
					if j := int(pool[back])*g.Bins + at; at >= 0 && j != first && g.row[j] < 0 {
						g.row[j] = g.row[first]
					}
				}
			}
			g.row[i] = g.row[first]
			g.room[g.row[i]] += each
		}
	}
}

// imagesOf returns the image of each arc of copies: one of sums between the same ranks, over the machines that are turned round.
func imagesOf(s *ejection.Shop) (list [][]int32) {
	for child, arcs := range s.Arcs[0] {
		done, of := make([]bool, len(s.Arcs[1][child])), make([]int32, len(arcs))
		for i, a := range arcs {
			for k, b := range s.Arcs[1][child] {
				if !done[k] && b.Parent == a.Parent && turned(s, a.Way, b.Way) {
					of[i], done[k] = int32(k), true
					break
				}
			}
		}
		list = append(list, of)
	}
	return list
}

// turned reports whether hops over one way are those over another one turned round.
func turned(s *ejection.Shop, copies, sums int32) bool {
	a, b := s.Ways[0][0][copies].Stays, s.Ways[1][0][sums].Stays
	for i := range a {
		if len(a) != len(b) || s.Back[a[i].Machine] != b[len(b)-1-i].Machine {
			return false
		}
	}
	return len(a) == len(b)
}

// tabulate notes what hops cost.
func (g *Program) tabulate() {
	for c := range g.classes {
		x := &g.classes[c]
		for b := range g.table[c] {
			sum := 0.0
			for i, m := range x.machine {
				sum += x.width[i] * g.prices[g.row[int(m)*g.Bins+b+int(x.off[i])]]
			}
			g.table[c][b] = sum
		}
		least := math.Inf(1)
		for b, cost := range slices.Backward(g.table[c]) {
			least = min(least, cost)
			g.tail[c][b] = least
		}
	}
}

// hurry notes for each bin when a hop costs least that starts then or later, if a bin of time costs so much.
func (g *Program) hurry(worth float64) {
	for c := range g.classes {
		least, at := math.Inf(1), int32(0)
		for b := len(g.table[c]) - 1; b >= 0; b-- {
			if cost := g.table[c][b] + worth*float64(b); cost <= least {
				least, at = cost, int32(b)
			}
			g.best[c][b], g.bestBin[c][b] = least, at
		}
	}
}

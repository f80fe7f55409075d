//go:build cgo

package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/symmetry"
)

// program is a linear program over trees with times: how much of the buffer takes which tree, and in which bin of time it
// leaves the root, so that as much as possible is everywhere at the end, while no orbit of links carries more in a bin than it
// has room for. An orbit is the links that symmetries which leave the root where it is move to each other: what takes a tree is
// divided among its images, which load all links of an orbit alike, so that orbits instead of links are rows. It is a flow
// over time (Ford and Fulkerson, "Constructing maximal dynamic flows from static flows", Operations Research 6, 1958), of
// trees instead of ways; they are columns that are found by their prices.
type program struct {
	p       *model.Problem
	root    int
	members []int32
	others  int // members but the root
	hops    []timedHop
	out     [][]int32    // by rank: hops that leave it
	into    [][]timedHop // by rank: those that lead there
	images  [][]int32    // by symmetry and hop: the hop that it becomes
	routes  [][]int      // by hop
	classes []timedClass
	table   []float64    // by class and bin: what a hop costs that begins with the bin, for what does not leave the root in the first
	early   []float64    // by class and number: what a hop costs that begins as many widths of a bin after 0, for what leaves the root in the first
	room    []float64    // by orbit: bytes per second of all its links, or what is used of them
	begin   []model.Time // of bins in which trees leave the root, and the end
	cuts    []model.Time // between rows of an orbit: the same or, if steady, one more
	steady  bool         // what leaves the root in the first bin takes the same trees for a long time
	width   model.Time   // of all bins but the first
	far     model.Time   // when a byte can be at the last member
	waits   []model.Time
	ample   float64 // how much more than the buffer it should send, as a part of it
	// thorough programs are solved better, and for longer.
	thorough bool
	rng      *rand.Rand

	lp     *highs.Growing
	trees  []*timedTree
	shares []float64 // of the buffer, by tree
	whole  float64   // their sum
	prices []float64 // by row
	sprout sprout
	load   []float64 // by row: scratch, 0
}

// timedHop is a way from a rank to another over some links, which it keeps busy as others of its class do.
type timedHop struct {
	from, to, class, number int32
	lasts                   model.Time
}

// timedClass is hops over the same orbits of links after the same times.
type timedClass struct {
	orbits []int32
	after  []model.Time
}

// newProgram returns a program without trees for what ends at a time, in bins of a width, steady or not; nil if there are too many hops or orbits.
func newProgram(ctx context.Context, p *model.Problem, far, end, width model.Time, steady bool) *program {
	t := p.Topology
	g := &program{p: p, root: p.Collective.Root, others: len(p.Members()) - 1, out: make([][]int32, t.Ranks), into: make([][]timedHop, t.Ranks),
		far: far, width: width, steady: steady, rng: rand.New(rand.NewPCG(1, 1))}
	outside := solve.Outsiders(p)
	for _, v := range p.Members() {
		g.members = append(g.members, int32(v))
	}
	moved := symmetry.Stabiliser(ctx, t, g.root, symmetries, g.rng)
	for _, h := range hop.Until(t, func() bool { return ctx.Err() != nil }) {
		if outside[h.Src] || outside[h.Dst] {
			continue
		}
		for _, route := range h.Routes {
			n := int32(len(g.hops))
			g.out[h.Src], g.routes = append(g.out[h.Src], n), append(g.routes, route)
			g.hops = append(g.hops, timedHop{from: int32(h.Src), to: int32(h.Dst), number: n})
		}
	}
	if len(g.hops) > maxTimedHops || ctx.Err() != nil {
		return nil
	}
	orbit, room := orbits(t, g.moveHops(moved))
	if len(room) > maxOrbits {
		return nil
	}
	g.room = room
	class := map[string]int32{}
	for h := range g.hops {
		x := &g.hops[h]
		var c timedClass
		for _, l := range g.routes[h] {
			c.orbits, c.after = append(c.orbits, orbit[l]), append(c.after, x.lasts)
			x.lasts += t.Links[l].Alpha
		}
		key := fmt.Sprint(c.orbits, c.after)
		if _, known := class[key]; !known {
			class[key], g.classes = int32(len(g.classes)), append(g.classes, c)
		}
		x.class = class[key]
		g.into[x.to] = append(g.into[x.to], *x)
	}
	g.divide(end)
	return g
}

// reserve leaves a part of all links between switches idle, before trees are added.
func (g *program) reserve(part float64) {
	done := make([]bool, len(g.room))
	for h, route := range g.routes {
		for i, o := range g.classes[g.hops[h].class].orbits {
			if !done[o] && betweenSwitches(g.p.Topology, route[i]) {
				g.room[o], done[o] = g.room[o]*(1-part), true
			}
		}
	}
}

// betweenSwitches reports whether a link leads from a switch to another one.
func betweenSwitches(t *model.Topology, l int) bool {
	return t.Links[l].Src >= t.Ranks && t.Links[l].Dst >= t.Ranks
}

// divide divides the time until an end into bins.
func (g *program) divide(end model.Time) {
	g.waits = []model.Time{0}
	if g.steady {
		g.begin, g.cuts = []model.Time{0}, []model.Time{0, fillLasts * g.far / 5}
		for i := endLasts * g.far / 5 / g.width; i >= 0; i-- {
			g.begin, g.cuts = append(g.begin, end-i*g.width), append(g.cuts, end-i*g.width)
		}
		g.prices = make([]float64, len(g.room)*g.rows())
		return
	}
	bins := int(end / g.width)
	g.begin = []model.Time{0}
	for i := bins; i >= 0; i-- {
		if at := end - model.Time(i)*g.width; at > 0 {
			g.begin = append(g.begin, at)
		}
	}
	if len(g.begin) > 2 && g.begin[1] < g.width/2 {
		g.begin = slices.Delete(g.begin, 1, 2)
	}
	g.cuts = g.begin
	if bins <= fewBins {
		for _, n := range []model.Time{1, 2, 3, 4, 6, 8, 12, 16, 20} {
			g.waits = append(g.waits, n*g.width)
		}
	}
	g.prices = make([]float64, len(g.room)*g.rows())
}

const (
	// symmetries is of how many random symmetries the products are images of trees.
	symmetries = 24
	// endLasts is for how many fifths of the time to the farthest rank before the end of a broadcast that is steady trees are others at any time, and
	// fillLasts for how many at its begin links are not full yet.
	endLasts, fillLasts = 15, 12
	// maxTimedHops and maxOrbits are how many hops and orbits there are at most: programs of more are not solved in seconds.
	maxTimedHops, maxOrbits = 1 << 13, 64
	// fewBins is up to how many bins hops may wait.
	fewBins = 64
)

// orbits returns the orbit of each link under some symmetries, and the bytes per second of each.
func orbits(t *model.Topology, moved [][]int32) (of []int32, room []float64) {
	joined := model.NewSets(len(t.Links))
	for _, image := range moved {
		for l, m := range image {
			joined.Join(l, int(m))
		}
	}
	number, count := joined.Numbers()
	of, room = make([]int32, len(t.Links)), make([]float64, count)
	for l, link := range t.Links {
		of[l] = int32(number[l])
		room[number[l]] += float64(link.Bandwidth)
	}
	return of, room
}

// moveHops finds the images of hops under symmetries, and returns those under which all have one: of too many ways between two ranks
// some are no hops, and members may be moved to others.
func (g *program) moveHops(moved [][]int32) (kept [][]int32) {
	key := func(route []int, image []int32) string {
		b := make([]byte, 0, 4*len(route))
		for _, l := range route {
			if image != nil {
				l = int(image[l])
			}
			b = append(b, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
		}
		return string(b)
	}
	number := map[string]int32{}
	for h := range g.hops {
		number[key(g.routes[h], nil)] = int32(h)
	}
	for _, image := range moved {
		to := make([]int32, len(g.hops))
		whole := true
		for h := range to {
			i, known := number[key(g.routes[h], image)]
			to[h], whole = i, whole && known
		}
		if whole {
			g.images, kept = append(g.images, to), append(kept, image)
		}
	}
	return kept
}

// bins returns how many bins there are, rows how many rows an orbit has, end when the last bin ends, and lasts how long one does.
func (g *program) bins() int                { return len(g.begin) - 1 }
func (g *program) rows() int                { return len(g.cuts) - 1 }
func (g *program) end() model.Time          { return g.begin[len(g.begin)-1] }
func (g *program) lasts(bin int) model.Time { return g.begin[bin+1] - g.begin[bin] }

// rowAt returns the row of an orbit in which a time is.
func (g *program) rowAt(at model.Time) int {
	first := 1 + g.rows() - g.bins()
	for k := range first {
		if at < g.cuts[k+1] {
			return k
		}
	}
	return min(first+int((at-g.begin[1])/g.width), g.rows()-1)
}

// spread visits the bins in which what leaves the root in a bin goes over a link of an orbit, whose first byte is there at a
// time, with the part of it that does so in each.
func (g *program) spread(orbit int32, at model.Time, bin int, visit func(row int32, part float64)) {
	lasts, first, row := g.lasts(bin), g.rowAt(at), orbit*int32(g.rows())
	for b, left := first, lasts; left > 0 && at < g.end(); b++ {
		part := min(left, g.cuts[b+1]-at)
		visit(row+int32(b), float64(part)/float64(lasts))
		at, left = at+part, left-part
	}
}

// cost returns the price of a hop from a time on, for all that leaves the root in a bin.
func (g *program) cost(x *timedHop, at model.Time, bin int) (sum float64) {
	table, past, first := g.early, at, 0
	if bin > 0 {
		table, past, first = g.table, at-g.begin[1], 1+g.rows()-g.bins()
	}
	if n := past / g.width; past == n*g.width && past >= 0 {
		return table[int(x.class)*g.rows()+first+int(n)]
	}
	return g.priced(x.class, at, bin)
}

// priced returns the price of a hop of a class from a time on, for all that leaves the root in a bin.
func (g *program) priced(class int32, at model.Time, bin int) (sum float64) {
	c := &g.classes[class]
	for i, o := range c.orbits {
		g.spread(o, at+c.after[i], bin, func(row int32, part float64) { sum += part * g.prices[row] })
	}
	return sum
}

// tabulate notes the prices of hops at the times at which most of them begin.
func (g *program) tabulate() {
	rows := g.rows()
	n := len(g.classes) * rows
	g.table, g.early = slices.Grow(g.table[:0], n)[:n], slices.Grow(g.early[:0], n)[:n]
	for c := range g.classes {
		for b := range rows {
			g.early[c*rows+b] = g.priced(int32(c), model.Time(b)*g.width, 0)
			if b > rows-g.bins() {
				g.table[c*rows+b] = g.priced(int32(c), g.cuts[b], 1)
			}
		}
	}
}

// capacity returns how many times the buffer may go over the links of a row.
func (g *program) capacity(row int) float64 {
	o, b := row/g.rows(), row%g.rows()
	return g.room[o] * float64(g.cuts[b+1]-g.cuts[b]) / 1e12 / float64(g.p.Space())
}

// filling reports whether a row is of a time at which links are not full yet, if the program is steady: more cannot be sent then than later.
func (g *program) filling(row int) bool { return g.steady && row%g.rows() == 0 }

// sow finds first trees: in random bins, one after the other, at prices that are the eighth power of what those before carry
// (Plotkin, Shmoys and Tardos, Mathematics of Operations Research 20, 1995).
func (g *program) sow(ctx context.Context, sweeps int) error {
	if err := g.open(); err != nil {
		return err
	}
	room := make([]float64, len(g.prices))
	for row := range room {
		room[row] = g.capacity(row)
	}
	load := make([]float64, len(g.prices))
	for i := range sweeps {
		if i%len(worths) == 0 {
			for row := range load {
				load[row] /= 2
			}
		}
		for range g.bins() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			most := 1e-9
			for row := range load {
				most = max(most, load[row]/room[row])
			}
			for row := range load {
				x := load[row] / room[row] / most
				x *= x * x * x
				g.prices[row] = (x*x + 1e-9) / room[row]
			}
			g.tabulate()
			bin := g.rng.IntN(g.bins())
			t := g.grow(bin, worths[i%len(worths)]*g.level())
			if t == nil {
				continue
			}
			if err := g.add(t); err != nil {
				return err
			}
			for i, row := range t.rows {
				load[row] += t.load[i] * float64(g.lasts(bin)) / float64(g.end())
			}
		}
	}
	return nil
}

// open makes a program without trees for the solver.
func (g *program) open() (err error) {
	room := make([]float64, len(g.prices))
	for row := range room {
		if room[row] = g.capacity(row); g.filling(row) {
			room[row] *= 2 // what fits later fits now
		}
	}
	g.trees, g.shares, g.whole = nil, nil, 0
	g.lp, err = highs.NewGrowing(room)
	return err
}

// again begins again with another end or with bins of another width. Trees that are worth about what they cost are kept: they leave
// the root as long before the end as they did.
func (g *program) again(end, width model.Time) error {
	was, until := g.begin, g.end()
	var kept []*timedTree
	for _, t := range g.trees {
		if g.value(t) < nearlyWorth {
			kept = append(kept, t)
		}
	}
	g.lp.Close()
	g.width = width
	g.divide(end)
	if err := g.open(); err != nil {
		return err
	}
	for _, t := range kept {
		for bin := range g.bins() {
			if middle := g.begin[bin] + g.lasts(bin)/2 - end + until; middle < was[t.bin] || middle >= was[t.bin+1] {
				continue
			}
			if g.begin[bin]+g.last(t) > g.reach(bin) {
				continue
			}
			x := &timedTree{bin: bin, hops: t.hops, at: t.at}
			g.weigh(x)
			if err := g.add(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// nearlyWorth is up to how many times what it is worth a tree costs that is kept.
const nearlyWorth = 1.1

// level returns the price of a picosecond at which the time to the farthest rank is worth as much as the cheapest tree.
func (g *program) level() float64 {
	t := g.grow(max(0, g.bins()/4), 0)
	if t == nil {
		return 0
	}
	return g.value(t) / float64(g.far)
}

// worths are the rates of exchange between the time to a rank and prices, in parts of those at which the time of a tree is worth as
// much as it costs.
var worths = []float64{0, 1. / 100, 1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 4}

func (g *program) add(t *timedTree) error {
	if err := g.lp.Add(1, t.rows, t.load); err != nil {
		return err
	}
	g.trees = append(g.trees, t)
	return nil
}

// improve adds trees that are worth more than they cost until the program sends enough, in parts of the buffer, or it finds none a few times, or none
// that make much of a difference. It returns false if ctx is done before. Trees are found at prices between those of the program and those of the
// rounds before
// (Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming", International Transactions in
// Operational Research 4, 1997), each multiplied by a random number if the program is to be solved thoroughly: how trees are grown is no
// exact search, and other prices lead to other trees.
func (g *program) improve(ctx context.Context, enough float64) (done bool) {
	centre := make([]float64, len(g.prices))
	// The part that prices of the rounds before have, and how many rounds that are hardly worth while, or find nothing, follow one another.
	smoothed, idleRounds, noneRounds, noise := 0.5, 2, 0, func() float64 { return 1 }
	if g.thorough {
		smoothed, idleRounds, noneRounds, noise = 0.7, 8, 2, g.rng.ExpFloat64
	}
	smooth := smoothed
	for round, idle, none := 0, 0, 0; ; round++ {
		r, err := g.lp.Maximise(ctx)
		if err != nil {
			return false
		}
		if idle++; r.Objective > g.whole*(1+littleBetter) {
			idle = 0
		}
		g.shares, g.whole = r.Values, r.Objective
		if g.whole >= enough {
			return true
		}
		for row, y := range r.RowDuals {
			if y = max(0, y); round > 0 {
				y = (1-smooth)*y + smooth*centre[row]
			}
			centre[row], g.prices[row] = y, y*noise()
		}
		g.tabulate()
		var grown []*timedTree
		for bin := range g.bins() {
			if ctx.Err() != nil {
				return false
			}
			for _, worth := range worths {
				if t := g.grow(bin, worth/float64(g.far)); t != nil {
					grown = append(grown, t)
				}
			}
		}
		if g.thorough { // what trees are worth is for the program's own prices to say
			copy(g.prices, centre)
			g.tabulate()
		}
		none++
		for i, t := range grown {
			if ctx.Err() != nil {
				return false
			}
			grown[i] = g.rehang(t)
		}
		for _, t := range g.worth(grown) {
			none = 0
			if err := g.add(t); err != nil {
				return false
			}
		}
		ends := none > noneRounds || idle >= idleRounds
		if ends && smooth == 0 {
			return true
		}
		if smooth = smoothed; none > 0 || ends {
			smooth = 0 // prices between others may be worth nothing to any tree
		}
	}
}

// worth returns those of some trees that cost less than they are worth: if the program is steady a few for each bin, those that cost least, since its rows
// are many for a bin.
func (g *program) worth(grown []*timedTree) (list []*timedTree) {
	values := map[*timedTree]float64{}
	for _, t := range grown {
		if v := g.value(t); v < 1-gainful {
			values[t] = v
			list = append(list, t)
		}
	}
	if !g.steady {
		return list
	}
	slices.SortStableFunc(list, func(s, t *timedTree) int { return cmp.Compare(values[s], values[t]) })
	added := make([]int, g.bins())
	return slices.DeleteFunc(list, func(t *timedTree) bool {
		added[t.bin]++
		return added[t.bin] > perBin
	})
}

const (
	// littleBetter is by which part a program is better after a round that is hardly worth while.
	littleBetter = 3e-4
	// gainful is by which part a tree costs less than it is worth that is added.
	gainful = 1e-4
	// perBin is how many trees are added for each bin in a round, at most, if the program is steady.
	perBin = 3
)

package forest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/broadcast"
	demand "github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/place"
)

// forest holds the trees of each root, in the order of the members: those that lead down
// from it and, for allreduce, those that lead up to it. With a mirror it is one block, of
// trees with different roots, and what goes down a tree has come up its mirror image.
type forest struct {
	blocks   int     // parts of the buffer, one for each root, or for what goes from one rank to one
	ends     []int64 // where each ends, in bytes; nil: they are equal
	up, down [][]arborescence.Tree
	mirror   func(link int) int
	paired   map[*arborescence.Tree]*arborescence.Tree // by tree down: that up to its root; nil: trees up are chosen apart
	pooled   bool                                      // what goes over a link may go over its twins
	fits     bool                                      // no link is asked for more than the others by the routes of the trees
	speed    float64                                   // of the trees in the fluid limit: the larger it is, the faster
}

// grow packs the trees that p needs. For allreduce there may be several forests, of which
// the best one depends on the size of the buffer.
func grow(ctx context.Context, p *model.Problem) ([]flow, error) {
	f := &forest{blocks: p.Shards()}
	var err error
	switch p.Collective.Kind {
	case model.Custom:
		for _, c := range demand.Parts(p).Chunks {
			f.ends = append(f.ends, c.Offset+c.Size)
		}
	case model.AllReduce:
		return growBoth(ctx, p)
	}
	if p.Collective.Kind == model.Broadcast {
		g, err := broadcast.Trees(ctx, p)
		if err != nil {
			return nil, err
		}
		return flatter(p, g), nil
	}
	f.down, err = arborescence.Packed(ctx, p)
	return []flow{f}, err
}

// growBoth packs the trees of an allreduce, up and down: where switches add, through them; and where
// that leaves out ranks that could pass things on, or there are none such, spanning trees or, where
// links have no mirror images, trees of an equal part of the buffer for each root.
func growBoth(ctx context.Context, p *model.Problem) (flows []flow, err error) {
	through, err := joint(ctx, p)
	if err != nil {
		return nil, err
	}
	everybody := len(p.Members()) == p.Topology.Ranks
	for _, f := range through {
		if !everybody {
			if !f.streams() {
				continue
			}
			f.speed = math.NaN() // that of the others is of another network: they are not compared
		}
		flows = append(flows, f)
	}
	if len(flows) > 0 && everybody {
		return flows, nil
	}
	gathers := *p
	gathers.Collective.Kind = model.AllGather
	others, err := spanning(ctx, &gathers)
	if err == nil && others == nil {
		var f *forest
		if f, err = rooted(ctx, &gathers); err == nil {
			others = []flow{f}
		}
	}
	if flows = append(flows, others...); len(flows) > 0 {
		return flows, nil
	}
	return nil, err
}

// streams reports whether trees of f have sums or multicasts.
func (f *forest) streams() bool {
	for down, up := range f.paired {
		if slices.ContainsFunc(slices.Concat(down.Arcs, up.Arcs), func(a arborescence.Arc) bool { return a.Stream > 0 }) {
			return true
		}
	}
	return false
}

// rooted packs trees from the root of each part of an allgather, and the trees to it as those of the
// topology turned round.
func rooted(ctx context.Context, p *model.Problem) (*forest, error) {
	back := *p
	back.Topology = p.Topology.Reversed()
	f := &forest{blocks: len(p.Members())}
	var err error
	if f.up, err = arborescence.Packed(ctx, &back); err != nil {
		return nil, err
	}
	for _, trees := range f.up {
		for i, t := range trees { // the links of a topology turned round have the same numbers
			trees[i] = climbing(t, func(link int) int { return link })
		}
	}
	f.down, err = arborescence.Packed(ctx, p)
	return f, err
}

// climbing returns a tree that leads down from its root as one that leads up to it, children
// before parents, over the mirror images of its links.
func climbing(t arborescence.Tree, mirror func(link int) int) arborescence.Tree {
	up := arborescence.Tree{Root: t.Root, Weight: t.Weight}
	for _, l := range t.Uses {
		up.Uses = append(up.Uses, mirror(l))
	}
	for _, a := range slices.Backward(t.Arcs) {
		route := make([]int, 0, len(a.Route))
		for _, l := range slices.Backward(a.Route) {
			route = append(route, mirror(l))
		}
		up.Arcs = append(up.Arcs, arborescence.Arc{From: a.To, To: a.From, Route: route, Stream: a.Stream})
	}
	return up
}

// rate implements flow.
func (f *forest) rate() float64 { return f.speed }

// String implements flow.
func (f *forest) String() string {
	n := 0
	for _, forests := range [][][]arborescence.Tree{f.up, f.down} {
		for _, trees := range forests {
			n += len(trees)
		}
	}
	return fmt.Sprintf("%d different trees or paths", n)
}

// orderly implements flow.
func (f *forest) orderly() bool { return f.paired == nil }

// most implements flow: choosing among ways between switches takes longer, and trees that fit are placed soon.
func (f *forest) most() int {
	if f.fits {
		return maxFitting
	}
	for _, forests := range [][][]arborescence.Tree{f.up, f.down} {
		for _, trees := range forests {
			for _, t := range trees {
				if !f.fits && slices.ContainsFunc(t.Arcs, func(a arborescence.Arc) bool { return len(a.Route) > 2 }) {
					return maxMoves / 8
				}
			}
		}
	}
	return maxMoves
}

// span is a part of a block, in bytes from its start.
type span struct{ from, to int64 }

// spans divides a block of size bytes between trees by their weight.
func spans(trees []arborescence.Tree, size int64) []span {
	total, before := int64(0), int64(0)
	for _, t := range trees {
		total += t.Weight
	}
	list := make([]span, len(trees))
	for i, t := range trees {
		list[i] = span{arborescence.Scale(size, before, total), arborescence.Scale(size, before+t.Weight, total)}
		before += t.Weight
	}
	return list
}

// block returns from where to where block b of a buffer of size bytes goes.
func (f *forest) block(b int, size int64) span {
	if f.ends != nil {
		s := span{to: f.ends[b]}
		if b > 0 {
			s.from = f.ends[b-1]
		}
		return s
	}
	return span{arborescence.Scale(size, int64(b), int64(f.blocks)), arborescence.Scale(size, int64(b)+1, int64(f.blocks))}
}

// fewest is how many equal chunks trees with a mirror share, at the first try.
const fewest = 8

// cut implements flow: where a tree's part ends, a chunk does, unless all blocks are alike, which are cut evenly. Trees
// with a mirror are dealt equal chunks of the whole, for there are many trees with little parts.
func (f *forest) cut(p *model.Problem, pieces int64) []model.Chunk {
	if f.mirror != nil || f.paired != nil {
		return p.Cut(int(min(fewest*pieces, p.Space())))
	}
	var chunks []model.Chunk
	for b := range f.blocks {
		block := f.block(b, p.Space())
		size := block.to - block.from
		if f.ends == nil && f.up == nil {
			for _, c := range solve.Evenly(size, pieces*int64(len(f.down[b]))) {
				chunks = append(chunks, model.Chunk{Offset: block.from + c.Offset, Size: c.Size})
			}
			continue
		}
		ends := []int64{0, size}
		for _, forests := range [][][]arborescence.Tree{f.up, f.down} {
			if forests != nil {
				for _, s := range spans(forests[b], size) {
					ends = append(ends, s.to)
				}
			}
		}
		slices.Sort(ends)
		ends = slices.Compact(ends)
		for i := range len(ends) - 1 {
			from, length := ends[i], ends[i+1]-ends[i]
			n := min(length, pieces)
			for j := range n {
				at := from + arborescence.Scale(length, j, n)
				chunks = append(chunks, model.Chunk{Offset: block.from + at, Size: from + arborescence.Scale(length, j+1, n) - at})
			}
		}
	}
	return chunks
}

// programs implements flow. All parts of the buffer advance at the rate of their trees: if
// they were cut into equally many chunks, in each period one of each part, then those links
// of a tree that are d arcs from its top carry in a period what left the top d periods
// before. No link is asked for more than fits into a period, so that the end is that of the
// fluid limit and one period for each level. What is under way may go faster than that, if
// links are free when it comes.
func (f *forest) programs(ctx context.Context, p *model.Problem, own bool, wanted int) (orders []*place.Program) {
	type trees struct{ up, down *arborescence.Tree }
	of, nth := make([]trees, len(p.Chunks)), make([]float64, len(p.Chunks))
	for k, t := range f.choose(f.down, p, own) {
		of[k].down = t
	}
	switch {
	case f.mirror != nil:
		up := map[*arborescence.Tree]*arborescence.Tree{}
		for i := range f.down[0] {
			t := climbing(f.down[0][i], f.mirror)
			up[&f.down[0][i]] = &t
		}
		for k := range of {
			of[k].up = up[of[k].down]
		}
	case f.paired != nil:
		for k := range of {
			of[k].up = f.paired[of[k].down]
		}
	case f.up != nil:
		for k, t := range f.choose(f.up, p, own) {
			of[k].up = t
		}
	}
	count, most := map[trees]float64{}, 0.0
	for k := range p.Chunks {
		count[of[k]]++
		nth[k] = count[of[k]]
		most = max(most, nth[k])
	}
	type move struct {
		moves         []place.Move // several: one multicast, or one sum
		period, level float64
		at            float64 // seconds
	}
	load, begun := make([]float64, len(p.Topology.Links)), map[trees]float64{} // seconds; how many were before
	for k, c := range p.Chunks {
		if _, ok := begun[of[k]]; !ok {
			begun[of[k]] = float64(len(begun))
		}
		for _, t := range []*arborescence.Tree{of[k].up, of[k].down} {
			if t == nil {
				continue
			}
			for _, l := range t.Links() {
				load[l] += float64(c.Size) / float64(p.Topology.Links[l].Bandwidth)
			}
		}
	}
	period := slices.Max(load) / most
	var moves []move
	for k, c := range p.Chunks {
		level, at := map[int]int{}, map[int]float64{} // by node: arcs and seconds before it
		first := (nth[k]/count[of[k]]*most + begun[of[k]]/float64(len(begun))) * period
		for _, part := range []struct {
			t  *arborescence.Tree
			op model.Op
		}{{of[k].up, model.Reduction}, {of[k].down, model.Copy}} {
			if part.t == nil {
				continue
			}
			for arcs := part.t.Arcs; len(arcs) > 0; {
				n := 1
				for n < len(arcs) && arcs[0].Stream > 0 && arcs[n].Stream == arcs[0].Stream {
					n++
				}
				m := move{period: nth[k] / count[of[k]] * most, at: first}
				for _, a := range arcs[:n] {
					next := place.Move{Chunk: k, Src: a.From, Dst: a.To, Op: part.op, Routes: [][]int{a.Route}, Stream: a.Stream}
					if len(a.Route) > 2 && a.Stream == 0 && !f.fits {
						next.Routes = nil // between switches there are others, and one of them may be free
					}
					m.moves = append(m.moves, next)
					m.level, m.at = max(m.level, float64(level[a.From])), max(m.at, first+at[a.From])
				}
				moves = append(moves, m)
				for _, a := range arcs[:n] {
					level[a.To] = max(level[a.To], int(m.level)+1)
					at[a.To] = max(at[a.To], m.at-first+arborescence.Seconds(p.Topology, a.Route, c.Size))
				}
				arcs = arcs[n:]
			}
			if part.op == model.Reduction {
				root := part.t.Root
				level, at = map[int]int{root: level[root]}, map[int]float64{root: at[root]}
			}
		}
	}
	// Around a switch, those of a period that go equally far round are a matching.
	turn := func(m place.Move) int { return (m.Dst - m.Src + p.Topology.Ranks) % p.Topology.Ranks }
	var before []func(a, b move) int
	slow := paces
	if f.paired != nil {
		slow = joinedPaces
	}
	for _, pace := range slow {
		before = append(before, func(a, b move) int {
			return cmp.Or(cmp.Compare(a.period+pace*a.level, b.period+pace*b.level), cmp.Compare(turn(a.moves[0]), turn(b.moves[0])))
		})
	}
	before = append(before, func(a, b move) int { return cmp.Compare(a.at, b.at) })
	for i, earlier := range before {
		if wanted != all && i != wanted {
			continue
		}
		order := slices.Clone(moves)
		slices.SortStableFunc(order, earlier)
		g := place.NewProgram(p).Until(ctx)
		for _, m := range order {
			g.Batch(m.moves...)
		}
		orders = append(orders, g)
	}
	return orders
}

// paces are how many periods what is under way takes from one rank to the next. Sums wait for the
// last of what they add up, so that there is more time where hops join.
var paces, joinedPaces = []float64{1, 0.25}, []float64{1, 2, 4}

// choose returns the tree that each chunk takes. If the chunks are of f's own cut that is
// the tree in whose part the chunk's middle lies. Else chunks are dealt out.
func (f *forest) choose(forests [][]arborescence.Tree, p *model.Problem, own bool) []*arborescence.Tree {
	chosen, block := make([]*arborescence.Tree, len(p.Chunks)), make([]int, len(p.Chunks))
	for k, c := range p.Chunks {
		middle := c.Offset + c.Size/2
		if k > 0 {
			block[k] = block[k-1]
		}
		for block[k]+1 < f.blocks && middle >= f.block(block[k], p.Space()).to {
			block[k]++
		}
		if own {
			part := f.block(block[k], p.Space())
			trees := forests[block[k]]
			i := 0
			for parts := spans(trees, part.to-part.from); i+1 < len(parts) && middle-part.from >= parts[i].to; {
				i++
			}
			chosen[k] = &trees[i]
		}
	}
	if !own || f.mirror != nil || f.paired != nil {
		f.deal(forests, p, block, chosen)
	}
	return chosen
}

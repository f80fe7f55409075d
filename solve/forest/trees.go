package forest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/place"
)

// forest holds the trees of each root, in the order of the members: those that lead down
// from it and, for allreduce, those that lead up to it.
type forest struct {
	blocks   int // equal parts of the buffer, one for each root
	up, down [][]tree
}

// grow packs the trees that p needs.
func grow(ctx context.Context, p *model.Problem) (*forest, error) {
	f := &forest{blocks: len(p.Members())}
	if p.Collective.Kind == model.Broadcast {
		f.blocks = 1
	}
	var err error
	q := *p
	if p.Collective.Kind == model.AllReduce {
		q.Collective.Kind = model.AllGather
		r := q
		r.Topology = p.Topology.Reversed()
		if f.up, err = packed(ctx, &r); err != nil {
			return nil, err
		}
		for _, trees := range f.up {
			for i := range trees {
				turnRound(&trees[i])
			}
		}
	}
	f.down, err = packed(ctx, &q)
	return f, err
}

// turnRound makes of a tree that leads down from its root on the reversed topology one that
// leads up to it, children before parents.
func turnRound(t *tree) {
	slices.Reverse(t.arcs)
	for i := range t.arcs {
		a := &t.arcs[i]
		a.from, a.to = a.to, a.from
		a.route = slices.Clone(a.route)
		slices.Reverse(a.route)
	}
}

// finer is what rooms and trees are multiplied by where switches cannot be removed without
// loss, so that little more than that is lost.
const finer = 1024

// packed returns the trees of each source of p, an allgather or broadcast.
func packed(ctx context.Context, p *model.Problem) ([][]tree, error) {
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	w, err := scaled(p, limit)
	if err != nil {
		return nil, err
	}
	for v := range p.Topology.Nodes() {
		if !slices.Contains(w.sinks, v) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			w.splitOff(v)
		}
	}
	if w.missing() > 0 {
		for i := range w.arcs {
			w.arcs[i].room *= finer
		}
		for low, high := int64(0), w.trees*finer; ; {
			if w.trees = (low + high + 1) / 2; w.missing() == 0 {
				low = w.trees
			} else {
				high = w.trees - 1
			}
			if low >= high {
				w.trees = low
				break
			}
		}
		if w.trees == 0 {
			return nil, solve.NotServed("switches of %s cannot be bypassed", p.Topology.Name)
		}
	}
	all, err := w.pack(ctx)
	if err != nil {
		return nil, err
	}
	byRoot := make([][]tree, len(w.sources))
	for i, s := range w.sources {
		for _, t := range all {
			if t.root == s {
				byRoot[i] = append(byRoot[i], t)
			}
		}
		slices.SortStableFunc(byRoot[i], func(a, b tree) int { return cmp.Compare(b.weight, a.weight) })
	}
	return byRoot, nil
}

// scaled returns p's network with room on each link for as many trees as it can carry in
// the least time, for the smallest number of trees a source for which these are whole.
func scaled(p *model.Problem, limit fluid.Limit) (*network, error) {
	t := p.Topology
	w := &network{t: t, sinks: p.Members(), sources: p.Members()}
	if p.Collective.Kind.Rooted() {
		w.sources = []int{p.Collective.Root}
	}
	unit := limit.Bandwidth
	for _, l := range t.Links {
		unit = gcd(unit, l.Bandwidth)
	}
	width := limit.Bandwidth / unit
	common := gcd(limit.Shares, width)
	w.trees = width / common
	total := int64(0)
	for i, l := range t.Links {
		room := l.Bandwidth / unit
		if room > maxRoom/limit.Shares {
			return nil, solve.NotServed("bandwidths too different for whole numbers of trees")
		}
		room = room * limit.Shares / common
		// Room for more than all trees is of no use.
		room = min(room, w.trees*int64(len(w.sources)))
		if total += room; total > maxRoom {
			return nil, solve.NotServed("bandwidths too different for whole numbers of trees")
		}
		w.arcs = append(w.arcs, arc{from: l.Src, to: l.Dst, room: room, route: []int{i}})
	}
	return w, nil
}

// maxRoom keeps sums of rooms and trees, made finer, in the range of maxflow.
const maxRoom = 1 << 48

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// String implements flow.
func (f *forest) String() string {
	n := 0
	for _, forests := range [][][]tree{f.up, f.down} {
		for _, trees := range forests {
			n += len(trees)
		}
	}
	return fmt.Sprintf("%d different trees or paths", n)
}

// most implements flow: choosing among ways between switches takes longer.
func (f *forest) most() int {
	for _, forests := range [][][]tree{f.up, f.down} {
		for _, trees := range forests {
			for _, t := range trees {
				if slices.ContainsFunc(t.arcs, func(a arc) bool { return len(a.route) > 2 }) {
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
func spans(trees []tree, size int64) []span {
	total, before := int64(0), int64(0)
	for _, t := range trees {
		total += t.weight
	}
	list := make([]span, len(trees))
	for i, t := range trees {
		list[i] = span{scale(size, before, total), scale(size, before+t.weight, total)}
		before += t.weight
	}
	return list
}

// block returns from where to where block b of a buffer of size bytes goes.
func (f *forest) block(b int, size int64) span {
	return span{scale(size, int64(b), int64(f.blocks)), scale(size, int64(b)+1, int64(f.blocks))}
}

// cut implements flow: where a tree's part ends, a chunk does.
func (f *forest) cut(p *model.Problem, pieces int64) []model.Chunk {
	var chunks []model.Chunk
	for b := range f.blocks {
		block := f.block(b, p.Space())
		size := block.to - block.from
		ends := []int64{0, size}
		for _, forests := range [][][]tree{f.up, f.down} {
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
				at := from + scale(length, j, n)
				chunks = append(chunks, model.Chunk{Offset: block.from + at, Size: from + scale(length, j+1, n) - at})
			}
		}
	}
	return chunks
}

// program implements flow. All parts of the buffer
// advance at the rate of their trees: if they were cut into equally many chunks, in each
// period one of each part, then those links of a tree that are d arcs from its top carry in
// a period what left the top d periods before. No link is asked for more than fits into a
// period, so that the end is that of the fluid limit and one period for each level.
func (f *forest) program(p *model.Problem, own bool) *place.Program {
	type trees struct{ up, down *tree }
	of, nth := make([]trees, len(p.Chunks)), make([]float64, len(p.Chunks))
	for k, t := range f.choose(f.down, p, own) {
		of[k].down = t
	}
	if f.up != nil {
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
		place.Move
		period float64
	}
	var moves []move
	for k := range p.Chunks {
		level := map[int]int{} // by node: arcs before it
		for _, part := range []struct {
			t  *tree
			op model.Op
		}{{of[k].up, model.Reduction}, {of[k].down, model.Copy}} {
			if part.t == nil {
				continue
			}
			for _, a := range part.t.arcs {
				m := place.Move{Chunk: k, Src: a.from, Dst: a.to, Op: part.op, Routes: [][]int{a.route}}
				if len(a.route) > 2 {
					m.Routes = nil // between switches there are others, and one of them may be free
				}
				moves = append(moves, move{m, nth[k]/count[of[k]]*most + float64(level[a.from])})
				level[a.to] = max(level[a.to], level[a.from]+1)
			}
			if part.op == model.Reduction {
				level = map[int]int{part.t.root: level[part.t.root]}
			}
		}
	}
	// Around a switch, those of a period that go equally far round are a matching.
	turn := func(m place.Move) int { return (m.Dst - m.Src + p.Topology.Ranks) % p.Topology.Ranks }
	slices.SortStableFunc(moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.period, b.period), cmp.Compare(turn(a.Move), turn(b.Move)))
	})
	g := place.NewProgram(p)
	for _, m := range moves {
		g.Batch(m.Move)
	}
	return g
}

// choose returns the tree that each chunk takes. If the chunks are of f's own cut that is
// the tree in whose part the chunk's middle lies. Else chunks are dealt out, and then again
// a few times, so that the links in use stay level.
func (f *forest) choose(forests [][]tree, p *model.Problem, own bool) []*tree {
	chosen, block := make([]*tree, len(p.Chunks)), make([]int, len(p.Chunks))
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
	if own {
		return chosen
	}
	load := make([]float64, len(p.Topology.Links)) // seconds
	carry := func(t *tree, size float64) (most float64) {
		for _, a := range t.arcs {
			for _, l := range a.route {
				load[l] += size / float64(p.Topology.Links[l].Bandwidth)
				most = max(most, load[l])
			}
		}
		return most
	}
	for range rounds {
		for k, c := range p.Chunks {
			size := float64(c.Size)
			if chosen[k] != nil {
				carry(chosen[k], -size)
			}
			trees, least := forests[block[k]], math.Inf(1)
			for i := range trees {
				most := carry(&trees[i], size)
				carry(&trees[i], -size)
				if most < least*(1-1e-9) {
					least, chosen[k] = most, &trees[i]
				}
			}
			carry(chosen[k], size)
		}
	}
	return chosen
}

// rounds is how often chunks are dealt out.
const rounds = 4

// scale returns ⌊size·a/b⌋, for 0 <= a <= b.
func scale(size, a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(size), uint64(a))
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(q)
}

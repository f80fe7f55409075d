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
	demand "github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/place"
)

// forest holds the trees of each root, in the order of the members: those that lead down
// from it and, for allreduce, those that lead up to it. With a mirror it is one block, of
// trees with different roots, and what goes down a tree has come up its mirror image.
type forest struct {
	blocks   int     // parts of the buffer, one for each root, or for what goes from one rank to one
	ends     []int64 // where each ends, in bytes; nil: they are equal
	up, down [][]tree
	mirror   func(link int) int
	paired   map[*tree]*tree // by tree down: that up to its root; nil: trees up are chosen apart
	pooled   bool            // what goes over a link may go over its twins
	fits     bool            // no link is asked for more than the others by the routes of the trees
	speed    float64         // of the trees in the fluid limit: the larger it is, the faster
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
		all, err := packings(ctx, ctx, p)
		if err != nil {
			return nil, err
		}
		return growFlat(ctx, p, flattest(p, all)[0], all[0])
	}
	f.down, err = packed(ctx, p)
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
		if slices.ContainsFunc(slices.Concat(down.arcs, up.arcs), func(a arc) bool { return a.stream > 0 }) {
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
	if f.up, err = packed(ctx, &back); err != nil {
		return nil, err
	}
	for _, trees := range f.up {
		for i, t := range trees { // the links of a topology turned round have the same numbers
			trees[i] = climbing(t, func(link int) int { return link })
		}
	}
	f.down, err = packed(ctx, p)
	return f, err
}

// climbing returns a tree that leads down from its root as one that leads up to it, children
// before parents, over the mirror images of its links.
func climbing(t tree, mirror func(link int) int) tree {
	up := tree{root: t.root, weight: t.weight}
	for _, l := range t.uses {
		up.uses = append(up.uses, mirror(l))
	}
	for _, a := range slices.Backward(t.arcs) {
		route := make([]int, 0, len(a.route))
		for _, l := range slices.Backward(a.route) {
			route = append(route, mirror(l))
		}
		up.arcs = append(up.arcs, arc{from: a.to, to: a.from, route: route, stream: a.stream})
	}
	return up
}

// finer is what rooms and trees are multiplied by where switches cannot be removed without
// loss, so that little more than that is lost.
const finer = 1024

// packed returns the trees of each shard of p, an allgather, broadcast or custom collective that spreads
// what single ranks have to all members.
func packed(ctx context.Context, p *model.Problem) ([][]tree, error) {
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	w, _, err := bypassed(ctx, p, limit, 1)
	if err != nil {
		return nil, err
	}
	all, err := w.pack(ctx)
	if err != nil {
		return nil, err
	}
	byRoot := map[int][]tree{}
	for _, t := range all {
		byRoot[t.root] = append(byRoot[t.root], t)
	}
	for _, trees := range byRoot {
		slices.SortStableFunc(trees, func(a, b tree) int { return cmp.Compare(b.weight, a.weight) })
	}
	var byShard [][]tree
	for _, r := range roots(p) {
		if r < 0 {
			byShard = append(byShard, []tree{{weight: 1}}) // it has no arcs
			continue
		}
		byShard = append(byShard, slices.Clone(byRoot[r]))
	}
	return byShard, nil
}

// roots returns the rank that has each shard of p at first, -1 of those that nobody wants.
func roots(p *model.Problem) []int {
	switch p.Collective.Kind {
	case model.AllGather:
		return p.Members()
	case model.Broadcast:
		return []int{p.Collective.Root}
	}
	list := slices.Repeat([]int{-1}, p.Shards())
	wanted := make([]bool, len(list))
	for _, d := range p.Collective.Post {
		wanted[d.Chunk] = true
	}
	for _, d := range p.Collective.Pre {
		if wanted[d.Chunk] {
			list[d.Chunk] = d.Rank
		}
	}
	return list
}

// bypassed returns p's network without its switches, with room for the trees that p, an
// allgather or broadcast, needs, each of them in a number of parts; and for how many parts of
// trees there is room on each link, nil if some were lost with the switches. Around a switch
// each way in gets an equal part of each way out, if there are as many parts.
func bypassed(ctx context.Context, p *model.Problem, limit fluid.Limit, parts int64) (w *network, room []int64, err error) {
	if w, err = scaled(p, limit); err != nil {
		return nil, nil, err
	}
	w.trees *= parts
	for i := range w.arcs {
		w.arcs[i].room *= parts
		room = append(room, w.arcs[i].room)
	}
	for v := range p.Topology.Nodes() {
		if !slices.Contains(w.sinks, v) {
			if err := w.splitOff(ctx, v); err != nil {
				return nil, nil, err
			}
		}
	}
	if w.missing() > 0 {
		room = nil
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
			return nil, nil, solve.NotServed("switches of %s cannot be bypassed", p.Topology.Name)
		}
	}
	return w, room, nil
}

// coarsest is into how many units what there is is divided where sizes in bytes would be too many: what
// a source has is rounded by less than one.
const coarsest = 1 << 20

// scaled returns p's network with room on each link for as many trees as it can carry in
// the least time, for the smallest number of trees a source for which these are whole.
func scaled(p *model.Problem, limit fluid.Limit) (*network, error) {
	t := p.Topology
	w := &network{t: t, sinks: p.Members()}
	var grain int64
	var err error
	if w.sources, w.weights, grain, err = demand.Sources(p); err != nil {
		return nil, err
	}
	shares, whole := limit.Shares/grain, limit.Of/grain
	unit := limit.Bandwidth
	for _, l := range t.Links {
		unit = gcd(unit, l.Bandwidth)
	}
	width := limit.Bandwidth / unit
	if whole > coarsest {
		// Rounded down, what leaves a set still fits over its links; and there is room on each link for
		// one unit more of those that would have none.
		shares = scale(coarsest, shares, whole) + 1
		for i, n := range w.weights {
			if w.weights[i] = scale(coarsest, n, whole); w.weights[i] == 0 {
				w.weights[i] = 1
				shares += width
			}
		}
	}
	common := gcd(shares, width)
	w.trees = width / common
	total := int64(0)
	for i, l := range t.Links {
		room := l.Bandwidth / unit
		if room > maxRoom/shares {
			return nil, solve.NotServed("bandwidths too different for whole numbers of trees")
		}
		// Room for more than all trees is of no use.
		room = min(room*shares/common, w.all())
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

// rate implements flow.
func (f *forest) rate() float64 { return f.speed }

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

// orderly implements flow.
func (f *forest) orderly() bool { return f.paired == nil }

// most implements flow: choosing among ways between switches takes longer, and trees that fit are placed soon.
func (f *forest) most() int {
	if f.fits {
		return maxFitting
	}
	for _, forests := range [][][]tree{f.up, f.down} {
		for _, trees := range forests {
			for _, t := range trees {
				if !f.fits && slices.ContainsFunc(t.arcs, func(a arc) bool { return len(a.route) > 2 }) {
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
	if f.ends != nil {
		s := span{to: f.ends[b]}
		if b > 0 {
			s.from = f.ends[b-1]
		}
		return s
	}
	return span{scale(size, int64(b), int64(f.blocks)), scale(size, int64(b)+1, int64(f.blocks))}
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
			for _, c := range evenly(size, pieces*int64(len(f.down[b]))) {
				chunks = append(chunks, model.Chunk{Offset: block.from + c.Offset, Size: c.Size})
			}
			continue
		}
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

// evenly returns a number of chunks, or fewer, that are all equal except the last: those that differ by a byte would
// leave gaps too short for one of them.
func evenly(space, n int64) (chunks []model.Chunk) {
	return ofSize(space, max(1, (space+n-1)/n))
}

// ofSize returns chunks of a size, except for the last one.
func ofSize(space, size int64) (chunks []model.Chunk) {
	for at := int64(0); at < space; at += size {
		chunks = append(chunks, model.Chunk{Offset: at, Size: min(size, space-at)})
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
	type trees struct{ up, down *tree }
	of, nth := make([]trees, len(p.Chunks)), make([]float64, len(p.Chunks))
	for k, t := range f.choose(f.down, p, own) {
		of[k].down = t
	}
	switch {
	case f.mirror != nil:
		up := map[*tree]*tree{}
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
		for _, t := range []*tree{of[k].up, of[k].down} {
			if t == nil {
				continue
			}
			for _, l := range t.links() {
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
			t  *tree
			op model.Op
		}{{of[k].up, model.Reduction}, {of[k].down, model.Copy}} {
			if part.t == nil {
				continue
			}
			for arcs := part.t.arcs; len(arcs) > 0; {
				n := 1
				for n < len(arcs) && arcs[0].stream > 0 && arcs[n].stream == arcs[0].stream {
					n++
				}
				m := move{period: nth[k] / count[of[k]] * most, at: first}
				for _, a := range arcs[:n] {
					next := place.Move{Chunk: k, Src: a.from, Dst: a.to, Op: part.op, Routes: [][]int{a.route}, Stream: a.stream}
					if len(a.route) > 2 && a.stream == 0 && !f.fits {
						next.Routes = nil // between switches there are others, and one of them may be free
					}
					m.moves = append(m.moves, next)
					m.level, m.at = max(m.level, float64(level[a.from])), max(m.at, first+at[a.from])
				}
				moves = append(moves, m)
				for _, a := range arcs[:n] {
					level[a.to] = max(level[a.to], int(m.level)+1)
					at[a.to] = max(at[a.to], m.at-first+lasts(p.Topology, a.route, c.Size))
				}
				arcs = arcs[n:]
			}
			if part.op == model.Reduction {
				root := part.t.root
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

// lasts returns the seconds that a chunk takes over a route.
func lasts(t *model.Topology, route []int, size int64) (sum float64) {
	for _, l := range route {
		sum += float64(t.Links[l].Alpha)/1e12 + float64(size)/float64(t.Links[l].Bandwidth)
	}
	return sum
}

// paces are how many periods what is under way takes from one rank to the next. Sums wait for the
// last of what they add up, so that there is more time where hops join.
var paces, joinedPaces = []float64{1, 0.25}, []float64{1, 2, 4}

// choose returns the tree that each chunk takes. If the chunks are of f's own cut that is
// the tree in whose part the chunk's middle lies. Else chunks are dealt out.
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
	if !own || f.mirror != nil || f.paired != nil {
		f.deal(forests, p, block, chosen)
	}
	return chosen
}

// scale returns ⌊size·a/b⌋, for 0 <= a <= b.
func scale(size, a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(size), uint64(a))
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(q)
}

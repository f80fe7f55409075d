package joint

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
)

// ways says over which hops a chunk may go: to the root of its reduction, or from where it is at the
// start. The sender is further from the root than the receiver, or as far and later in an order of
// the chunk's own, so that nothing goes round in a circle; and nobody takes a hop that is much slower
// than another one which it may take. Where machines are linked by slow links, each chunk so leaves, and
// enters, a machine over one of them.
type ways struct {
	next [][]int32 // of each rank: those that are nearer, of which it uses one; nil: it takes no part
	from [][]int32 // of each rank: those that have it in next
}

// slower is how many times as long as over its quickest hop a rank lets a chunk take.
const slower = 2

// chunk is what is to be done with a chunk.
type chunk struct {
	up, down *ways // to the root, and from it; nil: not so
	root     int32 // of a reduction
	holders  []int32
}

// plan is what is to be done for an operation.
type plan struct {
	problem *model.Problem
	members []int
	member  []bool // by rank
	chunks  []chunk
	duties  []int32 // by chunk and rank: transfers, and what else is to happen there
	left    []int32 // by rank: chunks with duties
}

// planner makes plans, and keeps what they share.
type planner struct {
	Options
	w     *wl.Workload
	g     *greedy
	known map[string]*plan
	costs map[int64][]model.Time // by size: of each pair of ranks with hops
}

// cost returns how long a chunk takes over each pair.
func (x *planner) cost(size int64) []model.Time {
	c, ok := x.costs[size]
	if !ok {
		for i := range x.g.pairs {
			least := model.MaxTime
			for _, l := range x.g.pairs[i].lanes {
				least = min(least, x.g.board.Duration(x.g.routes[x.g.lanes[l].route], size))
			}
			c = append(c, least)
		}
		x.costs[size] = c
	}
	return c
}

// of returns the plan of a collective.
func (x *planner) of(i int) (*plan, error) {
	op := &x.w.Ops[i]
	p := x.w.Problem(i)
	o, _ := x.w.OperatorOf(op.Operator)
	switch {
	case op.Given != nil:
		return nil, solve.NotServed("%s has a schedule of its own", op.ID)
	case !o.Free():
		return nil, solve.NotServed("%s combines by %s, in an order of its own", op.ID, o.Name)
	}
	if p.Chunks == nil {
		pieces := x.Pieces
		if k := p.Collective.Kind; k == model.Broadcast || k == model.Reduce { // else one chunk goes from rank to rank
			pieces *= len(p.Members())
		}
		n := p.DefaultChunks(pieces)
		if int64(n) > p.Space() {
			n = p.DefaultChunks(1)
		}
		p = p.WithChunks(n)
	}
	key := fmt.Sprint(p.Collective.Kind, p.Collective.Group, p.Collective.Root, p.Size, p.Chunks)
	if pl := x.known[key]; pl != nil && p.Collective.Kind != model.Custom {
		return pl, nil
	}
	pl := &plan{problem: p, members: p.Members(), member: make([]bool, x.g.ranks)}
	for _, v := range pl.members {
		pl.member[v] = true
	}
	if err := x.fill(pl); err != nil {
		return nil, fmt.Errorf("%s: %w", op.ID, err)
	}
	pl.count(x.g.ranks)
	for _, v := range pl.members {
		if len(pl.members) > 1 && pl.left[v] == 0 {
			return nil, solve.NotServed("rank %d has nothing to do in %s", v, op.ID)
		}
	}
	x.known[key] = pl
	return pl, nil
}

func (x *planner) fill(pl *plan) error {
	p := pl.problem
	pl.chunks = make([]chunk, len(p.Chunks))
	if len(pl.members) == 1 {
		return nil
	}
	type shared struct {
		root, order, down int
		size              int64
	}
	known := map[shared]*ways{}
	ways := func(root []int32, k, down int, to []int32) (w *ways, err error) {
		key := shared{int(root[0]), k % (1 << bits.Len(uint(len(pl.members)-1))), down, p.Chunks[k].Size}
		all := len(root) == 1 && (to == nil || len(to) == len(pl.members))
		if w = known[key]; w != nil && all {
			return w, nil
		}
		if w, err = x.ways(pl, root, key.order, down == 1, to, p.Chunks[k].Size); all {
			known[key] = w
		}
		return w, err
	}
	if p.Collective.Reduces() {
		if p.Collective.Kind == model.Custom {
			return solve.NotServed("custom collectives that reduce")
		}
		roots := network.Trees(p, 0)
		for k := range pl.chunks {
			c := &pl.chunks[k]
			c.holders = roots.From[k]
			c.root = c.holders[0]
			var err error
			if c.up, err = ways(c.holders, k, 0, nil); err != nil {
				return err
			}
			if p.Collective.Kind == model.AllReduce {
				if c.down, err = ways(c.holders, k, 1, nil); err != nil {
					return err
				}
			}
		}
		return nil
	}
	pattern, err := network.Spreading(p)
	if err != nil {
		return err
	}
	for k := range pl.chunks {
		c := &pl.chunks[k]
		c.holders = pattern.From[k]
		to := pattern.Goals(k, x.g.ranks)
		if !slices.ContainsFunc(to, func(v int32) bool { return !slices.Contains(c.holders, v) }) {
			continue
		}
		if c.down, err = ways(c.holders, k, 1, to); err != nil {
			return err
		}
	}
	return nil
}

// distances returns how far each rank is from roots, among ranks that may be used (Dijkstra's algorithm);
// down: over hops from the roots.
func (x *planner) distances(roots []int32, down bool, cost []model.Time, use func(v int32) bool) []model.Time {
	g := x.g
	d := make([]model.Time, g.ranks)
	for v := range d {
		d[v] = model.MaxTime
	}
	var queue events.Queue
	for _, r := range roots {
		d[r] = 0
		queue.Add(events.Event{ID: r})
	}
	for len(queue) > 0 {
		e := queue.Take()
		if e.At > d[e.ID] {
			continue
		}
		pairs := g.into[e.ID]
		if down {
			pairs = g.out[e.ID]
		}
		for _, i := range pairs {
			v := g.pairs[i].src
			if down {
				v = g.pairs[i].dst
			}
			if at := e.At.Add(cost[i]); use(v) && at < d[v] {
				d[v] = at
				queue.Add(events.Event{At: at, ID: v})
			}
		}
	}
	return d
}

// ways returns over which hops a chunk may go to a root, or down from its holders to some ranks, nil: all
// members. Where members reach each other without others in between, all such hops that suit are among them;
// else those of one tree of shortest ways.
func (x *planner) ways(pl *plan, roots []int32, order int, down bool, to []int32, size int64) (*ways, error) {
	g := x.g
	cost := x.cost(size)
	wanted := slices.Clone(pl.member)
	if to != nil {
		clear(wanted)
		for _, v := range to {
			wanted[v] = true
		}
		for _, r := range roots {
			wanted[r] = true
		}
	}
	d := x.distances(roots, down, cost, func(v int32) bool { return wanted[v] })
	tree := false
	for v := range wanted {
		tree = tree || wanted[v] && d[v] == model.MaxTime
	}
	if tree {
		d = x.distances(roots, down, cost, func(int32) bool { return true })
		for v := range wanted {
			if wanted[v] && d[v] == model.MaxTime {
				from, to := v, int(roots[0])
				if down {
					from, to = to, from
				}
				return nil, solve.NotServed("rank %d cannot reach rank %d on %s", from, to, g.w.Topology.Name)
			}
		}
	}
	place := make([]int, g.ranks) // in the order of ranks as far from the roots
	for v := range place {
		place[v] = v ^ order
	}
	for i, v := range pl.members {
		place[v] = i ^ order
	}
	w := &ways{next: make([][]int32, g.ranks), from: make([][]int32, g.ranks)}
	nearer := func(v int32) (list []int32) {
		pairs := g.out[v]
		if down {
			pairs = g.into[v]
		}
		least := model.MaxTime
		type option struct {
			rank int32
			cost model.Time
		}
		var all []option
		for _, i := range pairs {
			u := g.pairs[i].dst
			if down {
				u = g.pairs[i].src
			}
			if d[u] == model.MaxTime || !tree && !wanted[u] || cmp.Or(cmp.Compare(d[u], d[v]), cmp.Compare(place[u], place[v])) >= 0 {
				continue
			}
			if tree && d[u].Add(cost[i]) != d[v] {
				continue
			}
			all, least = append(all, option{u, cost[i]}), min(least, cost[i])
		}
		slices.SortStableFunc(all, func(a, b option) int {
			return cmp.Or(cmp.Compare(d[a.rank], d[b.rank]), cmp.Compare(place[a.rank], place[b.rank]))
		})
		nearest := int32(-1)
		for _, o := range all {
			if o.cost > least.Mul(slower) {
				continue
			}
			if nearest < 0 {
				nearest = o.rank
			}
			if o.rank != nearest && (tree || x.Nearest && (d[o.rank] > d[nearest] || d[o.rank] == d[v])) {
				break
			}
			list = append(list, o.rank)
		}
		return list
	}
	var queue []int32
	for v := range int32(g.ranks) {
		if wanted[v] {
			queue = append(queue, v)
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if d[v] == 0 || w.next[v] != nil {
			continue
		}
		w.next[v] = nearer(v)
		for _, u := range w.next[v] {
			w.from[u] = append(w.from[u], v)
			if tree {
				queue = append(queue, u)
			}
		}
	}
	return w, nil
}

// count sets the duties: who sends a part of a sum, the root when the sum is there, who receives, and
// who may have to send until another one has.
func (pl *plan) count(ranks int) {
	pl.duties = make([]int32, len(pl.chunks)*ranks)
	pl.left = make([]int32, ranks)
	for k := range pl.chunks {
		c := &pl.chunks[k]
		at := pl.duties[k*ranks : (k+1)*ranks]
		if c.up != nil {
			at[c.root]++
			for v := range at {
				if c.up.next[v] != nil {
					at[v]++
				}
			}
		}
		if c.down != nil {
			for v := range at {
				if c.down.next[v] != nil {
					at[v]++
				}
				for _, u := range c.down.next[v] {
					at[u]++
				}
			}
		}
		for v, n := range at {
			if n > 0 {
				pl.left[v]++
			}
		}
	}
}

package improve

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
	"github.com/oraccl/oraccl/solve/timing"
)

// A schedule is a set of trees, for each chunk one that leads from where the chunk is to where
// it is wanted, or one that leads to where its sum is wanted, or for allreduce both, with one
// root. The second is grown like the first, from its root, with time running backwards: what a
// rank must have received by some time is sent to it before, as late as links are free. So
// times are of two kinds: those of the schedule, and those of a tree, in which it grows.

// side is the way in which trees grow.
type side struct {
	reduces bool      // towards the past, against the direction of hops
	out     [][]int32 // by rank: the hops over which trees grow away from it
	into    [][]int32 // by rank: those over which they grow to it
	due     model.Time
	limit   model.Time // see cost; both are times of trees
}

// move is a transfer in a repair: over a hop, of a tree's chunk.
type move struct {
	tree, hop  int32
	start, end model.Time // of the schedule
	at         int32      // its index in repair.of[tree], or -1 if it is out of the schedule
	places     []int32    // what it has booked, where there is a choice
}

// repair is a schedule from which transfers can be taken out, and into which others can be put
// wherever links and ports are free.
type repair struct {
	n          *network.Network // not mirrored
	sides      []*side
	patterns   []sided
	chunks     int       // tree t is one of chunk t%chunks and of side t/chunks
	from       [][]int32 // by tree: where it is from the beginning
	to         [][]int32 // by tree: where it must lead; nil: to all ranks
	wants      []bool    // by tree and rank, unless to is nil
	outside    []bool    // by rank: only one of the transfers to it that a tree that reduces has at one time may be there; nil: all may
	release    []model.Time
	pivot      []model.Time // by chunk, where there are two sides: a time between them
	candidates []int32      // for roots, where there are two sides

	bookings *timing.Bookings
	moves    []move
	spare    []int32
	of       [][]int32 // by tree: its moves
	by       []int32   // by rank and tree: the move that leads there, origin, or absent
	count    int

	// What sticks out is the measure of a schedule: see cost.
	tardy  model.Time // by how much moves do, all together
	total  model.Time // all ends together
	beyond int        // moves that end at limit or later

	overdue []int32 // moves that stuck out when they were looked up
	asked   int     // how often since

	work   int // how often a hop was looked at, about
	rng    random.Stream
	label  []label // by rank
	stamp  int32   // of the search
	queue  events.Queue
	wanted []int32 // by rank: the stamp with which it wants the tree that is sought

	// Since the last mark:
	removed []move
	added   []int32
	touched []int32 // trees
	moved   []rooted
}

// rooted is a chunk with its root and its pivot.
type rooted struct {
	chunk, root int32
	pivot       model.Time
}

// In place of the move that leads a tree to a rank: there is none, or none is needed.
const (
	absent = -1
	origin = -2
)

// label is what a search knows of a rank.
type label struct {
	stamp   int32
	settled bool
	hop     int32 // over which it is reached, or -1: it is in the tree
	at      model.Time
	start   model.Time // of the transfer over the hop
}

// newRepair returns an empty schedule of trees over a network that is not mirrored, which
// must have a pattern for each side.
func newRepair(n *network.Network, patterns []sided, seed uint64) *repair {
	p := n.Problem
	ranks, chunks := p.Topology.Ranks, len(p.Chunks)
	trees := chunks * len(patterns)
	r := &repair{
		patterns: patterns,
		n:        n, chunks: chunks, of: make([][]int32, trees), by: slices.Repeat([]int32{absent}, ranks*trees),
		bookings: timing.NewBookings(n.Choices, n.Resources), label: make([]label, ranks), wanted: make([]int32, ranks), rng: random.New(seed, 1<<41),
	}
	for _, x := range patterns {
		r.sides = append(r.sides, newSide(n, x.reduces))
		r.from = append(r.from, x.From...)
		r.to = append(r.to, x.To...)
		if x.reduces && slices.Contains(solve.Outsiders(p), true) {
			r.outside = solve.Outsiders(p)
		}
	}
	if r.to != nil {
		r.wants = make([]bool, trees*ranks)
		for t, list := range r.to {
			for _, v := range list {
				r.wants[t*ranks+int(v)] = true
			}
		}
	}
	if len(patterns) > 1 {
		r.pivot = make([]model.Time, chunks)
		for t := range r.from {
			r.from[t] = slices.Clone(r.from[t])
		}
		for _, v := range p.Members() {
			r.candidates = append(r.candidates, int32(v))
		}
	}
	if p.Late() && !patterns[0].reduces {
		r.release = p.Release
	}
	for t, from := range r.from {
		for _, v := range from {
			*r.slot(v, int32(t)) = origin
		}
	}
	return r
}

// newSide lists hops in the order in which a network that is mirrored, where trees reduce, has
// them.
func newSide(n *network.Network, reduces bool) *side {
	ranks := n.Problem.Topology.Ranks
	s := &side{reduces: reduces, out: make([][]int32, ranks), into: make([][]int32, ranks)}
	for i := range n.Hops {
		x := &n.Hops[i]
		src, dst := x.Src, x.Dst
		if reduces {
			src, dst = dst, src
		}
		s.out[src], s.into[dst] = append(s.out[src], int32(i)), append(s.into[dst], int32(i))
	}
	if !reduces {
		return s
	}
	order := func(byDst bool) func(i, j int32) int {
		return func(i, j int32) int {
			x, y := &n.Hops[i], &n.Hops[j]
			quicker := cmp.Compare(n.Lasts(x, 0), n.Lasts(y, 0))
			if byDst {
				return cmp.Or(cmp.Compare(x.Src, y.Src), quicker, cmp.Compare(x.Route, y.Route))
			}
			return cmp.Or(quicker, cmp.Compare(x.Dst, y.Dst), cmp.Compare(x.Route, y.Route))
		}
	}
	for v := range ranks {
		slices.SortFunc(s.out[v], order(true))
		slices.SortFunc(s.into[v], order(false))
	}
	return s
}

func (r *repair) slot(v, tree int32) *int32 { return &r.by[int(v)*len(r.of)+int(tree)] }

func (r *repair) sideOf(tree int32) *side { return r.sides[int(tree)/r.chunks] }

// class returns the size class of a tree's chunk.
func (r *repair) class(tree int32) int32 { return r.n.Class[int(tree)%r.chunks] }

// ends returns from where to where a tree grows over a hop.
func (r *repair) ends(tree, hop int32) (src, dst int32) {
	x := &r.n.Hops[hop]
	if r.sideOf(tree).reduces {
		return x.Dst, x.Src
	}
	return x.Src, x.Dst
}

func (r *repair) src(i int32) int32 {
	src, _ := r.ends(r.moves[i].tree, r.moves[i].hop)
	return src
}

func (r *repair) dst(i int32) int32 {
	_, dst := r.ends(r.moves[i].tree, r.moves[i].hop)
	return dst
}

// begins and until return when a tree grows by a move, in its own time.
func (r *repair) begins(m *move) model.Time {
	if r.sideOf(m.tree).reduces {
		return -m.end
	}
	return m.start
}

func (r *repair) until(m *move) model.Time {
	if r.sideOf(m.tree).reduces {
		return -m.start
	}
	return m.end
}

// movement returns a move of a tree over a hop that begins at a time of the tree.
func (r *repair) movement(tree, hop int32, begins model.Time) move {
	m := move{tree: tree, hop: hop, start: begins}
	lasts := r.n.Lasts(&r.n.Hops[hop], r.class(tree))
	if r.sideOf(tree).reduces {
		m.start = -begins - lasts
	}
	m.end = m.start + lasts
	return m
}

// unit is what a picosecond too much counts.
const unit = 8

// cost returns how good a schedule is: by how much it is too long, and a little how late its
// transfers are on average, each in the time of its tree.
func (r *repair) cost() model.Time { return unit*r.tardy + r.total/model.Time(max(1, r.count)) }

// weigh counts a move, once or minus once.
func (r *repair) weigh(m *move, sign model.Time) {
	s, end := r.sideOf(m.tree), r.until(m)
	if end > s.due {
		r.tardy += sign * (end - s.due)
	}
	r.total += sign * end
	r.count += int(sign)
	if end >= s.limit {
		r.beyond += int(sign)
	}
}

// recount counts all moves again: what is too long, or as good as the best, has changed.
func (r *repair) recount() {
	r.tardy, r.total, r.count, r.beyond = 0, 0, 0, 0
	for _, list := range r.of {
		for _, i := range list {
			r.weigh(&r.moves[i], 1)
		}
	}
}

// last returns, for each side, when the last of its trees is grown, in their time, which is 0
// where trees of one side alone begin.
func (r *repair) last() [2]model.Time {
	last := [2]model.Time{}
	if len(r.sides) > 1 {
		last = [2]model.Time{-model.MaxTime / 4, -model.MaxTime / 4}
	}
	for t, list := range r.of {
		end := &last[t/r.chunks]
		for _, i := range list {
			*end = max(*end, r.until(&r.moves[i]))
		}
	}
	return last
}

// length returns how long the schedule takes.
func (r *repair) length() model.Time {
	last := r.last()
	return last[0] + last[1]
}

// add puts a move into the schedule, where its resources must be free.
func (r *repair) add(m move) int32 {
	var i int32
	if n := len(r.spare); n > 0 {
		i, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		i = int32(len(r.moves))
		r.moves = append(r.moves, move{})
	}
	m.at = int32(len(r.of[m.tree]))
	r.moves[i] = m
	r.of[m.tree] = append(r.of[m.tree], i)
	*r.slot(r.dst(i), m.tree) = i
	r.book(i)
	r.weigh(&m, 1)
	return i
}

// remove takes a move out of the schedule.
func (r *repair) remove(i int32) {
	m := &r.moves[i]
	r.weigh(m, -1)
	r.cancel(i)
	list := r.of[m.tree]
	moved := list[len(list)-1]
	list[m.at] = moved
	r.moves[moved].at = m.at
	r.of[m.tree] = list[:len(list)-1]
	*r.slot(r.dst(i), m.tree) = absent
	m.at = -1
	r.spare = append(r.spare, i)
}

// uses returns what a hop uses, and for how long a chunk of a size class does.
func (r *repair) uses(hop, class int32) ([]network.Use, model.Time) {
	x := &r.n.Hops[hop]
	return r.n.Uses[x.Uses:x.UsesEnd], r.n.Beta(x, class)
}

// book takes the resources of a move, those that it had if there were some.
func (r *repair) book(i int32) {
	m := &r.moves[i]
	uses, length := r.uses(m.hop, r.class(m.tree))
	m.places = r.bookings.Take(uses, length, m.start, i, m.places)
}

// cancel gives the resources of a move back.
func (r *repair) cancel(i int32) {
	m := &r.moves[i]
	uses, length := r.uses(m.hop, r.class(m.tree))
	r.bookings.Cancel(uses, length, m.start, i, m.places)
}

// earliest and latest return the first time from at on, and the last time up to at, at which a
// transfer of a chunk of a size class can start over a hop.
func (r *repair) earliest(hop, class int32, at model.Time) model.Time {
	if r.release != nil {
		x := &r.n.Hops[hop]
		at = max(at, r.release[x.Src], r.release[x.Dst])
	}
	r.work++
	uses, length := r.uses(hop, class)
	return r.bookings.First(uses, length, at)
}

func (r *repair) latest(hop, class int32, at model.Time) model.Time {
	r.work++
	uses, length := r.uses(hop, class)
	return r.bookings.Last(uses, length, at)
}

// opens returns the first time of a tree, from at on, at which it can grow over a hop.
func (r *repair) opens(tree, hop int32, at model.Time) model.Time {
	class := r.class(tree)
	if !r.sideOf(tree).reduces {
		return r.earliest(hop, class, at)
	}
	lasts := r.n.Lasts(&r.n.Hops[hop], class)
	return -r.latest(hop, class, -at-lasts) - lasts
}

// has returns from when on a tree can grow from a rank, in its time, or MaxTime.
func (r *repair) has(v, tree int32) model.Time {
	switch i := *r.slot(v, tree); {
	case i == absent:
		return model.MaxTime
	case i == origin && r.pivot != nil:
		return r.root(tree)
	case i == origin && r.release != nil:
		return r.release[v]
	case i == origin:
		return 0
	default:
		return r.until(&r.moves[i])
	}
}

// root returns from when on a tree can grow from its root where there is another one of the
// same chunk: when that has been grown from there, or, if it has not, the chunk's pivot.
func (r *repair) root(tree int32) model.Time {
	other := int32((int(tree) + r.chunks) % len(r.of))
	at := -model.MaxTime
	for _, i := range r.of[other] {
		if *r.slot(r.src(i), other) == origin {
			at = max(at, -r.begins(&r.moves[i]))
		}
	}
	switch {
	case at > -model.MaxTime:
		return at
	case r.sideOf(tree).reduces:
		return -r.pivot[int(tree)%r.chunks]
	}
	return r.pivot[int(tree)%r.chunks]
}

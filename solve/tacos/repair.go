package tacos

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// A schedule that a try has made is repaired where it is too long: some transfers that end
// late, and some that are in their way, are taken out with all that depends on them, and
// what is then missing is brought again, on any way, as early as links and ports are free
// (ruin and recreate: Schrimpf et al., "Record breaking optimization results using the ruin
// and recreate principle", Journal of Computational Physics, 2000; ways are found by
// Dijkstra's algorithm over the times at which links are free). What comes out stays if it
// is not worse, or at the beginning not much worse: see better. Departs from the paper,
// which ends with the first schedule.
//
// Time is that of the network, so that reductions are repaired backwards.

// move is a transfer in a repair: a chunk over a lane.
type move struct {
	chunk, lane int32
	start, end  model.Time
	at          int32   // its index in repair.of[chunk], or -1 if it is out of the schedule
	places      []int32 // the resource of each use, where there is a choice
}

// repair is a schedule of a pattern from which transfers can be taken out, and into which
// others can be put wherever links and ports are free.
type repair struct {
	n       *network.Network
	pt      *network.Pattern
	once    []bool       // by rank: it must not send a chunk twice at one time; nil: all may
	release []model.Time // by rank; nil: all are there at 0
	out     [][]int32    // by rank: the lanes that lead away
	chunks  int
	choosy  bool // some use has a choice of resources

	moves  []move
	spare  []int32
	of     [][]int32 // by chunk: its moves
	by     []int32   // by rank and chunk: the move that brings it, origin, or absent
	agenda []agenda  // by resource
	count  int

	// What sticks out is the measure of a schedule: see cost.
	due    model.Time // what ends later sticks out
	limit  model.Time // a schedule that ends before is the best so far
	tardy  model.Time // by how much moves do, all together
	total  model.Time // all ends together
	beyond int        // moves that end at limit or later

	overdue []int32 // moves that stuck out when they were looked up
	asked   int     // how often since

	work   int // how often a lane was looked at, about
	rng    random.Stream
	label  []label // by rank
	stamp  int32   // of the search
	queue  events.Queue
	wanted []int32 // by rank: the stamp with which it wants the chunk that is sought

	// Since the last mark:
	removed []move
	added   []int32
	touched []int32 // chunks
}

// In place of the move that brings a chunk to a rank: there is none, or it need not be brought.
const (
	absent = -1
	origin = -2
)

// label is what a search knows of a rank.
type label struct {
	stamp   int32
	settled bool
	lane    int32 // over which it is reached, or -1: it holds the chunk
	at      model.Time
	start   model.Time // of the transfer over the lane
}

// newRepair returns an empty schedule. once is as for newSteer, or nil.
func newRepair(n *network.Network, pt *network.Pattern, once []bool, seed uint64) *repair {
	ranks, chunks := n.Problem.Topology.Ranks, len(n.Problem.Chunks)
	r := &repair{
		n: n, pt: pt, once: once, out: make([][]int32, ranks), chunks: chunks, of: make([][]int32, chunks), by: make([]int32, ranks*chunks),
		agenda: make([]agenda, n.Resources), label: make([]label, ranks), wanted: make([]int32, ranks), rng: random.New(seed, 1<<41),
	}
	for i := range n.Uses {
		r.choosy = r.choosy || n.Uses[i].ChoiceEnd-n.Uses[i].Choice > 1
	}
	if n.Problem.Late() && !n.Mirrored {
		r.release = n.Problem.Release
	}
	for i := range n.Hops {
		r.out[n.Hops[i].Src] = append(r.out[n.Hops[i].Src], int32(i))
	}
	for i := range r.by {
		r.by[i] = absent
	}
	for k, from := range pt.From {
		for _, v := range from {
			*r.slot(v, int32(k)) = origin
		}
	}
	return r
}

func (r *repair) slot(v, k int32) *int32 { return &r.by[int(v)*r.chunks+int(k)] }

// unit is what a picosecond too much counts.
const unit = 8

// cost says how good a schedule is: by how much it is too long, and a little how late its
// transfers are on average.
func (r *repair) cost() model.Time { return unit*r.tardy + r.total/model.Time(max(1, r.count)) }

// weigh counts a move, once or minus once.
func (r *repair) weigh(m *move, sign model.Time) {
	if m.end > r.due {
		r.tardy += sign * (m.end - r.due)
	}
	r.total += sign * m.end
	r.count += int(sign)
	if m.end >= r.limit {
		r.beyond += int(sign)
	}
}

// aim sets what counts as too long, and as better than anything so far.
func (r *repair) aim(due, limit model.Time) {
	r.due, r.limit, r.tardy, r.total, r.count, r.beyond = due, limit, 0, 0, 0, 0
	for _, list := range r.of {
		for _, i := range list {
			r.weigh(&r.moves[i], 1)
		}
	}
}

// last returns when the last move ends.
func (r *repair) last() model.Time {
	last := model.Time(0)
	for _, list := range r.of {
		for _, i := range list {
			last = max(last, r.moves[i].end)
		}
	}
	return last
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
	m.at = int32(len(r.of[m.chunk]))
	r.moves[i] = m
	r.of[m.chunk] = append(r.of[m.chunk], i)
	*r.slot(r.n.Hops[m.lane].Dst, m.chunk) = i
	r.book(i)
	r.weigh(&m, 1)
	return i
}

// remove takes a move out of the schedule.
func (r *repair) remove(i int32) {
	m := &r.moves[i]
	r.weigh(m, -1)
	r.cancel(i)
	list := r.of[m.chunk]
	moved := list[len(list)-1]
	list[m.at] = moved
	r.moves[moved].at = m.at
	r.of[m.chunk] = list[:len(list)-1]
	*r.slot(r.n.Hops[m.lane].Dst, m.chunk) = absent
	m.at = -1
	r.spare = append(r.spare, i)
}

// book takes the resources of a move: the same again if it had some.
func (r *repair) book(i int32) {
	m := &r.moves[i]
	x := &r.n.Hops[m.lane]
	beta := r.n.Beta(x, r.n.Class[m.chunk])
	again := m.places != nil
	for j := x.Uses; j < x.UsesEnd; j++ {
		u := &r.n.Uses[j]
		s := span{model.Interval{From: m.start + u.From, To: m.start + u.From + beta + u.Extra}, i}
		place := r.n.Choices[u.Choice]
		switch {
		case again:
			place = m.places[j-x.Uses]
		case r.choosy:
			for c := u.Choice; c < u.ChoiceEnd; c++ {
				if place = r.n.Choices[c]; r.agenda[place].next(s.From, s.To-s.From) == s.From {
					break
				}
			}
			m.places = append(m.places, place)
		}
		r.agenda[place].enter(s)
	}
}

// cancel gives the resources of a move back.
func (r *repair) cancel(i int32) {
	m := &r.moves[i]
	x := &r.n.Hops[m.lane]
	for j := x.Uses; j < x.UsesEnd; j++ {
		u := &r.n.Uses[j]
		place := r.n.Choices[u.Choice]
		if r.choosy {
			place = m.places[j-x.Uses]
		}
		r.agenda[place].strike(m.start+u.From, i)
	}
}

// opens returns the first time from at on at which a transfer can start over a lane.
func (r *repair) opens(l, class int32, at model.Time) model.Time {
	x := &r.n.Hops[l]
	beta := r.n.Beta(x, class)
	if r.release != nil {
		at = max(at, r.release[x.Src], r.release[x.Dst])
	}
	r.work++
	for moved := true; moved; {
		moved = false
		for j := x.Uses; j < x.UsesEnd; j++ {
			u := &r.n.Uses[j]
			first := model.MaxTime
			for c := u.Choice; c < u.ChoiceEnd && first > at; c++ {
				first = min(first, r.agenda[r.n.Choices[c]].next(at+u.From, beta+u.Extra)-u.From)
			}
			if first > at {
				at, moved = first, x.UsesEnd-x.Uses > 1
			}
		}
	}
	return at
}

// closes returns the last time up to at at which a transfer can start over a lane.
func (r *repair) closes(l, class int32, at model.Time) model.Time {
	x := &r.n.Hops[l]
	beta := r.n.Beta(x, class)
	r.work++
	for moved := true; moved; {
		moved = false
		for j := x.Uses; j < x.UsesEnd; j++ {
			u := &r.n.Uses[j]
			latest := model.Time(-1)
			for c := u.Choice; c < u.ChoiceEnd && latest < at; c++ {
				latest = max(latest, r.agenda[r.n.Choices[c]].last(at+u.From, beta+u.Extra)-u.From)
			}
			if latest < at {
				at, moved = latest, x.UsesEnd-x.Uses > 1
			}
		}
	}
	return at
}

// has returns from when on a rank holds a chunk, or MaxTime.
func (r *repair) has(v, k int32) model.Time {
	switch i := *r.slot(v, k); {
	case i == absent:
		return model.MaxTime
	case i == origin && r.release != nil:
		return r.release[v]
	case i == origin:
		return 0
	default:
		return r.moves[i].end
	}
}

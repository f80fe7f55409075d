// Package ejection makes schedules on a grid of slots shorter by guided ejection search (Nagata and Bräysy, "A powerful route
// minimization heuristic for the vehicle routing problem with time windows", Operations Research Letters 37, 2009).
//
// A grid is a job shop whose jobs may choose their machines: parts of data are to come from their roots to all ranks, each rank
// gets a part by one hop, from a rank that has it by then, and a hop keeps some machines (links, or orbits of them) busy for some
// slots each. Package broadcast puts the chunks of one root on it, package quotient those of the roots that stand for others.
package ejection

import (
	"math"
	"math/bits"
	"slices"
)

// Shop is what hops there are, in slots.
//
// A job is a part, a direction and a rank, the child of the hop that does it. There are two directions where data go both ways, as in an
// allreduce: copies go forward in time, from direction 0; sums are read backwards, in direction 1, where slots count from the horizon, so
// that each hop waits for the one between its parent and the root, as copies do. A root passes on copies when all sums have come to it.
// With its twin it may exchange sums: neither waits for the sum of the other one, and what both send on waits for both.
type Shop struct {
	Ranks, Machines int
	Roots           []int32   // by part
	Twins           []int32   // by part: who exchanges sums with the root, or -1; nil: nobody
	Kinds           []int32   // by part: in which way of those of an arc it takes machines
	Arcs            [][][]Arc // by direction and child
	Ways            [][][]Way // by direction, kind and Arc.Way
	Back, Lag       []int32   // by machine: the one that hops turned round take, and how long after it is over a hop arrives; nil: see mirrored
	Horizon         int32     // slots: no machine is in use from then on
	Period          int32     // slots after which all is repeated, no fewer than a machine is busy for; 0: never
}

// Arc is a hop to a child from a parent or, of a sum, from the child to it.
type Arc struct {
	Parent int32
	Way    int32
	Step   int32 // the caller's
}

// Way is how a hop takes machines.
type Way struct {
	Stays []Stay
	Lasts int32      // slots from its start until the child has the part
	bars  [][2]int32 // from which slot to which it must not start: it would meet its own mirror image
}

// Stay is when a machine is busy, from the start of a hop on.
type Stay struct{ Machine, Off, Width int32 }

// Nowhere is later than any slot.
const Nowhere = math.MaxInt32 / 2

// unmoved is a penalty that no others add up to: such jobs are never undone.
const unmoved = 1 << 20

// Grid is a shop with hops for some of its jobs. The others are in the pool if they are to be done. A rank may send on what it lacks:
// then it must get it before it first does so, and nothing else changes where it gets it from elsewhere.
//
// A grid may be one period of a schedule that repeats: then machines are free only where they are so in all periods, which is to say
// modulo the period (Rau, MICRO 1994), and all other times count from the begin of the first period. Such a grid has one direction.
type Grid struct {
	Shop
	ranks, dirs int32
	both        bool
	row, words  int32      // slots of a machine that are kept, and words of their bits
	busy        [][]uint64 // by direction, machine and slot: a bit
	fine        [][]int32  // and the penalty of the job that keeps it busy, or 0
	begins      [][]int32  // the same where that job begins to
	owner       []int32    // by machine and slot of direction 0: that job, or -1
	penalty     []int32    // by job: what it costs to undo it
	at          []int32    // by job: the slot from which on its rank has the part, or is to have it; Nowhere if it has no use for it
	start, by   []int32    // by job: the slot in which it starts, and the number of its arc; -1
	first       []int32    // by job: those that wait for it, as a list; -1
	next, prev  []int32
	pool, place []int32  // jobs that are missing, and by job where in the pool it is, or -1
	limit       [2]int32 // by direction: no job is to arrive later
	wall        int32    // a job that is none: what keeps machines busy for others
	held        bool     // some ranks have parts by no hop of the grid
}

// New returns a grid on which nothing is to be done: see Want.
func New(s Shop) *Grid {
	g := &Grid{Shop: s, ranks: int32(s.Ranks), dirs: int32(len(s.Arcs)), both: len(s.Arcs) > 1}
	longest, widest := int32(0), int32(0)
	for _, kinds := range s.Ways {
		for _, ways := range kinds {
			for i := range ways {
				longest = max(longest, ways[i].Lasts)
				for _, v := range ways[i].Stays {
					longest, widest = max(longest, v.Off+v.Width), max(widest, v.Width)
				}
			}
		}
	}
	if g.row = s.Horizon + longest + widest; s.Period > 0 { // searches look at two periods from any slot of one on, and at 64 slots
		g.row = max(3*s.Period, s.Period+64) + widest
	} else {
		g.Period = g.row
	}
	if g.mirrored() {
		g.Ways = g.barred()
	}
	g.words = g.row/64 + 3
	slots, jobs := s.Machines*int(g.row), len(s.Roots)*len(s.Arcs)*s.Ranks
	for range s.Arcs {
		g.busy = append(g.busy, make([]uint64, s.Machines*int(g.words)))
		g.fine, g.begins = append(g.fine, make([]int32, slots)), append(g.begins, make([]int32, slots))
	}
	g.wall, g.limit = int32(jobs), [2]int32{s.Horizon, s.Horizon}
	g.owner = slices.Repeat([]int32{-1}, slots)
	g.at, g.penalty = slices.Repeat([]int32{Nowhere}, jobs), slices.Repeat([]int32{1}, jobs+1)
	g.penalty[g.wall] = unmoved
	none := slices.Repeat([]int32{-1}, jobs)
	g.start, g.by, g.place = none, slices.Clone(none), slices.Clone(none)
	g.first, g.next, g.prev = slices.Clone(none), slices.Clone(none), slices.Clone(none)
	for part, root := range s.Roots {
		for d := range g.dirs {
			g.at[g.Job(part, d, root)] = 0
		}
	}
	return g
}

// mirrored reports whether the grid is one half of a schedule that is the same if it is read backwards. For each of its parts there is another one,
// whose sums are the copies of this one read backwards in time, and its copies the sums: each hop has an image, turned round, that keeps the other
// machine busy.
func (g *Grid) mirrored() bool { return g.Back != nil }

// image returns when the image of what keeps a machine busy from a slot on does so, as the other direction counts slots.
func (g *Grid) image(dir, machine, from int32) int32 {
	if dir == 1 {
		return from - g.Lag[machine]
	}
	return from + g.Lag[machine]
}

// barred returns a copy of the ways, each with its bars.
func (g *Grid) barred() [][][]Way {
	all := make([][][]Way, len(g.Ways))
	for dir, kinds := range g.Ways {
		for _, ways := range kinds {
			ways = slices.Clone(ways)
			for i := range ways {
				ways[i].bars = g.bars(int32(dir), &ways[i])
			}
			all[dir] = append(all[dir], ways)
		}
	}
	return all
}

// bars returns from which slots to which a hop must not start in a grid that is mirrored: it would meet its own image.
func (g *Grid) bars(dir int32, w *Way) (list [][2]int32) {
	for _, v := range w.Stays {
		for _, u := range w.Stays {
			if g.Back[u.Machine] != v.Machine {
				continue
			}
			twice := g.Horizon - v.Off - g.image(dir, u.Machine, u.Off)
			if from, to := (twice-v.Width-u.Width)/2+1, (twice-1)/2; from <= to {
				list = append(list, [2]int32{from, to})
			}
		}
	}
	return list
}

// periodic reports whether the grid is one period of what repeats.
func (g *Grid) periodic() bool { return g.Period < g.row }

// Slots returns how many slots of machines a grid keeps.
func (g *Grid) Slots() int { return len(g.owner) }

// Jobs returns how many jobs there may be.
func (g *Grid) Jobs() int { return len(g.by) }

// Job returns the number of a job.
func (g *Grid) Job(part int, dir, rank int32) int32 { return (int32(part)*g.dirs+dir)*g.ranks + rank }

// Rank, Dir and Part return those of a job.
func (g *Grid) Rank(x int32) int32 { return x % g.ranks }

// Dir returns the direction of a job.
func (g *Grid) Dir(x int32) int32 {
	if g.both {
		return x / g.ranks & 1
	}
	return 0
}

// Part returns the part of a job.
func (g *Grid) Part(x int32) int { return int(x / (g.ranks * g.dirs)) }

// arcs returns those over which a job can be done.
func (g *Grid) arcs(x int32) []Arc { return g.Arcs[g.Dir(x)][g.Rank(x)] }

// over returns the job for which another one waits over an arc.
func (g *Grid) over(x int32, a *Arc) int32 { return x - g.Rank(x) + a.Parent }

// way returns how a job takes an arc.
func (g *Grid) way(x int32, a *Arc) *Way { return &g.Ways[g.Dir(x)][g.Kinds[g.Part(x)]][a.Way] }

// isRoot reports whether a job's rank is the root of its part.
func (g *Grid) isRoot(x int32) bool { return g.Rank(x) == g.Roots[g.Part(x)] }

// turned returns the job of the same part and rank in the other direction.
func (g *Grid) turned(x int32) int32 { return x + g.ranks*(1-2*(x/g.ranks&1)) }

// twin returns the rank that exchanges sums with the root of a part, or -1.
func (g *Grid) twin(part int) int32 {
	if g.Twins == nil {
		return -1
	}
	return g.Twins[part]
}

// isTwin reports whether a job's rank exchanges sums with the root of its part.
func (g *Grid) isTwin(x int32) bool { return g.Rank(x) == g.twin(g.Part(x)) }

// turns reports whether what a job's rank sends on waits for hops of the other direction.
func (g *Grid) turns(x int32) bool { return g.both && (g.isRoot(x) || g.isTwin(x)) }

// Has returns the slot from which on a job's rank has its part, or is to have it; Nowhere if neither.
func (g *Grid) Has(x int32) int32 {
	if g.turns(x) {
		return g.turnedAt(x, -1)
	}
	return g.at[x]
}

// Ready returns the slot from which on a job can be done over the arc of a number; Nowhere if its parent is not to have the part.
func (g *Grid) Ready(x, by int32) int32 { return g.ready(x, g.over(x, &g.arcs(x)[by])) }

// ready is Ready with the job that it waits for.
func (g *Grid) ready(x, source int32) int32 {
	if g.turns(source) {
		return g.turnedAt(source, g.exempt(x, source))
	}
	return g.at[source]
}

// exempt returns the job for which one does not wait that comes from a root or its twin, or -1: what they send to each other.
func (g *Grid) exempt(x, source int32) int32 {
	if g.isTwin(x) && g.isRoot(source) {
		return g.turned(x)
	}
	return -1
}

// turnedAt returns the slot from which on a root or its twin can send on what it gets, when all of the other direction has come except for
// one job.
func (g *Grid) turnedAt(x, exempt int32) int32 {
	at := g.at[x]
	if exempt >= 0 { // what comes to the root is there in time
		at = max(at, g.Horizon-g.limit[1-g.Dir(x)])
	}
	for y := g.first[g.turned(x)]; y >= 0; y = g.next[y] {
		if y != exempt {
			at = max(at, g.Horizon-g.start[y])
		}
	}
	return at
}

// need returns the slot in which a job must be done for those that wait for it.
func (g *Grid) need(x int32) int32 {
	least := int32(Nowhere)
	for y := g.first[x]; y >= 0; y = g.next[y] {
		least = min(least, g.start[y])
	}
	return least
}

// Want puts a job into the pool: it is to be done.
func (g *Grid) Want(x int32) {
	g.place[x] = int32(len(g.pool))
	g.pool = append(g.pool, x)
}

// Wanted reports whether a job is in the pool.
func (g *Grid) Wanted(x int32) bool { return g.place[x] >= 0 }

// Missing returns how many jobs are in the pool.
func (g *Grid) Missing() int { return len(g.pool) }

// get takes a job out of the pool.
func (g *Grid) get(x int32) {
	i, last := g.place[x], g.pool[len(g.pool)-1]
	g.pool[i], g.place[last] = last, i
	g.pool, g.place[x] = g.pool[:len(g.pool)-1], -1
}

// Hold takes a job out of the pool whose rank has its part from a slot on, by no hop of the grid, which never changes. From Nowhere on is never: then
// nothing goes over that rank.
func (g *Grid) Hold(x, slot int32) {
	g.get(x)
	g.at[x], g.penalty[x], g.held = slot, unmoved, true
}

// Block keeps a machine busy from one slot until another, which never changes.
func (g *Grid) Block(machine, from, until int32) {
	g.mark(0, &Way{Stays: []Stay{{machine, from, until - from}}}, 0, g.wall)
}

// in returns a slot modulo the period.
func (g *Grid) in(slot int32) int32 {
	if slot >= g.Period {
		slot %= g.Period
	}
	return slot
}

// taken returns in which of 64 slots from one on a machine is busy.
func (g *Grid) taken(dir, machine, slot int32) uint64 {
	slot = g.in(slot)
	i := int(machine)*int(g.words) + int(slot>>6)
	low, busy := uint(slot&63), g.busy[dir]
	return busy[i]>>low | busy[i+1]<<1<<(63-low)
}

// Opens returns the first slot, no earlier than one and no later than another, in which a job can start over the arc of a number, or -1.
func (g *Grid) Opens(x, by, from, last int32) int32 {
	return g.opens(g.Dir(x), g.way(x, &g.arcs(x)[by]), from, last)
}

func (g *Grid) opens(dir int32, w *Way, from, last int32) int32 {
	last = min(last, from+g.Period-1)
	for ; from <= last; from += 64 {
		free := ^uint64(0) >> uint(max(0, 63-(last-from))) // the other slots may be beyond the horizon
		for _, v := range w.Stays {
			for at := from + v.Off; at < from+v.Off+v.Width && free != 0; at++ {
				free &^= g.taken(dir, v.Machine, at)
			}
		}
		for _, b := range w.bars {
			for at := max(b[0], from); at <= min(b[1], from+63); at++ {
				free &^= 1 << (at - from)
			}
		}
		if free != 0 {
			return from + int32(bits.TrailingZeros64(free))
		}
	}
	return -1
}

// Do does a job of the pool over the arc of a number, from a slot on in which it is free.
func (g *Grid) Do(x, by, start int32) {
	g.get(x)
	a := &g.arcs(x)[by]
	w, from := g.way(x, a), g.over(x, a)
	g.mark(g.Dir(x), w, start, x)
	g.by[x], g.start[x], g.at[x] = by, start, start+w.Lasts
	g.prev[x], g.next[x] = -1, g.first[from]
	if g.first[from] >= 0 {
		g.prev[g.first[from]] = x
	}
	g.first[from] = x
	if g.place[from] >= 0 { // then it is to have the part
		g.at[from] = min(g.at[from], start)
	}
}

// undo puts a job back into the pool. What waits for it stays.
func (g *Grid) undo(x int32) {
	a := &g.arcs(x)[g.by[x]]
	g.mark(g.Dir(x), g.way(x, a), g.start[x], -1)
	from := g.over(x, a)
	if g.prev[x] >= 0 {
		g.next[g.prev[x]] = g.next[x]
	} else {
		g.first[from] = g.next[x]
	}
	if g.next[x] >= 0 {
		g.prev[g.next[x]] = g.prev[x]
	}
	if g.place[from] >= 0 {
		g.at[from] = g.need(from)
	}
	g.by[x], g.start[x], g.at[x] = -1, -1, g.need(x)
	g.Want(x)
}

// mark has a job keep the machines of a hop busy, or nobody, if it is -1.
func (g *Grid) mark(dir int32, w *Way, start, x int32) {
	fine := int32(0)
	if x >= 0 {
		fine = g.penalty[x]
	}
	for _, v := range w.Stays {
		from := start + v.Off
		g.keep(dir, v.Machine, from, v.Width, x, fine)
		if g.both {
			g.keep(1-dir, v.Machine, g.Horizon-from-v.Width, v.Width, x, fine)
		}
		if g.mirrored() {
			at, back := g.image(dir, v.Machine, from), g.Back[v.Machine]
			g.keep(1-dir, back, at, v.Width, x, fine)
			g.keep(dir, back, g.Horizon-at-v.Width, v.Width, x, fine)
		}
	}
}

// free has the machines of a hop that is done count as free for hops of its own direction, or as busy again. Nothing else may be done in
// between but to undo the hop.
func (g *Grid) free(dir int32, w *Way, start int32, free bool) {
	for _, v := range w.Stays {
		from := start + v.Off
		g.set(dir, v.Machine, from, v.Width, !free)
		if g.mirrored() {
			g.set(dir, g.Back[v.Machine], g.Horizon-g.image(dir, v.Machine, from)-v.Width, v.Width, !free)
		}
	}
}

// set notes that a machine is busy in some slots, or that it is not.
func (g *Grid) set(dir, machine, from, width int32, taken bool) {
	busy := g.busy[dir][int(machine)*int(g.words):][:g.words]
	for i := range width {
		for at := g.in(from + i); at < g.row; at += g.Period {
			if bit := uint64(1) << (at & 63); taken {
				busy[at>>6] |= bit
			} else {
				busy[at>>6] &^= bit
			}
		}
	}
}

// keep has a job keep a machine busy as one direction counts slots.
func (g *Grid) keep(dir, machine, from, width, x, fine int32) {
	row := int(machine) * int(g.row)
	g.set(dir, machine, from, width, x >= 0)
	fines := g.fine[dir][row:][:g.row]
	for i := range width {
		for at := g.in(from + i); at < g.row; at += g.Period {
			if fines[at] = fine; dir == 0 {
				g.owner[row+int(at)] = x
			}
		}
	}
	for at := g.in(from); at < g.row; at += g.Period {
		g.begins[dir][row+int(at)] = fine
	}
}

// owned returns the job that keeps a machine busy in a slot, or -1.
func (g *Grid) owned(dir, machine, slot int32) int32 {
	if dir == 1 {
		slot = g.Horizon - 1 - slot
	}
	return g.owner[int(machine)*int(g.row)+int(g.in(slot))]
}

// Hop is a job that is done.
type Hop struct {
	Part  int
	Dir   int32
	Rank  int32 // the child
	By    int32 // the number of its arc
	Start int32 // slots, as its direction counts them
	End   int32
}

// Hops returns what is done, job by job.
func (g *Grid) Hops() (list []Hop) {
	for x, by := range g.by {
		if x := int32(x); by >= 0 {
			list = append(list, Hop{g.Part(x), g.Dir(x), g.Rank(x), by, g.start[x], g.at[x]})
		}
	}
	return list
}

// ends returns the slot in which the last job of each direction ends that is done, or comes to a root.
func (g *Grid) ends() (last [2]int32) {
	for x, by := range g.by {
		if by >= 0 {
			dir := g.Dir(int32(x))
			last[dir] = max(last[dir], g.at[x])
			if g.swaps(int32(x)) {
				last[1-dir] = max(last[1-dir], g.Horizon-g.start[x])
			}
		}
	}
	return last
}

// swaps reports whether a job that is done is one of two by which a root and its twin exchange sums: it ends in the time of the other direction, too.
func (g *Grid) swaps(x int32) bool {
	return g.both && g.isTwin(x) && g.arcs(x)[g.by[x]].Parent == g.Roots[g.Part(x)]
}

// Lasts returns in how many slots all is done that is.
func (g *Grid) Lasts() int32 {
	last := g.ends()
	if g.mirrored() {
		return 2*max(last[0], last[1]) - g.Horizon
	}
	if g.both {
		return last[0] + last[1] - g.Horizon
	}
	return last[0]
}

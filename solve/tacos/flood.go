package tacos

import (
	"math/bits"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// flood is the store for patterns in which every rank wants every chunk, as in
// allgather and broadcast: whatever a destination lacks is of use to it. A rank's
// chunks are a row of bits, and what a hop can carry is held &^ taken, of the rows of
// its source and its destination.
//
// Departs from the paper in two points. Of some candidates that chunk is sent which
// the fewest ranks hold, not a random one: a chunk that is left over at the end keeps
// links idle. And a chunk that is on its way over a slow link is given to a quick one
// that can bring it earlier, where that has nothing else to do. The slow transfer is
// then found to have carried another chunk, one that its source held when it began
// and its destination still lacks when it ends, or not to have taken place. (The
// authors' code replaces chunks too, but by any that the source holds when the
// transfer ends, which no network can do.)
type flood struct {
	e      *engine
	starts [][]int32 // by rank: the chunks that it holds at the start
	number []int32   // of each chunk: its bit
	chunk  []int32   // of each bit: the chunk; they are in random order
	words  int       // in a row
	held   []uint64  // by rank: what has arrived
	taken  []uint64  // by rank: what has arrived or is on its way
	lack   []int32   // by rank: how many chunks it does not hold
	need   []int32   // by rank: how many of them are not on their way either
	left   int       // of all ranks: how many deliveries are still to come
	copies []int32   // by bit: how many ranks hold the chunk or will

	log     []int32 // by rank: what arrived last, a ring of size mask+1
	mask    uint32
	arrived []uint32 // by rank: how many chunks have arrived

	options []options // by hop
	swap    swap      // what reserve will do if the chunk chosen last is reserved
	mixed   []bool    // by rank: hops into it are not equally quick
	inbound [][]int32 // by rank, if mixed: flights to it
}

// options are what a hop can carry, where that is little.
type options struct {
	count int32  // of the candidates in list, or -1 if they are not known
	seen  uint32 // they are all that were there when this many chunks had arrived at the source
	list  [maxOptions]int32
}

// swap is a flight that will carry another chunk, so that its own one is free for a
// hop that has nothing else.
type swap struct{ flight, other int32 }

const (
	// maxOptions makes options 64 bytes.
	maxOptions = 14
	// samples is how many candidates are compared where there are many: more
	// take time and gain little.
	samples = 8
	// minLog and maxLog bound the length of the log of a rank.
	minLog, maxLog = 16, 1 << 12
)

// newFlood returns the store of a pattern: holders are the ranks that hold each chunk at the
// start. It takes O(ranks·chunks/64 + hops) time and memory.
func newFlood(n *network.Network, holders [][]int32, seed uint64) *flood {
	ranks, chunks := n.Problem.Topology.Ranks, len(n.Problem.Chunks)
	words := (chunks + 63) / 64
	f := &flood{
		starts: make([][]int32, ranks), number: make([]int32, chunks), chunk: make([]int32, chunks), words: words,
		held: make([]uint64, ranks*words), taken: make([]uint64, ranks*words), lack: make([]int32, ranks), need: make([]int32, ranks),
		copies: make([]int32, chunks), arrived: make([]uint32, ranks), options: make([]options, len(n.Hops)), mixed: make([]bool, ranks),
	}
	s := random.New(seed, 1<<40)
	for k := range f.chunk {
		f.chunk[k] = int32(k)
	}
	for i := chunks - 1; i > 0; i-- {
		j := s.Below(i + 1)
		f.chunk[i], f.chunk[j] = f.chunk[j], f.chunk[i]
	}
	for b, k := range f.chunk {
		f.number[k] = int32(b)
	}
	for r := range ranks {
		f.lack[r], f.need[r] = int32(chunks), int32(chunks)
	}
	f.left = ranks * chunks
	for k, list := range holders {
		b := f.number[k]
		f.copies[b] = int32(len(list))
		for _, r := range list {
			f.starts[r] = append(f.starts[r], b)
			f.taken[int(r)*words+int(b>>6)] |= 1 << (b & 63)
			f.need[r]--
		}
	}
	for i := range f.options {
		f.options[i].count = -1
	}
	f.mask = minLog - 1
	slowest := make([]model.Time, ranks) // of the transfers from each rank
	for i := range n.Hops {
		x := &n.Hops[i]
		slowest[x.Src] = max(slowest[x.Src], n.Lasts(x, 0))
	}
	for v := range ranks {
		hops := n.Hops[n.Into[v]:n.Into[v+1]]
		for i := range hops {
			f.mixed[v] = f.mixed[v] || n.Lasts(&hops[i], 0) != n.Lasts(&hops[0], 0) || len(n.Sizes) > 1
		}
		f.mask = max(f.mask, f.longest(n, v, slowest[v]))
	}
	f.log = make([]int32, ranks*int(f.mask+1))
	for _, m := range f.mixed {
		if m && f.inbound == nil {
			f.inbound = make([][]int32, ranks)
		}
	}
	return f
}

// longest returns a power of two minus 1 that is at least the number of chunks which
// can arrive at rank u during the slowest transfer from it, within minLog and maxLog.
func (f *flood) longest(n *network.Network, u int, slowest model.Time) uint32 {
	most := model.Time(0)
	for l := n.Into[u]; l < n.Into[u+1]; l++ {
		most += slowest/n.Beta(&n.Hops[l], 0) + 2
	}
	size := uint32(minLog)
	for size < maxLog && int64(size) < int64(most) && int(size) < len(f.chunk) {
		size *= 2
	}
	return size - 1
}

func (f *flood) row(rows []uint64, r int32) []uint64 {
	return rows[int(r)*f.words : (int(r)+1)*f.words]
}

func (f *flood) mixes() bool { return false }
func (f *flood) done() bool  { return f.left == 0 }

func (f *flood) idle(v int32) bool {
	return f.need[v] == 0 && !(f.mixed[v] && f.lack[v] > 0)
}

func (f *flood) admit(r int32) {
	for _, b := range f.starts[r] {
		f.hold(r, b)
	}
}

// hold notes that rank v holds a chunk from now on.
func (f *flood) hold(v, b int32) {
	f.held[int(v)*f.words+int(b>>6)] |= 1 << (b & 63)
	f.log[uint32(v)*(f.mask+1)+f.arrived[v]&f.mask] = b
	f.arrived[v]++

	f.lack[v]--
	f.left--
}

func (f *flood) choose(l int32, s *random.Stream) int32 {
	x := &f.e.Hops[l]
	f.swap.flight = -1
	if f.need[x.Dst] > 0 {
		if b := f.candidate(l, x, s); b >= 0 {
			return f.chunk[b]
		}
		if b := f.exchange(x, s); b >= 0 {
			return f.chunk[b]
		}
	}
	if f.mixed[x.Dst] {
		return f.overtake(x)
	}
	return -1
}

// candidate returns a chunk that the source of a hop holds and the destination
// lacks, and nothing brings, or -1.
func (f *flood) candidate(l int32, x *network.Hop, s *random.Stream) int32 {
	o := &f.options[l]
	taken := f.row(f.taken, x.Dst)
	if o.count < 0 || !f.update(o, x.Src, taken) {
		return f.scan(o, x.Src, taken, s)
	}
	kept := int32(0)
	for _, b := range o.list[:o.count] {
		if taken[b>>6]>>(b&63)&1 == 0 {
			o.list[kept] = b
			kept++
		}
	}
	o.count = kept
	if kept == 0 {
		return -1
	}
	i := 0
	if kept > 1 {
		i = s.Below(int(kept))
	}
	best := o.list[i]
	for range kept - 1 {
		if i++; i == int(kept) {
			i = 0
		}
		if b := o.list[i]; f.copies[b] < f.copies[best] {
			best = b
		}
	}
	return best
}

// update adds what has arrived at the source since to the options. It returns false
// if they are not all known any more.
func (f *flood) update(o *options, u int32, taken []uint64) bool {
	now := f.arrived[u]
	if now-o.seen > f.mask+1 {
		o.count = -1
		return false
	}
	log := f.log[uint32(u)*(f.mask+1):]
	for ; o.seen != now; o.seen++ {
		b := log[o.seen&f.mask]
		if taken[b>>6]>>(b&63)&1 != 0 {
			continue
		}
		if o.count == maxOptions {
			o.count = -1
			return false
		}
		o.list[o.count] = b
		o.count++
	}
	return true
}

// scan looks through the rows from a random place on, and returns the rarest of the
// first candidates. If there are few in all they become the options.
func (f *flood) scan(o *options, u int32, taken []uint64, s *random.Stream) int32 {
	held := f.row(f.held, u)
	taken = taken[:len(held)]
	r := s.Next()
	hi, _ := bits.Mul64(r, uint64(len(held)))
	w, turn := int(hi), int(r&63)
	best, fewest, count := int32(-1), int32(0), 0
	for range len(held) {
		for x := bits.RotateLeft64(held[w]&^taken[w], -turn); x != 0; x &= x - 1 {
			b := int32(w<<6 | (bits.TrailingZeros64(x)+turn)&63)
			if c := f.copies[b]; best < 0 || c < fewest {
				best, fewest = b, c
			}
			o.list[count] = b
			if count++; count == samples {
				return best
			}
		}
		if w++; w == len(held) {
			w = 0
		}
	}
	o.count, o.seen = int32(count), f.arrived[u]
	return best
}

// exchange looks for a transfer to the destination of a hop that is under way with a
// chunk which the hop could bring too, and could have been given another one, and
// returns that chunk, or -1. If it is reserved the other transfer gets the other
// chunk: a step of an augmenting path in the matching of hops and chunks.
func (f *flood) exchange(x *network.Hop, s *random.Stream) int32 {
	e := f.e
	list := e.fresh
	if f.mixed[x.Dst] {
		list = f.inbound[x.Dst]
	}
	for j := len(list) - 1; j >= 0; j-- {
		g := &e.flights[list[j]]
		y := &e.Hops[g.hop]
		if y.Dst != x.Dst {
			break
		}
		b := f.number[g.chunk]
		if g.lost || g.robs >= 0 || y.Src == x.Src || f.row(f.held, x.Src)[b>>6]>>(b&63)&1 == 0 {
			continue
		}
		other := f.candidate(g.hop, y, s)
		if other < 0 || e.Class[f.chunk[other]] != e.Class[g.chunk] || !g.fresh && f.late(y.Src, g.seen, other) {
			continue
		}
		f.swap = swap{list[j], other}
		return b
	}
	return -1
}

// late reports whether a chunk has arrived at rank u, or may have, since the number of arrivals there was seen.
func (f *flood) late(u int32, seen uint32, b int32) bool {
	since := f.arrived[u] - seen
	if since > f.mask+1 {
		return true
	}
	for q := range since {
		if f.log[uint32(u)*(f.mask+1)+(seen+q)&f.mask] == b {
			return true
		}
	}
	return false
}

// overtake returns a chunk that a hop can bring earlier than the flight which
// carries it, the one that would have arrived last, or -1.
func (f *flood) overtake(x *network.Hop) int32 {
	e := f.e
	best, latest := int32(-1), model.Time(0)
	for _, i := range f.inbound[x.Dst] {
		g := &e.flights[i]
		if g.lost || g.ends <= latest || e.now+e.Lasts(x, e.Class[g.chunk]) >= g.ends {
			continue
		}
		if b := f.number[g.chunk]; f.row(f.held, x.Src)[b>>6]>>(b&63)&1 != 0 {
			best, latest = g.chunk, g.ends
		}
	}
	return best
}

func (f *flood) reserve(i int32) {
	e := f.e
	g := &e.flights[i]
	x := &e.Hops[g.hop]
	b := f.number[g.chunk]
	g.seen = f.arrived[x.Src]
	switch word := f.taken[int(x.Dst)*f.words+int(b>>6)]; {
	case word>>(b&63)&1 == 0:
		f.expect(x.Dst, b)
	case f.swaps(x.Dst, g.chunk):
		e.flights[f.swap.flight].chunk = f.chunk[f.swap.other]
		f.expect(x.Dst, f.swap.other)
	default:
		g.robs = f.rob(x.Dst, g.chunk)
	}
	if f.mixed[x.Dst] {
		f.inbound[x.Dst] = append(f.inbound[x.Dst], i)
	}
}

// swaps reports whether swap is about a chunk on its way to rank v.
func (f *flood) swaps(v, k int32) bool {
	if f.swap.flight < 0 {
		return false
	}
	g, b := &f.e.flights[f.swap.flight], f.swap.other
	return !g.lost && g.chunk == k && f.e.Hops[g.hop].Dst == v && f.taken[int(v)*f.words+int(b>>6)]>>(b&63)&1 == 0
}

// expect notes that a chunk that rank v lacks is on its way.
func (f *flood) expect(v, b int32) {
	f.taken[int(v)*f.words+int(b>>6)] |= 1 << (b & 63)
	f.need[v]--
	f.copies[b]++
}

// rob finds the flight that brings a chunk to rank v, and has it lose it.
func (f *flood) rob(v, k int32) int32 {
	for _, i := range f.inbound[v] {
		if g := &f.e.flights[i]; !g.lost && g.chunk == k {
			g.lost = true
			return i
		}
	}
	return -1
}

func (f *flood) unreserve(i int32) {
	e := f.e
	g := &e.flights[i]
	v := e.Hops[g.hop].Dst
	f.leave(v, i)
	if g.robs >= 0 {
		e.flights[g.robs].lost = false
		return
	}
	b := f.number[g.chunk]
	f.taken[int(v)*f.words+int(b>>6)] &^= 1 << (b & 63)
	f.need[v]++
	f.copies[b]--
	for l := e.Into[v]; l < e.Into[v+1]; l++ {
		f.options[l].count = -1 // they may have been rid of the chunk
	}
}

// leave takes a flight from the list of those that are bound for rank v.
func (f *flood) leave(v, i int32) {
	if !f.mixed[v] {
		return
	}
	list := f.inbound[v]
	for j := range list {
		if list[j] == i {
			list[j] = list[len(list)-1]
			f.inbound[v] = list[:len(list)-1]
			return
		}
	}
}

func (f *flood) arrive(i int32) {
	g := &f.e.flights[i]
	v := f.e.Hops[g.hop].Dst
	f.leave(v, i)
	f.hold(v, f.number[g.chunk])
}

// rebind looks for the rarest chunk of the same size that the source of a flight held
// at its start and the destination lacks now: one that nothing brings, else one that
// another flight would bring later.
func (f *flood) rebind(i int32) int32 {
	e := f.e
	g := &e.flights[i]
	x := &e.Hops[g.hop]
	v := x.Dst
	f.leave(v, i)
	class := e.Class[g.chunk]
	best := int32(-1)
	held, taken := f.row(f.held, x.Src), f.row(f.taken, v)
	if f.need[v] > 0 {
		for w := range held {
			for y := held[w] &^ taken[w]; y != 0; y &= y - 1 {
				b := int32(w<<6 | bits.TrailingZeros64(y))
				if (best < 0 || f.copies[b] < f.copies[best]) && e.Class[f.chunk[b]] == class && !f.late(x.Src, g.seen, b) {
					best = b
				}
			}
		}
	}
	if best >= 0 {
		f.expect(v, best)
		f.hold(v, best)
		return f.chunk[best]
	}
	latest := e.now
	for _, j := range f.inbound[v] {
		h := &e.flights[j]
		if b := f.number[h.chunk]; !h.lost && h.ends > latest && e.Class[h.chunk] == class && held[b>>6]>>(b&63)&1 != 0 && !f.late(x.Src, g.seen, b) {
			best, latest = b, h.ends
		}
	}
	if best < 0 {
		return -1
	}
	f.rob(v, f.chunk[best])
	f.hold(v, best)
	return f.chunk[best]
}

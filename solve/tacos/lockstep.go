package tacos

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// lockstep is a quicker engine for large patterns in which every rank wants every chunk,
// on networks whose hops share nothing and are equally quick: all hops start together,
// slot after slot. Of every rank it keeps the chunks in the order in which they came, its
// log. A hop reads the log of its source from the front, passes over what its destination
// has or is being sent, and takes the first of the rest; what it has passed over it need
// not look at again. So every chunk is looked at once by every hop, and the schedule of a
// slot costs O(hops) beside that, where the paper's search costs O(hops·chunks).
//
// Departs from the paper in the choice: not a random chunk, but that which has waited
// longest. Near chunks so go first, and those of far ranks arrive in a front as broad as
// the network, which keeps all hops busy to the end: on tori of 256 ranks and more the
// last arrives a slot after the lower bound.
//
// In a slot all ranks choose by themselves, from what had arrived before it, so that they
// can do so at the same time; which goroutine serves which makes no difference.
type lockstep[K uint16 | int32] struct {
	*network.Network
	slot    model.Time // its length: the longest that a hop is busy
	delay   int        // the number of slots after which a chunk has arrived at the latest
	chunks  int
	words   int
	taken   []uint64   // what has arrived or is on its way: tiles of 8 ranks by 64 chunks, a line of the cache each
	log     []K        // the same in the order of starts: see place
	lengths [][]int32  // by slot modulo delay+1, by rank: the length of the log after it
	lanes   []lane     // by hop
	lasts   model.Time // how long all transfers take, if they do equally long; else -1
	seed    uint64
	left    []int // by block: deliveries that are still to start

	by     []uint8   // like log: which of the hops into the rank brought it; nil: not kept
	counts [][]uint8 // by slot and rank: how many did then
}

// lane is what a slot needs of a hop. All lanes are read in every slot, so they are small.
type lane struct {
	src    int32
	cursor int32 // where in the log of src
	route  int32
}

const (
	// lockstepFrom is from how many deliveries on lockstep is used for a first try, if links
	// are free when chunks arrive, and lockstepAlways for all. Elsewhere a chunk waits for
	// the next slot at every rank, which costs some slots, and does not matter where there
	// are very many; but there the other engine takes minutes.
	lockstepFrom   = 1 << 19
	lockstepAlways = 1 << 24
)

// blockRanks is how many ranks are served by one goroutine without a pause.
const blockRanks = 256

// uneven is by how much slots may be longer than some hop is busy: 1/uneven of it.
const uneven = 64

// maxDelay limits what is kept of the past.
const maxDelay = 1 << 10

// lockstepTime returns the length and the delay of slots, and whether lockstep serves a
// network and a pattern. It takes O(hops·sizes).
func lockstepTime(n *network.Network, pt *network.Pattern) (slot model.Time, delay int, ok bool) {
	if !n.Private || pt.To != nil || n.Problem.Late() || len(n.Hops) == 0 || len(n.Rates)*len(n.Sizes) > 64 {
		return 0, 0, false
	}
	shortest, lasts := model.MaxTime, model.Time(0)
	for i := range n.Hops {
		x := &n.Hops[i]
		for class := range n.Sizes {
			busy := n.Beta(x, int32(class)) + n.Uses[x.Uses].Extra
			slot, shortest = max(slot, busy), min(shortest, busy)
			lasts = max(lasts, n.Lasts(x, int32(class)))
		}
	}
	if slot-shortest > slot/uneven {
		return 0, 0, false
	}
	delay = int((lasts + slot - 1) / slot)
	return slot, delay, delay <= maxDelay
}

// sweep makes the transfers of a pattern that floods, in order of their starts.
type sweep interface {
	run(threads int, stop func() bool, emit func([]model.Transfer) bool) bool
}

// newSweep returns the lockstep engine for a network and a pattern, or nil if they are
// not served by it.
func newSweep(n *network.Network, pt *network.Pattern, seed uint64) sweep {
	slot, delay, ok := lockstepTime(n, pt)
	switch {
	case !ok:
		return nil
	case len(n.Problem.Chunks) <= 1<<16:
		return newLockstep[uint16](n, pt, seed, slot, delay)
	}
	return newLockstep[int32](n, pt, seed, slot, delay)
}

// newLockstep takes O(ranks·chunks) memory: see lockstepMemory.
func newLockstep[K uint16 | int32](n *network.Network, pt *network.Pattern, seed uint64, slot model.Time, delay int) *lockstep[K] {
	ranks, chunks := n.Problem.Topology.Ranks, len(n.Problem.Chunks)
	e := &lockstep[K]{
		Network: n, slot: slot, delay: delay, chunks: chunks, words: (chunks + 63) / 64,
		log: make([]K, (chunks+logTile-1)/logTile*logTile*ranks), lengths: make([][]int32, delay+1), lanes: make([]lane, len(n.Hops)),
		lasts: -1, seed: seed, left: make([]int, (ranks+blockRanks-1)/blockRanks),
	}
	for i, x := range n.Hops {
		e.lanes[i] = lane{src: x.Src, route: x.Route}
	}
	if n.Even() {
		e.lasts = n.Lasts(&n.Hops[0], 0)
	}
	e.taken = make([]uint64, (ranks+7)/8*8*e.words)
	for i := range e.lengths {
		e.lengths[i] = make([]int32, ranks)
	}
	order := random.New(seed, 1<<40)
	first := e.lengths[0]
	at := make([]int32, chunks) // the chunks in random order, for ranks that hold several
	for k := range at {
		at[k] = int32(k)
	}
	for i := chunks - 1; i > 0; i-- {
		j := order.Below(i + 1)
		at[i], at[j] = at[j], at[i]
	}
	for _, k := range at {
		for _, r := range pt.From[k] {
			e.take(int(r), K(k))
			e.log[e.place(int(r), int(first[r]))] = K(k)
			first[r]++
		}
	}
	for r := range ranks {
		e.left[r/blockRanks] += chunks - int(first[r])
	}
	for i := range e.lengths {
		copy(e.lengths[i], first)
	}
	return e
}

// logTile is how many chunks of one rank's log lie together.
const logTile = 32

// place returns where the i-th chunk of a rank's log is. Ranks are at about the same place of their logs at any time: what they write
// and read then lies together in memory, in few lines and pages.
func (e *lockstep[K]) place(rank, i int) int {
	return (i/logTile*e.Problem.Topology.Ranks+rank)*logTile + i%logTile
}

func (e *lockstep[K]) take(rank int, k K) {
	e.taken[((rank>>3)*e.words+int(k>>6))*8+rank&7] |= 1 << (k & 63)
}

// inFlight is how many slots may be waiting to be taken in while others are made.
const inFlight = 2

// run makes all transfers, and passes them to emit, in order of their starts, from one
// goroutine; emit must not keep what it is passed. It returns false if stop or emit said
// so, or if there is no way to some rank.
func (e *lockstep[K]) run(threads int, stop func() bool, emit func([]model.Transfer) bool) bool {
	blocks := len(e.left)
	free, filled := make(chan [][]model.Transfer, inFlight+1), make(chan [][]model.Transfer, inFlight)
	for range inFlight + 1 {
		free <- make([][]model.Transfer, blocks)
	}
	var refused atomic.Bool
	var taken sync.WaitGroup
	taken.Go(func() {
		for set := range filled {
			for _, list := range set {
				if len(list) > 0 && !refused.Load() && !emit(list) {
					refused.Store(true)
				}
			}
			free <- set
		}
	})
	defer taken.Wait()
	defer close(filled)
	pool := newPool(min(threads, blocks), func(b, slot int, set [][]model.Transfer) { set[b] = e.serve(b, slot, set[b][:0]) })
	defer pool.close()
	idle := 0
	for slot := 0; ; slot++ {
		left := 0
		for _, n := range e.left {
			left += n
		}
		if left == 0 {
			return true
		}
		if idle > e.delay || refused.Load() || stop() {
			return false
		}
		set := <-free
		if e.by != nil {
			e.counts = append(e.counts, make([]uint8, e.Problem.Topology.Ranks))
		}
		pool.run(blocks, slot, set)
		idle++
		for _, list := range set {
			if len(list) > 0 {
				idle = 0
			}
		}
		filled <- set
	}
}

// serve lets the hops into the ranks of a block start in a slot, and appends what they
// carry.
func (e *lockstep[K]) serve(block, slot int, out []model.Transfer) []model.Transfer {
	ring := e.delay + 1
	arrived := e.lengths[(slot+1)%ring]      // after the slot which is delay ago, of which all has arrived
	before := e.lengths[(slot+e.delay)%ring] // after the last slot
	after := e.lengths[slot%ring]            // after this one
	start := e.slot * model.Time(slot)
	first := block * blockRanks
	number := random.New(e.seed, uint64(slot))
	turn := number.Next() // the same for all ranks, so that neighbours look at chunks that lie together in memory
	for v := first; v < min(first+blockRanks, len(after)); v++ {
		n := before[v]
		if int(n) == e.chunks {
			after[v] = n
			continue
		}
		row := e.taken[(v>>3)*e.words*8+v&7 : ((v>>3)+1)*e.words*8]
		a, b := e.Into[v], e.Into[v+1]
		hi, _ := bits.Mul64(turn, uint64(b-a))
		l := a + int32(hi)
		for range b - a {
			x := &e.lanes[l]
			c, held := x.cursor, arrived[x.src]
			for ; c < held; c++ {
				k := e.log[e.place(int(x.src), int(c))]
				word := &row[int(k>>6)*8]
				if *word>>(k&63)&1 != 0 {
					continue
				}
				c++
				*word |= 1 << (k & 63)
				i := e.place(v, int(n))
				e.log[i] = k
				if e.by != nil {
					e.by[i] = uint8(l - a)
				}
				n++
				src, dst := x.src, int32(v)
				if e.Mirrored {
					src, dst = dst, src
				}
				lasts := e.lasts
				if lasts < 0 {
					lasts = e.Lasts(&e.Hops[l], e.Class[k])
				}
				out = append(out, model.Transfer{Chunk: int32(k), Src: src, Dst: dst, Route: x.route, Start: start, End: start + lasts})
				break
			}
			x.cursor = c
			if l++; l == b {
				l = a
			}
		}
		e.left[block] -= int(n - before[v])
		if e.by != nil {
			e.counts[slot][v] = uint8(n - before[v])
		}
		after[v] = n
	}
	return out
}

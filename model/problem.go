package model

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"
)

// Chunk is a part of the buffer that is moved as a whole.
type Chunk struct {
	Offset, Size int64 // bytes
}

// Problem asks for a schedule: this collective, of this size, on this topology,
// under this cost model, with these ranks late.
type Problem struct {
	Topology   *Topology
	Collective Collective

	// Size is the buffer in bytes per rank, as NCCL-tests counts: the larger one
	// of send and receive buffer. For alltoall it holds one shard per member.
	Size int64

	// Chunks tile the space of the collective (Space bytes). nil leaves the cut
	// to the method; a problem with a schedule has one.
	Chunks []Chunk

	Cost CostModel

	// Release is the time at which each rank arrives: it neither sends nor
	// receives before. nil: all are there at time 0.
	Release []Time
}

// Members returns the group, in the collective's order. The caller must not
// change it. It takes O(1), except for the first call with a larger group.
func (p *Problem) Members() []int {
	if p.Collective.Group != nil {
		return p.Collective.Group
	}
	n := p.Topology.Ranks
	all := counting.Load()
	if all == nil || len(*all) < n {
		more := make([]int, n)
		for i := range more {
			more[i] = i
		}
		all = &more
		counting.Store(all)
	}
	return (*all)[:n:n]
}

// counting caches 0, 1, 2, ... up to the largest n requested.
var counting atomic.Pointer[[]int]

// groupSize returns len(p.Members()) in O(1).
func (p *Problem) groupSize() int {
	if p.Collective.Group != nil {
		return len(p.Collective.Group)
	}
	return p.Topology.Ranks
}

// member returns p.Members()[i] in O(1).
func (p *Problem) member(i int) int {
	if p.Collective.Group != nil {
		return p.Collective.Group[i]
	}
	return i
}

// Shards returns the number of shards of the collective: see Collective.
func (p *Problem) Shards() int {
	switch n := p.groupSize(); p.Collective.Kind {
	case Scatter, Gather, AllGather, ReduceScatter:
		return n
	case AllToAll:
		return n * n
	case Custom:
		return p.Collective.Chunks
	}
	return 1
}

// Space returns the number of bytes that the chunks tile: the size, or the size
// times the members for alltoall, where every member has a buffer of its own.
func (p *Problem) Space() int64 {
	if p.Collective.Kind == AllToAll {
		return p.Size * int64(p.groupSize())
	}
	return p.Size
}

// Cut divides the space of p into n chunks as equal as whole bytes allow: chunk i covers the
// bytes from ⌊i·space/n⌋ to ⌊(i+1)·space/n⌋. Where shards have sizes of their own, each is
// divided like that into ⌈its size/g⌉ chunks, g being the least number of bytes with which
// there are no more than n chunks in all, or one a shard. It requires n > 0.
func (p *Problem) Cut(n int) []Chunk {
	if p.Collective.Ends == nil {
		return pieces(nil, 0, p.Space(), int64(n))
	}
	sizes := p.Collective.Sizes()
	g := 1 + int64(sort.Search(int(slices.Max(sizes))-1, func(g int) bool { return count(sizes, int64(g)+1) <= int64(n) }))
	chunks := make([]Chunk, 0, count(sizes, g))
	at := int64(0)
	for _, size := range sizes {
		chunks = pieces(chunks, at, size, (size-1)/g+1)
		at += size
	}
	return chunks
}

// pieces appends n chunks of the space from at on.
func pieces(chunks []Chunk, at, space, n int64) []Chunk {
	chunks = slices.Grow(chunks, int(n))
	for i := range n {
		from, to := part(space, i, n), part(space, i+1, n)
		chunks = append(chunks, Chunk{at + from, to - from})
	}
	return chunks
}

// count returns into how many chunks of at most g bytes shards of these sizes are cut.
func count(sizes []int64, g int64) int64 {
	n := int64(0)
	for _, size := range sizes {
		n += (size-1)/g + 1
	}
	return n
}

// WithChunks returns a copy of p that is cut into n equal chunks.
func (p *Problem) WithChunks(n int) *Problem {
	q := *p
	q.Chunks = p.Cut(n)
	return &q
}

// DefaultChunks returns how many chunks p has with k chunks per member: k·n for
// the collectives in which every member sends or receives its own part and for
// allreduce, k for broadcast and reduce, k·n² for alltoall, and for a custom
// collective as many as it defines or, with sizes, k for its largest shard and no larger
// ones for the others.
func (p *Problem) DefaultChunks(k int) int {
	switch n := p.groupSize(); p.Collective.Kind {
	case Broadcast, Reduce:
		return k
	case AllToAll:
		return k * n * n
	case Custom:
		if sizes := p.Collective.Sizes(); sizes != nil {
			return int(min(count(sizes, (slices.Max(sizes)-1)/int64(k)+1), math.MaxInt32))
		}
		return p.Collective.Chunks
	default:
		return k * n
	}
}

// part returns ⌊i·s/n⌋ without overflow, for 0 <= i <= n and n > 0.
func part(s, i, n int64) int64 {
	hi, lo := bits.Mul64(uint64(s), uint64(i))
	q, _ := bits.Div64(hi, lo, uint64(n)) // the quotient is at most s, so that hi < n
	return int64(q)
}

// Shard returns the shard that chunk k lies in, in O(1) or, where shards have sizes of their
// own, in O(log shards). p must have chunks, unless it is a custom collective's.
func (p *Problem) Shard(k int) int {
	if p.Collective.Kind == Custom && (p.Collective.Ends == nil || len(p.Chunks) <= p.Collective.Chunks) {
		return k
	}
	return p.shardAt(p.Chunks[k].Offset)
}

// shardAt returns the shard that a byte of the space lies in.
func (p *Problem) shardAt(off int64) int {
	if ends := p.Collective.Ends; ends != nil {
		s, _ := slices.BinarySearch(ends, off+1)
		return s
	}
	n := int64(p.Shards())
	if n == 1 {
		return 0
	}
	space := p.Space()
	hi, lo := bits.Mul64(uint64(off), uint64(n))
	q, _ := bits.Div64(hi, lo, uint64(space))
	s := int64(q) // part(space, s, n) <= off, but with shards of unequal size s may be too low
	for s+1 < n && part(space, s+1, n) <= off {
		s++
	}
	return int(s)
}

// shardEnd returns where a shard ends, in bytes of the space.
func (p *Problem) shardEnd(s int) int64 {
	if p.Collective.Ends != nil {
		return p.Collective.Ends[s]
	}
	return part(p.Space(), int64(s)+1, int64(p.Shards()))
}

// Owner returns the member whose shard chunk k lies in, for the collectives
// with one shard per member, and for alltoall the pair that it travels between.
// For the others both are -1.
func (p *Problem) Owner(k int) (from, to int) {
	s := p.Shard(k)
	switch p.Collective.Kind {
	case Scatter, ReduceScatter:
		return -1, p.member(s)
	case Gather, AllGather:
		return p.member(s), -1
	case AllToAll:
		n := p.groupSize()
		return p.member(s / n), p.member(s % n)
	}
	return -1, -1
}

// Start yields the precondition of chunk k: each rank that holds something of
// it at the start, with what it holds.
func (p *Problem) Start(k int) iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		c := &p.Collective
		switch c.Kind {
		case Broadcast, Scatter:
			yield(c.Root, Unit(c.Root))
		case Gather, AllGather, AllToAll:
			from, _ := p.Owner(k)
			yield(from, Unit(from))
		case Reduce, ReduceScatter, AllReduce:
			for i := range p.groupSize() {
				if r := p.member(i); !yield(r, Unit(r)) {
					return
				}
			}
		case Custom:
			for _, d := range ofShard(c.Pre, p.Shard(k)) {
				if !yield(d.Rank, d.Value) {
					return
				}
			}
		}
	}
}

// Goal yields the postcondition of chunk k: each rank that must hold something
// definite of it at the end, with what it must hold.
func (p *Problem) Goal(k int) iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		c := &p.Collective
		switch c.Kind {
		case Broadcast, AllGather:
			v := Unit(c.Root)
			if c.Kind == AllGather {
				from, _ := p.Owner(k)
				v = Unit(from)
			}
			for i := range p.groupSize() {
				if !yield(p.member(i), v) {
					return
				}
			}
		case Scatter:
			_, to := p.Owner(k)
			yield(to, Unit(c.Root))
		case Gather:
			from, _ := p.Owner(k)
			yield(c.Root, Unit(from))
		case AllToAll:
			from, to := p.Owner(k)
			yield(to, Unit(from))
		case Reduce:
			yield(c.Root, Once(p.Members()))
		case ReduceScatter:
			_, to := p.Owner(k)
			yield(to, Once(p.Members()))
		case AllReduce:
			v := Once(p.Members())
			for i := range p.groupSize() {
				if !yield(p.member(i), v) {
					return
				}
			}
		case Custom:
			for _, d := range ofShard(c.Post, p.Shard(k)) {
				if !yield(d.Rank, d.Value) {
					return
				}
			}
		}
	}
}

// ofShard returns the conditions on shard k; they are sorted by it.
func ofShard(list []Condition, k int) []Condition {
	byChunk := func(d Condition, k int) int { return d.Chunk - k }
	from, _ := slices.BinarySearchFunc(list, k, byChunk)
	to, _ := slices.BinarySearchFunc(list, k+1, byChunk)
	return list[from:to]
}

// LastArrival returns the time at which the last member arrives.
func (p *Problem) LastArrival() Time {
	last := Time(0)
	for _, r := range p.Members() {
		last = max(last, p.ReleaseOf(r))
	}
	return last
}

// ReleaseOf returns the time at which rank r arrives.
func (p *Problem) ReleaseOf(r int) Time {
	if p.Release == nil {
		return 0
	}
	return p.Release[r]
}

// Late reports whether any rank arrives after time 0.
func (p *Problem) Late() bool {
	return slices.ContainsFunc(p.Release, func(t Time) bool { return t > 0 })
}

// String returns the claim in short: "allgather of 8 MiB in 8 chunks, 8 ranks, on dgx1, pipelined".
func (p *Problem) String() string {
	cut := ""
	if p.Chunks != nil {
		cut = fmt.Sprintf(" in %d chunks", len(p.Chunks))
		if len(p.Chunks) == 1 {
			cut = " in 1 chunk"
		}
	}
	late := ""
	if p.Late() {
		late = ", with late ranks"
	}
	return fmt.Sprintf("%v of %s%s, %d ranks, on %s, %v%s",
		p.Collective, FormatBytes(p.Size), cut, p.groupSize(), p.Topology.Name, p.Cost, late)
}

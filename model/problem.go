package model

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
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

// Cut divides the space of p into n chunks as equal as whole bytes allow:
// chunk i covers the bytes from ⌊i·space/n⌋ to ⌊(i+1)·space/n⌋. It requires n > 0.
func (p *Problem) Cut(n int) []Chunk {
	chunks := make([]Chunk, n)
	space := p.Space()
	for i := range chunks {
		from, to := part(space, int64(i), int64(n)), part(space, int64(i)+1, int64(n))
		chunks[i] = Chunk{from, to - from}
	}
	return chunks
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
// collective as many as it defines.
func (p *Problem) DefaultChunks(k int) int {
	switch n := p.groupSize(); p.Collective.Kind {
	case Broadcast, Reduce:
		return k
	case AllToAll:
		return k * n * n
	case Custom:
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

// Shard returns the shard that chunk k lies in, in O(1). p must have chunks.
func (p *Problem) Shard(k int) int {
	n := int64(p.Shards())
	switch {
	case n == 1:
		return 0
	case p.Collective.Kind == Custom:
		return k
	}
	space, off := p.Space(), p.Chunks[k].Offset
	hi, lo := bits.Mul64(uint64(off), uint64(n))
	q, _ := bits.Div64(hi, lo, uint64(space))
	s := int64(q) // part(space, s, n) <= off, but with shards of unequal size s may be too low
	for s+1 < n && part(space, s+1, n) <= off {
		s++
	}
	return int(s)
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
			for _, d := range ofChunk(c.Pre, k) {
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
			for _, d := range ofChunk(c.Post, k) {
				if !yield(d.Rank, d.Value) {
					return
				}
			}
		}
	}
}

// ofChunk returns the conditions on chunk k; they are sorted by chunk.
func ofChunk(list []Condition, k int) []Condition {
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

package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// An allreduce is a reduction of each chunk to a root, and a spreading from there.
// What remains of the two schedules is their trees and who goes first: every transfer
// keeps its hop and starts as soon as its data is there and its links are free, the
// first in order of priority where several could (timing.Parallel). So nothing waits for the
// slowest chunk between the two halves; and if chunks differ in priority, the spreading of the
// first ones fills links that the reduction of the last ones leaves idle, and the other way
// round, which on networks whose ranks differ in links takes much less time.

// halves are the transfers of both halves of an allreduce with what they wait for, which is
// all arrivals at a place: a half, a rank and a chunk.
type halves struct {
	n         *network.Network
	transfers []model.Transfer
	jobs      []job
	first     []int32 // the jobs that need place i are list[first[i]:first[i+1]]
	list      []int32
	arrivals  []int32 // by place: how many there are
	order     []int32 // the jobs by their starts
}

// job is a transfer that needs all arrivals at one place, and is one at another.
type job struct{ needs, feeds, hop int32 }

// newHalves takes the transfers of the two halves in the direction of the topology, and
// the root of each chunk. n must not be mirrored.
func newHalves(n *network.Network, reduce, spread []model.Transfer, root []int32) *halves {
	chunks, ranks := len(n.Problem.Chunks), n.Problem.Topology.Ranks
	x := &halves{n: n, transfers: slices.Concat(reduce, spread)}
	place := func(half int, r, k int32) int32 {
		if r == root[k] {
			half = 0 // what is spread is what has been reduced
		}
		return int32((half*ranks+int(r))*chunks + int(k))
	}
	hopOf := make([]int32, len(n.Routes))
	for i := range n.Hops {
		hopOf[n.Hops[i].Route] = int32(i)
	}
	x.first = make([]int32, 2*ranks*chunks+1)
	x.arrivals = make([]int32, 2*ranks*chunks)
	x.jobs = make([]job, len(x.transfers))
	for i := range x.transfers {
		t := &x.transfers[i]
		half := 0
		if i >= len(reduce) {
			half = 1
		}
		j := &x.jobs[i]
		*j = job{place(half, t.Src, t.Chunk), place(half, t.Dst, t.Chunk), hopOf[t.Route]}
		x.first[j.needs+1]++
		x.arrivals[j.feeds]++
	}
	for i := range x.first[1:] {
		x.first[i+1] += x.first[i]
	}
	x.list = make([]int32, len(x.jobs))
	next := slices.Clone(x.first)
	for i := range x.jobs {
		x.list[next[x.jobs[i].needs]] = int32(i)
		next[x.jobs[i].needs]++
	}
	x.order = make([]int32, len(x.jobs))
	for i := range x.order {
		x.order[i] = int32(i)
	}
	slices.SortFunc(x.order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(x.transfers[i].Start, x.transfers[j].Start), cmp.Compare(i, j))
	})
	return x
}

// retime times all transfers once more. Chunks are dealt out to levels, and those of a lower
// level go before others, and among equals in the order of the starts that they have. It returns nil if
// it is stopped. It takes O(transfers·log transfers), and may be called by several goroutines
// at a time.
func (x *halves) retime(levels int, stop func() bool) []model.Transfer {
	r := &retiming{halves: x, times: slices.Clone(x.transfers), pending: slices.Clone(x.arrivals), priority: x.priorities(levels)}
	if !timing.NewParallel(x.n, r).Run(stop) {
		return nil
	}
	return r.times
}

// priorities returns the place of each job in the order of levels and starts.
func (x *halves) priorities(levels int) []int32 {
	place := make([]int32, len(x.jobs))
	next := make([]int32, levels+1) // where the jobs of each level begin
	for i := range x.transfers {
		next[int(x.transfers[i].Chunk)%levels+1]++
	}
	for level := range levels {
		next[level+1] += next[level]
	}
	for _, i := range x.order {
		level := int(x.transfers[i].Chunk) % levels
		place[i] = next[level]
		next[level]++
	}
	return place
}

// retiming implements timing.Jobs.
type retiming struct {
	*halves
	times    []model.Transfer
	pending  []int32 // by place: arrivals that are still to come
	priority []int32 // by job
}

func (r *retiming) Count() int            { return len(r.jobs) }
func (r *retiming) Chunk(job int32) int32 { return r.transfers[job].Chunk }

func (r *retiming) Began(job int32, start, end model.Time) {
	r.times[job].Start, r.times[job].End = start, end
}

func (r *retiming) key(job int32) uint64 { return uint64(r.priority[job])<<32 | uint64(job) }

func (r *retiming) Ready(yield func(hop int32, key uint64)) {
	for i := range r.jobs {
		if j := &r.jobs[i]; r.arrivals[j.needs] == 0 {
			yield(j.hop, r.key(int32(i)))
		}
	}
}

func (r *retiming) Ended(jobs, hops []int32, ready []timing.Waiting) ([]int32, []timing.Waiting) {
	for _, i := range jobs {
		hops = append(hops, r.jobs[i].hop)
		at := r.jobs[i].feeds
		if r.pending[at]--; r.pending[at] > 0 {
			continue
		}
		for _, j := range r.list[r.first[at]:r.first[at+1]] {
			ready = append(ready, timing.Waiting{Hop: r.jobs[j].hop, Key: r.key(j)})
		}
	}
	return hops, ready
}

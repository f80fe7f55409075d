// Package bound finds lower bounds on the makespan, each as a certificate: a cut, a
// rank, a path, that others can check. It searches; what a witness is worth it
// computes for itself, in exact integers, but nobody has to believe it: package
// verify/cert, which shares no code with it, does that sum again.
//
// Where a problem has chunks, the bounds are for that cut; where it has none, they
// hold for every one.
package bound

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/oraccl/oraccl/model"
)

// Best returns the certificate with the largest bound, or nil if there is none
// above zero.
func Best(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	all, err := All(ctx, p)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return slices.MaxFunc(all, func(a, b *model.Certificate) int { return cmp.Compare(a.Bound, b.Bound) }), nil
}

// All returns the best certificate of each kind that yields something. The search
// for cuts stops early when ctx is done; what it has by then is returned.
func All(ctx context.Context, p *model.Problem) ([]*model.Certificate, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Chunks == nil && p.Collective.Kind == model.Custom {
		return nil, nil // the sizes of the chunks are free
	}
	f := newFinder(p)
	var all []*model.Certificate
	add := func(bound model.Time, w model.Witness) {
		if bound > 0 && bound < model.MaxTime {
			all = append(all, &model.Certificate{Problem: p, Bound: bound, Witness: w})
		}
	}
	add(f.ranks(true))
	add(f.ranks(false))
	add(f.cuts(ctx))
	add(f.volume())
	add(f.distance())
	if p.Cost == model.Rounds {
		add(f.doubling())
	}
	return all, nil
}

// finder is a problem with what the search for bounds asks of it again and again.
type finder struct {
	p     *model.Problem
	units *model.Problem // p with its chunks, or with one chunk a shard
	out   [][]int
	in    [][]int
	extra []model.Time // by link: the least latency before it and behind it, over switches
}

func newFinder(p *model.Problem) *finder {
	f := &finder{p: p, units: p, out: p.Topology.Out(), in: p.Topology.In()}
	if p.Chunks == nil {
		f.units = p.WithChunks(p.Shards())
	}
	t := p.Topology
	before, behind := f.latencies(f.out, func(l *model.Link) int { return l.Dst }), f.latencies(f.in, func(l *model.Link) int { return l.Src })
	for _, l := range t.Links {
		f.extra = append(f.extra, before[l.Src].Add(behind[l.Dst]))
	}
	return f
}

// latencies returns for each node the least latency between it and a rank, over
// switches, walking along links in one direction.
func (f *finder) latencies(next [][]int, end func(*model.Link) int) []model.Time {
	t := f.p.Topology
	dist := make([]model.Time, t.Nodes())
	queue := &nodeHeap{}
	for v := range dist {
		if !t.IsRank(v) {
			dist[v] = model.MaxTime
			continue
		}
		*queue = append(*queue, nodeAt{0, v})
	}
	for queue.Len() > 0 {
		n := heap.Pop(queue).(nodeAt)
		for _, i := range next[n.node] {
			l := &t.Links[i]
			if d := n.at.Add(l.Alpha); d < dist[end(l)] {
				dist[end(l)] = d
				heap.Push(queue, nodeAt{d, end(l)})
			}
		}
	}
	return dist
}

// load is what must pass some links: a number of transfers, their bytes in all, and
// the smallest of them.
type load struct{ count, bytes, least int64 }

func (l *load) add(times, size int64) {
	if l.count == 0 || size < l.least {
		l.least = size
	}
	l.count += times
	l.bytes += times * size
}

// leaving returns what must leave a set of nodes.
func (f *finder) leaving(inside []bool) load {
	var l load
	members := f.p.Members()
	some, all := false, true // of the members are inside
	for _, r := range members {
		some, all = some || inside[r], all && inside[r]
	}
	c := &f.p.Collective
	crosses := func(k int) bool { return false }
	switch c.Kind {
	case model.Broadcast:
		crosses = func(int) bool { return inside[c.Root] && !all }
	case model.Reduce:
		crosses = func(int) bool { return !inside[c.Root] && some }
	case model.AllReduce:
		crosses = func(int) bool { return some && !all }
	case model.AllGather:
		crosses = func(k int) bool { from, _ := f.units.Owner(k); return inside[from] && !all }
	case model.ReduceScatter:
		crosses = func(k int) bool { _, to := f.units.Owner(k); return !inside[to] && some }
	case model.Scatter:
		crosses = func(k int) bool { _, to := f.units.Owner(k); return inside[c.Root] && !inside[to] }
	case model.Gather:
		crosses = func(k int) bool { from, _ := f.units.Owner(k); return !inside[c.Root] && inside[from] }
	case model.AllToAll:
		crosses = func(k int) bool { from, to := f.units.Owner(k); return inside[from] && !inside[to] }
	case model.Custom:
		crosses = func(k int) bool { return f.customLeaves(k, inside) }
	}
	for k, c := range f.units.Chunks {
		if crosses(k) {
			l.add(1, c.Size)
		}
	}
	return l
}

// customLeaves says whether some rank outside wants what only ranks inside have.
func (f *finder) customLeaves(k int, inside []bool) bool {
	for r, want := range f.units.Goal(k) {
		for j := range want.Terms() {
			if inside[r] {
				break
			}
			held := false
			for h, v := range f.units.Start(k) {
				for i := range v.Terms() {
					held = held || i == j && !inside[h]
				}
			}
			if !held {
				return true
			}
		}
	}
	return false
}

// least returns the least makespan in which a load can pass the links, MaxTime if
// it cannot. Links come in groups; under single one link of each group works at a
// time.
func (f *finder) least(l load, groups [][]int, single bool) model.Time {
	if l.count == 0 {
		return 0
	}
	enough := func(t model.Time) bool {
		count, bytes := uint64(0), uint64(0)
		for _, links := range groups {
			var c, b uint64
			for _, i := range links {
				n, m := f.capacity(i, l.least, t)
				if single {
					c, b = max(c, n), max(b, m)
				} else {
					c, b = saturating(c, n), saturating(b, m)
				}
			}
			count, bytes = saturating(count, c), saturating(bytes, b)
		}
		return bytes >= uint64(l.bytes) && (f.p.Chunks == nil || count >= uint64(l.count))
	}
	high := model.Time(1)
	for !enough(high) {
		if high > model.MaxTime/4 {
			return model.MaxTime
		}
		high *= 2
	}
	return model.Time(sort.Search(int(high), func(t int) bool { return enough(model.Time(t)) }))
}

func saturating(a, b uint64) uint64 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint64
}

// capacity returns how many transfers of at least size bytes, and how many bytes,
// can pass link i by t. A link is of use when the ranks at its ends have arrived,
// and what passes it needs some time to come to it and to go on behind it;
// pipelined, what passes it arrives a latency later; else every transfer keeps it
// busy for the latency too.
func (f *finder) capacity(i int, size int64, t model.Time) (count, bytes uint64) {
	l := &f.p.Topology.Links[i]
	wait := model.Time(0)
	for _, v := range [2]int{l.Src, l.Dst} {
		if f.p.Topology.IsRank(v) {
			wait = max(wait, f.p.ReleaseOf(v))
		}
	}
	t -= wait.Add(f.extra[i])
	if t < l.Alpha {
		return 0, 0
	}
	hi, lo := bits.Mul64(uint64(t-l.Alpha), uint64(l.Bandwidth))
	if hi >= uint64(model.Second) {
		bytes = math.MaxUint64
	} else {
		bytes, _ = bits.Div64(hi, lo, uint64(model.Second))
	}
	beta := model.TransferTime(size, l.Bandwidth)
	switch f.p.Cost {
	case model.Pipelined:
		return uint64((t - l.Alpha) / beta), bytes
	case model.Blocking:
		return uint64(t / (beta + l.Alpha)), bytes
	default:
		return uint64((t + f.extra[i]) / (beta + l.Alpha + f.extra[i])), bytes
	}
}

package cert

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// most returns the largest bound that the checker accepts for a witness.
func most(p *model.Problem, w model.Witness) model.Time {
	accepts := func(t model.Time) bool {
		return Check(&model.Certificate{Problem: p, Bound: t, Witness: w}).Outcome == verify.Proved
	}
	low, high := model.Time(0), model.Time(1)<<50
	for low+1 < high {
		if mid := (low + high) / 2; accepts(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// witnesses returns witnesses of every kind for p, good and useless ones.
func witnesses(p *model.Problem) []model.Witness {
	var all []model.Witness
	n := p.Topology.Nodes()
	for set := 1; set < 1<<n-1; set++ {
		var nodes []int
		for v := range n {
			if set>>v&1 == 1 {
				nodes = append(nodes, v)
			}
		}
		all = append(all, model.Cut{Nodes: nodes})
	}
	units, chunk := p.Shards(), func(int) int { return -1 }
	if p.Chunks != nil {
		units, chunk = len(p.Chunks), func(u int) int { return u }
	}
	for r := range p.Topology.Ranks {
		all = append(all, model.Ingress{Rank: r}, model.Egress{Rank: r})
		for u := range units {
			shard := u
			if p.Chunks != nil {
				shard = p.Shard(u)
			}
			all = append(all, model.Doubling{Chunk: chunk(u), Shard: shard, Source: r})
			for dest := range p.Topology.Ranks {
				size := int64(1)
				if p.Chunks != nil {
					size = p.Chunks[u].Size
				}
				all = append(all, model.Distance{Chunk: chunk(u), Shard: shard, Source: r, Dest: dest, Potential: potential(p, r, size)})
			}
		}
	}
	return append(all, model.Volume{})
}

// potential is the largest potential that the rule for distances allows from rank s.
func potential(p *model.Problem, s int, size int64) []model.Time {
	t := p.Topology
	at := make([]model.Time, t.Nodes())
	for v := range at {
		at[v] = 1 << 50
	}
	at[s] = p.ReleaseOf(s)
	for range at {
		for _, l := range t.Links {
			from, rise := at[l.Src], l.Alpha
			if t.IsRank(l.Src) {
				from, rise = max(from, p.ReleaseOf(l.Src)), rise+model.TransferTime(size, l.Bandwidth)
			}
			at[l.Dst] = min(at[l.Dst], from+rise)
		}
	}
	return at
}

// optimum returns the least makespan of all schedules of p, found by trying every
// sequence of transfers, each as early as its data and what it uses allow. Some
// optimal schedule is of that form. It takes tiny problems only.
type searcher struct {
	p    *model.Problem
	best model.Time
	hops [][]int
	slot map[[2]int]held // by rank and chunk
	free []model.Time    // by link
	send []model.Time    // by rank, for rounds
	recv []model.Time
	left int // transfers still allowed
}

type held struct {
	who uint // set of contributions
	at  model.Time
}

func optimum(p *model.Problem, transfers int) model.Time {
	s := &searcher{p: p, best: 1 << 50, slot: map[[2]int]held{}, free: make([]model.Time, len(p.Topology.Links)),
		send: make([]model.Time, p.Topology.Ranks), recv: make([]model.Time, p.Topology.Ranks), left: transfers}
	out := p.Topology.Out()
	for r := range p.Topology.Ranks {
		for _, l := range out[r] {
			if v := p.Topology.Links[l].Dst; p.Topology.IsRank(v) {
				s.hops = append(s.hops, []int{l})
			} else {
				for _, m := range out[v] {
					if w := p.Topology.Links[m].Dst; w != r && p.Topology.IsRank(w) {
						s.hops = append(s.hops, []int{l, m})
					}
				}
			}
		}
	}
	for k := range p.Chunks {
		for r, v := range p.Start(k) {
			for j := range v.Terms() {
				s.slot[[2]int{r, k}] = held{1 << j, 0}
			}
		}
	}
	s.extend(0)
	return s.best
}

func (s *searcher) done() bool {
	for k := range s.p.Chunks {
		for r, v := range s.p.Goal(k) {
			want := uint(0)
			for j := range v.Terms() {
				want |= 1 << j
			}
			if s.slot[[2]int{r, k}].who != want {
				return false
			}
		}
	}
	return true
}

func (s *searcher) extend(now model.Time) {
	if now >= s.best {
		return
	}
	if s.done() {
		s.best = now
		return
	}
	if s.left == 0 {
		return
	}
	t := s.p.Topology
	for _, route := range s.hops {
		src, dst := t.Links[route[0]].Src, t.Links[route[len(route)-1]].Dst
		for k, c := range s.p.Chunks {
			from, to := s.slot[[2]int{src, k}], s.slot[[2]int{dst, k}]
			reduces := s.p.Collective.Reduces()
			if from.who == 0 || from.who|to.who == to.who || !reduces && to.who != 0 {
				continue
			}
			sum := from.who | to.who
			if from.who&to.who != 0 {
				if to.who&^from.who != 0 {
					continue // neither a sum nor a replacement by more
				}
				sum = from.who
			}
			start := max(from.at, s.p.ReleaseOf(src), s.p.ReleaseOf(dst))
			if from.who&to.who == 0 && to.who != 0 {
				start = max(start, 0)
			}
			busy := t.Busy(s.p.Cost, route, c.Size, nil)
			for i, l := range route {
				start = max(start, s.free[l]-busy[i].From)
			}
			end := start + t.Duration(route, c.Size)
			if end < to.at { // a write that ends before one that it adds to: its order is another sequence
				continue
			}
			oldFree := slices.Clone(s.free)
			for i, l := range route {
				s.free[l] = start + busy[i].To
			}
			s.slot[[2]int{dst, k}] = held{sum, end}
			s.left--
			s.extend(max(now, end))
			s.left++
			s.slot[[2]int{dst, k}] = to
			s.free = oldFree
		}
	}
}

// TestBoundsAreBounds sets every witness of every kind against the true optimum of
// random tiny problems.
func TestBoundsAreBounds(t *testing.T) {
	tight := map[string]int{}
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p, transfers := tiny(rng)
		if p == nil {
			continue
		}
		best := optimum(p, transfers)
		require.Less(t, best, model.Time(1)<<50, "no schedule of %v", p)
		anyCut := *p
		anyCut.Chunks = nil
		for _, q := range []*model.Problem{p, &anyCut} {
			for _, w := range witnesses(q) {
				b := most(q, w)
				require.LessOrEqual(t, b, best, "seed %d: %s %+v claims %v for %v on %+v, releases %v, and a schedule takes %v", seed, w.Kind(), w, b, q, q.Topology, q.Release, best)
				if b == best {
					tight[w.Kind()]++
				}
			}
		}
	}
	for _, kind := range []string{"cut", "ingress", "egress", "volume", "distance"} {
		require.Positive(t, tight[kind], "a bound of kind %s is never tight", kind)
	}
	t.Log("tight:", fmt.Sprint(tight))
}

// tiny returns a random problem with two or three ranks, and how many transfers its
// schedules need at most.
func tiny(rng *rand.Rand) (*model.Problem, int) {
	n := 2 + rng.IntN(2)
	tp := &model.Topology{Name: "tiny", Ranks: n}
	link := func(u, v int) {
		tp.Links = append(tp.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(rng.IntN(4) * 50), Bandwidth: int64(1+rng.IntN(3)) * 5e11})
	}
	if n == 3 && rng.IntN(3) == 0 {
		tp.Switches = []model.Switch{{}}
		for r := range n {
			link(r, n)
			link(n, r)
		}
	} else {
		for r := range n {
			link(r, (r+1)%n)
			if rng.IntN(2) == 0 || n == 2 {
				link((r+1)%n, r)
			}
		}
	}
	kinds := []model.Kind{model.AllGather, model.Broadcast, model.Scatter, model.Gather, model.AllToAll, model.Reduce, model.AllReduce, model.ReduceScatter}
	kind := kinds[rng.IntN(len(kinds))]
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 300, Cost: []model.CostModel{model.Blocking, model.Pipelined}[rng.IntN(2)]}
	chunks, transfers := p.DefaultChunks(1), n
	switch kind {
	case model.Broadcast:
		chunks, transfers = 1+rng.IntN(2), 4
	case model.AllGather:
		transfers = n * (n - 1)
	case model.AllToAll:
		transfers = 4
		if n == 3 {
			return nil, 0
		}
	case model.Reduce:
		chunks, transfers = 1, n
	case model.AllReduce:
		chunks, transfers = 1, 2*n-1
	case model.ReduceScatter:
		transfers = 2
		if n == 3 {
			return nil, 0
		}
	case model.Scatter, model.Gather:
		transfers = 4
	}
	if rng.IntN(3) == 0 {
		p.Release = make([]model.Time, n)
		p.Release[rng.IntN(n)] = model.Time(rng.IntN(5) * 100)
	}
	return p.WithChunks(chunks), transfers
}

// TestMutations: a certificate at its best is accepted, and refuted after any
// change that makes it claim more.
func TestMutations(t *testing.T) {
	refuted := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		p, _ := tiny(rng)
		if p == nil {
			continue
		}
		for _, w := range witnesses(p) {
			b := most(p, w)
			if b == 0 {
				continue
			}
			require.Equal(t, verify.Proved, Check(&model.Certificate{Problem: p, Bound: b, Witness: w}).Outcome)
			v := Check(&model.Certificate{Problem: p, Bound: b + 1, Witness: w})
			require.Equal(t, verify.Refuted, v.Outcome)
			require.NotEmpty(t, v.Reason)
			faster := *p.Topology
			faster.Links = slices.Clone(faster.Links)
			for i := range faster.Links {
				faster.Links[i].Bandwidth *= 100
				faster.Links[i].Alpha = 0
			}
			q := *p
			q.Topology, q.Release = &faster, nil
			require.Equal(t, verify.Refuted, Check(&model.Certificate{Problem: &q, Bound: b, Witness: w}).Outcome, "%s on links that are a hundred times faster", w.Kind())
			if d, ok := w.(model.Distance); ok {
				d.Potential = slices.Clone(d.Potential)
				d.Potential[d.Dest]++
				require.Equal(t, verify.Refuted, Check(&model.Certificate{Problem: p, Bound: b + 1, Witness: d}).Outcome)
			}
			refuted++
		}
	}
	require.Greater(t, refuted, 500)
}

func TestMeaningless(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	p, _ := tiny(rng)
	for _, c := range []*model.Certificate{
		nil, {}, {Problem: p, Bound: 1}, {Problem: p, Bound: -1, Witness: model.Volume{}},
		{Problem: p, Bound: 1, Witness: model.Cut{Nodes: []int{0, 0}}}, {Problem: p, Bound: 1, Witness: model.Cut{Nodes: []int{-1}}},
		{Problem: p, Bound: 1, Witness: model.Cut{Nodes: []int{99}}}, {Problem: p, Bound: 1, Witness: model.Cut{}},
		{Problem: p, Bound: 1, Witness: model.Ingress{Rank: 7}}, {Problem: p, Bound: 1, Witness: model.Egress{Rank: -1}},
		{Problem: p, Bound: 1, Witness: model.Distance{Chunk: 99}}, {Problem: p, Bound: 1, Witness: model.Distance{Chunk: 0, Dest: 1}},
		{Problem: p, Bound: 1, Witness: model.Doubling{Chunk: 0}}, {Problem: &model.Problem{}, Bound: 1, Witness: model.Volume{}},
	} {
		require.Equal(t, verify.Refuted, Check(c).Outcome, "%+v", c)
	}
}

package stragglar

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// proposal makes a plan; nil if ctx ends before it is made.
type proposal func(ctx context.Context) (*plan, error)

// plans returns what is tried for p, the simplest first.
//
// Where the cut is free and the straggler arrives before the others could have reduced
// all of the buffer, some of the buffer is left to an ordinary allreduce: in units of the
// time that the buffer takes over a link, a fraction x = min(1, D(n-1)/(n-2)) can be
// reduced by the time D of the arrival, and takes x more after it; the rest, by a ring,
// takes (1-x)·2(n-1)/n. Together that is (2(n-1)+D)/n, which no schedule can do in less:
// a byte has to be received 2(n-1) times, by n ports, of which one opens at D.
func plans(p *model.Problem, o solve.Options) []proposal {
	var all []proposal
	if o.Chunks > 0 && p.Chunks == nil {
		p = p.WithChunks(int(min(int64(p.DefaultChunks(o.Chunks)), p.Space(), int64(maxMoves/(2*len(p.Members()))))))
	}
	if p.Chunks != nil {
		all = append(all, alone(p, fmt.Sprintf("%d chunks", len(p.Chunks))))
		for _, since := range arrivals(p) {
			all = append(all, together(p, since, len(p.Chunks)))
		}
		return all
	}
	n := len(p.Members())
	limit := int(min(p.Space(), int64(maxMoves/(2*n))))
	if m := min(Chunks(p), limit); inTime(p, m) { // no share, and no ring, is better
		all = append(all, alone(p.WithChunks(m), fmt.Sprintf("%d chunks", m)))
	} else {
		for _, m := range slices.Compact([]int{m, min(hidden(p), limit)}) {
			all = append(all, alone(p.WithChunks(m), fmt.Sprintf("%d chunks", m)))
		}
		if s := bestShare(p); s.m > 0 {
			all = append(all, s.proposal(p))
		}
		all = append(all, share{}.proposal(p))
	}
	for _, since := range arrivals(p) {
		for k := 1; k <= 16; k *= 2 {
			all = append(all, together(p, since, k*n), partly(p, since, k*n))
		}
	}
	return all
}

// inTime reports whether the ready ranks have reduced m chunks, with all ranks on one switch,
// by the time that the straggler arrives.
func inTime(p *model.Problem, m int) bool {
	n, route := len(p.Members()), quickest(p)
	if route == nil {
		return false
	}
	hop := p.Topology.Duration(route, (p.Size+int64(m)-1)/int64(m))
	return hop.Mul(scattering(n, m)) <= p.ReleaseOf(lastLast(p)[n-1])
}

// alone has all chunks of p go by the rounds for one straggler.
func alone(p *model.Problem, note string) proposal {
	return func(context.Context) (*plan, error) {
		n := len(p.Members())
		owners := RoundRobin(n, len(p.Chunks))
		rounds, err := Spread(n, owners)
		if err != nil {
			return nil, err
		}
		return hide(p, owners, rounds, note), nil
	}
}

// maxGathered limits the work on the rounds of several late ranks.
const maxGathered = 1 << 26

// maxArrivals limits how many times of arrival are tried, the last ones.
const maxArrivals = 4

// arrivals returns times since which two members or more are late, but not all, if there
// are few enough members.
func arrivals(p *model.Problem) []model.Time {
	n := len(p.Members())
	if n > maxLateRanks {
		return nil
	}
	var times []model.Time
	for _, r := range p.Members() {
		if at := p.ReleaseOf(r); at > 0 {
			if _, ready := lateLast(p, at); 0 < ready && ready < n-1 {
				times = append(times, at)
			}
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	return times[max(0, len(times)-maxArrivals):]
}

// group is several late ranks and m chunks for them.
type group struct {
	ranks         []int
	ready         int
	roots, owners []int // by chunk
}

// lateGroup returns the group of those who arrive at since or later. Roots take turns among
// all ranks, and where a root is late, owners among the ready ones.
func lateGroup(p *model.Problem, since model.Time, m int) *group {
	g := &group{roots: make([]int, m), owners: make([]int, m)}
	g.ranks, g.ready = lateLast(p, since)
	turn := 0
	for c := range g.roots {
		g.roots[c] = c % len(g.ranks)
		if g.owners[c] = g.roots[c]; g.owners[c] >= g.ready {
			g.owners[c] = turn % g.ready
			turn++
		}
	}
	return g
}

// plan returns the plan of a group for p, which is cut, with what is left to the ring; or
// nil if ctx ends, or the work would be too much.
func (g *group) plan(ctx context.Context, p *model.Problem, rest [][]move, note string) (*plan, error) {
	n, m := len(g.ranks), len(g.roots)
	if int64(m)*int64(n)*int64(n)*int64(n) > maxGathered {
		return nil, nil
	}
	rounds, err := gather(ctx, n, g.ready, g.roots, g.owners)
	if rounds == nil || err != nil {
		return nil, err
	}
	return &plan{p: p, ranks: g.ranks, before: reduceScatter(g.ready, g.owners), rounds: rounds, rest: rest, note: note}, nil
}

// together has m chunks go by the rounds for several late ranks, those that arrive at
// since or later.
func together(p *model.Problem, since model.Time, m int) proposal {
	return func(ctx context.Context) (*plan, error) {
		if int64(m) > p.Space() {
			return nil, nil
		}
		g := lateGroup(p, since, m)
		cut := p
		if p.Chunks == nil {
			cut = p.WithChunks(m)
		}
		return g.plan(ctx, cut, nil, fmt.Sprintf("%d chunks, for %d late ranks together", m, len(g.ranks)-g.ready))
	}
}

// partly does it for as much of the buffer as the ready ranks can reduce by since, if that
// is not all; the rest goes round a ring.
func partly(p *model.Problem, since model.Time, m int) proposal {
	return func(ctx context.Context) (*plan, error) {
		route := quickest(p)
		if route == nil {
			return nil, nil
		}
		g := lateGroup(p, since, m)
		n := int64(len(g.ranks))
		hop := func(bytes int64) model.Time { return p.Topology.Duration(route, bytes) }
		bytes := fitting(hop, int64(len(reduceScatter(g.ready, g.owners))), since, (p.Size+int64(m)-1)/int64(m)) * int64(m)
		if bytes == 0 || p.Size-bytes < n {
			return nil, nil
		}
		cut := *p
		cut.Chunks = append(equal(0, bytes, m), equal(bytes, p.Size-bytes, int(n))...)
		note := fmt.Sprintf("%d chunks with %.1f%% of the bytes for %d late ranks together, %d round a ring", m, 100*float64(bytes)/float64(p.Size), len(g.ranks)-g.ready, n)
		return g.plan(ctx, &cut, ring(int(n), m), note)
	}
}

// fitting returns the largest number of bytes up to limit for which this many rounds end by
// a time.
func fitting(hop func(bytes int64) model.Time, rounds int64, by model.Time, limit int64) int64 {
	low := int64(0)
	for high := limit; low < high; {
		if mid := (low + high + 1) / 2; hop(mid).Mul(rounds) <= by {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// hidden returns the number of chunks, at most 4096, with which the rounds for one
// straggler end first, with all ranks on one switch, if they begin when it and the ready
// ranks' sums are there.
func hidden(p *model.Problem) int {
	n := len(p.Members())
	q := ceilLog2(n)
	route := quickest(p)
	if route == nil {
		return 1
	}
	arrival := p.ReleaseOf(lastLast(p)[n-1])
	best, end := 1, model.MaxTime
	for m := 1; m <= int(min(4096, p.Space(), int64(maxMoves/(2*n)))); m++ {
		hop := p.Topology.Duration(route, (p.Size+int64(m)-1)/int64(m))
		if t := max(arrival, hop.Mul(scattering(n, m))).Add(hop.Mul(int64(m + q - 1))); t < end {
			best, end = m, t
		}
	}
	return best
}

// scattering returns how many rounds the reduce-scatter of the n-1 ready ranks has for m
// chunks.
func scattering(n, m int) int64 { return int64(n-2) * int64(most(n, m)) }

// share is what goes by the rounds for one straggler: this many bytes in m chunks; the rest
// goes round a ring. The zero value leaves all to the ring.
type share struct {
	bytes int64
	m     int
}

// most returns how many of m chunks the busiest owner has.
func most(n, m int) int {
	if n == 3 {
		return max(m-m/2, m/2, 1)
	}
	return (m + n - 2) / (n - 1)
}

// bestShare returns the share with which, with all ranks on one switch, the schedule ends
// first, the ready ranks' reduce-scatter of it ending by the time of the arrival. It is 0
// bytes if none is shared, as when there is no time at all, or no need to leave any out.
func bestShare(p *model.Problem) share {
	n := len(p.Members())
	q := ceilLog2(n)
	route := quickest(p)
	arrival := p.ReleaseOf(lastLast(p)[n-1])
	if route == nil || arrival == 0 || n < 3 {
		return share{}
	}
	hop := func(bytes int64) model.Time { return p.Topology.Duration(route, bytes) }
	after := func(s share) model.Time {
		left := (p.Size - s.bytes + int64(n) - 1) / int64(n)
		return hop((s.bytes + int64(s.m) - 1) / int64(s.m)).Mul(int64(s.m + q - 1)).Add(hop(left).Mul(int64(2 * (n - 1))))
	}
	var best share
	for m := 1; m <= min(4096, maxMoves/(2*n)); m++ {
		if m > n-1 && m%(n-1) != 0 {
			continue
		}
		low := fitting(hop, scattering(n, m), arrival, (p.Size+int64(m)-1)/int64(m))
		s := share{low * int64(m), m}
		if low > 0 && s.bytes+int64(n) <= p.Size && (best.m == 0 || after(s) < after(best)) {
			best = s
		}
	}
	return best
}

// proposal returns the plan with share s, the rest in one chunk for each rank.
func (s share) proposal(p *model.Problem) proposal {
	return func(context.Context) (*plan, error) {
		n := len(p.Members())
		if p.Size < int64(n)+s.bytes || 2*n*(s.m+n) > maxMoves {
			return nil, nil
		}
		owners := RoundRobin(n, s.m)
		var rounds []Round
		if s.m > 0 {
			var err error
			if rounds, err = Spread(n, owners); err != nil {
				return nil, err
			}
		}
		cut := *p
		cut.Chunks = append(equal(0, s.bytes, s.m), equal(s.bytes, p.Size-s.bytes, n)...)
		note := fmt.Sprintf("all round a ring, in %d chunks", n)
		if s.m > 0 {
			note = fmt.Sprintf("%d chunks for the straggler with %.1f%% of the bytes, %d round a ring", s.m, 100*float64(s.bytes)/float64(p.Size), n)
		}
		return &plan{p: &cut, ranks: lastLast(p), before: reduceScatter(n-1, owners), rounds: rounds, rest: ring(n, s.m), note: note}, nil
	}
}

// equal cuts size bytes from offset from into n chunks as equal as can be.
func equal(from, size int64, n int) []model.Chunk {
	chunks := make([]model.Chunk, n)
	for i := range chunks {
		each := size / int64(n)
		if int64(i) < size%int64(n) {
			each++
		}
		chunks[i] = model.Chunk{Offset: from, Size: each}
		from += each
	}
	return chunks
}

// ring is the allreduce of n chunks, the first of which has the number first, round a ring
// of n ranks: 2(n-1) rounds.
func ring(n, first int) [][]move {
	var rounds [][]move
	for step := range 2 * (n - 1) {
		op, back := model.Reduction, step+1
		if step >= n-1 {
			op, back = model.Copy, step-(n-1)
		}
		var round []move
		for i := range n {
			round = append(round, move{first + ((i-back)%n+n)%n, i, (i + 1) % n, op})
		}
		rounds = append(rounds, round)
	}
	return rounds
}

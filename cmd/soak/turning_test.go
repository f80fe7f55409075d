package main

import (
	"context"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/oneshot"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// readingNet returns n ranks at one switch at which they read sums, with links of a byte a picosecond.
func readingNet(n int, up, down model.Time) *tinyNet {
	net := &tinyNet{Topology: &model.Topology{Name: "reading", Ranks: n, Switches: []model.Switch{{Name: "s", Copies: true, Reduces: model.SumsRead}}}}
	for v := range n {
		net.Links = append(net.Links, model.Link{Src: v, Dst: n, Alpha: up, Bandwidth: 1e12}, model.Link{Src: n, Dst: v, Alpha: down, Bandwidth: 1e12})
		net.up, net.down, net.leaf = append(net.up, []int{2 * v}), append(net.down, []int{2*v + 1}), append(net.leaf, v)
	}
	return net
}

// TestReaders sets the bounds of (direct) and (turning) against the least makespan by streams, of
// three ranks; the checker's figure against the lemmas in other words; and shows that
// it is met, and that claims that are a little larger are refuted.
func TestReaders(t *testing.T) {
	type claim struct{ n, size, hop int }
	// least returns the least time at which both lemmas hold, counted up.
	least := func(c claim, direct int) (at int) {
		for ; ; at++ {
			span := at - c.hop
			if span < 0 {
				continue
			}
			y2 := min(2*c.hop, span) // 2y, of (turning)
			if direct*c.size <= 2*span+2*(c.n-2)*max(0, span-c.hop) &&
				2*(c.n*c.n-1)*c.size <= c.n*((c.n+1)*y2+2*(c.n-1)*(span-y2)) {
				return at
			}
		}
	}
	decided, met := 0, 0
	caught := map[string]int{}
	for _, x := range []struct {
		ranks, chunks, size int
		up, down            model.Time
	}{
		{3, 1, 1, 0, 0}, {3, 1, 1, 1, 0}, {3, 1, 1, 1, 1}, {3, 1, 1, 2, 1}, {3, 1, 2, 1, 1}, {3, 1, 1, 2, 2},
	} {
		for _, cost := range []model.CostModel{model.Pipelined, model.Blocking} {
			net := readingNet(x.ranks, x.up, x.down)
			p := (&model.Problem{Topology: net.Topology, Collective: model.Collective{Kind: model.AllReduce}, Cost: cost, Size: int64(x.size * x.chunks)}).WithChunks(x.chunks)
			require.NoError(t, p.Validate())
			c := claim{x.ranks, x.size * x.chunks, int(x.up + x.down)}
			open := *p
			open.Chunks = nil
			yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: &open, Witness: model.Volume{}})
			require.NoError(t, err)
			require.GreaterOrEqual(t, int(yield), least(c, c.n+1), "%+v", x)
			found, ok := newTinyStreams(p, net, 100_000).shortest()
			if !ok || found == nil {
				continue
			}
			f := verifytest.Execute(p, found)
			require.True(t, f.Right())
			decided++
			end := int(f.Makespan)
			require.LessOrEqual(t, int(yield), end, "%+v %v\n%s", x, cost, show(p, found))
			if int(yield) == end {
				met++
			}
			for name, more := range map[string]int{
				"n·(n-1) of direct transfers": least(c, 2*c.n), "one more hop": least(claim{c.n, c.size, c.hop + 1}, c.n+1),
				"a byte more": least(claim{c.n, c.size + 1, c.hop}, c.n+1),
			} {
				if more > end {
					caught[name]++
				}
			}
		}
	}
	require.GreaterOrEqual(t, decided, 10)
	require.GreaterOrEqual(t, met, 6)
	require.Len(t, caught, 3, "%v", caught)
}

// TestTurningCosts: every way to give one byte to all costs 2(n-1) at least, as the lemma (turning)
// charges, of three and four ranks; found by all sequences of transfers among ranks that know sets of
// contributions. A charge of less for multicasts at the start, or for sums at the end, is refuted.
func TestTurningCosts(t *testing.T) {
	for n := 3; n <= 4; n++ {
		require.Equal(t, 2*(n-1)*(n-1), leastCost(n, 1, 1), "in parts of 1/(n-1)")
		require.Less(t, leastCost(n, 0, 1), 2*(n-1)*(n-1), "casts that cost 1, to however many")
		require.Less(t, leastCost(n, 1, 0), 2*(n-1)*(n-1), "last sums that cost 1, of however many")
	}
}

// leastCost returns what a byte costs at least among n ranks, in parts of 1/(n-1): casts n-1 and cast for each
// destination, at the start; then plain transfers, n-1 each; then last sums, n-1 and last for each source.
func leastCost(n, cast, last int) int {
	one := n - 1
	whole := 1<<n - 1
	known := func(state, v int) int { return state >> (v * n) & whole }
	start := 0
	for v := range n {
		start |= 1 << (v*n + v)
	}
	const far = 1 << 30
	cost := make([]int, 1<<(n*n))
	for i := range cost {
		cost[i] = far
	}
	// Casts: any set of destinations for each source.
	var casts func(w, state, paid int)
	casts = func(w, state, paid int) {
		if w == n {
			cost[state] = min(cost[state], paid)
			return
		}
		for dests := range 1 << n {
			if dests>>w&1 == 1 {
				continue
			}
			next, more := state, 0
			for v := range n {
				next |= dests >> v & 1 << (v*n + w)
			}
			if dests != 0 {
				more = one + cast*bits.OnesCount(uint(dests))
			}
			casts(w+1, next, paid+more)
		}
	}
	casts(0, start, 0)
	best := far
	for state := range cost { // plain transfers only add to what is known, so that states come in order
		if cost[state] == far {
			continue
		}
		for u := range n {
			for v := range n {
				next := state | known(state, u)<<(v*n)
				cost[next] = min(cost[next], cost[state]+one)
			}
		}
		total := cost[state]
		for v := range n {
			if known(state, v) == whole {
				continue
			}
			least := far
			for sources := 1; sources < 1<<n; sources++ {
				sum := known(state, v)
				for u := range n {
					if sources>>u&1 == 1 {
						sum |= known(state, u)
					}
				}
				if sum == whole {
					least = min(least, one+last*bits.OnesCount(uint(sources&^(1<<v))))
				}
			}
			total += min(least, far)
		}
		best = min(best, total)
	}
	return best
}

// TestTurningPrices: what a stream costs for an instant of its chunk, its links occupied before y, in
// between or at the end, is what the table of the lemma (turning) has, or more.
func TestTurningPrices(t *testing.T) {
	for n := 3; n <= 12; n++ {
		unit := (n - 1) * (n + 1)
		up := []int{unit - (n + 1), (n - 1) * (n - 1), n + 1} // by window, in parts of 1/unit
		down := []int{n + 1, (n - 1) * (n - 1), unit - (n + 1)}
		for first := range 3 {
			for last := first; last < 3; last++ {
				require.GreaterOrEqual(t, up[first]+down[last], unit)
				for m := 2; m < n; m++ {
					part := unit + m*(n+1) // 1 + m/(n-1)
					require.LessOrEqual(t, part, m*unit)
					sum := m*up[first] + up[last] + down[last]     // its terms wait
					cast := up[first] + down[first] + m*down[last] // its branches wait
					want := map[bool]int{true: part, false: m * unit}
					require.GreaterOrEqual(t, sum, want[last == 2], "n=%d m=%d %d %d", n, m, first, last)
					require.GreaterOrEqual(t, cast, want[first == 0], "n=%d m=%d %d %d", n, m, first, last)
				}
			}
		}
	}
}

// TestSenders: (senders) is met by an allreduce in which all send to all, and nearly by mixtures of that and of sums that are added up and sent on; of those
// claims that are a little larger are refuted, which would hold if a first transfer saved fewer others.
func TestSenders(t *testing.T) {
	const hop = 1000
	least := func(n, size int, saved float64) int { // counted up; saved is n(n-2)/(n-1)
		for at := hop; ; at++ {
			if at >= 3*hop || float64((n-1)*size) <= float64(at-hop)+saved*float64(max(0, at-2*hop)) {
				return at
			}
		}
	}
	caught := 0
	for _, n := range []int{3, 4, 5, 8, 12} {
		net := readingNet(n, hop/2, hop/2)
		for _, part := range []int{3, 9, 11, 13, 16, 20} { // tenths of a latency for what a rank sends in all
			size := part * hop / 10 / (n - 1)
			p := &model.Problem{Topology: net.Topology, Collective: model.Collective{Kind: model.AllReduce}, Cost: model.Pipelined, Size: int64(size)}
			yield, err := cert.Yield(t.Context(), &model.Certificate{Problem: p, Witness: model.Volume{}})
			require.NoError(t, err)
			saved := float64(n*(n-2)) / float64(n-1)
			require.GreaterOrEqual(t, int(yield), least(n, size, saved), "%d ranks, %d bytes", n, size)
			end := model.MaxTime
			for _, m := range oneshot.All()[:2] {
				r, err := m.Solve(t.Context(), p, solve.Options{})
				require.NoError(t, err)
				require.True(t, verifytest.Execute(r.Problem, r.Schedule).Right())
				end = min(end, r.Makespan())
			}
			require.LessOrEqual(t, yield, end, "%d ranks, %d bytes", n, size)
			if part < 10 {
				require.Equal(t, end, yield, "%d ranks, %d bytes", n, size)
			}
			if least(n, size, float64(n*(n-3))/float64(n-1)) > int(end) {
				caught++
			}
		}
	}
	require.Positive(t, caught)
}

// TestSendersCount: of each byte links from ranks carry n(n-1) transfers, n(n-2)/(n-1) less for each first one, as (senders) counts them; found by
// all ways to give one byte to three or four ranks. A little less is refuted.
func TestSendersCount(t *testing.T) {
	for n := 3; n <= 4; n++ {
		require.Equal(t, n*(n-1)*(n-1), leastSent(n, n-1, n*(n-2)), "in parts of 1/(n-1)")
		require.Less(t, leastSent(n, n-1, n*(n-2)-1), n*(n-1)*(n-1))
	}
}

// leastSent returns what a byte costs at least among n ranks: each transfer that is no branch, and each multicast, as much as sent, and
// first transfers, which are no branches, more. At first ranks get what others contribute, each as a sum or as copies of what one of them multicasts;
// then any get what others contribute, or what these have got, and copies of what some multicast: there is time for no more.
func leastSent(n, sent, first int) int {
	whole := 1<<n - 1
	const far = 1 << 30
	best := far
	base, into := make([]int, n), make([]int, n) // by rank: what its slot has before it adds anything, and whose first transfers it adds
	end := func(paid int) {
		has := make([]int, n)
		for v := range has {
			has[v] = base[v] | into[v]
		}
		var covers func(v, set, k int) bool // whether as many transfers to v bring the rest
		covers = func(v, set, k int) bool {
			for u := 0; u < n && k > 0 && set != whole; u++ {
				if u != v && (covers(v, set|1<<u, k-1) || covers(v, set|has[u], k-1)) {
					return true
				}
			}
			return set == whole
		}
		fill := func(v, set int) int {
			for k := range n {
				if covers(v, set, k) {
					return k
				}
			}
			return far / sent / n // what v contributes is lost
		}
		for casts := range 1 << n {
			cost := paid + sent*bits.OnesCount(uint(casts))
			for v := range n {
				least := fill(v, has[v])
				for u := range n {
					if casts>>u&1 == 1 && u != v {
						least = min(least, fill(v, has[u]|into[v]))
					}
				}
				if cost += sent * least; cost >= best {
					break
				}
			}
			best = min(best, cost)
		}
	}
	var add func(v, paid int)
	add = func(v, paid int) {
		if v == n {
			end(paid)
			return
		}
		for set := range 1 << n {
			if more := (sent + first) * bits.OnesCount(uint(set)); set>>v&1 == 0 && paid+more < best {
				into[v] = set
				add(v+1, paid+more)
			}
		}
	}
	for w := range n { // who multicasts at first, to whom
		for to := range 1 << n {
			if to>>w&1 == 1 || to == 0 && w > 0 {
				continue
			}
			paid := 0
			for v := range n {
				if base[v] = 1 << v; to>>v&1 == 1 {
					base[v], paid = 1<<w, sent
				}
			}
			add(0, paid)
		}
	}
	return best
}

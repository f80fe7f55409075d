package cert_test

import (
	"context"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/cert"
)

// leveled returns an allreduce of some bytes, each of which a link passes in a picosecond, among ranks that are linked over
// switches or each to some others.
func leveled(r *rand.Rand) *model.Problem {
	t := &model.Topology{Name: "leveled", Ranks: 3 + r.IntN(4)}
	for range r.IntN(4) {
		s := model.Switch{Copies: r.IntN(6) == 0}
		if r.IntN(8) == 0 {
			s.Reduces, s.Copies = model.SumsTurned, true
		}
		t.Switches = append(t.Switches, s)
	}
	for v := range t.Nodes() {
		for range 1 + r.IntN(2) {
			if u := r.IntN(t.Nodes()); u != v {
				t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(6)), Bandwidth: 1e12}, model.Link{Src: v, Dst: u, Alpha: model.Time(r.IntN(6)), Bandwidth: 1e12})
			}
		}
	}
	return &model.Problem{Topology: t, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 + r.Int64N(60), Cost: model.Pipelined}
}

// overSwitches returns by two nodes the least latency over links between nodes of which all but the two are switches, and within a set.
func overSwitches(t *model.Topology, within func(v int) bool) [][]model.Time {
	n := t.Nodes()
	far := make([][]model.Time, n)
	for u := range far {
		for v := range n {
			far[u] = append(far[u], model.MaxTime/8)
			if u == v {
				far[u][v] = 0
			}
		}
	}
	for _, l := range t.Links {
		if within(l.Src) && within(l.Dst) {
			far[l.Src][l.Dst] = min(far[l.Src][l.Dst], l.Alpha)
		}
	}
	for m := t.Ranks; m < n; m++ {
		for u := range n {
			for v := range n {
				far[u][v] = min(far[u][v], far[u][m]+far[m][v])
			}
		}
	}
	return far
}

// refusal is instead of what parts yield that SPEC 21 refuses.
const refusal = model.Time(-1)

// crossingByDefinition returns what SPEC 21 has parts yield, refusal, or MaxTime where no makespan suffices.
func crossingByDefinition(p *model.Problem, parts [][]int) model.Time {
	const never = model.MaxTime / 8
	t := p.Topology
	part := make([]int, t.Nodes())
	for v := range part {
		part[v] = -1
	}
	sizes, k := make([]int, len(parts)), 0
	for i, nodes := range parts {
		for _, v := range nodes {
			part[v] = i
			if v < t.Ranks {
				sizes[i]++
			}
		}
		if sizes[i] > 0 {
			k++
		}
	}
	lead := overSwitches(t, func(int) bool { return true })
	d := make([][]model.Time, t.Ranks) // of a byte, over hops
	for u := range d {
		for v := range t.Ranks {
			d[u] = append(d[u], lead[u][v]+1)
			if u == v {
				d[u][v] = 0
			}
		}
	}
	for m := range d {
		for u := range d {
			for v := range d {
				d[u][v] = min(d[u][v], d[u][m]+d[m][v])
			}
		}
	}
	among := func(at func(m int) model.Time, until model.Time, except int) *big.Rat {
		none := big.NewRat(1, 1)
		for i, n := range sizes {
			over := 0
			for m := range t.Ranks {
				if part[m] == i && at(m) <= until {
					over++
				}
			}
			if n > 0 && i != except {
				none.Mul(none, big.NewRat(int64(n-over), int64(n)))
			}
		}
		return none.Sub(big.NewRat(1, 1), none)
	}
	var chances []func(at, left model.Time) *big.Rat
	for _, l := range t.Links {
		q := part[l.Dst]
		if q < 0 || part[l.Src] == q {
			continue
		}
		inside := overSwitches(t, func(v int) bool { return part[v] == q })
		var from, to []int
		whence := map[int]bool{}
		for u := range t.Ranks {
			if x := lead[u][l.Src]; (l.Src == u || l.Src >= t.Ranks) && x < never && part[u] != q {
				from = append(from, u)
				whence[part[u]] = true
			}
			if x := inside[l.Dst][u]; (l.Dst == u || l.Dst >= t.Ranks) && x < never && part[u] == q {
				to = append(to, u)
			}
		}
		if len(from) == 0 || len(to) == 0 {
			continue
		}
		for v := t.Ranks; v < t.Nodes(); v++ {
			if l.Src >= t.Ranks && lead[v][l.Src] < never && t.Reduces(v) != model.NoReducing {
				return refusal
			}
			if l.Dst >= t.Ranks && inside[l.Dst][v] < never && part[v] == q && t.Copies(v) {
				return refusal
			}
		}
		except := -1
		if len(whence) == 1 {
			except = part[from[0]]
		}
		chances = append(chances, func(at, left model.Time) *big.Rat {
			c, s := new(big.Rat), new(big.Rat)
			for _, u := range from {
				if x := among(func(w int) model.Time { return d[w][u] + lead[u][l.Src] }, at, q); x.Cmp(c) > 0 {
					c = x
				}
			}
			for _, z := range to {
				if x := among(func(v int) model.Time { return l.Alpha + inside[l.Dst][z] + d[z][v] }, left, except); x.Cmp(s) > 0 {
					s = x
				}
			}
			return c.Mul(c, s)
		})
	}
	if k < 2 {
		return refusal
	}
	if len(chances) == 0 {
		return model.MaxTime
	}
	need := big.NewRat(int64(2*k-2)*p.Size, 1)
	for T := model.Time(0); T < 5000; T++ {
		sum := new(big.Rat)
		for at := range T {
			for _, p := range chances {
				sum.Add(sum, p(at, T-at-1))
			}
		}
		if sum.Cmp(need) >= 0 {
			return T
		}
	}
	return model.MaxTime
}

// TestCrossingByDefinition: what parts yield is what SPEC 21 states, and they are refused where it refuses them.
func TestCrossingByDefinition(t *testing.T) {
	yields, refused := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 22))
		p := leveled(r)
		if p.Validate() != nil {
			continue
		}
		parts := make([][]int, 2+r.IntN(3))
		for v := range p.Topology.Nodes() {
			if i := r.IntN(len(parts)); v < p.Topology.Ranks || r.IntN(3) > 0 {
				parts[i] = append(parts[i], v)
			}
		}
		parts = slices.DeleteFunc(parts, func(nodes []int) bool { return len(nodes) == 0 })
		want := crossingByDefinition(p, parts)
		got, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: model.Crossing{Parts: parts}})
		if err != nil {
			require.Equal(t, refusal, want, "seed %d: %v of %+v: %v", seed, parts, p.Topology, err)
			refused++
			continue
		}
		require.Equal(t, want, got, "seed %d: %v of %+v", seed, parts, p.Topology)
		yields++
	}
	t.Logf("%d yield, %d are refused", yields, refused)
	require.Greater(t, yields, 50)
	require.Greater(t, refused, 10)
}

package workload_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify/workload"
)

func net(t *testing.T, name string) *model.Topology {
	t.Helper()
	topology, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return topology
}

func allreduce(topology *model.Topology, size int64, chunks int) *wl.Workload {
	p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Pipelined}
	if chunks > 0 {
		p = p.WithChunks(chunks)
	}
	return wl.Of(p)
}

// entries returns how many entries it takes at least until every member of some parts knows of all members, by
// brute force: breadth-first over what each part knows.
func entries(parts, members int) int {
	start := uint64(0)
	for v := range members {
		start |= 1 << (v*members + v)
	}
	row := func(s uint64, v int) uint64 { return s >> (v * members) & (1<<members - 1) }
	seen, level := map[uint64]bool{start: true}, []uint64{start}
	for depth := 0; ; depth++ {
		var next []uint64
		for _, s := range level {
			done := true
			for v := range members {
				done = done && row(s, v) == 1<<members-1
			}
			if done {
				return depth
			}
			for a := range parts {
				for b := range parts {
					if n := s | row(s, a)<<(b*members); !seen[n] {
						seen[n] = true
						next = append(next, n)
					}
				}
			}
		}
		level = next
	}
}

// The lemma on volumes against brute force, with parts that have no member, too.
func TestEntriesOfParts(t *testing.T) {
	for members := 1; members <= 4; members++ {
		for parts := members; parts <= min(5, members+2); parts++ {
			require.Equal(t, 2*(members-1), entries(parts, members), "%d of %d", members, parts)
		}
	}
}

// What must pass between machines is more than what must enter one of them.
func TestVolume(t *testing.T) {
	const size = 64 << 20
	w := allreduce(net(t, "dgxh100:4"), size, 0)
	var cut model.Time
	volumes := map[int]model.Time{} // by the number of parts
	for _, b := range workload.Bounds(t.Context(), w) {
		switch b.Kind {
		case "cut":
			cut = max(cut, b.Value)
		case "volume":
			volumes[len(b.Parts)] = b.Value
		}
	}
	into := int64(4 * 8 * 50_000_000_000)
	require.Equal(t, model.TransferTime(2*3*size, into).Add(1300*model.Nanosecond), volumes[4])
	require.Greater(t, volumes[4], cut)
	require.Equal(t, model.TransferTime(2*31*size, 32*500_000_000_000).Add(350*model.Nanosecond), volumes[32])
	// On one switch, each rank receives 2(n-1)/n of the buffer on average.
	w = allreduce(net(t, "switch:8"), 8<<20, 0)
	var rate int64
	for _, l := range w.Topology.Links {
		if l.Dst < 8 {
			rate += l.Bandwidth
		}
	}
	var parts [][]int
	for v := range 8 {
		parts = append(parts, []int{v})
	}
	v, err := workload.Yield(w, &wl.Bound{Kind: "volume", Parts: parts})
	require.NoError(t, err)
	require.Equal(t, model.TransferTime(14*8<<20, rate), v-w.Topology.Links[len(w.Topology.Links)-1].Alpha)
	for _, wrong := range [][][]int{nil, parts[:7], append(slices.Clone(parts), []int{3}), {{0, 1, 2, 3, 4, 5, 6, 7, 8}}, append(slices.Clone(parts), []int{99})} {
		_, err := workload.Yield(w, &wl.Bound{Kind: "volume", Parts: wrong})
		require.Error(t, err, "%v", wrong)
	}
	w.Topology.Switches[0].Reduces = model.Reducing(1)
	_, err = workload.Yield(w, &wl.Bound{Kind: "volume", Parts: parts})
	require.ErrorContains(t, err, "adds or copies")
}

// Around one switch a late rank's m chunks take m + ⌈log2 n⌉ - 1 rounds after it has arrived: StragglAR's bound.
func TestLate(t *testing.T) {
	const chunk = 1 << 20
	for n := 2; n <= 9; n++ {
		for m := 1; m <= 4; m++ {
			topology := &model.Topology{Name: "one switch", Ranks: n, Switches: make([]model.Switch, 1)}
			for v := range n {
				topology.Links = append(topology.Links, model.Link{Src: v, Dst: n, Bandwidth: 1e12, Alpha: 100}, model.Link{Src: n, Dst: v, Bandwidth: 1e12, Alpha: 100})
			}
			w := allreduce(topology, int64(m)*chunk, m)
			w.Release = make([]model.Time, n)
			w.Release[n-1] = model.Millisecond
			v, err := workload.Yield(w, &wl.Bound{Kind: "late", Rank: n - 1, Ops: []int{0}})
			require.NoError(t, err)
			require.Equal(t, model.Millisecond+model.Time(m+bits.Len(uint(n-1))-1)*chunk+200, v, "%d ranks, %d chunks", n, m)
			best := workload.Bounds(t.Context(), w)[0]
			require.Equal(t, "late", best.Kind)
			require.Equal(t, v, best.Value)
			for _, wrong := range []wl.Bound{{Rank: n, Ops: []int{0}}, {Rank: n - 1}, {Rank: n - 1, Ops: []int{0, 0}}, {Rank: n - 1, Ops: []int{1}}} {
				wrong.Kind = "late"
				_, err := workload.Yield(w, &wrong)
				require.Error(t, err)
			}
		}
	}
}

// shared returns jobs of a computation and an exchange each on two ranks, of given times.
func shared(iterations int, jobs ...[2]model.Time) (*wl.Workload, *wl.Bound) {
	const rate = 1_000_000_000_000
	w := &wl.Workload{Cost: model.Pipelined, Topology: &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: rate}, {Src: 1, Dst: 0, Bandwidth: rate}}}}
	b := &wl.Bound{Kind: "order"}
	for j, x := range jobs {
		name := string(rune('A' + j))
		w.Jobs = append(w.Jobs, wl.Job{Name: name, Iterations: iterations})
		c := len(w.Ops)
		w.Ops = append(w.Ops, wl.Op{ID: "compute " + name, Kind: wl.Compute, Job: name, Duration: []model.Time{x[0]}},
			wl.Op{ID: "sum " + name, Kind: "allreduce", Job: name, Size: int64(x[1]), Chunks: []model.Chunk{{Size: int64(x[1])}}})
		w.Edges = append(w.Edges, wl.Edge{From: c, To: c + 1}, wl.Edge{From: c + 1, To: c, Height: 1})
		b.Ops = append(b.Ops, c, c+1)
	}
	return w, b
}

// least is the least end over all orders, by brute force without any dominance.
func least(iterations int, jobs [][2]model.Time) model.Time {
	best := model.MaxTime
	done, ready := make([]int, len(jobs)), make([]model.Time, len(jobs))
	var free [2]model.Time
	var try func(left int)
	try = func(left int) {
		if left == 0 {
			best = min(best, slices.Max(ready))
			return
		}
		for j := range jobs {
			if done[j] == 2*iterations {
				continue
			}
			m := done[j] % 2
			f, r := free[m], ready[j]
			end := max(f, r) + jobs[j][m]
			free[m], ready[j] = end, end
			done[j]++
			try(left - 1)
			done[j]--
			free[m], ready[j] = f, r
		}
	}
	try(2 * iterations * len(jobs))
	return best
}

// The search over orders finds what brute force does, and the optima of the vectors, 62 and 37 among them, which
// are above the sums.
func TestOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for range 120 {
		var jobs [][2]model.Time
		for range 1 + r.IntN(3) {
			jobs = append(jobs, [2]model.Time{model.Time(1 + r.IntN(9)), model.Time(1 + r.IntN(9))})
		}
		n := 1 + r.IntN(4-len(jobs))
		w, b := shared(n, jobs...)
		v, err := workload.Yield(w, b)
		require.NoError(t, err)
		require.Equal(t, least(n, jobs), v, "%v, %d times", jobs, n)
		for _, x := range workload.Bounds(t.Context(), w) {
			require.LessOrEqual(t, x.Value, v, x.Kind)
		}
	}
	for _, c := range []struct {
		n    int
		want model.Time
		jobs [][2]model.Time
	}{
		{2, 29, [][2]model.Time{{6, 2}, {5, 1}, {3, 7}}},
		{4, 62, [][2]model.Time{{4, 4}, {4, 3}, {6, 7}}},
		{2, 65, [][2]model.Time{{7, 9}, {8, 2}, {8, 9}, {8, 9}}},
		{2, 37, [][2]model.Time{{9, 9}, {1, 1}}},
		{1, 22, [][2]model.Time{{9, 9}, {2, 9}, {9, 2}}},
		{2, 46, [][2]model.Time{{5, 5}, {3, 2}, {8, 8}, {6, 3}}},
	} {
		w, b := shared(c.n, c.jobs...)
		require.Equal(t, c.want, workload.Bounds(t.Context(), w)[0].Value)
		v, err := workload.Yield(w, b)
		require.NoError(t, err)
		require.Equal(t, c.want, v)
	}
	w, b := shared(2, [2]model.Time{3, 4}, [2]model.Time{5, 6})
	for _, wrong := range [][]int{nil, {0}, {1, 0}, {0, 1, 0, 1}, {0, 3}, {0, 9}} {
		_, err := workload.Yield(w, &wl.Bound{Kind: "order", Ops: wrong})
		require.Error(t, err, "%v", wrong)
	}
	w.Edges = w.Edges[:1]
	_, err := workload.Yield(w, b)
	require.Error(t, err, "nothing waits for the collective")
	w, b = shared(400, [2]model.Time{3, 4}, [2]model.Time{5, 6}, [2]model.Time{7, 8}, [2]model.Time{1, 9})
	_, err = workload.Yield(w, b)
	require.ErrorIs(t, err, model.ErrTooLarge)
}

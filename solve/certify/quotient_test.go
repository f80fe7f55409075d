package certify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/quotient"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// symmetric draws a network as orbits of links and ports under permutations of its nodes,
// some of which leave nodes and links where they are. Parallel links, twin switches, links
// that lead through ports of unequal latency, and a defect that breaks the symmetry are
// among what is drawn.
func symmetric(r *rand.Rand) *model.Topology {
	t := &model.Topology{Name: "orbits", Ranks: 2 + r.IntN(7)}
	for range r.IntN(4) {
		t.Switches = append(t.Switches, model.Switch{})
	}
	n := t.Nodes()
	var group [][]int // generators
	for range 1 + r.IntN(2) {
		p := make([]int, n)
		for v := range p {
			p[v] = v
		}
		turn := func(from, to int) { // cycles of one length among the nodes from..to-1
			nodes := r.Perm(to - from)
			long := 1 + r.IntN(max(1, to-from))
			if r.IntN(3) > 0 {
				long = to - from
			}
			for i := 0; i+long <= len(nodes) && long > 0; i += long {
				for j := range long {
					p[from+nodes[i+j]] = from + nodes[i+(j+1)%long]
				}
			}
		}
		turn(0, t.Ranks)
		turn(t.Ranks, n)
		group = append(group, p)
	}
	for s := range t.Switches {
		t.Switches[s].Copies = r.IntN(6) == 0
	}
	for range n { // switches of one orbit are alike
		for _, p := range group {
			for v := t.Ranks; v < n; v++ {
				t.Switches[p[v]-t.Ranks].Copies = t.Switches[v-t.Ranks].Copies || t.Switches[p[v]-t.Ranks].Copies
			}
		}
	}
	orbit := func(u, v int, k model.Link, copies int) {
		seen := map[[2]int]bool{{u, v}: true}
		for queue := [][2]int{{u, v}}; len(queue) > 0; queue = queue[1:] {
			for range copies {
				k.Src, k.Dst = queue[0][0], queue[0][1]
				t.Links = append(t.Links, k)
			}
			for _, p := range group {
				if x := [2]int{p[queue[0][0]], p[queue[0][1]]}; !seen[x] {
					seen[x] = true
					queue = append(queue, x)
				}
			}
		}
	}
	draw := func(u, v int) {
		if u == v || len(t.Links) > 60 {
			return
		}
		k := model.Link{Alpha: model.Time(r.IntN(4)), Bandwidth: []int64{1e12, 5e11, 25e10, 3e12, 7e11}[r.IntN(5)]}
		copies := 1 + r.IntN(6)/5
		orbit(u, v, k, copies)
		if r.IntN(3) > 0 {
			orbit(v, u, k, copies)
		}
	}
	for range 1 + r.IntN(3) {
		draw(r.IntN(n), r.IntN(n))
	}
	for s := t.Ranks; s < n; s++ {
		if r.IntN(2) == 0 {
			draw(r.IntN(t.Ranks), s)
		}
	}
	for u := range t.Ranks { // so that all can be reached
		if v := (u + 1) % t.Ranks; r.IntN(4) > 0 {
			draw(u, v)
		}
	}
	for range r.IntN(3) { // ports of one kind at all nodes of an orbit
		at, out, capacity, share := r.IntN(n), r.IntN(2) == 0, 1+r.IntN(2), r.IntN(3)
		seen := map[int]bool{at: true}
		for queue := []int{at}; len(queue) > 0; queue = queue[1:] {
			list := t.In()[queue[0]]
			if out {
				list = t.Out()[queue[0]]
			}
			var links []int
			for _, l := range list {
				if share == 0 || t.Links[l].Bandwidth > 6e11 == (share == 1) {
					links = append(links, l)
				}
			}
			if len(links) > 0 {
				t.Ports = append(t.Ports, model.Port{Links: links, Capacity: capacity})
			}
			for _, p := range group {
				if x := p[queue[0]]; !seen[x] {
					seen[x] = true
					queue = append(queue, x)
				}
			}
		}
	}
	if len(t.Links) > 0 && r.IntN(5) == 0 {
		t.Links[r.IntN(len(t.Links))].Bandwidth = 1e11
	}
	return t
}

// families are networks with names that have symmetries of all kinds.
var families = []string{
	"ring:6", "uniring:5", "line:4", "mesh:3x3", "torus:3x4", "torus:2x2x2", "hypercube:3", "full:5", "switch:6", "dgx1", "mi250", "mi300x", "ndv2:2",
	"dgxh100:2", "dgx2:1", "dgxa100:2", "dragonfly:2x2x2", "dragonfly:3x2x2", "fattree:3x2", "fattree:2x4", "rfs:2x2x2", "tpuv4:2x2x2",
}

// drawnProblem draws a problem of any collective on a network with symmetries.
func drawnProblem(t testing.TB, r *rand.Rand) *model.Problem {
	for {
		var tp *model.Topology
		if r.IntN(3) > 0 {
			tp = symmetric(r)
		} else {
			var err error
			tp, err = topo.Parse(families[r.IntN(len(families))], topo.Options{})
			require.NoError(t, err)
			if r.IntN(4) == 0 { // it has no symmetry left, or less
				tp.Links[r.IntN(len(tp.Links))].Bandwidth /= 3
			}
		}
		p := &model.Problem{Topology: tp, Collective: verifytest.DrawCollective(r, tp.Ranks), Cost: model.CostModel(1 + r.IntN(4))}
		p.Size = 1 + r.Int64N([]int64{20, 300, 1 << 20}[r.IntN(3)])
		if p.Collective.Kind == model.AllReduce && r.IntN(3) > 0 || r.IntN(3) == 0 {
			p.Collective.Group = nil
			p.Collective.Root = r.IntN(tp.Ranks)
			if !p.Collective.Kind.Rooted() {
				p.Collective.Root = 0
			}
		}
		if r.IntN(4) == 0 {
			p.Release = verifytest.DrawRelease(r, tp.Ranks)
		}
		if r.IntN(3) == 0 {
			p.Chunks = nil
			if k := p.DefaultChunks(1 + r.IntN(3)); int64(k) <= p.Space() {
				p = p.WithChunks(k)
			}
		}
		if p.Validate() == nil {
			return p
		}
	}
}

// TestQuotientIsRight: replay and Z3 prove every schedule of the quotient, over random
// networks that are sums of orbits, over those with names, with and without a defect, for
// all collectives, cost models, groups, late ranks and cuts. What is not served is declined
// with a reason.
func TestQuotientIsRight(t *testing.T) {
	cases := 250
	if testing.Short() {
		cases = 60
	}
	served := map[model.Kind]int{}
	for i := range cases {
		r := rand.New(rand.NewPCG(14, uint64(i)))
		p := drawnProblem(t, r)
		got, err := quotient.New().Solve(context.Background(), p, solve.Options{Seed: uint64(i), Effort: -1, Chunks: r.IntN(4)})
		if errors.Is(err, solve.ErrNotServed) {
			require.NotEmpty(t, err.Error())
			continue
		}
		requireProved(t, p, got, err, fmt.Sprintf("case %d", i))
		served[p.Collective.Kind]++
	}
	for _, kind := range model.Kinds() {
		require.Greater(t, served[kind], cases/30, "%v: too few are served", kind)
	}
}

// requireProved requires that replay and Z3 both prove what a method found for p.
func requireProved(t *testing.T, p *model.Problem, got solve.Result, err error, name string) {
	t.Helper()
	text := fmt.Sprintf("%s: %v on %+v, group %v, release %v, %d chunks; %s", name, p, *p.Topology, p.Collective.Group, p.Release, len(p.Chunks), got.Note)
	require.NoError(t, err, text)
	require.NotNil(t, got.Schedule, text)
	require.True(t, p.SameUpToCut(got.Problem), text)
	v, err := Verify(context.Background(), got.Problem, got.Schedule, smt.Options{}, Engines)
	require.NoError(t, err, text)
	for _, engine := range Engines {
		require.Equal(t, verify.Proved, v.Verdicts[engine].Outcome, "%s: %s: %v", text, engine, v.Violations())
	}
}

// TestQuotientTwins: a symmetry that exchanges switches leaves all ranks where they are,
// so that copies of one hop lead from one rank to the same other, each over its own switch.
func TestQuotientTwins(t *testing.T) {
	tp := &model.Topology{Name: "twins", Ranks: 5, Switches: make([]model.Switch, 3)}
	for v := range 5 {
		for s := 5; s < 8; s++ {
			tp.Links = append(tp.Links, model.Link{Src: v, Dst: s, Alpha: 3, Bandwidth: 1e12}, model.Link{Src: s, Dst: v, Alpha: 3, Bandwidth: 1e12})
		}
	}
	exchanged := 0
	for _, kind := range []model.Kind{model.Broadcast, model.Reduce, model.Gather, model.Scatter} {
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind, Root: 1}, Size: 1001, Cost: cost}
			p = p.WithChunks(p.DefaultChunks(2))
			require.NoError(t, p.Validate())
			got, err := quotient.New().Solve(context.Background(), p, solve.Options{Effort: -1})
			requireProved(t, p, got, err, fmt.Sprint(kind, cost))
			if strings.Contains(got.Note, "group of order 3 ") {
				exchanged++
			}
		}
	}
	require.Greater(t, exchanged, 4)
}

// TestQuotientRelays: behind a rank that passes on what it is not to keep, a chunk that is a
// byte smaller than its images comes earlier than they do.
func TestQuotientRelays(t *testing.T) {
	for name, group := range map[string][]int{"torus:2x2x2": {6, 3}, "ring:6": {0, 3}, "torus:3x4": {0, 2}} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllToAll, model.AllGather, model.AllReduce, model.ReduceScatter} {
			for size := int64(576231); size < 576241; size++ {
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind, Group: group}, Size: size, Cost: model.Pipelined}
				got, err := quotient.New().Solve(context.Background(), p, solve.Options{Effort: -1, Chunks: 3})
				requireProved(t, p, got, err, fmt.Sprint(name, kind, size))
			}
		}
	}
}

// TestQuotientPorts: a reduction is not an allgather read backwards where a port has links of
// unequal latencies.
func TestQuotientPorts(t *testing.T) {
	tp := &model.Topology{Name: "ports", Ranks: 4}
	for v := range 4 {
		for by := 1; by < 4; by++ {
			tp.Links = append(tp.Links, model.Link{Src: v, Dst: (v + by) % 4, Alpha: model.Time(7 * (by - 1)), Bandwidth: 1e12})
		}
		tp.Ports = append(tp.Ports, model.Port{Links: []int{3 * v, 3*v + 1, 3*v + 2}, Capacity: 1 + v%2})
	}
	for _, kind := range model.Kinds() {
		for size := int64(20); size < 30; size++ {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
			got, err := quotient.New().Solve(context.Background(), p, solve.Options{Effort: -1})
			requireProved(t, p, got, err, fmt.Sprint(kind, size))
		}
	}
}

// TestQuotientIsClose: on networks whose symmetries move every link, schedules with few chunks
// are close to the checked bound for every cut, and replay and Z3 prove them.
func TestQuotientIsClose(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		topology string
		kind     model.Kind
		size     int64
		gap      float64 // at most, in percent
	}{
		{"dgxh100:2", model.AllGather, 1 << 30, 0.1},
		{"dgxh100:2", model.AllGather, 8 << 20, 0.1},
		{"dgxh100:2", model.ReduceScatter, 8 << 20, 0.1},
		{"dgxh100:2", model.AllReduce, 1 << 30, 0.1},
		{"dgxa100:2", model.AllGather, 8 << 20, 0.1},
		{"dgxa100:2", model.AllReduce, 1 << 30, 0.1},
		{"dragonfly:3x2x2", model.AllGather, 1 << 30, 0.1},
		{"dgx1", model.AllGather, 8 << 20, 0.01},
		{"dgx2:2", model.AllReduce, 1 << 30, 0.5},
		{"mesh:3x4", model.AllToAll, 16 << 20, 0.01},
		{"torus:4x4", model.AllGather, 1 << 30, 0.1},
		{"fattree:4x4", model.AllGather, 1 << 30, 0.1},
	} {
		tp, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: c.size, Cost: model.Pipelined}
		least, err := Bound(context.Background(), p)
		require.NoError(t, err)
		got, err := quotient.New().Solve(context.Background(), p, solve.Options{Seed: 1, Bound: least.Bound})
		requireProved(t, p, got, err, c.topology)
		gap := 100 * float64(model.GapOf(got.Makespan(), least.Bound))
		t.Logf("%s %v %d: %.4f %% with %d chunks; %s", c.topology, c.kind, c.size, gap, len(got.Problem.Chunks), got.Note)
		require.LessOrEqual(t, gap, c.gap, "%s %v", c.topology, c.kind)
		require.LessOrEqual(t, len(got.Problem.Chunks), 16*p.DefaultChunks(1))
	}
}

// TestQuotientEnds: the time limit and a cancelled context end it soon, however large the
// network, and what it has by then is right.
func TestQuotientEnds(t *testing.T) {
	for _, c := range []struct {
		topology string
		kind     model.Kind
	}{
		{"torus:16x16", model.AllToAll}, {"full:256", model.AllToAll}, {"mesh:23x22", model.AllReduce}, {"mesh:32x32", model.AllToAll},
		{"dragonfly:9x4x4", model.AllReduce}, {"dgxh100:32", model.AllReduce}, {"line:300", model.Scatter},
	} {
		tp, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: 1 << 30, Cost: model.Pipelined}
		for _, limit := range []time.Duration{time.Millisecond, 300 * time.Millisecond} {
			start := time.Now()
			got, err := quotient.New().Solve(context.Background(), p, solve.Options{Seed: 1, TimeLimit: limit})
			require.Less(t, time.Since(start), 10*time.Second, "%v, much more than it may take on a busy machine", p)
			if errors.Is(err, solve.ErrNotServed) {
				continue
			}
			require.NoError(t, err)
			if got.Schedule != nil {
				require.Equal(t, verify.Proved, replay.Check(context.Background(), got.Problem, got.Schedule).Outcome, "%v", p)
			} else {
				require.Equal(t, solve.TimeLimit, got.Stop, "%v", p)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		got, err := quotient.New().Solve(ctx, p, solve.Options{Seed: 1})
		require.NoError(t, err)
		require.Equal(t, solve.Interrupted, got.Stop)
	}
}

package pace_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/pace"
)

// network returns a random network with links of a few kinds, switches, ports and parallel links.
func network(r *rand.Rand, kinds int) (*model.Topology, []int) {
	t := &model.Topology{Name: "random", Ranks: 2 + r.IntN(5)}
	for range r.IntN(3) {
		t.Switches = append(t.Switches, model.Switch{Name: "s"})
	}
	var kind []int
	link := func(u, v int) {
		if u != v {
			t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: 1, Bandwidth: 1e9})
			kind = append(kind, r.IntN(kinds))
		}
	}
	order := r.Perm(t.Nodes())
	for i, u := range order {
		link(u, order[(i+1)%len(order)])
	}
	for range r.IntN(3 * t.Nodes()) {
		link(r.IntN(t.Nodes()), r.IntN(t.Nodes()))
	}
	if links := t.Out()[r.IntN(t.Nodes())]; r.IntN(2) == 0 && len(links) > 1 {
		t.Ports = append(t.Ports, model.Port{Links: links, Capacity: 1 + r.IntN(len(links)-1)})
	}
	return t, kind
}

// withFigures returns a network with the figures of each kind of link.
func withFigures(t *model.Topology, kind []int, alpha []model.Time, bandwidth []int64) *model.Topology {
	u := *t
	u.Links = slices.Clone(t.Links)
	for i := range u.Links {
		u.Links[i].Alpha, u.Links[i].Bandwidth = alpha[kind[i]], bandwidth[kind[i]]
	}
	return &u
}

// TestEnclose draws schedules on random networks with random ranges of figures, and networks
// within: the times that the order has there keep what the transfers wait for, and links and ports to
// one transfer at a time, and end within the enclosure; and the enclosure of one network is that end.
func TestEnclose(t *testing.T) {
	beyondCorners, relayed, enclosed := 0, 0, 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		kinds := 1 + r.IntN(3)
		base, kind := network(r, kinds)
		var fastA, slowA []model.Time
		var fastB, slowB []int64
		for range kinds {
			a, b := model.Time(r.IntN(2000)), 1e9*(1+r.Int64N(9))
			fastA, fastB = append(fastA, a), append(fastB, b)
			slowA, slowB = append(slowA, a+model.Time(r.IntN(4)*r.IntN(1000))), append(slowB, b-r.Int64N(b/2+1)*int64(r.IntN(2)))
		}
		between := func() *model.Topology {
			var a []model.Time
			var b []int64
			for k := range kinds {
				a = append(a, fastA[k]+model.Time(r.Int64N(int64(slowA[k]-fastA[k])+1)))
				b = append(b, slowB[k]+r.Int64N(fastB[k]-slowB[k]+1))
			}
			return withFigures(base, kind, a, b)
		}
		fast, slow := withFigures(base, kind, fastA, fastB), withFigures(base, kind, slowA, slowB)
		p := &model.Problem{Topology: between(), Collective: model.Collective{Kind: model.AllToAll}, Size: 1 << 12, Cost: []model.CostModel{model.Blocking, model.Pipelined}[r.IntN(2)]}
		p = p.WithChunks(p.Topology.Ranks * p.Topology.Ranks)
		s, order := random(r, p)
		placed, err := pace.Times(t.Context(), p, s, order)
		if err != nil {
			continue // what they wait for has no times: transfers that overlap, and cannot
		}
		e, err := pace.Enclose(p, placed, order, fast, slow)
		require.NoError(t, err)
		low, high, err := e.Within(t.Context(), fast, slow)
		if err != nil {
			require.ErrorContains(t, err, "would not")
			continue
		}
		enclosed++
		ends := map[bool]model.Time{}
		for i, u := range []*model.Topology{fast, slow, p.Topology, between(), between(), between(), between(), between()} {
			q := *p
			q.Topology = u
			on, err := e.On(t.Context(), u)
			require.NoError(t, err, "seed %d", seed)
			keeps(t, &q, on, order)
			end := q.Makespan(on)
			require.LessOrEqual(t, low, end, "seed %d", seed)
			require.GreaterOrEqual(t, high, end, "seed %d", seed)
			l, h, err := e.Within(t.Context(), u, u)
			require.NoError(t, err)
			require.Equal(t, []model.Time{end, end}, []model.Time{l, h}, "seed %d", seed)
			if i < 2 {
				ends[i == 1] = end
			} else if end < ends[false] || end > ends[true] {
				beyondCorners++
			}
			if i == 2 {
				require.LessOrEqual(t, end, p.Makespan(placed), "the first times of an order are no later")
			}
		}
		for _, x := range placed.Transfers {
			if len(placed.Routes[x.Route]) > 1 {
				relayed++
				break
			}
		}
	}
	require.Greater(t, enclosed, 700)
	require.Greater(t, relayed, 200)
	require.Positive(t, beyondCorners, "ends need not lie between those at the corners: the test has seen none that does not")
}

// random returns transfers over shortest ways that wait for each other at random.
func random(r *rand.Rand, p *model.Problem) (*model.Schedule, *model.Precedence) {
	s, o := &model.Schedule{Form: model.Ordered}, &model.Precedence{}
	for i := range 2 + r.IntN(12) {
		u := r.IntN(p.Topology.Ranks)
		v := (u + 1 + r.IntN(p.Topology.Ranks-1)) % p.Topology.Ranks
		s.Routes = append(s.Routes, way(r, p.Topology, u, v))
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(i % len(p.Chunks)), Src: int32(u), Dst: int32(v), Route: int32(i)})
		lists := [4][]int32{}
		for range r.IntN(3) {
			if i > 0 {
				k := r.IntN(4)
				lists[k] = append(lists[k], int32(r.IntN(i)))
			}
		}
		o.Ended, o.Left, o.Begun, o.Landed = append(o.Ended, lists[0]), append(o.Left, lists[1]), append(o.Begun, lists[2]), append(o.Landed, lists[3])
	}
	s.After = o.Ended
	return s, o
}

// way returns a way with the fewest links, over switches and ranks that relay.
func way(r *rand.Rand, t *model.Topology, u, v int) []int {
	by := map[int]int{u: -1}
	for queue := []int{u}; len(queue) > 0; queue = queue[1:] {
		links := t.Out()[queue[0]]
		for _, k := range r.Perm(len(links)) {
			if to := t.Links[links[k]].Dst; to != u {
				if _, seen := by[to]; !seen {
					by[to] = links[k]
					queue = append(queue, to)
				}
			}
		}
	}
	var route []int
	for at := v; at != u; at = t.Links[by[at]].Src {
		route = append([]int{by[at]}, route...)
	}
	return route
}

// keeps insists that a schedule keeps an order and the capacities.
func keeps(t *testing.T, p *model.Problem, s *model.Schedule, o *model.Precedence) {
	t.Helper()
	use := map[int][]model.Interval{}
	left := make([]model.Time, len(s.Transfers))
	for i, x := range s.Transfers {
		route := s.Routes[x.Route]
		require.Equal(t, p.Topology.Duration(route, p.Chunks[x.Chunk].Size), x.End-x.Start)
		require.GreaterOrEqual(t, x.Start, model.Time(0))
		for k, b := range p.Topology.Busy(p.Cost, route, p.Chunks[x.Chunk].Size, nil) {
			b.From, b.To = b.From+x.Start, b.To+x.Start
			use[route[k]] = append(use[route[k]], b)
			if k == 0 {
				left[i] = b.To
			}
		}
	}
	for i := range s.Transfers {
		for _, j := range o.Ended[i] {
			require.LessOrEqual(t, s.Transfers[j].End, s.Transfers[i].Start)
		}
		for _, j := range o.Left[i] {
			require.LessOrEqual(t, left[j], s.Transfers[i].Start)
		}
		for _, j := range o.Begun[i] {
			require.Less(t, s.Transfers[j].Start, s.Transfers[i].End)
		}
		for _, j := range o.Landed[i] {
			require.Less(t, s.Transfers[j].End, s.Transfers[i].End)
		}
	}
	most := func(list []model.Interval) int {
		deepest := 0
		for _, x := range list {
			n := 0
			for _, y := range list {
				if y.From <= x.From && x.From < y.To {
					n++
				}
			}
			deepest = max(deepest, n)
		}
		return deepest
	}
	for l, list := range use {
		require.LessOrEqual(t, most(list), 1, "link %d", l)
	}
	for _, port := range p.Topology.Ports {
		var all []model.Interval
		for _, l := range port.Links {
			all = append(all, use[l]...)
		}
		require.LessOrEqual(t, most(all), port.Capacity)
	}
}

// TestEncloseRefuses: what it does not serve is an error.
func TestEncloseRefuses(t *testing.T) {
	top := &model.Topology{Name: "copies", Ranks: 3, Switches: []model.Switch{{Name: "s", Copies: true}}, Links: []model.Link{
		{Src: 0, Dst: 3, Alpha: 10, Bandwidth: 1e9}, {Src: 3, Dst: 1, Alpha: 10, Bandwidth: 1e9}, {Src: 3, Dst: 2, Alpha: 10, Bandwidth: 1e9},
	}}
	p := (&model.Problem{Topology: top, Collective: model.Collective{Kind: model.Broadcast}, Size: 1000, Cost: model.Pipelined}).WithChunks(1)
	d := top.Duration([]int{0, 1}, 1000)
	s := &model.Schedule{Form: model.Timed, Routes: [][]int{{0, 1}, {0, 2}}, Transfers: []model.Transfer{{Src: 0, Dst: 1, Route: 0, End: d}, {Src: 0, Dst: 2, Route: 1, End: d}}}
	_, err := pace.Enclose(p, s, nil, top, top)
	require.ErrorContains(t, err, "transfers share link 0 at one time")
	s.Form = model.InRounds
	_, err = pace.Enclose(p, s, nil, top, top)
	require.ErrorContains(t, err, "no times")
	s.Form = model.Timed
	s.Transfers = s.Transfers[:1]
	slow := withFigures(top, []int{0, 0, 0}, []model.Time{10}, []int64{1})
	e, err := pace.Enclose(p, s, nil, top, slow)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = e.Within(ctx, top, slow)
	require.ErrorIs(t, err, context.Canceled)
}

// Package solvetest is the conformance suite that every solver passes: on small
// problems of all kinds a solver either says that it does not serve one, or
// returns a schedule of it that is feasible and right, the same one every time.
//
// It has an executor of its own, as simple as can be, for solve does not know
// verify.
package solvetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// Config adapts the suite to a solver.
type Config struct {
	// Skip leaves problems out, such as those too large to be quick.
	Skip func(p *model.Problem) bool
	// Serves is how many problems the solver must serve at least.
	Serves int
	// Options are passed to the solver.
	Options solve.Options
}

// Problems returns the problems of the suite.
func Problems(t testing.TB) []*model.Problem {
	t.Helper()
	var all []*model.Problem
	add := func(name string, c model.Collective, cost model.CostModel, size int64, chunks int) {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: c, Size: size, Cost: cost}
		if chunks > 0 {
			p = p.WithChunks(p.DefaultChunks(chunks))
		}
		require.NoError(t, p.Validate())
		all = append(all, p)
	}
	costs := []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}
	for i, kind := range model.Kinds() {
		for _, cost := range costs {
			for _, name := range []string{"ring:4", "full:3", "switch:5", "mesh:2x3", "hypercube:3", "uniring:3", "line:2", "fattree:2x2"} {
				add(name, model.Collective{Kind: kind}, cost, 1<<16, 0)
			}
			add("dgx1", model.Collective{Kind: kind}, cost, 8<<20, 1)
			add("ring:5", model.Collective{Kind: kind}, cost, 100003, 2)
			add("torus:3x3", model.Collective{Kind: kind, Group: []int{7, 2, 4, 0, 5}, Root: map[bool]int{true: 4}[kind.Rooted()]}, cost, 99991, i%3)
		}
		add("line:7", model.Collective{Kind: kind}, model.Pipelined, 1<<20, 0)
	}
	return all
}

// extremes are links whose latencies, bandwidths or times are far from those of machines: sums of them must not overflow.
var extremes = []topo.Wire{
	{Alpha: 2_000_000_000_000, Bandwidth: 1e9},
	{Alpha: 1_000_000_000_000_000, Bandwidth: 1},
	{Alpha: 0, Bandwidth: 1 << 62},
}

// Run runs the suite on a solver, with -short on a fifth of the problems that it serves.
func Run(t *testing.T, s solve.Solver, cfg Config) {
	served, serves, part := 0, 0, 1 // one of as many problems is solved
	if testing.Short() {
		part = 5
	}
	for i, p := range Problems(t) {
		if cfg.Skip != nil && cfg.Skip(p) {
			continue
		}
		if s.Serves(p) == nil {
			if serves++; serves%part != 1%part {
				continue
			}
		}
		t.Run(fmt.Sprintf("%03d-%v-%s-%v", i, p.Collective.Kind, p.Topology.Name, p.Cost), func(t *testing.T) {
			before := fmt.Sprintf("%+v %+v", *p.Topology, p)
			if err := s.Serves(p); err != nil {
				require.ErrorIs(t, err, solve.ErrNotServed)
				_, err = s.Solve(context.Background(), p, cfg.Options)
				require.ErrorIs(t, err, solve.ErrNotServed, "Solve must refuse what Serves refuses")
				return
			}
			r, err := s.Solve(context.Background(), p, cfg.Options)
			if errors.Is(err, solve.ErrNotServed) {
				return // found out on the way, such as an exchange over one link
			}
			require.NoError(t, err)
			require.Equal(t, before, fmt.Sprintf("%+v %+v", *p.Topology, p), "the problem was changed")
			require.NotNil(t, r.Problem)
			require.NotZero(t, r.Stop)
			require.NotNil(t, r.Schedule, "no schedule: %v %s", r.Stop, r.Raw)
			require.True(t, p.SameUpToCut(r.Problem), "another problem was solved: %v", r.Problem)
			require.NoError(t, r.Problem.Validate())
			require.NoError(t, Right(r.Problem, r.Schedule))
			again, err := s.Solve(context.Background(), p, cfg.Options)
			require.NoError(t, err)
			require.Equal(t, r.Schedule, again.Schedule, "not deterministic")
			served++
		})
	}
	require.GreaterOrEqual(t, served, max(1, cfg.Serves/part), "too few problems served")

	t.Run("cancelled", func(t *testing.T) {
		for _, p := range Problems(t) {
			if cfg.Skip != nil && cfg.Skip(p) || s.Serves(p) != nil {
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			start := time.Now()
			_, err := s.Solve(ctx, p, cfg.Options)
			require.NoError(t, err, "a cancelled run is a result")
			require.Less(t, time.Since(start), 10*time.Second)
			return
		}
	})
	t.Run("extreme", func(t *testing.T) {
		o := cfg.Options
		o.TimeLimit = time.Second
		for _, wire := range extremes {
			tp, err := topo.Ring(12, wire)
			require.NoError(t, err)
			for _, kind := range model.Kinds() {
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 12, Cost: model.Pipelined}
				require.NoError(t, p.Validate())
				r, err := s.Solve(context.Background(), p, o)
				if err != nil {
					require.ErrorIs(t, err, solve.ErrNotServed, "%v, %+v", kind, wire)
				} else if r.Schedule != nil {
					require.NoError(t, Right(r.Problem, r.Schedule), "%v, %+v", kind, wire)
				}
			}
		}
	})
	t.Run("disconnected", func(t *testing.T) {
		tp := &model.Topology{Name: "two islands", Ranks: 4, Links: []model.Link{
			{Src: 0, Dst: 1, Bandwidth: 1}, {Src: 1, Dst: 0, Bandwidth: 1}, {Src: 2, Dst: 3, Bandwidth: 1}, {Src: 3, Dst: 2, Bandwidth: 1}}}
		for _, kind := range model.Kinds() {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 64, Cost: model.Pipelined}
			_, err := s.Solve(context.Background(), p, cfg.Options)
			require.Error(t, err, "%v on two islands", kind)
		}
	})
}

// Right executes a schedule and returns what is wrong with it, or nil.
func Right(p *model.Problem, s *model.Schedule) error {
	if err := s.Validate(p); err != nil {
		return err
	}
	if err := feasible(p, s); err != nil {
		return err
	}
	moves := make([][]int, len(p.Chunks))
	for i, t := range s.Transfers {
		moves[t.Chunk] = append(moves[t.Chunk], i)
	}
	for k := range p.Chunks {
		if err := delivers(p, s, k, moves[k]); err != nil {
			return err
		}
	}
	return nil
}

// delivers executes the transfers of chunk k, which are the only ones that read or write its slots.
func delivers(p *model.Problem, s *model.Schedule, k int, moves []int) error {
	state := make([][]model.Term, p.Topology.Ranks) // nil: nothing
	for r, v := range p.Start(k) {
		state[r] = terms(v)
	}
	type event struct {
		at    model.Time
		write bool
		i     int
	}
	var events []event
	for _, i := range moves {
		t := s.Transfers[i]
		events = append(events, event{t.Start, false, i}, event{t.End, true, i})
	}
	slices.SortFunc(events, func(a, b event) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		if a.write == b.write {
			return a.i - b.i
		}
		if a.write {
			return -1
		}
		return 1
	})
	hand := map[int][]model.Term{}
	last := make([]*event, len(state)) // that wrote
	for n := range events {
		e := &events[n]
		t := s.Transfers[e.i]
		if !e.write {
			if state[t.Src] == nil {
				return fmt.Errorf("transfer %d sends what is not there", e.i)
			}
			hand[e.i] = state[t.Src]
			continue
		}
		if l := last[t.Dst]; l != nil && l.at == e.at && (t.Op == model.Copy || s.Transfers[l.i].Op == model.Copy) {
			return fmt.Errorf("transfers %d and %d race", l.i, e.i)
		}
		last[t.Dst] = e
		if t.Op == model.Copy {
			state[t.Dst] = hand[e.i]
			continue
		}
		if state[t.Dst] == nil {
			return fmt.Errorf("transfer %d adds to nothing", e.i)
		}
		state[t.Dst] = sum(state[t.Dst], hand[e.i])
	}
	for r, v := range p.Goal(k) {
		if want, got := terms(v), state[r]; got == nil || !slices.Equal(want, got) {
			return fmt.Errorf("rank %d ends with %v of chunk %d, want %v", r, got, k, want)
		}
	}
	return nil
}

// terms returns the contributions in a value by ascending rank, and never nil.
func terms(v model.Value) []model.Term {
	list := make([]model.Term, 0, v.Len())
	for r, n := range v.Terms() {
		list = append(list, model.Term{Rank: r, Count: n})
	}
	slices.SortFunc(list, func(a, b model.Term) int { return a.Rank - b.Rank })
	return list
}

// sum adds up two lists of contributions, each by ascending rank.
func sum(a, b []model.Term) []model.Term {
	list := make([]model.Term, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Rank < b[0].Rank:
			list, a = append(list, a[0]), a[1:]
		case a[0].Rank > b[0].Rank:
			list, b = append(list, b[0]), b[1:]
		default:
			list = append(list, model.Term{Rank: a[0].Rank, Count: a[0].Count + b[0].Count})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(list, a...), b...)
}

// feasible checks routes, durations, links, ports and the ports of ranks in rounds, where no
// switch adds.
func feasible(p *model.Problem, s *model.Schedule) error {
	t := p.Topology
	type resource struct {
		what string
		n    int
	}
	busy := map[resource][]model.Interval{}
	use := func(what string, n int, span model.Interval) {
		busy[resource{what, n}] = append(busy[resource{what, n}], span)
	}
	ports := make([][]int, len(t.Links)) // that a link leads through
	for j, port := range t.Ports {
		for _, l := range port.Links {
			ports[l] = append(ports[l], j)
		}
	}
	// alike has the transfers that send a chunk from a rank at one time: branches of a multicast are.
	type sent struct {
		chunk, src int32
		start      model.Time
	}
	alike := map[sent][]int{}
	for i, x := range s.Transfers {
		at := sent{x.Chunk, x.Src, x.Start}
		alike[at] = append(alike[at], i)
	}
	// counted reports whether a longer branch of the same multicast, or an earlier one as long, tells
	// what transfer i keeps busy on the n-th link of its route.
	counted := func(i, n int) bool {
		x := s.Transfers[i]
		mine := s.Routes[x.Route]
		for _, j := range alike[sent{x.Chunk, x.Src, x.Start}] {
			y := s.Transfers[j]
			theirs := s.Routes[y.Route]
			if i == j || len(theirs) <= n || !slices.Equal(mine[:n+1], theirs[:n+1]) {
				continue
			}
			part := n + 1
			for part < len(mine) && part < len(theirs) && mine[part] == theirs[part] {
				part++
			}
			if part == len(mine) || part == len(theirs) || !t.Copies(t.Links[mine[part]].Src) {
				continue
			}
			a, b := x.End, y.End
			if s.Form == model.Timed {
				a, b = t.Busy(p.Cost, mine, p.Chunks[x.Chunk].Size, nil)[n].To, t.Busy(p.Cost, theirs, p.Chunks[y.Chunk].Size, nil)[n].To
			}
			if b > a || b == a && j < i {
				return true
			}
		}
		return false
	}
	var spans []model.Interval
	for i, x := range s.Transfers {
		route := s.Routes[x.Route]
		at := int(x.Src)
		spans = t.Busy(p.Cost, route, p.Chunks[x.Chunk].Size, spans[:0])
		for n, l := range route {
			if t.Links[l].Src != at {
				return fmt.Errorf("transfer %d: link %d does not leave node %d", i, l, at)
			}
			at = t.Links[l].Dst
			span := model.Interval{From: x.Start, To: x.End}
			if s.Form == model.Timed {
				span = model.Interval{From: x.Start + spans[n].From, To: x.Start + spans[n].To}
			}
			if x.Op == model.Copy && counted(i, n) {
				span.To = span.From
			}
			use("link", l, span)
			for _, j := range ports[l] {
				use("port", j, span)
			}
			if p.Cost == model.Rounds && s.Form == model.InRounds && t.IsRank(t.Links[l].Src) {
				use("sends of rank", t.Links[l].Src, span)
			}
			if p.Cost == model.Rounds && s.Form == model.InRounds && t.IsRank(at) {
				use("receives of rank", at, span)
			}
			if t.IsRank(at) && s.Form == model.Timed && x.Start < p.ReleaseOf(at) {
				return fmt.Errorf("transfer %d: rank %d is not there yet", i, at)
			}
		}
		if p.Cost == model.LinkRounds {
			for _, l := range route[1:] {
				if t.IsRank(t.Links[l].Src) {
					return fmt.Errorf("transfer %d: passes rank %d within a round", i, t.Links[l].Src)
				}
			}
		}
		if at != int(x.Dst) {
			return fmt.Errorf("transfer %d: its route ends at node %d, not %d", i, at, x.Dst)
		}
		if s.Form == model.Timed && x.End-x.Start != t.Duration(route, p.Chunks[x.Chunk].Size) {
			return fmt.Errorf("transfer %d lasts %v", i, x.End-x.Start)
		}
		if s.Form == model.Timed && x.Start < p.ReleaseOf(int(x.Src)) {
			return fmt.Errorf("transfer %d: rank %d is not there yet", i, x.Src)
		}
	}
	for by, spans := range busy {
		capacity := 1
		if by.what == "port" {
			capacity = t.Ports[by.n].Capacity
		}
		type change struct {
			at   model.Time
			more int
		}
		var changes []change
		for _, x := range spans {
			if x.From < x.To {
				changes = append(changes, change{x.From, 1}, change{x.To, -1})
			}
		}
		slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more)) })
		n := 0
		for _, c := range changes {
			if n += c.more; n > capacity {
				return fmt.Errorf("%s %d is used %d times at %v", by.what, by.n, n, c.at)
			}
		}
	}
	return nil
}

package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func broadcastOn(t *Topology, cost CostModel) *Problem {
	return (&Problem{Topology: t, Collective: Collective{Kind: Broadcast}, Size: 1000, Cost: cost}).WithChunks(2)
}

func TestScheduleValidate(t *testing.T) {
	p := broadcastOn(ringOf(4), Pipelined)
	rounds := broadcastOn(ringOf(4), Rounds)
	timed := func() *Schedule {
		return &Schedule{Form: Timed, Routes: [][]int{{0}, {1, 2}}, Transfers: []Transfer{{0, 0, 1, 0, Copy, 0, 5}, {1, 1, 3, 1, Reduction, 5, 9}}}
	}
	inRounds := func() *Schedule {
		return &Schedule{Form: InRounds, Routes: [][]int{{0}}, Transfers: []Transfer{{0, 0, 1, 0, Copy, 0, 1}, {1, 0, 1, 0, Copy, 7, 8}}}
	}
	ordered := func() *Schedule {
		return &Schedule{Form: Ordered, Routes: [][]int{{0}}, Transfers: []Transfer{{0, 0, 1, 0, Copy, 0, 0}, {1, 0, 1, 0, Copy, 0, 0}}, After: [][]int32{{1}, {}}}
	}
	require.NoError(t, timed().Validate(p))
	require.NoError(t, inRounds().Validate(rounds))
	require.NoError(t, ordered().Validate(p))
	require.NoError(t, ordered().Validate(rounds))
	require.NoError(t, (&Schedule{Form: Timed}).Validate(p), "no transfers is a schedule, if a wrong one")
	require.NoError(t, (&Schedule{Form: Ordered}).Validate(p))

	uncut := *p
	uncut.Chunks = nil
	require.ErrorIs(t, timed().Validate(&uncut), ErrNoChunks)

	for _, c := range []struct {
		p      *Problem
		s      *Schedule
		want   string
		change func(s *Schedule)
	}{
		{p, timed(), "form: missing", func(s *Schedule) { s.Form = 0 }},
		{p, timed(), "form: rounds does not go with cost model pipelined", func(s *Schedule) { s.Form = InRounds }},
		{rounds, timed(), "form: timed does not go with cost model rounds", func(s *Schedule) {}},
		{p, timed(), "after: belongs to the form order, not timed", func(s *Schedule) { s.After = [][]int32{nil, nil} }},
		{p, timed(), "routes[0]: empty", func(s *Schedule) { s.Routes[0] = nil }},
		{p, timed(), "routes[1][1]: link 4 does not exist, want 0 to 3", func(s *Schedule) { s.Routes[1][1] = 4 }},
		{p, timed(), "routes[1][1]: link -1 does not exist", func(s *Schedule) { s.Routes[1][1] = -1 }},
		{p, timed(), "transfers[1].chunk: chunk 2 does not exist, want 0 to 1", func(s *Schedule) { s.Transfers[1].Chunk = 2 }},
		{p, timed(), "transfers[1].chunk: chunk -1", func(s *Schedule) { s.Transfers[1].Chunk = -1 }},
		{p, timed(), "transfers[1].src: rank 4 does not exist, want 0 to 3", func(s *Schedule) { s.Transfers[1].Src = 4 }},
		{p, timed(), "transfers[1].dst: rank -1 does not exist", func(s *Schedule) { s.Transfers[1].Dst = -1 }},
		{p, timed(), "transfers[1].dst: rank 1 is the source too", func(s *Schedule) { s.Transfers[1].Dst = 1 }},
		{p, timed(), "transfers[1].route: route 2 does not exist", func(s *Schedule) { s.Transfers[1].Route = 2 }},
		{p, timed(), "transfers[1].route: route -1 does not exist", func(s *Schedule) { s.Transfers[1].Route = -1 }},
		{p, timed(), "transfers[1].op: operation 2 does not exist", func(s *Schedule) { s.Transfers[1].Op = 2 }},
		{p, timed(), "transfers[0].start: -1", func(s *Schedule) { s.Transfers[0].Start = -1 }},
		{p, timed(), "transfers[1].end: 5 ps, want an end after the start", func(s *Schedule) { s.Transfers[1].End = 5 }},
		{p, timed(), "transfers[1].end: 4611686018427387904 ps, want at most", func(s *Schedule) { s.Transfers[1].End = 1 << 62 }},
		{rounds, inRounds(), "transfers[1].round: 7 to 9, want one round", func(s *Schedule) { s.Transfers[1].End = 9 }},
		{rounds, inRounds(), "transfers[1].round: 1056, want a round below 1056", func(s *Schedule) { s.Transfers[1].Start, s.Transfers[1].End = 1056, 1057 }},
		{p, ordered(), "transfers[0].start: from 0 to 1, want no times", func(s *Schedule) { s.Transfers[0].End = 1 }},
		{p, ordered(), "after: 1 lists, want one for each of 2", func(s *Schedule) { s.After = s.After[:1] }},
		{p, ordered(), "transfers[1].after[0]: transfer 2 does not exist, want 0 to 1", func(s *Schedule) { s.After[1] = []int32{2} }},
		{p, ordered(), "transfers[1].after[0]: transfer -1 does not exist", func(s *Schedule) { s.After[1] = []int32{-1} }},
		{p, ordered(), "transfers[1].after: transfer 1 waits for itself", func(s *Schedule) { s.After[1] = []int32{1} }},
		{p, ordered(), "transfers[0].after: transfer 0 waits for itself", func(s *Schedule) { s.After[1] = []int32{0} }},
	} {
		c.change(c.s)
		require.ErrorContains(t, c.s.Validate(c.p), c.want)
	}
}

func TestTopologicalOrderByHand(t *testing.T) {
	s := &Schedule{Form: Ordered, Transfers: make([]Transfer, 5), After: [][]int32{{3}, {}, {0, 1}, {}, {2, 2}}}
	order, err := s.TopologicalOrder()
	require.NoError(t, err)
	require.Equal(t, []int32{1, 3, 0, 2, 4}, order)

	s.After = [][]int32{{}, {0, 4}, {1}, {2}, {3}} // 1 → 2 → 3 → 4 → 1, and 0 before it
	_, err = s.TopologicalOrder()
	require.ErrorContains(t, err, "transfer 1 waits for itself")
	s.After = [][]int32{{3}, {}, {4}, {}, {2}} // 0 is fine; 2 and 4 wait for each other
	_, err = s.TopologicalOrder()
	require.ErrorContains(t, err, "transfer 2 waits for itself")
	s.After = [][]int32{{1}, {4}, {}, {4}, {3}} // 0 and 1 wait for the cycle 3, 4 and are not on it
	_, err = s.TopologicalOrder()
	require.ErrorContains(t, err, "transfer 3 waits for itself")
}

// Any order: it is respected, or the transfer that is named does wait for itself, by
// a search that has nothing in common with the sort.
func TestTopologicalOrderAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "transfers")
		s := &Schedule{Form: Ordered, Transfers: make([]Transfer, n), After: make([][]int32, n)}
		for i := range s.After {
			s.After[i] = rapid.SliceOfN(rapid.Int32Range(0, int32(n-1)), 0, 2).Draw(t, "after")
		}
		before := make([][]bool, n) // before[i][j]: i waits for j, directly or not
		for i := range before {
			before[i] = make([]bool, n)
			for _, j := range s.After[i] {
				before[i][j] = true
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					before[i][j] = before[i][j] || before[i][k] && before[k][j]
				}
			}
		}
		order, err := s.TopologicalOrder()
		if err == nil {
			require.Len(t, order, n)
			at := make([]int, n)
			for k, i := range order {
				at[i] = k
			}
			for i := range n {
				require.Equal(t, int32(i), order[at[i]], "each occurs once")
				for j := range n {
					require.False(t, before[i][j] && at[j] >= at[i])
				}
			}
			return
		}
		named := -1
		var p *Error
		require.ErrorAs(t, err, &p)
		for i := range n {
			if p.Place == Element("transfers", i)+".after" {
				named = i
			}
		}
		require.True(t, before[named][named], "transfer %d is on a cycle", named)
	})
}

// Rounds with late ranks, by hand: a chunk of 500 bytes takes 1000 + 500 000 ps a link.
func TestRoundSpans(t *testing.T) {
	p := broadcastOn(ringOf(4), Rounds)
	s := &Schedule{Form: InRounds, Routes: [][]int{{0}, {1}, {1, 2}}, Transfers: []Transfer{
		{0, 0, 1, 0, Copy, 0, 1},
		{0, 1, 2, 1, Copy, 1, 2},
		{1, 1, 3, 2, Copy, 3, 4}, // relayed by rank 2; round 2 is empty
	}}
	const one = 501_000
	require.Equal(t, []Interval{{0, one}, {one, 2 * one}, {2 * one, 2 * one}, {2 * one, 4 * one}}, p.RoundSpans(s))
	require.Equal(t, Time(4*one), p.Makespan(s))
	require.Equal(t, 4, s.Rounds())

	for _, c := range []struct {
		release []Time
		want    []Interval
	}{
		{[]Time{100, 0, 0, 0}, []Interval{{100, one + 100}, {one + 100, 2*one + 100}, {2*one + 100, 2*one + 100}, {2*one + 100, 4*one + 100}}},
		{[]Time{0, 100, 50, 0}, []Interval{{100, one + 100}, {one + 100, 2*one + 100}, {2*one + 100, 2*one + 100}, {2*one + 100, 4*one + 100}}},
		{[]Time{0, 0, 2 * one, 0}, []Interval{{0, one}, {2 * one, 3 * one}, {3 * one, 3 * one}, {3 * one, 5 * one}}},
		{[]Time{0, 0, 0, 9 * one}, []Interval{{0, one}, {one, 2 * one}, {2 * one, 2 * one}, {9 * one, 11 * one}}},
		{[]Time{0, 0, 1, 1}, []Interval{{0, one}, {one, 2 * one}, {2 * one, 2 * one}, {2 * one, 4 * one}}},
	} {
		p.Release = c.release
		require.Equal(t, c.want, p.RoundSpans(s))
		require.Equal(t, c.want[3].To, p.Makespan(s))
	}

	p.Release = []Time{0, 0, 5 * one, 0}
	late := &Schedule{Form: InRounds, Routes: [][]int{{1, 2}}, Transfers: []Transfer{{0, 1, 3, 0, Copy, 0, 1}}}
	require.Equal(t, []Interval{{5 * one, 7 * one}}, p.RoundSpans(late), "the relay must be there too")
	require.Empty(t, p.RoundSpans(&Schedule{Form: InRounds}))
	require.Zero(t, p.Makespan(&Schedule{Form: InRounds}))
}

func TestMakespan(t *testing.T) {
	p := broadcastOn(ringOf(4), Pipelined)
	s := &Schedule{Form: Timed, Routes: [][]int{{0}}, Transfers: []Transfer{{0, 0, 1, 0, Copy, 0, 70}, {1, 0, 1, 0, Copy, 1, 60}}}
	require.Equal(t, Time(70), p.Makespan(s))
	require.Zero(t, s.Rounds())
	s = &Schedule{Form: Ordered, Transfers: []Transfer{{}}, After: [][]int32{{}}}
	require.Zero(t, p.Makespan(s))
	require.Equal(t, []Form{Timed, Timed, InRounds}, []Form{FormFor(Blocking), FormFor(Pipelined), FormFor(Rounds)})
}

func TestCertificateValidate(t *testing.T) {
	p := broadcastOn(ringOf(4), Pipelined)
	for want, c := range map[string]*Certificate{
		"problem: missing":                              {nil, 0, Volume{}},
		"problem.size: 0 bytes":                         {&Problem{Topology: ringOf(2), Cost: Rounds, Collective: Collective{Kind: Broadcast}}, 0, Volume{}},
		"bound: -1 ps":                                  {p, -1, Volume{}},
		"witness: missing":                              {p, 0, nil},
		"witness.nodes[0]: node -1 does not exist":      {p, 0, Cut{Nodes: []int{-1}}},
		"witness.nodes[1]: node 4 does not exist":       {p, 0, Cut{Nodes: []int{0, 4}}},
		"witness.nodes[1]: node 2 after node 2":         {p, 0, Cut{Nodes: []int{2, 2}}},
		"witness.rank: rank 4 does not exist":           {p, 0, Ingress{4}},
		"witness.rank: rank -1 does not exist":          {p, 0, Egress{-1}},
		"witness.chunk: chunk 2 does not exist":         {p, 0, Doubling{2, 0, 0}},
		"witness.chunk: chunk -2 does not exist":        {p, 0, Doubling{-2, 0, 0}},
		"witness.shard: shard 1 does not exist":         {p, 0, Doubling{-1, 1, 0}},
		"witness.source: rank 9 does not exist":         {p, 0, Doubling{-1, 0, 9}},
		"witness.dest: rank 9 does not exist":           {p, 0, Distance{-1, 0, 0, 9, make([]Time, 4), nil}},
		"witness.potential: 3 times, want one for each": {p, 0, Distance{-1, 0, 0, 1, make([]Time, 3), nil}},
		"witness.head: 3 times, want one for each":      {p, 0, Distance{-1, 0, 0, 1, make([]Time, 4), make([]Time, 3)}},
		"witness.from[0]: rank 9 does not exist":        {p, 0, Cut{Nodes: []int{0}, From: []int{9}}},
		"witness.to[1]: rank 0 after rank 1":            {p, 0, Cut{Nodes: []int{0}, To: []int{1, 0}}},
		"witness.prices: 1 prices, want one for each":   {p, 0, Prices{[]int64{1}}},
		"witness.source: rank 4 does not exist":         {p, 0, Spread{4}},
		"witness.dest: rank 4 does not exist":           {p, 0, Combine{4}},
	} {
		require.ErrorContains(t, c.Validate(), want)
	}
	for _, w := range []Witness{Cut{Nodes: []int{0, 3}}, Cut{}, Ingress{3}, Egress{0}, Volume{}, Doubling{1, 0, 0}, Distance{-1, 0, 0, 3, make([]Time, 4), nil}} {
		require.NoError(t, (&Certificate{p, 5, w}).Validate())
	}
}

func TestSteps(t *testing.T) {
	at := func(round Time, src, dst, chunk int32) Transfer {
		return Transfer{Src: src, Dst: dst, Chunk: chunk, Start: round, End: round + 1}
	}
	for name, c := range map[string]struct {
		steps     int
		transfers []Transfer
	}{
		"nothing":                     {0, nil},
		"one round":                   {1, []Transfer{at(0, 0, 1, 0), at(0, 1, 2, 1)}},
		"relayed":                     {2, []Transfer{at(1, 1, 2, 0), at(0, 0, 1, 0)}},
		"another chunk":               {1, []Transfer{at(0, 0, 1, 0), at(1, 1, 2, 1)}},
		"a round between":             {2, []Transfer{at(0, 0, 1, 0), at(1, 0, 1, 1), at(2, 1, 2, 0)}},
		"read while it is written":    {1, []Transfer{at(0, 0, 1, 0), at(0, 1, 0, 0)}},
		"written in the step before":  {2, []Transfer{at(0, 0, 1, 0), at(1, 1, 2, 0), at(2, 1, 3, 0)}},
		"written in the step's start": {3, []Transfer{at(0, 0, 1, 0), at(1, 1, 2, 0), at(2, 2, 3, 0)}},
	} {
		require.Equal(t, c.steps, (&Schedule{Form: InRounds, Transfers: c.transfers}).Steps(), name)
	}
	require.Zero(t, (&Schedule{Form: Timed, Transfers: []Transfer{at(0, 0, 1, 0)}}).Steps())
}

package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lab has ranks 0, 1, 2 and switches 3, 4. By hand, for a chunk of 1000 bytes:
//
//	link  from to  α ps  B/s    β·1000 bytes in ps
//	0     0    1   500   1e9    1_000_000
//	1     0    3   100   2e9      500_000
//	2     3    2   200   1e9    1_000_000
//	3     3    4   300   4e9      250_000
//	4     4    2   400   2e9      500_000
//	5     1    2   700   3e9      333_334 (rounded up)
//	6     2    0   0     1e12       1_000
var lab = &Topology{
	Name: "lab", Ranks: 3, Switches: []Switch{{Name: "a"}, {Name: "b"}},
	Links: []Link{
		{0, 1, 500, 1e9}, {0, 3, 100, 2e9}, {3, 2, 200, 1e9}, {3, 4, 300, 4e9}, {4, 2, 400, 2e9}, {1, 2, 700, 3e9}, {2, 0, 0, 1e12},
	},
}

func TestDurationAndBusyByHand(t *testing.T) {
	require.NoError(t, lab.Validate())
	for _, c := range []struct {
		name      string
		route     []int
		bytes     int64
		duration  Time
		pipelined []Interval
		blocking  []Interval
	}{
		{"direct", []int{0}, 1000, 1_000_500, []Interval{{0, 1_000_000}}, []Interval{{0, 1_000_500}}},
		{"rounded up", []int{5}, 1000, 334_034, []Interval{{0, 333_334}}, []Interval{{0, 334_034}}},
		{"nothing to round", []int{5}, 3, 1700, []Interval{{0, 1000}}, []Interval{{0, 1700}}},
		{"no latency", []int{6}, 1, 1, []Interval{{0, 1}}, []Interval{{0, 1}}},
		// Through a switch: both links at the rate of the slower one, the second from 100 ps on.
		{"a switch", []int{1, 2}, 1000, 1_000_300,
			[]Interval{{0, 1_000_000}, {100, 1_000_100}},
			[]Interval{{0, 1_000_100}, {100, 1_000_300}}},
		{"two switches", []int{1, 3, 4}, 1000, 500_800,
			[]Interval{{0, 500_000}, {100, 500_100}, {400, 500_400}},
			[]Interval{{0, 500_100}, {100, 500_400}, {400, 500_800}}},
		// Through rank 1: stored, then forwarded at its own rate.
		{"a relay", []int{0, 5}, 1000, 1_000_500 + 334_034,
			[]Interval{{0, 1_000_000}, {1_000_500, 1_333_834}},
			[]Interval{{0, 1_000_500}, {1_000_500, 1_334_534}}},
		{"a relay after a switch", []int{1, 2, 6}, 1000, 1_000_300 + 1000,
			[]Interval{{0, 1_000_000}, {100, 1_000_100}, {1_000_300, 1_001_300}},
			[]Interval{{0, 1_000_100}, {100, 1_000_300}, {1_000_300, 1_001_300}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.duration, lab.Duration(c.route, c.bytes))
			require.Equal(t, c.pipelined, lab.Busy(Pipelined, c.route, c.bytes, nil))
			require.Equal(t, c.blocking, lab.Busy(Blocking, c.route, c.bytes, nil))
			require.Equal(t, c.blocking, lab.Busy(Rounds, c.route, c.bytes, nil), "within its round")
			kept := []Interval{{7, 8}}
			require.Equal(t, append(kept, c.pipelined...), lab.Busy(Pipelined, c.route, c.bytes, kept[:1:1]), "appends")
		})
	}
}

// What must hold of any route: no link is busy after the arrival, the last link of
// a hop delivers at the arrival, and a relay starts when it has all.
func TestBusyWithinDuration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tp := &Topology{Ranks: rapid.IntRange(2, 3).Draw(t, "ranks")}
		tp.Switches = make([]Switch, rapid.IntRange(0, 3).Draw(t, "switches"))
		route := []int{}
		at := 0
		for i := range rapid.IntRange(1, 6).Draw(t, "length") {
			next := (at + rapid.IntRange(1, tp.Nodes()-1).Draw(t, "next")) % tp.Nodes()
			tp.Links = append(tp.Links, Link{at, next, drawTime(t, "alpha"), rapid.Int64Range(1, 1e12).Draw(t, "bandwidth")})
			route, at = append(route, i), next
		}
		bytes := rapid.Int64Range(1, 1e6).Draw(t, "bytes")
		duration := tp.Duration(route, bytes)
		blocking, pipelined := tp.Busy(Blocking, route, bytes, nil), tp.Busy(Pipelined, route, bytes, nil)
		start := Time(0)
		for i, l := range route {
			link := tp.Links[l]
			require.LessOrEqual(t, blocking[i].To, duration)
			require.Equal(t, blocking[i].From, pipelined[i].From)
			require.Equal(t, blocking[i].To, pipelined[i].To+link.Alpha)
			require.GreaterOrEqual(t, pipelined[i].To-pipelined[i].From, TransferTime(bytes, link.Bandwidth))
			require.Equal(t, start, blocking[i].From)
			start = start.Add(link.Alpha)
			if tp.IsRank(link.Dst) {
				start = blocking[i].To
			}
		}
		require.Equal(t, duration, blocking[len(blocking)-1].To)
	})
}

func TestCostSaturates(t *testing.T) {
	slow := &Topology{Ranks: 2, Links: []Link{{0, 1, MaxTime, 1}, {1, 0, 1, 1}}}
	require.Equal(t, MaxTime, slow.Duration([]int{0, 1}, MaxSize))
	for _, b := range slow.Busy(Blocking, []int{0, 1}, MaxSize, nil) {
		require.GreaterOrEqual(t, b.To, b.From)
	}
}

func TestWordsRoundTrip(t *testing.T) {
	for _, c := range []CostModel{Blocking, Pipelined, Rounds} {
		got, err := ParseCostModel(c.String())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
	for _, k := range append(Kinds(), Custom) {
		got, err := ParseKind(k.String())
		require.NoError(t, err)
		require.Equal(t, k, got)
	}
	for _, o := range []Operator{Sum, Prod, Min, Max} {
		got, err := ParseOperator(o.String())
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	for _, f := range []Form{Timed, InRounds, Ordered} {
		got, err := ParseForm(f.String())
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	for _, o := range []Op{Copy, Reduction} {
		got, err := ParseOp(o.String())
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	for _, parse := range []func(string) error{
		func(s string) error { _, err := ParseCostModel(s); return err },
		func(s string) error { _, err := ParseKind(s); return err },
		func(s string) error { _, err := ParseOperator(s); return err },
		func(s string) error { _, err := ParseForm(s); return err },
		func(s string) error { _, err := ParseOp(s); return err },
	} {
		for _, s := range []string{"", "x", "Timed", " copy", "sum ", "CostModel(0)"} {
			require.Error(t, parse(s), s)
		}
	}
	require.Equal(t, "CostModel(0) CostModel(9) Kind(99) Operator(9) Form(0) Form(9) Op(9)",
		CostModel(0).String()+" "+CostModel(9).String()+" "+Kind(99).String()+" "+Operator(9).String()+" "+Form(0).String()+" "+Form(9).String()+" "+Op(9).String())
}

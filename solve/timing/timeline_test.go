package timing

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// TestTimeline compares a timeline with a list of picoseconds.
func TestTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const end = 60
		var l Timeline
		var busy [end]int32 // the owner; 0: nobody
		free := func(at, long int) bool {
			for i := max(0, at); i < min(end, at+long); i++ {
				if busy[i] != 0 {
					return false
				}
			}
			return true
		}
		for range rapid.IntRange(0, 12).Draw(t, "spans") {
			from, long, owner := rapid.IntRange(0, end-8).Draw(t, "from"), rapid.IntRange(1, 7).Draw(t, "long"), rapid.Int32Range(1, 2).Draw(t, "owner")
			if !free(from, long) {
				continue
			}
			span := func(from, to int) Span {
				return Span{model.Interval{From: model.Time(from), To: model.Time(to)}, owner}
			}
			set := func(from, to int, o int32) {
				for i := from; i < to; i++ {
					busy[i] = o
				}
			}
			set(from, from+long, owner)
			l.Take(span(from, from+long))
			if rapid.IntRange(0, 3).Draw(t, "again") == 0 { // a part of it, or all
				a := rapid.IntRange(from, from+long-1).Draw(t, "a")
				b := rapid.IntRange(a+1, from+long).Draw(t, "b")
				l.Release(span(a, b))
				set(a, b, 0)
			}
		}
		var want Timeline
		for i := range end {
			switch n := len(want); {
			case busy[i] == 0:
			case n > 0 && want[n-1].To == model.Time(i) && want[n-1].Owner == busy[i]:
				want[n-1].To++
			default:
				want = append(want, Span{model.Interval{From: model.Time(i), To: model.Time(i + 1)}, busy[i]})
			}
		}
		require.True(t, slices.Equal(want, l), "%v, want %v", l, want)
		at, long := rapid.IntRange(0, end-1).Draw(t, "at"), rapid.IntRange(1, 9).Draw(t, "for")
		next, last := at, at
		for !free(next, long) {
			next++
		}
		require.Equal(t, model.Time(next), l.Next(model.Time(at), model.Time(long)))
		for !free(last, long) {
			last--
		}
		require.Equal(t, model.Time(last), l.Last(model.Time(at), model.Time(long)))
	})
}

// TestReleaseOfNothing: what is not taken, or by another owner, is not released.
func TestReleaseOfNothing(t *testing.T) {
	l := Timeline{{model.Interval{From: 5, To: 9}, 1}}
	for _, s := range []Span{{model.Interval{From: 5, To: 9}, 2}, {model.Interval{From: 4, To: 9}, 1}, {model.Interval{From: 5, To: 10}, 1}, {model.Interval{From: 9, To: 10}, 1}} {
		require.Panics(t, func() { l.Release(s) })
	}
}

// TestBookings: the first and the last time at which a transfer can start are those that trying
// every picosecond finds; what is taken is not free, and what is given back is.
func TestBookings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const resources, end = 4, 60
		b := NewBookings([]int32{0, 1, 2, 3}, resources)
		draw := func() (uses []network.Use, length model.Time) {
			for range rapid.IntRange(1, 2).Draw(t, "uses") {
				from := rapid.Int32Range(0, resources-1).Draw(t, "of")
				uses = append(uses, network.Use{Choice: from, ChoiceEnd: rapid.Int32Range(from+1, resources).Draw(t, "to"),
					From: model.Time(rapid.IntRange(0, 5).Draw(t, "from")), Extra: model.Time(rapid.IntRange(0, 3).Draw(t, "extra"))})
			}
			return uses, model.Time(rapid.IntRange(1, 5).Draw(t, "length"))
		}
		can := func(uses []network.Use, length, at model.Time) bool {
			for i := range uses {
				u := &uses[i]
				s := span(u, length, at, 0)
				if !slices.ContainsFunc([]int32{0, 1, 2, 3}[u.Choice:u.ChoiceEnd], func(c int32) bool {
					return !slices.ContainsFunc(b.Of(c), func(x Span) bool { return x.From < s.To && s.From < x.To })
				}) {
					return false
				}
			}
			return true
		}
		for owner := range int32(rapid.IntRange(0, 8).Draw(t, "transfers")) {
			uses, length := draw()
			if len(uses) > 1 { // they must not take the same resource at one time
				uses[1].From = uses[0].From + length + uses[0].Extra
			}
			start := b.First(uses, length, model.Time(rapid.IntRange(0, end).Draw(t, "at")))
			before := [resources]int{}
			for c := range before {
				before[c] = len(b.Of(int32(c)))
			}
			places := b.Take(uses, length, start, owner, nil)
			if rapid.Bool().Draw(t, "back") {
				b.Cancel(uses, length, start, owner, places)
				for c := range before {
					require.Len(t, b.Of(int32(c)), before[c])
				}
				require.True(t, can(uses, length, start))
			}
		}
		uses, length := draw()
		at := model.Time(rapid.IntRange(0, end).Draw(t, "asked"))
		first, last := at, at
		for !can(uses, length, first) {
			first++
		}
		require.Equal(t, first, b.First(uses, length, at))
		for !can(uses, length, last) {
			last--
		}
		require.Equal(t, last, b.Last(uses, length, at))
	})
}

// TestFill: gaps that are too short are in use, longer ones are not, and those of a copy stay as they were.
func TestFill(t *testing.T) {
	use := network.Use{Choice: 0, ChoiceEnd: 1, Extra: 5}
	b := NewBookings([]int32{0}, 1)
	for _, at := range []model.Time{0, 9, 20} {
		b.Take([]network.Use{use}, 0, at, 0, nil)
	}
	c := b.Clone()
	c.Fill(use, 0)
	require.Equal(t, []model.Interval{{From: 0, To: 14}, {From: 20, To: 25}}, spansOf(c.Of(0)))
	require.Equal(t, []model.Interval{{From: 0, To: 5}, {From: 9, To: 14}, {From: 20, To: 25}}, spansOf(b.Of(0)))
	c.Cancel([]network.Use{use}, 0, 9, 0, nil)
	require.Equal(t, []model.Interval{{From: 0, To: 9}, {From: 20, To: 25}}, spansOf(c.Of(0)))
}

func spansOf(l Timeline) (spans []model.Interval) {
	for _, s := range l {
		spans = append(spans, s.Interval)
	}
	return spans
}

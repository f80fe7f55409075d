package place

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// waits reports whether the terms of a sum, or the branches of a multicast, over routes may wait at
// a switch at which ranks read sums (verify/SPEC.md, 3.2 and 4.3), and nothing but links is limited.
func (g *Program) waits(routes [][]int) bool {
	t := g.p.Topology
	if len(routes) < 2 || g.p.Cost.Synchronous() || len(t.Ports) > 0 {
		return false
	}
	for _, r := range routes {
		if len(r) != 2 || t.Reduces(t.Links[r[0]].Dst) != model.SumsRead || t.Switches[t.Links[r[0]].Dst-t.Ranks].Sums > 0 {
			return false
		}
	}
	return true
}

// waiting is a stream whose parts wait at its switch: what they have in common is used at one
// time, and the link that each has for itself when it is free.
type waiting struct {
	e      *engine
	common []network.Use
	single []network.Use // by part
	booked []booking
}

// parted returns what a stream over routes with two links uses: side is the place in them of the
// link that each has for itself.
func (e *engine) parted(routes [][]int, after []model.Time, size int64, side int) *waiting {
	w := &waiting{e: e, single: make([]network.Use, len(routes))}
	for _, u := range e.board.Join(routes, after, size) {
		if i := slices.IndexFunc(routes, func(r []int) bool { return int32(r[side]) == u.Choice }); i >= 0 {
			w.single[i] = u
			continue
		}
		w.common = append(w.common, u)
	}
	return w
}

// take books uses from the first time on, not before at, at which they are free.
func (w *waiting) take(uses []network.Use, at model.Time) model.Time {
	at = w.e.board.First(uses, 0, at)
	w.booked = append(w.booked, booking{uses: uses, start: at, places: w.e.board.Take(uses, 0, at, 0, nil)})
	return at
}

// placeTerms places the members of a group that are one sum: each term goes to the switch as soon
// as its link there is free, none before begin, and all come out together, none before after.
func (g *Program) placeTerms(e *engine, routes [][]int, lasts []model.Time, size int64, begin []model.Time, after model.Time) (starts, ends []model.Time, booked []booking) {
	longest := slices.Max(lasts)
	late := make([]model.Time, len(routes)) // after the start of the sum, as if none waited
	for i := range routes {
		late[i] = longest - lasts[i]
	}
	w := e.parted(routes, late, size, 0)
	at := after - longest
	for i := range routes {
		w.single[i].From -= late[i]
		start := w.take(w.single[i:i+1], begin[i])
		starts = append(starts, start)
		at = max(at, start-late[i])
	}
	at = w.take(w.common, max(0, at))
	for range routes {
		ends = append(ends, at+longest)
	}
	return starts, ends, w.booked
}

// placeBranches places the members of a group that are one multicast: it goes to the switch at one
// time, none before begin, and each branch goes on as soon as its link is free, to end not before
// after.
func (g *Program) placeBranches(e *engine, routes [][]int, lasts []model.Time, size int64, begin model.Time, after []model.Time) (starts, ends []model.Time, booked []booking) {
	w := e.parted(routes, make([]model.Time, len(routes)), size, 1)
	at := w.take(w.common, begin)
	for i := range routes {
		starts = append(starts, at)
		ends = append(ends, w.take(w.single[i:i+1], max(at, after[i]-lasts[i]))+lasts[i])
	}
	return starts, ends, w.booked
}

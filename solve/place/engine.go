package place

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// timeline is the set of times at which something is in use: disjoint spans,
// ascending, touching ones joined.
type timeline struct{ spans []model.Interval }

// free returns the first time from at on from which length is free.
func (l *timeline) free(at, length model.Time) model.Time {
	i, _ := slices.BinarySearchFunc(l.spans, at, func(s model.Interval, at model.Time) int {
		if s.To <= at {
			return -1
		}
		return 1
	})
	for ; i < len(l.spans) && l.spans[i].From < at.Add(length); i++ {
		at = l.spans[i].To
	}
	return at
}

// take marks a free span as in use.
func (l *timeline) take(s model.Interval) {
	i, _ := slices.BinarySearchFunc(l.spans, s.From, func(t model.Interval, at model.Time) int {
		if t.From < at {
			return -1
		}
		return 1
	})
	left := i > 0 && l.spans[i-1].To == s.From
	right := i < len(l.spans) && l.spans[i].From == s.To
	switch {
	case left && right:
		l.spans[i-1].To = l.spans[i].To
		l.spans = slices.Delete(l.spans, i, i+1)
	case left:
		l.spans[i-1].To = s.To
	case right:
		l.spans[i].From = s.From
	default:
		l.spans = slices.Insert(l.spans, i, s)
	}
}

// release takes a span that was taken back.
func (l *timeline) release(s model.Interval) {
	i := slices.IndexFunc(l.spans, func(t model.Interval) bool { return t.From <= s.From && s.To <= t.To })
	t := l.spans[i]
	var rest []model.Interval
	if t.From < s.From {
		rest = append(rest, model.Interval{From: t.From, To: s.From})
	}
	if s.To < t.To {
		rest = append(rest, model.Interval{From: s.To, To: t.To})
	}
	l.spans = slices.Replace(l.spans, i, i+1, rest...)
}

// engine keeps the state of links and ports while transfers are placed.
type engine struct {
	p      *model.Problem
	t      *model.Topology
	links  []timeline
	ports  [][]timeline // of each port as many lanes as it has capacity
	sharer [][]int32    // of each link: the ports that it belongs to
	routes *router
	known  map[string]int32 // routes in use
	list   [][]int
	busy   []model.Interval
}

func newEngine(p *model.Problem) *engine {
	t := p.Topology
	e := &engine{p: p, t: t, links: make([]timeline, len(t.Links)), sharer: make([][]int32, len(t.Links)), known: map[string]int32{}}
	add := func(links []int, capacity int) {
		for _, l := range links {
			e.sharer[l] = append(e.sharer[l], int32(len(e.ports)))
		}
		e.ports = append(e.ports, make([]timeline, min(capacity, len(links))))
	}
	for _, port := range t.Ports {
		add(port.Links, port.Capacity)
	}
	if p.Cost == model.Rounds { // a rank sends once and receives once a round
		out, in := t.Out(), t.In()
		for r := range t.Ranks {
			add(out[r], 1)
			add(in[r], 1)
		}
	}
	e.routes = newRouter(p)
	return e
}

// need is a span, counted from the start of a transfer, for which it needs a
// resource: one of the lanes.
type need struct {
	lanes []timeline
	model.Interval
}

// mark remembers what a transfer took, to give it back.
type mark []struct {
	lane *timeline
	span model.Interval
}

func (e *engine) undo(m mark) {
	for _, t := range m {
		t.lane.release(t.span)
	}
}

// place finds the route and the time at which a move ends first, not starting
// before earliest and not ending before endAfter, and takes them.
func (e *engine) place(m Move, earliest, endAfter model.Time) (model.Transfer, mark, error) {
	routes := m.Routes
	if routes == nil {
		candidates, err := e.routes.between(m.Src, m.Dst)
		if err != nil {
			return model.Transfer{}, nil, err
		}
		for _, c := range candidates {
			routes = append(routes, e.pickLinks(c, earliest))
		}
	}
	var best model.Transfer
	var bestRoute []int
	var bestNeeds []need
	for _, route := range routes {
		start, end, needs := e.fit(route, m.Chunk, earliest, endAfter)
		if bestRoute == nil || end < best.End {
			best = model.Transfer{Chunk: int32(m.Chunk), Src: int32(m.Src), Dst: int32(m.Dst), Op: m.Op, Start: start, End: end}
			bestRoute, bestNeeds = route, needs
		}
	}
	best.Route = e.id(bestRoute)
	return best, e.take(bestNeeds, best.Start), nil
}

// fit returns the first time at which a transfer over route can start.
func (e *engine) fit(route []int, chunk int, earliest, endAfter model.Time) (start, end model.Time, needs []need) {
	duration := model.Time(1)
	e.busy = e.busy[:0]
	start = earliest
	if e.p.Cost.Synchronous() {
		for range route {
			e.busy = append(e.busy, model.Interval{From: 0, To: 1})
		}
	} else {
		size := e.p.Chunks[chunk].Size
		duration = e.t.Duration(route, size)
		e.busy = e.t.Busy(e.p.Cost, route, size, e.busy)
		start = max(start, e.p.ReleaseOf(e.t.Links[route[0]].Src))
		for _, l := range route {
			if v := e.t.Links[l].Dst; e.t.IsRank(v) {
				start = max(start, e.p.ReleaseOf(v))
			}
		}
	}
	start = max(start, endAfter-duration)
	for n, l := range route {
		needs = append(needs, need{e.links[l : l+1], e.busy[n]})
		for _, p := range e.sharer[l] {
			needs = append(needs, need{e.ports[p], e.busy[n]})
		}
	}
	for moved := true; moved; {
		moved = false
		for _, n := range needs {
			if at, _ := firstLane(n, start); at > start {
				start, moved = at, true
			}
		}
	}
	return start, start.Add(duration), needs
}

// firstLane returns when, from start on, a need can be met first, and by which lane.
func firstLane(n need, start model.Time) (model.Time, int) {
	best, lane := model.MaxTime, 0
	for i := range n.lanes {
		if at := n.lanes[i].free(start.Add(n.From), n.To-n.From) - n.From; at < best {
			best, lane = at, i
		}
		if best == start {
			break
		}
	}
	return best, lane
}

func (e *engine) take(needs []need, start model.Time) mark {
	var m mark
	for _, n := range needs {
		_, lane := firstLane(n, start)
		span := model.Interval{From: start.Add(n.From), To: start.Add(n.To)}
		n.lanes[lane].take(span)
		m = append(m, struct {
			lane *timeline
			span model.Interval
		}{&n.lanes[lane], span})
	}
	return m
}

// pickLinks chooses, for each step of a path, the parallel link that is free first.
func (e *engine) pickLinks(steps [][]int, at model.Time) []int {
	route := make([]int, len(steps))
	for i, parallel := range steps {
		route[i] = parallel[0]
		if len(parallel) == 1 {
			continue
		}
		best := model.MaxTime
		for _, l := range parallel {
			if free := e.links[l].free(at, 1); free < best {
				best, route[i] = free, l
			}
		}
	}
	return route
}

// id returns the number of a route, a new one if it was not used before.
func (e *engine) id(route []int) int32 {
	key := make([]byte, 0, 4*len(route))
	for _, l := range route {
		key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	id, ok := e.known[string(key)]
	if !ok {
		id = int32(len(e.list))
		e.known[string(key)] = id
		e.list = append(e.list, route)
	}
	return id
}

// schedule returns the placed transfers in order of time.
func (e *engine) schedule(placed []model.Transfer) *model.Schedule {
	slices.SortStableFunc(placed, func(a, b model.Transfer) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	return &model.Schedule{Form: model.FormFor(e.p.Cost), Routes: e.list, Transfers: placed}
}

package place

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// engine gives moves routes and times.
type engine struct {
	p      *model.Problem
	board  *timing.Board
	routes *router
	known  map[string]int32 // routes in use
	list   [][]int
	free   []network.Use // scratch
}

func newEngine(p *model.Problem) *engine {
	return &engine{p: p, board: timing.NewBoard(p), routes: newRouter(p), known: map[string]int32{}}
}

// booking remembers what a transfer took, to give it back.
type booking struct {
	uses   []network.Use
	start  model.Time
	places []int32
}

func (e *engine) undo(b booking) { e.board.Cancel(b.uses, 0, b.start, 0, b.places) }

// place finds the route and the time at which a move ends first, not starting
// before earliest and not ending before endAfter, and takes them.
func (e *engine) place(m Move, earliest, endAfter model.Time) (model.Transfer, booking, error) {
	routes := m.Routes
	if routes == nil {
		candidates, err := e.routes.between(m.Src, m.Dst)
		if err != nil {
			return model.Transfer{}, booking{}, err
		}
		for _, c := range candidates {
			routes = append(routes, e.pickLinks(c, earliest))
		}
	}
	var best model.Transfer
	var bestRoute []int
	var booked booking
	size := e.p.Chunks[m.Chunk].Size
	for _, route := range routes {
		duration := e.board.Duration(route, size)
		uses := e.board.Uses(route, size, e.free[:0])
		start := e.board.First(uses, 0, max(earliest, e.board.Release(route), endAfter-duration))
		if end := start.Add(duration); bestRoute == nil || end < best.End {
			best = model.Transfer{Chunk: int32(m.Chunk), Src: int32(m.Src), Dst: int32(m.Dst), Op: m.Op, Start: start, End: end}
			bestRoute, booked, e.free = route, booking{uses: uses, start: start}, booked.uses
		} else {
			e.free = uses
		}
	}
	best.Route = e.id(bestRoute)
	booked.places = e.board.Take(booked.uses, 0, booked.start, 0, nil)
	return best, booked, nil
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
			if free := e.board.Idle(l, at); free < best {
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
	slices.SortStableFunc(placed, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return &model.Schedule{Form: model.FormFor(e.p.Cost), Routes: e.list, Transfers: placed}
}

//go:build !js

package broadcast

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// rounds is a broadcast on the planes of a machine: the root scatters chunks, one to each other rank in a round, and each rank sends those that it got
// some rounds before to all others. Ranks send at once, rank r to rank r+i in turn for each i, so that no two send to the same one on a plane, and all
// links are busy. With n ranks, x for the buffer over the links of a rank, a latency of a, and R rounds it takes about 2a + x + 2x/R, of which
// a + x and nearly another a are needed: what the root sends last goes on from another rank.
type rounds struct {
	*network.Planes
	p            *model.Problem
	n, root      int
	count, wait  int   // rounds in which the root sends, and after which others send on what came
	size         int64 // of a chunk, but the last ones
	busy, length model.Time
}

// Limits of broadcasts on planes.
const (
	mostOnPlanes = 3 << 20 // transfers
	moreRounds   = 8       // the part of the rounds by which there are more each time
)

// overPlanes returns the broadcast in as few rounds on planes as are enough, or in as many as there may be; nothing if the network has no planes, or
// one alone: there binomial trees do with fewer transfers.
func overPlanes(ctx context.Context, p *model.Problem, o solve.Options) (r solve.Result) {
	x := network.PlanesOf(p)
	n := p.Topology.Ranks
	if x == nil || len(x.Up) == 1 || n < 3 {
		return r
	}
	board := timing.NewBoard(p)
	var best *rounds
	least := model.MaxTime
	for count := 1; ctx.Err() == nil; count += count/moreRounds + 1 {
		y := &rounds{Planes: x, p: p, n: n, root: p.Collective.Root, count: count, size: (p.Size-1)/int64(count*(n-1)) + 1}
		if int64(count-1)*y.size*int64(n-1) >= p.Size || count*(n-1)*(n-1) > o.AtMost(mostOnPlanes) { // the last round has nothing to send
			break
		}
		y.use(board)
		if end, ok := y.send(nil); ok && end < least {
			best, least = y, end
		}
		if least <= max(o.Bound, o.Enough) {
			break
		}
	}
	if best == nil || ctx.Err() != nil {
		return r
	}
	return best.result()
}

// use notes for how long a chunk keeps links busy and is on its way, and after how many rounds it can be sent on.
func (x *rounds) use(board *timing.Board) {
	route := []int{x.Up[0][0], x.Down[0][1]}
	x.length = board.Duration(route, x.size)
	for _, u := range board.Uses(route, x.size, nil) {
		x.busy = max(x.busy, u.Extra)
	}
	whole := max(1, x.busy*model.Time(x.n-1)/model.Time(len(x.Up))) // a round, about
	x.wait = int(x.length/whole) + 2
}

// send returns when all is over, and false if something would be sent on before it has come. It tells what is sent by each rank r to rank r+i in a
// round, when and on which plane. It takes O(rounds·n·planes) time.
func (x *rounds) send(tell func(round, i, plane int, start model.Time)) (end model.Time, ok bool) {
	free := make([]model.Time, len(x.Up))
	came := make([]model.Time, x.count) // the last chunk of a round
	for round := range x.count + x.wait {
		for i := 1; i < x.n; i++ {
			plane := 0
			for p := range free {
				if free[p] < free[plane] {
					plane = p
				}
			}
			start := free[plane]
			if before := round - x.wait; before >= 0 && start < came[before] {
				if round < x.count {
					return 0, false
				}
				start = came[before] // nothing else is left to send
			}
			free[plane] = start + x.busy
			if round < x.count {
				came[round] = max(came[round], start+x.length)
			}
			end = max(end, start+x.length)
			if tell != nil {
				tell(round, i, plane, start)
			}
		}
	}
	return end, true
}

// result returns the schedule.
func (x *rounds) result() solve.Result {
	p := *x.p
	p.Chunks = solve.OfSize(p.Size, x.size)
	s := &model.Schedule{Form: model.Timed}
	number := map[[3]int]int32{}
	board := timing.NewBoard(&p)
	last := len(p.Chunks) - 1
	length := []model.Time{x.length, board.Duration([]int{x.Up[0][0], x.Down[0][1]}, p.Chunks[last].Size)}
	add := func(chunk, from, to, plane int, start model.Time) {
		if chunk > last {
			return
		}
		key := [3]int{from, to, plane}
		route, known := number[key]
		if !known {
			route = int32(len(s.Routes))
			s.Routes, number[key] = append(s.Routes, []int{x.Up[plane][from], x.Down[plane][to]}), route
		}
		end := start + length[chunk/max(1, last)]
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(chunk), Src: int32(from), Dst: int32(to), Route: route, Op: model.Copy, Start: start, End: end})
	}
	x.send(func(round, i, plane int, start model.Time) {
		if round < x.count {
			add(round*(x.n-1)+i-1, x.root, (x.root+i)%x.n, plane, start)
		}
		for k := 1; k < x.n && round >= x.wait; k++ {
			from, to := (x.root+k)%x.n, (x.root+k+i)%x.n
			if to != x.root {
				add((round-x.wait)*(x.n-1)+k-1, from, to, plane, start)
			}
		}
	})
	return solve.Result{Problem: &p, Schedule: s, Stop: solve.Done, Note: fmt.Sprintf("%d rounds in which the root scatters chunks and others send them on, on %d planes", x.count, len(x.Up))}
}

//go:build !js

package oneshot

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// planes is the mixture on the planes of a machine. At any time each rank can send to another one on each plane, so that no two ranks send to the same
// one. So all ranks send at once, rank r to rank r+i in turn for each i, and there is no search for free places: what is found out for one rank
// holds for all. Planes that have lost a link are not used, and no other links.
type planes struct {
	*network.Planes
	s      *search
	n      int
	board  *timing.Board // empty
	known  map[int64]*occupation
	number map[[3]int]int32 // of the route between two ranks on a plane
}

// occupation is for how long a chunk keeps a link busy, and how long it is on its way.
type occupation struct{ busy, length model.Time }

// share is how a buffer is divided: some units of it are sent one-shot, in parts, and each owner adds up some pieces of the others.
type share struct {
	units         int64
	parts, pieces int
}

// phases of the mixture.
const (
	toOwners = iota
	oneShot
	fromOwners
)

// Limits of the mixture on planes.
const (
	mostOwned      = 1 << 7  // pieces of an owner
	mostOnPlanes   = 1 << 19 // transfers
	mostElsewhere  = 1 << 18 // transfers that a search places in all on other networks, where other methods usually win
	fewerTransfers = 1000    // the part of the makespan that more transfers have to gain, unless they are few
	shareSteps     = 16      // parts of the buffer by which the share of one-shot chunks is searched at first
)

// mostMixed returns how many transfers a search for a mixture places in all.
func mostMixed(p *model.Problem) int {
	if network.PlanesOf(p) == nil {
		return mostElsewhere
	}
	return maxMixed
}

// planes returns what the mixture does on the planes of a network, nil if it has none.
func (s *search) planes() *planes {
	x := network.PlanesOf(s.p)
	if x == nil || s.n() < 3 {
		return nil
	}
	return &planes{Planes: x, s: s, n: s.n(), board: timing.NewBoard(s.p), known: map[int64]*occupation{}, number: map[[3]int]int32{}}
}

// of returns how long chunks of a size take.
func (x *planes) of(size int64) *occupation {
	y := x.known[size]
	if y == nil {
		route := []int{x.Up[0][0], x.Down[0][1]}
		y = &occupation{length: x.board.Duration(route, size)}
		for _, u := range x.board.Uses(route, size, nil) {
			y.busy = max(y.busy, u.Extra)
		}
		x.known[size] = y
	}
	return y
}

// run returns when all is over if ranks send the pieces of owners to these, then one-shot chunks, then owned pieces, each time on the plane
// that is free first, and false if a one-shot chunk would be sent after others were added to it. It tells what is sent by each rank r to rank
// r+i, when and on which plane. It takes O(n·pieces·planes) time.
func (x *planes) run(d share, tell func(phase, chunk, i, plane int, start model.Time)) (end model.Time, ok bool) {
	free := make([]model.Time, len(x.Up))
	send := func(phase, chunk, i int, y *occupation, after model.Time) (start model.Time) {
		plane := 0
		for p := range free {
			if free[p] < free[plane] {
				plane = p
			}
		}
		start = max(free[plane], after)
		free[plane] = start + y.busy
		end = max(end, start+y.length)
		if tell != nil {
			tell(phase, chunk, i, plane, start)
		}
		return start
	}
	one, pieces := x.sizes(d)
	ready := make([]model.Time, len(pieces))
	for j, size := range pieces {
		for i := 1; i < x.n; i++ {
			ready[j] = send(toOwners, j, i, x.of(size), 0) + x.of(size).length
		}
	}
	for j, size := range one {
		first, last := model.Time(-1), model.Time(0)
		for i := 1; i < x.n; i++ {
			last = send(oneShot, j, i, x.of(size), 0)
			if first < 0 {
				first = last
			}
		}
		if last >= first+x.of(size).length {
			return 0, false
		}
	}
	for j, size := range pieces {
		for i := 1; i < x.n; i++ {
			send(fromOwners, j, i, x.of(size), ready[j])
		}
	}
	return end, true
}

// sizes returns the sizes of one-shot chunks, and of the largest chunk of each piece: that of its first owner.
func (x *planes) sizes(d share) (one, pieces []int64) {
	unit, parts := x.s.unit(), int64(d.parts)
	for i := range parts {
		if size := d.units*(i+1)/parts - d.units*i/parts; size > 0 {
			one = append(one, size*unit)
		}
	}
	for j := range d.pieces {
		if size := x.owned(d, j, 0); size > 0 {
			pieces = append(pieces, size)
		}
	}
	return one, pieces
}

// owned returns the size of a piece of an owner: all get units in turn.
func (x *planes) owned(d share, piece, owner int) int64 {
	unit, all := x.s.unit(), int64(d.pieces*x.n)
	return (x.s.p.Size/unit - d.units - int64(piece*x.n+owner) + all - 1) / all * unit
}

// mix keeps the best mixture on planes: for each number of pieces it tries parts of the buffer first, and then finer steps around the best.
func (x *planes) mix() {
	s := x.s
	units := s.p.Size / s.unit()
	best, least := share{}, model.MaxTime
	few := func(parts, pieces int) bool {
		return parts*pieces == 1 || (2*pieces+parts)*x.n*(x.n-1) <= s.atMost(mostOnPlanes)
	}
	for pieces := 1; pieces <= mostOwned && few(1, pieces) && !s.b.Spent(); pieces += max(1, pieces/2) {
		here, end := share{}, model.MaxTime // the best with this many pieces
		look := func(units int64) (sooner bool) {
			for _, parts := range []int{1, 4, 16, len(x.Up)} {
				if s.b.Spent() || !few(parts, pieces) {
					continue
				}
				d := share{units, parts, pieces}
				if t, ok := x.run(d, nil); ok && (t < end-end/fewerTransfers || t < end && parts == here.parts) {
					here, end, sooner = d, t, true
				}
			}
			return sooner
		}
		for i := range int64(shareSteps + 1) {
			look(i * units / shareSteps)
		}
		for step := units / (2 * shareSteps); step >= 1; step /= 2 {
			for at := here.units; at >= step && look(at-step) || at+step <= units && look(at+step); at = here.units {
			}
		}
		if end < least-least/fewerTransfers || end < least && pieces <= fewPieces {
			best, least = here, end
		}
	}
	if least < model.MaxTime {
		x.keep(best)
	}
}

// keep places a mixture, and keeps it if it is the best of all.
func (x *planes) keep(d share) {
	s := x.s
	p := *s.p
	p.Chunks = nil
	at := int64(0)
	add := func(size int64) int {
		p.Chunks = append(p.Chunks, model.Chunk{Offset: at, Size: size})
		at += size
		return len(p.Chunks) - 1
	}
	one, pieces := x.sizes(d)
	for _, size := range one {
		add(size)
	}
	chunk := make([][]int, len(pieces)) // by piece and owner, -1 where there is none
	for j := range chunk {
		for owner := range x.n {
			k := -1
			if size := x.owned(d, j, owner); size > 0 {
				k = add(size)
			}
			chunk[j] = append(chunk[j], k)
		}
	}
	b := s.builder(&p)
	x.run(d, func(phase, j, i, plane int, start model.Time) {
		for r := range x.n {
			to := (r + i) % x.n
			op, k := model.Reduction, j
			switch phase {
			case toOwners:
				k = chunk[j][to]
			case fromOwners:
				op, k = model.Copy, chunk[j][r]
			}
			if k >= 0 {
				end := start + x.of(p.Chunks[k].Size).length
				b.transfers = append(b.transfers, model.Transfer{Chunk: int32(k), Src: int32(r), Dst: int32(to), Route: x.route(r, to, plane), Op: op, Start: start, End: end})
			}
		}
	})
	s.keep(b, fmt.Sprintf("%s of %s one-shot", model.FormatBytes(d.units*s.unit()), model.FormatBytes(p.Size)))
}

// route returns the number of the route from one rank to another one on a plane.
func (x *planes) route(from, to, plane int) int32 {
	key := [3]int{from, to, plane}
	r, known := x.number[key]
	if !known {
		r = int32(len(x.s.ways.routes))
		x.s.ways.routes = append(x.s.ways.routes, []int{x.Up[plane][from], x.Down[plane][to]})
		x.number[key] = r
	}
	return r
}

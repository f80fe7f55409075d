package sat

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/place"
)

// maxRoutes is how many choices among parallel links an arc is offered with.
const maxRoutes = 64

// move is a transfer over an arc that starts in an epoch.
type move struct {
	chunk, arc, epoch int
	op                model.Op
}

// Schedule turns values of the variables that satisfy the formula, into a schedule of the
// question's problem. Moves of no use are left out. Under the timed cost models every
// move starts as early as its data and its links allow, in the order of the model's
// epochs; where epochs do not divide the times of the hops the schedule can last longer
// than the horizon.
func (e *Formula) Schedule(values []bool) (*model.Schedule, error) {
	if len(values) != e.Vars+1 {
		return nil, fmt.Errorf("sat: a model of %d variables, want %d", len(values)-1, e.Vars)
	}
	moves := e.copies
	if e.sums != nil {
		moves = e.reductions
	}
	s, err := e.place(moves(func(l Lit) bool { return values[l] }))
	if err != nil {
		return nil, fmt.Errorf("sat: %w", err)
	}
	if e.p == e.q.Problem {
		return s, nil
	}
	p := e.q.Problem
	s = solve.ReverseSchedule(p, s)
	if len(p.Members()) == p.Topology.Ranks {
		return s, nil
	}
	// Where two parts come to a rank outside the group at one time, it has nothing to
	// add them to: one must come first.
	program := place.NewProgram(p)
	program.Append(s)
	return program.PlaceInOrder()
}

// copies keeps, of each chunk and rank that needs it or passes it on, the send that
// comes first.
func (e *Formula) copies(is func(Lit) bool) []move {
	var moves []move
	for k := range e.holder {
		first := make([]*move, e.p.Topology.Ranks)
		for v := range first {
			at := never
			for _, a := range e.into[v] {
				w, delay := e.send[k][a], e.pace(k, a).delay
				for t := w.first; t <= w.last && t+delay < at; t++ {
					if is(w.lit + Lit(t-w.first)) {
						at, first[v] = t+delay, &move{k, a, t, model.Copy}
					}
				}
			}
		}
		needed := slices.Clone(e.wanted[k])
		for len(needed) > 0 {
			v := needed[0]
			needed = needed[1:]
			if m := first[v]; m != nil {
				moves, first[v] = append(moves, *m), nil
				needed = append(needed, e.arcs[m.arc].Src)
			}
		}
	}
	return moves
}

// reductions goes back from the end and keeps what a needed value was made of.
func (e *Formula) reductions(is func(Lit) bool) []move {
	var moves []move
	for k := range e.p.Chunks {
		needed := slices.Repeat([]bool{true}, e.p.Topology.Ranks)
		for t := e.q.Horizon - 1; t >= 0; t-- {
			before := slices.Clone(needed)
			read := make([]bool, len(needed))
			for a, x := range e.arcs {
				switch {
				case !needed[x.Dst]:
				case is(e.sums.copyOf(k, a, t)):
					before[x.Dst] = false
					read[x.Src] = true
					moves = append(moves, move{k, a, t, model.Copy})
				case is(e.sums.addOf(k, a, t)):
					read[x.Src] = true
					moves = append(moves, move{k, a, t, model.Reduction})
				}
			}
			for v := range needed {
				needed[v] = before[v] || read[v]
			}
		}
	}
	return moves
}

// place gives the moves links and times, epoch by epoch.
func (e *Formula) place(moves []move) (*model.Schedule, error) {
	slices.SortStableFunc(moves, func(a, b move) int { return a.epoch - b.epoch })
	program := place.NewProgram(e.p)
	for i := 0; i < len(moves); {
		epoch := moves[i].epoch
		var batch []place.Move
		for ; i < len(moves) && moves[i].epoch == epoch; i++ {
			a := e.arcs[moves[i].arc]
			batch = append(batch, place.Move{Chunk: moves[i].chunk, Src: a.Src, Dst: a.Dst, Op: moves[i].op, Routes: e.routes(a)})
		}
		program.Batch(batch...)
		if e.p.Cost.Synchronous() {
			program.Barrier()
		}
	}
	return program.PlaceInOrder()
}

// routes lists the choices of links along an arc; nil leaves the choice to the router.
func (e *Formula) routes(a hop.Bundled) [][]int {
	if a.Bundles == nil {
		return nil
	}
	all := [][]int{nil}
	for _, b := range a.Bundles {
		var longer [][]int
		for _, route := range all {
			for _, l := range e.bundles[b].Links {
				longer = append(longer, append(slices.Clone(route), l))
			}
		}
		all = longer[:min(len(longer), maxRoutes)]
	}
	return all
}

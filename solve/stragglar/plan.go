package stragglar

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// plan is the whole collective, in phases: what the ready ranks do before the late ones
// arrive, the rounds after that, and an ordinary allreduce of what the first two leave
// out. Ranks are numbered as in ranks: the ready ones first.
type plan struct {
	p      *model.Problem // with its cut
	ranks  []int
	before [][]move
	rounds []Round
	rest   [][]move
	note   string
}

// lateLast returns the members with those last that arrive at since or later, in order of
// arrival, and how many are before them.
func lateLast(p *model.Problem, since model.Time) (ranks []int, ready int) {
	var late []int
	for _, r := range p.Members() {
		if p.ReleaseOf(r) >= since {
			late = append(late, r)
		} else {
			ranks = append(ranks, r)
		}
	}
	slices.SortStableFunc(late, func(a, b int) int { return int(min(1, max(-1, p.ReleaseOf(a)-p.ReleaseOf(b)))) })
	return append(ranks, late...), len(ranks)
}

// lastLast returns the members with that one last that arrives last, the last one of the
// group where several do or none is late.
func lastLast(p *model.Problem) []int {
	ranks := slices.Clone(p.Members())
	late := len(ranks) - 1
	for i, r := range ranks {
		if p.ReleaseOf(r) > p.ReleaseOf(ranks[late]) {
			late = i
		}
	}
	straggler := ranks[late]
	return append(slices.Delete(ranks, late, late+1), straggler)
}

// hide returns the plan for one straggler: the ready members' reduce-scatter, a ring that
// leaves the sum of chunk c with ready member owners[c], and then the rounds.
func hide(p *model.Problem, owners []int, rounds []Round, note string) *plan {
	ranks := lastLast(p)
	return &plan{p: p, ranks: ranks, before: reduceScatter(len(ranks)-1, owners), rounds: rounds, note: note}
}

// maxPlaced is up to how many transfers are placed by searching for free times where the
// rounds can also be written down as they are.
const maxPlaced = 1 << 18

// place returns the schedule of a plan. Transfers are placed in their order as early as
// their data and links allow: where the late ranks arrive early, their rounds begin as the
// sums come, or, in rounds, where that ends earlier, when all sums are there.
func (x *plan) place(ctx context.Context) (solve.Result, error) {
	result := solve.Result{Problem: x.p, Stop: solve.Done, Note: x.note}
	apart, inTime := x.direct()
	if apart != nil && (inTime || len(apart.Transfers) > maxPlaced) {
		result.Schedule = apart
		return result, nil
	}
	var err error
	result.Schedule, err = x.placeInOrder(ctx, false)
	if stop := solve.StopOf(ctx); stop != 0 {
		if result.Stop = stop; result.Schedule == nil {
			result.Schedule = apart
		}
		return result, nil
	}
	if err != nil && apart == nil {
		return solve.Result{}, solve.NotServed("%v", err)
	}
	if apart == nil && x.p.Cost.Synchronous() { // a round with a late rank holds up all that comes later
		if apart, err = x.placeInOrder(ctx, true); err != nil && ctx.Err() == nil {
			return solve.Result{}, solve.NotServed("%v", err)
		}
	}
	if apart != nil && (result.Schedule == nil || x.p.Makespan(apart) < x.p.Makespan(result.Schedule)) {
		result.Schedule = apart
	}
	return result, nil
}

// placeInOrder places the phases, with a barrier after the first if asked.
func (x *plan) placeInOrder(ctx context.Context, barrier bool) (*model.Schedule, error) {
	program := place.NewProgram(x.p).Until(ctx)
	batch := func(moves []move) {
		b := make([]place.Move, 0, len(moves))
		for _, m := range moves {
			b = append(b, place.Move{Chunk: m.chunk, Src: x.ranks[m.from], Dst: x.ranks[m.to], Op: m.op})
		}
		program.Batch(b...)
	}
	for _, round := range x.before {
		batch(round)
	}
	if barrier {
		program.Barrier()
	}
	for _, round := range x.rounds {
		batch(round.moves)
	}
	for _, round := range x.rest {
		batch(round)
	}
	return program.PlaceInOrder()
}

// direct writes the rounds down as they are, in O(transfers) time, where that can be done:
// in rounds, where a rank comes to every other over a link or over one switch, so that its
// one send and one receive are all that limits it. Else it returns nil. It is as good as
// placing them if the reduce-scatter ends in time, before the last rank arrives.
func (x *plan) direct() (s *model.Schedule, inTime bool) {
	t := x.p.Topology
	if x.p.Cost != model.Rounds || len(t.Ports) > 0 {
		return nil, false
	}
	s = &model.Schedule{Form: model.InRounds}
	out := t.Out()
	known := map[[2]int]int32{}
	route := func(u, v int) int32 {
		if i, ok := known[[2]int{u, v}]; ok {
			return i
		}
		path := hopTo(t, out, u, v)
		if path == nil {
			return -1
		}
		i := int32(len(s.Routes))
		s.Routes = append(s.Routes, path)
		known[[2]int{u, v}] = i
		return i
	}
	at := model.Time(0)
	write := func(moves []move) bool {
		for _, m := range moves {
			u, v := x.ranks[m.from], x.ranks[m.to]
			r := route(u, v)
			if r < 0 {
				return false
			}
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(m.chunk), Src: int32(u), Dst: int32(v), Route: r, Op: m.op, Start: at, End: at + 1})
		}
		at++
		return true
	}
	for _, moves := range x.before {
		if !write(moves) {
			return nil, false
		}
	}
	inTime = x.p.Makespan(s) <= x.p.ReleaseOf(x.ranks[len(x.ranks)-1])
	for _, round := range x.rounds {
		if !write(round.moves) {
			return nil, false
		}
	}
	for _, moves := range x.rest {
		if !write(moves) {
			return nil, false
		}
	}
	return s, inTime
}

package broadcast

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// overMachines returns a broadcast over machines, if there are any: one with few transfers that is near enough, or else one with as
// many as there is time to verify, which is worth them only if the few are not near. The few come first, so that there is a schedule
// in any case.
func overMachines(ctx context.Context, p *model.Problem, o solve.Options) (best solve.Result) {
	m := newMachines(p)
	if m == nil {
		return best
	}
	most := o.AtMost(mostOverMachines)
	best = m.broadcast(ctx, most/muchFewer, o.Bound, max(o.Bound, o.Enough))
	if nearly := max(o.Bound, o.Nearly()); best.Schedule == nil || best.Makespan() > nearly {
		best = sooner(best, m.broadcast(ctx, most, o.Bound, nearly))
	}
	return best
}

// broadcast returns the broadcast of the best plan with a number of transfers at most: see planned.
func (m *machines) broadcast(ctx context.Context, most int, bound, enough model.Time) solve.Result {
	x, found := m.planned(bound, enough, int64(most/(len(m.p.Members())-1)))
	if !found {
		return solve.Result{}
	}
	s := newParcels(&x)
	if s.send(ctx); ctx.Err() != nil {
		return solve.Result{}
	}
	q := *m.p
	q.Chunks = s.chunks
	note := fmt.Sprintf("%d chunks over hubs, %d stars, %d small ones, of up to %d and %d bytes", x.larges()-x.starred(), x.starred(), x.smalls(), x.large, x.small)
	return solve.Result{Problem: &q, Schedule: &s.Schedule, Stop: solve.Done, Note: note}
}

// mostOverMachines is how many transfers a broadcast over machines has at most.
const mostOverMachines = 5 << 20

// parcels is the schedule of a plan, which is being made.
type parcels struct {
	*plan
	model.Schedule
	chunks []model.Chunk
	routes map[[2]int]int32
	base   []int // by rail: the first of its large chunks, those of hubs first
}

func newParcels(x *plan) *parcels {
	s := &parcels{plan: x, chunks: x.chunks(), routes: map[[2]int]int32{}}
	s.Form = model.Timed
	at := 0
	for i, n := range x.stars {
		s.base = append(s.base, at)
		at += x.hubbed(i) + n
	}
	return s
}

// smallOf returns the small chunk of a round whose hub is a rank, or which a rank of home has.
func (s *parcels) smallOf(round, group, rail int) int {
	return int(s.larges()) + (round*len(s.groups)+group)*s.rails() + rail
}

// add sends a chunk.
func (s *parcels) add(chunk, from, to int, at model.Time, kind int) {
	key := [2]int{from, to}
	r, known := s.routes[key]
	if !known {
		r = int32(len(s.Routes))
		s.routes[key] = r
		s.Routes = append(s.Routes, []int{s.out[from][kind], s.in[to][kind]})
	}
	lasts := s.p.Topology.Duration(s.Routes[r], s.chunks[chunk].Size)
	s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(chunk), Src: int32(from), Dst: int32(to), Route: r, Op: model.Copy, Start: at, End: at + lasts})
}

// carry sends a chunk from a rank to one of its rail in another group in a place, from where it is handed on in the group.
func (s *parcels) carry(chunk, rail, from, to, place int) {
	at := model.Time(place) * s.place()
	s.add(chunk, s.groups[from][rail], s.groups[to][rail], at, 0)
	s.hand(chunk, to, rail, at+s.place()+s.far.latency, s.near.lasts(s.large))
}

// hand sends a chunk from a rank to the others of its group.
func (s *parcels) hand(chunk, group, rail int, at, step model.Time) {
	ranks := s.groups[group]
	for t := 1; t < len(ranks); t++ {
		s.add(chunk, ranks[rail], ranks[(rail+t)%len(ranks)], at, 1)
		at += step
	}
}

// send makes the schedule until ctx is done.
func (s *parcels) send(ctx context.Context) {
	for rail := range s.rails() {
		for place := s.first[rail]; place < s.until && ctx.Err() == nil; place++ {
			s.hub(s.base[rail]+place-s.first[rail], rail, place)
		}
		for k := range s.stars[rail] {
			for place := s.begin[rail] + k*s.others(); place < s.begin[rail]+(k+1)*s.others(); place++ {
				s.carry(s.base[rail]+s.hubbed(rail)+k, rail, 0, s.turnOf(place), place)
			}
		}
	}
	for round := range s.rounds {
		s.entrust(round)
		s.everywhere(round)
	}
	if s.rails() > 1 && ctx.Err() == nil {
		s.home()
	}
}

// hub sends a chunk to a hub in a place, and from there to the rest of the rail.
func (s *parcels) hub(chunk, rail, place int) {
	hub := s.turnOf(place)
	s.carry(chunk, rail, 0, hub, place)
	for at := place + s.behind; at < place+s.behind+s.others(); at++ {
		if to := s.target(hub, at); to != 0 {
			s.carry(chunk, rail, hub, to, at)
		}
	}
}

// entrust sends the small chunks of a round to their hubs: each rank of home those of its rail, after the large chunks of
// hubs; or where there are none the root all of them, before anything else.
func (s *parcels) entrust(round int) {
	n, rails := s.others(), s.rails()
	for k := range n * rails {
		rail, step := k/n, s.far.lasts(s.plan.small)
		if s.until > 0 {
			place := s.until + round*n + k%n
			s.carry(s.smallOf(round, s.turnOf(place), rail), rail, 0, s.turnOf(place), place)
			continue
		}
		at := model.Time(round*n*rails+k) * step
		chunk, to := s.smallOf(round, 1+k%n, rail), s.groups[1+k%n][rail]
		s.add(chunk, s.groups[0][0], to, at, 0)
		s.hand(chunk, 1+k%n, rail, at+step+s.far.latency, s.near.lasts(s.plan.small))
	}
}

// everywhere sends the small chunks of a round from their hubs, and those of the ranks of home, to the ranks of all groups
// but home and that of the hub.
func (s *parcels) everywhere(round int) {
	at := s.turn(round)
	for groups := 1; groups <= s.others(); groups++ {
		for rails := range s.rails() {
			for from, ranks := range s.groups {
				to := (from + groups) % len(s.groups)
				for rail := 0; rail < len(ranks) && to != 0; rail++ {
					s.add(s.smallOf(round, from, rail), ranks[rail], s.groups[to][(rail+rails)%len(ranks)], at, 0)
				}
			}
			at += s.far.lasts(s.plan.small)
		}
	}
}

// home hands chunks round in the group of the root, in cycles of a place for each rank. There are others in an odd number. In place s
// of a cycle, one for each of them, the root sends to s a chunk of its rail, and a sends to 2s-a what came before: all
// send and receive once in a place, and everyone gets what a has in as many. In the last place of the cycles the root sends what it
// alone has to each in turn, who sends it to all others in the same way, one in each cycle.
func (s *parcels) home() {
	ranks, step := s.groups[0], s.near.lasts(s.large)
	n, lag := len(ranks)-1, s.lag()
	lists := make([][]int, len(ranks))
	cycles := 0
	for i := range lists {
		lists[i] = s.handed(i)
		cycles = max(cycles, len(lists[i]))
	}
	at := model.Time(0)
	send := func(list, cycle, from, to int) {
		if cycle >= 0 && cycle < len(lists[list]) {
			s.add(lists[list][cycle], ranks[from], ranks[to], at, 1)
		}
	}
	for k := range cycles + lag + n - 1 {
		for place := range n {
			send(place+1, k, 0, place+1)
			for a := range n {
				if a != place {
					send(a+1, k-lag, a+1, 1+(2*place-a+n)%n)
				}
			}
			at += step
		}
		send(0, k, 0, 1+k%n)
		for a := range n {
			if a != k%n {
				since := (k-lag-a)%n + n
				send(0, k-lag-since%n, a+1, 1+(2*(k%n)-a+n)%n)
			}
		}
		at += step
	}
}

// handed returns the chunks that are handed round from a rank of home, in their order: those that it sends, the first ones first.
// Small chunks that the root sends to hubs before anything else are dealt to all, and come last.
func (s *parcels) handed(rail int) (list []int) {
	large := func(from, to int) {
		for k := from; k < to; k++ {
			list = append(list, s.base[rail]+k)
		}
	}
	smalls := func() {
		for round := range s.rounds {
			for k := range s.others() {
				place := s.until + k
				list = append(list, s.smallOf(round, s.turnOf(place), rail))
			}
		}
	}
	hubbed := s.hubbed(rail)
	large(0, hubbed)
	if s.until > 0 {
		smalls()
	}
	large(hubbed, hubbed+s.stars[rail])
	for round := range s.rounds {
		list = append(list, s.smallOf(round, 0, rail))
	}
	if s.until == 0 {
		smalls()
	}
	return list
}

package quotient

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of rebuilding.
const (
	rebuilt      = 4       // trials
	mostRebuilt  = 1 << 12 // jobs
	idleRebuilds = 200     // as many that gain nothing end it
	lateStride   = 400     // the part of the makespan by which it is to fall at a time
)

// rebuild has the best gatherings improved: see trial.rebuild.
func (s *search) rebuild() {
	if s.best == nil || s.p.Collective.Kind != model.AllGather && s.p.Collective.Kind != model.ReduceScatter {
		return
	}
	for _, t := range s.different(rebuilt) {
		if s.ctx.Err() != nil || s.met() || s.gap() <= littleGap {
			return
		}
		if len(t.best.jobs) > mostRebuilt {
			continue
		}
		work := &counter{ctx: s.ctx, limit: 2 * s.usual / rebuilt}
		t.rebuild(s.bound, work)
		s.work += work.n
		s.note(t)
	}
}

// rebuild takes some parts out of the best plan of an allgather or reduce-scatter, those that end late among them, and gathers
// them beside the others as they are; what is no later stays (Shaw, CP 1998).
func (t *trial) rebuild(bound model.Time, work *counter) {
	sum := t.p.Collective.Reduces()
	s, x := t.x.s, t.best
	if sum {
		s, x = t.x.r, t.x.r.backward(t.best, t.x.turns)
		x.early(x.waits(), nil) // sums start early, and so end late there
	}
	target := x.sooner()
	late := x.lateness(target)
	for idle := 0; idle < idleRebuilds && !work.stop() && t.best.end > bound; idle++ {
		y := t.regather(s, x, target, work)
		if y == nil {
			continue
		}
		after := y.lateness(target)
		if after > late {
			continue
		}
		if after < late {
			idle = 0
		}
		if x, late = y, after; late > 0 {
			continue
		}
		best := &plan{s: x.s, parts: x.parts, jobs: slices.Clone(x.jobs), end: x.end}
		if sum {
			best = t.x.s.backward(best, t.x.twins)
			best.early(best.waits(), nil)
		}
		for best.justify(nil) {
			work.n += 4 * hopWork * int64(len(best.jobs))
		}
		t.keep(best, t.rules...)
		target = x.sooner()
		late = x.lateness(target)
	}
}

// sooner returns when the plan is to end next.
func (x *plan) sooner() model.Time { return x.end - max(1, x.end/lateStride) }

// lateness returns by how much parts end after a time, in all.
func (x *plan) lateness(target model.Time) (sum model.Time) {
	for _, end := range x.ends() {
		sum += max(0, end-target)
	}
	return sum
}

// ends returns when each part is where it has to be.
func (x *plan) ends() []model.Time {
	list := make([]model.Time, len(x.parts))
	for i := range x.jobs {
		j := &x.jobs[i]
		list[j.part] = max(list[j.part], j.end)
	}
	return list
}

// regather returns a plan in which some parts are gathered again, no later than the whole ends, or nil.
func (t *trial) regather(s *shop, x *plan, target model.Time, work *counter) *plan {
	ends := x.ends()
	place := slices.Repeat([]int32{-1}, len(x.parts)) // among those taken out
	var out []int32
	take := func(i int) {
		if place[i] < 0 {
			place[i] = int32(len(out))
			out = append(out, int32(i))
		}
	}
	var late []int
	for i, end := range ends {
		if end > target {
			late = append(late, i)
		}
	}
	for range 1 + t.rng.IntN(4) {
		take(late[t.rng.IntN(len(late))])
	}
	for range t.rng.IntN(1 + max(3, len(ends)/4)) {
		take(t.rng.IntN(len(ends)))
	}
	rest, parts := &plan{s: s, parts: x.parts}, make([]part, len(out))
	for i, k := range out {
		parts[i] = x.parts[k]
	}
	for _, j := range x.jobs {
		if place[j.part] < 0 {
			rest.jobs = append(rest.jobs, j)
		}
	}
	work.n += hopWork * int64(len(x.jobs))
	y := s.gather(parts, state{busy: s.booked(rest)}, t.rule(0, false), x.end+1, t.rng, work)
	if y == nil {
		return nil
	}
	for _, j := range y.jobs {
		j.part = out[j.part]
		rest.jobs = append(rest.jobs, j)
		rest.end = max(rest.end, j.end)
	}
	for i := range rest.jobs {
		rest.end = max(rest.end, rest.jobs[i].end)
	}
	return rest
}

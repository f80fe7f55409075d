package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// mutual returns, for each job between a root and a rank that sends its sum to the root and gets the whole from it, the other one of
// the two, and -1 for all others. What goes to the rank needs to have all except what comes from it. Where neither waits for
// the other one they exchange sums, each of which is added to the other one, and the copies are over one hop sooner.
func (x *plan) mutual() []int32 {
	n := x.s.t.Ranks
	list := slices.Repeat([]int32{-1}, len(x.jobs))
	sums := slices.Repeat([]int32{-1}, len(x.parts)*n)
	for i := range x.jobs {
		if j := &x.jobs[i]; j.op == model.Reduction && int(j.dst) == x.parts[j.part].root && x.s.together(j) {
			sums[x.key(j.part, j.src)] = int32(i)
		}
	}
	for i := range x.jobs {
		if j := &x.jobs[i]; j.op == model.Copy && int(j.src) == x.parts[j.part].root && x.s.together(j) {
			if k := sums[x.key(j.part, j.dst)]; k >= 0 {
				list[i], list[k] = k, int32(i)
			}
		}
	}
	return list
}

// exchange reports whether one job of a part is from its root, and the other one from the same rank to it, and they may be mutual.
func (x *plan) exchange(a, b *job) bool {
	root := int32(x.parts[a.part].root)
	return a.child() == b.child() && a.src+a.dst == root+a.child() && b.src+b.dst == root+b.child() && x.s.together(a) && x.s.together(b)
}

// together reports whether the copies of a job all go at one time, where roots exchange sums.
func (s *shop) together(j *job) bool { return *s.mutual && s.step(j).batch == nil }

// exchanged returns the operation of a job that has a twin, for a chunk of some size: what starts before the other one has ended is added
// where it comes to, else it brings the whole.
func (x *plan) exchanged(j, twin *job, p *model.Problem, size int64) model.Op {
	lasts := model.Time(1)
	if !p.Cost.Synchronous() {
		lasts = x.s.t.Duration(x.s.step(twin).links, size)
	}
	if j.start < twin.start+lasts {
		return model.Reduction
	}
	return model.Copy
}

// exchanging returns x with roots that exchange sums.
func (x *reducing) exchanging() *reducing {
	y, s, r, yes := *x, *x.s, *x.r, true
	s.mutual, r.mutual = &yes, &yes
	y.s, y.r = &s, &r
	return &y
}

// exchangers is how many cuts are tried first once roots exchange sums.
const exchangers = 4

// exchange has roots exchange sums from now on if the best plan is still far from the bound, and makes plans with that, in the cuts that are
// best so far.
func (s *search) exchange() {
	if !s.latent() || s.gap() < graftGap {
		return
	}
	for _, x := range s.shops {
		*x.s.mutual = true
	}
	for _, t := range s.trials {
		t.step = 0
	}
	work := s.usual / 2
	s.budget, s.last = s.work+work, s.work
	for _, t := range s.different(exchangers, even) {
		if x := s.newTrial(t.x.index, t.cut, t.roots); x != nil {
			s.trials = append(s.trials, x)
			s.spend(x, work/exchangers)
		}
	}
}

// last is the rank whose sum comes last to the root of a part, when all others have come, and when all have come to that rank.
type last struct {
	rank          int32 // -1: several come at once
	others, comes model.Time
}

// last returns who sends the last sum of each part to its root.
func (x *plan) last() []last {
	list := slices.Repeat([]last{{rank: -1}}, len(x.parts))
	latest := make([]*job, len(x.parts))
	for i := range x.jobs {
		j := &x.jobs[i]
		if int(j.dst) != x.parts[j.part].root {
			continue
		}
		l := &list[j.part]
		if k := latest[j.part]; k == nil || j.end > k.end {
			if k != nil {
				l.others = max(l.others, k.end)
			}
			latest[j.part] = j
		} else {
			l.others = max(l.others, j.end)
		}
	}
	for i := range list {
		if k := latest[i]; k != nil && k.end > list[i].others && x.s.together(k) {
			list[i].rank = k.src
		}
	}
	for i := range x.jobs {
		if j := &x.jobs[i]; j.dst == list[j.part].rank {
			list[j.part].comes = max(list[j.part].comes, j.end)
		}
	}
	return list
}

// pair chooses one of the nearest neighbours of each root, for sums that are gathered backwards: the two exchange sums first, and send to all
// others after that.
func (s *shop) pair(parts []part, from *state, rng *rand.Rand) {
	if from.ready == nil {
		from.ready = make([]model.Time, len(parts))
	}
	from.last = slices.Repeat([]last{{rank: -1}}, len(parts))
	for i := range parts {
		if rank, st := s.partner(&parts[i], rng); st != nil {
			from.last[i] = last{rank: rank, others: from.ready[i]}
			from.ready[i] += s.at(st.way, &parts[i]).lasts
		}
	}
}

// partner returns one of the nearest neighbours of a part's root with which that may exchange sums, and the hop to it, or nil.
func (s *shop) partner(pt *part, rng *rand.Rand) (rank int32, near *step) {
	n := 0
	steps, by := s.out[s.class[pt.root]], s.g.Nodes(int(s.element[pt.root]))
	for k := range steps {
		st := &steps[k]
		if st.batch != nil || near != nil && s.at(st.way, pt).lasts > s.at(near.way, pt).lasts {
			continue
		}
		if near == nil || s.at(st.way, pt).lasts < s.at(near.way, pt).lasts {
			n = 0
		}
		if n++; n == 1 || rng.IntN(n) == 0 {
			rank, near = by[st.to], st
		}
	}
	return rank, near
}

// leads reports whether there is a hop from one rank to another.
func (s *shop) leads(from, to int32) bool {
	by := s.g.Nodes(int(s.element[from]))
	return slices.ContainsFunc(s.out[s.class[from]], func(st step) bool { return by[st.to] == to })
}

// twins returns who exchanges sums with the root of each part, or -1: who does so in the plan, else one of the nearest neighbours.
func (x *plan) twins(rng *rand.Rand) []int32 {
	list := slices.Repeat([]int32{-1}, len(x.parts))
	if !*x.s.mutual {
		return list
	}
	for i := range x.parts {
		if rank, st := x.s.partner(&x.parts[i], rng); st != nil && x.s.leads(rank, int32(x.parts[i].root)) {
			list[i] = rank
		}
	}
	latest := make([]model.Time, len(x.parts))
	for i, k := range x.mutual() {
		if j := &x.jobs[i]; k >= 0 && j.op == model.Reduction && j.end > latest[j.part] {
			list[j.part], latest[j.part] = j.src, j.end
		}
	}
	return list
}

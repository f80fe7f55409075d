package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of rehanging.
const (
	rehung       = 3       // trials whose leaves are moved
	maxRehung    = 1 << 15 // jobs
	mostFiner    = 1 << 18 // transfers
	finishPart   = 2       // times the usual work is for leaves before parts are halved
	mostInVain   = 24      // rounds that change nothing for the better
	rehangPasses = 6       // how often a round looks at all jobs
)

// portions is which part of the leaves may move in the rounds, in turn.
var portions = []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}

// rehang moves leaves of the best trials where they fill links better, for so much work at most.
func (s *search) rehang(work int64) {
	if s.best == nil || conveys(s.p) || s.p.Late() {
		return
	}
	s.budget = max(s.budget, s.work+work)
	s.rehangAll(s.different(rehung, even), work)
}

// rehangAll moves leaves of some trials for so much work at most.
func (s *search) rehangAll(list []*trial, work int64) {
	for i, until := 0, s.work+work; i < len(list) && !s.near() && s.ctx.Err() == nil; i++ {
		w := &counter{ctx: s.ctx, limit: (until - s.work) / int64(len(list)-i)}
		list[i].rehang(w)
		s.work += w.n
		s.note(list[i])
	}
}

// rehang moves leaves of the best plan until many rounds in turn change nothing for the better.
func (t *trial) rehang(work *counter) {
	for round, vain := 0, 0; vain < mostInVain && len(t.best.jobs) <= maxRehung && !work.stop(); round++ {
		end := t.best.end
		t.best.rehang(portions[round%len(portions)], t.rng)
		work.n += rehangPasses * hopWork * int64(len(t.best.jobs))
		if vain++; t.best.end < end {
			vain = 0
		}
	}
}

// finish moves leaves of the best trials, halves the parts of the better ones, and so on as long as that gains.
func (s *search) finish() {
	if s.best == nil || conveys(s.p) || s.p.Late() {
		return
	}
	list, work := s.different(rehung, even), finishPart*s.usual
	if !s.latent() { // smaller parts gain more
		work /= 2
	}
	for end := never; s.best.best.end < end && !s.near() && s.ctx.Err() == nil; {
		end = s.best.best.end
		s.rehangAll(list, work)
		var finer []*trial
		for _, t := range s.leaders(list, max(1, len(list)*2/3)) {
			if s.p.Chunks == nil && !s.near() {
				if x := s.halved(t, 1); x != nil {
					finer = append(finer, x)
				}
			}
		}
		list = finer
	}
}

// rehanging moves leaves of the trees of a plan to other parents, over machines that have less to do, where they are in time
// there. So what is received twice by ranks with fast links between them, because links to both had nothing else to do, is
// received once if there is time to pass it on.
type rehanging struct {
	*plan
	load    loads
	passed  []bool        // by part and rank: some copy leaves it
	added   []bool        // by part and rank: some sum comes to it
	at      []model.Time  // by part and rank: when its copy is there, or never
	leaves  []model.Time  // by part and rank: when its sum is on its way, below 0 if it never is
	summed  []model.Time  // by part and rank: when all sums have come to it
	sent    []model.Time  // by part and rank: when the first copy leaves it
	parents [2][][]parent // by operation and rank
}

func (x *plan) rehanging() *rehanging {
	r := &rehanging{plan: x, load: x.s.loads(x), parents: x.s.parents()}
	size := x.s.t.Ranks * len(x.parts)
	r.passed, r.added = make([]bool, size), make([]bool, size)
	r.at, r.leaves = slices.Repeat([]model.Time{never}, size), slices.Repeat([]model.Time{-1}, size)
	r.summed, r.sent = make([]model.Time, size), slices.Repeat([]model.Time{never}, size)
	for i := range x.parts {
		root := r.key(int32(i), int32(x.parts[i].root))
		r.at[root], r.leaves[root] = 0, x.end
	}
	for i := range x.jobs {
		r.turn(&x.jobs[i])
	}
	for i := range x.jobs {
		j := &x.jobs[i]
		r.hang(j)
		switch root := r.key(j.part, int32(x.parts[j.part].root)); root {
		case r.key(j.part, j.dst): // a sum: copies leave once it is there
			r.at[root] = max(r.at[root], j.end)
		case r.key(j.part, j.src):
			r.leaves[root] = min(r.leaves[root], j.start)
		}
	}
	return r
}

// turn notes when sums come to a rank, and copies leave it: what the one wait for, the others have to be before, also where a rank exchanges
// sums with the root.
func (r *rehanging) turn(j *job) {
	if j.op == model.Reduction {
		at := r.key(j.part, j.dst)
		r.summed[at] = max(r.summed[at], j.end)
	} else {
		at := r.key(j.part, j.src)
		r.sent[at] = min(r.sent[at], j.start)
	}
}

// hang notes what a job does at its ends.
func (r *rehanging) hang(j *job) {
	r.turn(j)
	src, dst := r.key(j.part, j.src), r.key(j.part, j.dst)
	if j.op == model.Reduction {
		r.added[dst], r.leaves[src] = true, min(j.start, r.sent[src])
	} else {
		r.passed[src], r.at[dst] = true, max(j.end, r.summed[dst])
	}
}

// leaf reports whether no other job waits for what a copy brings, or brings what a sum takes on.
func (r *rehanging) leaf(j *job) bool {
	if j.op == model.Reduction {
		return !r.added[r.key(j.part, j.src)]
	}
	return !r.passed[r.key(j.part, j.dst)]
}

// move moves a portion of the leaves where there are better parents, and reports whether there were any.
func (r *rehanging) move(portion float64, rng *rand.Rand) (any bool) {
	for _, i := range rng.Perm(len(r.jobs)) {
		j := &r.jobs[i]
		if !r.leaf(j) || rng.Float64() >= portion {
			continue
		}
		if k, found := r.better(j); found {
			r.load.add(r.plan, j, -1)
			r.load.add(r.plan, &k, 1)
			r.hang(&k)
			*j, any = k, true
		}
	}
	return any
}

// better returns a leaf's job with another parent, over the machines that have least to do.
func (r *rehanging) better(j *job) (best job, found bool) {
	least := r.load.busiest(r.s, r.s.step(j).way)
	for _, p := range r.parents[j.op][j.child()] {
		k := j.over(p)
		if k.src == j.src && k.dst == j.dst || !r.place(&k) {
			continue
		}
		span := r.s.at(r.s.step(&k).way, &r.parts[k.part]).spans[0]
		if load := r.load.busiest(r.s, r.s.step(&k).way) + span.To - span.From; load < least {
			best, found, least = k, true, load
		}
	}
	return best, found
}

// place sets when a leaf's job would be, if nothing else took its machines, and reports whether that is in time.
func (r *rehanging) place(j *job) bool {
	st := r.s.step(j)
	lasts := r.s.at(st.way, &r.parts[j.part]).lasts
	if j.op == model.Reduction {
		j.end = r.leaves[r.key(j.part, j.dst)]
		j.start = j.end - lasts
		return j.start >= st.wait
	}
	if j.start = r.at[r.key(j.part, j.src)]; j.start == never {
		return false
	}
	j.start = max(j.start, st.wait)
	j.end = j.start + lasts
	return j.end <= r.end
}

// fill moves leaves that end last, and leaves of sums that begin first, to parents by whom machines that idle bring them
// sooner, or take them later.
func (r *rehanging) fill(rng *rand.Rand) {
	busy := r.s.books()
	for i := range r.jobs {
		r.take(busy, &r.jobs[i])
	}
	for _, i := range rng.Perm(len(r.jobs)) {
		j := &r.jobs[i]
		if !r.leaf(j) || j.op == model.Copy && j.end+(j.end-j.start) < r.end || j.op == model.Reduction && j.start > j.end-j.start {
			continue
		}
		if k, found := r.sooner(j, busy); found {
			r.take(busy, &k)
			r.hang(&k)
			*j = k
		}
	}
}

// sooner returns a leaf's job with the parent by whom it ends soonest or, of a sum, begins latest.
func (r *rehanging) sooner(j *job, busy []book) (best job, found bool) {
	sum := j.op == model.Reduction
	best = *j
	for _, p := range r.parents[j.op][j.child()] {
		k := j.over(p)
		if k.src == j.src && k.dst == j.dst || !r.place(&k) {
			continue
		}
		w := r.s.step(&k).way
		tm := r.s.at(w, &r.parts[k.part])
		if sum {
			k.start = r.s.closes(busy, w, tm, k.start, -never)
		} else {
			k.start = r.s.opens(busy, w, tm, k.start, never)
		}
		k.end = k.start + tm.lasts
		if sum && k.start > best.start || !sum && k.end < best.end {
			best, found = k, true
		}
	}
	return best, found
}

// rehang moves a portion of the leaves, gives all jobs times again, and keeps what that makes of the plan if it ends no
// later.
func (x *plan) rehang(portion float64, rng *rand.Rand) {
	y := *x
	y.jobs = slices.Clone(x.jobs)
	if !y.rehanging().move(portion, rng) {
		return
	}
	y.early(y.waits(), nil)
	y.rehanging().fill(rng)
	y.early(y.waits(), nil)
	for y.justify(nil) {
	}
	if y.end <= x.end {
		*x = y
	}
}

package oneshot

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// plan is how the dimensions of a layout are combined: chunks take turns to go through some lists of states.
type plan struct {
	*layout
	nearby   bool      // sums come from the nearest member that has them, not from peers
	turns    [][]state // all through as many
	lists    [][]step  // by turn: its steps, where they are none between states
	note     string    // what these do
	mirrored bool      // backwards
	opposite bool      // of owners that follow each other two are as far apart as can be

	busy    model.Time // the busiest link
	latency model.Time // all steps, about
	peak    model.Time // the busiest link in a step
	end     model.Time // what it reached with some pieces

	bases   map[base]*course
	copies  int       // images that go together, of which courses were chosen
	courses []*course // by number of the chunk
	load    []float64 // by step and machine
	r       *rand.Rand
}

func (q *plan) String() string {
	if q.lists != nil {
		return q.note
	}
	owned := q.owned()
	s, of := "", len(q.radix)
	switch n := bits.OnesCount(owned); {
	case q.doors != nil:
		s = "sums of groups exchanged from the ranks where links lead out to those where they come in"
	case n == 0:
		s = "one-shot in groups, one dimension after the other"
	case n == of-1:
		s = "sums of groups exchanged by peers"
	case n == of:
		s = "sums of groups added up by one of the peers"
	default:
		s = fmt.Sprintf("sums of groups in %d of %d dimensions exchanged by peers", n, of)
	}
	if len(q.turns) > 1 {
		s += ", chunks in turn from each dimension"
	}
	return s
}

// owned returns the dimensions along which only owners have sums at some time.
func (q *plan) owned() (set uint) {
	for _, x := range q.turns[0] {
		set |= x.owned
	}
	return set
}

// owners returns how many sets of owners there are.
func (q *plan) owners() int {
	if q.doors != nil {
		return len(q.doors.pairs)
	}
	return q.product(q.owned())
}

// transfers returns how many transfers the plan makes of a number of chunks.
func (q *plan) transfers(chunks int) (sum int) {
	if q.lists != nil {
		for _, x := range q.lists[0] {
			sum += len(x.pairs)
		}
		return sum * chunks
	}
	at := state{}
	for _, next := range q.turns[0] {
		sum += q.between(at, next)
		if q.doors != nil && q.doors.crossed(at) != q.doors.crossed(next) { // the own sum, too
			sum += len(q.member) / q.product(q.doors.within)
		}
		at = next
	}
	return sum * chunks
}

// plans returns the plans of a layout in which owners add up along some dimensions, all exchange sums along the others, and
// then sums go back.
func (x *layout) plans() (plans []*plan) {
	order := x.orders[0]
	back := slices.Clone(order)
	slices.Reverse(back)
	for collected := len(order); collected >= 0; collected-- {
		for _, orders := range [][][]int{{order}, {back}, x.orders} {
			q := &plan{layout: x}
			for _, o := range orders {
				q.turns = append(q.turns, turn(o, collected))
			}
			plans = append(plans, q)
			if len(x.member) <= maxNearby && len(order)-collected > 1 {
				plans = append(plans, &plan{layout: x, turns: q.turns, nearby: true})
			}
		}
	}
	return plans
}

// Of all plans with a few pieces the best are tried with others.
const (
	fewPieces  = 4
	mostPieces = 64
	bestPlans  = 4 // other numbers of pieces are tried with these, and mixtures
	maxParts   = 256
	maxAfter   = 64 // members for which mixtures are looked for once chunks follow a timetable, and families are split: among more there is no time for that
	muchSooner = 50 // the part of the makespan that a timetable gains if others are worth no time then
	asGood     = 50 // the part of the work on the busiest link by which a plan with hubs has to be better than others that are as soon over
	maxNearby  = 64 // members for which plans of which sums come from the nearest are tried with every layout
	fewChunks  = 20 // with all their images
	fewShared  = 64 // units of the share of an image, where one more does not count

	purePart     = 2 // schedules of one plan get this part of the time that is left where ranks are not alike
	climbingPart = 4 // changes of a mixture of patterns get this part of the time that is left

	fewTransfers   = 1 << 16 // without images, too
	mostWithImages = 64      // chunks with images
	manyWithImages = 1 << 11 // all images together
	mostFiner      = 1 << 13 // chunks that are made finer
)

// compose tries every plan with a few pieces, and the best plans with other numbers of them as
// long as more of them help; then each chunk may choose a plan. It begins with those that look best.
func (s *search) compose(all []*layout) {
	plans := s.plans(all)
	s.together(1)
	if len(plans) == 0 {
		plans = s.wholePlans()
	}
	if s.p.Chunks != nil {
		for _, q := range plans {
			s.combine(q, len(s.p.Chunks))
		}
		return
	}
	plans = s.worthwhile(plans)
	parts := 1
	if s.leading && !s.images.regular() { // there is more to come
		parts = purePart
	}
	s.within(parts, func() { s.pure(plans) })
	if s.best == nil {
		return
	}
	if s.bound > 0 && s.makespan > s.bound/100*101 {
		before := s.makespan
		s.schedule(best(plans))
		if s.vary(); s.ranked != nil && s.n() > maxAfter && s.makespan < before-before/muchSooner {
			return
		}
	}
	copies := s.copiesOf(plans[0])
	s.together(copies)
	if s.leading {
		of := candidates(best(plans))
		m := s.mixer(of)
		parts, least := m.mixtures()
		if s.b.Spent() { // not all plans may be in the mixer
			return
		}
		together := s.divisible(copies)
		s.together(together)
		if s.patterned(of, m, least) || s.b.Spent() {
			return
		}
		s.mixing = &mixing{of: of, mixer: m, least: least, copies: together, tries: s.exchange(plans, fewExchanged, of, parts)}
		s.mixAgain()
	}
	s.together(copies)
	peers := slices.DeleteFunc(slices.Clone(plans), func(q *plan) bool { return q.nearby })
	s.blend(peers)
	s.blend(plans)
	if copies > 1 && mostBlended*plans[0].transfers(1) <= fewTransfers {
		s.together(1)
		s.blend(peers)
		s.blend(plans)
	}
	s.finer(plans)
}

// plans returns the plans of all layouts and others that the network has, after it has looked for its symmetries.
func (s *search) plans(all []*layout) []*plan {
	s.guide, s.images = newGuide(s.p, s.ways), newImages(s)
	for i := range s.p.Topology.Links {
		s.slowness = append(s.slowness, s.guide.router.fastest/float64(s.p.Topology.Links[i].Bandwidth))
	}
	plans := s.ringPlans()
	if len(plans) > 0 && len(s.p.Members()) > maxMembers { // to build others takes too long
		all = nil
	} else {
		plans = append(s.gridPlans(), plans...)
	}
	plans = append(plans, s.hubPlans()...)
	for _, x := range all {
		of := x.plans()
		if !s.leading { // others have to search through all members
			of = slices.DeleteFunc(of, func(q *plan) bool { return q.nearby })
		}
		plans = append(plans, of...)
		if s.leading {
			plans = append(plans, s.paths(x)...)
			plans = append(plans, s.doors(x)...)
		}
	}
	return plans
}

// worthwhile returns the plans that lead to all, without those with hubs for which others are known to be as good, those that look best first.
func (s *search) worthwhile(plans []*plan) []*plan {
	plans = slices.DeleteFunc(plans, func(q *plan) bool { return !s.estimate(q) })
	others := slices.DeleteFunc(slices.Clone(plans), func(q *plan) bool { return q.note == hubNote })
	plans = slices.DeleteFunc(plans, func(q *plan) bool {
		return q.note == hubNote && slices.ContainsFunc(others, func(x *plan) bool { return x.latency <= q.latency && x.busy <= q.busy+q.busy/asGood })
	})
	slices.SortStableFunc(plans, func(a, b *plan) int { return cmp.Compare(a.looks(), b.looks()) })
	return plans
}

// within does something in a part of the time that is left; all of it, if that is one part.
func (s *search) within(parts int, do func()) {
	b, cancel := s.b.Share(parts)
	defer cancel()
	s.b, b = b, s.b
	do()
	s.b = b
}

// mixing is what a search for mixtures goes on with.
type mixing struct {
	of     []*plan
	mixer  *mixer
	least  model.Time // of the linear program
	copies int        // images that go together
	tries  []*try

	patterns *patterns // more plans, nil: there are none
}

// mixAgain finds patterns, or packs chunks where there are none, and goes on from the mixtures that were found, with other draws each time.
func (s *search) mixAgain() {
	m := s.mixing
	if x := m.patterns; x != nil {
		s.together(m.copies)
		if x.more(); s.b.Spent() {
			return
		}
		if !x.exhausted || m.of == nil {
			if m = x.mixing(m.copies); m == nil {
				return
			}
			s.mixing = m
		}
		s.within(climbingPart, func() { s.climb(m.of, m.tries) })
		return
	}
	before := s.makespan
	turns := s.pack(m.of, m.mixer, m.least)
	packed := s.makespan
	s.together(m.copies)
	if s.climb(m.of, m.tries); s.makespan == packed && packed < before {
		s.halved(m.of, turns)
	}
}

// more goes on with the search for mixtures until the time is over, or what is found is enough.
func (s *search) more(ctx context.Context, o solve.Options) (solve.Result, error) {
	if o.TimeLimit > 0 { // what is found takes time to be written, and may have twice the transfers
		o.TimeLimit = max(1, o.TimeLimit-2*perWritten*time.Duration(len(s.transfers)*s.imagesOf))
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	s.b, s.bound, s.verified = b, max(s.bound, o.Bound, o.Enough), o.MostTransfers
	stop := solve.Done
	for limit := s.again + mostAgain; s.again < limit && !b.Spent() && s.makespan > s.bound; {
		s.again++
		s.most = s.work + maxComposed
		if s.ranked == nil || s.mixing != nil && s.mixing.patterns != nil {
			s.mixAgain()
		}
		if s.ranked != nil {
			s.vary()
		}
	}
	if b.Spent() {
		stop = b.Stop()
	}
	return s.result(stop), nil
}

// draws returns random numbers of one kind, others each time that a search goes on.
func (s *search) draws(kind uint64) *rand.Rand {
	return rand.New(rand.NewPCG(kind, uint64(s.again)<<32|uint64(s.n())))
}

// perWritten is how long it takes to write a transfer of a result.
const perWritten = 120 * time.Nanosecond

// mostAgain is how often a search goes on at most, where there is no limit.
const mostAgain = 8

// finer tries the plan of the best schedule, if it has only one, in more chunks as long as these help.
func (s *search) finer(plans []*plan) {
	i := slices.IndexFunc(plans, func(q *plan) bool { return q.String() == s.note })
	if i < 0 || !s.leading {
		return
	}
	s.most = max(s.most, s.work+1)
	s.together(s.imagesOf)
	for before := model.MaxTime; s.makespan < before && 2*len(s.best.Chunks) <= mostFiner; {
		before = s.makespan
		s.combine(plans[i], 2*len(s.best.Chunks))
	}
}

// copiesOf returns how many images of a chunk go together on a plan: the most of a subgroup that leave room for some chunks.
func (s *search) copiesOf(q *plan) int {
	copies := 1
	for _, order := range s.images.orders {
		if order*fewChunks*q.transfers(1) <= s.room(order) && s.shared(order) {
			copies = order
		}
	}
	return copies
}

// shared reports whether images of chunks can share the buffer: nothing is left over, or so little that it does not count.
func (s *search) shared(images int) bool {
	bytes := int64(images) * s.unit()
	return s.p.Size >= bytes && (s.p.Size%bytes == 0 || s.p.Size/bytes >= fewShared)
}

// divisible returns how many images of a chunk go together at most so that there may be chunks for a mixture of plans.
func (s *search) divisible(copies int) int {
	most := 1
	for _, order := range s.images.orders {
		if order <= copies && s.p.Size/(int64(order)*s.unit()) >= 2*fewExchanged {
			most = order
		}
	}
	return most
}

// together has as many images of each chunk go together as a subgroup has elements.
func (s *search) together(order int) {
	if s.copies == order {
		return
	}
	s.copies, s.standing = order, nil
	var size []int
	s.machine, size = s.images.orbits(s.p.Topology, order)
	s.machines = len(size)
	stands := map[int]int{}
	for l, m := range s.machine {
		if _, known := stands[m]; !known {
			stands[m] = l
		}
		s.standing = append(s.standing, stands[m])
	}
}

// pure tries every plan with a few pieces, and the best plans with other numbers of them as long as more of them help. It
// sorts plans by what they reach.
func (s *search) pure(plans []*plan) {
	if len(plans) > 0 { // where that will do, few transfers
		s.together(1)
		s.combine(plans[0], s.pieces(plans[0], fewPieces))
	}
	for _, q := range plans {
		s.together(s.copiesOf(q))
		q.end = s.combine(q, s.pieces(q, fewPieces))
	}
	slices.SortStableFunc(plans, func(a, b *plan) int { return cmp.Compare(a.end, b.end) })
	for _, q := range plans[:min(bestPlans, len(plans))] {
		s.together(s.copiesOf(q))
		last, worse, before := q.end, 0, 0
		for pieces := 2 * fewPieces; pieces <= mostPieces && worse < 2; pieces *= 2 {
			n := s.pieces(q, pieces)
			if n == before {
				break
			}
			before = n
			end := s.combine(q, n)
			if end >= last/1000*996 {
				worse++
			}
			last = min(last, end)
		}
		for pieces := 1; pieces < fewPieces; pieces *= 2 {
			s.combine(q, s.pieces(q, pieces))
		}
	}
}

// pieces returns a number of chunks for a plan, some for each of its parts, fewer where these are too many transfers, or images
// of many chunks.
func (s *search) pieces(q *plan, each int) int {
	chunks := each * s.parts(q) * s.copies
	if s.copies > 1 {
		chunks = min(chunks, max(mostWithImages*s.copies, manyWithImages))
	}
	return max(1, min(chunks, s.roomOfOne(s.copies)/q.transfers(1)))
}

// looks returns about how long a plan takes.
func (q *plan) looks() model.Time {
	return max(q.latency, q.busy) + min(q.latency, q.busy)/4
}

// divided returns a builder for a number of chunks, or some less, each with as many images of its size as go together, if there
// are enough chunks. If images cannot share all of the buffer, what is left over is a chunk of one unit that has fewer of them.
func (s *search) divided(chunks int) *builder {
	if s.p.Chunks != nil {
		return s.builder(s.p)
	}
	copies := 1
	if most := s.p.Size / s.unit(); int64(chunks) > most {
		chunks = int(max(1, most))
	}
	if chunks >= 2*s.copies {
		copies = s.copies
	}
	p, whole := *s.p, *s.p
	if copies == 1 {
		p.Chunks = s.divide(s.p.Size, chunks, 0).chunks
		return s.builder(&p)
	}
	bytes, into := int64(copies)*s.unit(), chunks/copies
	each := s.p.Size / bytes * s.unit()
	if s.p.Size%bytes > 0 {
		into--
	}
	p.Chunks = s.divide(each, into, 0).chunks
	at := int64(0)
	for _, c := range p.Chunks {
		for range copies {
			whole.Chunks = append(whole.Chunks, model.Chunk{Offset: at, Size: c.Size})
			at += c.Size
		}
	}
	if at < s.p.Size {
		p.Chunks = append(p.Chunks, model.Chunk{Offset: each, Size: s.unit()})
		for ; at < s.p.Size; at += s.unit() {
			whole.Chunks = append(whole.Chunks, model.Chunk{Offset: at, Size: s.unit()})
		}
	}
	b := s.builder(&p)
	b.whole, b.copies = &whole, copies
	return b
}

// combine tries a plan with a number of chunks, and returns its makespan, MaxTime if there is none.
func (s *search) combine(q *plan, chunks int) model.Time {
	if s.over() || s.best != nil && max(q.busy, q.latency) >= min(s.makespan, s.others) {
		return model.MaxTime
	}
	b := s.divided(chunks)
	if q.transfers(len(b.whole.Chunks)) > s.roomOfOne(b.copies) || !b.compose(q) {
		return model.MaxTime
	}
	return s.keep(b, q.String())
}

// steps returns how many steps a course takes.
func (q *plan) steps() int { return len(q.turns[0]) }

// compose places all chunks by a plan.
func (b *builder) compose(q *plan) bool {
	courses := make([]*course, len(b.p.Chunks))
	for k := range courses {
		if courses[k] = b.course(q, k); courses[k] == nil {
			return false
		}
	}
	return b.place(courses, nil, model.MaxTime)
}

package quotient

import (
	"maps"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/ejection"
)

// ejecting makes plans of a trial shorter on a grid, and its parts smaller and smaller, each time from the plan of the larger ones.
type ejecting struct {
	t      *trial
	from   *plan      // nil: the best plan of the trial
	pairs  [][2]int32 // of parts, one of each the image of the other; nil: there are none
	last   *plan      // as the grid was last
	raster ejection.Raster
	g      *grid // nil: is to be made
	e      *ejection.Search
	again  bool // others are to be tried after it
}

// Limits of ejections.
const (
	ejections     = 1 << 25 // of work without progress, before parts are halved
	mostTurns     = 4       // times as much work at most with some progress
	lastEjections = 4       // times as much without progress where parts are as small as they may be
	mostEjected   = 1 << 15 // jobs
	mostWidth     = 4       // slots that a hop keeps a machine busy for, where all are alike
	mostSpans     = 64      // of different lengths that slots are fitted to
	mostWaste     = 0.04    // of machines' time, which slots may waste
	fewEjected    = 1 << 8  // jobs of one part a rank that stands for others
	mayLead       = 1.03    // times the best plan's end is what a plan of larger parts takes at most that may lead to a better one
	firstWork     = 8       // times the usual work is for the plan to begin with
)

// ejects reports whether hops may be ejected, and whether there is more than little to gain.
func (s *search) ejects() bool {
	return !s.near() && !s.p.Cost.Synchronous() && (s.gathers() || s.p.Collective.Kind == model.AllReduce)
}

// ejectFar is eject where jobs are many and the plan to begin with is far from the bound.
func (s *search) ejectFar() {
	if s.jobs() >= fewEjected && s.ejects() && s.firstEjected() && s.gap() > largeGap {
		s.eject()
	}
}

// firstEjected has the trial for ejections found, and reports whether there is one.
func (s *search) firstEjected() bool {
	if !s.sought {
		s.ejecting = s.newEjecting()
		s.sought = s.ctx.Err() == nil
	}
	return s.ejecting != nil
}

// eject has ejections make the plan of a trial shorter and halve its parts, until that gains nothing. It ends for good where the plan
// cannot become the best.
func (s *search) eject() {
	if !s.ejects() || !s.firstEjected() {
		return
	}
	for x := s.ejecting; s.ctx.Err() == nil && s.ejects(); {
		if x.g == nil {
			if x.from == nil {
				x.from = x.t.best
			}
			if x.g = newGrid(x.from, x.raster, x.pairs, x.t.rng); x.g == nil && x.pairs != nil {
				x.pairs = nil
				x.g = newGrid(x.from, x.raster, nil, x.t.rng)
			}
			if x.g == nil {
				s.ejecting = nil
				return
			}
			x.e = ejection.NewSearch(x.g.Grid, x.t.rng)
		}
		finer, r := s.finer(x)
		if !s.shorten(x, finer == nil) {
			s.ejecting = nil
			return
		}
		if finer == nil || s.ctx.Err() != nil {
			return
		}
		finer.rules = x.t.rules
		*x = s.halvedEjecting(x, finer, r)
	}
}

// halvedEjecting returns ejections of the halves of parts. Where roots exchange sums, those of a part are images of one another.
func (s *search) halvedEjecting(x *ejecting, finer *trial, r ejection.Raster) ejecting {
	y := ejecting{t: finer, raster: r}
	from := x.t.best
	if x.t.exchanges() {
		y.pairs = halvedPairs(x.pairs, len(x.t.parts))
	}
	if x.pairs != nil {
		from = x.last
	}
	y.from = from.halves(finer.x.s, finer.parts, s.p.Collective.Kind == model.AllReduce)
	return y
}

// exchanges reports whether roots exchange sums.
func (t *trial) exchanges() bool { return *t.x.s.mutual }

// shorten has ejections make a plan shorter as long as they do, or for so long at most if its parts are to be halved, and reports
// whether it may lead to the best.
func (s *search) shorten(x *ejecting, last bool) bool {
	patience := int64(ejections)
	switch {
	case s.o.Effort > 0:
		patience *= int64(s.o.Effort)
	case s.o.Effort < 0:
		patience /= 100
	}
	switch {
	case last && !x.again:
		patience *= lastEjections
	case x.pairs == nil && x.t.exchanges(): // images gain more
		patience /= 4
	}
	for turn := 0; last || turn < mostTurns; turn++ {
		before, whole, work := x.g.Lasts(), x.g.Missing() == 0, x.e.Work
		if !x.e.Run(s.ctx, patience, x.raster.Slot(max(s.bound, s.o.Enough))) {
			return s.ctx.Err() != nil // then it may go on
		}
		y := x.g.plan()
		last := *y // justify changes y
		x.last = &last
		work = x.e.Work - work
		for s.ctx.Err() == nil && y.justify(nil) {
			work += 4 * hopWork * int64(len(y.jobs))
		}
		x.t.keep(y, x.t.rules...)
		s.work += work
		s.budget += work
		s.note(x.t)
		if float64(x.t.best.end) > mayLead*float64(s.best.best.end) {
			return false
		}
		if whole && x.g.Lasts() == before || s.ctx.Err() != nil || s.met() {
			break
		}
	}
	return true
}

// newEjecting returns the trial for ejections to begin with, of the largest group, with the cut that fits slots best. It returns nil if
// no cut does; among few jobs, where moving hops one by one gains more (see grafting), except for allreduces in which latencies count, among ranks that
// differ, if the symmetries that leave some of them where they are leave fewer jobs yet; and among many ranks, where a plan to begin with takes long.
func (s *search) newEjecting() *ejecting {
	if len(s.shops) == 0 || len(s.p.Members()) > maxLed {
		return nil
	}
	first := s.shops[0].s
	few, shop, where := s.jobs() < fewEjected, 0, anywhere
	allreduce := s.p.Collective.Kind == model.AllReduce
	latent := allreduce && float64(s.bound) < manyLatencies*float64(first.time(&first.ways[0], 1, 1).lasts)
	if few && (!latent || len(first.reps) == 1) {
		return nil
	}
	if allreduce {
		where = central
	}
	if latent {
		shop = s.widest()
	}
	if few && shop == 0 {
		return nil
	}
	var best *ejecting
	least := mostWaste
	for _, k := range s.cuts() {
		t := s.newTrial(shop, cut{parts: k, ratio: 1}, where)
		if t == nil {
			continue
		}
		if t.divide(); int64(len(t.parts))*s.jobs() > mostEjected/4*int64(len(first.reps)) {
			continue
		}
		if latent {
			t.x = t.x.exchanging()
		}
		r, waste := s.rasterOf(t)
		if t.x.s.stays() { // the last part may lack some chunks
			waste += 1 - float64(len(t.p.Chunks))/float64(len(t.parts)*t.x.s.g.Order())
		}
		if waste += partWaste * float64(k); r.Slots > 0 && waste < least {
			best, least = &ejecting{t: t, raster: r}, waste
		}
	}
	if best == nil {
		return nil
	}
	for _, t := range s.trials { // which may have a plan
		if t.x.index == shop && t.cut == best.t.cut && t.roots == where && !t.balanced && t.sketch == nil {
			if best.t.exchanges() && t.best != nil {
				x := *t.best
				x.s = best.t.x.s
				best.t.parts = t.parts
				best.t.keep(&x, t.rules...)
			} else if !best.t.exchanges() {
				best.t = t
			}
		}
	}
	if best.t.best != nil {
		return best
	}
	if !slices.Contains(s.trials, best.t) {
		s.trials = append(s.trials, best.t)
	}
	best.t.divide()
	w := &counter{ctx: s.ctx, limit: firstWork * s.usual}
	best.t.latent = latent
	best.t.try(allreduce, s.bound, w)
	s.work += w.n
	s.budget += w.n
	if best.t.best == nil {
		return nil
	}
	s.note(best.t)
	return best
}

// partWaste is what a part more of a rank has to win, as a part of machines' time, and widthWaste what a slot more of a hop has to:
// ejections take longer.
const partWaste, widthWaste = 0.0005, 0.005

// rasterOf returns the slots that suit a trial: latencies take a whole number of them, and hops a few, of which they waste as little as
// can be. It returns how much that is, as a part of machines' time.
func (s *search) rasterOf(t *trial) (best ejection.Raster, least float64) {
	unit, least, longest := ejection.UnitOf(s.p.Topology), math.Inf(1), model.Time(0)
	often, all := map[model.Time]int{}, 0 // how many hops keep a machine busy for so long
	for w := range t.x.s.ways {
		for _, tm := range t.x.s.ways[w].times {
			longest = max(longest, tm.lasts)
			for _, span := range tm.spans {
				often[span.To-span.From]++
				all++
			}
		}
	}
	if unit == 0 || all == 0 {
		return ejection.Raster{}, least
	}
	spans := slices.Sorted(maps.Keys(often))
	for i := range min(mostSpans, (len(spans)+1)/2) * mostWidth { // a few slots are as long as one of the shorter spans
		span, width := spans[i/mostWidth], i%mostWidth
		slots := model.Time(float64(unit) / float64(span+1) * float64(width+1))
		if slots < 1 || float64(longest)*float64(slots)/float64(unit) > mostSlots {
			continue
		}
		r, waste := ejection.Raster{Unit: unit, Slots: slots}, widthWaste*float64(width)
		for _, span := range spans {
			waste += (float64(r.Up(span))*float64(unit)/float64(slots)/float64(span) - 1) * float64(often[span]) / float64(all)
		}
		if waste < least {
			best, least = r, waste
		}
	}
	return best, least
}

// finer returns a trial with parts half as large, and the slots for it, or nil if these are to be no smaller.
func (s *search) finer(x *ejecting) (*trial, ejection.Raster) {
	c := x.t.cut.half()
	if s.p.Chunks != nil || s.transfers(x.t.x, c.count()) > mostRefined || 2*len(x.t.parts)*x.t.x.s.t.Ranks > mostEjected {
		return nil, ejection.Raster{}
	}
	t := s.newTrial(x.t.x.index, c, x.t.roots)
	if t == nil {
		return nil, ejection.Raster{}
	}
	if t.divide(); len(t.parts) != 2*len(x.t.parts) {
		return nil, ejection.Raster{}
	}
	if x.t.exchanges() {
		t.x = t.x.exchanging()
	}
	r, waste := s.rasterOf(t)
	if waste > mostWaste || r.Slots > 2*x.raster.Slots && x.t.exchanges() { // hops would be wider
		return nil, ejection.Raster{}
	}
	return t, r
}

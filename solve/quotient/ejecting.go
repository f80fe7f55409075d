package quotient

import (
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// ejecting makes plans of a trial shorter on a grid, and its parts smaller and smaller, each time from the plan of the larger ones.
type ejecting struct {
	t      *trial
	raster raster
	e      *ejection // nil: the grid is to be made
}

// Limits of ejections.
const (
	ejections     = 1 << 25 // of work without progress, before parts are halved
	mostTurns     = 4       // times as much work at most with some progress
	lastEjections = 4       // times as much without progress where parts are as small as they may be
	mostEjected   = 1 << 15 // jobs
	mostWidth     = 4       // slots that a hop keeps a machine busy for, where all are alike
	mostWaste     = 0.04    // of machines' time, which slots may waste
	fewEjected    = 1 << 8  // jobs of one part a rank that stands for others
	mayLead       = 1.03    // times the best plan's end is what a plan of larger parts takes at most that may lead to a better one
	firstWork     = 8       // times the usual work is for the plan to begin with
)

// ejects reports whether hops may be ejected.
func (s *search) ejects() bool {
	return !s.p.Cost.Synchronous() && (s.gathers() || s.p.Collective.Kind == model.AllReduce)
}

// ejectFar is eject where the plan to begin with is far from the bound.
func (s *search) ejectFar() {
	if s.ejects() && !s.met() && s.firstEjected() && s.gap() > largeGap {
		s.eject()
	}
}

// firstEjected has the trial for ejections found, and reports whether there is one.
func (s *search) firstEjected() bool {
	if !s.ejected {
		s.ejecting = s.newEjecting()
		s.ejected = s.ctx.Err() == nil
	}
	return s.ejecting != nil
}

// eject has ejections make the plan of a trial shorter and halve its parts, until that gains nothing. It ends for good where the plan
// cannot become the best.
func (s *search) eject() {
	if !s.ejects() || !s.firstEjected() {
		return
	}
	for x := s.ejecting; s.ctx.Err() == nil && !s.met() && s.gap() > littleGap; {
		if x.e == nil {
			g := newGrid(x.t.best, x.raster)
			if g == nil {
				s.ejecting = nil
				return
			}
			x.e = newEjection(g, x.t.rng, nil)
		}
		finer, r := s.finer(x)
		if !s.shorten(x, finer == nil) {
			s.ejecting = nil
			return
		}
		if finer == nil || s.ctx.Err() != nil {
			return
		}
		finer.best = x.t.best.halves(finer.x.s, finer.parts, s.p.Collective.Kind == model.AllReduce)
		finer.rules = x.t.rules
		x.t, x.raster, x.e = finer, r, nil
	}
}

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
	if last {
		patience *= lastEjections
	}
	for turn := 0; last || turn < mostTurns; turn++ {
		before, w := x.e.best.lasts, &counter{ctx: s.ctx, limit: patience}
		if x.e.work = w; !x.e.run(x.raster.slot(max(s.bound, s.o.Enough))) {
			return false
		}
		y := x.e.plan()
		for y.justify(nil) {
			w.n += 4 * hopWork * int64(len(y.jobs))
		}
		x.t.keep(y, x.t.rules...)
		s.work += w.n
		s.budget += w.n
		s.note(x.t)
		if float64(x.t.best.end) > mayLead*float64(s.best.best.end) {
			return false
		}
		if x.e.best.lasts == before || s.ctx.Err() != nil || s.met() {
			break
		}
	}
	return true
}

// newEjecting returns the trial for ejections to begin with, of the largest group, with the cut that fits slots best. It returns nil if no
// cut does, or if there are so few jobs that moving hops one by one gains more: see grafting.
func (s *search) newEjecting() *ejecting {
	if len(s.shops) == 0 || s.jobs() < fewEjected {
		return nil
	}
	const shop = 0
	where := anywhere
	if s.p.Collective.Kind == model.AllReduce {
		where = central
	}
	var best *ejecting
	least := mostWaste
	for _, k := range s.cuts() {
		t := s.newTrial(shop, cut{parts: k, ratio: 1}, where)
		if t == nil {
			continue
		}
		if t.divide(); int64(t.cut.count())*s.jobs() > mostEjected/4 {
			continue
		}
		r, waste := s.rasterOf(t)
		if waste += partWaste * float64(k); r.slots > 0 && waste < least {
			best, least = &ejecting{t: t, raster: r}, waste
		}
	}
	if best == nil {
		return nil
	}
	for _, t := range s.trials { // which may have a plan
		if t.x.index == shop && t.cut == best.t.cut && t.roots == where && !t.balanced && t.sketch == nil {
			best.t = t
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
	best.t.try(s.p.Collective.Kind == model.AllReduce, s.bound, w)
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
func (s *search) rasterOf(t *trial) (best raster, least float64) {
	unit, least := unitOf(s.p.Topology), math.Inf(1)
	var spans []float64
	for w := range t.x.s.ways {
		for _, tm := range t.x.s.ways[w].times {
			for _, span := range tm.spans {
				spans = append(spans, float64(span.To-span.From))
			}
		}
	}
	if unit == 0 || len(spans) == 0 {
		return raster{}, least
	}
	slices.Sort(spans)
	kinds := slices.Compact(slices.Clone(spans))
	for i := range (len(kinds) + 1) / 2 * mostWidth { // a few slots are as long as one of the shorter spans
		span, width := kinds[i/mostWidth], i%mostWidth
		slots := model.Time(float64(unit) / (span + 1) * float64(width+1))
		if slots < 1 {
			continue
		}
		r, waste := raster{unit, slots}, widthWaste*float64(width)
		for _, span := range spans {
			waste += (float64(r.up(model.Time(span)))*float64(unit)/float64(slots)/span - 1) / float64(len(spans))
		}
		if waste < least {
			best, least = r, waste
		}
	}
	return best, least
}

// finer returns a trial with parts half as large, and the slots for it, or nil if these are to be no smaller.
func (s *search) finer(x *ejecting) (*trial, raster) {
	c := x.t.cut.half()
	if s.p.Chunks != nil || s.transfers(x.t.x, c.count()) > mostRefined || 2*len(x.t.parts)*x.t.x.s.t.Ranks > mostEjected {
		return nil, raster{}
	}
	t := s.newTrial(x.t.x.index, c, x.t.roots)
	if t == nil {
		return nil, raster{}
	}
	if t.divide(); len(t.parts) != 2*len(x.t.parts) {
		return nil, raster{}
	}
	r, waste := s.rasterOf(t)
	if waste > mostWaste {
		return nil, raster{}
	}
	return t, r
}

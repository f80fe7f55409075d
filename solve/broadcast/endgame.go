package broadcast

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
)

// endgame is the end of a broadcast on a grid of its own: what starts from a slot on is done in other ways there, by ejections, and
// what started before stays as it is.
type endgame struct {
	p      *model.Problem
	raster raster
	begin  int32            // slot
	early  []model.Transfer // that stay
	late   []model.Transfer
	chunks []int32 // of the late ones, ascending
	index  []int32 // by chunk: where it is among those, or -1
	g      *grid
}

// reopened returns a schedule that ends sooner than s, by other ways for what starts from a time on, or s itself.
// Chunks of p are equal, except for the last one. Nothing is to end before enough.
func reopened(ctx context.Context, p *model.Problem, r raster, s *model.Schedule, from, enough model.Time) *model.Schedule {
	e := &endgame{p: p, raster: r, begin: r.Slot(from)}
	e.split(s.Transfers)
	if len(e.late) == 0 || len(e.late) > mostEnded || !e.place(s) {
		return s
	}
	e.g.squeezed(ctx, ejections, r.Slot(max(0, enough-r.Time(e.begin))))
	if e.g.Missing() > 0 {
		return s
	}
	if t := e.schedule(s); p.Makespan(t) < p.Makespan(s) {
		return t
	}
	return s
}

// endings returns a schedule of p that ends sooner than s, if it finds one: see reopened. Several parts of the end are open, one
// after the other: the more is open, the more there may be to gain, and the less of it is found.
func endings(ctx context.Context, p *model.Problem, s *model.Schedule, o solve.Options) *model.Schedule {
	r, ok := rasterOf(p)
	if o.Effort < 0 || !ok || !r.Counts(p.Makespan(s)) || p.Cost != model.Pipelined || len(p.Members()) > maxEjected || p.Makespan(s) <= o.Nearly() {
		return s
	}
	if order := func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) }; !slices.IsSortedFunc(s.Transfers, order) {
		sorted := *s
		sorted.Transfers = slices.Clone(s.Transfers)
		slices.SortStableFunc(sorted.Transfers, order)
		s = &sorted
	}
	tiny := *p
	tiny.Size = 1
	best, ends, enough := s, p.Makespan(s), max(o.Bound, o.Enough)
	for _, part := range open {
		if ctx.Err() != nil || p.Makespan(best) <= enough {
			break
		}
		from := max(0, ends-model.Time(part*quickest(&tiny)*1e12))
		if t := reopened(ctx, p, r, s, from, enough); p.Makespan(t) < p.Makespan(best) {
			best = t
		}
	}
	return best
}

// open is how much is open at the end of a schedule, in parts of the latency to the last rank.
var open = []float64{2, 2.5, 1}

// mostEnded is how many transfers are open at most.
const mostEnded = 1 << 16

// pouredOut returns the best schedule of a forest whose chunks are poured, without ways of their own for the last ones: instead
// see endings. Chunks are as large as slots are long, and made finer until that gains little.
func pouredOut(ctx context.Context, p *model.Problem, o solve.Options, f *Forest) (best solve.Result) {
	for chunks := int64(leastPoured); chunks*int64(len(p.Members())-1) <= maxPoured && ctx.Err() == nil; chunks *= 2 {
		q := *p
		q.Chunks = solve.Evenly(p.Space(), chunks)
		r, ok := rasterOf(&q)
		if !ok || p.Cost != model.Pipelined {
			break
		}
		q.Chunks = solve.OfSize(p.Space(), r.bytes(p.Topology))
		s := newStream(&q, f.Trees, 1)
		if !s.pour(ctx, dealt(f.Trees, s.trains)) {
			break
		}
		poured := s.schedule(ctx)
		if poured == nil {
			break
		}
		t := endings(ctx, &q, poured, o)
		if best.Schedule == nil || q.Makespan(t) < best.Makespan() {
			best = solve.Result{Problem: &q, Schedule: t, Stop: solve.Done, Note: f.String() + ", and ejections at the end"}
		}
		if best.Makespan() <= o.Nearly() {
			break
		}
	}
	return best
}

// leastPoured is how many chunks are poured out at first: with fewer, latencies are hardly longer than slots.
const leastPoured = 1 << 13

// rasterOf returns slots in which a chunk takes one on the fastest links, and reports whether there are any.
func rasterOf(p *model.Problem) (raster, bool) {
	unit, lasts := ejection.UnitOf(p.Topology), model.TransferTime(p.Chunks[0].Size, fastestOf(p.Topology))
	if lasts == 0 || unit < lasts {
		return raster{}, false
	}
	return raster{ejection.Raster{Unit: unit, Slots: unit / lasts}, 1}, true
}

// split divides the transfers of a schedule, in the order of their starts, into those that stay and the late ones.
func (e *endgame) split(order []model.Transfer) {
	first, _ := slices.BinarySearchFunc(order, e.raster.Time(e.begin), starts)
	e.early, e.late = order[:first], order[first:]
	e.index = slices.Repeat([]int32{-1}, len(e.p.Chunks))
	for _, t := range e.late {
		e.index[t.Chunk] = 0
	}
	for k, i := range e.index {
		if i == 0 {
			e.index[k] = int32(len(e.chunks))
			e.chunks = append(e.chunks, int32(k))
		}
	}
}

// starts compares the start of a transfer with a time.
func starts(t model.Transfer, at model.Time) int { return cmp.Compare(t.Start, at) }

// place puts the late transfers on a grid, and reports whether they fit there.
func (e *endgame) place(s *model.Schedule) bool {
	q := *e.p
	q.Chunks = nil
	for _, k := range e.chunks {
		q.Chunks = append(q.Chunks, e.p.Chunks[k])
	}
	horizon := e.raster.Up(e.p.Makespan(s)) + 1 - e.begin
	horizon += horizon / 8
	if int(horizon)*len(q.Topology.Links) > mostSlots {
		return false
	}
	q.Chunks[0].Size = e.p.Chunks[0].Size
	if e.g = newGrid(&q, e.raster, horizon); e.g == nil {
		return false
	}
	for _, t := range e.early {
		if k := e.index[t.Chunk]; k >= 0 {
			x := e.g.Job(int(k), 0, t.Dst)
			if !e.g.Wanted(x) {
				return false // it comes twice, or to a rank that does not need it
			}
			e.g.Hold(x, max(0, e.raster.Up(t.End)-e.begin))
		}
	}
	e.block(s)
	late := model.Schedule{}
	for _, t := range e.late {
		t.Chunk, t.Start = e.index[t.Chunk], e.raster.Time(e.raster.Slot(t.Start)-e.begin)
		late.Transfers = append(late.Transfers, t)
	}
	e.g.follow(&late)
	return e.g.Missing() == 0
}

// block keeps links busy that transfers which stay still use.
func (e *endgame) block(s *model.Schedule) {
	begin, longest := e.raster.Time(e.begin), model.Time(0)
	for _, route := range s.Routes {
		longest = max(longest, e.p.Topology.Duration(route, e.p.Chunks[0].Size))
	}
	first, _ := slices.BinarySearchFunc(e.early, begin-longest, starts)
	var busy []model.Interval
	for _, t := range e.early[first:] {
		if t.End <= begin {
			continue
		}
		route := s.Routes[t.Route]
		busy = e.p.Topology.Busy(e.p.Cost, route, e.p.Chunks[t.Chunk].Size, busy[:0])
		for i, b := range busy {
			if from, to := max(0, e.raster.Slot(t.Start+b.From)-e.begin), e.raster.Up(t.Start+b.To)-e.begin; from < to {
				e.g.Block(int32(route[i]), from, to)
			}
		}
	}
}

// schedule returns what stays and what is on the grid.
func (e *endgame) schedule(s *model.Schedule) *model.Schedule {
	t := &model.Schedule{Form: s.Form, Routes: slices.Clone(s.Routes), Transfers: slices.Clone(e.early)}
	for _, h := range e.g.done() {
		e.g.emit(t, e.p, h, e.chunks[h.Part], e.raster.Time(e.begin+h.Start))
	}
	return t
}

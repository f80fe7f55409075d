package broadcast

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// trained returns the best schedule of a forest whose chunks are poured in trains: many fine chunks, which are soon under way
// over many hops, for the price of few. Chunks are so fine that what one waits at a rank until all of it has come is a small part
// of the time, unless there were more transfers than most then. A train has longer times as many chunks as it needs to have.
func trained(ctx context.Context, p *model.Problem, o solve.Options, f *Forest, most int, longer float64) solve.Result {
	_, trees := units(f.Trees)
	others := len(p.Members()) - 1
	busy, _ := f.Fluid(p)
	tiny := *p
	tiny.Size = 1
	latency := quickest(&tiny)
	flowing := busy / (busy + latency)
	chunks := min(fineParts*latency/hopLatency(p.Topology)*flowing*float64(trees), float64(most/others))
	pieces := max(1, int(math.Ceil(longer*chunks/max(leastTrains, mostTrains*flowing)*float64(others))))
	trains := max(1, int(chunks)/pieces/trees) * trees
	q := *p
	q.Chunks = solve.Evenly(p.Space(), int64(trains*pieces))
	s := poured{Forest: f, pieces: pieces}.stream(ctx, &q, o.Bound)
	if s == nil {
		return solve.Stopped(ctx, p)
	}
	return solve.Result{Problem: &q, Schedule: s, Stop: solve.Done, Note: f.String()}
}

// trainedFlat returns a schedule of chunks in trains: of a forest, or, if that is deep, of one that is tempered. A few chunks come
// first, so that there is a schedule in any case, and then as many as there is time for.
func trainedFlat(b *solve.Budget, p *model.Problem, o solve.Options, f *Forest) solve.Result {
	if p.Cost != model.Pipelined {
		return solve.Result{}
	}
	if busy, last := f.Fluid(p); last-quickest(p) >= littleGain*(busy+last) {
		quarter, done := b.Share(4)
		f = cmp.Or(f.tempered(quarter.Context(), p), f)
		done()
	}
	begin := time.Now()
	best := trained(b.Context(), p, o, f, fewTransfers, 1)
	if best.Schedule == nil || best.Makespan() <= o.Enough {
		return best
	}
	most := max(fewTransfers, o.AtMost(mostTransfers))
	if took := time.Since(begin); b.Left() < took*(mostTransfers/fewTransfers/cheaper) {
		most = min(most, int(b.Left()/max(1, took/(fewTransfers*cheaper))))
	}
	return finer(b, best, most, o.Enough, func(ctx context.Context, most int, longer float64) solve.Result {
		return trained(ctx, p, o, f, most, longer)
	})
}

// finer returns the best of a schedule and others of about most transfers, or of far fewer where these take nearly all the time that is
// left: others may use the machine. If there is time, longer trains are tried, too: which of some numbers of trains ends first is chance.
func finer(b *solve.Budget, best solve.Result, most int, enough model.Time, find func(ctx context.Context, most int, longer float64) solve.Result) solve.Result {
	limit, begin := time.Duration(0), time.Now()
	if left := b.Left(); left != math.MaxInt64 {
		limit = max(1, left-left/spare)
	}
	share, done := solve.NewBudget(b.Context(), limit, b.Threads())
	r := find(share.Context(), most, 1)
	done()
	if best = sooner(best, r); r.Schedule == nil {
		if b.Left() == 0 {
			return best
		}
		return sooner(best, find(b.Context(), max(fewTransfers, most/(2*spare)), 1))
	}
	for _, longer := range longerTrains {
		if best.Makespan() > enough && b.Left() > time.Since(begin) {
			begin = time.Now()
			best = sooner(best, find(b.Context(), most, longer))
		}
	}
	return best
}

// longerTrains are how many times as many chunks as usual longer trains have.
var longerTrains = []float64{1.4, 1.2, 1.6}

const (
	// mostTrains is about how many trains times ranks are booked, which takes a microsecond each, and leastTrains where latencies
	// are most of the time, so that most trains are brought twice.
	leastTrains, mostTrains = 1 << 18, 1 << 20
	// fewTransfers is how many transfers trains have at most that are soon placed, and mostTransfers how many others have: to write
	// a million and to verify them takes a quarter of a second.
	fewTransfers, mostTransfers = 1 << 16, 7 << 20
	// cheaper is how many times as long it takes to place one of a few transfers as one of most of them, whose trains are
	// longer, if a third of the time is to be left.
	cheaper = 8
	// spare is a part of the time, in which there are far fewer transfers if most of them are not placed in what is before.
	spare = 7
)

// fineParts is into how many parts of the time chunks wait for one of them.
const fineParts = 400

// hopLatency returns the seconds that the first byte takes over the quickest link.
func hopLatency(t *model.Topology) float64 {
	least := model.MaxTime
	for _, l := range t.Links {
		least = min(least, l.Alpha)
	}
	return max(1, float64(least)) / 1e12
}

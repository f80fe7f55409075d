package broadcast

import (
	"cmp"
	"context"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// trained returns a stream of a forest whose chunks are poured in trains: many fine chunks, which are soon under way
// over many hops, for the price of few. Chunks are so fine that what one waits at a rank until all of it has come is a small part
// of the time, unless there were more transfers than most then. It returns nil when ctx is done before.
func trained(ctx context.Context, p *model.Problem, o solve.Options, f *Forest, most int) *stream {
	_, trees := units(f.Trees)
	others := len(p.Members()) - 1
	busy, _ := f.Fluid(p)
	tiny := *p
	tiny.Size = 1
	latency := quickest(&tiny)
	part := busy / (busy + latency)
	chunks := min(fineParts*latency/hopLatency(p.Topology)*part*float64(trees), float64(most/others))
	pieces := max(1, int(math.Ceil(chunks/max(leastTrains, mostTrains*part)*float64(others))))
	trains := max(1, int(chunks)/pieces/trees) * trees
	q := *p
	q.Chunks = solve.Evenly(p.Space(), int64(trains*pieces))
	return poured{Forest: f, pieces: pieces}.flow(ctx, &q, o.Bound)
}

// trainedFlat returns a schedule of chunks in trains: of a forest, or, if that is deep, of one that is tempered.
func trainedFlat(b *solve.Budget, p *model.Problem, o solve.Options, f *Forest) solve.Result {
	ctx, most := b.Context(), int(min(mostTransfers, verifiedSoon*b.Left().Seconds()))
	if p.Cost != model.Pipelined {
		return solve.Result{}
	}
	if busy, last := f.Fluid(p); last-quickest(p) >= littleGain*(busy+last) {
		f = cmp.Or(f.tempered(ctx, p), f)
	}
	s := trained(ctx, p, o, f, most)
	if s == nil {
		return solve.Stopped(ctx, p)
	}
	return solve.Result{Problem: s.p, Schedule: s.schedule(), Stop: solve.Done, Note: f.String()}
}

const (
	// mostTrains is about how many trains times ranks are booked, which takes a microsecond each, and leastTrains where latencies
	// are most of the time, so that most trains are brought twice.
	leastTrains, mostTrains = 1 << 18, 1 << 20
	// mostTransfers is how many transfers trains have at most, and verifiedSoon how many for each second that is left: to place
	// them and to verify them may take most of it.
	mostTransfers, verifiedSoon = 8 << 20, 5 << 19
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

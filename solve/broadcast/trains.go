package broadcast

import (
	"context"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// trained returns the best schedule of a forest whose chunks are poured in trains: many fine chunks, which are soon under way
// over many hops, for the price of few. Chunks are so fine that what one waits at a rank until all of it has come is a small part
// of the time, unless there were more transfers than most then.
func trained(ctx context.Context, p *model.Problem, o solve.Options, f *Forest, most int) solve.Result {
	if p.Cost != model.Pipelined {
		return solve.Result{}
	}
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
	s := poured{Forest: f, pieces: pieces}.stream(ctx, &q, o.Bound)
	if s == nil {
		return solve.Stopped(ctx, p)
	}
	return solve.Result{Problem: &q, Schedule: s, Stop: solve.Done, Note: f.String()}
}

// trainedFlat returns the better of two schedules of chunks in trains: of a forest, and, if that is late and the forest is deep,
// of one that is tempered.
func trainedFlat(ctx context.Context, p *model.Problem, o solve.Options, f *Forest, most int) solve.Result {
	best := trained(ctx, p, o, f, most)
	busy, last := f.Fluid(p)
	if best.Schedule == nil || best.Stop != solve.Done || best.Makespan() <= o.Nearly() || last-quickest(p) < littleGain*(busy+last) {
		return best
	}
	if g := f.tempered(ctx, p); g != nil {
		best = sooner(best, trained(ctx, p, o, g, most))
	}
	return best
}

// mostTrains is about how many trains times ranks are booked, which takes a microsecond each, and leastTrains where latencies
// are most of the time, so that most trains are brought twice; mostTransfers is how many transfers they have at most: to write
// a million and to verify them takes a quarter of a second.
const leastTrains, mostTrains, mostTransfers = 1 << 18, 1 << 20, 6 << 20

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

package solve

import (
	"context"

	"github.com/oraccl/oraccl/model"
)

// Growth chooses into how many pieces a buffer is cut next, by a method that gives chunks times quickly.
type Growth struct {
	Pieces int64 // to be tried next; 0: none are

	o            Options
	before, idle int64
	ends         model.Time // of the pieces before
}

// NewGrowth returns a growth that begins with a number of pieces.
func NewGrowth(o Options, pieces int64) *Growth {
	return &Growth{Pieces: pieces, o: o, ends: model.MaxTime}
}

// Next is told what is the best after g.Pieces, and into how many pieces at most there may be, and sets Pieces to what is
// to be tried next, 0 if nothing is. It takes the makespan for a constant and what is inverse to the number of pieces.
func (g *Growth) Next(best Result, most int64) {
	if best.Schedule == nil {
		if g.Pieces *= 2; g.Pieces > most {
			g.Pieces = 0
		}
		return
	}
	ends, transfers := best.Makespan(), len(best.Schedule.Transfers)
	saved, before := max(0, g.ends-ends), g.before
	if g.idle++; saved > ends/1000 {
		g.idle = 0
	}
	first := g.ends == model.MaxTime
	g.ends, g.before = ends, g.Pieces
	next, enough := 2*g.Pieces, g.o.Nearly()
	if !first && g.Pieces >= somePieces {
		part := float64(saved) * float64(before) / float64(g.Pieces-before) // what is left to be saved
		limit := float64(ends) - part
		switch left := float64(enough+g.o.Enough)/2 - limit; {
		case ends <= enough && transfers > manyTransfers, transfers > manyTransfers && float64(enough) < limit:
			next = 0
		case left > 0:
			next = max(next, int64(min(float64(g.Pieces)*part/left, 16*float64(g.Pieces))))
		}
	}
	if next = min(next, most); ends <= max(g.o.Bound, g.o.Enough) || g.idle == 2 || next <= g.Pieces {
		next = 0
	}
	g.Pieces = next
}

const (
	// somePieces is from how many on the makespan tells what more of them will save.
	somePieces = 8
	// manyTransfers is from how many on there are more only if the makespan may become near enough.
	manyTransfers = 1 << 17
)

// Nearly returns the makespan for which chunks need not be very fine.
func (o Options) Nearly() model.Time { return o.Bound + nearEnough*max(0, o.Enough-o.Bound) }

// nearEnough is how many times as far from the bound as is enough a makespan may be for that.
const nearEnough = 4

// Evenly returns a number of chunks, or fewer, that are all equal except the last: those that differ by a byte would
// leave gaps too short for one of them.
func Evenly(space, n int64) (chunks []model.Chunk) {
	return OfSize(space, max(1, (space+n-1)/n))
}

// OfSize returns chunks of a size, except for the last one.
func OfSize(space, size int64) (chunks []model.Chunk) {
	for at := int64(0); at < space; at += size {
		chunks = append(chunks, model.Chunk{Offset: at, Size: min(size, space-at)})
	}
	return chunks
}

// Stopped is the result of a method that stopped before it had a schedule.
func Stopped(ctx context.Context, p *model.Problem) Result {
	return Result{Problem: Cut(p, 1), Stop: StopOf(ctx)}
}

// Failed returns what a method returns that got an error before it had a schedule: if ctx is done that is why.
func Failed(ctx context.Context, p *model.Problem, err error) (Result, error) {
	if ctx.Err() != nil {
		return Stopped(ctx, p), nil
	}
	return Result{}, err
}

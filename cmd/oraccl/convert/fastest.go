package convert

import (
	"context"
	"fmt"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/assign"
	"github.com/oraccl/oraccl/solve/certify"
)

// littleLonger is by how much what a runtime loads may take longer than the schedule that it is made of, for no other
// program to be looked for.
const littleLonger = 0.001

// mostCompared is how many transfers are read at most, in all files of MSCCL-IR that one schedule can become together, and
// mostPlanned in all plans, which take longer to read.
const mostCompared, mostPlanned = 1 << 18, 1 << 12

// comparedPasses is how many transfers pace places at most for each file that is compared, where that is more than leastPasses
// times all: where ranks exchange values it may place them again and again.
const comparedPasses, leastPasses = 1 << 17, 16

// fastest makes something of programs that perform a schedule, and returns what takes least once a runtime has loaded it,
// of several the first: a threadblock does one after the other what links could do at once, and what the schedule does at other times
// than as soon as it can, a runtime does then. Where that is not known it returns the first. It looks at no more of them once they have
// made as many transfers as most.
func fastest[T any](ctx context.Context, p *model.Problem, s *model.Schedule, o assign.Options, most int, make func(*model.Program) (T, error), read func(T) (*model.Imported, error)) (best T, least certify.Loaded, err error) {
	var first error
	found := false
	err = assign.Each(p, s, o, func(program *model.Program) bool {
		x, err := make(program)
		if err != nil {
			if first == nil {
				first = err
			}
			return ctx.Err() == nil
		}
		l := lasts(ctx, p, max(leastPasses, comparedPasses/max(1, len(s.Transfers))), func() (*model.Imported, error) { return read(x) })
		if !found || l.Lasts > 0 && (least.Lasts == 0 || l.Lasts < least.Lasts) {
			best, least, found = x, l, true
		}
		most -= len(s.Transfers)
		return ctx.Err() == nil && most > 0 && !isFast(least, p, s)
	})
	switch {
	case !found && err == nil:
		err = first
	case found && least.Lasts == 0:
		least = lasts(ctx, p, math.MaxInt, func() (*model.Imported, error) { return read(best) })
	}
	return best, least, err
}

// isFast reports whether what a runtime loads takes as long as the schedule that it is made of, or a little longer.
func isFast(l certify.Loaded, p *model.Problem, s *model.Schedule) bool {
	return l.Lasts > 0 && float64(l.Lasts) <= (1+littleLonger)*float64(p.Makespan(s))
}

// lasts returns how long what is read of a file takes on the network of p, which it was made for; or why that is not known.
// passes limits how often pace places its transfers.
func lasts(ctx context.Context, p *model.Problem, passes int, read func() (*model.Imported, error)) certify.Loaded {
	unknown := func(format string, args ...any) certify.Loaded {
		return certify.Loaded{Note: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(p.Members()) != p.Topology.Ranks:
		return unknown("the file has %d of the %d ranks of %s", len(p.Members()), p.Topology.Ranks, p.Topology.Name)
	case p.Cost.Synchronous():
		return unknown("the file has no rounds")
	}
	m, err := read()
	switch {
	case err != nil:
		return unknown("%v", err)
	case len(m.Objections) > 0:
		return unknown("%s", m.Objections[0].Message)
	}
	q := *p
	q.Chunks = m.Problem.Chunks
	s, err := certify.TimedIn(ctx, &q, m.Schedule, m.Order, passes)
	if err != nil {
		return unknown("%v", err)
	}
	return certify.Loaded{Lasts: q.Makespan(s)}
}

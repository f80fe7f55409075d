package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// maxPieces is into how many chunks per member an allreduce is cut at most, and maxCut limits
// its transfers if it is cut into more than one.
const (
	maxPieces = 16
	maxCut    = 1 << 17
)

// Finer chunks must make the makespan shorter by 1/gain.
const gain = 256

// candidate is a cut with the schedule of one try, nil if none was made.
type candidate struct {
	syn      *synthesis
	schedule *model.Schedule
	makespan model.Time
}

// cuts returns what tries on p share when it is cut as o asks or, where an allreduce leaves
// that to the method, as is best: chunks are halved as long as a try gains by it, in one of
// two steps. Many chunks keep links busy while the first ones are on their way; with few,
// less latency adds up. If a second cut is about as good by that one try it is returned, too.
// It returns none if stop ends it before the first.
func cuts(p *model.Problem, o solve.Options, threads int, stop func() bool) ([]candidate, error) {
	k := max(1, o.Chunks)
	syn, err := newSynthesis(solve.Cut(p, k), stop)
	if err != nil || syn == nil {
		return nil, err
	}
	if p.Chunks != nil || o.Chunks > 0 || syn.both == nil {
		return []candidate{{syn: syn}}, nil
	}
	var all []candidate
	try := func() bool {
		syn.threads = threads
		c := candidate{syn, syn.try(o.Seed, 0, stop), model.MaxTime}
		if c.schedule != nil {
			c.makespan = syn.p.Makespan(c.schedule)
		}
		all = append(all, c)
		return c.schedule != nil
	}
	best := model.MaxTime
	for vain, more := 0, try(); more && vain < 2 && k < maxPieces; {
		last := all[len(all)-1].makespan
		if vain++; best == model.MaxTime || last < best-best/gain {
			best, vain = last, 0
		}
		k *= 2
		if n := int64(p.DefaultChunks(k)); n > p.Space() || 2*n*int64(p.Topology.Ranks) > maxCut {
			break
		}
		if syn, err = newSynthesis(solve.Cut(p, k), stop); err != nil {
			return nil, err
		}
		more = syn != nil && syn.both != nil && try()
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.makespan, b.makespan) })
	if len(all) > 1 && all[1].makespan-all[0].makespan > all[0].makespan/about {
		return all[:1], nil
	}
	return all[:min(2, len(all))], nil
}

// A schedule is about as good as another if it is longer by no more than 1/about.
const about = 32

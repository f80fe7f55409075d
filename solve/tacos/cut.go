package tacos

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// maxPieces is into how many chunks a member an allreduce is cut at most, and maxCut limits
// its transfers if it is cut into more than one.
const (
	maxPieces = 16
	maxCut    = 1 << 16
)

// gain is what finer chunks must gain, one part of so many.
const gain = 256

// cut returns what tries on p share when it is cut as o says or, where an allreduce leaves
// that to the method, as is best: chunks are halved as long as a try gains by it, in one of two steps. Many
// chunks keep links busy while the first ones are on their way; with few, less latency adds
// up. It returns the schedule of that try, too, nil if none was made.
func cut(p *model.Problem, o solve.Options, threads int, stop func() bool) (*synthesis, *model.Schedule, error) {
	k := max(1, o.Chunks)
	syn, err := newSynthesis(solve.Cut(p, k))
	if err != nil || p.Chunks != nil || o.Chunks > 0 || syn.both == nil {
		return syn, nil, err
	}
	syn.threads = threads
	best := syn.try(o.Seed, 0, stop)
	for vain := 0; best != nil && vain < 2 && k < maxPieces; {
		k *= 2
		if n := int64(p.DefaultChunks(k)); n > p.Space() || 2*n*int64(p.Topology.Ranks) > maxCut {
			break
		}
		other, err := newSynthesis(solve.Cut(p, k))
		if err != nil {
			return nil, nil, err
		}
		other.threads = threads
		if other.both == nil {
			break
		}
		t := other.try(o.Seed, 0, stop)
		if t == nil {
			break
		}
		old, end := syn.p.Makespan(best), other.p.Makespan(t)
		if vain++; end < old-old/gain {
			syn, best, vain = other, t, 0
		}
	}
	return syn, best, nil
}

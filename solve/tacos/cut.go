package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// maxPieces is into how many chunks per member an allreduce is cut at most, sharedPieces where hops share links or ports, which takes
// longer, and maxCut and sharedCut limit its transfers if it is cut into more than one, the former to twice as many where latencies count.
const (
	maxPieces, sharedPieces = 128, 16
	maxCut, sharedCut       = 1 << 18, 1 << 17
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
// two steps, until one is good enough. Many chunks keep links busy while the first ones are on their way; with few,
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
	if c := chained(p, syn, o, stop); c != nil {
		all = append(all, *c)
		if c.makespan <= o.Enough {
			return all, nil
		}
	}
	try := func() bool {
		syn.threads = threads
		c := candidate{syn, syn.try(o.Seed, 0, stop), model.MaxTime}
		if c.schedule != nil {
			c.makespan = syn.p.Makespan(c.schedule)
		}
		all = append(all, c)
		return c.schedule != nil
	}
	best, pieces, transfers := model.MaxTime, maxPieces, int64(maxCut)
	if !syn.forward.Private {
		pieces, transfers = sharedPieces, sharedCut
	} else if syn.both.Latent {
		transfers *= 2
	}
	for vain, more := 0, try(); more && vain < 2 && k < pieces; {
		last := all[len(all)-1].makespan
		if last <= o.Enough {
			break
		}
		if vain++; best == model.MaxTime || last < best-best/gain {
			best, vain = last, 0
		}
		k *= 2
		if n := int64(p.DefaultChunks(k)); n > p.Space() || 2*n*int64(p.Topology.Ranks) > transfers {
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

// chained returns the best candidate whose trees have no branches, with chunks halved as long as it gains by that, or nil if there is
// none. These trees are quick to make, and next to nothing is better than they are on long buffers where the busiest links are those of
// the ranks.
//
// It begins with one chunk a member, for which syn is made.
func chained(p *model.Problem, syn *synthesis, o solve.Options, stop func() bool) (best *candidate) {
	for k := 1; syn != nil && syn.both != nil; {
		list := syn.both.Chains(o.Seed, stop)
		if list == nil {
			break
		}
		c := &candidate{syn, syn.schedule(list), solve.End(list)}
		if best != nil && c.makespan >= best.makespan-best.makespan/gain {
			break
		}
		best = c
		k *= 2
		if n := int64(p.DefaultChunks(k)); k > sharedPieces || n > p.Space() || 2*n*int64(p.Topology.Ranks) > sharedCut {
			break
		}
		var err error
		if syn, err = newSynthesis(solve.Cut(p, k), stop); err != nil {
			break
		}
	}
	return best
}

// A schedule is about as good as another if it is longer by no more than 1/about.
const about = 32

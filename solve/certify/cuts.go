package certify

import (
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
)

// triedCuts are the numbers of chunks a member that are tried with a method that chooses none;
// of one buffer for all members, those of wholeCuts.
var (
	triedCuts = []int{1, 2, 3, 4, 6, 8, 12, 16}
	wholeCuts = []int{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096}
)

// Limits of the search for a cut.
const (
	mostMoved = 1 << 17 // transfers at least beyond which a larger cut is not tried
	fewTries  = 16      // of a method that makes some, with each cut; fewer where cuts are fine
	fineMoves = 1 << 16 // transfers at least of all tries with a fine cut
	idleCuts  = 2       // as many in a row that are no better end the search
)

// searchesCut reports whether the cut is searched for a method that needs one for p.
func (e *Evaluator) searchesCut(m solve.Solver, p *model.Problem) bool {
	return e.ChooseCuts && p.Chunks == nil && e.Options.Chunks == 0 && p.Collective.Cuttable() && !m.About().WarmStart &&
		!p.Cost.Synchronous()
}

// triesCuts reports whether a method that works long on one cut is to try several.
func (e *Evaluator) triesCuts(m solve.Solver, p *model.Problem) bool {
	about := m.About()
	return e.ChooseCuts && p.Chunks == nil && e.Options.Chunks == 0 && p.Collective.Kind != model.Custom && about.WarmStart &&
		!p.Cost.Synchronous() && about.NeedsCut != nil && about.NeedsCut(p)
}

// mostTried is how many cuts are tried with a method that works long on one.
const mostTried = 3

// cutsToTry returns with how many chunks a member a method may find something shorter than the
// best of what was proved before, as a quick search for bounds has it: those that come first
// of triedCuts and that the method serves, in ascending order.
func (e *Evaluator) cutsToTry(b *solve.Budget, m solve.Solver, p *model.Problem, before []*Row) (cuts []int) {
	best := bestStart(p, before)
	for _, k := range cutsOf(p) {
		q := solve.Cut(p, k)
		switch {
		case k > 1 && len(q.Chunks) < q.DefaultChunks(k), k > 1 && best != nil && e.near(b, p, best.Makespan), b.Stop() != 0, m.Serves(q) != nil, len(cuts) == mostTried:
			return cuts
		case best != nil && !e.mayBeat(best.Makespan, e.least(b, q)):
			continue
		}
		cuts = append(cuts, k)
	}
	return cuts
}

// near reports whether a makespan is so close to the bound for every cut that larger cuts are
// not tried.
func (e *Evaluator) near(b *solve.Budget, p *model.Problem, makespan model.Time) bool {
	return float64(makespan) <= (1+UsuallyEnough)*float64(e.known(b, p))
}

// mayBeat reports whether a schedule of a cut with a bound is wanted beside one with a makespan.
// Where methods are compared, one that is as good is.
func (e *Evaluator) mayBeat(makespan, bound model.Time) bool {
	return bound < makespan || bound == makespan && e.Enough == 0
}

// least returns the largest bound of the cut of p that is known, or that a quick search finds.
func (e *Evaluator) least(b *solve.Budget, p *model.Problem) model.Time {
	least := quickEstimate(b.Context(), p)
	if s, ok := e.searched[CutKey(p)]; ok && s.best != nil {
		least = max(least, s.best.Bound)
	}
	return least
}

// cutsOf returns the numbers of chunks a member that are tried.
func cutsOf(p *model.Problem) []int {
	if p.DefaultChunks(1) == 1 {
		return wholeCuts
	}
	return triedCuts
}

// chooseCut returns how many chunks a member are best for a method that chooses no cut, what
// the method found with them, which has no schedule if it found none, and a note on what was
// tried. The method works for a short time with one cut after the other, in ascending order,
// except those whose own bound is no better than what another reached. The answer does not
// depend on the clock unless half the time of b passes.
func (e *Evaluator) chooseCut(b *solve.Budget, m solve.Solver, p *model.Problem) (k int, found solve.Result, note string) {
	b, cancel := b.Share(2)
	defer cancel()
	o := e.Options
	o.TimeLimit, o.Effort = 0, -1
	most := fewTries
	if o.Tries > 0 {
		most = o.Tries
	}
	o.Bound = e.known(b, p)
	k = 1
	best, idle, tried := model.MaxTime, 0, []string(nil)
	for _, n := range cutsOf(p) {
		q := solve.Cut(p, n)
		if n > 1 && (len(q.Chunks) < q.DefaultChunks(n) || moves(q, len(q.Chunks)) > mostMoved) || b.Stop() != 0 || m.Serves(q) != nil {
			break
		}
		if quickEstimate(b.Context(), q) >= best {
			continue
		}
		o.Tries = max(1, min(most, fineMoves/max(1, moves(q, len(q.Chunks)))))
		r, err := m.Solve(b.Context(), q, o)
		if err != nil || r.Schedule == nil {
			break
		}
		tried = append(tried, fmt.Sprint(n))
		if makespan := r.Makespan(); makespan < best-best/1000 { // less does not pay for more chunks
			best, k, found, idle = makespan, n, r, 0
		} else if idle++; idle == idleCuts {
			break
		}
		if best <= o.Bound+o.Bound/10000 {
			break
		}
	}
	if len(tried) > 1 {
		note = fmt.Sprintf("best cut of %s chunks per rank", strings.Join(tried, ", "))
	}
	return k, found, note
}

// moves returns how many transfers p needs at least with a number of chunks in all.
func moves(p *model.Problem, chunks int) int {
	switch p.Collective.Kind {
	case model.AllGather, model.ReduceScatter, model.Broadcast, model.Reduce:
		return chunks * (len(p.Members()) - 1)
	case model.AllReduce:
		return 2 * chunks * (len(p.Members()) - 1)
	}
	return chunks
}

// quickEstimate returns what a quick search takes for a bound of the cut of p, 0 if it finds none.
func quickEstimate(ctx context.Context, p *model.Problem) model.Time {
	if w, err := bound.Quick(ctx, p); err == nil && w != nil {
		return w.Estimate
	}
	return 0
}

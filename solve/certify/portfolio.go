package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// Tried is a method of a portfolio that found a schedule.
type Tried struct {
	Method   string
	Makespan model.Time
	Solving  time.Duration
}

// UsuallyEnough is how far above the bound a schedule is at most for which a portfolio does
// not look for a better one: half a percent.
const UsuallyEnough = 0.005

// answer runs a portfolio, and another one for what fits if that is asked for and the best does
// not.
func (e *Evaluator) answer(b *solve.Budget, p *model.Problem, methods []solve.Solver, ev *Report) error {
	if e.Fits == nil {
		return e.portfolio(b, p, methods, ev)
	}
	limit := time.Duration(0)
	if left := b.Left(); left != math.MaxInt64 {
		limit = max(1, left/2)
	}
	share, cancel := solve.NewBudget(b.Context(), limit, b.Threads())
	defer cancel()
	if err := e.portfolio(share, p, methods, ev); err != nil {
		return err
	}
	return e.fitting(b, p, methods, ev)
}

// portfolio runs methods until a proved schedule is within e.Enough of the bound, and proves
// only what may be the best. Quick methods come first: of what these find, only the best is
// proved. Where p needs more than mostQuick transfers they are not quick, and come last. What
// usually wins gets more of the time, and so does each method until there is a schedule. What all
// leave of a time limit is for the one that is best, if it can go on, and for others that are about as good if it gains nothing.
//
// What it answers does not depend on the clock as long as no limit is reached: methods run
// in one order, each ends by itself, and what ends the work is a makespan.
func (e *Evaluator) portfolio(b *solve.Budget, p *model.Problem, methods []solve.Solver, ev *Report) error {
	var found []*Row  // and not proved
	var paused []*Row // whose methods can go on
	isQuick := func(m solve.Solver) bool { return m.About().Quick && moves(p, p.DefaultChunks(1)) <= mostQuick }
	rank := map[string]int{} // 1: it usually wins, and gets more time
	for _, m := range methods {
		switch about := m.About(); {
		case isQuick(m):
			rank[m.Name()] = 0
		case about.Quick: // where there are fewer transfers
			rank[m.Name()] = 3
		case about.Leads != nil && about.Leads(p):
			rank[m.Name()] = 1
		default:
			rank[m.Name()] = 2
		}
	}
	methods = slices.Clone(methods)
	slices.SortStableFunc(methods, func(l, m solve.Solver) int { return cmp.Compare(rank[l.Name()], rank[m.Name()]) })
	parts := quickShare
	if slices.ContainsFunc(methods, func(m solve.Solver) bool { return rank[m.Name()] == 1 }) {
		parts *= 2
	}
	quick, cancel := b.Share(parts)
	defer cancel()
	quicks := len(slices.DeleteFunc(slices.Clone(methods), func(m solve.Solver) bool { return !isQuick(m) }))
	for i, m := range methods {
		if len(found) > 0 && !isQuick(m) {
			if err := e.proveBest(b, shortly, found, ev); err != nil {
				return err
			}
			found = nil
		}
		if pieces := e.turn(b, p, i, methods, rank, ev); pieces > 0 {
			if err := e.more(b, pieces, p, &paused, ev); err != nil {
				return err
			}
		}
		switch stop := b.Stop(); {
		case e.enough(b, p, ev):
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: fmt.Sprintf("not needed: %s is within %g %% of the bound", ev.Best().Method, 100*e.Enough)})
			continue
		case stop != 0:
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: tooLate(stop), Stop: stop})
			continue
		}
		if reason := e.cannotWin(b, m, p, ev); reason != "" {
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: reason})
			continue
		}
		if err := e.proveFirst(b, ev); err != nil {
			return err
		}
		work, free := e.apart(b, ev)
		left := len(methods) - i
		if rank[m.Name()] == 1 || ev.Best() == nil { // one schedule is better than none
			left = min(left, 3)
		}
		share, done := fallingShare(work, left)
		if isQuick(m) {
			done()
			share, done = quick.Share(quicks - i)
		}
		r, err := e.find(share, m, p, ev.Rows)
		done()
		free()
		switch {
		case err != nil && (errors.Is(err, solve.ErrNotServed) || len(methods) > 1):
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: err.Error()})
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", m.Name(), err)
		case r.Result.Schedule == nil:
			ev.LeftOut = append(ev.LeftOut, LeftOut{Method: m.Name(), Reason: "found no schedule: " + r.StopReason(), Stop: r.Result.Stop})
			continue
		}
		ev.Tried = append(ev.Tried, Tried{m.Name(), r.Makespan, r.Solving})
		found = append(found, r)
		if r.leads = rank[m.Name()] == 1; r.Result.More != nil {
			paused = append(paused, r)
		}
		if e.Fits != nil {
			ev.found = append(ev.found, r)
		}
	}
	if err := e.proveBest(b, shortly, found, ev); err != nil {
		return err
	}
	if busy(paused, ev.Best()) > 1 {
		if err := e.more(b, 2, p, &paused, ev); err != nil {
			return err
		}
	}
	if err := e.more(b, 1, p, &paused, ev); err != nil {
		return err
	}
	return e.proveAgain(b, ev)
}

// quickShare is of how many parts of the time all quick methods together have one, of twice as many where another method usually wins.
const quickShare = 3

// shortly is of how many parts of the time a proof has one while methods are to come.
const shortly = 8

// nearly is how far above the bound a schedule is at most for which it is likely that the method
// that found it finds the best.
const nearly = 0.03

// turn returns how large a part of the time that is left the paused methods have before the i-th
// method, as a number of pieces of work of which theirs is the first, or 0 if they have to wait.
// They go on after the methods that usually win if a schedule is nearly good enough, or if others
// hardly ever win, as in allreduces in which latencies count, and before those that search all schedules, which seldom win.
func (e *Evaluator) turn(b *solve.Budget, p *model.Problem, i int, methods []solve.Solver, rank map[string]int, ev *Report) int {
	switch best := ev.Best(); {
	case methods[i].About().WarmStart:
		return 2
	case i > 0 && rank[methods[i-1].Name()] == 1 && rank[methods[i].Name()] != 1 && best != nil &&
		(broadcasts(p) || network.Latent(p) || float64(best.Makespan) < (1+nearly)*float64(e.known(b, p))):
		return 2
	}
	return 0
}

// broadcasts reports whether p is a broadcast or, read backwards, a reduction.
func broadcasts(p *model.Problem) bool {
	return p.Collective.Kind == model.Broadcast || p.Collective.Kind == model.Reduce
}

// overtakes is up to how many times as long as the best one a schedule is that is worked on.
const overtakes = 1.05

// moreToProve is how many times as long as for the best schedule the proof may take for the one that is found from there on, with more chunks.
const moreToProve = 2

// rivals reports whether a schedule is about as good as another one.
func (r *Row) rivals(best *Row) bool { return float64(r.Makespan) <= overtakes*float64(best.Makespan) }

// busy returns how many methods can go on, have found about as good a schedule as the best one, and gained something when they went on before.
func busy(paused []*Row, best *Row) (n int) {
	for _, r := range paused {
		if best != nil && !r.idle && r.rivals(best) {
			n++
		}
	}
	return n
}

// more has the method go on that found the shortest schedule of those that can, see candidate, with the share of the first of some pieces of
// work, unless there is one that is good enough; and if it gains nothing, another one. Without a time limit all came to their ends.
func (e *Evaluator) more(b *solve.Budget, pieces int, p *model.Problem, paused *[]*Row, ev *Report) error {
	best := ev.Best()
	if len(*paused) == 0 || best == nil || b.Stop() != 0 || b.Left() == math.MaxInt64 || e.enough(b, p, ev) {
		return nil
	}
	i := candidate(*paused, best)
	if i < 0 {
		return nil
	}
	old := (*paused)[i]
	if err := e.proveFirst(b, ev); err != nil {
		return err
	}
	replay, left := max(e.takes("replay", best), e.takes("replay", old)), b.Left()
	proof := replay + max(e.takes("smt", best), e.takes("smt", old))
	if left <= replay || left < proof && !best.open() { // what is found would not be verified, or not by all engines, as the best is
		return nil
	}
	limit := min(left/5*4, left-replay) // the rest is for the verifiers
	switch {
	case moreToProve*proof < left:
		limit = min(limit, left-moreToProve*proof)
	case proof < left:
		limit = min(limit, left-proof)
	}
	if pieces > 1 {
		limit = min(limit, partOf(left, pieces))
	}
	share, done := solve.NewBudget(b.Context(), max(1, limit), b.Threads())
	most := 0 // transfers that can be proved in a third of the time that is left for that: to write them takes time, too
	if took := max(1, e.takes("replay", old)+e.takes("smt", old)); proof < left {
		most = max(1, int(float64(len(old.Result.Schedule.Transfers))*float64(left-limit)/3/float64(took)))
	}
	r, err := e.goOn(share, p, old, most)
	done()
	if err != nil {
		return fmt.Errorf("%s: %w", old.Method, err)
	}
	r.idle, r.leads = r.Makespan >= old.Makespan, old.leads
	if (*paused)[i] = r; r.Result.More == nil {
		*paused = slices.Delete(*paused, i, i+1)
	}
	i = slices.IndexFunc(ev.Tried, func(t Tried) bool { return t.Method == r.Method })
	ev.Tried[i] = Tried{r.Method, r.Makespan, r.Solving}
	if e.Fits != nil {
		ev.found = append(ev.found, r)
	}
	proving := pieces
	if pieces > 1 {
		proving = shortly
	}
	if err := e.proveBest(b, proving, []*Row{r}, ev); err != nil {
		return err
	}
	if r.idle && busy(*paused, ev.Best()) > 0 && b.Left() > moreToProve*proof {
		return e.more(b, pieces, p, paused, ev)
	}
	return nil
}

// candidate returns the number of the method that goes on first, -1 if there is none: of those whose schedules are about as good as the best one, that
// which is ahead. Methods that gained nothing when they went on before come last.
func candidate(paused []*Row, best *Row) int {
	first := -1
	for i, r := range paused {
		if !r.rivals(best) {
			continue
		}
		if first < 0 || paused[first].idle && !r.idle || paused[first].idle == r.idle && r.ahead(paused[first]) {
			first = i
		}
	}
	return first
}

// ahead reports whether a method is likely to find a shorter schedule than one that ran before it: its schedule is shorter, clearly so if the other one
// usually finds the best, and maybe hardly longer if only this one does.
func (r *Row) ahead(of *Row) bool {
	mine, others := float64(r.Makespan), float64(of.Makespan)
	switch {
	case of.leads:
		return hardlyLonger*mine < others
	case r.leads:
		return mine < hardlyLonger*others
	}
	return mine < others
}

// hardlyLonger is up to how many times as long as another one a schedule is hardly longer.
const hardlyLonger = 1.02

// mostQuick is up to how many transfers, with one chunk a member, methods are quick.
const mostQuick = 1 << 16

// fallingShare returns the share of the first of some methods. Shares fall: of three methods the
// first one gets three fifths, the second three tenths, the last a tenth; and what one leaves
// is for those after it.
func fallingShare(b *solve.Budget, methods int) (*solve.Budget, context.CancelFunc) {
	left := b.Left()
	if left == math.MaxInt64 {
		return solve.NewBudget(b.Context(), 0, b.Threads())
	}
	return solve.NewBudget(b.Context(), partOf(left, methods), b.Threads())
}

// partOf returns how much of the time that is left the first of some methods has.
func partOf(left time.Duration, methods int) time.Duration {
	return max(1, 3*(left/time.Duration(methods+2)))
}

// known returns the largest bound that holds for p, of every cut where p leaves that open.
func (e *Evaluator) known(b *solve.Budget, p *model.Problem) model.Time {
	if c, err := e.boundBefore(b, p); err == nil && c != nil {
		return c.Bound
	}
	return 0
}

// within reports whether a makespan is so close to a bound that nothing better is needed.
func (e *Evaluator) within(makespan, bound model.Time) bool {
	return bound > 0 && float64(makespan-bound) <= e.Enough*float64(bound)
}

// enough reports whether the best proved schedule is close enough to the bound.
func (e *Evaluator) enough(b *solve.Budget, p *model.Problem, ev *Report) bool {
	best := ev.Best()
	return best != nil && e.within(best.Makespan, e.known(b, p))
}

// cannotWin returns why a method that does not choose the cut cannot find a better schedule
// than the best, or "". A quick method may run all the same.
func (e *Evaluator) cannotWin(b *solve.Budget, m solve.Solver, p *model.Problem, ev *Report) string {
	best, about := ev.Best(), m.About()
	if best == nil || about.Quick || about.NeedsCut == nil || !about.NeedsCut(p) || e.searchesCut(m, p) {
		return ""
	}
	q := solve.Cut(p, max(1, e.Options.Chunks))
	if e.triesCuts(m, p) {
		if len(e.cutsToTry(b, m, p, ev.Rows)) > 0 {
			return ""
		}
	} else if e.mayBeat(best.Makespan, e.known(b, q)) {
		return ""
	}
	return fmt.Sprintf("not needed: with %d chunks nothing is faster than %v, and %s has %v", len(q.Chunks), e.least(b, q), best.Method, best.Makespan)
}

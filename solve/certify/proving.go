package certify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/random"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// usually is how long an engine takes for a transfer on an idle machine, the solver for one of a chunk that is like none before.
var usually = map[string]time.Duration{"replay": 200 * time.Nanosecond, "smt": 10 * time.Microsecond}

// pace returns about how long an engine takes for such a transfer, with some reserve: what was measured on this machine, as busy as
// it is, or else what is usual.
func (e *Evaluator) pace(engine string) time.Duration {
	if measured, ok := e.paces[engine]; ok {
		return measured + measured/4
	}
	return usually[engine]
}

// recognised returns about how long the solver takes for a transfer of a chunk that is like one before, rather more than less: twice as
// long as a replay, or what was measured, if that is longer.
func (e *Evaluator) recognised() time.Duration {
	return max(e.alike, 2*cmp.Or(e.paces["replay"], usually["replay"]))
}

// leastMeasured is of how many transfers on the pace of an engine is measured, and longMeasured how long it takes for them, at
// least: what it does before the first one takes most of a shorter time.
const leastMeasured, longMeasured = 1 << 12, 100 * time.Millisecond

// leastUnlike is of how many transfers of chunks that are like none before the pace of the solver is measured, at least: of a shorter proof most of the time
// is for what comes before the first of them. Where there are fewer of them, but leastAlike transfers in all, the pace of the others is measured.
const leastUnlike, leastAlike = 1 << 13, 1 << 16

// measured reports whether something of what an engine takes was measured.
func (e *Evaluator) measured(engine string) bool {
	_, known := e.paces[engine]
	return known || engine == smt.Engine && e.alike > 0
}

// takes returns about how long an engine takes for a row.
func (e *Evaluator) takes(engine string, r *Row) time.Duration {
	each, all := e.pace(engine), time.Duration(len(r.Result.Schedule.Transfers))
	if engine != smt.Engine {
		return each * all
	}
	if _, measured := e.paces[engine]; !measured {
		each += perRank * time.Duration(len(r.Result.Problem.Members()))
	}
	return each*time.Duration(r.unlike(len(r.Result.Problem.Chunks))) + e.recognised()*all
}

// perRank is how much longer than usual the solver takes, for each rank, for a transfer of a chunk that is like none before: sums get
// longer.
const perRank = 100 * time.Nanosecond

// unlike returns how many transfers of the first chunks are of chunks that are like none before: they are taken to be alike if their
// transfers begin and end in the same order, or in another one that does not matter (see smt.Encoder.Mark). The first time it takes O(transfers) time, and puts the times
// of the first mostOrdered in order.
func (r *Row) unlike(chunks int) int {
	if r.fresh == nil {
		r.fresh = unlike(r.Result.Problem, r.Result.Schedule, mostOrdered)
	}
	return r.fresh[chunks]
}

// mostOrdered is up to how many transfers are looked at in order.
const mostOrdered = 1 << 20

// unlike returns, for each number of chunks, how many transfers are of those that are like none before. Where there are more than most
// transfers, as many of those of later chunks are taken to be as of the latter half of those that are looked at.
func unlike(p *model.Problem, s *model.Schedule, most int) []int {
	chunks := len(p.Chunks)
	first := make([]int, chunks+1) // by chunk: how many transfers come before it, chunk after chunk
	for i := range s.Transfers {
		first[s.Transfers[i].Chunk+1]++
	}
	looked := 0
	for k := range chunks {
		if first[k+1] += first[k]; first[k+1] <= most {
			looked = k + 1
		}
	}
	of, next := make([]int32, first[looked]), slices.Clone(first)
	for i := range s.Transfers {
		if k := s.Transfers[i].Chunk; int(k) < looked {
			of[next[k]] = int32(i)
			next[k]++
		}
	}
	seen, told, fresh := map[uint64]bool{}, map[uint64]bool{}, make([]int, chunks+1)
	e, err := smt.NewEncoder(p, s)
	retold := func(k int) bool { // another chunk is the same when both are retold
		if err != nil || s.Form == model.Ordered {
			return false
		}
		mark := e.Mark(k)
		if told[mark] {
			return true
		}
		told[mark] = true
		return false
	}
	var times []model.Time
	for k := range looked {
		list := of[first[k]:first[k+1]]
		times = times[:0]
		for _, i := range list {
			times = append(times, s.Transfers[i].Start, s.Transfers[i].End)
		}
		slices.Sort(times)
		times = slices.Compact(times)
		sum := uint64(len(list)) // of marks of all, in any order
		for _, i := range list {
			t := &s.Transfers[i]
			start, _ := slices.BinarySearch(times, t.Start)
			end, _ := slices.BinarySearch(times, t.End)
			mark := random.New(uint64(start), uint64(end)<<1|uint64(t.Op))
			sum += mark.Next()
		}
		if fresh[k+1] = fresh[k]; !seen[sum] {
			if seen[sum] = true; !retold(k) {
				fresh[k+1] += len(list)
			}
		}
	}
	half := looked / 2
	part := float64(fresh[looked]-fresh[half]) / float64(max(1, first[looked]-first[half]))
	if looked == 0 {
		part = 1
	}
	for k := looked; k < chunks; k++ {
		fresh[k+1] = fresh[looked] + int(part*float64(first[k+1]-first[looked]))
	}
	return fresh
}

// prove has what a method found verified by all engines, in all the time that is left, and Grace.
func (e *Evaluator) prove(b *solve.Budget, r *Row) error { return e.proveShortly(b, 0, r) }

// leastProof is the least time that the solver has for a proof.
const leastProof = 200 * time.Millisecond

// later, in place of a number of parts, is that the solver proves nothing yet.
const later = -1

// proveShortly has what a method found replayed, and then has the solver prove it in a part of the time that is left. Where that
// would not be enough at the pace that was measured, the proof is put off. Engines that came to a verdict before are not asked again.
func (e *Evaluator) proveShortly(b *solve.Budget, parts int, r *Row) error {
	e.Progress.Begin(r.Method, &solve.Options{})
	defer e.Progress.End()
	e.Progress.Note("verifying")
	after, cancel := solve.Grace(b.Context(), Grace)
	defer cancel()
	v := Verification{Verdicts: map[string]verify.Verdict{}, Checking: map[string]time.Duration{}}
	maps.Copy(v.Verdicts, r.Verdicts) // which a report may share
	maps.Copy(v.Checking, r.Checking)
	engines := Engines
	if e.SMTMost > 0 && len(r.Result.Schedule.Transfers) > e.SMTMost {
		engines = engines[:1]
	}
	for i, engine := range engines {
		if v.Verdicts[engine].Outcome != verify.Unknown {
			continue
		}
		if left := b.Left(); i > 0 && parts != 0 && left != math.MaxInt64 {
			limit := max(leastProof, left/time.Duration(parts))
			if parts == later || parts > 1 && e.measured(engine) && e.takes(engine, r) > limit {
				v.Verdicts[engine] = verify.Verdict{Engine: engine, Decides: verify.Data, Reason: "there was no time for it"}
				continue
			}
			after, cancel = context.WithTimeout(after, limit)
			defer cancel()
		}
		e.ask(after, engine, r, &v)
	}
	r.Verification = v
	return r.combine(engines)
}

// ask asks an engine about a row, and measures its pace.
func (e *Evaluator) ask(ctx context.Context, engine string, r *Row, v *Verification) {
	before, chunks, o := v.Checking[engine], max(1, int64(len(r.Result.Problem.Chunks))), e.SMT
	o.Proved = new(atomic.Int64)
	v.ask(ctx, engine, r.Result.Problem, r.Result.Schedule, o)
	proved := o.Proved.Load()
	if v.Verdicts[engine].Outcome == verify.Proved {
		proved = chunks
	}
	n, took := proved*int64(len(r.Result.Schedule.Transfers))/chunks, v.Checking[engine]-before
	if n >= leastMeasured && took >= longMeasured {
		if e.paces == nil {
			e.paces = map[string]time.Duration{}
		}
		if engine == smt.Engine {
			unlike := int64(r.unlike(int(proved)))
			if unlike < leastUnlike {
				if n >= leastAlike {
					e.alike = took / time.Duration(n)
				}
				return
			}
			took, n = max(took/8, took-e.recognised()*time.Duration(n)), unlike
		}
		e.paces[engine] = took / time.Duration(n)
	}
}

// less is of how many parts of the time a proof has one where hardly anything better is to come.
const less = 4

// proveBest has found schedules verified, the shortest first, until one is proved, and keeps
// that as the row. Those that are not shorter than the row that there is are not looked at.
// What is not close to the bound has the first of some parts of the time that is left, of less where it is nearly: something
// better may come.
func (e *Evaluator) proveBest(b *solve.Budget, parts int, found []*Row, ev *Report) error {
	slices.SortStableFunc(found, func(x, y *Row) int { return int(min(max(x.Makespan-y.Makespan, -1), 1)) })
	for _, r := range found {
		if best := ev.Best(); best != nil && r.Makespan >= best.Makespan {
			return nil
		}
		of, known := parts, e.known(b, ev.Problem)
		switch {
		case e.within(r.Makespan, known):
			of = 1
		case float64(r.Makespan) < (1+nearly)*float64(known):
			of = min(of, less)
		}
		if err := e.proveCoarser(b, r, ev); err != nil {
			return fmt.Errorf("%s: %w", r.Method, err)
		}
		if err := e.proveShortly(b, of, r); err != nil {
			return fmt.Errorf("%s: %w", r.Method, err)
		}
		e.keep(r, ev)
		if r.Outcome() == verify.Proved {
			return nil
		}
	}
	return nil
}

// keep makes a row that was verified the one that is proved, if it is.
func (e *Evaluator) keep(r *Row, ev *Report) {
	ev.Rows = append(slices.DeleteFunc(ev.Rows, func(x *Row) bool { return x.Outcome() == verify.Proved && r.Outcome() == verify.Proved }), r)
	if e.Found != nil {
		e.Found(ev.soFar())
	}
}

// proveCoarser has the coarser schedule of a row replayed, if it is the best so far: the time may end before the row is verified.
func (e *Evaluator) proveCoarser(b *solve.Budget, r *Row, ev *Report) error {
	c, best := r.Result.Coarser, ev.Best()
	if c == nil || b.Left() == math.MaxInt64 || best != nil && c.Makespan() >= best.Makespan {
		return nil
	}
	row, err := e.row(b.Context(), r.Method, ev.Problem, *c, r.Solving)
	if err == nil {
		err = e.proveShortly(b, later, row)
	}
	if err == nil && row.Outcome() == verify.Proved {
		e.keep(row, ev)
	}
	return err
}

// proveAgain has rows verified in full that had no time for that: the shortest first, until one
// is proved.
func (e *Evaluator) proveAgain(b *solve.Budget, ev *Report) error {
	rows := slices.Clone(ev.Rows)
	slices.SortStableFunc(rows, func(x, y *Row) int { return cmp.Compare(x.Makespan, y.Makespan) })
	for _, r := range rows {
		if r.open() && (r.Outcome() != verify.Proved || b.Stop() == 0) {
			if err := e.prove(b, r); err != nil {
				return fmt.Errorf("%s: %w", r.Method, err)
			}
		}
		if r.Outcome() == verify.Proved {
			return nil
		}
	}
	return nil
}

// apart returns the budget of methods that come before the solver proves the best schedule: what is left without the time for that.
func (e *Evaluator) apart(b *solve.Budget, ev *Report) (*solve.Budget, context.CancelFunc) {
	limit := time.Duration(0)
	if best, left := ev.Best(), b.Left(); best != nil && best.open() && left < math.MaxInt64 {
		proof := e.takes("smt", best)
		if proof += proof / 4; proof < left { // methods may end a little late
			limit = left - proof
		}
	}
	return solve.NewBudget(b.Context(), limit, b.Threads())
}

// mayTake is how many times as long as there is time a proof may be expected to take that is tried all the same: it often takes less.
const mayTake = 4

// proveFirst has the solver prove the best schedule if most of the time that is left is to be set aside for that: methods
// then have all that it does not take.
func (e *Evaluator) proveFirst(b *solve.Budget, ev *Report) error {
	best, left := ev.Best(), b.Left()
	if best == nil || !best.open() || left == math.MaxInt64 {
		return nil
	}
	if proof := e.takes("smt", best); proof >= mayTake*left || proof <= left/2 {
		return nil
	}
	if err := e.proveShortly(b, 1, best); err != nil {
		return fmt.Errorf("%s: %w", best.Method, err)
	}
	return nil
}

// open reports whether an engine had no time to come to a verdict on the row.
func (r *Row) open() bool {
	unknown := func(v verify.Verdict) bool { return v.Outcome == verify.Unknown }
	return slices.ContainsFunc(slices.Collect(maps.Values(r.Verdicts)), unknown)
}

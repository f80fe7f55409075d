// Package cnf makes the formula of section 10 of verify/SPEC.md, which says that a
// problem has a schedule within some epochs or rounds, so that a refutation of it can be
// checked against the problem and not against somebody's file. It follows the section
// sentence by sentence, and shares nothing with the search for the refutation.
package cnf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/hops"
)

// Limits of section 10.1.
const (
	maxArcs     = 1 << 16
	maxPaths    = 1 << 22
	maxPairs    = 1 << 24
	maxVars     = 1 << 26
	maxLiterals = 1 << 28
)

// maxSteps is how many steps the making of a formula may take: a few for each literal.
const maxSteps = 1 << 31

// ErrTooLarge is wrapped by errors for formulas that are beyond a limit: whether they are
// false is not known.
var ErrTooLarge = errors.New("too large")

// tooLarge names a limit.
func tooLarge(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrTooLarge}, args...)...)
}

// Size is how large a formula is.
type Size struct{ Variables, Clauses, Literals int }

// Emit takes the clauses of a formula one after the other. The literals are the
// caller's until it returns.
type Emit func(clause []int32) error

// Write passes the formula of w and p to emit. An error states what is not served, or is
// emit's. It takes O(size of the formula) time, and memory for the problem's tables
// alone. Once ctx is done it returns an error that wraps the one of ctx.
func Write(ctx context.Context, p *model.Problem, w model.Refutation, emit Emit) (Size, error) {
	f := &formula{work: verify.Begin(ctx, maxSteps), horizon: w.Horizon, epoch: w.Epoch, steps: w.Steps, emit: emit}
	if err := f.state(p); err != nil {
		return Size{}, fmt.Errorf("cnf: %w", err)
	}
	var err error
	if f.contributions {
		err = f.allReduce()
	} else {
		err = f.copying()
	}
	if err == nil {
		err = f.failed
	}
	if !f.work.Go(1) {
		if err = tooLarge("%s", f.work.Why()); ctx.Err() != nil {
			err = fmt.Errorf("the check has to stop: %w", ctx.Err())
		}
	}
	if err != nil {
		return Size{}, fmt.Errorf("cnf: %w", err)
	}
	return Size{f.vars, f.clauses, f.literals}, nil
}

// DIMACS writes the formula in the format of SAT solvers.
func DIMACS(ctx context.Context, out io.Writer, p *model.Problem, w model.Refutation) error {
	size, err := Write(ctx, p, w, func([]int32) error { return nil })
	if err != nil {
		return err
	}
	b := bufio.NewWriter(out)
	fmt.Fprintf(b, "p cnf %d %d\n", size.Variables, size.Clauses)
	var line []byte
	_, err = Write(ctx, p, w, func(clause []int32) error {
		line = line[:0]
		for _, l := range clause {
			line = append(strconv.AppendInt(line, int64(l), 10), ' ')
		}
		_, err := b.Write(append(line, "0\n"...))
		return err
	})
	return errors.Join(err, b.Flush())
}

// formula is what is written.
type formula struct {
	p       *model.Problem  // as it was given
	t       *model.Topology // turned round for what is read backwards
	horizon int
	epoch   model.Time
	steps   int

	contributions bool  // section 10.6, else 10.2 to 10.5
	holder        []int // by chunk
	wanted        [][]int
	bundles       []hops.Bundle
	arcs          []arc
	into, outOf   [][]int // by rank: arcs
	ready         []int   // by rank: the epoch of its arrival

	vars, clauses, literals int
	emit                    Emit
	clause                  []int32
	satisfied               bool // the clause that is being written has a true literal
	failed                  error
	work                    *verify.Work
	spans                   int // in the timings of all sizes
}

// state fills in everything that does not depend on the horizon.
func (f *formula) state(p *model.Problem) error {
	f.p, f.t = p, p.Topology
	inRounds := p.Cost == model.Rounds || p.Cost == model.LinkRounds
	for _, s := range p.Topology.Switches {
		if s.Copies {
			return errors.New("switches that copy are not served")
		}
	}
	if _, adds := p.Topology.Reducer(); adds {
		return errors.New("switches that add are not served")
	}
	switch {
	case p.Chunks == nil:
		return errors.New("the problem has no chunks")
	case f.horizon < 1 || f.horizon > maxVars:
		return tooLarge("horizon %d, want 1 to %d", f.horizon, maxVars)
	case inRounds && f.epoch != 0 || !inRounds && f.epoch < 1:
		return fmt.Errorf("epochs of %d ps under %v", int64(f.epoch), p.Cost)
	case f.steps < 0 || f.steps > 0 && !inRounds:
		return fmt.Errorf("%d steps under %v", f.steps, p.Cost)
	case p.Late() && (inRounds || p.Collective.Reduces()):
		return errors.New("late ranks are served neither with reductions nor in rounds")
	case int64(len(p.Chunks))*int64(p.Topology.Ranks) > maxPairs:
		return tooLarge("%d chunks at %d ranks, want at most %d pairs", len(p.Chunks), p.Topology.Ranks, maxPairs)
	}
	var err error
	switch kind := p.Collective.Kind; {
	case kind == model.AllReduce && (!inRounds || f.steps > 0):
		return errors.New("allreduce is served in rounds only, and without steps")
	case kind == model.AllReduce && len(p.Members()) < p.Topology.Ranks:
		return errors.New("allreduce is served among all ranks only")
	case kind == model.AllReduce:
		f.contributions = true
	case kind == model.Reduce || kind == model.ReduceScatter:
		err = f.backwards()
	case p.Collective.Reduces():
		return fmt.Errorf("%v with reductions is not served", kind)
	default:
		err = f.forwards()
	}
	if err != nil {
		return err
	}
	f.bundles, _ = hops.Bundles(f.t)
	if err := f.findArcs(); err != nil {
		return err
	}
	if int64(len(f.p.Chunks))*int64(len(f.arcs)) > maxPairs {
		return tooLarge("%d chunks over %d arcs, want at most %d pairs", len(f.p.Chunks), len(f.arcs), maxPairs)
	}
	f.into, f.outOf = make([][]int, f.t.Ranks), make([][]int, f.t.Ranks)
	for i, a := range f.arcs {
		f.into[a.to] = append(f.into[a.to], i)
		f.outOf[a.from] = append(f.outOf[a.from], i)
	}
	f.ready = make([]int, f.t.Ranks)
	if !inRounds {
		for r := range f.ready {
			f.ready[r] = whole(f.p.ReleaseOf(r), f.epoch)
		}
	}
	return nil
}

// whole returns how many epochs have passed at a time, at most what no horizon reaches.
func whole(t, epoch model.Time) int { return int(min(t/epoch, 4*maxVars)) }

// forwards finds holder and wanting ranks of each chunk: section 10.2.
func (f *formula) forwards() error {
	for k := range f.p.Chunks {
		holder, contribution := -1, -1
		for r, v := range f.p.Start(k) {
			c, one := only(v)
			if holder >= 0 || !one {
				return fmt.Errorf("chunk %d does not start at one rank as one contribution", k)
			}
			holder, contribution = r, c
		}
		if holder < 0 {
			return fmt.Errorf("chunk %d starts nowhere", k)
		}
		needs := make([]bool, f.t.Ranks)
		for r, v := range f.p.Goal(k) {
			if c, one := only(v); !one || c != contribution {
				return fmt.Errorf("chunk %d must end as something else than it starts", k)
			}
			needs[r] = r != holder
		}
		f.holds(holder, needs)
	}
	return nil
}

// only returns the contribution that v is, once, if it is no more than that.
func only(v model.Value) (contribution int, ok bool) {
	contribution = -1
	for rank, count := range v.Terms() {
		if contribution >= 0 || count != 1 {
			return -1, false
		}
		contribution = rank
	}
	return contribution, contribution >= 0
}

// backwards does it for a reduction read backwards.
func (f *formula) backwards() error {
	f.t = f.p.Topology.Reversed()
	if f.p.Cost == model.Pipelined {
		for i, port := range f.t.Ports {
			for _, l := range port.Links {
				if f.t.Links[l].Alpha != f.t.Links[port.Links[0]].Alpha {
					return fmt.Errorf("a reduction where port %d has links of different latency is not served", i)
				}
			}
		}
	}
	for k := range f.p.Chunks {
		holder := -1
		for r := range f.p.Goal(k) {
			if holder >= 0 {
				return fmt.Errorf("chunk %d must end at more than one rank", k)
			}
			holder = r
		}
		if holder < 0 {
			return fmt.Errorf("chunk %d must end nowhere", k)
		}
		needs := make([]bool, f.t.Ranks)
		for _, r := range f.p.Members() {
			needs[r] = r != holder
		}
		f.holds(holder, needs)
	}
	return nil
}

func (f *formula) holds(holder int, needs []bool) {
	var wanted []int
	for r, want := range needs {
		if want {
			wanted = append(wanted, r)
		}
	}
	f.holder, f.wanted = append(f.holder, holder), append(f.wanted, wanted)
}

// errStopped ends the writing; Write returns why it had to stop instead.
var errStopped = errors.New("stopped")

// lit adds a literal to the clause that is being written. 0 stands for false.
func (f *formula) lit(l int) {
	if l != 0 {
		f.clause = append(f.clause, int32(l))
	}
}

// end ends the clause and passes it on.
func (f *formula) end() {
	if f.failed == nil && !f.work.Go(1+len(f.clause)) {
		f.failed = errStopped
	}
	if !f.satisfied && f.failed == nil {
		f.clauses++
		if f.literals += len(f.clause); f.literals > maxLiterals {
			f.failed = tooLarge("more than %d literals", maxLiterals)
		} else {
			f.failed = f.emit(f.clause)
		}
	}
	f.clause, f.satisfied = f.clause[:0], false
}

func (f *formula) say(lits ...int) {
	for _, l := range lits {
		f.lit(l)
	}
	f.end()
}

// number returns the first of n new variables.
func (f *formula) number(n int) (int, error) {
	if n > maxVars-f.vars {
		return 0, tooLarge("more than %d variables", maxVars)
	}
	first := f.vars + 1
	f.vars += n
	return first, nil
}

// atMost says that at most m of xs are true: section 10.7.
func (f *formula) atMost(m int, xs []int) error {
	n := len(xs)
	if n <= m {
		return f.failed
	}
	if m == 1 && n <= 6 {
		for i := range xs {
			for j := i + 1; j < n; j++ {
				f.say(-xs[i], -xs[j])
			}
		}
		return f.failed
	}
	if m == 0 {
		for _, x := range xs {
			f.say(-x)
		}
		return f.failed
	}
	if n-1 > maxVars/m {
		return tooLarge("more than %d variables", maxVars)
	}
	first, err := f.number((n - 1) * m)
	if err != nil {
		return err
	}
	// s(i,j): at least j of the first i are true.
	s := func(i, j int) int { return first + (i-1)*m + (j - 1) }
	f.say(-xs[0], s(1, 1))
	for j := 2; j <= m; j++ {
		f.say(-s(1, j))
	}
	for i := 2; i <= n-1; i++ {
		f.say(-xs[i-1], s(i, 1))
		f.say(-s(i-1, 1), s(i, 1))
		for j := 2; j <= m; j++ {
			f.say(-xs[i-1], -s(i-1, j-1), s(i, j))
			f.say(-s(i-1, j), s(i, j))
		}
		f.say(-xs[i-1], -s(i-1, m))
	}
	f.say(-xs[n-1], -s(n-1, m))
	return f.failed
}

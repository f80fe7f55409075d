package certify

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// copied is a method that answers with what another one finds, cut into k chunks, later by some
// time, and notes that it ran.
type copied struct {
	solve.Solver
	name    string
	about   solve.About
	k       int
	late    model.Time // that every transfer starts later
	wrong   bool       // the last transfer is missing
	ran     *[]string
	started *solve.Result // what it was to begin from
}

func (c *copied) Name() string       { return c.name }
func (c *copied) About() solve.About { return c.about }

func (c *copied) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	*c.ran = append(*c.ran, c.name)
	c.started = o.Start
	o.Chunks = c.k
	r, err := c.Solver.Solve(ctx, p, o)
	if err != nil {
		return r, err
	}
	for i := range r.Schedule.Transfers {
		r.Schedule.Transfers[i].Start += c.late
		r.Schedule.Transfers[i].End += c.late
	}
	if c.wrong {
		r.Schedule.Transfers = r.Schedule.Transfers[:len(r.Schedule.Transfers)-1]
	}
	return r, nil
}

// slow is a method that its time limit ends, and that finds better schedules each time it goes on.
type slow struct {
	*copied
	better []model.Time // how late they are
}

func (s *slow) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	r, err := s.copied.Solve(ctx, p, o)
	r.Stop = solve.TimeLimit
	if len(s.better) > 0 {
		s.late, s.better = s.better[0], s.better[1:]
		r.More = func(ctx context.Context, o solve.Options) (solve.Result, error) { return s.Solve(ctx, p, o) }
	}
	return r, err
}

// TestPortfolioGoesOn: the method that found the best schedule goes on before those that search all schedules begin, and again
// when all others are over, until its schedule is good enough.
func TestPortfolioGoesOn(t *testing.T) {
	const us = model.Microsecond
	for _, c := range []struct {
		name   string
		better []model.Time
		other  model.Time // how late the schedule of the method after it is
		ran    []string
		late   model.Time // the best
	}{
		{"good enough", []model.Time{0}, 20 * us, []string{"slow", "other", "slow"}, 0},
		{"twice", []model.Time{5 * us, 3 * us}, 20 * us, []string{"slow", "other", "slow", "search", "slow"}, 3 * us},
		{"a much better one", []model.Time{3 * us}, 2 * us, []string{"slow", "other", "search"}, 2 * us},
		{"no more", nil, 20 * us, []string{"slow", "other", "search"}, 10 * us},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ran []string
			methods := []*copied{
				{name: "slow", late: 10 * us, about: solve.About{Leads: func(*model.Problem) bool { return true }}},
				{name: "other", late: c.other},
				{name: "search", late: 30 * us, about: solve.About{WarmStart: true}},
			}
			p := problemOf(t, &ran, methods...)
			e := &Evaluator{Options: solve.Options{Seed: 1, TimeLimit: time.Hour}, Progress: Silent{}, Enough: UsuallyEnough}
			e.Methods = []solve.Solver{&slow{methods[0], c.better}, methods[1], methods[2]}
			ev, err := e.Evaluate(context.Background(), p)
			require.NoError(t, err)
			require.Equal(t, c.ran, ran)
			require.Len(t, ev.Rows, 1)
			require.Equal(t, verify.Proved, ev.Rows[0].Outcome())
			require.InDelta(t, int64(ev.Bound.Bound+c.late), int64(ev.Rows[0].Makespan), 1) // the bound is rounded down
			require.Equal(t, ev.Rows[0].Makespan, min(ev.Tried[0].Makespan, ev.Tried[1].Makespan))
		})
	}
}

// TestPortfolioGoesOnWithOthers: a method that finds nothing sooner over when it goes on leaves the rest of the time to others that have found about as
// good a schedule.
func TestPortfolioGoesOnWithOthers(t *testing.T) {
	const ns = model.Nanosecond
	for _, c := range []struct {
		name        string
		one, other  []model.Time
		otherBegins model.Time
		ran         []string
		late        model.Time
	}{
		{"nothing", []model.Time{100 * ns, 90 * ns}, []model.Time{50 * ns}, 101 * ns, []string{"one", "other", "one", "other", "one"}, 50 * ns},
		{"something", []model.Time{90 * ns, 80 * ns}, []model.Time{50 * ns}, 101 * ns, []string{"one", "other", "one", "one"}, 80 * ns},
		{"nothing and nothing", []model.Time{100 * ns, 90 * ns}, []model.Time{101 * ns}, 101 * ns, []string{"one", "other", "one", "other", "one"}, 90 * ns},
		{"far off", []model.Time{100 * ns, 90 * ns}, []model.Time{50 * ns}, model.Millisecond, []string{"one", "other", "one"}, 100 * ns},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ran []string
			methods := []*copied{{name: "one", late: 100 * ns}, {name: "other", late: c.otherBegins}}
			p := problemOf(t, &ran, methods...)
			e := &Evaluator{Options: solve.Options{Seed: 1, TimeLimit: time.Hour}, Progress: Silent{}, Enough: 1e-9}
			e.Methods = []solve.Solver{&slow{methods[0], c.one}, &slow{methods[1], c.other}}
			ev, err := e.Evaluate(context.Background(), p)
			require.NoError(t, err)
			require.Equal(t, c.ran, ran)
			require.InDelta(t, int64(ev.Bound.Bound+c.late), int64(ev.Rows[0].Makespan), 1)
		})
	}
}

// TestPortfolioLeavesTimeForProofs: the solver proves the best schedule before a method goes on where that is likely to take most of
// the time that is left, or some times as much, for it may be quicker. Where there is more time, the method leaves what the solver needs.
// For what that cannot prove in time no more is left than else.
func TestPortfolioLeavesTimeForProofs(t *testing.T) {
	const each = 10 * time.Microsecond
	went := errors.New("went on")
	for _, c := range []struct {
		proof   time.Duration // that the solver takes
		proved  bool          // already
		asked   bool          // the solver, before the method goes on
		atLeast time.Duration // left when the method has to end
	}{
		{100 * time.Millisecond, false, false, 2 * time.Second},
		{4 * time.Second, false, false, 4 * time.Second},
		{6500 * time.Millisecond, false, true, 2 * time.Second}, // it took no time
		{6500 * time.Millisecond, true, false, 6500 * time.Millisecond},
		{20 * time.Second, false, true, 10 * time.Second}, // it is proved, and what is found later would not be
		{50 * time.Second, false, false, 2 * time.Second},
	} {
		p := solve.Cut(problemOf(t, nil), 1)
		limit, most, asked := time.Duration(0), 0, false
		restore := ReplaceEngine("smt", func(context.Context, *model.Problem, *model.Schedule, smt.Options) verify.Verdict {
			asked = true
			return verify.Verdict{Engine: "smt", Outcome: verify.Proved}
		})
		before := verify.Verdict{Outcome: verify.Unknown}
		if c.proved {
			before.Outcome = verify.Proved
		}
		r := &Row{Method: "slow", Makespan: 1, Result: solve.Result{Problem: p, Schedule: &model.Schedule{Transfers: make([]model.Transfer, c.proof/each)},
			More: func(_ context.Context, o solve.Options) (solve.Result, error) {
				limit, most = o.TimeLimit, o.MostTransfers
				return solve.Result{}, went
			}}}
		r.Verdict.Outcome, r.Verdicts = verify.Proved, map[string]verify.Verdict{"replay": {Outcome: verify.Proved}, "smt": before}
		e := &Evaluator{Progress: Silent{}, Bounds: func(context.Context, *model.Problem) (*model.Certificate, error) { return nil, nil }}
		b, cancel := solve.NewBudget(t.Context(), 10*time.Second, 1)
		err := e.more(b, 1, p, &[]*Row{r}, &Report{Problem: p, Rows: []*Row{r}})
		cancel()
		restore()
		require.Equal(t, c.asked, asked, "%v", c)
		if c.atLeast == 10*time.Second { // the method does not go on
			require.NoError(t, err, "%v", c)
		} else {
			require.ErrorIs(t, err, went, "%v", c)
			require.Positive(t, limit)
		}
		require.LessOrEqual(t, limit, 10*time.Second-c.atLeast, "%v", c)
		if c.proof < 10*time.Second { // what is found can be proved in the rest
			require.Positive(t, most, "%v", c)
			require.LessOrEqual(t, time.Duration(most)*each, 10*time.Second-limit, "%v", c)
		}
	}
}

// barren is a method that finds nothing.
type barren struct{ *copied }

func (b barren) Solve(_ context.Context, p *model.Problem, _ solve.Options) (solve.Result, error) {
	*b.ran = append(*b.ran, b.name)
	return solve.Result{Problem: p, Stop: solve.Done}, nil
}

// TestPortfolioOrder: quick methods come first, and last where more than mostQuick
// transfers are needed.
func TestPortfolioOrder(t *testing.T) {
	for topology, want := range map[string][]string{"switch:4": {"quick", "slow"}, "switch:363": {"slow", "quick"}} {
		tp, err := topo.Parse(topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 20, Cost: model.Pipelined}
		var ran []string
		solver := mustName(t, "direct")[0]
		slow, quick := &copied{Solver: solver, name: "slow", ran: &ran}, &copied{Solver: solver, name: "quick", ran: &ran, about: solve.About{Quick: true}}
		e := &Evaluator{Progress: Silent{}, Enough: UsuallyEnough, Methods: []solve.Solver{barren{slow}, barren{quick}}}
		_, err = e.Evaluate(context.Background(), p)
		require.NoError(t, err)
		require.Equal(t, want, ran, topology)
	}
}

// portfolioOf evaluates methods that copy the direct algorithm on four ranks around a switch,
// which is optimal for every cut.
func portfolioOf(t *testing.T, ran *[]string, methods ...*copied) *Report {
	t.Helper()
	p := problemOf(t, ran, methods...)
	e := &Evaluator{Options: solve.Options{Seed: 1}, Progress: Silent{}, Enough: UsuallyEnough}
	for _, m := range methods {
		e.Methods = append(e.Methods, m)
	}
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	return ev
}

// problemOf has methods copy the direct algorithm, and returns a problem for which it is optimal.
func problemOf(t *testing.T, ran *[]string, methods ...*copied) *model.Problem {
	t.Helper()
	tp, err := topo.Parse("switch:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 20, Cost: model.Pipelined}
	direct, err := MethodsNamed("direct")
	require.NoError(t, err)
	for _, m := range methods {
		m.Solver, m.ran, m.k = direct[0], ran, max(1, m.k)
	}
	return p
}

// TestPortfolioStops: once a schedule is proved to be close to the bound, no further method runs.
func TestPortfolioStops(t *testing.T) {
	var ran []string
	ev := portfolioOf(t, &ran, &copied{name: "far", late: model.Microsecond * 10}, &copied{name: "near"}, &copied{name: "never"})
	require.Equal(t, []string{"far", "near"}, ran)
	require.Len(t, ev.Rows, 1)
	require.Equal(t, "near", ev.Rows[0].Method)
	require.Equal(t, verify.Proved, ev.Rows[0].Verdicts["smt"].Outcome)
	require.LessOrEqual(t, float64(ev.Rows[0].Gap()), UsuallyEnough)
	require.Equal(t, []LeftOut{{Method: "never", Reason: "not needed: near is within 0.5 % of the bound"}}, ev.LeftOut)
	require.Equal(t, []string{"far", "near"}, []string{ev.Tried[0].Method, ev.Tried[1].Method})
	require.Zero(t, ev.Stopped)
}

// TestPortfolioProvesTheBest: quick methods come first and all run, and only the best of what
// they find is proved; others begin from it; what is worse is not proved.
func TestPortfolioProvesTheBest(t *testing.T) {
	var ran []string
	quick := solve.About{Quick: true}
	last := &copied{name: "last", about: solve.About{WarmStart: true}, late: 4 * model.Microsecond}
	ev := portfolioOf(t, &ran, last, &copied{name: "q1", about: quick, late: 3 * model.Microsecond}, &copied{name: "q2", about: quick, late: 2 * model.Microsecond})
	require.Equal(t, []string{"q1", "q2", "last"}, ran)
	require.Len(t, ev.Rows, 1)
	require.Equal(t, "q2", ev.Rows[0].Method)
	require.NotNil(t, last.started)
	require.Equal(t, ev.Rows[0].Makespan, last.started.Makespan())
	require.Len(t, ev.Tried, 3)
}

// TestPortfolioRefutes: a wrong schedule is never the answer, however short, and is not hidden.
func TestPortfolioRefutes(t *testing.T) {
	var ran []string
	ev := portfolioOf(t, &ran, &copied{name: "wrong", wrong: true, about: solve.About{Quick: true}}, &copied{name: "right", late: model.Microsecond, about: solve.About{Quick: true}})
	require.True(t, ev.AnyRefuted())
	require.Equal(t, "right", ev.Best().Method)
	require.Len(t, ev.Rows, 2)
}

// TestPortfolioCannotWin: a method that keeps to a cut in which nothing is shorter than what is
// proved does not run.
func TestPortfolioCannotWin(t *testing.T) {
	tp, err := topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 8 << 20, Cost: model.Pipelined}
	methods, err := MethodsNamed("quotient", "exact")
	require.NoError(t, err)
	e := &Evaluator{Methods: methods, Options: solve.Options{Seed: 1}, Progress: Silent{}, Enough: 1e-9}
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	require.Len(t, ev.LeftOut, 1)
	require.Contains(t, ev.LeftOut[0].Reason, "with 8 chunks nothing is faster than 85.28608us")
}

// TestPortfolioIsDeterministic: what is answered does not depend on the time that is left, as
// long as there is enough.
func TestPortfolioIsDeterministic(t *testing.T) {
	for _, name := range []string{"dgx1", "ring:6", "dgxh100:2"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 8 << 20, Cost: model.Pipelined}
		var first *Report
		for _, limit := range []time.Duration{0, time.Hour} {
			methods := append(classic.All(), mustName(t, "quotient")...)
			e := &Evaluator{Methods: methods, Options: solve.Options{Seed: 1, TimeLimit: limit}, Progress: Silent{}, Enough: UsuallyEnough}
			ev, err := e.Evaluate(context.Background(), p)
			require.NoError(t, err)
			if first == nil {
				first = ev
				continue
			}
			require.Equal(t, first.Best().Result.Schedule, ev.Best().Result.Schedule)
			require.Equal(t, fmt.Sprint(first.LeftOut), fmt.Sprint(ev.LeftOut))
		}
	}
}

func mustName(t *testing.T, names ...string) []solve.Solver {
	t.Helper()
	methods, err := MethodsNamed(names...)
	require.NoError(t, err)
	return methods
}

// TestPortfolioTime: the time limit is for all of it.
func TestPortfolioTime(t *testing.T) {
	tp, err := topo.Parse("mesh:5x5", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 64 << 10, Cost: model.Pipelined}
	e := &Evaluator{Methods: Methods(), Options: solve.Options{Seed: 1, TimeLimit: time.Second}, Progress: Silent{}, Enough: 1e-9}
	start := time.Now()
	ev, err := e.Evaluate(context.Background(), p)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 10*time.Second, "much more than it may take on a busy machine")
	require.NotNil(t, ev.Best())
}

// TestEnough: quotient stops as soon as it has what satisfies the caller, and not before.
func TestEnough(t *testing.T) {
	tp, err := topo.Parse("dgxh100:2", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 8 << 20, Cost: model.Pipelined}
	c, err := Bound(context.Background(), p)
	require.NoError(t, err)
	m := mustName(t, "quotient")[0]
	var last model.Time
	for _, percent := range []model.Time{100, 10, 1} {
		enough := c.Bound + c.Bound*percent/100
		shown := 0
		r, err := m.Solve(context.Background(), p, solve.Options{Seed: 1, Bound: c.Bound, Enough: enough, Progress: func(x solve.Progress) {
			if x.Incumbent <= enough {
				shown++
			}
		}})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Makespan(), enough)
		require.LessOrEqual(t, shown, 1, "it goes on after it has enough")
		require.True(t, last == 0 || r.Makespan() <= last)
		last = r.Makespan()
	}
}

// TestWithin: only what is proved is within a part of the bound.
func TestWithin(t *testing.T) {
	r := &Row{Makespan: 1005, Known: Known{EveryCut: &model.Certificate{Bound: 1000}}}
	require.False(t, r.Within(0.005), "nothing is proved")
	r.Verdict.Outcome = verify.Proved
	require.True(t, r.Within(0.005))
	require.False(t, r.Within(0.004))
	r.EveryCut = nil
	require.False(t, r.Within(0.005))
}

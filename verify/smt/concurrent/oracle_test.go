package concurrent_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/concurrent"
	"github.com/oraccl/oraccl/verify/verifytest/programs"
)

// oracle answers the questions in their order as it is told, the rest as the last one.
type oracle struct {
	answers []smt.Answer
	err     error
	asked   int
}

func (*oracle) Name() string { return "oracle" }

func (o *oracle) Solve(ctx context.Context, _ smt.Question) (smt.Answer, error) {
	i := min(o.asked, len(o.answers)-1)
	o.asked++
	if ctx.Err() != nil {
		return smt.Answer{Reason: "stopped"}, nil
	}
	if o.err != nil {
		return smt.Answer{}, o.err
	}
	return o.answers[i], nil
}

// example is a program that is right.
func example(t *testing.T) *model.Program {
	e, ok := verify.Explain(verify.RankOrder)
	require.True(t, ok)
	return e.Example.Program
}

// TestOnlyUnsatProves: a program is proved if every question is answered by unsat, and by no other
// answers.
func TestOnlyUnsatProves(t *testing.T) {
	unsat, undecided := smt.Answer{Status: smt.Unsat}, smt.Answer{Reason: "too hard"}
	check := func(o *oracle) concurrent.Report {
		return concurrent.Check(t.Context(), example(t), o, concurrent.Options{Transfers: 1})
	}
	all := &oracle{answers: []smt.Answer{unsat}}
	r := check(all)
	require.Equal(t, verify.Proved, r.Verdict.Outcome, "%+v", r)
	require.Equal(t, []verify.Outcome{verify.Proved, verify.Proved, verify.Proved}, []verify.Outcome{r.Deadlock, r.Races, r.Result})
	require.GreaterOrEqual(t, all.asked, 3)
	for k := range all.asked {
		answers := make([]smt.Answer, k, k+1)
		for i := range answers {
			answers[i] = unsat
		}
		o := &oracle{answers: append(answers, undecided)}
		r := check(o)
		require.Equal(t, verify.Unknown, r.Verdict.Outcome, "question %d", k)
		require.Equal(t, "too hard", r.Verdict.Reason)
		require.Empty(t, r.Verdict.Violations)
		require.Equal(t, k+1, o.asked, "nothing is asked after that")
	}
	r = check(&oracle{err: errors.New("crashed")})
	require.Equal(t, verify.Unknown, r.Verdict.Outcome)
	require.Equal(t, "oracle: crashed", r.Verdict.Reason)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = concurrent.Check(ctx, example(t), &oracle{answers: []smt.Answer{unsat}}, concurrent.Options{Timeout: time.Hour})
	require.Equal(t, verify.Unknown, r.Verdict.Outcome)
}

// TestUnwanted: of a program that does not tell what it must do nothing is proved, though it
// neither deadlocks nor races.
func TestUnwanted(t *testing.T) {
	p := *example(t)
	p.Wants, p.Post = nil, nil
	r := concurrent.Check(t.Context(), &p, &oracle{answers: []smt.Answer{{Status: smt.Unsat}}}, concurrent.Options{})
	require.Equal(t, verify.Unknown, r.Verdict.Outcome)
	require.NotEmpty(t, r.Verdict.Reason)
}

// TestStructure: of programs whose structure is wrong no solver is asked, and they are unknown, as
// all others are for a solver that decides nothing; the reason is given.
func TestStructure(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	asked := map[int]int{}
	for range 2000 {
		o := &oracle{answers: []smt.Answer{{Reason: "too hard"}}}
		r := concurrent.Check(t.Context(), programs.Draw(rng), o, concurrent.Options{})
		asked[o.asked]++
		require.Equal(t, verify.Unknown, r.Verdict.Outcome)
		require.Empty(t, r.Verdict.Violations)
		require.NotEmpty(t, r.Verdict.Reason)
		require.Equal(t, o.asked == 1, r.Verdict.Reason == "too hard")
	}
	require.Greater(t, asked[0], 100)
	require.Greater(t, asked[1], 100)
	require.Len(t, asked, 2, "%v", asked)
}

// TestAlwaysUnsat: an answer that is wrong makes nothing crash, of any program.
func TestAlwaysUnsat(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 2000 {
		p := programs.Draw(rng)
		r := concurrent.Check(t.Context(), p, &oracle{answers: []smt.Answer{{Status: smt.Unsat}}}, concurrent.Options{Transfers: rng.IntN(3)})
		require.NotEqual(t, verify.Refuted, r.Verdict.Outcome)
	}
}

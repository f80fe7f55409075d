package smt

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

func bigInt(n int) *big.Int { return big.NewInt(int64(n)) }

// oracle is a Backend that answers as it is told.
type oracle struct {
	answer func(context.Context, Question) (Answer, error)

	mu    sync.Mutex
	asked []Question
}

func (*oracle) Name() string { return "oracle" }

func (o *oracle) Solve(ctx context.Context, q Question) (Answer, error) {
	o.mu.Lock()
	o.asked = append(o.asked, q)
	o.mu.Unlock()
	return o.answer(ctx, q)
}

// always gives every script the same answer.
func always(s Status) func(context.Context, Question) (Answer, error) {
	return func(context.Context, Question) (Answer, error) { return Answer{Status: s}, nil }
}

// TestOnlyUnsatProves tries everything that a backend may answer.
func TestOnlyUnsatProves(t *testing.T) {
	timed, order := cases.RingAllReduce(3, model.Sum, model.Timed), cases.BinomialBroadcast(4, model.Ordered)
	check := func(c *cases.Case, answer func(context.Context, Question) (Answer, error)) verify.Verdict {
		return Check(context.Background(), c.P, c.S, &oracle{answer: answer}, Options{})
	}
	v := check(timed, always(Unsat))
	require.Equal(t, verify.Proved, v.Outcome)
	require.Equal(t, Engine, v.Engine)
	require.Equal(t, timed.P.Makespan(timed.S), v.Makespan)
	require.Contains(t, v.Claim, "in the order of events that the schedule's times fix")

	// The zero answer, with and without a reason.
	v = check(timed, always(Undecided))
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Equal(t, "chunk 0: oracle gives no reason", v.Reason)
	v = check(timed, func(context.Context, Question) (Answer, error) { return Answer{Reason: "too hard"}, nil })
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Equal(t, "chunk 0: too hard", v.Reason)

	// An error, even beside unsat.
	failed := errors.New("lost")
	v = check(timed, func(context.Context, Question) (Answer, error) { return Answer{Status: Unsat}, failed })
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Equal(t, "chunk 0: oracle: lost", v.Reason)

	// A model that does not refute a right schedule, or is none.
	v = check(timed, func(_ context.Context, q Question) (Answer, error) {
		a := Answer{Status: Sat, Values: Assignment{}}
		for i, n := range q.Constants {
			a.Values[n] = bigInt(i)
		}
		return a, nil
	})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "does not break")
	v = check(timed, always(Sat))
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "no value for x")

	// One chunk of three that is not unsat.
	first := true
	var mu sync.Mutex
	uneven := cases.RingAllReduce(3, model.Sum, model.Timed)
	uneven.S.Transfers[1].End++ // so that the chunks differ
	uneven.S.Transfers[2].End += 2
	v = check(uneven, func(context.Context, Question) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if first {
			first = false
			return Answer{Reason: "too hard"}, nil
		}
		return Answer{Status: Unsat}, nil
	})
	require.Equal(t, verify.Unknown, v.Outcome)

	// A solver that says unsat to everything proves nothing where there are
	// assumptions: that these exclude everything would be vacuous.
	v = check(order, always(Unsat))
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "contradict each other")
}

// TestVacuity gives Check a goal with contradictory assumptions.
func TestVacuity(t *testing.T) {
	g := newGoal("a contradiction", &Terms{})
	x := g.intVar("x", "")
	g.assume = []Bool{g.terms.Lt(x, g.terms.Num(0)), g.terms.Lt(g.terms.Num(0), x)}
	g.must(obligation{broken: g.terms.Truth(true), kind: inOrder}, "")
	g.close()
	require.True(t, g.Assumes())
	honest := func(_ context.Context, q Question) (Answer, error) {
		if strings.Count(q.Script, "(assert") >= 2 {
			return Answer{Status: Unsat}, nil
		}
		return Answer{Status: Sat}, nil
	}
	r := run{backend: &oracle{answer: honest}, answers: map[identity]*reply{}}
	outcome, _, reason := r.goal(context.Background(), &Query{}, g)
	require.Equal(t, verify.Unknown, outcome)
	require.Contains(t, reason, "contradict each other")
}

// TestNoAssumptionsButWaits says that goals over contributions cannot be vacuous:
// they assert nothing but the negated claim.
func TestNoAssumptionsButWaits(t *testing.T) {
	for _, form := range []model.Form{model.Timed, model.InRounds, model.Ordered} {
		for _, c := range []*cases.Case{cases.RingAllReduce(4, model.Sum, form), cases.BinomialBroadcast(4, form), cases.Pipeline(form)} {
			e, err := NewEncoder(c.P, c.S)
			require.NoError(t, err)
			for k := range c.P.Chunks {
				goals := e.Encode(k).Goals
				if q := e.EncodeOrder(); q != nil {
					goals = append(goals, q.Goals...)
				}
				for _, g := range goals {
					require.Equal(t, g.order != nil, g.Assumes())
					if g.data != nil {
						require.Equal(t, 1, strings.Count(g.Question().Script, "(assert "))
						require.Equal(t, 0, strings.Count(g.Assumptions().Script, "(assert "))
					}
					require.NotContains(t, g.Question().Script, "check-sat")
				}
			}
		}
	}
}

// TestAskedOnce says that equal questions are asked once, but not unequal ones.
func TestAskedOnce(t *testing.T) {
	o := &oracle{answer: always(Unsat)}
	c := cases.RingAllReduce(16, model.Sum, model.Timed)
	require.Equal(t, verify.Proved, Check(context.Background(), c.P, c.S, o, Options{}).Outcome)
	require.Len(t, o.asked, 1)

	c.S.Transfers[3].End++ // one chunk is different now
	o.asked = nil
	require.Equal(t, verify.Proved, Check(context.Background(), c.P, c.S, o, Options{Threads: 5}).Outcome)
	require.Len(t, o.asked, 2)
	require.NotEqual(t, o.asked[0], o.asked[1])
}

func TestRefutedWithoutAsking(t *testing.T) {
	never := &oracle{answer: func(context.Context, Question) (Answer, error) { panic("asked") }}
	c := cases.RingAllReduce(3, model.Sum, model.Timed)
	c.S.Transfers[4].Chunk = 9
	v := Check(context.Background(), c.P, c.S, never, Options{})
	require.Equal(t, verify.Refuted, v.Outcome)
	require.Equal(t, verify.Malformed, v.Violations[0].Code)
	require.Contains(t, v.Violations[0].Message, "chunk 9 does not exist")

	cyclic := cases.BinomialBroadcast(4, model.Ordered)
	cyclic.S.After[0] = []int32{1}
	cyclic.S.After[1] = []int32{0}
	v = Check(context.Background(), cyclic.P, cyclic.S, never, Options{})
	require.Equal(t, verify.Malformed, v.Violations[0].Code)

	// A problem that makes no sense is no fault of the schedule.
	v = Check(context.Background(), &model.Problem{}, c.S, never, Options{})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "topology")
	uncut := *c.P
	uncut.Chunks = nil
	v = Check(context.Background(), &uncut, c.S, never, Options{})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Equal(t, model.ErrNoChunks.Error(), v.Reason)
}

func TestLimits(t *testing.T) {
	wait := func(ctx context.Context, _ Question) (Answer, error) {
		<-ctx.Done()
		return Answer{Reason: "out of time"}, nil
	}
	c := cases.RingAllReduce(3, model.Sum, model.Timed)
	v := Check(context.Background(), c.P, c.S, &oracle{answer: wait}, Options{Timeout: 5 * time.Millisecond})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Equal(t, "chunk 0: out of time", v.Reason)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	v = Check(ctx, c.P, c.S, &oracle{answer: wait}, Options{})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Equal(t, "interrupted", v.Reason)
}

// TestTooLarge says that an order which is too large to be asked about is Unknown,
// even if all that is asked is answered as hoped.
func TestTooLarge(t *testing.T) {
	build := func(n int) *cases.Case {
		c := cases.New(2, model.Collective{Kind: model.Broadcast}, 1, model.Ordered)
		first := c.Wait(0, 0, 1, model.Copy)
		again := make([]int32, n)
		for i := range again {
			again[i] = first
		}
		c.Wait(0, 0, 1, model.Copy, again...)
		return c
	}
	c := build(MaxOrder - 1)
	v := Check(context.Background(), c.P, c.S, &oracle{answer: always(Unsat)}, Options{})
	require.Equal(t, verify.Unknown, v.Outcome)
	require.Contains(t, v.Reason, "order of events: 1000001 transfers and waits, more than the 1000000")
	_, err := Script(c.P, c.S)
	require.ErrorContains(t, err, "more than the 1000000")

	e, err := NewEncoder(c.P, build(3).S)
	require.NoError(t, err)
	require.Empty(t, e.EncodeOrder().TooLarge)
}

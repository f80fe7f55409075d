package certify

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify/verifytest/cases"
)

// TestUnlike: chunks whose transfers begin and end in the same order are alike, however long they take, and so are those where only the order differs in which one
// rank sends; of more transfers than are looked at as many are taken to be like none before as of the latter half of those.
func TestUnlike(t *testing.T) {
	c := cases.New(3, model.Collective{Kind: model.Broadcast}, 6, model.Timed)
	p, s := c.P, c.S
	for k, middle := range []model.Time{10, 15, 5, 10, 12, 10} { // the second transfer begins when the first one ends, sooner or later
		at := model.Time(100 * k)
		c.Send(k, 0, 1, model.Copy, at, at+10)
		c.Send(k, 1, 2, model.Copy, at+middle, at+30)
	}
	require.Equal(t, []int{0, 2, 4, 6, 6, 6, 6}, unlike(p, s, 12))
	require.Equal(t, []int{0, 2, 4, 6, 6, 7, 8}, unlike(p, s, 8)) // one of two, of those that are looked at
	require.Equal(t, []int{0, 2, 4, 6, 8, 10, 12}, unlike(p, s, 1))
	s.Transfers[6].Op = model.Reduction
	require.Equal(t, []int{0, 2, 4, 6, 8, 8, 8}, unlike(p, s, 12))
	c = cases.New(3, model.Collective{Kind: model.Broadcast}, 3, model.Timed)
	for k, starts := range [][2]model.Time{{0, 10}, {10, 0}, {0, 0}} {
		c.Send(k, 0, 1, model.Copy, starts[0], starts[0]+40)
		c.Send(k, 0, 2, model.Copy, starts[1], starts[1]+20)
	}
	require.Equal(t, []int{0, 2, 2, 2}, unlike(c.P, c.S, 12))
}

// TestMostWritten: methods are told of no more transfers than there is time to write, with a limit for the rest or without.
func TestMostWritten(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		b, cancel := solve.NewBudget(t.Context(), limit, 1)
		defer cancel()
		var o solve.Options
		e := &Evaluator{Progress: Silent{}, Bounds: func(context.Context, *model.Problem) (*model.Certificate, error) { return nil, nil }}
		e.goals(b, &model.Problem{}, &o)
		require.Equal(t, limit > 0, o.MostTransfers > 5)
		e.MostWritten = 5
		e.goals(b, &model.Problem{}, &o)
		require.Equal(t, 5, o.MostTransfers)
	}
}

// TestToWrite: with a limit a sixth of the time is left, and what can be written in that and the grace; else nothing is.
func TestToWrite(t *testing.T) {
	e := &Evaluator{}
	ctx, cancel := e.ToWrite(t.Context(), 0, time.Second)
	cancel()
	require.NoError(t, ctx.Err())
	require.Zero(t, e.MostWritten)
	begin := time.Now()
	ctx, cancel = e.ToWrite(t.Context(), time.Hour, 3*time.Second)
	defer cancel()
	deadline, limited := ctx.Deadline()
	require.True(t, limited)
	require.InDelta(t, 50*time.Minute, deadline.Sub(begin), float64(time.Minute))
	require.Equal(t, int(603*time.Second/perWritten), e.MostWritten)
}

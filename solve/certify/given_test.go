package certify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/pace"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/stretchr/testify/require"
)

// TestTimedAgain: what methods find, without its times, gets times at which it is right, under
// every cost model, and none that are shorter than the bound.
func TestTimedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, name := range []string{"ring:5", "dgx1", "dgxh100", "fattree:2x2", "torus:3x3"} {
		for _, kind := range []model.Kind{model.AllGather, model.AllReduce, model.AllToAll, model.Broadcast, model.ReduceScatter} {
			network, err := topo.Parse(name, topo.Options{})
			require.NoError(t, err)
			p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 3 << 20, Cost: model.Pipelined}
			bounds := map[model.CostModel]model.Time{}
			for _, cost := range []model.CostModel{model.Pipelined, model.Blocking} {
				q := *p
				q.Cost = cost
				c, err := Bound(context.Background(), &q)
				require.NoError(t, err)
				bounds[cost] = c.Bound
			}
			for _, m := range Methods() {
				if !m.About().Quick || m.Serves(p) != nil {
					continue
				}
				r, err := m.Solve(context.Background(), p, solve.Options{Seed: 1, TimeLimit: time.Second})
				if err != nil || r.Schedule == nil {
					continue
				}
				for _, cost := range []model.CostModel{model.Pipelined, model.Blocking} {
					q := *r.Problem
					q.Cost = cost
					again, err := Timed(context.Background(), &q, r.Schedule, pace.OrderOf(r.Schedule))
					exchanges := m.Name() == "oneshot" || m.Name() == "mixed"
					if (cost == model.Blocking || exchanges) && err != nil { // a rank that sends its value twice over a link may be too late for the second
						require.ErrorContains(t, err, "no times were found at which transfers that must overlap do")
						continue
					}
					require.NoError(t, err, "%s %v %s %v", name, kind, m.Name(), cost)
					require.True(t, p.SameUpToCut(r.Problem))
					require.GreaterOrEqual(t, q.Makespan(again), bounds[cost], fmt.Sprint(name, kind, m.Name()))
				}
			}
		}
	}
}

// exchange is two ranks that add each other's values in place, each reading before the other
// writes: no transfer can wait for the other.
func exchange(t *testing.T) (*model.Problem, *model.Schedule, *model.Precedence) {
	network, err := topo.Parse("ring:2", topo.Options{Alpha: []model.Time{1000}, Bandwidth: []int64{1e9}})
	require.NoError(t, err)
	p := (&model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1000, Cost: model.Pipelined}).WithChunks(1)
	s := &model.Schedule{Form: model.Ordered}
	for l, x := range network.Links {
		s.Routes = append(s.Routes, []int{l})
		if len(s.Transfers) < 2 && (len(s.Transfers) == 0 || int(s.Transfers[0].Src) != x.Src) {
			s.Transfers = append(s.Transfers, model.Transfer{Src: int32(x.Src), Dst: int32(x.Dst), Route: int32(l), Op: model.Reduction})
		}
	}
	return p, s, &model.Precedence{Begun: [][]int32{{1}, {0}}}
}

func TestTimedExchange(t *testing.T) {
	p, s, order := exchange(t)
	timed, err := Timed(context.Background(), p, s, order)
	require.NoError(t, err)
	require.Equal(t, model.Time(1000+1_000_000), p.Makespan(timed))
	p.Release = []model.Time{0, 5_000_000_000} // they overlap though one is late
	timed, err = Timed(context.Background(), p, s, order)
	require.NoError(t, err)
	require.Equal(t, model.Time(5_000_000_000+1000+1_000_000), p.Makespan(timed))
	order.Ended = [][]int32{{1}, nil} // one after the other: not right, and found to be so
	order.Begun = nil
	_, err = Timed(context.Background(), p, s, order)
	require.ErrorContains(t, err, "with times it is not right")
	order.Ended = [][]int32{{1}, {0}}
	_, err = Timed(context.Background(), p, s, order)
	require.ErrorContains(t, err, "wait for each other")
}

// TestGiven: what was given stands beside the methods with its own verdict, and what is refuted is
// left out and makes the report one of something refuted.
func TestGiven(t *testing.T) {
	p, s, order := exchange(t)
	wrong := *s
	wrong.Transfers = s.Transfers[:1]
	e := &Evaluator{Progress: Silent{}, Given: []Given{
		{Name: "right", Problem: p, Schedule: s, Order: order},
		{Name: "wrong", Problem: p, Schedule: &wrong, Order: &model.Precedence{}},
		{Name: "refuted", Problem: p, Schedule: s, Order: order, Before: map[string]verify.Verdict{"order": {Outcome: verify.Refuted, Violations: []verify.Violation{verify.Wrong(verify.Deadlock, "x", "y")}}}},
		{Name: "unsure", Problem: p, Schedule: s, Order: order, Before: map[string]verify.Verdict{"order": {Reason: "no time"}}},
		{Name: "nothing", Problem: p, Before: map[string]verify.Verdict{"order": {Reason: "no time"}}},
	}}
	ev, err := e.Evaluate(context.Background(), AnyCut(p))
	require.NoError(t, err)
	require.Len(t, ev.Rows, 2)
	require.Equal(t, []string{"right", "unsure"}, []string{ev.Rows[0].Method, ev.Rows[1].Method})
	require.Equal(t, verify.Proved, ev.Rows[0].Outcome())
	require.Equal(t, verify.Unknown, ev.Rows[1].Outcome())
	require.Len(t, ev.LeftOut, 3)
	require.Contains(t, ev.LeftOut[0].Reason, "has no times at which it can run: with times it is not right")
	require.Contains(t, ev.LeftOut[1].Reason, "REFUTED deadlock")
	require.True(t, ev.AnyRefuted())
	require.Equal(t, []string{"wrong", "refuted", "nothing", "unsure"}, ev.Beyond(1e9))
	e.Given = e.Given[:1]
	ev, err = e.Evaluate(context.Background(), AnyCut(p))
	require.NoError(t, err)
	require.Empty(t, ev.Beyond(1e9))
	require.Equal(t, []string{"right"}, ev.Beyond(-1))
}

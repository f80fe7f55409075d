package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
	"github.com/oraccl/oraccl/solve/certify/streamed"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// liar answers another problem than it was asked: one of a byte more.
type liar struct{ solve.Solver }

func another(p *model.Problem) *model.Problem {
	q := *p
	q.Size++
	return q.WithChunks(q.DefaultChunks(1))
}

func (liar) Name() string                { return "liar" }
func (liar) About() solve.About          { return solve.About{} }
func (liar) Serves(*model.Problem) error { return nil }

func (liar) Solve(_ context.Context, p *model.Problem, _ solve.Options) (solve.Result, error) {
	return solve.Result{Problem: another(p), Schedule: &model.Schedule{Form: model.FormFor(p.Cost)}}, nil
}

func (liar) Stream(_ context.Context, p *model.Problem, _ solve.Options) (*solve.Stream, error) {
	return &solve.Stream{Problem: another(p), Form: model.FormFor(p.Cost)}, nil
}

// dreamer answers with an order, and a time that no verifier has looked at.
type dreamer struct{ liar }

func (dreamer) Solve(_ context.Context, p *model.Problem, _ solve.Options) (solve.Result, error) {
	return solve.Result{Problem: p.WithChunks(p.DefaultChunks(1)), Schedule: &model.Schedule{Form: model.Ordered}}, nil
}

// TestAnotherProblem: what a method makes of another problem than was asked is not taken, in
// memory, as a stream, or beside published values.
func TestAnotherProblem(t *testing.T) {
	tp, err := topo.Parse("torus:47x47", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 2209 << 10, Cost: model.Pipelined}
	e := &certify.Evaluator{Methods: []solve.Solver{liar{}}, Named: true, Progress: certify.Silent{}}
	require.Nil(t, streamed.Find(context.Background(), e, p, false))
	tacos, err := certify.MethodsNamed("tacos")
	require.NoError(t, err)
	honest := &certify.Evaluator{Methods: append([]solve.Solver{liar{}}, tacos...), Named: true, Progress: certify.Silent{}}
	s := streamed.Find(context.Background(), honest, p, false)
	require.Equal(t, "tacos", s.Method)
	require.Len(t, s.Left, 1)
	require.Contains(t, s.Left[0].Reason, "answered another problem")

	small, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	q := &model.Problem{Topology: small, Collective: model.Collective{Kind: model.AllGather}, Size: 4 << 10, Cost: model.Rounds}
	_, err = e.Evaluate(context.Background(), q)
	require.ErrorContains(t, err, "answered another problem")
	d := &certify.Evaluator{Methods: []solve.Solver{dreamer{}}, Named: true, Progress: certify.Silent{}}
	_, err = d.Evaluate(context.Background(), q)
	require.ErrorContains(t, err, "answered with an order")
	_, err = e.Run(context.Background(), liar{}, q, nil)
	require.ErrorContains(t, err, "answered another problem")
}

// TestNotWritten: of what is not proved nothing is written, and nothing else is said.
func TestNotWritten(t *testing.T) {
	tp, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 4 << 10, Cost: model.Pipelined}
	p = p.WithChunks(4)
	r := &certify.Row{Method: "wrong", Result: solve.Result{Problem: p, Schedule: &model.Schedule{Form: model.Timed}}}
	r.Verification, err = certify.Verify(context.Background(), p, r.Result.Schedule, smt.Options{}, []string{"replay"})
	require.NoError(t, err)
	require.Equal(t, verify.Refuted, r.Outcome())
	ev := &certify.Report{Problem: p, Rows: []*certify.Row{r}}
	var out bytes.Buffer
	report.PrintSolved(&out, ev, "s.json")
	require.Contains(t, out.String(), "REFUTED")
	require.Contains(t, out.String(), "s.json is not written")
	require.NotContains(t, out.String(), "written to")
}

// TestParetoClaims: what is not certified, or not decided, is not said to be.
func TestParetoClaims(t *testing.T) {
	p := &model.Problem{Topology: topology(t, "ring:4"), Collective: model.Collective{Kind: model.AllGather}}
	said := func(hops *model.Certificate, undecided ...*pareto.Point) string {
		f := &pareto.Frontier{Problem: p, Hops: hops, LeastSteps: 2, Undecided: undecided}
		var out bytes.Buffer
		report.PrintPareto(&out, f)
		return out.String()
	}
	hops := &model.Certificate{}
	require.Contains(t, said(hops), "rounds than are listed here, by bounds that were checked.")
	require.Contains(t, said(nil), "of which there is no certificate")
	require.NotContains(t, said(nil), "checked")
	text := said(hops, &pareto.Point{Chunks: 1, Steps: 2, Rounds: 3, Reason: "no answer within 1s"})
	require.Contains(t, text, "by a bound that was checked")
	require.Contains(t, text, "may be points with fewer rounds")
	require.NotContains(t, text, "none has fewer")
}

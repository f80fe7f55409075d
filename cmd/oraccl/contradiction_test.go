package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/compute"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/driver"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// fake has the smt engine answer with v for the rest of the test.
func fake(t *testing.T, v verify.Verdict) {
	v.Engine, v.Decides = smt.Engine, verify.Data
	t.Cleanup(certify.ReplaceEngine(smt.Engine, func(context.Context, *model.Problem, *model.Schedule, smt.Options) verify.Verdict { return v }))
}

var (
	wrongly   = verify.Verdict{Outcome: verify.Refuted, Violations: []verify.Violation{verify.Wrong(verify.WrongValue, "rank 1, chunk 0", "ends wrong")}}
	exhausted = verify.Verdict{Reason: "the time limit was reached"}
)

func call(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return status, out.String(), err.String()
}

// TestContradiction has an engine refute what replay proves: every verb fails with both
// verdicts and a request to report them, and calls nothing proved, refuted or optimal.
func TestContradiction(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.json")
	status, _, stderr := call("solve", "ring:4", "--collective", "allgather", "--method", "ring", "-o", file)
	require.Zero(t, status, stderr)

	fake(t, wrongly)
	for _, args := range [][]string{
		{"verify", file},
		{"verify", file, "--json"},
		{"verify", file, file},
		{"solve", "ring:4", "--collective", "allgather", "--method", "ring"},
		{"solve", "ring:4", "--collective", "allgather", "-o", filepath.Join(dir, "not.json")},
		{"solve", "ring:4", "--collective", "allgather", "--objective", "rounds", "--pareto", "--chunks", "1"},
		{"gap", "ring:4", "--collective", "allgather", "--methods", "ring"},
		{"gap", "ring:4", "--collective", "allgather", "--methods", "ring,direct,tacos", "--proofs", filepath.Join(dir, "proofs")},
		{"gap", "ring:4", "--collective", "allgather", "--methods", "ring,direct", "--json"},
	} {
		status, stdout, stderr := call(args...)
		require.Equal(t, exit.Failure, status, "%v", args)
		require.Contains(t, stderr, "replay proves what smt refutes (wrong-value: rank 1, chunk 0: ends wrong)", "%v", args)
		require.Contains(t, stderr, (&verify.Contradiction{}).Error(), "%v", args)
		require.NotRegexp(t, "(?i)proved|refuted|optimal", stdout, "%v", args)
	}
	require.NoFileExists(t, filepath.Join(dir, "not.json"))
	require.NoDirExists(t, filepath.Join(dir, "proofs"))

	paper := filepath.Join(dir, "paper.yaml")
	require.NoError(t, os.WriteFile(paper, []byte(`title: A paper
sections:
  - name: times
    title: Times
    grid: {topology: "ring:4"}
    compute: {best: {topology: "${topology}", collective: allgather, chunks: 1, methods: [ring, direct]}}
    rows: [{instance: "${topology}", quantity: us, unpublished: ours alone, ours: best.makespan / 1e6}]
`), 0o644))
	status, stdout, stderr := call("repro", paper)
	require.Equal(t, exit.Failure, status)
	require.Contains(t, stderr, "replay proves what smt refutes (wrong-value: rank 1, chunk 0: ends wrong)")
	require.Empty(t, stdout)
}

// TestContradictionInSweep: the cell is kept as what it is, and the sweep fails.
func TestContradictionInSweep(t *testing.T) {
	dir := t.TempDir()
	store, err := sweep.Open(dir, "test")
	require.NoError(t, err)
	cell := func(method string) *sweep.Cell {
		return &sweep.Cell{Instance: table.Instance{Topology: "ring:4", Collective: "allgather", SizeBytes: 4 << 10, Chunks: 1, Cost: "pipelined", Method: method, Seed: 1}, TimeLimit: time.Minute}
	}
	x := &compute.Cells{Store: store, Threads: 1}
	good := x.Compute(context.Background(), 0, cell("direct"))
	require.Equal(t, table.Proved, good.Status, good.Reason)
	require.NoError(t, store.Put(cell("direct"), &good))

	fake(t, exhausted)
	undecided := x.Compute(context.Background(), 0, cell("ring"))
	require.Equal(t, table.Proved, undecided.Status)
	require.Equal(t, "proved by replay; smt undecided: the time limit was reached", undecided.Reason)

	fake(t, wrongly)
	bad := x.Compute(context.Background(), 0, cell("ring"))
	require.Equal(t, table.Contradicted, bad.Status)
	require.Contains(t, bad.Reason, (&verify.Contradiction{}).Error())
	require.Zero(t, bad.MakespanPs)
	require.Zero(t, bad.BoundPs)
	require.NoError(t, store.Put(cell("ring"), &bad))

	s := &driver.Sweep{Dir: dir, Workers: 1, Stdout: io.Discard, Stderr: io.Discard}
	err = s.Run(context.Background(), []sweep.Cell{*cell("direct"), *cell("ring")})
	require.ErrorContains(t, err, "cells with contradictory verdicts: 1, the first of them ring:4 allgather ring: replay proves what smt refutes")

	// A bound above the makespan of another cell of the instance is one too.
	bad = good
	bad.Method, bad.Status, bad.BoundPs, bad.Bound = "ring", table.Failed, good.MakespanPs+1, "lrat"
	require.NoError(t, store.Put(cell("ring"), &bad))
	var wrong *verify.Contradiction
	err = s.Run(context.Background(), []sweep.Cell{*cell("direct"), *cell("ring")})
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, "ring:4 allgather direct: a proved schedule of")
}

// TestUndecided: what replay alone proves is proved, and every verb says by whom.
func TestUndecided(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.json")
	fake(t, exhausted)
	const want = "proved by replay; smt undecided: the time limit was reached"
	for _, args := range [][]string{
		{"solve", "ring:4", "--collective", "allgather", "--method", "ring", "-o", file},
		{"verify", file},
		{"verify", file, "--json"},
		{"gap", "ring:4", "--collective", "allgather", "--methods", "ring,direct"},
		{"gap", "ring:4", "--collective", "allgather", "--methods", "ring", "--json"},
	} {
		status, stdout, stderr := call(args...)
		require.Zero(t, status, "%v: %s", args, stderr)
		require.Contains(t, stdout, want, "%v", args)
	}
	status, stdout, _ := call("verify", file, "--engine", "smt") // it alone was asked
	require.Equal(t, exit.Unknown, status)
	require.Contains(t, stdout, "UNKNOWN")
	require.Contains(t, stdout, "smt undecided: the time limit was reached")
	require.NotContains(t, stdout, "proved")
}

// TestBelowBound: a bound that its checker accepted, above a proved makespan, ends the run.
func TestBelowBound(t *testing.T) {
	x, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: x, Collective: model.Collective{Kind: model.AllGather}, Size: 4 << 10, Cost: model.Pipelined}
	p = p.WithChunks(4)
	methods, err := certify.MethodsNamed("ring", "direct")
	require.NoError(t, err)
	e := &certify.Evaluator{Methods: methods, Named: true, Progress: certify.Silent{},
		Horizons: map[string]*model.Certificate{certify.CutKey(p): {Problem: p, Bound: model.Second, Witness: model.Refutation{Epoch: 1, Horizon: int(model.Second) - 1}}}}
	_, err = e.Evaluate(context.Background(), p)
	var wrong *verify.Contradiction
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, "is below the certified lrat bound of 1s")
}

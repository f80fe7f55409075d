//go:build cgo

package z3_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

const corpus = "../../../testdata/schedules"

var backend = z3.New()

func read(t *testing.T, path string) *model.Solution {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := native.ReadSolution(path, bytes.NewReader(b))
	require.NoError(t, err)
	return s
}

// TestCorpus: Z3 proves what is right, and refutes every change that concerns the
// data, with one of the codes that the corpus states. What is wrong with routes,
// times and capacities is not this engine's claim, and it proves the data of those.
func TestCorpus(t *testing.T) {
	accepted, err := filepath.Glob(corpus + "/accept/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, accepted)
	for _, path := range accepted {
		s := read(t, path)
		v := smt.Check(context.Background(), s.Problem, s.Schedule, backend, smt.Options{})
		require.Equal(t, verify.Proved, v.Outcome, "%s: %+v", path, v)
	}
	b, err := os.ReadFile(corpus + "/reject/want.tsv")
	require.NoError(t, err)
	refuted := 0
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		s := read(t, filepath.Join(corpus, "reject", fields[0]))
		v := smt.Check(context.Background(), s.Problem, s.Schedule, backend, smt.Options{})
		if fields[1] != "data" {
			require.Equal(t, verify.Proved, v.Outcome, "%s: %+v", fields[0], v)
			continue
		}
		require.Equal(t, verify.Refuted, v.Outcome, "%s: %+v", fields[0], v)
		for _, violation := range v.Violations {
			require.Contains(t, strings.Fields(fields[2]), string(violation.Code), "%s: %v", fields[0], v.Violations)
		}
		refuted++
	}
	require.Greater(t, refuted, 200)
}

// TestBinary gives the written formulas to the z3 program.
func TestBinary(t *testing.T) {
	program, err := exec.LookPath("z3")
	if err != nil {
		t.Log("LEFT OUT: no z3 program is installed; the formulas were not given to it")
		return
	}
	for name, want := range map[string]string{
		"accept/ring4-allreduce-pipelined.json":                          "unsat",
		"accept/line3-broadcast-order.json":                              "unsat",
		"reject/ring4-allreduce-pipelined/transfer-0-removed.json":       "sat",
		"reject/full4-allreduce-exchange-rounds/transfer-0-twice.json":   "sat",
		"reject/line3-broadcast-order/transfer-3-waits-for-nothing.json": "sat",
	} {
		s := read(t, filepath.Join(corpus, name))
		file := filepath.Join(t.TempDir(), "q.smt2")
		f, err := os.Create(file)
		require.NoError(t, err)
		require.NoError(t, smt.WriteSMT2(f, s.Problem, s.Schedule))
		require.NoError(t, f.Close())
		out, err := exec.Command(program, file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		script, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want == "unsat", expected(t, string(script)) == string(out), "%s: %s", name, out)
	}
}

// TestSession: an error is an error and not the end of the process, numbers may have
// any size, and a cancelled call comes back.
func TestSession(t *testing.T) {
	s, err := z3.New().Session()
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Eval(context.Background(), "(assert (= 1 true))\n")
	require.Error(t, err)
	_, err = s.Eval(context.Background(), "(no such command\n")
	require.Error(t, err)
	out, err := s.Eval(context.Background(), "(declare-const x Int)(assert (= x 1152921504606846976))(check-sat)(get-value (x))")
	require.NoError(t, err)
	require.Contains(t, out, "1152921504606846976")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.Eval(ctx, "(check-sat)")
	require.ErrorIs(t, err, context.Canceled)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, z3.Version())
}

// TestNotVacuous: without the claim that something goes wrong, every query can be
// satisfied; so it is that claim which is refuted.
func TestNotVacuous(t *testing.T) {
	accepted, err := filepath.Glob(corpus + "/accept/*.json")
	require.NoError(t, err)
	for _, path := range accepted {
		s := read(t, path)
		e, err := smt.NewEncoder(s.Problem, s.Schedule)
		require.NoError(t, err)
		queries := []*smt.Query{e.EncodeOrder()}
		for k := range s.Problem.Chunks {
			queries = append(queries, e.Encode(k))
		}
		for _, q := range queries {
			if q == nil { // nothing to ask about the order
				continue
			}
			for _, g := range q.Goals {
				a, err := backend.Solve(context.Background(), g.Assumptions())
				require.NoError(t, err)
				require.Equal(t, smt.Sat, a.Status, "%s: %s", path, g.Title)
				a, err = backend.Solve(context.Background(), g.Question())
				require.NoError(t, err)
				require.Equal(t, smt.Unsat, a.Status, "%s: %s", path, g.Title)
			}
		}
	}
}

func BenchmarkRingAllReduce(b *testing.B) {
	for _, n := range []int{8, 64} {
		p, s := ring(n)
		b.Run(p.Topology.Name, func(b *testing.B) {
			for b.Loop() {
				if v := smt.Check(context.Background(), p, s, z3.New(), smt.Options{}); v.Outcome != verify.Proved {
					b.Fatal(v)
				}
			}
			b.ReportMetric(float64(len(s.Transfers)), "transfers")
		})
	}
}

package operations_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/operations"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

func read(t *testing.T, file string) *wl.Schedule {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	s, err := native.ReadTimetable(file, bytes.NewReader(b))
	require.NoError(t, err)
	return s
}

// The right schedules of testdata/workloads are proved, and the wrong ones refuted.
func TestFiles(t *testing.T) {
	for dir, want := range map[string]verify.Outcome{"accept": verify.Proved, "reject": verify.Refuted} {
		files, err := filepath.Glob(filepath.Join("../../../testdata/workloads", dir, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			begin := time.Now()
			v := operations.Check(t.Context(), read(t, file), z3.New(), 0)
			t.Logf("%s: %v %v %s %v", filepath.Base(file), time.Since(begin), v.Outcome, v.Reason, v.Violations)
			if want != v.Outcome {
				t.Errorf("%s: %v", file, v)
			}
		}
	}
}

// What is asked, written down, is answered by programs of solvers as it was answered: the last question of a right
// schedule can never be, that of a wrong one can.
func TestRecordedQuestions(t *testing.T) {
	var programs [][]string
	for _, p := range [][]string{{"z3"}, {"cvc5", "--incremental"}} {
		if _, err := exec.LookPath(p[0]); err == nil {
			programs = append(programs, p)
		} else {
			t.Logf("left out: no program %s", p[0])
		}
	}
	for _, c := range []struct{ file, last string }{{"accept/adasum.json", "unsat"}, {"accept/rates.json", "unsat"}, {"accept/product.json", "unsat"},
		{"reject/adasum-ring.json", "sat"}, {"reject/deadlock-of-two-jobs.json", "sat"}, {"reject/topk-another-function.json", "sat"}} {
		var b bytes.Buffer
		r := smt.Record(z3.New(), &b, "Claim: something.")
		v := operations.Check(t.Context(), read(t, filepath.Join("../../../testdata/workloads", c.file)), r, 0)
		require.NoError(t, r.Err())
		require.NotEqual(t, verify.Unknown, v.Outcome, v.Reason)
		var want []string
		for line := range strings.Lines(b.String()) {
			if answer, ok := strings.CutPrefix(line, "; expect "); ok {
				want = append(want, strings.TrimSpace(answer))
			}
		}
		require.Greater(t, len(want), 2)
		require.Equal(t, c.last, want[len(want)-1], c.file)
		require.Equal(t, len(want), strings.Count(b.String(), "(check-sat"))
		file := filepath.Join(t.TempDir(), "asked.smt2")
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
		for _, p := range programs {
			out, err := exec.Command(p[0], append(p[1:], file)...).CombinedOutput()
			require.NoError(t, err, "%s: %s", c.file, out)
			require.Equal(t, want, strings.Fields(string(out)), "%s: %s", p[0], c.file)
		}
	}
}

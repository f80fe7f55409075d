package operations_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
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

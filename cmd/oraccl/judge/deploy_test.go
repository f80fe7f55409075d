package judge

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model/format/msccl/msccltest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// TestDeployedFiles compares the verdicts on files that people deployed with those of
// a table beside them, expected.tsv: the kind; how many reads of nothing, races and
// wrong chunks; the slots, the safe size and the order of additions. They are not ours
// to keep: the variable ORACCL_DATA says where they are.
func TestDeployedFiles(t *testing.T) {
	dir := os.Getenv("ORACCL_DATA")
	if dir == "" {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data")
	}
	dir = filepath.Join(dir, "msccl")
	f, err := os.Open(filepath.Join(dir, "expected.tsv"))
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	require.NoError(t, err)
	require.NotEmpty(t, rows[1:])
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	begin := time.Now()
	for _, row := range rows[1:] {
		get := func(name string) string { return row[column[name]] }
		d, err := ReadDeployed(t.Context(), filepath.Join(dir, row[0]), deploy.Options{Formulas: z3.New()})
		require.NoError(t, err)
		require.Equal(t, get("verdict"), string(d.Report.Kind), row[0])
		require.Equal(t, get("verdict") == "pass", d.Report.Verdict.Outcome == verify.Proved, row[0])
		if string(d.Report.Kind) == "reject" || string(d.Report.Kind) == "shared-connection" {
			continue
		}
		require.Len(t, d.Report.Calls, 1, row[0])
		m := d.Report.Calls[0]
		number := func(name string) int { // of the first mode in the table
			first, _, _ := strings.Cut(get(name), "/")
			n, err := strconv.Atoi("0" + first)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, number("uninit_reads"), m.Order.Counts[verify.UninitialisedRead], row[0])
		require.Equal(t, number("races") > 0, m.Order.Races == verify.Refuted, row[0])
		if string(d.Report.Kind) == "deadlock" {
			continue
		}
		require.Equal(t, d.Report.Verdict.Outcome, m.Formulas.Verdict.Outcome, row[0])
		if d.Algo.ChunksPerLoop%d.Algo.Ranks == 0 || d.Algo.Coll == "allreduce" { // else our cells are smaller
			wrong := 0
			for _, c := range []verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue} {
				wrong += m.Order.Counts[c]
			}
			require.Equal(t, number("bad"), wrong, row[0])
		}
		require.Equal(t, get("min_slots_step"), fmt.Sprint(m.Slots.Least), row[0])
		require.Equal(t, get("min_slots_chunk"), fmt.Sprint(m.Slots.LeastLarge), row[0])
		safe := map[int64]string{-1: "any"}[m.Slots.Safe]
		if safe == "" {
			safe = fmt.Sprint(m.Slots.Safe)
		}
		require.Equal(t, get("safe_bytes"), safe, row[0])
		if consistent := get("rank_consistent"); consistent != "" {
			require.Equal(t, map[string]verify.Outcome{"yes": verify.Proved, "no": verify.Refuted}[consistent], m.Order.Consistent, row[0])
		}
	}
	t.Log(len(rows)-1, "files in", time.Since(begin))
	require.Less(t, time.Since(begin), 20*time.Second) // one on an idle machine; tests share theirs
}

// TestLargeFiles verifies 35 000 steps in a second and 500 MB, and 256 ranks.
func TestLargeFiles(t *testing.T) {
	for _, c := range []struct{ ranks, channels, steps int }{{70, 4, 38920}, {256, 1, 130816}} {
		file := filepath.Join(t.TempDir(), "ring.xml")
		require.NoError(t, os.WriteFile(file, []byte(msccltest.Rings(c.ranks, c.channels)), 0o644))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		d, err := ReadDeployed(t.Context(), file, deploy.Options{})
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Equal(t, verify.Proved, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations) // with more than 256 steps per threadblock only if a runtime is built for it
		require.Equal(t, c.ranks > 128, strings.Contains(d.Report.Proviso, "as it is built"))
		require.Equal(t, c.steps, report.DeployToJSON(d.Report, &noFilter).Steps)
		require.Equal(t, 2, d.Report.Calls[0].Slots.Least)
		allocated := float64(after.TotalAlloc-before.TotalAlloc) / 1e6
		t.Logf("%d ranks, %d steps: %v, %.0f MB allocated", c.ranks, c.steps, took, allocated)
		require.Less(t, took, 20*time.Second) // a second on an idle machine; tests share theirs
		require.Less(t, allocated, 500.0)
	}
}

// TestGuess: what a file that says custom does, and what it does not do quite, which is
// no reason to refute it.
func TestGuess(t *testing.T) {
	custom := strings.Replace(msccltest.Rings(4, 1), "allreduce", "custom", 1)
	for _, c := range []struct {
		text    string
		outcome verify.Outcome
		kind    string
	}{
		{custom, verify.Proved, "pass"},
		{strings.Replace(custom, `type="rrcs"`, `type="rcs"`, 1), verify.Unknown, "unknown"},
	} {
		file := filepath.Join(t.TempDir(), "custom.xml")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o644))
		d, err := ReadDeployed(t.Context(), file, deploy.Options{Mode: deploy.InPlace})
		require.NoError(t, err)
		require.Equal(t, c.outcome, d.Report.Verdict.Outcome, "%+v", d.Report.Verdict.Violations)
		require.Equal(t, c.kind, string(d.Report.Kind))
	}
}

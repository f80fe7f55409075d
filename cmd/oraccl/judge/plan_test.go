package judge

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/plan"
)

// differences are the plans of the corpus of which we say something else than its index, and why.
var differences = map[string]struct{ verdict, why string }{
	"multi_node_transfer_pkt-677d3dfc.json": {"fail", "gpu 0 has no nop between cpkt, which all threads carry out, and ppkt over a port, which thread 0 hands to the proxy at once: " +
		"the proxy may copy slots that are not written, and what comes is never sent again"},
	"gen-pipeline_ok.json": {"fail", "threadblocks 0 and 2 wait on one end of a channel. If threadblock 2 of both ranks comes first, it takes the signals of the handshake, " +
		"and threadblock 0 waits for signals of pipelines that wait for it"},
	"gen-allreduce_naivy_n3.json": {"pass", "a rank writes a slot in the next launch after it has read what the reader of that slot sent afterwards, element by element"},
	"gen-packet_i1_single.json":   {"pass", "the same"},
}

// TestPlanCorpus compares verdicts with those of a corpus of plans, mostly of the repository of MSCCL++. With -v it prints
// the table.
func TestPlanCorpus(t *testing.T) {
	dir := filepath.Join(os.Getenv("ORACCL_DATA"), "mscclpp")
	index, err := os.ReadFile(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data, with mscclpp/index.tsv")
	}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(index)), "\n")[1:] {
		row := strings.Split(line, "\t")
		name, want := row[0], row[8]
		if d, ok := differences[name]; ok {
			require.NotEqual(t, want, d.verdict, name)
			want = d.verdict
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		f, err := mscclpp.Read(name, bytes.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, row[5], f.Version.String())
		got, first := verdictOf(t, f)
		require.Equal(t, want, got, "%s: %s", name, first)
		t.Logf("%-60s index %-4s %-90.90s  here %-4s %.120s", name, row[8], row[9], got, first)
		n++
	}
	require.Equal(t, 72, n)
	for name, d := range differences {
		t.Logf("%s: %s, for %s", name, d.verdict, d.why)
	}
}

// verdictOf is a verdict in the words of the index, with what was found first.
func verdictOf(t *testing.T, f *mscclpp.File) (verdict, first string) {
	p := f.Plan()
	for _, l := range p.Loadings {
		if l.Runtime == p.Judged && len(l.Refusals) > 0 {
			return "load", l.Refusals[0].Message
		}
	}
	r := plan.Check(t.Context(), p, plan.Options{})
	switch {
	case r.Verdict.Outcome == verify.Refuted:
		return "fail", r.Verdict.Violations[0].String()
	case r.Verdict.Outcome == verify.Unknown:
		return "unknown", r.Verdict.Reason
	case len(r.Warnings) > 0:
		return "warn", r.Warnings[0].String()
	}
	return "pass", r.Range()
}

// TestExplained reads the smallest file of every code about files of execution plans, and insists
// that the code is found first; all codes that plans add have an example that a test runs.
func TestExplained(t *testing.T) {
	n := 0
	for _, code := range verify.Codes() {
		e, _ := verify.Explain(code)
		if strings.HasPrefix(e.Rule, "18.") {
			require.True(t, e.Example.Plan != nil || e.Example.File != "", code)
		}
		if e.Example.File == "" {
			continue
		}
		n++
		f, err := mscclpp.Read("plan", strings.NewReader(e.Example.File))
		require.NoError(t, err, code)
		r, err := deploy.CheckPlan(t.Context(), f.Plan(), deploy.Options{})
		require.NoError(t, err, code)
		found := slices.Concat(r.Verdict.Violations, r.Plan.Warnings)
		require.NotEmpty(t, found, code)
		require.Equal(t, code, found[0].Code)
		require.Contains(t, e.String(), `"gpus"`)
	}
	require.Equal(t, 5, n)
}

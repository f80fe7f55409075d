package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
)

// TestLogsInTheTable: what the logs of testdata/nccl show is verified and has a gap; trees of which the
// log has a part are unknown, with the reason.
func TestLogsInTheTable(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, x := range []struct {
		network, log string
		status       int
		gaps         map[string]float64
	}{
		{"dgxh100:2", "two-hosts-mixed", exit.Done, map[string]float64{"nccl-ring": 0.2559, "nccl-tree": 0.1836}},
		{"dgxh100-nvls:2", "two-hosts-mixed", exit.Done, map[string]float64{"nccl-ring": 0.8484, "nccl-tree": 0.7419, "nccl-nvls-tree": 0.1723}},
		{"dgxa100:4", "four-hosts-cut-off", exit.Unknown, map[string]float64{"nccl-ring": 0.2871}},
		{"full:4", "rccl-one-host", exit.Done, map[string]float64{"nccl-ring": 1.9984, "nccl-tree": 1.1593}},
	} {
		status, out, stderr := call("gap", x.network, "--collective", "allreduce", "--size", "64MiB", "--methods", "hierarchical", "--nccl-log", "../../testdata/nccl/"+x.log+".log", "--json")
		require.Equal(t, x.status, status, stderr)
		var j report.GapJSON
		require.NoError(t, json.Unmarshal([]byte(out), &j))
		found := 0
		for _, r := range j.Rows {
			if gap, ok := x.gaps[r.Method]; ok {
				found++
				require.Equal(t, "proved", r.Verdict)
				require.InDelta(t, gap, *r.Gap, 1e-4, "%s %s", x.log, r.Method)
			}
		}
		require.Len(t, x.gaps, found, "%s: %s", x.log, out)
	}
}

// TestQuestions runs the commands that answer what users asked.
func TestQuestions(t *testing.T) {
	for _, q := range manual.Questions() {
		words := strings.Fields(q.Command)
		require.Equal(t, "oraccl", words[0])
		_, out, stderr := call(words[1:]...)
		for _, want := range q.Prints {
			require.Contains(t, normal(out), normal(want), "%s\n%s", q.Command, stderr)
		}
		require.NotEmpty(t, q.Prints)
	}
}

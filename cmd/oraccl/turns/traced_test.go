package turns_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Two to six jobs, of Muri's profiles and of the shared traces together: the period is
// T* = max(all computation, all communication, the slowest job alone), the bound meets it, and each engine
// proves the schedule.
func TestJobsOfSharedTraces(t *testing.T) {
	data := os.Getenv("ORACCL_DATA")
	if data == "" {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data")
	}
	muri := filepath.Join(data, "traces/muri/cluster_trace.csv")
	traces := []string{"kineto/resnet50-ddp-2ranks-rank0.json.gz", "horovod/tf-logs-4ranks.json.gz", "horovod/atpesc-cpu-8ranks.json.gz",
		"chakra/resnet50-2ranks-rank0.et.tar.gz", "stragglar/log_4_a100_llama3.2-3B.txt", "kineto/recsys-8ranks-rank3.json.gz"}
	for i := range traces {
		traces[i] = filepath.Join(data, "traces", traces[i])
	}
	for _, c := range []struct {
		files []string
		only  string
		jobs  int
	}{
		{[]string{muri}, "vgg16:32,gpt2:32", 2},
		{[]string{muri}, "vgg16:32,gpt2:32,bert:32", 3},
		{[]string{muri}, "vgg16:8,vgg16:8,bert:8,gpt2:8", 4},
		{[]string{muri}, "vgg16:32,vgg16:32,bert:32,bert:32,gpt2:32", 5},
		{[]string{muri}, "vgg19:8,vgg16:8,bert:8,gpt2:8,resnet18:8,vgg19:8", 6},
		{traces[:2], "", 2}, {traces[:3], "", 3}, {traces[:4], "", 4}, {traces[:5], "", 5}, {traces, "", 6},
		{append([]string{muri}, traces[:2]...), "vgg16:8,resnet50-ddp-2ranks-rank0,tf-logs-4ranks", 3},
	} {
		a := turns.Asked{Only: c.only}
		jobs, err := turns.Read(t.Context(), c.files, a)
		require.NoError(t, err)
		require.Len(t, jobs.All, c.jobs)
		r, err := turns.Compare(t.Context(), jobs, a)
		require.NoError(t, err)
		var compute, network, alone model.Time
		for _, j := range jobs.All {
			compute += j.Compute
			own := j.Compute
			for k := range j.Buckets {
				network += j.Buckets[k].Time
				rest := j.Buckets[k].Ready
				for _, b := range j.Buckets[k:] {
					rest += b.Time
				}
				own = max(own, rest)
			}
			alone = max(alone, own)
		}
		require.Equal(t, max(compute, network, alone), r.Verified.Verdict.Makespan, "%+v", jobs.All)
		require.Equal(t, r.Verified.Verdict.Makespan, r.Bound.Value)
		require.True(t, r.Bound.Checked)
		require.Len(t, r.Verified.Each, 3)
		for _, e := range r.Verified.Each {
			require.Equal(t, verify.Proved, e.Outcome, "%s: %s", e.Engine, e.Reason)
		}
	}
}

package turns

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/trace"
	"github.com/oraccl/oraccl/solve/crossover"
)

// traced reads the jobs of a trace. It adds to unsaid those of which the trace does not tell what of their
// communication is hidden.
func traced(name string, b []byte, carried *carrier, unsaid map[string]bool) (jobs []crossover.Job, notes []string, err error) {
	t, err := trace.Read(carried.ctx, name, bytes.NewReader(b), trace.Options{})
	if err != nil {
		return nil, nil, err
	}
	same := map[string]int{}
	for i := range t.Jobs {
		same[short(&t.Jobs[i])]++
	}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		label := short(j)
		if same[label] > 1 {
			label = j.Name
		}
		if j.Compute == nil || j.Comm == nil || *j.Compute < 1 {
			notes = append(notes, fmt.Sprintf("left out: %s of %s: the file does not say how long it computes and communicates", label, name))
			continue
		}
		job, said, err := jobOf(j, label, carried)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		unsaid[label] = said == "" && job.IsCoarse() && j.Exposed == nil
		if said != "" {
			notes = append(notes, said)
		}
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 {
		return nil, nil, exit.Hint(fmt.Errorf("%s: %s: no job with its computation and communication, want at least one", name, t.Format), "oraccl trace prints what it has")
	}
	return jobs, notes, nil
}

// short is the name of a job without what names the format of its file, and with its ranks: vgg16:32.
func short(j *trace.Job) string {
	name, _, _ := strings.Cut(j.Name, " ")
	for slices.Contains([]string{".gz", ".json", ".et", ".tar", ".txt", ".log"}, filepath.Ext(name)) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	if j.Ranks > 0 {
		name += fmt.Sprintf(":%d", j.Ranks)
	}
	return name
}

// jobOf returns a job of a trace, and what is to be said of it. It has the buckets of the trace where this tells
// how much was computed when each was ready, and nothing paused before; on a network it has those that are
// all-reduced. Else, where the exposed communication is known, that part is ready at the end of the computation,
// the rest just so early that it hides behind it: where GPUs wait for their CPU, more is exposed than the
// buckets alone explain.
func jobOf(j *trace.Job, label string, carried *carrier) (job crossover.Job, said string, err error) {
	timed := j.BucketsOf != nil && *j.BucketsOf > 0 && len(j.Buckets) > 0
	paused := false
	for _, b := range j.Buckets {
		timed = timed && b.Computed != nil
		paused = paused || timed && *b.Computed != *b.Offset
	}
	job = crossover.Coarse(label, *j.Compute, max(1, *j.Comm))
	switch {
	case carried.asked.Topology != nil:
		return onNetwork(job, j, timed, carried)
	case timed && !paused:
		ready := model.Time(1)
		job.Compute, job.Buckets = *j.BucketsOf, nil
		for _, b := range j.Buckets {
			ready = max(ready, min(*b.Computed, *j.BucketsOf))
			job.Buckets = append(job.Buckets, crossover.Bucket{Ready: ready, Time: max(1, *b.Comm)})
		}
		return job, fmt.Sprintf("%s: the computation and the buckets are those of one iteration", label), nil
	case j.Exposed != nil && *j.Exposed < *j.Comm:
		hidden := *j.Comm - max(1, *j.Exposed)
		if hidden > 0 && hidden < *j.Compute {
			job.Buckets = []crossover.Bucket{{Ready: *j.Compute - hidden, Time: hidden}, {Ready: *j.Compute, Time: max(1, *j.Exposed)}}
			said = fmt.Sprintf("assumed: %s hides %v of its communication at the end of its computation", label, hidden)
		}
	}
	return job, said, nil
}

// onNetwork returns the job with the all-reduced buckets of the trace, each of which takes the time that
// it takes on the network that is asked about.
func onNetwork(job crossover.Job, j *trace.Job, timed bool, carried *carrier) (crossover.Job, string, error) {
	ready, left := job.Compute, 0
	if timed {
		job.Compute, ready = *j.BucketsOf, 1
	}
	job.Buckets = nil
	for _, b := range j.Buckets {
		if b.Kind != model.AllReduce.String() || b.Bytes < 1 {
			left++
			continue
		}
		if timed {
			ready = max(ready, min(*b.Computed, job.Compute))
		}
		t, err := carried.time(b.Bytes)
		if err != nil {
			return job, "", err
		}
		job.Buckets = append(job.Buckets, crossover.Bucket{Ready: ready, Time: t, Size: b.Bytes})
	}
	if len(job.Buckets) == 0 {
		return job, "", fmt.Errorf("%s: no allreduce with its size, which --topology needs", job.Name)
	}
	said := "the computation and the buckets are those of one iteration"
	if !timed {
		said = "assumed: all buckets are ready when the computation ends; the file does not say when"
	}
	if left > 0 {
		said += fmt.Sprintf("; left out: %s of another kind", model.Count(left, "collective"))
	}
	return job, job.Name + ": " + said, nil
}

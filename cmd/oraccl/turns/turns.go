// Package turns sets training jobs that share GPUs in turns beside each other: it reads jobs
// from files, has package crossover schedule them, has the schedules verified and the bounds
// checked, and writes what came out, with a picture of the GPUs and the network over time.
package turns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
)

// JobsSchema is the schema of a file of jobs.
const JobsSchema = "oraccl/jobs/1"

// JobsFile is a file of jobs.
type JobsFile struct {
	Schema string    `json:"schema"`
	Jobs   []JobFile `json:"jobs"`
}

// JobFile is a job in a file.
type JobFile struct {
	Name       string       `json:"name"`
	Compute    model.Time   `json:"compute_ps" range:"1,"`
	Network    model.Time   `json:"network_ps,omitempty" range:"0,"`
	Buckets    []BucketFile `json:"buckets,omitempty"`
	Iterations int          `json:"iterations,omitempty" range:"1,"`
}

// BucketFile is a bucket of a job in a file.
type BucketFile struct {
	Ready model.Time `json:"ready_ps" range:"1,"`
	Time  model.Time `json:"time_ps,omitempty" range:"1,"`
	Size  int64      `json:"size_bytes,omitempty" range:"1,"`
}

// Asked is what is asked of jobs.
type Asked struct {
	Only       string // NAME or NAME:RANKS, with commas: those to take, each as often as it is named; "": all
	Rates      string // NAME=N, with commas: how many iterations a period
	Iterations int    // 0: for ever; else that many of each job
	Switch     model.Time
	Topology   *model.Topology // on which buckets with a size are all-reduced; nil: none has one
	Cost       model.CostModel
}

// Jobs are jobs, with how buckets with a size are carried.
type Jobs struct {
	All   []crossover.Job
	Carry [][]crossover.Carry // nil: no bucket has a size
	Notes []string
}

// Read returns the jobs of files, ours or traces, with notes on what was assumed.
func Read(ctx context.Context, names []string, a Asked) (*Jobs, error) {
	carried := &carrier{ctx: ctx, asked: &a, times: map[int64]model.Time{}, by: map[int64]crossover.Carry{}}
	jobs, notes, err := read(ctx, names, a, carried)
	if err != nil {
		return nil, err
	}
	all := &Jobs{All: jobs, Notes: notes}
	if a.Topology == nil {
		return all, nil
	}
	for i := range jobs {
		var list []crossover.Carry
		for k := range jobs[i].Buckets {
			c, ok := carried.by[jobs[i].Buckets[k].Size]
			if !ok {
				return nil, fmt.Errorf("--topology: bucket %d of %s has a time and no size, want a size_bytes for each bucket", k, jobs[i].Name)
			}
			list = append(list, c)
		}
		all.Carry = append(all.Carry, list)
	}
	return all, nil
}

// carrier finds schedules for buckets with a size, one for each size.
type carrier struct {
	ctx   context.Context
	asked *Asked
	times map[int64]model.Time
	by    map[int64]crossover.Carry
}

// time returns how long a bucket of a size takes on the topology.
func (c *carrier) time(size int64) (model.Time, error) {
	if t, ok := c.times[size]; ok {
		return t, nil
	}
	p := &model.Problem{Topology: c.asked.Topology, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: c.asked.Cost}
	if err := p.Validate(); err != nil {
		return 0, err
	}
	s, cut, t, err := workloads.Program(c.ctx, p)
	if err != nil {
		return 0, err
	}
	c.times[size], c.by[size] = t, crossover.Carry{Size: size, Chunks: cut, Schedule: s}
	return t, nil
}

func read(ctx context.Context, names []string, a Asked, carried *carrier) (jobs []crossover.Job, notes []string, err error) {
	unsaid := map[string]bool{} // jobs of which it is not known what is hidden
	for _, name := range names {
		if strings.Contains(name, "=") && !files.Exists(name) {
			j, err := inline(name)
			if err != nil {
				return nil, nil, err
			}
			jobs = append(jobs, j)
			continue
		}
		head, err := files.Read(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		var more []crossover.Job
		var said []string
		if bytes.Contains(head[:min(len(head), 4096)], []byte(`"oraccl/`)) {
			more, err = ours(name, head, carried)
		} else {
			more, said, err = traced(name, head, carried, unsaid)
		}
		if err != nil {
			return nil, nil, err
		}
		jobs, notes = append(jobs, more...), append(notes, said...)
	}
	if jobs, err = choose(jobs, a.Only); err != nil {
		return nil, nil, err
	}
	var list []string
	for _, j := range jobs {
		if unsaid[j.Name] && !slices.Contains(list, j.Name) {
			list = append(list, j.Name)
		}
	}
	if len(list) > 0 {
		notes = append(notes, fmt.Sprintf("assumed: nothing of the communication of %s is hidden behind its own computation; the file does not say", model.Few(list)))
	}
	seen := map[string]int{}
	for i := range jobs { // two copies of a job are two jobs
		name := jobs[i].Name
		if seen[name]++; seen[name] > 1 {
			jobs[i].Name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
		jobs[i].Compute += a.Switch
		for k := range jobs[i].Buckets {
			jobs[i].Buckets[k].Ready += a.Switch
		}
		if a.Iterations > 0 {
			jobs[i].Rate = a.Iterations
		}
	}
	if err := rates(jobs, a.Rates); err != nil {
		return nil, nil, err
	}
	return jobs, notes, crossover.Validate(jobs)
}

// inline returns the job that a word describes: NAME=COMPUTE/NETWORK.
func inline(word string) (crossover.Job, error) {
	name, times, _ := strings.Cut(word, "=")
	compute, network, two := strings.Cut(times, "/")
	c, err := model.ParseTime(compute)
	m, merr := model.ParseTime(network)
	if !two || err != nil || merr != nil || name == "" {
		return crossover.Job{}, exit.Hint(fmt.Errorf("job %s: no such file, and not NAME=COMPUTE/NETWORK: %w", model.Quote(word), errors.Join(err, merr)), "vgg16=67ms/131ms computes for 67 ms and then communicates for 131 ms")
	}
	j := crossover.Coarse(name, c, m)
	if m == 0 {
		j.Buckets = nil
	}
	return j, nil
}

// ours reads a file of jobs of ours.
func ours(name string, b []byte, carried *carrier) ([]crossover.Job, error) {
	var f JobsFile
	var err error
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: data after the end of the document, want one document a file", name)
	}
	if f.Schema != JobsSchema {
		return nil, fmt.Errorf("%s: schema: %s, want %q", name, model.Quote(f.Schema), JobsSchema)
	}
	var jobs []crossover.Job
	for i, j := range f.Jobs {
		at := fmt.Sprintf("%s: jobs[%d]", name, i)
		if len(j.Buckets) > 0 && j.Network != 0 {
			return nil, fmt.Errorf("%s: buckets and network_ps, want one of them", at)
		}
		if j.Iterations < 0 || j.Network < 0 {
			return nil, fmt.Errorf("%s: a number below 0, want none", at)
		}
		job := crossover.Job{Name: j.Name, Compute: j.Compute, Rate: max(1, j.Iterations)}
		if j.Network > 0 {
			job.Buckets = []crossover.Bucket{{Ready: j.Compute, Time: j.Network}}
		}
		for _, b := range j.Buckets {
			if (b.Size > 0) == (b.Time > 0) {
				return nil, fmt.Errorf("%s: a bucket with both or neither of time_ps and size_bytes, want one of them", at)
			}
			if b.Size > 0 {
				if carried.asked.Topology == nil {
					return nil, exit.Hint(fmt.Errorf("%s: a bucket with size_bytes, which needs a network", at), "--topology names one")
				}
				if b.Time, err = carried.time(b.Size); err != nil {
					return nil, fmt.Errorf("%s: %w", at, err)
				}
			}
			job.Buckets = append(job.Buckets, crossover.Bucket{Ready: b.Ready, Time: b.Time, Size: b.Size})
		}
		jobs = append(jobs, job)
	}
	if err := crossover.Validate(jobs); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return jobs, nil
}

// choose returns the jobs that are named, in that order.
func choose(jobs []crossover.Job, only string) ([]crossover.Job, error) {
	if only == "" {
		return jobs, nil
	}
	var chosen []crossover.Job
	var known []string
	for _, j := range jobs {
		known = append(known, j.Name)
	}
	for _, name := range strings.Split(only, ",") {
		i := slices.Index(known, name)
		if i < 0 {
			if i = slices.IndexFunc(known, func(k string) bool { short, _, _ := strings.Cut(k, ":"); return short == name }); i < 0 {
				return nil, fmt.Errorf("--jobs: no job %s, want one of %s", model.Quote(name), model.Few(known))
			}
		}
		j := jobs[i]
		j.Buckets = slices.Clone(j.Buckets)
		chosen = append(chosen, j)
	}
	return chosen, nil
}

// rates sets the rates of jobs.
func rates(jobs []crossover.Job, list string) error {
	if list == "" {
		return nil
	}
	for _, one := range strings.Split(list, ",") {
		name, number, ok := strings.Cut(one, "=")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 {
			return fmt.Errorf("--rates: %s, want NAME=N with a whole number N from 1", model.Quote(one))
		}
		i := slices.IndexFunc(jobs, func(j crossover.Job) bool { return j.Name == name })
		if i < 0 {
			return exit.Hint(fmt.Errorf("--rates: no job %s", model.Quote(name)), "the names are those that the table shows")
		}
		jobs[i].Rate = n
	}
	return nil
}

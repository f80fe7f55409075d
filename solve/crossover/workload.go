package crossover

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/workload"
)

// Pair is the network on which a job set becomes a workload without a topology of its own: two
// ranks, a link each way that carries a byte in a picosecond, and no latency. A transfer of t
// picoseconds is an allreduce of t bytes in one chunk: the two ranks exchange it.
func Pair() *model.Topology {
	const bytesPerSecond = 1_000_000_000_000
	return &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: bytesPerSecond}, {Src: 1, Dst: 0, Bandwidth: bytesPerSecond}}}
}

// exchange is the allreduce of t bytes on Pair.
func exchange(t model.Time) *model.Schedule {
	return &model.Schedule{Form: model.Timed, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{
		{Src: 0, Dst: 1, Route: 0, Op: model.Reduction, End: t}, {Src: 1, Dst: 0, Route: 1, Op: model.Reduction, End: t}}}
}

// Carry is how a bucket is carried: a collective with its schedule, whose makespan is the
// bucket's time.
type Carry struct {
	Size     int64
	Chunks   []model.Chunk
	Schedule *model.Schedule
}

// Build returns the workload of jobs, and the schedule of it that has the given starts. Buckets
// are all-reduced among all ranks of topo. carry has each job's buckets; nil: on Pair. Each job's
// gradients have a buffer for each bucket: its computation reads the sum that the last iteration
// left there, and writes what it adds.
func Build(topo *model.Topology, cost model.CostModel, jobs []Job, s *Schedule, carry [][]Carry) *workload.Schedule {
	if carry == nil {
		topo, cost = Pair(), model.Pipelined
	}
	w := &workload.Workload{Topology: topo, Cost: cost, Periodic: s.Period > 0}
	out := timetable{&workload.Schedule{Workload: w, Period: s.Period}}
	ops := map[[2]int]int{} // job and bucket, -1: the computation
	programs := map[int]int{}
	for j := range jobs {
		job := &jobs[j]
		w.Jobs = append(w.Jobs, workload.Job{Name: job.Name, Iterations: job.Rate})
		compute := workload.Op{ID: "compute " + job.Name, Kind: workload.Compute, Job: job.Name, Duration: []model.Time{job.Compute},
			Function: "step " + job.Name, Reads: []workload.Access{{Region: workload.Region{Buffer: "data " + job.Name, Size: 1}}}}
		c := len(w.Ops)
		ops[[2]int{j, -1}] = c
		w.Ops = append(w.Ops, compute)
		for k, b := range job.Buckets {
			how := Carry{Size: int64(b.Time), Schedule: exchange(b.Time), Chunks: []model.Chunk{{Size: int64(b.Time)}}}
			if carry != nil {
				how = carry[j][k]
			}
			region := workload.Region{Buffer: fmt.Sprintf("bucket %d of %s", k, job.Name), Size: how.Size}
			w.Ops[c].Reads = append(w.Ops[c].Reads, workload.Access{Region: region, Until: b.Ready})
			w.Ops[c].Writes = append(w.Ops[c].Writes, workload.Access{Region: region, Until: b.Ready})
			i := len(w.Ops)
			ops[[2]int{j, k}], programs[i] = i, len(out.Programs)
			for p, known := range out.Programs {
				if known == how.Schedule {
					programs[i] = p
				}
			}
			if programs[i] == len(out.Programs) {
				out.Programs = append(out.Programs, how.Schedule)
			}
			w.Ops = append(w.Ops, workload.Op{ID: fmt.Sprintf("bucket %d %s", k, job.Name), Kind: workload.Kind(model.AllReduce.String()), Job: job.Name,
				Size: how.Size, Chunks: how.Chunks, Buffer: workload.Region{Buffer: region.Buffer}})
			w.Edges = append(w.Edges, workload.Edge{From: c, To: i, FromStart: true, Offset: b.Ready}, workload.Edge{From: i, To: c, Height: 1})
		}
		if len(job.Buckets) == 0 {
			w.Edges = append(w.Edges, workload.Edge{From: c, To: c, Height: 1})
		}
	}
	out.place(s, func(j, k int) int { return ops[[2]int{j, k}] }, func(op int) int { return programs[op] })
	return out.Schedule
}

// timetable is a schedule of a workload into which starts are put.
type timetable struct{ *workload.Schedule }

// place puts starts into a schedule. op has the operation of a job's bucket, -1: of its computation, and
// program the program of a collective.
func (t timetable) place(s *Schedule, op func(job, bucket int) int, program func(op int) int) {
	for _, x := range s.Starts {
		p := workload.Placement{Op: op(x.Job, x.Bucket), Iteration: x.Iteration, Program: -1}
		if x.Bucket < 0 {
			for range t.Workload.Members(t.Workload.Ops[p.Op].Group) {
				p.Starts = append(p.Starts, x.At)
			}
		} else {
			p.At, p.Program = x.At, program(p.Op)
		}
		t.Placed = append(t.Placed, p)
	}
}

// Turns are the jobs of a workload, as jobs that take turns on one set of GPUs and one network.
type Turns struct {
	Workload *workload.Workload
	Programs []*model.Schedule // of each operation that is a collective
	Jobs     []Job
	ops      [][]int // of each job: the computation, then its buckets in the order of Jobs
}

// Of returns the jobs of a workload in which every operation belongs to a job, each job has one
// computation, on all ranks of its collectives, each collective waits for it, and the next iteration's
// computation for each collective, and there is no other edge: then jobs that take turns do what is asked.
// programs has a schedule of each collective by itself. That a workload is not so is an error, which states why.
func Of(w *workload.Workload, programs []*model.Schedule) (*Turns, error) {
	t := &Turns{Workload: w, Programs: programs, Jobs: make([]Job, len(w.Jobs)), ops: make([][]int, len(w.Jobs))}
	if len(w.Jobs) == 0 {
		return nil, fmt.Errorf("no jobs that could take turns")
	}
	job := make([]int, len(w.Ops))
	for j := range w.Jobs {
		t.Jobs[j] = Job{Name: w.Jobs[j].Name, Rate: w.Jobs[j].Iterations}
		for i := range w.Ops {
			if w.Ops[i].Job != w.Jobs[j].Name || w.Ops[i].Kind != workload.Compute {
				continue
			}
			if t.ops[j] != nil {
				return nil, fmt.Errorf("job %s has several computations", w.Jobs[j].Name)
			}
			t.ops[j] = []int{i}
			t.Jobs[j].Compute = slices.Max(w.Ops[i].Duration)
		}
		if t.ops[j] == nil {
			return nil, fmt.Errorf("job %s has no computation", w.Jobs[j].Name)
		}
	}
	type bucket struct {
		op          int
		ready, time model.Time
	}
	buckets := make([][]bucket, len(w.Jobs))
	for i := range w.Ops {
		op := &w.Ops[i]
		job[i] = slices.IndexFunc(w.Jobs, func(j workload.Job) bool { return j.Name == op.Job })
		if job[i] < 0 {
			return nil, fmt.Errorf("%s belongs to no job", op.ID)
		}
		for v := range w.Topology.Ranks {
			if w.ReleaseOf(i, v) > 0 {
				return nil, fmt.Errorf("rank %d is late for %s", v, op.ID)
			}
		}
		c := t.ops[job[i]][0]
		if i == c {
			continue
		}
		if _, collective := op.Kind.Collective(); !collective || programs[i] == nil {
			return nil, fmt.Errorf("%s is no collective", op.ID)
		}
		b := bucket{op: i}
		there, back := false, false
		for _, e := range w.Edges {
			switch {
			case e.From == c && e.To == i && e.Height == 0 && e.FromStart && e.Scope != workload.ByChunk:
				there, b.ready = true, max(b.ready, e.Offset)
			case e.From == c && e.To == i && e.Height == 0 && !e.FromStart && e.Scope != workload.ByChunk:
				there, b.ready = true, t.Jobs[job[i]].Compute
			case e.From == i && e.To == c && e.Height == 1 && !e.FromStart && e.Scope != workload.ByChunk:
				back = true
			case e.From == i || e.To == i:
				return nil, fmt.Errorf("%s waits for %s in another way than jobs that take turns do", w.Ops[e.To].ID, w.Ops[e.From].ID)
			}
		}
		if !there || !back {
			return nil, fmt.Errorf("%s and the computation of its job do not wait for each other", op.ID)
		}
		for _, v := range w.Members(op.Group) {
			if !slices.Contains(w.Members(w.Ops[c].Group), v) {
				return nil, fmt.Errorf("rank %d has %s, and not the computation of its job", v, op.ID)
			}
		}
		for k := range programs[i].Transfers {
			b.time = max(b.time, programs[i].Transfers[k].End)
		}
		buckets[job[i]] = append(buckets[job[i]], b)
	}
	for _, e := range w.Edges { // those of collectives have been looked at
		if c := t.ops[job[e.From]][0]; e.From == c && e.To == t.ops[job[e.To]][0] && (e.To != c || e.Height < 1 || e.FromStart) {
			return nil, fmt.Errorf("%s waits for %s in another way than jobs that take turns do", w.Ops[e.To].ID, w.Ops[e.From].ID)
		}
	}
	for j := range buckets {
		slices.SortStableFunc(buckets[j], func(a, b bucket) int { return int(min(1, max(-1, a.ready-b.ready))) })
		for _, b := range buckets[j] {
			t.ops[j] = append(t.ops[j], b.op)
			t.Jobs[j].Buckets = append(t.Jobs[j].Buckets, Bucket{Ready: b.ready, Time: b.time})
		}
	}
	return t, Validate(t.Jobs)
}

// Timetable returns the schedule of the workload that has the given starts, of jobs in an order; nil: their own.
func (t *Turns) Timetable(s *Schedule, order []int) *workload.Schedule {
	out := timetable{&workload.Schedule{Workload: t.Workload, Period: s.Period}}
	of := map[*model.Schedule]int{}
	out.place(s, func(j, k int) int {
		if order != nil {
			j = order[j]
		}
		return t.ops[j][k+1]
	}, func(op int) int {
		p, known := of[t.Programs[op]]
		if !known {
			p = len(out.Programs)
			of[t.Programs[op]] = p
			out.Programs = append(out.Programs, t.Programs[op])
		}
		return p
	})
	return out.Schedule
}

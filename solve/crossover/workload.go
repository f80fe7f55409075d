package crossover

import (
	"fmt"

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
	out := &workload.Schedule{Workload: w, Period: s.Period}
	ops := map[[2]int]int{}      // job and bucket, -1: the computation
	programs := map[[2]int]int{} // likewise
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
			ops[[2]int{j, k}], programs[[2]int{j, k}] = i, len(out.Programs)
			for p, known := range out.Programs {
				if known == how.Schedule {
					programs[[2]int{j, k}] = p
				}
			}
			if programs[[2]int{j, k}] == len(out.Programs) {
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
	for _, x := range s.Starts {
		p := workload.Placement{Op: ops[[2]int{x.Job, x.Bucket}], Iteration: x.Iteration, Program: -1}
		if x.Bucket < 0 {
			for range topo.Ranks {
				p.Starts = append(p.Starts, x.At)
			}
		} else {
			p.At, p.Program = x.At, programs[[2]int{x.Job, x.Bucket}]
		}
		out.Placed = append(out.Placed, p)
	}
	return out
}

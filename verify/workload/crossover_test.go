package workload_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/workload"
)

// pair is two ranks with a link each way that carries a byte in a picosecond.
func pair() *model.Topology {
	return &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e12}, {Src: 1, Dst: 0, Bandwidth: 1e12}}}
}

// exchange is an allreduce of n bytes on it.
func exchange(n model.Time) *model.Schedule {
	return &model.Schedule{Form: model.Timed, Routes: [][]int{{0}, {1}}, Transfers: []model.Transfer{
		{Src: 0, Dst: 1, Route: 0, Op: model.Reduction, End: n}, {Src: 1, Dst: 0, Route: 1, Op: model.Reduction, End: n}}}
}

// turns are two jobs, A (7, 4) and B (5, 6), of iterations each, and their schedule: A computes
// 0-7 and sends 7-11, B computes 7-12 and sends 12-18; all again after 18.
func turns(iterations int, periodic bool) *wl.Schedule {
	w := &wl.Workload{Topology: pair(), Cost: model.Pipelined, Periodic: periodic}
	s := &wl.Schedule{Workload: w}
	const period = 18
	if periodic {
		s.Period = period * model.Time(iterations)
	}
	for j, job := range []struct {
		name           string
		compute, carry model.Time
		at             model.Time
	}{{"A", 7, 4, 0}, {"B", 5, 6, 7}} {
		w.Jobs = append(w.Jobs, wl.Job{Name: job.name, Iterations: iterations})
		grads := wl.Access{Region: wl.Region{Buffer: "grads " + job.name, Size: int64(job.carry)}}
		data := wl.Access{Region: wl.Region{Buffer: "data " + job.name, Size: 1}}
		w.Ops = append(w.Ops,
			wl.Op{ID: "C" + job.name, Kind: wl.Compute, Job: job.name, Duration: []model.Time{job.compute}, Function: "step", Reads: []wl.Access{grads, data}, Writes: []wl.Access{grads}},
			wl.Op{ID: "M" + job.name, Kind: "allreduce", Job: job.name, Size: int64(job.carry), Chunks: []model.Chunk{{Size: int64(job.carry)}}, Buffer: wl.Region{Buffer: grads.Buffer}})
		w.After("M"+job.name, "C"+job.name, wl.ByRank)
		w.Edges = append(w.Edges, wl.Edge{From: 2*j + 1, To: 2 * j, Height: 1})
		s.Programs = append(s.Programs, exchange(job.carry))
		for k := range iterations {
			at := job.at + period*model.Time(k)
			s.Placed = append(s.Placed, wl.Placement{Op: 2 * j, Iteration: k, Program: -1, Starts: []model.Time{at, at}},
				wl.Placement{Op: 2*j + 1, Iteration: k, Program: j, At: at + job.compute})
		}
	}
	return s
}

func check(t *testing.T, s *wl.Schedule) (verify.Verdict, []verify.Verdict) {
	t.Helper()
	require.NoError(t, s.Validate())
	v, each, err := workload.Check(t.Context(), s)
	require.NoError(t, err, "%+v", each)
	return v, each
}

// Both engines prove the schedule, once and for ever.
func TestTurns(t *testing.T) {
	for _, periodic := range []bool{false, true} {
		for n := 1; n < 4; n++ {
			v, each := check(t, turns(n, periodic))
			require.Equal(t, verify.Proved, v.Outcome, "%+v", each)
			for _, e := range each {
				require.Equal(t, verify.Proved, e.Outcome, "%+v", e)
			}
			require.Equal(t, model.Time(18*n), v.Makespan)
		}
	}
}

// A period that is too short, and times that are wrong across its end, are refuted.
func TestTurnsTooSoon(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *wl.Schedule)
		code   verify.Code
	}{
		{"a period of 11", func(s *wl.Schedule) { s.Period = 11 }, verify.ComputeOverlap},
		{"computations that meet", func(s *wl.Schedule) { s.Placed[2].Starts = []model.Time{6, 6} }, verify.ComputeOverlap},
		{"on one rank alone", func(s *wl.Schedule) { s.Placed[2].Starts[1] = 6 }, verify.ComputeOverlap},
		{"across the end", func(s *wl.Schedule) { s.Placed[2].Starts = []model.Time{14, 14}; s.Placed[3].At = 19 }, verify.ComputeOverlap},
		{"transfers that meet", func(s *wl.Schedule) { s.Placed[1].At = 9 }, verify.LinkOverlap},
		{"across the end", func(s *wl.Schedule) { s.Placed[3].At = 24 }, verify.LinkOverlap},
		{"before its bucket is ready", func(s *wl.Schedule) { s.Placed[1].At = 6 }, verify.BeforeDependency},
		{"before its release", func(s *wl.Schedule) { s.Workload.Release = []model.Time{0, 1} }, verify.BeforeRelease},
		{"too much memory", func(s *wl.Schedule) { s.Workload.Memory = []int64{9, 9}; s.Workload.Jobs[0].Resident = 10 }, verify.OutOfMemory},
		{"too much memory while it runs", func(s *wl.Schedule) { s.Workload.Memory = []int64{9, 9}; s.Workload.Ops[0].Bytes = 10 }, verify.OutOfMemory},
		{"an edge left out", func(s *wl.Schedule) { s.Workload.Edges = s.Workload.Edges[:3] }, verify.WriteWriteRace},
		{"a buffer for both", func(s *wl.Schedule) {
			for i := range s.Workload.Ops {
				op := &s.Workload.Ops[i]
				if op.Kind == wl.Compute {
					op.Reads[0].Buffer, op.Writes[0].Buffer = "grads", "grads"
				} else {
					op.Buffer.Buffer = "grads"
				}
			}
		}, verify.WriteWriteRace},
		{"a program that is too fast", func(s *wl.Schedule) { s.Programs[0].Transfers[0].End-- }, verify.TooFast},
		{"a program without a transfer", func(s *wl.Schedule) { s.Programs[0].Transfers = s.Programs[0].Transfers[:1] }, verify.MissingContribution},
		{"a program that adds twice", func(s *wl.Schedule) {
			again := s.Programs[0].Transfers[0]
			again.Start, again.End = 4, 8
			s.Programs[0].Transfers = append(s.Programs[0].Transfers, again)
		}, verify.LinkOverlap},
	} {
		s := turns(1, true)
		c.change(s)
		v, each := check(t, s)
		require.Equal(t, verify.Refuted, v.Outcome, "%s: %+v", c.name, each)
		codes := fmt.Sprint(v.Violations)
		require.Contains(t, codes, string(c.code), c.name)
	}
}

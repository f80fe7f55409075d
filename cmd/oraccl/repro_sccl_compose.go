package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
)

// compose makes an allreduce of a reduce-scatter and an all-gather, each of half the steps
// and rounds, the first being the second read backwards, and has it proved.
func (x *scclStudy) compose(ctx context.Context, chunks, steps, rounds int) (*decided, error) {
	if steps%2 != 0 || rounds%2 != 0 {
		return &decided{Reason: "an allreduce is composed of two halves: want even numbers of steps and rounds"}, nil
	}
	half, err := x.decide(ctx, model.AllGather, chunks, steps/2, rounds/2)
	if err != nil {
		return nil, err
	}
	if half.Answer != "exists" {
		return &decided{Reason: "an all-gather of half the steps and rounds: " + half.Answer + half.Reason}, nil
	}
	gather := half.Schedule
	scatter, err := x.problem(model.ReduceScatter)
	if err != nil {
		return nil, err
	}
	scatter = scatter.WithChunks(scatter.DefaultChunks(chunks))
	mirrored, err := mirror(scatter.Topology, gather)
	if err != nil {
		return nil, err
	}
	all, err := x.problem(model.AllReduce)
	if err != nil {
		return nil, err
	}
	all = all.WithChunks(len(scatter.Chunks))
	d := &decided{Collective: model.AllReduce, Chunks: chunks, Answer: "exists", By: "sat, composed", Seconds: half.Seconds}
	s := after(solve.ReverseSchedule(scatter, mirrored), gather)
	v, err := certify.Verify(ctx, all, s, x.SMT, certify.Engines)
	if err == nil {
		d.Proved, err = v.ProvedBy()
	}
	if err != nil {
		return nil, fmt.Errorf("the allreduce of %d chunks in %d steps and %d rounds: %w", chunks, steps, rounds, err)
	}
	if s.Steps() > steps || s.Rounds() > rounds {
		return nil, fmt.Errorf("the allreduce of %d chunks has %d steps and %d rounds, want %d and %d", chunks, s.Steps(), s.Rounds(), steps, rounds)
	}
	d.Schedule, d.Steps, d.Rounds = s, s.Steps(), s.Rounds()
	unit := pareto.InUnits(all, chunks)
	return d, d.least(ctx, unit.WithChunks(unit.DefaultChunks(chunks)))
}

// mirror returns a schedule on t as one on t with every link turned round, where each link
// stands for one that leads the same way.
func mirror(t *model.Topology, s *model.Schedule) (*model.Schedule, error) {
	type way struct{ src, dst, nth int }
	back, seen := map[way]int{}, map[[2]int]int{}
	for i, l := range t.Links { // link i of the turned topology leads from Dst to Src
		at := [2]int{l.Dst, l.Src}
		back[way{l.Dst, l.Src, seen[at]}] = i
		seen[at]++
	}
	clear(seen)
	to := make([]int, len(t.Links))
	for i, l := range t.Links {
		at := [2]int{l.Src, l.Dst}
		j, ok := back[way{l.Src, l.Dst, seen[at]}]
		if !ok {
			return nil, fmt.Errorf("%s is not the same both ways: nothing leads back beside link %d", t.Name, i)
		}
		to[i] = j
		seen[at]++
	}
	m := &model.Schedule{Form: s.Form, Transfers: slices.Clone(s.Transfers)}
	for _, route := range s.Routes {
		turned := make([]int, len(route))
		for i, l := range route {
			turned[i] = to[l]
		}
		m.Routes = append(m.Routes, turned)
	}
	return m, nil
}

// after returns the schedule in rounds that is first a, then b.
func after(a, b *model.Schedule) *model.Schedule {
	s := &model.Schedule{Form: model.InRounds, Routes: slices.Concat(a.Routes, b.Routes), Transfers: slices.Clone(a.Transfers)}
	from := model.Time(a.Rounds())
	for _, t := range b.Transfers {
		t.Route += int32(len(a.Routes))
		t.Start, t.End = t.Start+from, t.End+from
		s.Transfers = append(s.Transfers, t)
	}
	return s
}

// wholeChunks is up to how many chunks an allreduce is searched for as a whole.
const wholeChunks = 2

// whole sets the rounds of composed allreduces beside those of the best that is not
// composed.
func (x *scclStudy) whole(ctx context.Context, points []*repro.Published) (*repro.Section, error) {
	s := &repro.Section{Name: "allreduce", Title: "Allreduces that are not composed", Table: x.table("sccl/dgx1.csv"),
		About: "The fewest rounds of any allreduce of that many chunks, whose reduction and broadcast may overlap."}
	for _, p := range points {
		chunks := p.Int("chunks")
		if p.Text("collective") != "allreduce" || p.Value != "exists" || chunks > wholeChunks {
			continue
		}
		f, err := keep(x.bench, fmt.Sprintf("dgx1 allreduce, %d chunks, as a whole", chunks), func() (*found, error) {
			all, err := x.problem(model.AllReduce)
			if err != nil {
				return nil, err
			}
			return x.best(ctx, all.WithChunks(all.DefaultChunks(chunks)), "sat-trees,sat")
		})
		if err != nil {
			return nil, err
		}
		row := p.Row(fmt.Sprintf("allreduce of %d chunks", all8*chunks), "rounds")
		row.Published, row.Ours = p.Text("rounds"), fmt.Sprint(f.Rounds)
		if f.LeastRounds > 0 {
			row.Bound, row.Certificate = fmt.Sprint(f.LeastRounds), f.Kind
		}
		f.into(row)
		row.Verdict = repro.Judge(float64(p.Int("rounds")), float64(f.Rounds), 0, repro.Less)
		switch {
		case row.Verdict == repro.Better:
			row.Why = "SCCL's is a reduce-scatter and then an all-gather; ours begins to spread sums before all are made."
		case row.Verdict == repro.Worse:
			row.Why = "The search for one as a whole did not end within its limit."
		}
		if f.Rounds == f.LeastRounds {
			row.Why = strings.TrimSpace(row.Why + " None has fewer.")
		}
		s.Rows = append(s.Rows, row)
	}
	return s, nil
}

// all8 is how many ranks a DGX-1 has.
const all8 = 8

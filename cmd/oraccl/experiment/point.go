package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
)

// decided is what is known of an algorithm of given chunks per rank, steps and rounds.
type decided struct {
	Answer   string // exists, impossible, or empty: no answer
	Reason   string // why there is no answer
	Steps    int    // of the schedule that was found
	Rounds   int
	Schedule *model.Schedule `json:",omitempty"`
	Proved   string
	Proof    int64 // bytes of the refutation
	Least    int   // rounds, by a certified bound, in any number of steps; 0: none
	Kind     string
	By       string
	Seconds  float64

	chunks int
	of     string // the instance
}

// point measures whether there is an algorithm of the given chunks per rank, steps and
// rounds: SCCL's question (Cai et al., PPoPP 2021). A SAT solver decides it; a schedule is
// proved, and a refutation is checked. An allreduce is composed of a reduce-scatter and an
// all-gather of half the steps and rounds each, as SCCL does. What has a schedule of no more
// steps and rounds that was found before exists by that, in no time.
func point() *Measure {
	return &Measure{"whether an algorithm of chunks, steps and rounds exists: answer is exists or impossible, proof the bytes of a refutation, least the rounds of as many chunks",
		[]string{"answer", "steps", "rounds", "method", "proved", "proof", "least", "kind", "seconds", "reason"}, "",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			var n [3]int
			for i, name := range []string{"chunks", "steps", "rounds"} {
				var err error
				if n[i], err = s.whole(name, 1); err != nil {
					return nil, err
				}
			}
			if n[1] < 1 || n[2] < n[1] || n[0] < 1 || n[0] > 64 {
				return nil, fmt.Errorf("%d chunks, %d steps, %d rounds: want 1 to 64 chunks, and no fewer rounds than steps", n[0], n[1], n[2])
			}
			of := maps.Clone(s)
			for _, name := range []string{"chunks", "steps", "rounds"} {
				delete(of, name)
			}
			d, err := x.decide(ctx, of, n[0], n[1], n[2])
			if err != nil {
				return nil, err
			}
			text := func(s string) expression.Value {
				if s == "" {
					return expression.Value{}
				}
				return expression.Text(s)
			}
			r := expression.Record{"answer": text(d.Answer), "steps": expression.Number(d.Steps), "rounds": expression.Number(d.Rounds), "method": text(d.By),
				"proved": expression.Text(d.Proved), "proof": expression.Number(d.Proof), "least": {}, "kind": text(d.Kind), "seconds": expression.Float(d.Seconds), "reason": expression.Text(d.Reason)}
			if d.Least > 0 {
				r["least"] = expression.Number(d.Least)
			}
			return r, nil
		}}
}

// decide decides a point, by a schedule that is known to have no more steps and rounds, if
// there is one.
func (x *Runner) decide(ctx context.Context, of spec, chunks, steps, rounds int) (*decided, error) {
	for _, d := range x.points {
		if d.of == of.key() && d.chunks == chunks && d.Steps <= steps && d.Rounds <= rounds {
			e := *d
			e.Seconds = 0
			return &e, nil
		}
	}
	d, err := keep(ctx, x, of.label(fmt.Sprintf("%d-%d-%d", chunks, steps, rounds)), fmt.Sprintf("%s (%d, %d, %d)", of.key(), chunks, steps, rounds), func(e *evidence) (d *decided, err error) {
		if of["collective"] == model.AllReduce.String() {
			d, err = x.compose(ctx, of, chunks, steps, rounds, e)
		} else {
			d, err = x.ask(ctx, of, chunks, steps, rounds, e)
		}
		if err == nil && d.Answer == "" {
			err = errUndecided
		}
		return d, err
	})
	if err == nil && d.Answer == "exists" {
		d.of, d.chunks = of.key(), chunks
		x.points = append(x.points, d)
	}
	return d, err
}

// ask asks the SAT solver about a point.
func (x *Runner) ask(ctx context.Context, of spec, chunks, steps, rounds int, rests *evidence) (*decided, error) {
	p, err := of.problem(ctx)
	if err != nil {
		return nil, err
	}
	unit := pareto.InUnits(p, chunks)
	q := unit.WithChunks(unit.DefaultChunks(chunks))
	d := &decided{By: "sat"}
	least, err := d.least(ctx, q)
	if err != nil {
		return nil, err
	}
	point := &pareto.Point{Chunks: chunks, Steps: steps, Rounds: rounds}
	if err := pareto.Decide(ctx, x.Evaluator, p, q, point); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	rests.frontier = &pareto.Frontier{Problem: p, Units: unit, Bounds: []*model.Certificate{least}}
	d.Seconds = point.Solving.Seconds()
	switch {
	case point.Row != nil:
		rests.frontier.Points = []*pareto.Point{point}
		d.Answer, d.Schedule = "exists", point.Row.Result.Schedule
		d.Steps, d.Rounds = d.Schedule.Steps(), d.Schedule.Rounds()
		d.Proved, err = point.Row.ProvedBy()
	case point.Certificate != nil:
		rests.frontier.Refuted = []*pareto.Point{point}
		d.Answer, d.Proof, d.Proved = "impossible", point.ProofBytes, "lrat"
	default:
		d.Reason = "not decided: " + point.Reason
	}
	return d, err
}

// least sets how many rounds q needs at least, by a certified bound. In q a round lasts as
// many picoseconds as a chunk has bytes. It returns the certificate, or nil.
func (d *decided) least(ctx context.Context, q *model.Problem) (*model.Certificate, error) {
	c, err := certify.Bound(ctx, q)
	if err != nil || c == nil {
		return nil, err
	}
	round := model.Time(q.Chunks[0].Size)
	d.Least, d.Kind = int((c.Bound+round-1)/round), c.Witness.Kind()
	return c, nil
}

// as returns the spec with another collective.
func (s spec) as(k model.Kind) spec {
	t := maps.Clone(s)
	t["collective"] = k.String()
	return t
}

// compose makes an allreduce of a reduce-scatter and an all-gather, each of half the steps
// and rounds, the first being the second read backwards, and has it proved.
func (x *Runner) compose(ctx context.Context, of spec, chunks, steps, rounds int, rests *evidence) (*decided, error) {
	if steps%2 != 0 || rounds%2 != 0 {
		return &decided{Reason: "not decided: an allreduce is composed of two halves: want even numbers of steps and rounds"}, nil
	}
	half, err := x.decide(ctx, of.as(model.AllGather), chunks, steps/2, rounds/2)
	if err != nil {
		return nil, err
	}
	if half.Answer != "exists" {
		return &decided{Reason: "not decided: an all-gather of half the steps and rounds: " + half.Answer + half.Reason}, nil
	}
	scatter, err := of.as(model.ReduceScatter).problem(ctx)
	if err != nil {
		return nil, err
	}
	scatter = scatter.WithChunks(scatter.DefaultChunks(chunks))
	mirrored, err := mirror(scatter.Topology, half.Schedule)
	if err != nil {
		return nil, err
	}
	all, err := of.problem(ctx)
	if err != nil {
		return nil, err
	}
	all = all.WithChunks(len(scatter.Chunks))
	d := &decided{Answer: "exists", By: "sat, composed", Seconds: half.Seconds, Schedule: after(solve.ReverseSchedule(scatter, mirrored), half.Schedule)}
	v, err := certify.Verify(ctx, all, d.Schedule, x.SMT, certify.Engines)
	if err == nil {
		d.Proved, err = v.ProvedBy()
	}
	if err != nil {
		return nil, fmt.Errorf("the allreduce of %d chunks in %d steps and %d rounds: %w", chunks, steps, rounds, err)
	}
	if d.Steps, d.Rounds = d.Schedule.Steps(), d.Schedule.Rounds(); d.Steps > steps || d.Rounds > rounds {
		return nil, fmt.Errorf("the allreduce of %d chunks has %d steps and %d rounds, want %d and %d", chunks, d.Steps, d.Rounds, steps, rounds)
	}
	unit := pareto.InUnits(all, chunks)
	least, err := d.least(ctx, unit.WithChunks(unit.DefaultChunks(chunks)))
	row := &certify.Row{Method: d.By, Result: solve.Result{Problem: all, Schedule: d.Schedule}, Makespan: all.Makespan(d.Schedule), Verification: v}
	rests.frontier = &pareto.Frontier{Problem: all, Units: unit, Points: []*pareto.Point{{Chunks: chunks, Steps: d.Steps, Rounds: d.Rounds, Row: row}}, Bounds: []*model.Certificate{least}}
	return d, err
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

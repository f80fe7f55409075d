package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
)

// perChunk measures the certified bound on the rounds per chunk of any number of chunks.
func perChunk() *Measure {
	return &Measure{"rounds: the certified bound on rounds per chunk, for every number of chunks, exact", []string{"rounds", "kind", "reason"}, "",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			p, err := s.problem(ctx)
			if err != nil {
				return nil, err
			}
			unit := pareto.InUnits(p, 12)
			c, err := certify.Bound(ctx, unit)
			if err != nil {
				return nil, err
			}
			if c == nil {
				return nil, errors.New(p.Topology.Name + ": no bound")
			}
			var e evidence
			e.bound(c)
			if err := x.rests(ctx, s.label("rounds-per-chunk"), "rounds-per-chunk "+s.key(), &e); err != nil {
				return nil, err
			}
			one := unit.WithChunks(unit.DefaultChunks(1)).Chunks[0].Size
			return expression.Record{"rounds": expression.Fraction(big.NewRat(int64(c.Bound), one)), "kind": expression.Text(c.Witness.Kind()), "reason": expression.Text("")}, nil
		}}
}

// leastSteps measures how many steps the farthest demand needs.
func leastSteps() *Measure {
	return &Measure{"steps: hops to the farthest demand; bound is as many where a certificate was checked", []string{"steps", "bound", "kind", "reason"}, "",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			p, err := s.problem(ctx)
			if err != nil {
				return nil, err
			}
			unit := pareto.InUnits(p, 1)
			least := pareto.LeastSteps(unit)
			c, err := pareto.Farthest(ctx, unit.WithChunks(unit.DefaultChunks(1)), least)
			r := expression.Record{"steps": expression.Number(least), "bound": {}, "kind": {}, "reason": expression.Text("")}
			if err == nil {
				var e evidence
				e.bound(c)
				err = x.rests(ctx, s.label("least-steps"), "least-steps "+s.key(), &e)
			}
			if c != nil {
				r["bound"], r["kind"] = expression.Number(least), expression.Text(c.Witness.Kind())
			}
			return r, err
		}}
}

// searched is what a frontier comes to.
type searched struct {
	Points    [][3]int // chunks, steps, rounds
	Refuted   int
	Undecided int
	Seconds   float64
}

// frontier measures how many points no other beats in steps and in rounds per chunk, which
// is what SCCL counts, up to the given chunks per rank.
func frontier() *Measure {
	return &Measure{"points: how many numbers of chunks, steps and rounds no other beats in steps and rounds per chunk, up to chunks; list names them, refuted is how many others checked proofs exclude",
		[]string{"points", "list", "refuted", "method", "proved", "kind", "seconds", "reason"}, "",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			chunks, err := s.whole("chunks", 1)
			if err != nil {
				return nil, err
			}
			delete(s, "chunks")
			k, err := keep(ctx, x, s.label("frontier"), fmt.Sprintf("frontier of %s to %d chunks", s.key(), chunks), func(e *evidence) (*searched, error) { return x.search(ctx, s, chunks, e) })
			if err != nil {
				return nil, err
			}
			left, list := 0, ""
			for _, p := range k.Points {
				beaten := false
				for _, q := range k.Points {
					beaten = beaten || q != p && q[1] <= p[1] && q[2]*p[0] <= p[2]*q[0]
				}
				if !beaten {
					left++
					list += fmt.Sprintf(" (%d,%d,%d)", p[0], p[1], p[2])
				}
			}
			r := expression.Record{"points": expression.Number(left), "list": expression.Text(list), "refuted": expression.Number(k.Refuted), "method": expression.Text("sat"),
				"proved": expression.Text("replay, smt"), "kind": expression.Text("lrat"), "seconds": expression.Float(k.Seconds), "reason": expression.Text("")}
			if k.Undecided > 0 {
				r["reason"] = expression.Text(fmt.Sprintf("%d points are undecided", k.Undecided))
			}
			return r, nil
		}}
}

func (x *Runner) search(ctx context.Context, s spec, chunks int, rests *evidence) (*searched, error) {
	p, err := s.problem(ctx)
	if err != nil {
		return nil, err
	}
	f, err := pareto.Search(ctx, x.Evaluator, p, chunks)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	rests.frontier = f
	k := &searched{Refuted: len(f.Refuted), Undecided: len(f.Undecided)}
	for _, p := range f.Points {
		if _, err := p.Row.ProvedBy(); err != nil {
			return nil, err
		}
		k.Points, k.Seconds = append(k.Points, [3]int{p.Chunks, p.Steps, p.Rounds}), k.Seconds+p.Solving.Seconds()
	}
	for _, p := range f.Refuted {
		k.Seconds += p.Solving.Seconds()
	}
	if k.Undecided > 0 {
		err = errUndecided
	}
	return k, err
}

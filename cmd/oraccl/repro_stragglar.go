package main

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// study is the setting of the comparison, which is that of the authors' script.
type study struct {
	*bench
	size, alpha, bandwidth string
	at, roundsTo           int
}

func stragglarExperiment() *experiment {
	return &experiment{
		name:   "stragglar",
		title:  "StragglAR: an allreduce with one late rank",
		source: `Devraj et al., "Efficient AllReduce with Stragglers", arXiv:2505.23523`,
		about: `One rank of n is late; the others reduce meanwhile. What counts is the time from its arrival on, in rounds in which every rank sends and receives one chunk: 1 GiB on a switch, 3 us, 450 GiB/s, as in the authors' script. Beside its figures are the published schedules, made and proved here, ours with as many chunks, ours with the best number of chunks, and the certified bound.

RHD and direct are reckoned as the script does, by formulas; there are no schedules of them to prove.`,
		fill: func(ctx context.Context, b *bench, r *repro.Report) error {
			x := &study{bench: b, size: "1GiB", alpha: "3us", bandwidth: "450GiB/s", at: 8, roundsTo: 64}
			if b.full {
				x.roundsTo = 300
			}
			return x.fill(ctx, r)
		},
	}
}

// problem is the allreduce among n ranks of which the last one is late by delay.
func (x *study) problem(n int, delay model.Time) (*model.Problem, error) {
	tp, err := instance.Generated("switch:"+strconv.Itoa(n), x.alpha, x.bandwidth)
	if err != nil {
		return nil, err
	}
	size, err := model.ParseBytes(x.size)
	if err != nil {
		return nil, fmt.Errorf("--size: %w", err)
	}
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Rounds, Release: make([]model.Time, n)}
	p.Release[n-1] = delay
	return p, p.Validate()
}

// outcome is what a method makes of a problem, proved.
type outcome struct {
	Chunks, Rounds int        // rounds after the arrival
	After          model.Time // the arrival
	Proved         string     // the engines
	Seconds        float64
}

// solved runs a method, and has what it finds proved.
func (x *study) solved(ctx context.Context, m solve.Solver, p *model.Problem) (outcome, error) {
	begin := time.Now()
	r, err := m.Solve(ctx, p, solve.Options{})
	if err != nil {
		return outcome{}, err
	}
	if r.Schedule == nil {
		return outcome{}, fmt.Errorf("%s: found no schedule: %v", m.Name(), r.Stop)
	}
	if !p.SameUpToCut(r.Problem) {
		return outcome{}, fmt.Errorf("%s: answered another problem: %v", m.Name(), r.Problem)
	}
	took := time.Since(begin).Seconds()
	v, err := certify.Verify(ctx, r.Problem, r.Schedule, x.SMT, certify.Engines)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	proved := ""
	if err == nil {
		proved, err = v.ProvedBy()
	}
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %v: %w", m.Name(), p, err)
	}
	return outcome{len(r.Problem.Chunks), r.Problem.RoundsAfterArrival(r.Schedule), r.Makespan() - p.LastArrival(), proved, took}, nil
}

// publishedFor returns the published method for n ranks, or nil.
func publishedFor(p *model.Problem) solve.Solver {
	for _, m := range []solve.Solver{stragglar.NewPublished(), stragglar.NewMatching()} {
		if m.Serves(p) == nil {
			return m
		}
	}
	return nil
}

// compared is one number of ranks.
type compared struct {
	Ranks       int
	Ring        outcome
	Published   *outcome
	Method      string // that Published is of
	Same, Best  outcome
	Bound       model.Time // after the arrival
	Kind        string     // of its certificate
	Least       int        // rounds with n-1 chunks, by a certificate
	RHD, Direct float64    // speed-ups as the script reckons them
}

// compare solves for n ranks, the last one so late that all others have long been done.
func (x *study) compare(ctx context.Context, n int) (*compared, error) {
	if n < 3 {
		return nil, fmt.Errorf("%d ranks: want 3 or more", n)
	}
	const late = 100 * model.Second
	p, err := x.problem(n, late)
	if err != nil {
		return nil, err
	}
	c := &compared{Ranks: n}
	if c.Ring, err = x.solved(ctx, methodOf("ring"), p); err != nil {
		return nil, err
	}
	if m := publishedFor(p); m != nil {
		o, err := x.solved(ctx, m, p)
		if err != nil {
			return nil, err
		}
		c.Published, c.Method = &o, m.Name()
	}
	if c.Same, err = x.solved(ctx, stragglar.New(), p.WithChunks(n-1)); err != nil {
		return nil, err
	}
	if c.Best, err = x.solved(ctx, stragglar.New(), p); err != nil {
		return nil, err
	}
	b, err := certify.Bound(ctx, p)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("%v: no bound", p)
	}
	c.Bound, c.Kind = b.Bound-late, b.Witness.Kind()
	if c.Least, err = leastAfterArrival(ctx, p.WithChunks(n-1)); err != nil {
		return nil, err
	}
	c.reckon(p)
	return c, nil
}

// leastAfterArrival returns how many rounds p, whose last rank is late, has after its
// arrival at least, by a certificate of its own that is checked.
func leastAfterArrival(ctx context.Context, p *model.Problem) (int, error) {
	w := model.Spread{Source: p.Topology.Ranks - 1}
	c := &model.Certificate{Problem: p, Witness: w}
	var err error
	if c.Bound, err = cert.Yield(ctx, c); err != nil {
		return 0, err
	}
	if v := cert.Check(ctx, c); v.Outcome != verify.Proved {
		return 0, fmt.Errorf("the %s bound of %v failed its check: %s", w.Kind(), p, v.Reason)
	}
	return cert.SpreadRounds(ctx, p, w)
}

// reckon has RHD and direct as the authors' script: RHD takes 2·log2 k hops and 2(k-1)/k
// of the buffer for the largest power of two k, and where k < n two hops and the buffer
// more; direct log2 n times a hop with the buffer.
func (c *compared) reckon(p *model.Problem) {
	route := []int{p.Topology.Out()[0][0], p.Topology.In()[1][0]}
	alpha := float64(p.Topology.Duration(route, 0))
	whole := float64(p.Topology.Duration(route, p.Size)) - alpha
	q := bits.Len(uint(c.Ranks)) - 1
	k := float64(int(1) << q)
	rhd := 2*float64(q)*alpha + 2*(k-1)/k*whole
	if c.Ranks > 1<<q {
		rhd += 2*alpha + whole
	}
	ring := float64(c.Ring.After)
	c.RHD, c.Direct = ring/rhd, ring/(math.Log2(float64(c.Ranks))*(alpha+whole))
}

// speedup is over the ring.
func (c *compared) speedup(t model.Time) float64 { return float64(c.Ring.After) / float64(t) }

func methodOf(name string) solve.Solver {
	for _, m := range certify.Methods() {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

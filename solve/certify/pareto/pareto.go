// Package pareto finds the frontier of Cai et al., "Synthesizing optimal collective
// algorithms", PPoPP 2021 (SCCL): a schedule of C chunks per rank in S steps and R rounds takes
// S latencies, and the time of R/C buffers over a link. No point of the frontier is beaten in
// both, except by one of more rounds: fewer, and so larger, messages count as well.
//
// Each point is decided by a SAT solver. A schedule that it finds is verified, and a proof
// that there is none is checked, before the point counts.
package pareto

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify"
)

// Frontier is what was found up to a number of chunks per rank.
type Frontier struct {
	Problem    *model.Problem       // with the real network
	Units      *model.Problem       // what bounds and proofs are about: see InUnits
	MaxChunks  int                  // chunks per rank that were asked for
	LeastSteps int                  // hops to the farthest demand
	Points     []*Point             // proved, none beaten by another, by chunks
	Refuted    []*Point             // with checked proofs that there is no schedule
	Undecided  []*Point             // with a Reason
	Bounds     []*model.Certificate // on the rounds, by chunks per rank from 1 on; nil: none
	Hops       *model.Certificate   // how far the farthest demand is: one round, or ps a byte of a chunk, a hop; nil: none
	Stopped    solve.Stop           // why numbers of chunks were not looked at; 0: all were
}

// Point is a number of chunks per rank, of steps and of rounds, and what is known of it.
type Point struct {
	Chunks, Steps, Rounds int

	LeastRounds int  // by a certified bound, in any number of steps
	Bandwidth   bool // no number of chunks needs less bandwidth, by a certified bound

	Row         *certify.Row       // the proved schedule; nil: none was found
	Certificate *model.Certificate // that there is no schedule, checked; nil: none
	ProofBytes  int64              // of the proof that Certificate names
	Reason      string             // why it is undecided
	Solving     time.Duration
}

// MostChunks is the largest number of chunks per rank that Search looks at.
const MostChunks = 16

// searcher finds the points of a frontier.
type searcher struct {
	by *certify.Evaluator
	Frontier
}

// Search finds the frontier of a problem of cost model.LinkRounds without late ranks up to a
// number of chunks per rank. When ctx is done, it returns what it has within certify.Grace.
func Search(ctx context.Context, e *certify.Evaluator, p *model.Problem, maxChunks int) (*Frontier, error) {
	switch {
	case p.Cost != model.LinkRounds:
		return nil, fmt.Errorf("goes with --objective rounds and --cost link-rounds, not with --cost %v", p.Cost)
	case p.Late():
		return nil, errors.New("does not go with late ranks")
	case maxChunks < 1 || maxChunks > MostChunks:
		return nil, fmt.Errorf("%d chunks per rank: want 1 to %d, the largest number to look at", maxChunks, MostChunks)
	case p.Collective.Reduces() && p.Collective.Kind != model.Reduce && p.Collective.Kind != model.ReduceScatter:
		return nil, fmt.Errorf("%v is not served, as steps of it are not defined where sums are passed on: ask for --collective reducescatter and allgather, or for its rounds alone", p.Collective.Kind)
	}
	f := &searcher{e, Frontier{Problem: p, Units: InUnits(p, maxChunks), MaxChunks: maxChunks}}
	unit := f.Units
	if err := sat.New().Serves(unit.WithChunks(unit.DefaultChunks(maxChunks))); err != nil {
		return nil, errors.New(err.Error())
	}
	f.LeastSteps = LeastSteps(unit)
	fluid, err := certify.Bound(ctx, unit)
	if err != nil {
		return nil, err
	}
	if f.Hops, err = Farthest(ctx, unit.WithChunks(unit.DefaultChunks(1)), f.LeastSteps); err != nil {
		return nil, err
	}
	o := solve.Options{Seed: e.Options.Seed, TimeLimit: e.Options.TimeLimit}
	e.Progress.Begin("sat", &o)
	defer e.Progress.End()
	for chunks := 1; chunks <= maxChunks; chunks++ {
		if f.Stopped = solve.StopOf(ctx); f.Stopped != 0 {
			break
		}
		if err := f.cut(ctx, unit, fluid, chunks); err != nil {
			return nil, err
		}
	}
	f.keepBest()
	return &f.Frontier, nil
}

// InUnits returns p with links of no latency on which each byte takes a picosecond, and of
// a size that divides into chunks evenly: in rounds speeds do not matter. A chunk has enough
// bytes that a bound on the time, a whole number, is one on the rounds a chunk.
func InUnits(p *model.Problem, maxChunks int) *model.Problem {
	q, t := *p, *p.Topology
	t.Name += " in units"
	t.Links = slices.Clone(t.Links)
	for i := range t.Links {
		t.Links[i].Alpha, t.Links[i].Bandwidth = 0, 1e12
	}
	all := int64(1_000_000)
	for i := range int64(maxChunks) {
		all *= (i + 1) / new(big.Int).GCD(nil, nil, big.NewInt(all), big.NewInt(i+1)).Int64()
	}
	q.Topology, q.Chunks = &t, nil
	q.Size = all * int64(q.DefaultChunks(1))
	return &q
}

// LeastSteps returns how many hops the farthest demand is away: each needs a step.
func LeastSteps(p *model.Problem) int {
	n := p.Topology.Ranks
	next := make([][]int, n)
	for _, h := range hop.All(p.Topology) {
		next[h.Src] = append(next[h.Src], h.Dst)
	}
	far := make([][]int, n)
	for r := range far {
		far[r] = slices.Repeat([]int{-1}, n)
		far[r][r] = 0
		for queue := []int{r}; len(queue) > 0; queue = queue[1:] {
			for _, v := range next[queue[0]] {
				if far[r][v] < 0 {
					far[r][v] = far[r][queue[0]] + 1
					queue = append(queue, v)
				}
			}
		}
	}
	least := 1
	c := p.WithChunks(p.DefaultChunks(1))
	for k := range c.Chunks {
		from := c.Start(k)
		for dst, want := range c.Goal(k) {
			for src := range want.Terms() {
				near := n
				for r, v := range from {
					for has := range v.Terms() {
						if has == src {
							near = min(near, far[r][dst])
						}
					}
				}
				least = max(least, near)
			}
		}
	}
	return least
}

// Farthest returns the certificate that the farthest demand of a problem in units is as many
// hops away as there are steps, or nil where there is none.
func Farthest(ctx context.Context, p *model.Problem, steps int) (*model.Certificate, error) {
	all, _, err := bound.All(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Witness.Kind() != (model.Distance{}).Kind() || c.Estimate < model.Time(p.Chunks[0].Size).Mul(int64(steps)) {
			continue
		}
		return certify.Value(ctx, c)
	}
	return nil, nil
}

// cut decides the points of a number of chunks per rank, from few steps to many.
func (f *searcher) cut(ctx context.Context, unit *model.Problem, fluid *model.Certificate, chunks int) error {
	q := unit.WithChunks(unit.DefaultChunks(chunks))
	round := model.Time(q.Chunks[0].Size) // what a round lasts, ps
	c, err := certify.Bound(ctx, q)
	if err != nil {
		return err
	}
	f.Bounds = append(f.Bounds, c)
	least := 1
	if c != nil {
		least = int((c.Bound + round - 1) / round)
	}
	for steps := f.LeastSteps; ; steps++ {
		for rounds := max(least, steps); ; rounds++ {
			point := &Point{Chunks: chunks, Steps: steps, Rounds: rounds, LeastRounds: least,
				Bandwidth: fluid != nil && round.Mul(int64(rounds)) <= fluid.Bound}
			if f.beaten(point) {
				if rounds == max(least, steps) {
					return nil // nor do more steps help
				}
				break
			}
			answer, err := f.decide(ctx, q, point)
			if err != nil {
				return err
			}
			if answer == cadical.Unsatisfiable {
				continue
			}
			if answer == cadical.Unknown || rounds == max(least, steps) {
				return nil
			}
			break
		}
	}
}

// beaten reports whether a point is no better than one that was found.
func (f *searcher) beaten(x *Point) bool {
	return slices.ContainsFunc(f.Points, func(y *Point) bool { return y.beats(x) })
}

func (y *Point) beats(x *Point) bool {
	return y != x && y.Steps <= x.Steps && y.Rounds <= x.Rounds && y.Rounds*x.Chunks <= x.Rounds*y.Chunks
}

// decide has a point decided, and lists it. The answer is that of the solver, unless what it
// found is not proved.
func (f *searcher) decide(ctx context.Context, q *model.Problem, x *Point) (cadical.Answer, error) {
	err := Decide(ctx, f.by, f.Problem, q, x)
	switch {
	case err != nil:
		return cadical.Unknown, err
	case x.Certificate != nil:
		f.Refuted = append(f.Refuted, x)
		return cadical.Unsatisfiable, nil
	case x.Row != nil:
		f.Points = append(f.Points, x)
		return cadical.Satisfiable, nil
	}
	f.Undecided = append(f.Undecided, x)
	return cadical.Unknown, nil
}

// Decide asks for a schedule with the figures of a point: one of p, with its real network,
// for q, which is p in units and has the cut of the point. It sets Row, which is proved,
// Certificate, which is checked, or Reason. An error is a defect of the solver, or of what was
// made of its answer.
func Decide(ctx context.Context, e *certify.Evaluator, p, q *model.Problem, x *Point) error {
	e.Progress.Note(fmt.Sprintf("%d chunks in %d steps, %d rounds", x.Chunks, x.Steps, x.Rounds))
	begin := time.Now()
	question := &sat.Question{Problem: q, Horizon: x.Rounds, Steps: x.Steps}
	proof := filepath.Join(e.Scratch, fmt.Sprintf("no-%d-chunks-%d-steps-%d-rounds.lrat", x.Chunks, x.Steps, x.Rounds))
	late, end := solve.Grace(ctx, certify.Grace)
	defer end()
	limit := e.Options.TimeLimit
	if deadline, limited := ctx.Deadline(); limited { // a hard question leaves half of the time to the others
		limit = min(limit, max(1, time.Until(deadline)/2))
	}
	b, done := solve.NewBudget(ctx, limit, 0)
	defer done()
	d, err := question.Decide(b.Context(), sat.Limits{Seed: e.Options.Seed, Proof: proof})
	if err != nil {
		return err
	}
	x.Solving = time.Since(begin)
	switch {
	case d.Answer == cadical.Unsatisfiable:
		c, err := certify.RefutationOf(late, q, solve.Refuted{Horizon: x.Rounds, Steps: x.Steps, Proof: proof})
		if err == nil {
			err = certify.CheckRefutation(late, c, e.Scratch)
		}
		switch {
		case late.Err() != nil:
			x.Reason = "a refutation was found, and there was no time to check it"
		case err != nil:
			return err
		default:
			x.Certificate, x.ProofBytes = c, e.ProofSize(c)
		}
	case d.Answer == cadical.Satisfiable:
		return x.prove(late, e, p.WithChunks(len(q.Chunks)), d.Schedule)
	case solve.StopOf(ctx) == solve.Interrupted:
		x.Reason = "interrupted"
	default:
		x.Reason = fmt.Sprintf("no answer within %v", limit.Round(time.Millisecond))
	}
	return nil
}

// prove has the schedule that was found for a point verified.
func (x *Point) prove(ctx context.Context, e *certify.Evaluator, p *model.Problem, s *model.Schedule) (err error) {
	r := &certify.Row{Method: "sat", Result: solve.Result{Problem: p, Schedule: s, Stop: solve.Done}, Seed: e.Options.Seed}
	if r.Verification, err = certify.Verify(ctx, p, s, e.SMT, certify.Engines); err != nil {
		return err
	}
	if r.Outcome() == verify.Refuted {
		return fmt.Errorf("the schedule of %d chunks in %d steps and %d rounds is refuted: %v", x.Chunks, x.Steps, x.Rounds, r.Violations())
	}
	if steps, rounds := s.Steps(), s.Rounds(); steps > x.Steps || rounds > x.Rounds {
		return fmt.Errorf("the schedule of %d chunks has %d steps and %d rounds, want %d and %d", x.Chunks, steps, rounds, x.Steps, x.Rounds)
	}
	if r.Outcome() != verify.Proved {
		x.Reason = "a schedule was found, and is not proved: " + r.Verdict.Reason
		return nil
	}
	x.Row = r
	return nil
}

// keepBest leaves out points that others beat.
func (f *searcher) keepBest() {
	all := f.Points
	f.Points = slices.DeleteFunc(slices.Clone(all), func(x *Point) bool {
		return slices.ContainsFunc(all, func(y *Point) bool { return y.beats(x) })
	})
	slices.SortStableFunc(f.Points, func(a, b *Point) int { return a.Chunks - b.Chunks })
}

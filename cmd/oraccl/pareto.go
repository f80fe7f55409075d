package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify"
)

// The frontier of Cai et al., "Synthesizing optimal collective algorithms", PPoPP 2021
// (SCCL): a schedule of C chunks a rank in S steps and R rounds takes S latencies, and the
// time of R/C buffers over a link. No point of the frontier is beaten in both, unless by
// one of more rounds: fewer, and so larger, messages count as well.

// The JSON of solve --pareto, schema oraccl/pareto/1.
type paretoJSON struct {
	Schema     string       `json:"schema"`
	Topology   string       `json:"topology"`
	Collective string       `json:"collective"`
	Ranks      int          `json:"ranks"`
	MaxChunks  int          `json:"max_chunks"`
	LeastSteps int          `json:"least_steps"`
	Points     []*pointJSON `json:"points"`
	Refuted    []*pointJSON `json:"refuted"`
	Undecided  []*pointJSON `json:"undecided"`
	Stopped    string       `json:"stopped,omitempty"`
}

// pointJSON is a number of chunks a rank, of steps and of rounds.
type pointJSON struct {
	Chunks       int          `json:"chunks"`
	Steps        int          `json:"steps"`
	Rounds       int          `json:"rounds"`
	LeastRounds  int          `json:"least_rounds"`          // by a certified bound, in any number of steps
	Bandwidth    bool         `json:"bandwidth_optimal"`     // by a certified bound, for any number of chunks
	Replay       string       `json:"replay,omitempty"`      // verdicts on the schedule
	SMT          string       `json:"smt,omitempty"`         //
	Transfers    int          `json:"transfers,omitempty"`   //
	File         string       `json:"file,omitempty"`        // of the schedule or the certificate
	SolveSeconds float64      `json:"solve_seconds"`         //
	ProofBytes   int64        `json:"proof_bytes,omitempty"` // of what is refuted
	Reason       string       `json:"reason,omitempty"`      // why it is undecided
	result       *certify.Row // of what was found
	certificate  *model.Certificate
}

// frontier searches for Pareto-optimal points.
type frontier struct {
	*certify.Evaluator
	problem *model.Problem       // with the real network
	unit    *model.Problem       // in units: see inUnits
	bounds  []*model.Certificate // on the rounds, by chunks a rank from 1 on; nil: none
	hops    *model.Certificate   // how far the farthest demand is: one round, or ps a byte of a chunk, a hop
	stop    solve.Stop           // why numbers of chunks were not looked at; 0: all were
	paretoJSON
}

// pareto finds the frontier up to a number of chunks a rank.
func pareto(e *certify.Evaluator, ctx context.Context, p *model.Problem, maxChunks int) (*frontier, error) {
	f := &frontier{Evaluator: e, problem: p}
	f.Schema, f.Topology, f.Collective, f.Ranks, f.MaxChunks = "oraccl/pareto/1", p.Topology.Name, p.Collective.Kind.String(), len(p.Members()), maxChunks
	f.Points, f.Refuted, f.Undecided = []*pointJSON{}, []*pointJSON{}, []*pointJSON{}
	if p.Collective.Reduces() && p.Collective.Kind != model.Reduce && p.Collective.Kind != model.ReduceScatter {
		return nil, fmt.Errorf("--pareto: %v is not served, as steps of it are not defined where sums are passed on: ask for --collective reducescatter and allgather, or for its rounds without --pareto", p.Collective.Kind)
	}
	unit := inUnits(p, maxChunks)
	f.unit = unit
	if err := sat.New().Serves(unit.WithChunks(unit.DefaultChunks(maxChunks))); err != nil {
		return nil, errors.New(err.Error())
	}
	f.LeastSteps = leastSteps(unit)
	fluid, err := certify.Bound(ctx, unit)
	if err != nil {
		return nil, err
	}
	if f.hops, err = f.farthest(ctx, unit.WithChunks(unit.DefaultChunks(1))); err != nil {
		return nil, err
	}
	o := solve.Options{Seed: e.Options.Seed, TimeLimit: e.Options.TimeLimit}
	e.Progress.Begin("sat", &o)
	defer e.Progress.End()
	for chunks := 1; chunks <= maxChunks; chunks++ {
		if f.stop = solve.StopOf(ctx); f.stop != 0 {
			f.Stopped = f.stop.String()
			break
		}
		if err := f.cut(ctx, unit, fluid, chunks); err != nil {
			return nil, err
		}
	}
	f.keepBest()
	return f, nil
}

// inUnits returns p with links of no latency on which each byte takes a picosecond, and of
// a size that divides into chunks evenly: in rounds speeds do not matter. A chunk has so
// many bytes that a bound on the time, a whole number, is one on the rounds a chunk.
func inUnits(p *model.Problem, maxChunks int) *model.Problem {
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

// leastSteps returns how many hops the farthest demand is away: each needs a step.
func leastSteps(p *model.Problem) int {
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

// farthest returns the certificate that the farthest demand is as many hops away as there
// are steps at least, or nil where there is none.
func (f *frontier) farthest(ctx context.Context, p *model.Problem) (*model.Certificate, error) {
	all, _, err := bound.All(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Witness.Kind() != (model.Distance{}).Kind() || c.Bound < model.Time(p.Chunks[0].Size).Mul(int64(f.LeastSteps)) {
			continue
		}
		return certify.Checked(ctx, c)
	}
	return nil, nil
}

// cut decides the points of a number of chunks a rank, from few steps to many.
func (f *frontier) cut(ctx context.Context, unit *model.Problem, fluid *model.Certificate, chunks int) error {
	q := unit.WithChunks(unit.DefaultChunks(chunks))
	round := model.Time(q.Chunks[0].Size) // what a round lasts, ps
	c, err := certify.Bound(ctx, q)
	if err != nil {
		return err
	}
	f.bounds = append(f.bounds, c)
	least := 1
	if c != nil {
		least = int((c.Bound + round - 1) / round)
	}
	for steps := f.LeastSteps; ; steps++ {
		for rounds := max(least, steps); ; rounds++ {
			point := &pointJSON{Chunks: chunks, Steps: steps, Rounds: rounds, LeastRounds: least,
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

// beaten says whether a point is no better than one that was found.
func (f *frontier) beaten(x *pointJSON) bool {
	return slices.ContainsFunc(f.Points, func(y *pointJSON) bool { return y.beats(x) })
}

func (y *pointJSON) beats(x *pointJSON) bool {
	return y != x && y.Steps <= x.Steps && y.Rounds <= x.Rounds && y.Rounds*x.Chunks <= x.Rounds*y.Chunks
}

// decide asks for a schedule with the figures of a point, and has what comes of it
// verified.
func (f *frontier) decide(ctx context.Context, q *model.Problem, x *pointJSON) (cadical.Answer, error) {
	f.Progress.Note(fmt.Sprintf("%d chunks in %d steps, %d rounds", x.Chunks, x.Steps, x.Rounds))
	begin := time.Now()
	question := &sat.Question{Problem: q, Horizon: x.Rounds, Steps: x.Steps}
	proof := filepath.Join(f.Scratch, fmt.Sprintf("no-%d-chunks-%d-steps-%d-rounds.lrat", x.Chunks, x.Steps, x.Rounds))
	late, end := solve.Grace(ctx, certify.Grace)
	defer end()
	limit := f.Options.TimeLimit
	if deadline, limited := ctx.Deadline(); limited { // a hard question leaves half of the time to the others
		limit = min(limit, max(1, time.Until(deadline)/2))
	}
	b, done := solve.NewBudget(ctx, limit, 0)
	defer done()
	d, err := question.Decide(b.Context(), sat.Limits{Seed: f.Options.Seed, Proof: proof})
	if err != nil {
		return cadical.Unknown, err
	}
	x.SolveSeconds = time.Since(begin).Seconds()
	switch d.Answer {
	case cadical.Unsatisfiable:
		c, err := certify.RefutationOf(late, q, solve.Refuted{Horizon: x.Rounds, Steps: x.Steps, Proof: proof})
		if err == nil {
			err = certify.CheckRefutation(late, c, f.Scratch)
		}
		if late.Err() != nil {
			return f.open(x, "a refutation was found, and there was no time to check it")
		}
		if err != nil {
			return d.Answer, err
		}
		x.certificate, x.ProofBytes = c, f.ProofSize(c)
		f.Refuted = append(f.Refuted, x)
	case cadical.Satisfiable:
		p := f.problem.WithChunks(len(q.Chunks))
		r := &certify.Row{Method: "sat", Result: solve.Result{Problem: p, Schedule: d.Schedule, Stop: solve.Done}, Seed: f.Options.Seed}
		if r.Verification, err = certify.Verify(late, p, d.Schedule, f.SMT, certify.Engines); err != nil {
			return d.Answer, err
		}
		if r.Outcome() == verify.Refuted {
			return d.Answer, fmt.Errorf("the schedule of %d chunks in %d steps and %d rounds is refuted: %v", x.Chunks, x.Steps, x.Rounds, r.Violations())
		}
		if s, n := d.Schedule.Steps(), d.Schedule.Rounds(); s > x.Steps || n > x.Rounds {
			return d.Answer, fmt.Errorf("the schedule of %d chunks has %d steps and %d rounds, want %d and %d", x.Chunks, s, n, x.Steps, x.Rounds)
		}
		if r.Outcome() != verify.Proved {
			return f.open(x, "a schedule was found, and is not proved: "+r.Verdict.Reason)
		}
		x.result, x.Transfers = r, len(d.Schedule.Transfers)
		x.Replay, x.SMT = r.Verdicts["replay"].Outcome.String(), r.Verdicts["smt"].Outcome.String()
		f.Points = append(f.Points, x)
	default:
		if solve.StopOf(ctx) == solve.Interrupted {
			return f.open(x, "interrupted")
		}
		return f.open(x, fmt.Sprintf("no answer within %v", limit.Round(time.Millisecond)))
	}
	return d.Answer, nil
}

// open leaves a point undecided.
func (f *frontier) open(x *pointJSON, reason string) (cadical.Answer, error) {
	x.Reason = reason
	f.Undecided = append(f.Undecided, x)
	return cadical.Unknown, nil
}

// keepBest leaves out points that others beat.
func (f *frontier) keepBest() {
	all := f.Points
	f.Points = slices.DeleteFunc(slices.Clone(all), func(x *pointJSON) bool {
		return slices.ContainsFunc(all, func(y *pointJSON) bool { return y.beats(x) })
	})
	slices.SortStableFunc(f.Points, func(a, b *pointJSON) int { return a.Chunks - b.Chunks })
}

// write writes schedules, certificates and proofs to a directory. What bounds and proofs
// are about is the problem in units, which has the rounds and steps of the real one.
func (f *frontier) write(ctx context.Context, dir string) error {
	p, err := newProofs(ctx, dir, f.Scratch)
	if err != nil {
		return err
	}
	const problem, units = "problem.json", "units.json"
	if err := p.Problem(problem, f.problem, ""); err != nil {
		return err
	}
	if err := p.Problem(units, f.unit, problem); err != nil {
		return err
	}
	for _, x := range f.Points {
		x.File = fmt.Sprintf("schedule-%d-chunks-%d-steps-%d-rounds.json", x.Chunks, x.Steps, x.Rounds)
		if err := p.Schedule(x.File, problem, solutionOf(x.result), false); err != nil {
			return err
		}
	}
	for _, x := range f.Refuted {
		if err := p.add(ctx, units, x.certificate); err != nil {
			return err
		}
		x.File = p.files[x.certificate]
	}
	for _, c := range append([]*model.Certificate{f.hops}, f.bounds...) {
		if err := p.add(ctx, units, c); err != nil {
			return err
		}
	}
	return p.Close()
}

// print writes the frontier as a table.
func (f *frontier) print(w io.Writer) {
	fmt.Fprintf(w, "%s among %d ranks on %s: the Pareto-optimal points up to %d chunks a rank\n\n", f.Collective, f.Ranks, f.Topology, f.MaxChunks)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "chunks\tsteps\trounds\trounds/chunk\t\treplay\tsmt\tsolved in\t")
	for _, x := range f.Points {
		var words []string
		if x.Steps == f.LeastSteps {
			words = append(words, "least steps")
		}
		if x.Bandwidth {
			words = append(words, "bandwidth-optimal")
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%.3f\t%s\t%s\t%s\t%s\t\n", x.Chunks, x.Steps, x.Rounds, float64(x.Rounds)/float64(x.Chunks),
			strings.Join(words, ", "), x.Replay, x.SMT, seconds(time.Duration(x.SolveSeconds*1e9)))
	}
	t.Flush()
	if len(f.Refuted) > 0 {
		fmt.Fprintln(w, "\nImpossible, by proofs that were checked:")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, x := range f.Refuted {
			fmt.Fprintf(t, "%d chunks\t%d steps\t%d rounds\tLRAT, %s\t%s\t\n", x.Chunks, x.Steps, x.Rounds, bytesInWords(x.ProofBytes), seconds(time.Duration(x.SolveSeconds*1e9)))
		}
		t.Flush()
	}
	for _, x := range f.Undecided {
		fmt.Fprintf(w, "undecided: %d chunks in %d steps and %d rounds: %s\n", x.Chunks, x.Steps, x.Rounds, x.Reason)
	}
	hops := "1 hop"
	if f.LeastSteps > 1 {
		hops = fmt.Sprintf("%d hops", f.LeastSteps)
	}
	if f.stop != 0 {
		fmt.Fprintf(w, "Stopped early: %s, before all numbers of chunks had been looked at.\n", why(f.stop))
	}
	if f.hops != nil && len(f.Undecided) == 0 && f.stop == 0 {
		fmt.Fprintf(w, "\nNo schedule has fewer steps than the %s of the farthest demand, and none has fewer\nrounds than are listed here, by bounds that were checked.\n", hops)
		return
	}
	fmt.Fprintf(w, "\nNo schedule has fewer steps than the %s of the farthest demand, ", hops)
	if f.hops != nil {
		fmt.Fprintln(w, "by a bound that was checked.")
	} else {
		fmt.Fprintln(w, "of which there is no certificate.")
	}
	if len(f.Undecided) > 0 || f.stop != 0 {
		fmt.Fprintln(w, "Where something is undecided there may be points with fewer rounds than are listed here.")
	}
}

// runPareto is solve --pareto.
func runPareto(ctx context.Context, cmd *cobra.Command, e *certify.Evaluator, p *model.Problem, maxChunks int, proofs string, asJSON bool) error {
	switch {
	case p.Cost != model.LinkRounds:
		return fmt.Errorf("--pareto: goes with --objective rounds and --cost link-rounds, not with --cost %v", p.Cost)
	case p.Late():
		return errors.New("--pareto: does not go with late ranks")
	case maxChunks < 1 || maxChunks > 16:
		return fmt.Errorf("--chunks %d with --pareto: want 1 to 16, the largest number of chunks a rank to look at", maxChunks)
	}
	late, cancel := solve.Grace(ctx, writeGrace)
	defer cancel()
	f, err := pareto(e, ctx, p, maxChunks)
	if err != nil {
		return err
	}
	if proofs != "" {
		enter(cmd, "writing proofs")
		if err := f.write(late, proofs); err != nil {
			return err
		}
	}
	err = session.Of(ctx).Report(func() error {
		if asJSON {
			return printJSON(cmd.OutOrStdout(), f.paretoJSON)
		}
		f.print(cmd.OutOrStdout())
		return nil
	})
	if err == nil && (len(f.Undecided) > 0 || f.stop != 0) {
		err = exit.Status(exit.Unknown)
	}
	return err
}

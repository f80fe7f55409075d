package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/pareto"
)

func scclExperiment() *experiment {
	return &experiment{
		name:   "sccl",
		title:  "SCCL's algorithms for a DGX-1: chunks, steps, rounds",
		source: `Cai et al., "Synthesizing optimal collective algorithms", PPoPP 2021, doi:10.1145/3437801.3441620`,
		about: `An algorithm of C chunks per rank in S steps and R rounds takes S latencies and the time of R/C shards over a link. SCCL asks an SMT solver (Z3) for one. Each point is decided again by a SAT solver: a schedule is proved by replay and by SMT, and has no more steps and rounds than asked; "impossible" is a refutation in LRAT that was checked.

The paper counts 8 times as many chunks for allreduce and alltoall. Its table could not be read: points that are not in the authors' files or issues are marked as recalled. An allreduce is composed of a reduce-scatter and an all-gather of half the steps and rounds each, as SCCL does.`,
		fill: func(ctx context.Context, b *bench, r *repro.Report) error {
			x := &scclStudy{bench: b}
			return x.fill(ctx, r)
		},
	}
}

// scclStudy decides points for a DGX-1.
type scclStudy struct {
	*bench
	known []*decided // with a schedule
}

// decided is what is known of a point.
type decided struct {
	Collective model.Kind
	Chunks     int
	Answer     string // exists, impossible, or empty: no answer
	Reason     string // why there is no answer
	Steps      int    // of the schedule that was found
	Rounds     int
	Schedule   *model.Schedule `json:",omitempty"`
	Proved     string
	Proof      int64 // bytes of the refutation
	Least      int   // rounds, by a certified bound, in any number of steps; 0: none
	Kind       string
	By         string
	Seconds    float64
}

func (x *scclStudy) fill(ctx context.Context, r *repro.Report) error {
	points, err := repro.Load(x.tables, "sccl/dgx1.csv", "collective", "chunks:int", "steps:int", "rounds:int", "claim:search|latency|bandwidth|none", "sccl_s", "value:exists|impossible")
	if err != nil {
		return err
	}
	printed, err := repro.Load(x.tables, "sccl/bounds.csv", "collective", "quantity:rounds a chunk|least steps|Pareto-optimal points", "value")
	if err != nil {
		return err
	}
	s := &repro.Section{Name: "points", Title: "Algorithms", Table: x.table("sccl/dgx1.csv"),
		About: "C chunks, S steps, R rounds. The bound is on the rounds of that many chunks in any number of steps. What has a schedule of no more steps and rounds exists by that."}
	took := &figure{name: "seconds", table: [][]string{{"collective", "chunks", "steps", "rounds", "answer", "sccl_s", "ours_s"}}}
	took.chart = chart.Chart{Title: "Time to decide a point, SCCL's on another machine", YName: "time", YUnit: chart.Seconds, LogY: true}
	for _, p := range points {
		kind, err := model.ParseKind(p.Text("collective"))
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		c, steps, rounds := p.Int("chunks"), p.Int("steps"), p.Int("rounds")
		if steps < 1 || rounds < steps || c < 1 || c > 64 {
			return fmt.Errorf("%s:%d: %d chunks, %d steps, %d rounds: want 1 to 64 chunks, and no fewer rounds than steps", p.File, p.Line, c, steps, rounds)
		}
		d, err := x.decide(ctx, kind, c, steps, rounds)
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, d.row(p, kind, c, steps, rounds))
		if v, err := strconv.ParseFloat(p.Text("sccl_s"), 64); err == nil && d.Seconds > 0 && d.Answer != "" {
			at := float64(len(took.chart.Places))
			took.chart.Places = append(took.chart.Places, pointName(kind, c, steps, rounds))
			took.line("SCCL, Z3", at, v)
			took.line("ours, CaDiCaL", at, max(d.Seconds, 1e-4))
		}
		took.table = append(took.table, []string{kind.String(), fmt.Sprint(c), fmt.Sprint(steps), fmt.Sprint(rounds), d.Answer, p.Text("sccl_s"), fmt.Sprintf("%.3f", d.Seconds)})
	}
	bounds, err := x.bounds(ctx, printed)
	if err != nil {
		return err
	}
	whole, err := x.whole(ctx, points)
	if err != nil {
		return err
	}
	r.Sections = []*repro.Section{s, whole, bounds}
	return took.into(r)
}

func pointName(kind model.Kind, chunks, steps, rounds int) string {
	return fmt.Sprintf("%v (%d, %d, %d)", kind, chunks, steps, rounds)
}

// row sets a point that was decided beside what is said of it.
func (d *decided) row(p *repro.Published, kind model.Kind, chunks, steps, rounds int) *repro.Row {
	r := p.Row(pointName(kind, chunks, steps, rounds), "(C, S, R)")
	r.Ours, r.By, r.Proved, r.Seconds = d.Answer, d.By, d.Proved, d.Seconds
	if d.Least > 0 {
		r.Bound, r.Certificate = fmt.Sprint(d.Least), d.Kind
	}
	switch {
	case p.Value == "":
	case d.Answer == "":
		r.Verdict, r.Why = repro.NotComparable, "not decided: "+d.Reason
	case d.Answer == p.Value:
		r.Verdict = repro.Agrees
	case d.Answer == "exists":
		r.Verdict, r.Why = repro.Better, "a schedule was found and proved where there is said to be none"
	default:
		r.Verdict, r.Why = repro.Worse, "there is said to be an algorithm, and a checked proof that there is none; one of the two is wrong"
	}
	if r.Verdict != repro.Agrees {
		return r
	}
	switch {
	case d.Answer == "impossible":
		r.Proved, r.Why = "lrat", fmt.Sprintf("SCCL relies on its solver; here a proof of %s was checked.", report.Bytes(d.Proof))
	case d.Rounds < rounds || d.Steps < steps:
		r.Why = fmt.Sprintf("By (%d, %d, %d), which is no worse in either.", chunks, d.Steps, d.Rounds)
	case d.Least == rounds:
		r.Why = "No algorithm with as many chunks has fewer rounds."
	case d.Least > 0:
		r.Why = fmt.Sprintf("Whether fewer rounds do is open: the bound is %d.", d.Least)
	}
	if s := p.Text("sccl_s"); s != "-" {
		r.Why += fmt.Sprintf(" SCCL took %s s.", s)
	}
	return r
}

// problem is a collective on a DGX-1.
func (x *scclStudy) problem(kind model.Kind) (*model.Problem, error) {
	t, err := topo.Parse("dgx1", topo.Options{})
	if err != nil {
		return nil, err
	}
	p := &model.Problem{Topology: t, Collective: model.Collective{Kind: kind}, Size: 8 << 20, Cost: model.LinkRounds}
	return p, p.Validate()
}

// decide decides a point, by a schedule that is known to have no more steps and rounds, if
// there is one.
func (x *scclStudy) decide(ctx context.Context, kind model.Kind, chunks, steps, rounds int) (*decided, error) {
	for _, d := range x.known {
		if d.Collective == kind && d.Chunks == chunks && d.Steps <= steps && d.Rounds <= rounds {
			e := *d
			e.Seconds = 0
			return &e, nil
		}
	}
	var open *decided
	d, err := keep(x.bench, "dgx1 "+pointName(kind, chunks, steps, rounds), func() (d *decided, err error) {
		if kind == model.AllReduce {
			d, err = x.compose(ctx, chunks, steps, rounds)
		} else {
			d, err = x.ask(ctx, kind, chunks, steps, rounds)
		}
		if err == nil && d.Answer == "" {
			open, err = d, errUndecided
		}
		return d, err
	})
	if errors.Is(err, errUndecided) {
		return open, nil
	}
	if err == nil && d.Answer == "exists" {
		x.known = append(x.known, d)
	}
	return d, err
}

// errUndecided keeps the store from keeping what another run may decide.
var errUndecided = errors.New("undecided")

// ask asks the SAT solver about a point.
func (x *scclStudy) ask(ctx context.Context, kind model.Kind, chunks, steps, rounds int) (*decided, error) {
	p, err := x.problem(kind)
	if err != nil {
		return nil, err
	}
	unit := pareto.InUnits(p, chunks)
	q := unit.WithChunks(unit.DefaultChunks(chunks))
	d := &decided{Collective: kind, Chunks: chunks, By: "sat"}
	if err := d.least(ctx, q); err != nil {
		return nil, err
	}
	point := &pareto.Point{Chunks: chunks, Steps: steps, Rounds: rounds}
	if err := pareto.Decide(ctx, x.Evaluator, p, q, point); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.Seconds = point.Solving.Seconds()
	switch {
	case point.Row != nil:
		d.Answer, d.Schedule = "exists", point.Row.Result.Schedule
		d.Steps, d.Rounds = d.Schedule.Steps(), d.Schedule.Rounds()
		if d.Proved, err = point.Row.ProvedBy(); err != nil {
			return nil, err
		}
	case point.Certificate != nil:
		d.Answer, d.Proof = "impossible", point.ProofBytes
	default:
		d.Reason = point.Reason
	}
	return d, nil
}

// least sets how many rounds q needs at least, by a certified bound. In q a round lasts as
// many picoseconds as a chunk has bytes.
func (d *decided) least(ctx context.Context, q *model.Problem) error {
	c, err := certify.Bound(ctx, q)
	if err != nil || c == nil {
		return err
	}
	round := model.Time(q.Chunks[0].Size)
	d.Least, d.Kind = int((c.Bound+round-1)/round), c.Witness.Kind()
	return nil
}

// bounds sets what SCCL prints of bounds beside ours.
func (x *scclStudy) bounds(ctx context.Context, printed []*repro.Published) (*repro.Section, error) {
	s := &repro.Section{Name: "bounds", Title: "Bounds and the frontier", Table: x.table("sccl/bounds.csv")}
	for _, p := range printed {
		kind, err := model.ParseKind(p.Text("collective"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		row := p.Row("dgx1, "+kind.String(), p.Text("quantity"))
		switch p.Text("quantity") {
		case "rounds a chunk":
			err = x.roundsAChunk(ctx, kind, row)
		case "least steps":
			err = x.leastSteps(ctx, kind, row)
		default:
			err = x.frontierOf(ctx, kind, row)
		}
		if err != nil {
			return nil, err
		}
		if row.Published != "" && row.Verdict == "" {
			row.Verdict = repro.Agrees
			if row.Ours != row.Published {
				return nil, fmt.Errorf("%s:%d: %s, published %s and ours %s: one of the two is wrong", p.File, p.Line, row.Quantity, row.Published, row.Ours)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s, nil
}

// roundsAChunk is the certified bound on R/C for any C, as a fraction.
func (x *scclStudy) roundsAChunk(ctx context.Context, kind model.Kind, row *repro.Row) error {
	p, err := x.problem(kind)
	if err != nil {
		return err
	}
	unit := pareto.InUnits(p, 12)
	c, err := certify.Bound(ctx, unit)
	if err != nil {
		return err
	}
	if c == nil {
		return errors.New("dgx1: no bound")
	}
	one := unit.WithChunks(unit.DefaultChunks(1)).Chunks[0].Size
	row.Ours = big.NewRat(int64(c.Bound), one).RatString()
	row.Bound, row.Certificate = row.Ours, c.Witness.Kind()
	theirs, ok := new(big.Rat).SetString(row.Published)
	if row.Published != "" && !ok {
		return fmt.Errorf("sccl/bounds.csv: %q: want a fraction", row.Published)
	}
	switch ours, _ := new(big.Rat).SetString(row.Ours); {
	case row.Published == "":
	case ours.Cmp(theirs) == 0:
		row.Why = "Certified in whole numbers."
	case ours.Cmp(theirs) > 0:
		row.Verdict, row.Why = repro.Better, "A tighter bound, certified: SCCL's lets every rank pass on copies of what only one rank may get."
	default:
		row.Verdict, row.Why = repro.Worse, "SCCL's bound is higher; if it holds, ours is not the best."
	}
	return nil
}

func (x *scclStudy) leastSteps(ctx context.Context, kind model.Kind, row *repro.Row) error {
	p, err := x.problem(kind)
	if err != nil {
		return err
	}
	unit := pareto.InUnits(p, 1)
	least := pareto.LeastSteps(unit)
	c, err := pareto.Farthest(ctx, unit.WithChunks(unit.DefaultChunks(1)), least)
	if err != nil {
		return err
	}
	row.Ours = fmt.Sprint(least)
	if c != nil {
		row.Bound, row.Certificate = row.Ours, c.Witness.Kind()
	}
	return nil
}

// frontierChunks is how far the frontier is searched: there SCCL's search ends, too.
const frontierChunks = 6

// kept is what the frontier comes to.
type keptFrontier struct {
	Points    [][3]int // chunks, steps, rounds
	Refuted   int
	Undecided int
	Seconds   float64
}

// frontierOf counts the points that no other beats in steps and in rounds a chunk, which
// is what SCCL counts.
func (x *scclStudy) frontierOf(ctx context.Context, kind model.Kind, row *repro.Row) error {
	var open *keptFrontier
	k, err := keep(x.bench, fmt.Sprintf("dgx1 %v, frontier to %d chunks", kind, frontierChunks), func() (*keptFrontier, error) {
		p, err := x.problem(kind)
		if err != nil {
			return nil, err
		}
		f, err := pareto.Search(ctx, x.Evaluator, p, frontierChunks)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		k := &keptFrontier{Refuted: len(f.Refuted), Undecided: len(f.Undecided)}
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
			open, err = k, errUndecided
		}
		return k, err
	})
	if errors.Is(err, errUndecided) {
		k, err = open, nil
	}
	if err != nil {
		return err
	}
	left := 0
	text := ""
	for _, p := range k.Points {
		beaten := false
		for _, q := range k.Points {
			beaten = beaten || q != p && q[1] <= p[1] && q[2]*p[0] <= p[2]*q[0]
		}
		if !beaten {
			left++
			text += fmt.Sprintf(" (%d,%d,%d)", p[0], p[1], p[2])
		}
	}
	row.Ours, row.By, row.Seconds, row.Proved = fmt.Sprint(left), "sat", k.Seconds, "replay, smt"
	if k.Undecided > 0 {
		row.Verdict, row.Why = repro.NotComparable, fmt.Sprintf("%d points are undecided", k.Undecided)
		return nil
	}
	row.Certificate = "lrat"
	row.Why = fmt.Sprintf("Up to %d chunks:%s. SCCL assumes that a rate it finds impossible once is impossible for all chunks; here %d points are refuted by checked proofs.", frontierChunks, text, k.Refuted)
	return nil
}

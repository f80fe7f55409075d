package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// networks build topologies that are not in model/topo, by what their names begin with.
var networks = map[string]func(name string) (*model.Topology, error){
	"forestcoll": forestcollNetwork,
}

// result is what a method makes of an instance, proved.
type result struct {
	Method    string
	Reason    string `json:",omitempty"` // why there is no schedule
	Chunks    int
	Rounds    int `json:",omitempty"`
	Late      int `json:",omitempty"` // rounds after the last arrival
	Transfers int
	Ranks     int
	Size      int64
	Makespan  model.Time
	Arrival   model.Time `json:",omitempty"` // the last one
	Proved    string     // the engines
	Seconds   float64
	Replay    float64 // seconds that the replay took
	bounded

	// Of a portfolio:
	Own        model.Time `json:",omitempty"` // the largest bound for the cut of the schedule
	OwnKind    string     `json:",omitempty"`
	NoTime     []string   `json:",omitempty"` // methods that the time limit left without a schedule
	BoundEnded bool       `json:",omitempty"` // the search for Bound ended with its time
	TimeEnded  bool       `json:",omitempty"` // the time limit ended the work
	TooCoarse  int        `json:",omitempty"` // chunks, with which, as with a half, a quarter, … of them, nothing reaches the goal
}

// bounded is the certified bound of an instance.
type bounded struct {
	Bound model.Time
	Kind  string // of its certificate; "": there is none
	Least int    // rounds that the certificate leaves
}

// record has the fields of a result by their names in files. What there is none of is
// unknown.
func (r *result) record() expression.Record {
	some := func(n int64) expression.Value {
		if n == 0 {
			return expression.Value{}
		}
		return expression.Number(n)
	}
	named := func(s string) expression.Value {
		if s == "" {
			return expression.Value{}
		}
		return expression.Text(s)
	}
	f := expression.Record{
		"method": named(r.Method), "reason": expression.Text(r.Reason), "proved": named(r.Proved), "kind": named(r.Kind),
		"chunks": some(int64(r.Chunks)), "rounds": some(int64(r.Rounds)), "late_rounds": some(int64(r.Late)), "transfers": some(int64(r.Transfers)),
		"ranks": some(int64(r.Ranks)), "size": some(r.Size), "makespan": some(int64(r.Makespan)), "bound": some(int64(r.Bound)), "least_rounds": some(int64(r.Least)),
		"own_bound": some(int64(r.Own)), "own_kind": named(r.OwnKind), "no_time": named(strings.Join(r.NoTime, ", ")), "bound_ended": expression.Truth(r.BoundEnded), "time_ended": expression.Truth(r.TimeEnded), "too_coarse": some(int64(r.TooCoarse)),
		"after": {}, "bound_after": {}, "seconds": {}, "replay_seconds": {},
	}
	if r.Makespan > 0 {
		f["after"], f["seconds"], f["replay_seconds"] = expression.Number(r.Makespan-r.Arrival), expression.Float(r.Seconds), expression.Float(r.Replay)
	}
	if r.Bound > 0 {
		f["bound_after"] = expression.Number(r.Bound - r.Arrival)
	}
	return f
}

// best returns the best proved schedule of some methods as a record, which has a record for
// each method, too. Where no method has a schedule its reason explains that.
func (x *Runner) best(ctx context.Context, s spec, methods []string) (expression.Record, error) {
	p, err := s.problem(ctx)
	if err != nil {
		return nil, err
	}
	if slices.Equal(methods, []string{"all"}) {
		r, err := keep(ctx, x, s.label("all"), "all "+s.key(), func(e *evidence) (*result, error) { return x.portfolio(ctx, s, p, e) })
		if err != nil {
			return nil, err
		}
		f := r.record()
		f["methods"] = expression.Text(r.Method)
		return f, nil
	}
	solvers, err := certify.MethodsNamed(methods...)
	if err != nil {
		return nil, err
	}
	boundLabel, boundKey := s.label("bound"), "bound "+s.key("tries", "effort", "smt_most")
	b, err := keep(ctx, x, boundLabel, boundKey, func(e *evidence) (bounded, error) { return x.bound(ctx, s, p, e) })
	if err != nil {
		return nil, err
	}
	best := &result{Ranks: len(p.Members()), Size: p.Size, bounded: b, Arrival: p.LastArrival()}
	each := expression.Record{"methods": expression.Text(strings.Join(methods, " "))}
	var reasons []string
	var found []*result
	for _, m := range solvers {
		if m.About().WarmStart && best.Method != "" && best.Makespan <= best.Bound {
			each[m.Name()] = expression.Fields((&result{Reason: "no schedule is faster than that of " + best.Method}).record())
			continue // it would begin from what is best, and end with it
		}
		r, err := keep(ctx, x, s.label(m.Name()), m.Name()+" "+s.key(), func(e *evidence) (*result, error) {
			c, err := x.certificate(x.dossier(boundLabel, boundKey), b)
			if err != nil {
				return nil, err
			}
			return x.solve(ctx, s, p, m, b, c, e)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		}
		if r.Bound < b.Bound {
			r.bounded = b
		}
		if r.Bound > best.Bound {
			best.bounded = r.bounded
		}
		found = append(found, r)
		each[m.Name()] = expression.Fields(r.record())
		switch {
		case r.Reason != "":
			reasons = append(reasons, m.Name()+": "+r.Reason)
		case best.Method == "" || r.Makespan < best.Makespan:
			r := *r // its bound is that of all
			if r.Bound < best.Bound {
				r.bounded = best.bounded
			}
			best = &r
		}
	}
	if best.Method == "" {
		best.Reason = strings.Join(reasons, "; ")
	}
	for _, r := range found { // what one method refutes bounds the others
		if r.Makespan > 0 {
			if err := verify.Below(r.Makespan, best.Bound, best.Kind); err != nil {
				return nil, fmt.Errorf("%s: %v: %w", r.Method, p, err)
			}
		}
	}
	f := best.record()
	maps.Copy(f, each)
	return f, nil
}

// key is the text of a spec without some fields.
func (s spec) key(without ...string) string {
	t := spec{}
	for k, v := range s {
		t[k] = v
	}
	for _, k := range without {
		delete(t, k)
	}
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings
	}
	return string(b)
}

// whole returns the number of a field, 0 where it is not given.
func (s spec) whole(field string, least int) (int, error) {
	if s[field] == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s[field])
	if err != nil || n < least {
		return 0, fmt.Errorf("%s %q: want a whole number from %d on", field, s[field], least)
	}
	return n, nil
}

// cutSearched is the value of chunks that has the cut searched for methods that choose none.
const cutSearched = "search"

// problem builds the problem of a spec.
func (s spec) problem(ctx context.Context) (*model.Problem, error) {
	in := instance.Flags{Alpha: s["alpha"], Bandwidth: s["bandwidth"], Fail: instance.List(s["fail"]), Collective: s["collective"], Size: s["size"], Cost: s["cost"], Straggler: -1, Delay: s["delay"]}
	if in.Size == "" {
		in.Size = instance.DefaultSize
	}
	var err error
	if s["chunks"] != cutSearched {
		if in.Chunks, err = s.whole("chunks", 0); err != nil {
			return nil, err
		}
	}
	if in.TotalChunks, err = s.whole("total_chunks", 0); err != nil {
		return nil, err
	}
	if s["straggler"] != "" {
		if in.Straggler, err = s.whole("straggler", 0); err != nil {
			return nil, err
		}
	}
	return in.Problem(network{topologies.Files{Context: ctx}, s["switches"] == "copy"}, s["topology"])
}

// network reads topologies of files, and builds those that model/topo does not know.
type network struct {
	topologies.Files
	copies bool // switches can copy
}

// Exists reports whether Topology is to be asked for a name.
func (n network) Exists(name string) bool {
	family, _, _ := strings.Cut(name, "-")
	return n.copies || networks[family] != nil || n.Files.Exists(name)
}

// Topology returns the topology of that name.
func (n network) Topology(name, alpha, bandwidth string) (t *model.Topology, err error) {
	family, rest, _ := strings.Cut(name, "-")
	switch build := networks[family]; {
	case build != nil:
		t, err = build(rest)
	case n.Files.Exists(name):
		t, err = n.Files.Topology(name, alpha, bandwidth)
	default:
		t, err = instance.Generated(name, alpha, bandwidth)
	}
	if err == nil && n.copies {
		for i := range t.Switches {
			t.Switches[i].Copies = true
		}
	}
	return t, err
}

// bound returns the certified bound of an instance that is found in a quarter of its time. If
// the time ended the search, another run may find a larger one: the error is errUndecided.
func (x *Runner) bound(ctx context.Context, s spec, p *model.Problem, rests *evidence) (b bounded, err error) {
	e, err := x.evaluator(s)
	if err != nil {
		return b, err
	}
	all, cancel := e.Options.Budget(ctx)
	defer cancel()
	share, done := all.Share(4)
	defer done()
	var c *model.Certificate
	switch s["bounds"] {
	case "none":
	case "quick":
		c, err = certify.QuickBound(share.Context(), p)
	case "", "best":
		c, err = certify.Bound(share.Context(), p)
	default:
		err = fmt.Errorf("bounds %q: want best, quick or none", s["bounds"])
	}
	switch {
	case ctx.Err() != nil:
		return b, ctx.Err()
	case err != nil:
		return b, err
	case share.Stop() != 0:
		err = errUndecided
	}
	if c != nil {
		b = bounded{c.Bound, c.Witness.Kind(), cert.LeastRounds(c)}
		rests.bound(c)
	}
	return b, err
}

// evaluator returns an evaluator with the options of a spec.
func (x *Runner) evaluator(s spec) (*certify.Evaluator, error) {
	e, err := *x.Evaluator, error(nil)
	e.Horizons = nil
	e.ChooseCuts = s["chunks"] == cutSearched
	if s["tries"] != "" {
		if e.Options.Tries, err = s.whole("tries", 0); err != nil {
			return nil, err
		}
	}
	if s["effort"] != "" {
		if e.Options.Effort, err = s.whole("effort", -1); err != nil {
			return nil, err
		}
	}
	if e.SMTMost, err = s.whole("smt_most", 0); err != nil {
		return nil, err
	}
	if s["time_limit"] != "" {
		if e.Options.TimeLimit, err = time.ParseDuration(s["time_limit"]); err != nil || e.Options.TimeLimit <= 0 {
			return nil, fmt.Errorf("time_limit %q: want a time above zero, such as 10s", s["time_limit"])
		}
		e.SMT.Timeout = e.Options.TimeLimit
	}
	return &e, nil
}

// portfolio runs the portfolio on an instance, as solve does, with one time limit for all of it,
// and returns the best proved schedule with the bound for every cut. Its seconds are of all.
func (x *Runner) portfolio(ctx context.Context, s spec, p *model.Problem, rests *evidence) (*result, error) {
	e, err := x.evaluator(s)
	if err != nil {
		return nil, err
	}
	e.Methods, e.Named, e.WarmStart, e.ChooseCuts, e.Enough = certify.Methods(), false, true, true, certify.UsuallyEnough
	begin := time.Now()
	ev, err := e.Evaluate(ctx, p)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case ev.AnyRefuted():
		return nil, fmt.Errorf("%v: a schedule of ours is refuted", p)
	}
	rests.report = ev
	r := &result{Ranks: len(p.Members()), Size: p.Size, Arrival: p.LastArrival()}
	r.BoundEnded, r.TimeEnded = ev.BoundEnded, ev.Stopped != 0
	if c := ev.Bound; c != nil {
		r.bounded = bounded{c.Bound, c.Witness.Kind(), 0}
	}
	for _, l := range ev.LeftOut {
		if l.Stop != 0 {
			r.NoTime = append(r.NoTime, l.Method)
		}
	}
	best := ev.Best()
	if best == nil {
		r.Reason = "no method has a proved schedule"
		return r, errUndecided
	}
	if err := r.take(best); err != nil {
		return nil, fmt.Errorf("%s: %v: %w", best.Method, p, err)
	}
	r.Seconds = time.Since(begin).Seconds()
	if err := r.boundOwn(ctx, best); err != nil {
		return nil, err
	}
	return r, r.tooCoarse(ctx, s, p)
}

// ownTime is for how long at most a bound for the cut of a schedule is looked for once the time
// of the portfolio is over.
const ownTime = time.Second

// boundOwn sets the largest bound that is known for the cut of a schedule. If that is no larger
// than the one for every cut, and the schedule is not close to it, a larger one is looked for.
func (r *result) boundOwn(ctx context.Context, best *certify.Row) error {
	own := best.Bound
	if !best.ForCut() && !best.Within(certify.UsuallyEnough) {
		ctx, cancel := context.WithTimeout(ctx, ownTime)
		defer cancel()
		c, err := certify.Bound(ctx, best.Result.Problem)
		if err != nil {
			return err
		}
		if c != nil && (own == nil || c.Bound > own.Bound) {
			own = c
		}
	}
	if own == nil {
		return nil
	}
	r.Own, r.OwnKind = own.Bound, own.Witness.Kind()
	return verify.Below(r.Makespan, r.Own, r.OwnKind)
}

// tooCoarse sets with how many chunks nothing reaches the goal of a spec, if the schedule does not: those of one, two, four and
// so on per rank, up to those of the schedule, whose certified bounds are beyond the goal.
func (r *result) tooCoarse(ctx context.Context, s spec, p *model.Problem) error {
	if s["goal"] == "" || r.Bound == 0 || p.Chunks != nil {
		return nil
	}
	goal, err := strconv.ParseFloat(s["goal"], 64)
	if err != nil || goal < 0 {
		return fmt.Errorf("goal %q: want a number from 0 on, such as 0.005", s["goal"])
	}
	beyond := func(t model.Time) bool { return float64(t) > (1+goal)*float64(r.Bound) }
	if !beyond(r.Makespan) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ownTime)
	defer cancel()
	for k := 1; ; k *= 2 {
		q := solve.Cut(p, k)
		if len(q.Chunks) > r.Chunks || len(q.Chunks) <= r.TooCoarse {
			return nil
		}
		switch c, err := certify.Bound(ctx, q); {
		case err != nil:
			return err
		case c == nil || !beyond(c.Bound):
			return nil
		}
		r.TooCoarse = len(q.Chunks)
	}
}

// take sets what is known of a proved schedule.
func (r *result) take(found *certify.Row) (err error) {
	if r.Proved, err = found.ProvedBy(); err != nil {
		return err
	}
	q, schedule := found.Result.Problem, found.Result.Schedule
	r.Method, r.Chunks, r.Transfers, r.Makespan = found.Method, len(q.Chunks), len(schedule.Transfers), found.Makespan
	r.Seconds, r.Replay = found.Solving.Seconds(), found.Checking["replay"].Seconds()
	if schedule.Form == model.InRounds {
		r.Rounds, r.Late = schedule.Rounds(), q.RoundsAfterArrival(schedule)
	}
	return nil
}

// solve runs a method, and has what it finds proved. c is the certificate of the bound b; it
// may be nil where proofs are not kept.
func (x *Runner) solve(ctx context.Context, s spec, p *model.Problem, m solve.Solver, b bounded, c *model.Certificate, rests *evidence) (*result, error) {
	r := &result{Method: m.Name(), Ranks: len(p.Members()), Size: p.Size, Arrival: p.LastArrival()}
	e, err := x.evaluator(s)
	if err != nil {
		return nil, err
	}
	if err := m.Serves(p); err != nil {
		r.Reason = err.Error()
		return r, nil
	}
	e.Bounds = func(_ context.Context, q *model.Problem) (*model.Certificate, error) {
		if b.Kind == "" {
			return nil, nil
		}
		return &model.Certificate{Problem: q, Bound: b.Bound}, nil // that is told to a method
	}
	found, err := e.Run(ctx, m, p, nil)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, solve.ErrNotServed):
		r.Reason = err.Error()
		return r, nil
	case err != nil:
		return nil, err
	case found.Result.Schedule == nil:
		r.Reason = "found no schedule: " + found.StopReason()
		return r, errUndecided
	}
	if err := r.take(found); err != nil {
		return nil, fmt.Errorf("%v: %w", p, err)
	}
	refuted := e.Horizons[certify.CutKey(p)]
	judge(p, found, c, refuted)
	rests.report = &certify.Report{Problem: p, Bound: c, Rows: []*certify.Row{found}}
	if refuted != nil && refuted.Bound > b.Bound { // which is checked
		b = bounded{refuted.Bound, refuted.Witness.Kind(), cert.LeastRounds(refuted)}
		r.bounded = b
	}
	if err := verify.Below(found.Makespan, b.Bound, b.Kind); err != nil {
		return nil, fmt.Errorf("%v: %w", p, err)
	}
	return r, nil
}

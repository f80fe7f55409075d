// Package judge decides about schedules in files: ours, which may be larger than memory, those
// of other tools, and MSCCL-IR. It picks the engines that can decide about a file, and leaves
// what they establish to packages certify and verify.
package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/stream"
	"github.com/oraccl/oraccl/verify/workload"
)

// Asked is by what the schedules in files are to be judged.
type Asked struct {
	Problem   *model.Problem // nil: the file's own
	Truth     foreign.Truth  // of files of other tools
	Engines   []string       // certify.Engines, which stand for all of a file's, or one of them, of stream, orbit, compose and execute
	TimeLimit time.Duration  // of the smt engine
	Formulas  string         // the file to write that engine's formulas to; "": none
	Said      io.Writer      // gets how much memory is needed, where that is much
}

// File decides about the schedule in a file.
func (a *Asked) File(ctx context.Context, file string) (*certify.Judgement, error) {
	format, b, err := foreign.Recognise(ctx, file)
	switch {
	case err != nil:
		return nil, err
	case (a.Engines[0] == workload.ComposeEngine || a.Engines[0] == workload.ExecuteEngine) && (format != nil || !timetable(ctx, file)):
		return nil, fmt.Errorf("--engine %s: is for schedules of workloads, which %s is not", a.Engines[0], file)
	case format != nil:
		return a.foreign(ctx, file, b, format)
	}
	if err := Ours(file, &a.Truth); err != nil {
		return nil, exit.Hint(err, "--problem has our own schedules judged by another problem than theirs")
	}
	return a.ours(ctx, file)
}

// ours verifies a schedule of ours: while it is read where that is asked for or the file is
// large, else in memory.
func (a *Asked) ours(ctx context.Context, file string) (*certify.Judgement, error) {
	if timetable(ctx, file) {
		return a.timetable(ctx, file)
	}
	chosen, all := a.Engines, slices.Equal(a.Engines, certify.Engines)
	streaming := slices.Contains(chosen, stream.Engine)
	o, err := schedules.OrbitOf(ctx, file)
	if err != nil {
		return nil, err
	}
	if slices.Contains(chosen, orbit.Engine) || all && o != nil && o.Orbit.Transfers() > model.MaxHeld {
		return a.orbit(ctx, file, o)
	}
	if streaming && schedules.IsCompact(ctx, file) {
		return a.stream(ctx, file)
	}
	sol, err := schedules.Load(ctx, file, model.MaxHeld)
	if errors.Is(err, compact.ErrTooMany) && all && a.Formulas == "" {
		var j *certify.Judgement
		if j, err = a.stream(ctx, file); !errors.Is(err, stream.ErrNotServed) && (err != nil || j.Verdict.Outcome != verify.Unknown || ctx.Err() != nil) {
			return j, err
		}
		sol, err = schedules.Load(ctx, file, schedules.MaxLarge)
	} else if errors.Is(err, compact.ErrTooMany) {
		sol, err = schedules.Load(ctx, file, schedules.MaxLarge)
	}
	if err != nil {
		return nil, err
	}
	p, s := sol.Problem, sol.Schedule
	if a.Problem != nil {
		if p, err = AskedFor(file, a.Problem, p); err != nil {
			return nil, err
		}
		if err := s.Validate(p); err != nil {
			return nil, fmt.Errorf("%s: does not fit the problem asked: %w", file, err)
		}
	}
	if a.Formulas != "" {
		if err := files.Write(a.Formulas, func(w io.Writer) error { return smt.WriteSMT2(w, p, s) }); err != nil {
			return nil, err
		}
	}
	var v certify.Verification
	if streaming {
		held, serr := streamHeld(ctx, a.Said, p, s)
		v, err = certify.Alone(held), serr
	} else {
		v, err = certify.Verify(ctx, p, s, smt.Options{Timeout: a.TimeLimit}, chosen)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	j := certify.Judge(file, p, s, v, chosen)
	j.Partial = sol.Origin.Partial
	return j, nil
}

// timetable reports whether a file is a schedule of a workload, by its beginning.
func timetable(ctx context.Context, file string) bool {
	f, err := files.Open(ctx, file)
	if err != nil {
		return false // the reader reports why it cannot be read
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	return err == nil && bytes.Contains(head, []byte(native.TimetableSchema))
}

// timetable verifies a schedule of a workload.
func (a *Asked) timetable(ctx context.Context, file string) (*certify.Judgement, error) {
	chosen := a.Engines
	switch {
	case slices.Equal(chosen, certify.Engines):
		chosen = workloads.Engines
	case !slices.Contains(workloads.Engines, chosen[0]):
		return nil, fmt.Errorf("%s: is a schedule of a workload, which --engine %s does not decide about; want compose, execute, smt or all", file, chosen[0])
	}
	if a.Problem != nil {
		return nil, fmt.Errorf("%s: is a schedule of a workload, which is decided about by the workload in the file; want no --problem", file)
	}
	if a.Formulas != "" && !slices.Contains(chosen, smt.Engine) {
		return nil, errors.New("--emit-smt2: what it writes the smt engine asks; want --engine smt or all")
	}
	b, err := files.Read(ctx, file)
	if err != nil {
		return nil, err
	}
	s, err := native.ReadTimetable(file, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var v verify.Verdict
	var each []verify.Verdict
	if a.Formulas == "" {
		v, each, err = workloads.CheckBy(ctx, s, chosen, certify.Backend, a.TimeLimit)
	} else {
		err = files.Write(a.Formulas, func(w io.Writer) error {
			var wrong error
			r := smt.Record(certify.Backend, w, fmt.Sprintf(asked, workload.Claim(s)))
			v, each, wrong = workloads.CheckBy(ctx, s, chosen, r, a.TimeLimit)
			return errors.Join(wrong, r.Err())
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return Timetable(file, s, v, each), nil
}

// asked explains the questions about a workload to their reader.
const asked = `Claim: the schedule %s.

What the smt engine asks, one question a scope: verify/SPEC.md, section 19. A question lists conditions each of
which would be wrong, and asserts that one of them holds: unsat answers that none can. Where something is assumed
beside them, it is asked before whether that can be: sat.
The schedule is right if every (check-sat) answers what the line before it expects, and if the last
one expects unsat.`

// Timetable returns the judgement of engines about a schedule in a file.
func Timetable(file string, s *wl.Schedule, v verify.Verdict, each []verify.Verdict) *certify.Judgement {
	j := &certify.Judgement{File: file, Claim: workload.Claim(s), Makespan: v.Makespan, Periodic: s.Workload.Periodic, Notes: s.Workload.Topology.Notes, Partial: s.Origin.Partial}
	if v.Decides != nil { // no engine that was asked decides the whole
		j.Claim = v.Claim
	}
	j.Verdict, j.Verdicts = v, map[string]verify.Verdict{}
	for _, e := range each {
		j.Asked = append(j.Asked, e.Engine)
		j.Verdicts[e.Engine] = e
	}
	return j
}

// stream verifies a compact file while it is read.
func (a *Asked) stream(ctx context.Context, file string) (*certify.Judgement, error) {
	v, err := Stream(ctx, a.Said, file, a.Problem, nil)
	if err != nil {
		return nil, err
	}
	j := certify.Judge(file, v.Problem, &model.Schedule{Form: v.Form}, certify.Alone(v.Verdict), []string{stream.Engine})
	j.Makespan, j.Partial = v.Verdict.Makespan, v.Partial
	return j, nil
}

// orbit verifies a schedule that is the same for all ranks by looking at one.
func (a *Asked) orbit(ctx context.Context, file string, o *schedules.Orbit) (*certify.Judgement, error) {
	if o == nil {
		return nil, fmt.Errorf("%s: states transfers, not what is the same for all ranks, which --engine orbit is for", file)
	}
	p := o.Problem
	if a.Problem != nil {
		var err error
		if p, err = AskedFor(file, a.Problem, p); err != nil {
			return nil, err
		}
	}
	v := orbit.Check(ctx, p, o.Orbit)
	j := certify.Judge(file, p, &model.Schedule{Form: model.FormFor(p.Cost)}, certify.Alone(v), []string{orbit.Engine})
	j.Makespan, j.Partial = v.Makespan, o.Partial
	return j, nil
}

// foreign verifies a schedule of another tool.
func (a *Asked) foreign(ctx context.Context, file string, b []byte, format *foreign.Format) (*certify.Judgement, error) {
	m, by, chosen, err := a.decide(ctx, file, b, format)
	if err != nil {
		return nil, err
	}
	j := certify.Judge(file, m.Problem, m.Schedule, by, chosen)
	if j.Makespan == 0 && by.Verdict.Outcome == verify.Proved {
		j.Makespan = m.Lasts
	}
	j.Order = m.Order
	j.Tool, j.Notes = m.Tool, append(slices.Clone(m.Notes), j.Notes...)
	return j, nil
}

// decide reads a schedule of another tool and has it verified by the engines that are asked, which it
// returns with those of the reader.
func (a *Asked) decide(ctx context.Context, file string, b []byte, format *foreign.Format) (*foreign.Imported, certify.Verification, []string, error) {
	none := certify.Verification{}
	if slices.Contains(a.Engines, stream.Engine) {
		return nil, none, nil, fmt.Errorf("--engine %s: is for our own files; want replay, smt or all for %s", stream.Engine, file)
	}
	m, err := format.Read(ctx, &a.Truth, a.Problem, file, b)
	if err != nil {
		return nil, none, nil, err
	}
	if a.Formulas != "" {
		return nil, none, nil, fmt.Errorf("--emit-smt2: %s is not a schedule of ours", file)
	}
	var by certify.Verification
	chosen := a.Engines
	if decided, is := m.Before(); is {
		by, chosen = certify.Alone(decided), []string{decided.Engine}
	} else {
		var before verify.Verdict
		if m.Feasible != nil {
			before = m.Feasible(ctx)
			chosen = append([]string{before.Engine}, chosen...)
		}
		if by, err = certify.Verify(ctx, m.Problem, m.Schedule, smt.Options{Timeout: a.TimeLimit}, a.Engines); err != nil {
			return nil, none, nil, fmt.Errorf("%s: %w", file, err)
		}
		if m.Feasible != nil {
			by.Verdicts[before.Engine] = before
			by.Verdict = verify.All(by.Verdict, before)
		}
	}
	if m.Claims != nil {
		wrong, err := m.Claims(ctx)
		if err != nil {
			return nil, none, nil, err
		}
		first := by.Verdicts[chosen[0]]
		if len(wrong) > 0 {
			first.Outcome = verify.Refuted
			first.Violations = append(first.Violations[:min(len(first.Violations), verify.MaxViolations-1)], wrong...)
			by.Verdict = verify.All(by.Verdict, verify.Verdict{Outcome: verify.Refuted, Engine: first.Engine, Violations: wrong})
		}
		by.Verdicts[chosen[0]] = first
	}
	if m.Assumed != "" {
		by.Verdict = verify.All(by.Verdict, verify.Verdict{Engine: "import", Reason: m.Assumed})
	}
	for engine, verdict := range by.Verdicts {
		for i, violation := range verdict.Violations {
			if at, ok := violation.Transfer(); ok && m.Source != nil {
				verdict.Violations[i].Message += "; in the file " + m.Source(at)
			}
		}
		by.Verdicts[engine] = verdict
	}
	return m, by, chosen, nil
}

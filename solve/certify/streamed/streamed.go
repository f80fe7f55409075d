// Package streamed has schedules that are too large for memory made, verified and written at
// the same time: by a solve.Streamer, by package verify/stream, and to a Sink. One that is the
// same for all ranks is verified by looking at one, by package verify/orbit.
package streamed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/stream"
)

// Schedule is a schedule that is made, verified and written at the same time, none of it held
// in memory.
type Schedule struct {
	Problem *model.Problem // as it was asked
	Method  string
	Stream  *solve.Stream
	Left    []certify.LeftOut // the methods that were not taken

	Engine        string // that verified it
	Verdict       verify.Verdict
	Stop          solve.Stop
	certify.Known               // found quickly
	Count         int64         // transfers that were made
	Took          time.Duration // from beginning to end
	Checking      time.Duration // of that, in the verifier

	by *certify.Evaluator
}

// A Sink takes a schedule while it is made.
type Sink interface {
	// Orbit writes a proved schedule that is the same for all ranks.
	Orbit(p *model.Problem, o *model.Orbit, by model.Origin) error
	// Begin begins to write a schedule that has routes.
	Begin(p *model.Problem, form model.Form, by model.Origin, routes [][]int) (File, error)
}

// A File is a schedule that grows.
type File interface {
	Write([]model.Transfer) error
	// Finish marks it as complete, with the verdicts of the engines that proved it, or as
	// partial if there are none.
	Finish(verdicts map[string]string) error
}

// Find returns how to stream the solution of p, or nil if it has at most model.MaxHeld
// transfers or no method asked can stream it. Of several methods it takes that with the least
// makespan if that is known before, else the first. The time limit counts only if limited is
// set: a stream has nothing to show before its end.
func Find(ctx context.Context, e *certify.Evaluator, p *model.Problem, limited bool) *Schedule {
	o := e.Options
	if !limited {
		o.TimeLimit = 0
	}
	chunks := len(p.Chunks)
	if p.Chunks == nil {
		chunks = p.DefaultChunks(max(1, e.Options.Chunks))
	}
	if int64(chunks)*transfersOf(p) <= model.MaxHeld {
		return nil
	}
	var s *Schedule
	var left []certify.LeftOut
	for _, m := range e.Methods {
		streamer, ok := m.(solve.Streamer)
		if !ok {
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: fmt.Sprintf("cannot hand out more than %d transfers while it makes them", model.MaxHeld)})
			continue
		}
		begin := time.Now()
		st, err := streamer.Stream(ctx, p, o)
		switch {
		case err != nil:
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: err.Error()})
		case !p.SameUpToCut(st.Problem):
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: fmt.Sprintf("answered another problem: %v", st.Problem)})
		case s == nil || st.Makespan > 0 && (s.Stream.Makespan == 0 || st.Makespan < s.Stream.Makespan):
			if s != nil {
				left = append(left, certify.LeftOut{Method: s.Method, Reason: "another method's makespan is known before"})
			}
			s = &Schedule{Problem: p, Method: m.Name(), Stream: st, Took: time.Since(begin), by: e}
		default:
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: "another method came first"})
		}
	}
	if s != nil {
		s.Left = left
	}
	return s
}

// transfersOf returns how many transfers of each chunk there are about, at least as many as
// the collective needs. Those of an alltoall go over as many ranks as it is far from rank 0 to
// the others in the mean.
func transfersOf(p *model.Problem) int64 {
	n := int64(p.Topology.Ranks)
	switch p.Collective.Kind {
	case model.AllReduce:
		return 2 * n
	case model.AllToAll:
		return 1 + farness(p.Topology)/n
	default:
		return n
	}
}

// farness returns the sum of the hops from rank 0 to all ranks.
func farness(t *model.Topology) int64 {
	out := t.Out()
	hops := slices.Repeat([]int64{-1}, t.Nodes())
	hops[0] = 0
	sum := int64(0)
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, l := range out[v] {
			u := t.Links[l].Dst
			if hops[u] >= 0 {
				continue
			}
			hops[u] = hops[v]
			if t.IsRank(u) {
				hops[u]++
				sum += hops[u]
			}
			queue = append(queue, u)
		}
	}
	return sum
}

// overhead is what the program needs in any case.
const overhead = 64 << 20

// Memory returns how many bytes making and verifying the schedule needs at most.
func (s *Schedule) Memory() (int64, error) {
	st := s.Stream
	need, err := stream.Memory(st.Problem, st.Form, st.Routes)
	if err != nil {
		return 0, err
	}
	need += st.Memory
	return need + need/8 + overhead + 512*int64(len(st.Problem.Topology.Links)), nil // the problem as such, and what is collected late
}

// Solve makes the schedule, has it verified on the way, and writes it to a sink if that is not
// nil. tool names the program in what is written. A proved schedule that ends before a bound
// is an error, a *verify.Contradiction.
func (s *Schedule) Solve(ctx context.Context, sink Sink, tool string) error {
	bounded := make(chan error, 1)
	go func() {
		var err error
		s.Known, err = certify.QuickBounds(ctx, s.Stream.Problem)
		bounded <- err
	}()
	by := model.Origin{Method: s.Method, Seed: s.by.Options.Seed, Tool: tool, Note: s.Stream.Note}
	err := s.look(ctx, sink, by)
	if s.Engine == "" && err == nil {
		err = s.run(ctx, sink, by)
	}
	if berr := <-bounded; err == nil {
		err = berr
	}
	if c := s.Bound; err == nil && c != nil && s.Verdict.Outcome == verify.Proved {
		if err = verify.Below(s.Verdict.Makespan, c.Bound, c.Witness.Kind()); err != nil {
			err = fmt.Errorf("%s: %w", s.Method, err)
		}
	}
	return err
}

// look has a schedule that is the same for all ranks verified by looking at one, and writes
// it as that. Where there is none, or that decides nothing, it leaves the engine empty.
func (s *Schedule) look(ctx context.Context, sink Sink, by model.Origin) error {
	if s.Stream.Orbit == nil {
		return nil
	}
	begin := time.Now()
	late, cancel := solve.Grace(ctx, certify.Grace)
	defer cancel()
	v := orbit.Check(late, s.Stream.Problem, s.Stream.Orbit)
	s.Checking = time.Since(begin)
	s.Took += s.Checking
	if v.Outcome == verify.Unknown && s.Stream.Run != nil {
		return nil
	}
	s.Engine, s.Verdict, s.Stop, s.Count = orbit.Engine, v, solve.Done, s.Stream.Orbit.Transfers()
	if sink == nil || v.Outcome != verify.Proved {
		return nil
	}
	by.Verdict = map[string]string{orbit.Engine: v.Outcome.String()}
	return sink.Orbit(s.Stream.Problem, s.Stream.Orbit, by)
}

// run makes the schedule, has it verified on the way, and writes it where that was asked
// for. A file is complete only when the schedule is proved.
func (s *Schedule) run(ctx context.Context, sink Sink, by model.Origin) error {
	st := s.Stream
	late, cancel := solve.Grace(ctx, certify.Grace)
	defer cancel()
	check, err := stream.New(late, st.Problem, st.Form, st.Routes)
	if err != nil {
		return err
	}
	var w File
	if sink != nil {
		if w, err = sink.Begin(st.Problem, st.Form, by, st.Routes); err != nil {
			return err
		}
	}
	var failed error
	s.Engine = stream.Engine
	begin, said := time.Now(), time.Now()
	s.by.Progress.Begin(s.Method, &s.by.Options)
	s.Stop, err = st.Run(ctx, func(batch []model.Transfer) bool {
		if w != nil {
			if failed = w.Write(batch); failed != nil {
				return false
			}
		}
		at := time.Now()
		more := check.Add(batch)
		s.Checking += time.Since(at)
		s.Count += int64(len(batch))
		if time.Since(said) > time.Second {
			said = time.Now()
			s.by.Progress.Note(fmt.Sprintf("%.1f%% of %d transfers", 100*float64(s.Count)/float64(st.Transfers), st.Transfers))
		}
		return more
	})
	at := time.Now()
	s.Verdict = check.Verdict()
	s.Checking += time.Since(at)
	s.Took += time.Since(begin)
	s.by.Progress.End()
	if v := &s.Verdict; s.Stop != solve.Done && s.Stop != solve.Optimal && v.Outcome == verify.Refuted {
		v.Violations = slices.DeleteFunc(v.Violations, func(x verify.Violation) bool { return x.Code == verify.MissingContribution })
		if len(v.Violations) == 0 { // what is missing was still to come
			v.Outcome, v.Makespan = verify.Unknown, 0
			v.Reason = fmt.Sprintf("%v after %d of %d transfers", s.Stop, s.Count, st.Transfers)
		}
	}
	if w != nil {
		var verdicts map[string]string
		if s.Verdict.Outcome == verify.Proved {
			verdicts = map[string]string{stream.Engine: s.Verdict.Outcome.String()}
		}
		return errors.Join(err, failed, w.Finish(verdicts))
	}
	return err
}

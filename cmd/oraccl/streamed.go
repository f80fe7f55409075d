package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/stream"
)

// streamed is a schedule that is made, verified and written at the same time, none of it
// held in memory.
type streamed struct {
	*certify.Evaluator
	problem *model.Problem // as it was asked
	method  string
	stream  *solve.Stream
	left    []certify.LeftOut
	out     string

	engine        string // that verified it
	verdict       verify.Verdict
	stop          solve.Stop
	certify.Known // found quickly
	count         int64
	took          time.Duration // from beginning to end
	checking      time.Duration // of that, in the verifier
	peak          int64         // bytes
}

// streamFrom is from how many transfers on schedules are streamed.
const streamFrom = maxHeld

// streamOverhead is what the program needs in any case.
const streamOverhead = 64 << 20

// streams returns how to stream the solution of p, or nil if it is small enough to be held
// in memory or no method asked can stream it. Of several methods it takes that with the
// least makespan where makespans are known before, else the first. The time limit counts only
// if limited says so: a stream has nothing to show before its end.
func streams(ctx context.Context, e *certify.Evaluator, p *model.Problem, limited bool) *streamed {
	o := e.Options
	if !limited {
		o.TimeLimit = 0
	}
	chunks := len(p.Chunks)
	if p.Chunks == nil {
		chunks = p.DefaultChunks(max(1, e.Options.Chunks))
	}
	if int64(chunks)*transfersOf(p) <= streamFrom {
		return nil
	}
	var s *streamed
	var left []certify.LeftOut
	for _, m := range e.Methods {
		streamer, ok := m.(solve.Streamer)
		if !ok {
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: fmt.Sprintf("cannot hand out more than %d transfers while it makes them", streamFrom)})
			continue
		}
		begin := time.Now()
		st, err := streamer.Stream(ctx, p, o)
		switch {
		case err != nil:
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: err.Error()})
		case !p.SameUpToCut(st.Problem):
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: fmt.Sprintf("answered another problem: %v", st.Problem)})
		case s == nil || st.Makespan > 0 && (s.stream.Makespan == 0 || st.Makespan < s.stream.Makespan):
			if s != nil {
				left = append(left, certify.LeftOut{Method: s.method, Reason: "another method's makespan is known before"})
			}
			s = &streamed{Evaluator: e, problem: p, method: m.Name(), stream: st, took: time.Since(begin)}
		default:
			left = append(left, certify.LeftOut{Method: m.Name(), Reason: "another method came first"})
		}
	}
	if s != nil {
		s.left = left
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

// solveStreamed makes, verifies and writes a schedule as a stream.
func (s *streamed) solve(cmd *cobra.Command, out string, asJSON bool) error {
	s.out = out
	if err := s.named(); err != nil {
		return err
	}
	if s.stream.Orbit == nil {
		if err := s.enough(cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	bounded := make(chan error, 1)
	go func() {
		var err error
		s.Known, err = certify.QuickBounds(cmd.Context(), s.stream.Problem)
		bounded <- err
	}()
	err := s.look(cmd.Context())
	if s.engine == "" && err == nil {
		err = s.run(cmd.Context())
	}
	if berr := <-bounded; err == nil {
		err = berr
	}
	if err != nil {
		return err
	}
	s.peak = peakMemory()
	if c := s.Bound; c != nil && s.verdict.Outcome == verify.Proved {
		if err := verify.Below(s.verdict.Makespan, c.Bound, c.Witness.Kind()); err != nil {
			return fmt.Errorf("%s: %w", s.method, err)
		}
	}
	err = session.Of(cmd.Context()).Report(func() error {
		if asJSON {
			return printJSON(cmd.OutOrStdout(), s.json())
		}
		s.print(cmd.OutOrStdout())
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.verdict.Outcome == verify.Refuted:
		return exit.Status(exit.Refuted)
	case s.verdict.Outcome == verify.Unknown:
		return exit.Status(exit.Unknown)
	}
	return nil
}

// enough states what is lacking, memory or room for the file, before the start.
func (s *streamed) enough(w io.Writer) error {
	st := s.stream
	need, err := stream.Memory(st.Problem, st.Form, st.Routes)
	if err != nil {
		return err
	}
	need += st.Memory
	need += need/8 + streamOverhead + 512*int64(len(st.Problem.Topology.Links)) // the problem as such, and what is collected late
	if err := enoughMemory(w, "solving and verifying", need); err != nil {
		return err
	}
	if s.out == "" {
		return nil
	}
	return enoughDisk(filepath.Dir(s.out), compact.Size(st.Problem, st.Transfers))
}

// look has a schedule that is the same for all ranks verified by looking at one, and writes
// it as that. Where there is none, or that decides nothing, it leaves the engine empty.
func (s *streamed) look(ctx context.Context) error {
	if s.stream.Orbit == nil {
		return nil
	}
	begin := time.Now()
	late, cancel := solve.Grace(ctx, certify.Grace)
	defer cancel()
	v := orbit.Check(late, s.stream.Problem, s.stream.Orbit)
	s.checking = time.Since(begin)
	s.took += s.checking
	if v.Outcome == verify.Unknown && s.stream.Run != nil {
		return nil
	}
	s.engine, s.verdict, s.stop, s.count = orbit.Engine, v, solve.Done, s.stream.Orbit.Transfers()
	if s.out == "" || v.Outcome != verify.Proved {
		return nil
	}
	o := s.origin()
	o.Verdict = map[string]string{orbit.Engine: v.Outcome.String()}
	return files.Write(s.out, func(w io.Writer) error { return compact.WriteOrbit(w, s.stream.Problem, s.stream.Orbit, o) })
}

func (s *streamed) origin() model.Origin {
	return model.Origin{Method: s.method, Seed: s.Options.Seed, Tool: built.Tool(), Note: s.stream.Note}
}

// named states what is wrong with the name of the file, if one was asked for.
func (s *streamed) named() error {
	if s.out == "" || strings.HasSuffix(s.out, compactSuffix) {
		return nil
	}
	return exit.Hint(fmt.Errorf("%s: up to %d transfers are too many for JSON", s.out, s.stream.Transfers), "a name that ends in .oraccl gets the compact format")
}

// run makes the schedule, has it verified on the way, and writes it where that was asked
// for. A file is complete only when the schedule is proved.
func (s *streamed) run(ctx context.Context) error {
	st := s.stream
	late, cancel := solve.Grace(ctx, certify.Grace)
	defer cancel()
	check, err := stream.New(late, st.Problem, st.Form, st.Routes)
	if err != nil {
		return err
	}
	var w *growing
	if s.out != "" {
		if w, err = newGrowing(s.out, st.Problem, st.Form, s.origin(), st.Routes); err != nil {
			return err
		}
	}
	var failed error
	s.engine = stream.Engine
	begin, said := time.Now(), time.Now()
	s.Progress.Begin(s.method, &s.Options)
	s.stop, err = st.Run(ctx, func(batch []model.Transfer) bool {
		if w != nil {
			if failed = w.Write(batch); failed != nil {
				return false
			}
		}
		at := time.Now()
		more := check.Add(batch)
		s.checking += time.Since(at)
		s.count += int64(len(batch))
		if time.Since(said) > time.Second {
			said = time.Now()
			s.Progress.Note(fmt.Sprintf("%.1f%% of %d transfers", 100*float64(s.count)/float64(st.Transfers), st.Transfers))
		}
		return more
	})
	at := time.Now()
	s.verdict = check.Verdict()
	s.checking += time.Since(at)
	s.took += time.Since(begin)
	s.Progress.End()
	if v := &s.verdict; s.stop != solve.Done && s.stop != solve.Optimal && v.Outcome == verify.Refuted {
		v.Violations = slices.DeleteFunc(v.Violations, func(x verify.Violation) bool { return x.Code == verify.MissingContribution })
		if len(v.Violations) == 0 { // what is missing was still to come
			v.Outcome, v.Makespan = verify.Unknown, 0
			v.Reason = fmt.Sprintf("%v after %d of %d transfers", s.stop, s.count, st.Transfers)
		}
	}
	if w != nil {
		return errors.Join(err, failed, w.finish(s.verdict.Outcome))
	}
	return err
}

// json returns what gap and solve return for schedules in memory, with one engine.
func (s *streamed) json() gapJSON {
	p := s.stream.Problem
	j := rowJSON{
		Method: s.method, Chunks: len(p.Chunks), Transfers: int(s.count), MakespanPs: s.verdict.Makespan, AlgbwGbps: gbps(p.Size, s.verdict.Makespan),
		Verdict: s.verdict.Outcome.String(), Engines: map[string]string{s.engine: s.verdict.Outcome.String()},
		EngineSeconds: map[string]float64{s.engine: s.checking.Seconds()}, SolveSeconds: s.took.Seconds(), VerifySeconds: s.checking.Seconds(),
		Stop: s.stop.String(), Note: s.stream.Note, PeakMemoryBytes: s.peak,
	}
	j.BusbwGbps = j.AlgbwGbps * busFactor(p)
	if s.verdict.Outcome == verify.Proved {
		j.known(s.Known, s.verdict.Makespan)
		j.Optimal, j.NoneFaster = s.Optimal(s.verdict.Makespan), s.NoneFaster(s.verdict.Makespan)
	}
	g := gapJSON{
		Schema: "oraccl/gap/2", Topology: p.Topology.Name, Collective: p.Collective.Kind.String(), Ranks: len(p.Members()), SizeBytes: p.Size,
		Cost: p.Cost.String(), Bound: boundToJSON(s.EveryCut), Rows: []rowJSON{j}, LeftOut: []leftOutJSON{}, Notes: p.Topology.Notes.Strings(),
	}
	for _, l := range s.left {
		g.LeftOut = append(g.LeftOut, leftOutJSON{l.Method, l.Reason})
	}
	return g
}

func (s *streamed) print(w io.Writer) {
	j := s.json().Rows[0]
	fmt.Fprintf(w, "%v\n%s\n", s.problem, boundLine(s.EveryCut))
	if s.ForCut() {
		fmt.Fprintln(w, boundLine(s.Bound))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "method\tchunks\ttransfers\tmakespan us\talgbw GB/s\tgap\t\t"+s.engine+"\tsolved and verified in\tpeak memory\t")
	known, makespan, algbw := "", "", ""
	if s.verdict.Outcome == verify.Proved { // of a part of a schedule they say nothing
		makespan, algbw = micros(j.MakespanPs), fmt.Sprintf("%.3f", j.AlgbwGbps)
		known = wordsBelow(s.Known, j.MakespanPs, s.stream.Problem, j.NoneFaster, 0)
	}
	fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", j.Method, j.Chunks, j.Transfers, makespan, algbw, gapText(j.Gap), known, j.Verdict, seconds(s.took), roundBytes(s.peak))
	t.Flush()
	printLimits(w, []*model.Certificate{s.EveryCut, s.Bound})
	if s.stream.Note != "" {
		how := "too large for memory and for SMT, so it was verified while it was made"
		if s.engine == orbit.Engine {
			how = "it is the same for all ranks, so it was verified by looking at one"
			if s.stream.Run != nil {
				how += " (verify --engine stream looks at all)"
			}
		}
		fmt.Fprintf(w, "%s: %s; %s\n", s.method, s.stream.Note, how)
	}
	for _, v := range s.verdict.Violations {
		fmt.Fprintf(w, "%s: REFUTED %s\n", s.method, v)
	}
	if s.verdict.Reason != "" {
		fmt.Fprintln(w, s.verdict.Reason)
	}
	printNotes(w, s.problem.Topology.Notes)
	switch {
	case s.out != "" && s.verdict.Outcome == verify.Proved:
		fmt.Fprintf(w, "\nwritten to %s\n", s.out)
	case s.out != "":
		fmt.Fprintf(w, "\n%s is partial, and marked as such\n", s.out)
	}
}

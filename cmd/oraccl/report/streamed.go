package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/oraccl/oraccl/cmd/oraccl/machine"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve/certify/streamed"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/orbit"
)

// StreamedToJSON returns what gap and solve return for schedules in memory, with one engine.
// peak is the most memory that was used, in bytes.
func StreamedToJSON(s *streamed.Schedule, peak int64) GapJSON {
	p := s.Stream.Problem
	j := rowJSON{
		Method: s.Method, Chunks: len(p.Chunks), Transfers: int(s.Count), MakespanPs: s.Verdict.Makespan, AlgbwGbps: Gbps(p.Size, s.Verdict.Makespan),
		Verdict: s.Verdict.Outcome.String(), Engines: map[string]string{s.Engine: s.Verdict.Outcome.String()},
		EngineSeconds: map[string]float64{s.Engine: s.Checking.Seconds()}, SolveSeconds: s.Took.Seconds(), VerifySeconds: s.Checking.Seconds(),
		Stop: s.Stop.String(), Note: s.Stream.Note, PeakMemoryBytes: peak,
	}
	j.BusbwGbps = j.AlgbwGbps * BusFactor(p)
	if s.Verdict.Outcome == verify.Proved {
		j.known(s.Known, s.Verdict.Makespan)
		j.Optimal, j.NoneFaster = s.Optimal(s.Verdict.Makespan), s.NoneFaster(s.Verdict.Makespan)
	}
	g := GapJSON{
		Schema: "oraccl/gap/2", Topology: p.Topology.Name, Collective: p.Collective.Label(), Ranks: len(p.Members()), SizeBytes: p.Size,
		Cost: p.Cost.String(), Bound: boundToJSON(s.EveryCut), Rows: []rowJSON{j}, LeftOut: []leftOutJSON{}, Notes: p.Topology.Notes.Strings(),
	}
	for _, l := range s.Left {
		g.LeftOut = append(g.LeftOut, leftOutJSON{l.Method, l.Reason})
	}
	return g
}

// PrintStreamed writes a streamed schedule as text. out is the file that it was written to, ""
// for none.
func PrintStreamed(w io.Writer, s *streamed.Schedule, out string, peak int64) {
	j := StreamedToJSON(s, peak).Rows[0]
	fmt.Fprintf(w, "%v\n%s\n", s.Problem, boundLine(s.EveryCut))
	if s.ForCut() {
		fmt.Fprintln(w, boundLine(s.Bound))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "method\tchunks\ttransfers\tmakespan us\talgbw GB/s\tgap\t\t"+s.Engine+"\tsolved and verified in\tpeak memory\t")
	known, makespan, algbw := "", "", ""
	if s.Verdict.Outcome == verify.Proved { // of a part of a schedule they say nothing
		makespan, algbw = Micros(j.MakespanPs), fmt.Sprintf("%.3f", j.AlgbwGbps)
		known = wordsBelow(s.Known, j.MakespanPs, s.Stream.Problem, j.NoneFaster, 0)
	}
	fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", j.Method, j.Chunks, j.Transfers, makespan, algbw, gapText(j.Gap), known, j.Verdict, seconds(s.Took), machine.Bytes(peak))
	t.Flush()
	printLimits(w, []*model.Certificate{s.EveryCut, s.Bound})
	if s.Stream.Note != "" {
		how := "too large for memory and for SMT, so it was verified while it was made"
		if s.Engine == orbit.Engine {
			how = "it is the same for all ranks, so it was verified by looking at one"
			if s.Stream.Run != nil {
				how += " (verify --engine stream looks at all)"
			}
		}
		fmt.Fprintf(w, "%s: %s; %s\n", s.Method, s.Stream.Note, how)
	}
	for _, v := range s.Verdict.Violations {
		fmt.Fprintf(w, "%s: REFUTED %s\n", s.Method, v)
	}
	if s.Verdict.Reason != "" {
		fmt.Fprintln(w, s.Verdict.Reason)
	}
	PrintNotes(w, s.Problem.Topology.Notes)
	switch {
	case out != "" && s.Verdict.Outcome == verify.Proved:
		fmt.Fprintf(w, "\nwritten to %s\n", quote.Name(out))
	case out != "":
		fmt.Fprintf(w, "\n%s is partial, and marked as such\n", quote.Name(out))
	}
}

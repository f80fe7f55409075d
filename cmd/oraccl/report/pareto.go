//go:build !js

package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/oraccl/oraccl/solve/certify/pareto"
)

// ParetoJSON is the JSON of solve --pareto, schema oraccl/pareto/1.
type ParetoJSON struct {
	Schema     string       `json:"schema"`
	Topology   string       `json:"topology"`
	Collective string       `json:"collective"`
	Ranks      int          `json:"ranks"`
	MaxChunks  int          `json:"max_chunks"`
	LeastSteps int          `json:"least_steps"`
	Points     []*PointJSON `json:"points"`
	Refuted    []*PointJSON `json:"refuted"`
	Undecided  []*PointJSON `json:"undecided"`
	Stopped    string       `json:"stopped,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

// PointJSON is a number of chunks per rank, of steps and of rounds.
type PointJSON struct {
	Chunks       int     `json:"chunks"`
	Steps        int     `json:"steps"`
	Rounds       int     `json:"rounds"`
	LeastRounds  int     `json:"least_rounds"`          // by a certified bound, in any number of steps
	Bandwidth    bool    `json:"bandwidth_optimal"`     // by a certified bound, for any number of chunks
	Replay       string  `json:"replay,omitempty"`      // verdicts on the schedule
	SMT          string  `json:"smt,omitempty"`         //
	Transfers    int     `json:"transfers,omitempty"`   //
	File         string  `json:"file,omitempty"`        // of the schedule or the certificate
	SolveSeconds float64 `json:"solve_seconds"`         //
	ProofBytes   int64   `json:"proof_bytes,omitempty"` // of what is refuted
	Reason       string  `json:"reason,omitempty"`      // why it is undecided
}

// ParetoToJSON returns the JSON of a frontier whose points are in files, if they are.
func ParetoToJSON(f *pareto.Frontier, files map[*pareto.Point]string) ParetoJSON {
	p := f.Problem
	points := func(all []*pareto.Point) []*PointJSON {
		list := []*PointJSON{}
		for _, x := range all {
			j := &PointJSON{Chunks: x.Chunks, Steps: x.Steps, Rounds: x.Rounds, LeastRounds: x.LeastRounds, Bandwidth: x.Bandwidth, File: files[x],
				SolveSeconds: x.Solving.Seconds(), ProofBytes: x.ProofBytes, Reason: x.Reason}
			if x.Row != nil {
				j.Replay, j.SMT, j.Transfers = x.Row.Verdicts["replay"].Outcome.String(), x.Row.Verdicts["smt"].Outcome.String(), len(x.Row.Result.Schedule.Transfers)
			}
			list = append(list, j)
		}
		return list
	}
	j := ParetoJSON{Schema: "oraccl/pareto/1", Topology: p.Topology.Name, Collective: p.Collective.Label(), Ranks: len(p.Members()), MaxChunks: f.MaxChunks,
		LeastSteps: f.LeastSteps, Points: points(f.Points), Refuted: points(f.Refuted), Undecided: points(f.Undecided), Notes: p.Topology.Notes.Strings()}
	if f.Stopped != 0 {
		j.Stopped = f.Stopped.String()
	}
	return j
}

// PrintPareto writes a frontier as a table.
func PrintPareto(w io.Writer, f *pareto.Frontier) {
	p := f.Problem
	fmt.Fprintf(w, "%s among %d ranks on %s: the Pareto-optimal points up to %d chunks per rank\n\n", p.Collective.Label(), len(p.Members()), p.Topology.Name, f.MaxChunks)
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
			strings.Join(words, ", "), x.Row.Verdicts["replay"].Outcome, x.Row.Verdicts["smt"].Outcome, seconds(x.Solving))
	}
	t.Flush()
	if len(f.Refuted) > 0 {
		fmt.Fprintln(w, "\nImpossible, by proofs that were checked:")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, x := range f.Refuted {
			fmt.Fprintf(t, "%d chunks\t%d steps\t%d rounds\tLRAT, %s\t%s\t\n", x.Chunks, x.Steps, x.Rounds, byteCount(x.ProofBytes), seconds(x.Solving))
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
	if f.Stopped != 0 {
		fmt.Fprintf(w, "Stopped early: %s, before all numbers of chunks had been looked at.\n", Why(f.Stopped))
	}
	if f.Hops != nil && len(f.Undecided) == 0 && f.Stopped == 0 {
		fmt.Fprintf(w, "\nNo schedule has fewer steps than the %s of the farthest demand, and none has fewer\nrounds than are listed here, by bounds that were checked.\n", hops)
		return
	}
	fmt.Fprintf(w, "\nNo schedule has fewer steps than the %s of the farthest demand, ", hops)
	if f.Hops != nil {
		fmt.Fprintln(w, "by a bound that was checked.")
	} else {
		fmt.Fprintln(w, "of which there is no certificate.")
	}
	if len(f.Undecided) > 0 || f.Stopped != 0 {
		fmt.Fprintln(w, "Where something is undecided there may be points with fewer rounds than are listed here.")
	}
}

package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
)

// ThroughputJSON is the JSON of throughput, schema oraccl/throughput/1.
type ThroughputJSON struct {
	Schema     string     `json:"schema"`
	Topology   string     `json:"topology"`
	Collective string     `json:"collective"`
	Ranks      int        `json:"ranks"`
	SizeBytes  int64      `json:"size_bytes"`
	Microsecs  float64    `json:"time_us"`          // in the fluid limit
	AlgbwGbps  float64    `json:"algbw_gbps"`       //
	Exact      string     `json:"seconds_per_byte"` // as a fraction; empty where only floating point knows
	Status     string     `json:"status"`           // what the number is: see the text
	Routes     []string   `json:"computed_by"`      // independent computations that agree
	Cut        *cutJSON   `json:"cut"`              // the limit, where it is a cut
	Bound      *BoundJSON `json:"bound"`            // of the size, with latencies; checked
	Seconds    float64    `json:"seconds"`          // that it took
	Notes      []string   `json:"notes,omitempty"`
	Note       string     `json:"note,omitempty"` //
	Stopped    string     `json:"stopped,omitempty"`
}

// cutJSON is a set of nodes and what leaves it.
type cutJSON struct {
	Nodes     []int `json:"nodes"`
	Shares    int64 `json:"shares"` // of Of equal ones, of a custom collective bytes, must cross
	Of        int64 `json:"of"`
	Bandwidth int64 `json:"bandwidth_bytes_per_second"`
}

// ThroughputToJSON returns the JSON of the fluid limit of p, found in the time it took.
func ThroughputToJSON(p *model.Problem, f *certify.FluidLimit, took time.Duration) ThroughputJSON {
	j := ThroughputJSON{Schema: "oraccl/throughput/1", Topology: p.Topology.Name, Collective: p.Collective.Label(),
		Ranks: len(p.Members()), SizeBytes: p.Size, AlgbwGbps: f.Algbw / 1e9, Microsecs: fluidMicros(p, f), Status: string(f.Status), Routes: f.By,
		Bound: boundToJSON(f.Bound), Seconds: took.Seconds(), Note: f.Note, Notes: p.Topology.Notes.Strings()}
	if f.Stopped != 0 {
		j.Stopped = f.Stopped.String()
	}
	if f.Exact != nil {
		j.Exact = f.Exact.RatString()
	}
	if c := f.Cut; c != nil {
		j.Cut = &cutJSON{c.Nodes, c.Shares, c.Of, c.Bandwidth}
	}
	return j
}

// fluidMicros returns how long the collective takes in the fluid limit, in microseconds, 0
// where the limit is not known.
func fluidMicros(p *model.Problem, f *certify.FluidLimit) float64 {
	if f.Algbw == 0 {
		return 0
	}
	return float64(p.Size) / f.Algbw * 1e6
}

// PrintThroughput writes the fluid limit of p as text.
func PrintThroughput(w io.Writer, p *model.Problem, f *certify.FluidLimit) {
	fmt.Fprintf(w, "%v\n", p)
	var how string
	switch f.Status {
	case certify.FluidExact:
		how = "exactly, by " + joined(f.By)
	case certify.FluidDual:
		how = "by a concurrent flow, with an exact dual of the same value"
	case certify.FluidSolver:
		how = "by a concurrent flow, according to the solver"
	default:
		how = "by in-trees and out-trees, according to the solver"
	}
	if f.Status == certify.FluidUnknown {
		fmt.Fprintf(w, "fluid limit  not found: %s\n", Why(f.Stopped))
	} else {
		fmt.Fprintf(w, "fluid limit  %.3f us, %.3f GB/s  %s\n", fluidMicros(p, f), f.Algbw/1e9, how)
	}
	if c := f.Cut; c != nil {
		share := "shares"
		if p.Collective.Kind == model.Custom {
			share = "bytes"
		}
		fmt.Fprintf(w, "Limit: %d of %d %s have to leave %s over %.3f GB/s.\n", c.Shares, c.Of, share, nodeSet(p.Topology, c.Nodes), float64(c.Bandwidth)/1e9)
	}
	fmt.Fprintln(w, boundLine(f.Bound))
	if f.Note != "" {
		fmt.Fprintln(w, f.Note)
	}
	PrintNotes(w, p.Topology.Notes)
}

func joined(words []string) string {
	if len(words) == 2 {
		return words[0] + " and by " + words[1]
	}
	return strings.Join(words, "")
}

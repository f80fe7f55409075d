package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// BoundsJSON is the JSON of bound, schema oraccl/bound/1.
type BoundsJSON struct {
	Schema     string       `json:"schema"`
	Topology   string       `json:"topology"`
	Collective string       `json:"collective"`
	Ranks      int          `json:"ranks"`
	SizeBytes  int64        `json:"size_bytes"`
	Cost       string       `json:"cost"`
	Bound      *BoundJSON   `json:"bound"`
	All        []*BoundJSON `json:"all"`
	Stopped    string       `json:"stopped,omitempty"`
	Notes      []string     `json:"notes,omitempty"`

	Throughout *ThroughoutJSON `json:"throughout,omitempty"`
}

// BoundsToJSON returns the JSON of the bounds of p, of which there is one at least, the largest
// first. stop is why there may be larger ones, 0 if there is no such reason.
func BoundsToJSON(p *model.Problem, all []*model.Certificate, stop solve.Stop) BoundsJSON {
	j := BoundsJSON{
		Schema: "oraccl/bound/1", Topology: p.Topology.Name, Collective: p.Collective.Label(),
		Ranks: len(p.Members()), SizeBytes: p.Size, Cost: p.Cost.String(), Bound: boundToJSON(all[0]), Notes: p.Topology.Notes.Strings(),
	}
	for _, c := range all {
		j.All = append(j.All, boundToJSON(c))
	}
	if stop != 0 {
		j.Stopped = stop.String()
	}
	return j
}

// PrintBounds writes the bounds of p as a table, the largest first.
func PrintBounds(w io.Writer, p *model.Problem, all []*model.Certificate) {
	fmt.Fprintln(w, p)
	fmt.Fprintln(w, boundLine(all[0]))
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "bound us\tkind\talgbw at most GB/s\twhy")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%s\n", Micros(c.Bound), c.Witness.Kind(), Gbps(p.Size, c.Bound), Describe(c))
	}
	t.Flush()
	PrintNotes(w, p.Topology.Notes)
}

package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
)

// ThroughoutJSON is what holds for every network of a range, in a document.
type ThroughoutJSON struct {
	Ranges  []string      `json:"ranges"`
	BoundPs [2]model.Time `json:"bound_ps"` // on the fastest and on the slowest network
	Kind    string        `json:"kind"`
	Parts   int           `json:"parts"`
	Rows    []spanJSON    `json:"rows"`
}

type spanJSON struct {
	Method     string         `json:"method"`
	MakespanPs *[2]model.Time `json:"makespan_ps"`
	Gap        *[2]float64    `json:"gap"`
	Reason     string         `json:"reason,omitempty"`
}

// ThroughoutToJSON returns the JSON of what holds throughout, nil for nil.
func ThroughoutToJSON(t *certify.Throughout) *ThroughoutJSON {
	if t == nil {
		return nil
	}
	j := &ThroughoutJSON{Ranges: t.Words, BoundPs: [2]model.Time{t.Least, t.Most}, Kind: t.Kind, Parts: t.Parts, Rows: []spanJSON{}}
	for _, r := range t.Rows {
		x := spanJSON{Method: r.Method}
		if r.Err != nil {
			x.Reason = r.Err.Error()
		} else {
			x.MakespanPs = &[2]model.Time{r.Earliest, r.Latest}
			if !math.IsInf(float64(r.GapAtMost), 0) {
				x.Gap = &[2]float64{float64(r.GapLeast), float64(r.GapAtMost)}
			}
		}
		j.Rows = append(j.Rows, x)
	}
	return j
}

// PrintThroughout writes what holds for every network of a range, nothing for nil.
func PrintThroughout(w io.Writer, t *certify.Throughout) {
	if t == nil {
		return
	}
	fmt.Fprintf(w, "\nThroughout %s, in %d parts:\n", strings.Join(t.Words, ", "), t.Parts)
	kind := "none above zero"
	if t.Least > 0 {
		kind = "by " + t.Kind
	}
	fmt.Fprintf(w, "bound  %s to %s us  %s; the first holds throughout\n", Micros(t.Least), Micros(t.Most), kind)
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "method\tmakespan us\tgap\t")
	for _, r := range t.Rows {
		if r.Err != nil {
			fmt.Fprintf(table, "%s\t\t\t\n", r.Method)
			continue
		}
		gap := ""
		if !math.IsInf(float64(r.GapAtMost), 0) {
			gap = fmt.Sprintf("%v to %v", r.GapLeast, r.GapAtMost)
		}
		fmt.Fprintf(table, "%s\t%s to %s\t%s\t\n", r.Method, Micros(r.Earliest), Micros(r.Latest), gap)
	}
	table.Flush()
	for _, r := range t.Rows {
		if r.Err != nil {
			Line(w, "%s: not known throughout: %v", r.Method, r.Err)
		}
	}
}

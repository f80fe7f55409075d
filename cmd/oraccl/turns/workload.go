package turns

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/topo"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/proofs"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/verify/workload"
)

// ReadWorkload returns the workload in a file, nil where the file does not exist, or is of another schema.
func ReadWorkload(ctx context.Context, name string) (*wl.Workload, error) {
	if !files.Exists(name) {
		return nil, nil
	}
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, nil // an error of who reads it as something else
	}
	defer f.Close()
	head := make([]byte, 1<<12)
	n, _ := io.ReadFull(f, head)
	if head = head[:n]; !bytes.Contains(head, []byte(native.WorkloadSchema)) && !bytes.Contains(head, []byte(native.TimetableSchema)) {
		return nil, nil
	}
	b, err := files.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	switch native.SchemaOf(b) {
	case native.WorkloadSchema:
		return native.ReadWorkload(name, bytes.NewReader(b), func(t string) (*model.Topology, error) { return topo.Parse(t, topo.Options{}) })
	case native.TimetableSchema:
		s, err := native.ReadTimetable(name, bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return s.Workload, nil
	}
	return nil, nil
}

// WriteWorkload writes a workload to a file, or, without a name, as text.
func WriteWorkload(to io.Writer, name string, w *wl.Workload) error {
	if name == "" {
		return native.WriteWorkload(to, w)
	}
	if err := files.Write(name, func(f io.Writer) error { return native.WriteWorkload(f, w) }); err != nil {
		return err
	}
	fmt.Fprintf(to, "%v\nwritten to %s\n", w, quote.Name(name))
	return nil
}

// ComparisonSchema is the schema of what solve, gap and bound print of a workload.
const ComparisonSchema = "oraccl/workload-gap/1"

// ComparisonJSON is what methods found for a workload.
type ComparisonJSON struct {
	Schema   string    `json:"schema"`
	Workload string    `json:"workload"`
	Periodic bool      `json:"periodic"`
	Bounds   []BoundOf `json:"bounds"`
	Rows     []RowOf   `json:"rows,omitempty"`
	Left     []LeftOf  `json:"left_out,omitempty"`
	Stopped  string    `json:"stopped,omitempty"`
}

// BoundOf is a lower bound on a workload.
type BoundOf struct {
	Value  model.Time `json:"value_ps"`
	Kind   string     `json:"kind"`
	Reason string     `json:"reason"`
}

// RowOf is the schedule of a method.
type RowOf struct {
	Method     string            `json:"method"`
	Length     model.Time        `json:"length_ps"`
	Gap        model.Gap         `json:"gap"`
	Verdict    string            `json:"verdict"`
	Engines    map[string]string `json:"engines"`
	Violations []string          `json:"violations"`
	Claim      string            `json:"unchecked_claim,omitempty"`
}

// LeftOf is a method without a row.
type LeftOf struct {
	Method string `json:"method"`
	Why    string `json:"why"`
}

// describe returns c as a document.
func describe(c *workloads.Comparison) *ComparisonJSON {
	j := &ComparisonJSON{Schema: ComparisonSchema, Workload: c.Workload.String(), Periodic: c.Workload.Periodic, Bounds: []BoundOf{}}
	kinds := map[string]bool{}
	for _, b := range c.Bounds {
		if !kinds[b.Kind] {
			kinds[b.Kind] = true
			j.Bounds = append(j.Bounds, BoundOf{b.Value, b.Kind, workload.Describe(c.Workload, b)})
		}
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		row := RowOf{Method: r.Method, Length: length(r), Gap: c.Gap(r), Verdict: r.Verdict.Outcome.String(), Engines: r.Schedule.Origin.Verdict, Violations: []string{}, Claim: r.Claim}
		for _, x := range r.Verdict.Violations {
			row.Violations = append(row.Violations, x.String())
		}
		j.Rows = append(j.Rows, row)
	}
	for _, l := range c.Left {
		j.Left = append(j.Left, LeftOf{l.Method, l.Why})
	}
	if c.Stop != 0 {
		j.Stopped = report.Why(c.Stop)
	}
	return j
}

// length returns the period of a row's schedule, or its makespan.
func length(r *workloads.Row) model.Time {
	if r.Schedule.Period > 0 {
		return r.Schedule.Period
	}
	return r.Schedule.Makespan()
}

// PrintComparison writes what is known of a workload as text, or as JSON.
func PrintComparison(w io.Writer, c *workloads.Comparison, asJSON bool) error {
	j := describe(c)
	if asJSON {
		return report.PrintJSON(w, j)
	}
	what := "makespan"
	if j.Periodic {
		what = "period"
	}
	fmt.Fprintln(w, j.Workload)
	for k, b := range j.Bounds {
		if k == 0 {
			fmt.Fprintf(w, "bound   %s >= %v: %s (%s, checked)\n", what, b.Value, b.Reason, b.Kind)
		} else {
			fmt.Fprintf(w, "        %v: %s (%s)\n", b.Value, b.Reason, b.Kind)
		}
	}
	if len(j.Bounds) == 0 {
		fmt.Fprintln(w, "bound   none above zero")
	}
	if len(j.Rows) > 0 {
		fmt.Fprintln(w)
		table := [][]string{{"method", what, "gap", "verdict", "engines"}}
		for i := range c.Rows {
			var engines []string
			for _, e := range c.Rows[i].Each {
				engines = append(engines, e.Engine+" "+e.Outcome.String())
			}
			r := &j.Rows[i]
			table = append(table, []string{r.Method, r.Length.String(), r.Gap.String(), strings.ToUpper(r.Verdict), strings.Join(engines, ", ")})
		}
		columns(w, table)
	}
	for i, r := range j.Rows {
		for _, x := range r.Violations {
			report.Line(w, "%s: %s", r.Method, x)
		}
		if why := c.Rows[i].Verdict.Reason; why != "" {
			report.Line(w, "%s: %s", r.Method, why)
		}
		if r.Claim != "" {
			report.Line(w, "%s: %s", r.Method, r.Claim)
		}
	}
	for _, l := range j.Left {
		report.Line(w, "no row: %s: %s", l.Method, l.Why)
	}
	if j.Stopped != "" {
		fmt.Fprintf(w, "this is what was found until %s\n", j.Stopped)
	}
	return nil
}

// PrintBest writes the best schedule of a workload as text, with the bound.
func PrintBest(w io.Writer, file string, c *workloads.Comparison) {
	r := c.Rows[0]
	report.PrintVerdict(w, judge.Timetable(file, r.Schedule, r.Verdict, r.Each))
	if len(c.Bounds) > 0 {
		b := c.Bounds[0]
		fmt.Fprintf(w, "by %s; bound %s us: %s (%s, checked); the schedule takes %.2f %% more\n", r.Method, report.Micros(b.Value), workload.Describe(c.Workload, b), b.Kind, 100*float64(c.Gap(&r)))
	}
}

// Write writes the schedule of a row to a file.
func Write(name string, r *workloads.Row) error {
	return files.Write(name, func(w io.Writer) error { return native.WriteTimetable(w, r.Schedule) })
}

// WriteBound writes the best bound on a workload to a file.
func WriteBound(name string, c *workloads.Comparison) error {
	if len(c.Bounds) == 0 {
		return fmt.Errorf("%s: no bound above zero to write", name)
	}
	return files.Write(name, func(w io.Writer) error {
		return native.WriteWorkloadBound(w, &wl.Certificate{Workload: c.Workload, Bound: *c.Bounds[0]})
	})
}

// Prove writes a dossier of the best schedule, whose bound is one for its cut.
func Prove(ctx context.Context, dir string, c *workloads.Comparison) error {
	r := c.Best()
	if r == nil {
		return fmt.Errorf("--proofs: nothing was proved")
	}
	of := *r.Report
	of.Bounds = workload.Bounds(ctx, of.Schedule.Workload)
	if err := proofs.WriteWorkload(ctx, dir, &of, built.Tool()); err != nil {
		return fmt.Errorf("--proofs: %w", err)
	}
	return nil
}

// StatusOf is the exit status of a comparison: that nothing was refuted, and something proved.
func StatusOf(c *workloads.Comparison) error {
	status := exit.Done
	for i := range c.Rows {
		status = exit.Worse(status, exit.Of(c.Rows[i].Verdict.Outcome))
	}
	if c.Best() == nil || c.Stop != 0 {
		status = exit.Worse(status, exit.Unknown)
	}
	if status == exit.Done {
		return nil
	}
	return exit.Status(status)
}

package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/trace"
	"github.com/oraccl/oraccl/model/quote"
)

// TraceJSON is the JSON of trace, schema oraccl/trace/1; one object a file, and one for the ranks joined.
type TraceJSON struct {
	Schema string      `json:"schema"`
	Files  []string    `json:"files"`
	Format string      `json:"format"`
	Rank   *int        `json:"rank"`
	Ranks  int         `json:"ranks"`
	Jobs   []JobJSON   `json:"jobs"`
	Values []ValueJSON `json:"values"`
	Clocks []ClockJSON `json:"clocks,omitempty"`
	Error  *model.Time `json:"clock_error_ps,omitempty"`
	Notes  []string    `json:"notes,omitempty"`
}

// JobJSON is a job in a document. What a format does not contain is null.
type JobJSON struct {
	Name       string       `json:"name"`
	Ranks      int          `json:"ranks"`
	Iterations int          `json:"iterations"`
	PeriodPs   *model.Time  `json:"period_ps"`
	ComputePs  *model.Time  `json:"compute_ps"`
	CommPs     *model.Time  `json:"communication_ps"`
	ExposedPs  *model.Time  `json:"exposed_ps"`
	Buckets    []BucketJSON `json:"buckets"`
	ReleasesPs []model.Time `json:"releases_ps"`
	Late       *LateJSON    `json:"late"`
}

// BucketJSON is a buffer that is communicated as a whole.
type BucketJSON struct {
	Kind     string      `json:"collective"`
	Bytes    int64       `json:"bytes"`
	OffsetPs *model.Time `json:"offset_ps"`
	CommPs   *model.Time `json:"communication_ps"`
}

// LateJSON is the rank that is usually the last.
type LateJSON struct {
	Rank         int        `json:"rank"`
	Times        int        `json:"times"`
	Of           int        `json:"of"`
	AfterFirstPs model.Time `json:"after_first_ps"`
	AfterNextPs  model.Time `json:"after_next_ps"`
}

// ValueJSON is a quantity as text.
type ValueJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Unit  string `json:"unit"`
}

// ClockJSON is how far the clock of a rank is from that of the first one.
type ClockJSON struct {
	Rank     int        `json:"rank"`
	OffsetPs model.Time `json:"offset_ps"`
}

// TraceToJSON returns the JSON of a trace.
func TraceToJSON(t *trace.Trace) TraceJSON {
	j := TraceJSON{Schema: "oraccl/trace/1", Files: []string{t.File}, Format: t.Format, Ranks: t.Ranks, Jobs: []JobJSON{}, Values: []ValueJSON{}, Notes: t.Notes.Strings()}
	if t.Rank >= 0 {
		j.Rank = &t.Rank
	}
	for i := range t.Jobs {
		j.Jobs = append(j.Jobs, jobToJSON(&t.Jobs[i]))
	}
	for _, v := range t.Values {
		j.Values = append(j.Values, ValueJSON(v))
	}
	return j
}

// JoinedToJSON returns the JSON of what several ranks' files show together.
func JoinedToJSON(all []*trace.Trace, x *trace.Joined) TraceJSON {
	j := TraceJSON{Schema: "oraccl/trace/1", Format: "joined", Ranks: x.Job.Ranks, Jobs: []JobJSON{jobToJSON(&x.Job)}, Values: []ValueJSON{}, Error: &x.Error}
	for _, t := range all {
		j.Files = append(j.Files, t.File)
	}
	for i, r := range x.Ranks {
		j.Clocks = append(j.Clocks, ClockJSON{r, x.Offsets[i]})
	}
	return j
}

func jobToJSON(x *trace.Job) JobJSON {
	j := JobJSON{Name: x.Name, Ranks: x.Ranks, Iterations: x.Iterations, PeriodPs: x.Period, ComputePs: x.Compute, CommPs: x.Comm, ExposedPs: x.Exposed, Buckets: []BucketJSON{}, ReleasesPs: x.Releases}
	for _, b := range x.Buckets {
		j.Buckets = append(j.Buckets, BucketJSON{b.Kind, b.Bytes, b.Offset, b.Comm})
	}
	if l := x.Late; l != nil {
		j.Late = &LateJSON{l.Rank, l.Times, l.Of, l.AfterFirst, l.AfterNext}
	}
	return j
}

// PrintTrace writes a trace as text: what it is, its jobs, notes; and, if values is set, all that was
// found.
func PrintTrace(w io.Writer, t *trace.Trace, values bool) {
	head := quote.Name(t.File) + ": " + t.Format
	switch {
	case t.Rank >= 0 && t.Ranks > 0:
		head += fmt.Sprintf(", rank %d of %d", t.Rank, t.Ranks)
	case t.Rank >= 0:
		head += fmt.Sprintf(", rank %d", t.Rank)
	case t.Ranks > 0:
		head += fmt.Sprintf(", %d ranks", t.Ranks)
	}
	Line(w, "%s", head)
	for i := range t.Jobs {
		x := &t.Jobs[i]
		if len(t.Jobs) > 1 {
			Line(w, "  job %s: %s", x.Name, times(x))
			continue
		}
		printJob(w, x)
	}
	if values {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, v := range t.Values {
			fmt.Fprintf(table, "  %s\t%s\t%s\n", quote.Line(v.Name), quote.Line(v.Value), v.Unit)
		}
		table.Flush()
	}
	PrintNotes(w, t.Notes)
}

// times writes the times of a job, with what its format does not contain.
func times(x *trace.Job) string {
	var words []string
	add := func(name string, t *model.Time) {
		if t == nil {
			words = append(words, name+" not in this format")
			return
		}
		words = append(words, name+" "+Millis(*t)+" ms")
	}
	add("period", x.Period)
	add("compute", x.Compute)
	add("communication", x.Comm)
	add("exposed", x.Exposed)
	return strings.Join(words, ", ")
}

// Millis writes a time in milliseconds.
func Millis(t model.Time) string { return fmt.Sprintf("%.3f", float64(t)/float64(model.Millisecond)) }

func printJob(w io.Writer, x *trace.Job) {
	switch {
	case x.Period != nil || x.Compute != nil || x.Comm != nil:
		Line(w, "  %d iterations; medians: %s", x.Iterations, times(x))
	case x.Iterations > 0:
		Line(w, "  %d iterations, without times in this format", x.Iterations)
	default:
		Line(w, "  without times in this format")
	}
	if len(x.Buckets) > 0 {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "  bytes\tready at ms\ttakes ms\tcollective\t")
		for _, b := range x.Buckets {
			cell := func(t *model.Time) string {
				if t == nil {
					return "-"
				}
				return Millis(*t)
			}
			fmt.Fprintf(table, "  %d\t%s\t%s\t%s\t\n", b.Bytes, cell(b.Offset), cell(b.Comm), quote.Line(b.Kind))
		}
		table.Flush()
	}
	if len(x.Releases) > 0 {
		var words []string
		for _, r := range x.Releases {
			words = append(words, Millis(r))
		}
		Line(w, "  ranks are ready %s ms after the first one (medians)", strings.Join(words, ", "))
	}
	if l := x.Late; l != nil && l.Of > 0 {
		Line(w, "  rank %d is last in %d of %d, %s ms after the first and %s ms after the next", l.Rank, l.Times, l.Of, Millis(l.AfterFirst), Millis(l.AfterNext))
		if size := largest(x.Buckets); size > 0 && l.Of > 1 && 2*l.Times > l.Of && l.AfterNext > 0 {
			Line(w, "  what a schedule for that saves: oraccl gap TOPO --collective allreduce --size %d --straggler %d --delay %dus", size, l.Rank, int64(l.AfterNext/model.Microsecond))
		}
	}
}

func largest(all []trace.Bucket) (most int64) {
	for _, b := range all {
		if b.Kind == "allreduce" {
			most = max(most, b.Bytes)
		}
	}
	return most
}

// PrintJoined writes what several ranks' files show together.
func PrintJoined(w io.Writer, x *trace.Joined) {
	Line(w, "together, %d ranks:", len(x.Ranks))
	var words []string
	for i, r := range x.Ranks {
		words = append(words, fmt.Sprintf("rank %d %s", r, Millis(x.Offsets[i])))
	}
	Line(w, "  clocks, as the ends of collectives tell, in ms: %s; the ends are then %s ms apart (median)", strings.Join(words, ", "), Millis(x.Error))
	printJob(w, &x.Job)
}

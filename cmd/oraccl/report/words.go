package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve"
)

// Gbps returns bytes a time in 10⁹ bytes per second.
func Gbps(bytes int64, t model.Time) float64 {
	if t == 0 {
		return 0
	}
	return float64(bytes) * 1e3 / float64(t)
}

// BusFactor is what NCCL-tests multiplies algbw by to get busbw.
func BusFactor(p *model.Problem) float64 {
	num, den := BusFraction(p)
	return float64(num) / float64(den)
}

// BusFraction is BusFactor as a fraction.
func BusFraction(p *model.Problem) (num, den int64) {
	n := int64(len(p.Members()))
	switch p.Collective.Kind {
	case model.AllReduce:
		return 2 * (n - 1), n
	case model.AllGather, model.ReduceScatter, model.AllToAll, model.Scatter, model.Gather:
		return n - 1, n
	}
	return 1, 1
}

// PrintNotes writes what readers of files left out, assumed, or have to add, a line each.
func PrintNotes(w io.Writer, notes ...model.Notes) {
	for _, list := range notes {
		for _, n := range list {
			Line(w, "note: %v", n)
		}
	}
}

// Line prints one line, whatever is in it.
func Line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, quote.Line(fmt.Sprintf(format, args...)))
}

// PrintJSON writes v as one indented JSON document.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Why names the reason why a verb stopped early, in a sentence.
func Why(stop solve.Stop) string {
	if stop == solve.Interrupted {
		return "it was interrupted"
	}
	return "the time limit was reached"
}

// Micros writes a time in microseconds with three decimals.
func Micros(t model.Time) string { return fmt.Sprintf("%.3f", float64(t)/float64(model.Microsecond)) }

// seconds writes how long a check or a solve took.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// byteCount writes a size with one decimal.
func byteCount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// InSeconds returns a time in seconds.
func InSeconds(t model.Time) float64 { return float64(t) / float64(model.Second) }

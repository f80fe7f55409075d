package report

import (
	"fmt"
	"io"
	"math"

	"github.com/oraccl/oraccl/cmd/oraccl/calibrate"
	"github.com/oraccl/oraccl/model/fit"
	"github.com/oraccl/oraccl/model/quote"
)

// PrintFit writes what was found of measured links: the figures, confidence intervals, residuals, outliers.
func PrintFit(w io.Writer, r *calibrate.Result) {
	for i := range r.Groups {
		g := &r.Groups[i]
		Line(w, "%s", g.Words())
		f := g.Fit
		if f == nil {
			continue
		}
		printLine(w, "all sizes", &f.Line, f.Small == nil)
		if f.Small != nil {
			printLine(w, fmt.Sprintf("messages below %.0f bytes", f.Knee), f.Small, true)
			printLine(w, fmt.Sprintf("messages from %.0f bytes on", f.Knee), &f.Line, true)
			Line(w, "  a knee at %.0f bytes, as between protocols: the latency is that of the small messages, the bandwidth that of the large ones", f.Knee)
		}
		m := &f.Median
		apart := ""
		if math.Abs(m.Beta-f.Line.Beta) > f.Line.BetaOff && f.Line.BetaOff > 0 {
			apart = "; that is outside of the interval: some points pull the line"
		}
		Line(w, "  by median regression: α = %.4g us, β = %.4g ps per byte%s", 1e6*m.Alpha, 1e12*m.Beta, apart)
		for _, p := range f.Outliers {
			Line(w, "  left out: %s, %.0f bytes in %.4g us", quote.Line(p.Name), p.Bytes, 1e6*p.Seconds)
		}
	}
}

func printLine(w io.Writer, name string, l *fit.Line, shown bool) {
	if !shown {
		return
	}
	Line(w, "  %s: α = %.4g ± %.2g us, β = %.4g ± %.2g ps per byte (95 %%), residuals %.1f %% (root mean square of %d)",
		name, 1e6*l.Alpha, 1e6*l.AlphaOff, 1e12*l.Beta, 1e12*l.BetaOff, 100*l.RMS, l.Points)
}

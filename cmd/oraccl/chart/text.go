package chart

import (
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// typeface is carried by gonum/plot, and as wide as Arial and Helvetica.
var typeface = font.Font{Typeface: "Liberation", Variant: "Sans"}

// style is text of a size in points.
func style(size float64) text.Style {
	return text.Style{Font: font.From(typeface, vg.Points(size)), Handler: plot.DefaultTextHandler}
}

// mostName is how wide a name may be, in points: one that is wider is cut off.
const mostName = 220

// clean returns text that every format can hold: without what is not UTF-8, and with blanks
// for controls and line ends. The canvases escape what means something to their formats.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r) || r == 0xFFFE || r == 0xFFFF:
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// named returns a clean name that is no wider than this many points.
func named(s string, points float64) string {
	s = clean(s)
	st, wide := style(nameSize), vg.Points(points)
	if st.Width(s) <= wide {
		return s
	}
	// A character is at least as wide as this, so that few need be measured.
	runes := []rune(s)
	runes = runes[:min(len(runes), int(points/1.5))]
	for len(runes) > 0 && st.Width(string(runes)+"…") > wide {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// wrapped breaks a clean text into lines that are no wider than so much, at blanks where
// there are any.
func wrapped(s string, st text.Style, wide vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(clean(s)) {
		switch {
		case line == "":
			line = word
		case st.Width(line+" "+word) <= wide:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for st.Width(line) > wide && len(lines) < mostLines {
			runes := []rune(line)
			n := min(len(runes)-1, int(wide/vg.Points(1.5)))
			for n > 1 && st.Width(string(runes[:n])) > wide {
				n--
			}
			lines = append(lines, string(runes[:n]))
			line = string(runes[n:])
		}
		if len(lines) >= mostLines {
			lines[mostLines-1] += " …"
			return lines[:mostLines]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// mostLines is how many lines a title may have.
const mostLines = 4

package view

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// element is what a test asks of one of a drawing.
type element struct {
	name       string
	attributes map[string]string
	text       string
}

// drawn parses a drawing, as XML of the strict kind, into its elements.
func drawn(t testing.TB, pic *Picture) []element {
	var b bytes.Buffer
	require.NoError(t, SVG(&b, pic))
	return parsed(t, b.Bytes())
}

func parsed(t testing.TB, b []byte) []element {
	var all []element
	var at []int
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := d.Token()
		if err == io.EOF {
			require.Empty(t, at)
			require.Equal(t, "svg", all[0].name)
			return all
		}
		require.NoError(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local, attributes: map[string]string{}}
			for _, a := range x.Attr {
				require.NotContains(t, e.attributes, a.Name.Local)
				require.NotContains(t, a.Value, "NaN")
				require.NotContains(t, a.Value, "Inf")
				e.attributes[a.Name.Local] = a.Value
			}
			at = append(at, len(all))
			all = append(all, e)
		case xml.EndElement:
			at = at[:len(at)-1]
		case xml.CharData:
			if len(at) > 0 {
				all[at[len(at)-1]].text += string(x)
			}
		}
	}
}

func having(all []element, name, attribute, value string) int {
	n := 0
	for _, e := range all {
		if e.name == name && e.attributes[attribute] == value {
			n++
		}
	}
	return n
}

func texts(all []element) string {
	var s []string
	for _, e := range all {
		if e.text != "" {
			s = append(s, e.text)
		}
	}
	return strings.Join(s, "\n")
}

// TestSVG counts what is drawn of a schedule that is easy to count.
func TestSVG(t *testing.T) {
	all := drawn(t, rotation(t, 4))
	require.Equal(t, 4, having(all, "circle", "r", "11"), "ranks")
	bars := 0
	for _, ink := range inks[:4] {
		n := having(all, "rect", "fill", ink)
		require.GreaterOrEqual(t, n, 3, "each chunk makes three steps")
		bars += n
	}
	require.Equal(t, 12+3, bars, "transfers, and the legend")
	require.Equal(t, 3+1, having(all, "rect", "stroke", inkPath), "the critical path, and the legend")
	require.Zero(t, having(all, "rect", "stroke", inkBad))
	words := texts(all)
	for _, want := range []string{"rotation", "PROVED", "makespan 3us, bound 1.5us, gap 100.0%", "makespan\n", "bound\n", "0→1", "3→0", "lower bound by ingress", "the rank that the chunk is from"} {
		require.Contains(t, words, want)
	}
	require.NotContains(t, words, "Too many")

	var a, b bytes.Buffer
	require.NoError(t, SVG(&a, rotation(t, 4)))
	require.NoError(t, SVG(&b, rotation(t, 4)))
	require.Equal(t, a.String(), b.String())
}

// TestSVGLimits draws the bound where it is, and one line where both are the same.
func TestSVGLimits(t *testing.T) {
	pic := rotation(t, 4)
	at := func(all []element, ink string) string {
		for _, e := range all {
			if e.name == "line" && e.attributes["stroke"] == ink && e.attributes["x1"] == e.attributes["x2"] {
				return e.attributes["x1"]
			}
		}
		return ""
	}
	all := drawn(t, pic)
	require.Equal(t, number(svgRight), at(all, inkText))
	require.Equal(t, number((svgTimes+svgRight)/2.), at(all, inkBound))
	pic.Bound.Value = 3 * model.Microsecond
	all = drawn(t, pic)
	require.Equal(t, "", at(all, inkBound))
	require.Contains(t, texts(all), "makespan = bound")
}

// TestSVGLanes draws side by side what overlaps.
func TestSVGLanes(t *testing.T) {
	pic := corpus(t, "reject/ring4-allgather-pipelined/transfer-0-twice.json")
	m, err := when(pic.Problem, pic.Schedule)
	require.NoError(t, err)
	g := newGantt(pic, m, nil)
	require.Equal(t, []int{2, 1, 1, 1}, g.lanesOf)
	require.Len(t, g.bars[0], 4)
	require.Equal(t, []int{0, 1}, []int{g.bars[0][0].lane, g.bars[0][1].lane})
	for _, row := range g.bars {
		for i, a := range row {
			for _, b := range row[:i] {
				require.False(t, a.lane == b.lane && a.From < b.To && b.From < a.To)
			}
		}
	}
}

// TestSVGCorpus draws all schedules of the corpus, right and wrong.
func TestSVGCorpus(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/schedules/*/*.json")
	require.NoError(t, err)
	wrong, err := filepath.Glob("../../../testdata/schedules/reject/*/*.json")
	require.NoError(t, err)
	require.Greater(t, len(wrong), 100)
	marks := 0
	for _, file := range append(files, wrong...) {
		name, err := filepath.Rel("../../../testdata/schedules", file)
		require.NoError(t, err)
		pic := corpus(t, name)
		if _, err := when(pic.Problem, pic.Schedule); err != nil {
			continue // an order with a circle has no picture
		}
		all := drawn(t, pic)
		marked := false
		for _, v := range pic.Verdict.Violations {
			marked = marked || v.Transfer >= 0
		}
		if marked {
			marks++
			require.GreaterOrEqual(t, having(all, "rect", "stroke", inkBad), 2, "%s: one in the timeline, one in the legend", name)
			require.Positive(t, having(all, "path", "stroke", inkBad), "%s: in the network", name)
		}
		require.Contains(t, texts(all), strings.ToUpper(pic.Verdict.Outcome), name)
	}
	require.Greater(t, marks, 100)
}

// TestSVGDense draws more than there is room for, says so, and stays small.
func TestSVGDense(t *testing.T) {
	for _, side := range []int{9, 12} {
		pic := gathering(t, side)
		var b bytes.Buffer
		require.NoError(t, SVG(&b, pic))
		words := texts(parsed(t, b.Bytes()))
		require.Contains(t, words, "Too many to draw one by one: the")
		require.Equal(t, side == 12, strings.Contains(words, "a row is the mean of 3 links"))
		require.Less(t, b.Len(), 1_000_000)
	}
	require.NotContains(t, texts(drawn(t, gathering(t, 4))), "Too many")
}

// TestSVGText sees to it that text from files is text, and that what XML has no place for
// is left out.
func TestSVGText(t *testing.T) {
	const attack = "</text><script>\x00\x01\x1b\"'&amp;]]>\xff"
	pic := rotation(t, 4)
	pic.Title, pic.Problem.Topology.Name, pic.Verdict.Claim, pic.Notes = attack, attack, attack, []string{attack}
	pic.Verdict.Outcome, pic.Verdict.Violations = "refuted", []Violation{{Code: attack, Where: attack, Message: attack, Transfer: 1}}
	pic.Bound.Kind = attack
	all := drawn(t, pic)
	require.Zero(t, having(all, "script", "", ""))
	require.GreaterOrEqual(t, strings.Count(texts(all), "</text><script>\ufffd\ufffd\ufffd\"'&amp;]]>\ufffd"), 6)

	var b bytes.Buffer
	require.NoError(t, FailureSVG(&b, attack, errors.New(attack)))
	all = parsed(t, b.Bytes())
	require.Zero(t, having(all, "script", "", ""))
	require.Contains(t, texts(all), "There is nothing to see: </text>")
}

// TestHex names three colours.
func TestHex(t *testing.T) {
	for hue, want := range map[float64]string{0: "#ff0000", 120: "#00ff00", 240: "#0000ff"} {
		require.Equal(t, want, hex(hue, 1, 0.5))
	}
}

// TestShare sees to it that shades add up to what links are busy.
func TestShare(t *testing.T) {
	pic := rotation(t, 4)
	m, err := when(pic.Problem, pic.Schedule)
	require.NoError(t, err)
	g := newGantt(pic, m, nil)
	require.Equal(t, 4, g.count())
	share := g.share()
	total := 0.0
	for _, s := range share {
		require.InDelta(t, 1, s, 1e-9, "every link is always busy")
		total += s
	}
	require.InDelta(t, 4*cells, total, 1e-6)
}

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is drawn is well-formed, has a line, a name and a place for everything, inside the
// picture, and is the same twice.
func TestWriteSVG(t *testing.T) {
	for _, log := range []bool{false, true} {
		c := Chart{Title: "a < b & c", XName: "x", YName: "y", LogX: log, LogY: log, Series: []Series{
			{Name: "first", X: []float64{4, 8, 256}, Y: []float64{0.3, 1.363, 1.9}, Dots: true},
			{Name: "second", X: []float64{5}, Y: []float64{1}, Dashed: true},
		}}
		var a, b bytes.Buffer
		require.NoError(t, c.WriteSVG(&a))
		require.NoError(t, c.WriteSVG(&b))
		require.Equal(t, a.String(), b.String())
		d := xml.NewDecoder(&a)
		paths, circles := 0, 0
		var words []string
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			switch e := token.(type) {
			case xml.StartElement:
				switch e.Name.Local {
				case "path":
					paths++
				case "circle":
					circles++
				}
			case xml.CharData:
				words = append(words, strings.TrimSpace(string(e)))
			}
		}
		require.Equal(t, 3, circles)
		require.Greater(t, paths, 4)
		for _, w := range []string{"a < b & c", "first", "second", "x", "y"} {
			require.Contains(t, words, w)
		}
		x, y, err := c.axes()
		require.NoError(t, err)
		for _, s := range c.Series {
			for i := range s.X {
				require.True(t, left <= x.place(s.X[i]) && x.place(s.X[i]) <= width-right)
				require.True(t, top <= y.place(s.Y[i]) && y.place(s.Y[i]) <= float64(height-c.bottom()))
			}
		}
		require.Less(t, x.place(8), x.place(16))
		require.Greater(t, y.place(1), y.place(2))
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]Chart{
		"nothing":          {},
		"no points":        {Series: []Series{{}}},
		"unequal":          {Series: []Series{{X: []float64{1}, Y: []float64{1, 2}}}},
		"not a number":     {Series: []Series{{X: []float64{1}, Y: []float64{math.NaN()}}}},
		"infinite":         {Series: []Series{{X: []float64{math.Inf(1)}, Y: []float64{1}}}},
		"log of nothing":   {LogX: true, Series: []Series{{X: []float64{0}, Y: []float64{1}}}},
		"log of no height": {LogY: true, Series: []Series{{X: []float64{1}, Y: []float64{0}}}},
		"no such place":    {Places: []string{"a"}, Series: []Series{{X: []float64{1}, Y: []float64{1}}}},
		"between places":   {Places: []string{"a", "b"}, Series: []Series{{X: []float64{.5}, Y: []float64{1}}}},
		"of less than it":  {LogX: true, Series: []Series{{X: []float64{-1}, Y: []float64{1}}}},
	} {
		require.Error(t, c.WriteSVG(io.Discard), name)
	}
}

// A logarithmic axis has powers of two, or of ten where those were too many, around its
// values.
func TestLogTicks(t *testing.T) {
	for _, x := range []struct{ low, high, first, last, count float64 }{
		{4, 256, 4, 256, 7}, {0.3, 1.9, 0.25, 2, 4}, {3, 3, 2, 4, 2}, {0.0012, 9072, 0.001, 10000, 8}, {0.001, 10000, 0.001, 10000, 8},
	} {
		a := &axis{low: x.low, high: x.high, log: true}
		a.round()
		require.InEpsilon(t, x.first, a.low, 1e-9)
		require.InEpsilon(t, x.last, a.high, 1e-9)
		require.Len(t, a.ticks, int(x.count))
	}
}

// Named places have dots and their names, and no lines between them.
func TestPlaces(t *testing.T) {
	c := Chart{Places: []string{"here", "there"}, LogY: true, Series: []Series{{Name: "s", X: []float64{0, 1}, Y: []float64{1, 7}}}}
	var b bytes.Buffer
	require.NoError(t, c.WriteSVG(&b))
	require.Equal(t, 2, strings.Count(b.String(), "<circle"))
	require.Contains(t, b.String(), ">here</text>")
	require.Contains(t, b.String(), ">there</text>")
	require.NotContains(t, b.String(), `fill="none" stroke="#0072B2"`)
}

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func lines() *Chart {
	return &Chart{
		Title: "Makespan", XName: "buffer", YName: "makespan", XUnit: Bytes, YUnit: Seconds, LogX: true, LogY: true,
		Series: []Series{
			{Name: "ring", X: []float64{1 << 20, 1 << 22, 1 << 24}, Y: []float64{1e-5, 4e-5, 1.6e-4}, Dots: true},
			{Name: "certified bound", X: []float64{1 << 20, 1 << 24}, Y: []float64{9e-6, 1.5e-4}, Dashed: true},
		},
	}
}

func bars() *Bars {
	return &Bars{Title: "allreduce", ValueName: "makespan", Unit: Seconds, Bound: 1e-4, BoundName: "bound, by volume",
		Bars: []Bar{{Name: "tacos", Value: 1e-4, Note: "optimal (volume)"}, {Name: "ring", Value: 6e-4, Note: "500.0% above", Detail: "none with 8 chunks is faster (distance)"}, {Name: "odd", Value: 2e-4, Note: "unknown", Pale: true}}}
}

func written(t *testing.T, f Figure, format string) []byte {
	var b bytes.Buffer
	require.NoError(t, f.Write(&b, format))
	return b.Bytes()
}

// words returns the texts of an SVG, which must be well-formed.
func texts(t *testing.T, svg []byte) (all []string) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	for in := ""; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, "%s", svg)
		switch x := token.(type) {
		case xml.StartElement:
			in = x.Name.Local
			require.NotContains(t, []string{"script", "foreignObject", "image"}, in)
		case xml.CharData:
			if in == "text" || in == "title" {
				if s := strings.TrimSpace(string(x)); s != "" {
					all = append(all, s)
				}
			}
		}
	}
}

// TestWrite: equal figures give equal files in each format, and say what they were told.
func TestWrite(t *testing.T) {
	for _, make := range []func() Figure{func() Figure { return lines() }, func() Figure { return bars() }} {
		for _, format := range formats {
			require.Equal(t, written(t, make(), format), written(t, make(), format), format)
		}
		_, err := png.Decode(bytes.NewReader(written(t, make(), "png")))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(written(t, make(), "pdf"), []byte("%PDF-")))
	}
	require.Subset(t, texts(t, written(t, lines(), "svg")), []string{"Makespan", "buffer", "makespan", "ring", "certified bound", "1 MiB", "4 MiB", "16 MiB", "10 µs", "100 µs"})
	require.Subset(t, texts(t, written(t, bars(), "svg")), []string{"allreduce", "makespan (µs)", "tacos", "ring", "odd", "optimal (volume)", "500.0% above", "none with 8 chunks is faster (distance)", "bound, by volume"})
}

// TestHostileText: what a file is called stays text.
func TestHostileText(t *testing.T) {
	const name = `<script>alert("1")</script> & </text>` + "\x00\xff\u202e"
	c, b := lines(), bars()
	c.Title, c.XName, c.Series[0].Name = name, name, name
	b.Title, b.Bars[0].Name, b.Bars[0].Note = name, name, name
	for _, f := range []Figure{c, b} {
		require.Contains(t, strings.Join(texts(t, written(t, f, "svg")), "\n"), `<script>alert("1")</script> & </text>`)
		for _, format := range formats {
			written(t, f, format)
		}
	}
	c.Title = strings.Repeat("a very long title ", 500)
	c.Series[0].Name = strings.Repeat("long", 1000)
	require.Less(t, len(written(t, c, "svg")), 1<<16)
}

// TestErrors: what cannot be drawn is refused, with its name.
func TestErrors(t *testing.T) {
	for want, change := range map[string]func(*Chart){
		"no series":                          func(c *Chart) { c.Series = nil },
		`series "ring": 2 and 3 values`:      func(c *Chart) { c.Series[0].X = c.Series[0].X[:2] },
		`series "ring": 0 and 0 values`:      func(c *Chart) { c.Series[0].X, c.Series[0].Y = nil, nil },
		`series "ring": no place for 0, `:    func(c *Chart) { c.Series[0].X[0] = 0 },
		`series "ring": no place for 1.0485`: func(c *Chart) { c.Series[0].Y[0] = math.NaN() },
		`no place for 1.6777216e+07, +Inf`:   func(c *Chart) { c.Series[0].Y[2] = math.Inf(1) },
		"no place for 1.048576e+06 of 1":     func(c *Chart) { c.Places = []string{"here"} },
	} {
		c := lines()
		change(c)
		require.ErrorContains(t, c.Write(io.Discard, "svg"), want)
	}
	for want, change := range map[string]func(*Bars){
		"no bars":                     func(b *Bars) { b.Bars = nil },
		`bar "ring": no place for -1`: func(b *Bars) { b.Bars[1].Value = -1 },
		"no place for a bound of NaN": func(b *Bars) { b.Bound = math.NaN() },
	} {
		b := bars()
		change(b)
		require.ErrorContains(t, b.Write(io.Discard, "svg"), want)
	}
	require.ErrorContains(t, lines().Write(io.Discard, "gif"), "want one of svg, png, pdf")
	_, err := Format("a/b.jpeg")
	require.EqualError(t, err, `a/b.jpeg: no figure is written as ".jpeg", want a name that ends in .svg, .png, .pdf`)
}

// TestPowerLaw: what grows to a power is fitted by it, and the legend says so.
func TestPowerLaw(t *testing.T) {
	s := Series{Name: "tacos", Fit: true}
	for _, n := range []float64{16, 64, 256, 1024} {
		s.X, s.Y = append(s.X, n), append(s.Y, 3e-9*math.Pow(n, 2.07))
	}
	c, e, ok := PowerLaw(s.X, s.Y)
	require.True(t, ok)
	require.InEpsilon(t, 3e-9, c, 1e-9)
	require.InEpsilon(t, 2.07, e, 1e-9)
	for _, x := range [][]float64{{0, 1, 2, 3}, {5, 5, 5, 5}} {
		_, _, ok = PowerLaw(x, s.Y)
		require.False(t, ok)
	}
	f := &Chart{Title: "Growth", XName: "ranks", YName: "time", YUnit: Seconds, LogX: true, LogY: true, Series: []Series{s}}
	require.Contains(t, texts(t, written(t, f, "svg")), "tacos (exponent 2.07)")
}

// TestAxes: ticks are round, labelled where there is room, and around all values.
func TestAxes(t *testing.T) {
	for _, a := range []*axis{
		newAxis("", Bytes, true, 3000, 5e9), newAxis("", Seconds, true, 2e-7, 3e-2), newAxis("", Plain, true, 3, 1000),
		newAxis("", Plain, true, 1, 1e9), newAxis("", Percent, false, 0, .37), newAxis("", Seconds, false, 0, 4.2e-5),
		newAxis("", Plain, false, 7, 7), newAxis("", Plain, true, 64, 64), newAxis("", BytesPerSecond, false, 0, 4e11),
	} {
		labels := 0
		for i, k := range a.ticks {
			require.True(t, a.low*(1-1e-9) <= k.Value && k.Value <= a.high*(1+1e-9), "%+v", a)
			require.True(t, i == 0 || k.Value > a.ticks[i-1].Value)
			if k.Label != "" {
				labels++
			}
		}
		require.GreaterOrEqual(t, labels, 2, "%+v", a)
		require.LessOrEqual(t, labels, 2*mostLabels, "%+v", a)
	}
	for v, want := range map[float64]string{1 << 20: "1 MiB", 3 << 30: "3 GiB", 1000: "1000 B"} {
		require.Equal(t, want, Bytes.Format(v))
	}
	require.Equal(t, "1.5 µs", Seconds.Format(1.5e-6))
}

package chart

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPNG asks for dots of a drawing: two for each pixel.
func TestPNG(t *testing.T) {
	draw := func(body string) (func(x, y int) color.NRGBA, error) {
		var b bytes.Buffer
		err := PNG(&b, []byte(`<svg xmlns="x" width="40" height="20" font-size="10" fill="#1b1f24"><title>no</title><rect x="0" y="0" width="40" height="20" fill="#ffffff"/>`+body+`</svg>`))
		if err != nil {
			return nil, err
		}
		picture, err := png.Decode(&b)
		require.NoError(t, err)
		require.Equal(t, 80, picture.Bounds().Dx())
		require.Equal(t, 40, picture.Bounds().Dy())
		return func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(picture.At(2*x, 2*y)).(color.NRGBA) }, nil
	}
	white, red := color.NRGBA{255, 255, 255, 255}, color.NRGBA{255, 0, 0, 255}
	for body, want := range map[string]map[[2]int]color.NRGBA{
		`<rect x="10" y="2" width="10" height="6" fill="#ff0000"/>`:                      {{12, 4}: red, {12, 10}: white, {25, 4}: white},
		`<circle cx="10" cy="10" r="5" fill="#ff0000"/>`:                                 {{10, 10}: red, {13, 10}: red, {16, 10}: white},
		`<path d="M2 2h10v10h-10z" fill="#ff0000"/>`:                                     {{5, 5}: red, {15, 5}: white},
		`<path d="M2 10Q20 10 38 10" fill="none" stroke="#ff0000" stroke-width="4"/>`:    {{20, 10}: red, {20, 15}: white},
		`<line x1="0" y1="10" x2="40" y2="10" stroke="#ff0000" stroke-width="4"/>`:       {{20, 10}: red, {20, 3}: white},
		`<g opacity="0.5"><rect x="0" y="0" width="40" height="20" fill="#000000"/></g>`: {{20, 10}: {127, 127, 127, 255}},
		`<defs><rect x="0" y="0" width="40" height="20" fill="#000000"/></defs>`:         {{20, 10}: white},
		`<path d="M0 10l20 0 0 10-20 0z" fill="#ff0000"/>`:                               {{10, 15}: red, {30, 15}: white},
	} {
		at, err := draw(body)
		require.NoError(t, err, body)
		for p, c := range want {
			got := at(p[0], p[1])
			require.InDelta(t, c.R, got.R, 2, "%s at %v", body, p)
			require.InDelta(t, c.G, got.G, 2, "%s at %v", body, p)
		}
	}
	at, err := draw(`<text x="20" y="16" text-anchor="middle" font-size="16" fill="#ff0000">MMM</text>`)
	require.NoError(t, err)
	inked := 0
	for x := range 40 {
		for y := range 20 {
			if at(x, y) != white {
				inked++
			}
		}
	}
	require.Greater(t, inked, 60)
	for _, bad := range []string{`<image/>`, `<path d="A1 2"/>`, `<path d="M1"/>`} {
		_, err := draw(bad)
		require.Error(t, err, bad)
	}
	require.ErrorContains(t, PNG(&bytes.Buffer{}, []byte(`<svg width="100000" height="100000"/>`)), "write .svg")
	require.Error(t, PNG(&bytes.Buffer{}, nil))
}

package view

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"

	"encoding/base64"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
)

// block is how many pixels of a canvas, either way, become one of the picture that is
// compared: text, which depends on the fonts, all but vanishes in it.
const block = 16

// tolerance is how far, of 255, the mean of all blocks may be from the committed picture,
// and outliers how many of them, in a thousand, may be further off than farOff.
const (
	tolerance = 4
	farOff    = 40
	outliers  = 10
)

// canvases returns what is drawn on the three canvases, on the page's background, a mean a
// block, one below the other.
func canvases(t testing.TB, b *browser.Tab) *image.RGBA {
	t.Helper()
	var parts []*image.RGBA
	width, height := 0, 0
	for _, id := range []string{"network", "held", "timeline"} {
		url := browser.Value[string](b, `(() => {
			const c = document.getElementById("`+id+`"), o = document.createElement("canvas"), g = o.getContext("2d");
			o.width = c.width; o.height = c.height;
			g.fillStyle = getComputedStyle(document.body).backgroundColor;
			g.fillRect(0, 0, o.width, o.height);
			g.drawImage(c, 0, 0);
			return o.toDataURL("image/png");
		})()`)
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:image/png;base64,"))
		require.NoError(t, err)
		full, err := png.Decode(bytes.NewReader(raw))
		require.NoError(t, err)
		part := means(full)
		parts = append(parts, part)
		width, height = max(width, part.Rect.Dx()), height+part.Rect.Dy()
	}
	all := image.NewRGBA(image.Rect(0, 0, width, height))
	y := 0
	for _, part := range parts {
		for v := range part.Rect.Dy() {
			for u := range part.Rect.Dx() {
				all.SetRGBA(u, y+v, part.RGBAAt(u, v))
			}
		}
		y += part.Rect.Dy()
	}
	return all
}

func means(full image.Image) *image.RGBA {
	r := full.Bounds()
	small := image.NewRGBA(image.Rect(0, 0, r.Dx()/block, r.Dy()/block))
	for v := range small.Rect.Dy() {
		for u := range small.Rect.Dx() {
			var sum [3]uint32
			for y := range block {
				for x := range block {
					red, green, blue, _ := full.At(r.Min.X+u*block+x, r.Min.Y+v*block+y).RGBA()
					sum[0], sum[1], sum[2] = sum[0]+red>>8, sum[1]+green>>8, sum[2]+blue>>8
				}
			}
			small.SetRGBA(u, v, color.RGBA{uint8(sum[0] / block / block), uint8(sum[1] / block / block), uint8(sum[2] / block / block), 255})
		}
	}
	return small
}

// apart returns how far two pictures are apart, of 255, and how many blocks of a thousand
// are further apart than farOff. Of different sizes they are as far apart as can be.
func apart(a, b *image.RGBA) (mean, far float64) {
	if a.Rect != b.Rect {
		return 255, 1000
	}
	n := float64(a.Rect.Dx() * a.Rect.Dy())
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			p, q := a.RGBAAt(x, y), b.RGBAAt(x, y)
			d := max(max(p.R, q.R)-min(p.R, q.R), max(p.G, q.G)-min(p.G, q.G), max(p.B, q.B)-min(p.B, q.B))
			mean += float64(d) / n
			if d > farOff {
				far += 1000 / n
			}
		}
	}
	return mean, far
}

func same(a, b *image.RGBA) bool {
	mean, far := apart(a, b)
	return mean <= tolerance && far <= outliers
}

// TestPixels compares what is drawn with pictures that are committed; UPDATE=1 writes them.
// What must be different is compared, too, so that the tolerance is known to be none for
// what matters.
func TestPixels(t *testing.T) {
	b := browser.Open(t, write(t, rotation(t, 8)), "light")
	drawn := map[string]*image.RGBA{}
	at(b, 0.5)
	drawn["light-half"] = canvases(t, b)
	at(b, 1)
	drawn["light-end"] = canvases(t, b)
	b.Press("d")
	drawn["dark-end"] = canvases(t, b)
	for name, picture := range drawn {
		file := "testdata/pixels/" + name + ".png"
		if os.Getenv("UPDATE") != "" {
			var out bytes.Buffer
			require.NoError(t, png.Encode(&out, picture))
			require.NoError(t, os.MkdirAll("testdata/pixels", 0o755))
			require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
		}
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		decoded, err := png.Decode(bytes.NewReader(raw))
		require.NoError(t, err)
		want := image.NewRGBA(decoded.Bounds())
		for y := range want.Rect.Dy() {
			for x := range want.Rect.Dx() {
				want.Set(x, y, decoded.At(x, y))
			}
		}
		mean, far := apart(want, picture)
		require.True(t, same(want, picture), "%s: %.1f of 255 off in the mean, %.1f blocks of a thousand far off", name, mean, far)
		for other, p := range drawn {
			require.Equal(t, name == other, same(want, p), "%s is told from %s", name, other)
		}
	}
}

// mostly returns the most frequent colours of a picture, 256 of them, the last being some of
// those that are given so that no colour is far from all.
func mostly(count map[[3]uint8]int, rest []color.Color) color.Palette {
	all := make([][3]uint8, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b [3]uint8) int { return cmp.Or(cmp.Compare(count[b], count[a]), slices.Compare(a[:], b[:])) })
	var p color.Palette
	for _, c := range all[:min(len(all), 200)] {
		p = append(p, color.RGBA{c[0], c[1], c[2], 255})
	}
	for i := 0; len(p) < 256 && i < len(rest); i += 4 {
		p = append(p, rest[i])
	}
	return p
}

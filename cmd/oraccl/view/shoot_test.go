package view

import (
	"bufio"
	"bytes"
	"image"
	"image/color/palette"
	"image/draw"
	"image/png"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/browser"
)

// TestShoot takes the pictures that the file named by ORACCL_SHOOT lists, a line each: the
// page, the picture to write, the theme, the part of the makespan at which the slider is, and
// if it is to be the whole page, its width in pixels. It is what screenshots.sh runs; without
// the variable there is nothing to take.
func TestShoot(t *testing.T) {
	list := os.Getenv("ORACCL_SHOOT")
	if list == "" {
		t.Skip("left out: ORACCL_SHOOT names no list of pictures to take")
	}
	f, err := os.Open(list)
	require.NoError(t, err)
	defer f.Close()
	taken := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		require.Contains(t, []int{4, 5}, len(words), lines.Text())
		part, err := strconv.ParseFloat(words[3], 64)
		require.NoError(t, err)
		b := browser.Open(t, words[0], words[2])
		at(b, part)
		var shot []byte
		if len(words) == 5 {
			width, err := strconv.ParseInt(words[4], 10, 64)
			require.NoError(t, err)
			shot = b.Whole(width)
		} else {
			shot, err = chromedp.Run(b.Context, chromedp.CaptureScreenshot())
			require.NoError(t, err)
		}
		require.NoError(t, os.WriteFile(words[1], small(t, shot), 0o644))
		taken++
	}
	require.Positive(t, taken)
}

// at moves the slider to a part of the makespan, where it is not already. Less than 0
// leaves it where it is.
func at(b *browser.Tab, part float64) {
	if part >= 0 {
		browser.Value[bool](b, "(oracclView.setTime("+strconv.FormatFloat(part, 'f', -1, 64)+" * oracclView.head.horizon), true)")
	}
	b.Frame()
}

// small returns a picture in 256 colours, to keep files small.
func small(t testing.TB, shot []byte) []byte {
	full, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	count := map[[3]uint8]int{}
	r := full.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			red, green, blue, _ := full.At(x, y).RGBA()
			count[[3]uint8{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8)}]++
		}
	}
	picture := image.NewPaletted(r, mostly(count, palette.WebSafe))
	draw.Draw(picture, r, full, r.Min, draw.Src)
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture))
	return b.Bytes()
}

package diagram

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

func drawn(t testing.TB, tp *model.Topology) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, SVG(&out, tp))
	d := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	return out.String()
}

// TestDrawn: all topologies that can be named are drawn, with every node at a place of its own.
func TestDrawn(t *testing.T) {
	place := regexp.MustCompile(`<g><title>[^<]*</title><rect x="(\d+)" y="(\d+)"`)
	for _, name := range []string{"ring:4", "torus:4x4", "fattree:4x4x2", "dgx1", "dgx2:2", "dgxh100:9", "mi250", "dragonfly:3x2x2", "switch:40", "ndv2:2", "gb200-nvls:nvl72"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		text := drawn(t, tp)
		at := map[string]bool{}
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			at[m[1]+","+m[2]] = true
		}
		require.Len(t, at, tp.Nodes(), name)
	}
}

func TestMachinesAreBoxes(t *testing.T) {
	tp, err := topo.Parse("dgxh100:2", topo.Options{})
	require.NoError(t, err)
	text := drawn(t, tp)
	require.Equal(t, 1, strings.Count(text, ">machine 1<"))
	require.NotContains(t, text, ">machine 2<")
	require.Contains(t, text, "50.000 GB/s each way")
}

// TestNamesAreText: names cannot write elements.
func TestNamesAreText(t *testing.T) {
	tp := &model.Topology{Name: `<script>"&`, Ranks: 1, Switches: []model.Switch{{Name: `<a b="c">`}}, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}, {Src: 1, Dst: 0, Bandwidth: 1}}}
	text := drawn(t, tp)
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "<a ")
}

func TestTooLarge(t *testing.T) {
	require.ErrorContains(t, SVG(io.Discard, &model.Topology{Name: "x", Ranks: MaxNodes + 1}), "want at most 2048 for a picture")
}

package chart

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeat: a field for each value, darker the larger it is; equal maps give equal files.
func TestHeat(t *testing.T) {
	fresh := func() *Heat {
		h := &Heat{Title: "Gaps", Most: 20}
		h.Set("ring:8 allgather", "small", "64KiB", 0)
		h.Set("ring:8 allgather", "large", "1GiB", 12.5)
		h.Set("dgx1 allreduce", "small", "64KiB", 80)
		return h
	}
	for _, format := range formats {
		var a, b bytes.Buffer
		require.NoError(t, fresh().Write(&a, format))
		require.NoError(t, fresh().Write(&b, format))
		require.Equal(t, a.Bytes(), b.Bytes(), format)
	}
	var svg bytes.Buffer
	require.NoError(t, fresh().Write(&svg, "svg"))
	for _, text := range []string{"ring:8 allgather", "dgx1 allreduce", "64KiB", "1GiB", "small", "large", ">0<", ">12.5<", ">80<", "fill:#FFFFFF", "fill:#0072B2", "fill:#B0B0B0", "<title>Gaps</title>"} {
		require.True(t, strings.Contains(svg.String(), text), text)
	}

	svg.Reset()
	plain := fresh()
	plain.Plain = true
	require.NoError(t, plain.Write(&svg, "svg"))
	require.Contains(t, svg.String(), "fill:#0072B2")
	require.NotContains(t, svg.String(), ">12.5<")

	require.ErrorContains(t, (&Heat{Title: "x", Most: 1}).Write(&svg, "svg"), `chart "x": no fields`)
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		h := &Heat{Title: "x", Most: 1}
		h.Set("a", "", "b", v)
		require.ErrorContains(t, h.Write(&svg, "svg"), "field a, b: no colour for")
	}
}

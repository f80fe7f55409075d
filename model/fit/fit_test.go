package fit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// points are exact times, with a relative error.
func points(alpha, beta, noise float64, seed uint64, sizes ...float64) []Point {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []Point
	for _, b := range sizes {
		all = append(all, Point{Bytes: b, Seconds: (alpha + beta*b) * (1 + noise*r.NormFloat64())})
	}
	return all
}

func doublings(from, to float64) (all []float64) {
	for b := from; b <= to; b *= 2 {
		all = append(all, b)
	}
	return all
}

func TestExact(t *testing.T) {
	f, err := Points(points(5e-6, 4e-11, 0, 1, doublings(8, 1<<30)...))
	require.NoError(t, err)
	require.InEpsilon(t, 5e-6, f.Alpha(), 1e-9)
	require.InEpsilon(t, 4e-11, f.Line.Beta, 1e-9)
	require.Nil(t, f.Small)
	require.Empty(t, f.Outliers)
}

// TestIntervals: of many noisy tables, the intervals hold the truth in about 95 of 100.
func TestIntervals(t *testing.T) {
	held := 0
	const runs = 400
	for seed := range uint64(runs) {
		l, err := line(points(5e-6, 4e-11, 0.02, seed, doublings(8, 1<<30)...))
		require.NoError(t, err)
		if math.Abs(l.Beta-4e-11) <= l.BetaOff {
			held++
		}
	}
	require.InDelta(t, 0.95, float64(held)/runs, 0.04)
}

func TestKnee(t *testing.T) {
	all := append(points(3e-6, 2e-10, 0.005, 3, doublings(64, 32<<10)...), points(20e-6, 2.5e-11, 0.005, 4, doublings(1<<20, 1<<30)...)...)
	f, err := Points(all)
	require.NoError(t, err)
	require.NotNil(t, f.Small)
	require.EqualValues(t, 1<<20, f.Knee)
	require.InEpsilon(t, 3e-6, f.Alpha(), 0.05)
	require.InEpsilon(t, 2.5e-11, f.Line.Beta, 0.05)
}

func TestOutlier(t *testing.T) {
	all := points(5e-6, 4e-11, 0.003, 5, doublings(1024, 1<<30)...)
	all[10].Seconds *= 1.8
	f, err := Points(all)
	require.NoError(t, err)
	require.Len(t, f.Outliers, 1)
	require.InEpsilon(t, 4e-11, f.Line.Beta, 0.02)
}

func TestRefused(t *testing.T) {
	_, err := Points(points(5e-6, 4e-11, 0, 1, 8, 16))
	require.ErrorContains(t, err, "2 sizes, want at least 3")
	_, err = Points(points(5e-6, 0, 0.01, 1, 1024, 1048576, 1<<30))
	if err == nil {
		t.Log("a slope was found in noise")
	}
	var wild []Point
	for i, b := range doublings(1024, 1<<24) {
		wild = append(wild, Point{Bytes: b, Seconds: []float64{1e-3, 1e-5, 4e-4}[i%3]})
	}
	_, err = Points(wild)
	require.Error(t, err)
	_, err = Points([]Point{{Bytes: 1, Seconds: 3}, {Bytes: 2, Seconds: 2}, {Bytes: 3, Seconds: 1}})
	require.ErrorContains(t, err, "larger messages take no longer")
}

// TestMedian: no line through two of the points has a smaller sum of relative distances, and a fifth of
// the points far off hardly moves it.
func TestMedian(t *testing.T) {
	sum := func(points []Point, l *Line) (s float64) {
		for _, p := range points {
			s += math.Abs(p.Seconds-l.At(p.Bytes)) / p.Seconds
		}
		return s
	}
	for seed := range uint64(60) {
		all := points(5e-6, 4e-11, 0.2, seed, doublings(1<<10, 1<<26)...)
		all = append(all, points(5e-6, 4e-11, 0.2, seed+1000, doublings(1<<16, 1<<24)...)...)
		best := math.Inf(1)
		for i := range all {
			for k := range i {
				if all[i].Bytes != all[k].Bytes {
					b := (all[i].Seconds - all[k].Seconds) / (all[i].Bytes - all[k].Bytes)
					best = min(best, sum(all, &Line{Alpha: all[i].Seconds - b*all[i].Bytes, Beta: b}))
				}
			}
		}
		require.InEpsilon(t, best, sum(all, Median(all)), 1e-9, "seed %d", seed)
	}
	all := points(5e-6, 4e-11, 0.003, 5, doublings(1024, 1<<30)...)
	for _, i := range []int{3, 9, 15} {
		all[i].Seconds *= 6
	}
	require.InEpsilon(t, 4e-11, Median(all).Beta, 0.01)
	f, err := Points(all)
	require.NoError(t, err)
	require.Len(t, f.Outliers, 3)
	require.InEpsilon(t, 4e-11, f.Line.Beta, 0.01)
}

// FuzzPoints fits any points: what comes out has a bandwidth, and figures that are numbers.
func FuzzPoints(f *testing.F) {
	for _, all := range [][]Point{points(5e-6, 4e-11, 0.02, 1, doublings(8, 1<<20)...), points(5e-6, 0, 0, 1, 8, 8, 9)} {
		var b []byte
		for _, p := range all {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Bytes))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Seconds))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var all []Point
		for ; len(b) >= 16; b = b[16:] {
			p := Point{Bytes: math.Float64frombits(binary.LittleEndian.Uint64(b)), Seconds: math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}
			if p.Bytes >= 0 && p.Bytes < 1e18 && p.Seconds > 1e-12 && p.Seconds < 1e9 { // as readers have them
				all = append(all, p)
			}
		}
		x, err := Points(all)
		if err != nil {
			return
		}
		require.Positive(t, x.Line.Beta)
		require.False(t, math.IsNaN(x.Alpha()) || math.IsInf(x.Alpha(), 0) || math.IsNaN(x.Median.Beta) || math.IsNaN(x.Line.RMS))
		require.LessOrEqual(t, len(x.Outliers), len(all)/5)
		require.Len(t, all, len(x.Kept)+len(x.Outliers))
	})
}

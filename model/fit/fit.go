// Package fit finds the latency and bandwidth of links from measurements: the time of a message is
// α + β·bytes along its route (Hockney, "The communication challenge for MPP", Parallel Computing 20,
// 1994). It is least squares with the relative errors, so that small messages count as much as
// large ones, and beside it median regression; what lies far off is left out and named, and where small and large messages follow
// different lines, as those of different protocols do, the two are told apart. A line that does not
// explain the data is no result.
package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Point is the time of a message.
type Point struct {
	Bytes, Seconds float64
	Name           string // where it was found
}

// Line is α + β·bytes with its 95 % confidence intervals.
type Line struct {
	Alpha, Beta       float64 // seconds, and seconds per byte
	AlphaOff, BetaOff float64 // half of the intervals
	RMS               float64 // of the relative residuals
	Points            int
}

// At returns the time of a message.
func (l *Line) At(bytes float64) float64 { return l.Alpha + l.Beta*bytes }

// Residual returns how far a point is above the line, relative to the line.
func (l *Line) Residual(p Point) float64 { return p.Seconds/l.At(p.Bytes) - 1 }

// Fit is what was found of some points.
type Fit struct {
	Line     Line    // of all points, or of the large ones where there is a knee
	Median   Line    // of the same points by median regression, without intervals
	Small    *Line   // of the messages below Knee
	Knee     float64 // bytes of the first large message; 0: none
	Outliers []Point
	Kept     []Point
}

// Alpha returns the latency: that of small messages, since that is what they need.
func (f *Fit) Alpha() float64 {
	if f.Small != nil {
		return max(0, f.Small.Alpha)
	}
	return max(0, f.Line.Alpha)
}

// MaxRMS is the largest root mean square of relative residuals that a fit may have.
const MaxRMS = 0.15

// least is how many points of different sizes a line needs.
const least = 3

// Points fits points. A fit that does not explain them is an error that tells by how much.
func Points(points []Point) (*Fit, error) {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.Bytes, b.Bytes) })
	if n := sizes(points); n < least {
		return nil, fmt.Errorf("%d sizes, want at least %d", n, least)
	}
	f := &Fit{Kept: points}
	if err := f.run(); err != nil {
		return nil, err
	}
	if far := far(points, Median(points)); f.Line.RMS > 0.03 && len(far) > 0 && len(far) <= len(points)/5 { // which least squares would follow
		kept := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return slices.Contains(far, p) })
		g := &Fit{Kept: kept, Outliers: far}
		if sizes(kept) >= least && g.run() == nil && g.Line.RMS < f.Line.RMS {
			f = g
		}
	}
	for round := 0; round < 3; round++ { // what is far off, a fifth of the points at most
		far := f.far()
		if len(far) == 0 || len(f.Outliers)+len(far) > len(points)/5 {
			break
		}
		kept := slices.DeleteFunc(slices.Clone(f.Kept), func(p Point) bool { return slices.Contains(far, p) })
		if sizes(kept) < least {
			break
		}
		g := &Fit{Kept: kept, Outliers: append(f.Outliers, far...)}
		if err := g.run(); err != nil {
			break
		}
		f = g
	}
	switch {
	case f.Line.Beta <= 0:
		return nil, fmt.Errorf("larger messages take no longer (β = %.3g s per byte): there is no bandwidth to be found", f.Line.Beta)
	case f.Line.RMS > MaxRMS:
		return nil, fmt.Errorf("α + β·bytes does not explain the data: the residuals are %.0f %% (root mean square), more than %.0f %%", 100*f.Line.RMS, 100*MaxRMS)
	case f.Small != nil && f.Small.RMS > MaxRMS:
		return nil, fmt.Errorf("α + β·bytes does not explain the messages below %.0f bytes: the residuals are %.0f %%, more than %.0f %%", f.Knee, 100*f.Small.RMS, 100*MaxRMS)
	}
	return f, nil
}

func sizes(points []Point) int {
	n := 0
	for i, p := range points {
		if i == 0 || p.Bytes != points[i-1].Bytes {
			n++
		}
	}
	return n
}

// run fits one line and, where that is much better, two.
func (f *Fit) run() error {
	one, err := line(f.Kept)
	if err != nil {
		return err
	}
	f.Line, f.Median = *one, *Median(f.Kept)
	if one.RMS < 0.03 {
		return nil
	}
	best := one.RMS * one.RMS * float64(one.Points) / 3
	for i := 1; i < len(f.Kept); i++ {
		if f.Kept[i].Bytes == f.Kept[i-1].Bytes || sizes(f.Kept[:i]) < 4 || sizes(f.Kept[i:]) < 4 {
			continue
		}
		small, err1 := line(f.Kept[:i])
		large, err2 := line(f.Kept[i:])
		if errors.Join(err1, err2) != nil || large.Beta <= 0 {
			continue
		}
		if sum := small.RMS*small.RMS*float64(small.Points) + large.RMS*large.RMS*float64(large.Points); sum < best {
			best, f.Small, f.Line, f.Knee = sum, small, *large, f.Kept[i].Bytes
			f.Median = *Median(f.Kept[i:])
		}
	}
	return nil
}

// far returns the points that are far from their line: by 5 times the median distance, and 5 %.
func (f *Fit) far() []Point {
	distance := func(p Point) float64 {
		l := &f.Line
		if f.Small != nil && p.Bytes < f.Knee {
			l = f.Small
		}
		return math.Abs(l.Residual(p))
	}
	var all []float64
	for _, p := range f.Kept {
		all = append(all, distance(p))
	}
	slices.Sort(all)
	limit := max(0.05, 5*1.4826*all[len(all)/2])
	var far []Point
	for _, p := range f.Kept {
		if distance(p) > limit {
			far = append(far, p)
		}
	}
	return far
}

// far returns the points that are far from a line: by 5 times the median distance, and 5 %.
func far(points []Point, l *Line) (all []Point) {
	var distances []float64
	for _, p := range points {
		distances = append(distances, math.Abs(l.Residual(p)))
	}
	limit := max(0.05, 5*1.4826*middle(distances))
	for i, p := range points {
		if distances[i] > limit {
			all = append(all, p)
		}
	}
	return all
}

func middle(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// Median returns the line for which the sum of the relative distances of all points is least: quantile regression for the
// median (Koenker and Bassett, "Regression quantiles", Econometrica 46, 1978), which a few points far off do not move.
// Such a line passes through two points. It is found by descent: of the lines through a point the best
// one is that of a weighted median of slopes, and passes through another point, which is the next. It
// takes O(n·log n) time for each of a few steps. Points must have two sizes at least.
func Median(points []Point) *Line {
	sum := func(a, b float64) (s float64) {
		for _, p := range points {
			s += math.Abs(p.Seconds-a-b*p.Bytes) / p.Seconds
		}
		return s
	}
	type slope struct {
		b, weight float64
		point     int
	}
	through := func(i int) (a, b float64, next int) { // the best line through a point
		at := points[i]
		var list []slope
		total := 0.0
		for k, p := range points {
			if x := p.Bytes - at.Bytes; x != 0 {
				w := math.Abs(x) / p.Seconds
				list = append(list, slope{(p.Seconds - at.Seconds) / x, w, k})
				total += w
			}
		}
		slices.SortFunc(list, func(x, y slope) int { return cmp.Compare(x.b, y.b) })
		so := 0.0
		for _, x := range list {
			if so += x.weight; so >= total/2 {
				return at.Seconds - x.b*at.Bytes, x.b, x.point
			}
		}
		return at.Seconds, 0, i
	}
	best, bestSum := &Line{Points: len(points)}, math.Inf(1)
	for start := 0; start < len(points); start += max(1, len(points)/8) { // from several points, since ties may end a descent early
		at, last := start, math.Inf(1)
		for range len(points) {
			a, b, next := through(at)
			s := sum(a, b)
			if s < bestSum {
				best.Alpha, best.Beta, bestSum = a, b, s
			}
			if s >= last {
				break
			}
			at, last = next, s
		}
	}
	sq := 0.0
	for _, p := range points {
		r := (p.Seconds - best.At(p.Bytes)) / p.Seconds
		sq += r * r
	}
	best.RMS = math.Sqrt(sq / float64(len(points)))
	return best
}

// line is the line of least squares with weights 1/seconds².
func line(points []Point) (*Line, error) {
	var w, x, y, xx, xy float64
	for _, p := range points {
		k := 1 / (p.Seconds * p.Seconds)
		w, x, y, xx, xy = w+k, x+k*p.Bytes, y+k*p.Seconds, xx+k*p.Bytes*p.Bytes, xy+k*p.Bytes*p.Seconds
	}
	det := w*xx - x*x
	if !(det > 1e-12*w*xx) {
		return nil, errors.New("the sizes are too much alike for a line")
	}
	l := &Line{Alpha: (xx*y - x*xy) / det, Beta: (w*xy - x*y) / det, Points: len(points)}
	sum := 0.0
	for _, p := range points {
		r := (p.Seconds - l.At(p.Bytes)) / p.Seconds
		sum += r * r
	}
	l.RMS = math.Sqrt(sum / float64(len(points)))
	if n := len(points) - 2; n > 0 {
		s := sum / float64(n)
		t := student(n)
		l.AlphaOff, l.BetaOff = t*math.Sqrt(s*xx/det), t*math.Sqrt(s*w/det)
	}
	return l, nil
}

// student returns the 97.5 % quantile of Student's distribution, by the expansion of Cornish and Fisher
// where it is exact to 1 %, and from a table below.
func student(n int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if n <= len(table) {
		return table[n-1]
	}
	const z = 1.959964
	v := float64(n)
	return z + (z*z*z+z)/(4*v) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*v*v)
}

package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Unit is what the values of an axis are, and so how its ticks are written.
type Unit int

const (
	Plain          Unit = iota // numbers
	Bytes                      // bytes: KiB, MiB, ...
	Seconds                    // seconds: ps, ns, µs, ms, s
	BytesPerSecond             // bytes per second: kB/s, MB/s, ...
	Percent                    // shares of one
)

// prefixes are what a unit is written in, from the smallest.
var prefixes = map[Unit][]struct {
	scale float64
	name  string
}{
	Plain:          {{1, ""}},
	Bytes:          {{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}},
	Seconds:        {{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}},
	BytesPerSecond: {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}},
	Percent:        {{1e-2, "%"}},
}

// prefix returns the largest prefix of u that is no larger than v, and its name.
func (u Unit) prefix(v float64) (scale float64, name string) {
	all := prefixes[u]
	scale, name = all[0].scale, all[0].name
	for _, p := range all {
		if p.scale <= math.Abs(v)*(1+1e-9) {
			scale, name = p.scale, p.name
		}
	}
	return scale, name
}

// Format writes a value with its unit, to four digits.
func (u Unit) Format(v float64) string {
	scale, name := u.prefix(v)
	if name != "" {
		name = " " + name
	}
	return strconv.FormatFloat(round(v/scale, 4), 'f', -1, 64) + name
}

// round keeps the first digits of v.
func round(v float64, digits int) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return v
}

// axis is a range of values with its ticks; those without a label are small ones.
type axis struct {
	name      string
	low, high float64
	log       bool
	ticks     []plot.Tick
}

// newAxis returns an axis that ends at ticks around low and high.
func newAxis(name string, u Unit, log bool, low, high float64) *axis {
	a := &axis{name: name, low: low, high: high, log: log}
	switch {
	case !log:
		a.linear(u)
	case u == Bytes || u == Plain && high/low <= 1<<mostDoublings:
		a.doublings(u)
	default:
		a.decades(u)
	}
	return a
}

// mostLabels is how many labels an axis has room for, mostDoublings how many doublings it
// spans before it has powers of ten.
const mostLabels, mostDoublings = 8, 12

// linear has ticks 1, 2 or 5 times a power of ten of one unit apart, which the name tells.
func (a *axis) linear(u Unit) {
	scale, unit := u.prefix(max(math.Abs(a.low), math.Abs(a.high)))
	if unit != "" {
		a.name += " (" + unit + ")"
	}
	low, high := a.low/scale, a.high/scale
	if size := max(math.Abs(low), math.Abs(high)); high-low <= 1e-6*size || size == 0 {
		low, high = low-max(size, 1)/2, high+max(size, 1)/2
		if a.low >= 0 {
			low = max(0, low)
		}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, f := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*f) <= mostLabels {
			step *= f
			break
		}
	}
	first, last := math.Floor(low/step+1e-9), math.Ceil(high/step-1e-9)
	for k := range int(last-first) + 1 {
		v := round((first+float64(k))*step, 12)
		a.ticks = append(a.ticks, plot.Tick{Value: v * scale, Label: label(v)})
	}
	a.low, a.high = first*step*scale, last*step*scale
}

// label writes the number at a tick.
func label(v float64) string {
	if v == 0 {
		return "0"
	}
	if m := math.Abs(v); m >= 1e7 || m < 1e-4 {
		return strconv.FormatFloat(round(v, 9), 'g', -1, 64)
	}
	return strconv.FormatFloat(round(v, 9), 'f', -1, 64)
}

// doublings has ticks at powers of two, with a label at each, each second, fifth or tenth.
func (a *axis) doublings(u Unit) {
	first, last := int(math.Floor(math.Log2(a.low)+1e-9)), int(math.Ceil(math.Log2(a.high)-1e-9))
	if first == last {
		first, last = first-1, last+1
	}
	every := 1
	for _, every = range []int{1, 2, 5, 10, 20, 40, 80} {
		if (last-first)/every < mostLabels {
			break
		}
	}
	for k := first; k <= last; k++ {
		t := plot.Tick{Value: math.Ldexp(1, k)}
		if k%every == 0 {
			t.Label = u.Format(t.Value)
			if u == Plain {
				t.Label = label(t.Value)
			}
		}
		a.ticks = append(a.ticks, t)
	}
	a.low, a.high = math.Ldexp(1, first), math.Ldexp(1, last)
}

// decades has labels at powers of ten, or where those are few at 1, 2 and 5 times them, and
// ends at such numbers.
func (a *axis) decades(u Unit) {
	first := int(math.Floor(math.Log10(a.low) + 1e-9))
	last := int(math.Ceil(math.Log10(a.high) - 1e-9))
	last = max(last, first+1)
	few := math.Log10(a.high/a.low) < 2
	every := 1 + (last-first-1)/mostLabels
	low, high := a.low, a.high
	a.low, a.high = power(first), power(last)
	for k := first; k <= last; k++ {
		for m := 1; m <= 9 && (k < last || m == 1); m++ {
			v := float64(m) * power(k)
			if m == 1 || m == 2 || m == 5 {
				if v <= low*(1+1e-9) {
					a.low = v
				}
				if v >= high*(1-1e-9) && v < a.high && v > a.low {
					a.high = v
				}
			}
			t := plot.Tick{Value: v}
			if m == 1 && k%every == 0 || few && (m == 2 || m == 5) {
				t.Label = u.Format(v)
				if u == Plain {
					t.Label = label(v)
				}
			}
			if every == 1 || m == 1 {
				a.ticks = append(a.ticks, t)
			}
		}
	}
	inside := a.ticks[:0]
	for _, t := range a.ticks {
		if a.low*(1-1e-9) <= t.Value && t.Value <= a.high*(1+1e-9) {
			inside = append(inside, t)
		}
	}
	a.ticks = inside
}

// power is the power of ten nearest to 10^k.
func power(k int) float64 {
	v, _ := strconv.ParseFloat("1e"+strconv.Itoa(k), 64)
	return v
}

// placesAxis is the axis of the named places, the first uppermost.
func (c *Chart) placesAxis() *axis {
	a := &axis{low: -.5, high: float64(len(c.Places)) - .5}
	for i, name := range c.Places {
		a.ticks = append(a.ticks, plot.Tick{Value: c.place(float64(i)), Label: named(name, mostName)})
	}
	return a
}

// set gives an axis of a plot what a says.
func (a *axis) set(to *plot.Axis) {
	to.Min, to.Max = a.low, a.high
	to.Tick.Marker = plot.ConstantTicks(a.ticks)
	to.Tick.Length = vg.Points(5)
	to.Padding = 0
	if a.log {
		to.Scale = plot.LogScale{}
	}
}

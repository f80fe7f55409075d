package instance

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Range is a figure of links that is known within a range alone: a value of --alpha or --bandwidth, for
// all links, those of a dimension or of a class.
type Range struct {
	Words      string // as it was given: "--alpha nic=1us..2us"
	Fast, Slow int64  // picoseconds, least first, or bytes per second, most first
	flag       string
	at         int // in the list of the flag
	class      string
}

// Middle is the value in the middle.
func (r Range) Middle() int64 { return r.Fast + (r.Slow-r.Fast)/2 }

// Quantity writes a value as the flag takes it.
func (r Range) Quantity(value int64) string {
	if r.flag == "bandwidth" {
		return fmt.Sprintf("%dB/s", value)
	}
	return fmt.Sprintf("%dps", value)
}

// Refused is the error of what has no use for a range.
func (r Range) Refused() error {
	return fmt.Errorf("%s: want one value: this is about one network; ranges are for bound, and for gap, which has schedules in files as rows, too (--schedule)", r.Words)
}

// maxRanges is how many ranges there may be.
const maxRanges = 4

// Ranges returns the ranges in the flags, "600ns..900ns" or "nic=20GB/s..25GB/s".
func (f *Flags) Ranges() (all []Range, err error) {
	for _, x := range []struct {
		flag, value string
		parse       func(string) (int64, error)
	}{
		{"alpha", f.Alpha, func(s string) (int64, error) { t, err := model.ParseTime(s); return int64(t), err }},
		{"bandwidth", f.Bandwidth, model.ParseRate},
	} {
		for i, part := range List(x.value) {
			from, to, ok := strings.Cut(part, "..")
			if !ok {
				continue
			}
			r := Range{Words: "--" + x.flag + " " + part, flag: x.flag, at: i}
			if class, value, named := strings.Cut(from, "="); named {
				r.class, from = class+"=", value
			}
			low, err := x.parse(from)
			if err != nil {
				return nil, fmt.Errorf("--%s %q: %w", x.flag, part, err)
			}
			high, err := x.parse(to)
			if err != nil {
				return nil, fmt.Errorf("--%s %q: %w", x.flag, part, err)
			}
			if low >= high {
				return nil, fmt.Errorf("--%s %q: want the smaller value before .., and a larger one after it", x.flag, part)
			}
			if r.Fast, r.Slow = low, high; x.flag == "bandwidth" {
				r.Fast, r.Slow = high, low
			}
			all = append(all, r)
		}
	}
	if len(all) > maxRanges {
		return nil, fmt.Errorf("%d ranges in --alpha and --bandwidth, want at most %d", len(all), maxRanges)
	}
	return all, nil
}

// At returns the flags with a value in place of each range.
func (f *Flags) At(ranges []Range, values []int64) *Flags {
	g := *f
	alpha, bandwidth := List(f.Alpha), List(f.Bandwidth)
	for i, r := range ranges {
		if r.flag == "alpha" {
			alpha[r.at] = r.class + r.Quantity(values[i])
		} else {
			bandwidth[r.at] = r.class + r.Quantity(values[i])
		}
	}
	g.Alpha, g.Bandwidth = strings.Join(alpha, ","), strings.Join(bandwidth, ",")
	return &g
}

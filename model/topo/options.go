package topo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// Defaults for the links of a generator.
const (
	DefaultAlpha     = 500 * model.Nanosecond
	DefaultBandwidth = 50 << 30 // bytes per second
)

// Options set the links of a generator. Each list is empty (the default), has one
// value for all links, or one for each dimension or tier.
type Options struct {
	Alpha     []model.Time // latency
	Bandwidth []int64      // bytes per second
}

// Wire is what the links of a dimension or tier are.
type Wire struct {
	Alpha     model.Time // latency
	Bandwidth int64      // bytes per second and direction
}

// wires returns what the links of n dimensions or tiers are; parts is their name
// in the plural, for errors.
func (o Options) wires(n int, parts string) ([]Wire, error) {
	if err := oneOrEach(len(o.Alpha), n, "latencies", parts); err != nil {
		return nil, err
	}
	if err := oneOrEach(len(o.Bandwidth), n, "bandwidths", parts); err != nil {
		return nil, err
	}
	wires := make([]Wire, n)
	for i := range wires {
		wires[i] = Wire{pick(o.Alpha, i, DefaultAlpha), pick(o.Bandwidth, i, DefaultBandwidth)}
	}
	return wires, nil
}

func oneOrEach(got, n int, values, parts string) error {
	switch {
	case got <= 1 || got == n:
		return nil
	case n == 1:
		return fmt.Errorf("%d %s for one kind of link, want 1", got, values)
	}
	return fmt.Errorf("%d %s for %d %s, want 1 or %d", got, values, n, parts, n)
}

func pick[T any](list []T, i int, otherwise T) T {
	switch len(list) {
	case 0:
		return otherwise
	case 1:
		return list[0]
	}
	return list[i]
}

// sizes reads least to most numbers such as "4x4x2", each of at least lowest.
func sizes(arg, syntax string, least, most, lowest int) ([]int, error) {
	if arg == "" {
		return nil, fmt.Errorf("has no size, want %s", syntax)
	}
	parts := strings.Split(arg, "x")
	if len(parts) < least || len(parts) > most {
		if len(parts) == 1 {
			return nil, fmt.Errorf("has 1 size, want %s", syntax)
		}
		return nil, fmt.Errorf("has %d sizes, want %s", len(parts), syntax)
	}
	list := make([]int, len(parts))
	for i, part := range parts {
		name := "size"
		if most > 1 {
			name = fmt.Sprintf("dimension %d", i+1)
		}
		n, err := strconv.Atoi(part)
		switch {
		case err != nil && (part == "" || strings.Trim(part, "0123456789") != ""):
			return nil, fmt.Errorf("%s is %q, want a whole number", name, part)
		case err != nil || n > model.MaxNodes:
			return nil, fmt.Errorf("%s is %s, want at most %d", name, part, model.MaxNodes)
		case n < lowest:
			return nil, fmt.Errorf("%s is %d, want at least %d", name, n, lowest)
		}
		list[i] = n
	}
	return list, nil
}

// maxDims limits the dimensions of a mesh; with at least two ranks in each there
// cannot be more.
const maxDims = 20

// sized is the build function of a family with one size and one kind of link.
func sized(syntax string, lowest int, build func(int, Wire) (*model.Topology, error)) func(string, Options) (*model.Topology, error) {
	return func(arg string, o Options) (*model.Topology, error) {
		n, err := sizes(arg, syntax, 1, 1, lowest)
		if err != nil {
			return nil, err
		}
		w, err := o.wires(1, "")
		if err != nil {
			return nil, err
		}
		return build(n[0], w[0])
	}
}

// machine is the build function of a family whose links are what they are, of 1
// to most chassis.
func machine(most int, build func(chassis int) (*model.Topology, error)) func(string, Options) (*model.Topology, error) {
	return func(arg string, o Options) (*model.Topology, error) {
		if err := o.none(); err != nil {
			return nil, err
		}
		if arg == "" {
			return build(1)
		}
		if most == 1 {
			return nil, fmt.Errorf("is one machine, want no size after its name")
		}
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("%q chassis, want 1 to %d", arg, most)
		}
		return build(n)
	}
}

// none explains why options that are set cannot be.
func (o Options) none() error {
	if len(o.Alpha) > 0 {
		return fmt.Errorf("is a machine with latencies of its own, which cannot be set; a generator's can, such as ring:8, or a file's")
	}
	if len(o.Bandwidth) > 0 {
		return fmt.Errorf("is a machine with bandwidths of its own, which cannot be set; a generator's can, such as ring:8, or a file's")
	}
	return nil
}

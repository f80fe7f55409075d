package instance

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
)

// byClass reports whether the value of a flag names classes of links: nvlink=350ns,nic=1.3us.
func byClass(value string) bool { return strings.Contains(value, "=") }

// setClasses returns t with the links of classes changed as a flag says: set gets each value and the
// links that it is for. Values without a class, where that is allowed, are for all links.
func setClasses(t *model.Topology, flag, value string, set func(value string, l *model.Link) error) (*model.Topology, error) {
	u := *t
	u.Links = slices.Clone(t.Links)
	u.Notes = slices.Clone(t.Notes)
	of := make([]string, len(t.Links))
	var known []string
	for i, l := range t.Links {
		if of[i] = machines.Class(t, l); !slices.Contains(known, of[i]) {
			known = append(known, of[i])
		}
	}
	slices.Sort(known)
	given := map[string]bool{}
	for _, part := range List(value) {
		class, text, named := strings.Cut(part, "=")
		if class == "xgmi" {
			class = "nvlink"
		}
		switch {
		case !named && (flag != "scale" || len(List(value)) > 1):
			return nil, fmt.Errorf("--%s %q: %q names no class, want each value as CLASS=VALUE, with %s", flag, value, part, strings.Join(known, ", "))
		case !named:
			class, text = "", part
		case !slices.Contains(known, class):
			return nil, fmt.Errorf("--%s %q: %s has no links of the class %s, want %s", flag, value, t.Name, model.Quote(class), strings.Join(known, ", "))
		case given[class]:
			return nil, fmt.Errorf("--%s %q: %s is named twice, want it once", flag, value, class)
		}
		given[class] = true
		for i := range u.Links {
			if class == "" || of[i] == class {
				if err := set(text, &u.Links[i]); err != nil {
					return nil, fmt.Errorf("--%s %q: %w", flag, part, err)
				}
			}
		}
	}
	what := "sets links of these classes"
	if flag == "scale" {
		what = "multiplies bandwidths"
	}
	u.Notes.Add(model.Fact, "--%s %s %s", flag, value, what)
	return &u, u.Validate()
}

// withAlpha and withBandwidth set the latency and the bandwidth of each link of some classes.
func withAlpha(t *model.Topology, value string) (*model.Topology, error) {
	return setClasses(t, "alpha", value, func(text string, l *model.Link) (err error) {
		l.Alpha, err = model.ParseTime(text)
		return err
	})
}

func withBandwidth(t *model.Topology, value string) (*model.Topology, error) {
	return setClasses(t, "bandwidth", value, func(text string, l *model.Link) (err error) {
		l.Bandwidth, err = model.ParseRate(text)
		return err
	})
}

// ByClass divides the values of --alpha and --bandwidth: a topology is first made with those that it
// returns, and then changed by what it returns last, which sets the links of the classes that are
// named, as in nvlink=350ns,nic=1.3us.
func ByClass(alpha, bandwidth string) (string, string, func(*model.Topology) (*model.Topology, error)) {
	classes := []struct {
		value string
		set   func(*model.Topology, string) (*model.Topology, error)
	}{{alpha, withAlpha}, {bandwidth, withBandwidth}}
	if byClass(alpha) {
		alpha = ""
	}
	if byClass(bandwidth) {
		bandwidth = ""
	}
	return alpha, bandwidth, func(t *model.Topology) (_ *model.Topology, err error) {
		for _, c := range classes {
			if byClass(c.value) && err == nil {
				t, err = c.set(t, c.value)
			}
		}
		return t, err
	}
}

// Scaled returns t with the bandwidths of all links, or of those of some classes, multiplied by a
// measured efficiency, such as 0.9 or nvlink=0.9,nic=0.85, and rounded down.
func Scaled(t *model.Topology, value string) (*model.Topology, error) {
	if value == "" {
		return t, nil
	}
	return setClasses(t, "scale", value, func(text string, l *model.Link) error {
		f, ok := new(big.Rat).SetString(text)
		if !ok || len(text) > 20 || strings.ContainsAny(text, "eExXpP/_") || f.Sign() <= 0 || f.Cmp(big.NewRat(10, 1)) > 0 {
			return fmt.Errorf("want a number above 0 and at most 10, such as 0.9")
		}
		f.Mul(f, new(big.Rat).SetInt64(l.Bandwidth))
		b := new(big.Int).Quo(f.Num(), f.Denom())
		if !b.IsInt64() || b.Sign() < 1 {
			return fmt.Errorf("makes %v bytes per second of %d, want 1 or more", b, l.Bandwidth)
		}
		l.Bandwidth = b.Int64()
		return nil
	})
}

// Forwarding returns t with switches that neither add nor copy, if that is asked for. It is an error
// if they do not do that as it is.
func Forwarding(t *model.Topology, asked bool) (*model.Topology, error) {
	if !asked {
		return t, nil
	}
	u, some := *t, false
	u.Switches = slices.Clone(t.Switches)
	for i, s := range u.Switches {
		some = some || s.Copies || s.Reduces != model.NoReducing
		u.Switches[i] = model.Switch{Name: s.Name}
	}
	if !some {
		return nil, fmt.Errorf("--no-in-network: no switch of %s adds or multicasts", model.Quote(t.Name))
	}
	return &u, nil
}

package topo

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
)

var switchFamily = Family{"switch", "switch:N[:copies]", "N ranks at one switch, which may copy; --alpha is the latency from rank to rank", byDefault,
	func(arg string, o Options) (*model.Topology, error) {
		arg, option, hasOption := strings.Cut(arg, ":")
		if hasOption && option != "copies" {
			return nil, fmt.Errorf("option %q, want switch:N or switch:N:copies", option)
		}
		return sized("switch:N[:copies]", 2, func(n int, w Wire) (*model.Topology, error) {
			return Switch(n, w, hasOption)
		})(arg, o)
	}}

// Switch builds n ranks at one switch. The latency from rank to rank is w.Alpha:
// half of it on the way in, the rest on the way out. copies reports whether the switch
// can send what enters it to several ranks at once.
func Switch(n int, w Wire, copies bool) (*model.Topology, error) {
	b, err := newBuilder(int64(n), 2*int64(n))
	if err != nil {
		return nil, err
	}
	b.Switches[b.star("switch", 0, n, w)-n].Copies = copies
	if copies {
		return b.done("switch:%d:copies", n)
	}
	return b.done("switch:%d", n)
}

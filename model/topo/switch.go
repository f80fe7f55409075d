package topo

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
)

var switchFamily = Family{"switch", "switch:N[:copies|read|turn]", "N ranks at one switch, which may copy; or copy and add, so that ranks read sums, or that it turns them round; --alpha is the latency from rank to rank", byDefault,
	func(arg string, o Options) (*model.Topology, error) {
		arg, option, hasOption := strings.Cut(arg, ":")
		how, err := model.ParseReducing(option)
		if hasOption && option != "copies" && err != nil {
			return nil, fmt.Errorf("option %s, want switch:N, switch:N:copies, switch:N:read or switch:N:turn", model.Quote(option))
		}
		return sized("switch:N[:copies|read|turn]", 2, func(n int, w Wire) (*model.Topology, error) {
			t, err := Switch(n, w, hasOption)
			if err == nil && how != model.NoReducing {
				t.Switches[0].Reduces = how
				err = t.Validate()
			}
			return t, err
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

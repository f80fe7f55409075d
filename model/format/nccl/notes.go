package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// assumed counts what the file does not state, by what was taken in its place.
type assumed struct {
	pci, nvlink, xgmi, cpu int
}

// omitted collects what the file states and the topology does not have.
type omitted struct {
	nics     []string // of the machine: its ways to others
	targets  []string // of links to GPUs that are not in the file
	below    int      // PCI devices below GPUs
	elements []string // that are not known here
}

// known are the elements that a file may have, each below those of the list.
var known = map[string][]string{
	"cpu": {"system"}, "pci": {"cpu", "pci"}, "gpu": {"pci"}, "nic": {"cpu", "pci"}, "net": {"nic"},
	"nvlink": {"gpu"}, "xgmi": {"gpu"}, "c2c": {"gpu"}, "pcilink": {"pci"},
}

// survey finds what is left out of the elements below e.
func (b *builder) survey(e *element) {
	for _, c := range e.children {
		switch parents, ok := known[c.name]; {
		case !ok || !slices.Contains(parents, e.name):
			name := fmt.Sprintf("%.40q in %.40q", c.name, e.name)
			if !slices.Contains(b.out.elements, name) {
				b.out.elements = append(b.out.elements, name)
			}
		case c.name == "net":
			b.out.nics = append(b.out.nics, fmt.Sprintf("%.40q", c.attr["name"]))
		case c.name == "pci" && slices.ContainsFunc(e.children, func(x *element) bool { return x.name == "gpu" }):
			b.out.below++
		}
		b.survey(c)
	}
}

// notes writes down what the file has and the topology has not, and the reverse.
func (b *builder) notes(root *element, given bool) {
	b.survey(root)
	n := &b.t.Notes
	if !given {
		n.Add(model.Assumed, "%v between GPUs, half of it to or from a switch: the file has no latencies; --alpha sets it", b.alpha)
	}
	if c := len(b.out.nics); c > 0 && !b.joined {
		n.Add(model.LeftOut, "%s (%s): the topology is of one machine", model.Count(c, "NIC"), model.Few(b.out.nics))
	}
	if c := len(b.out.targets); c > 0 {
		n.Add(model.LeftOut, "links to %s not in the file (%s)", model.Count(c, "device"), model.Few(b.out.targets))
	}
	if b.out.below > 0 {
		n.Add(model.LeftOut, "%s below GPUs", model.Count(b.out.below, "PCI device"))
	}
	var bare []string
	for _, s := range b.nodes {
		if !s.useful {
			bare = append(bare, fmt.Sprintf("%.40q", s.name))
		}
	}
	if len(bare) > 0 {
		n.Add(model.LeftOut, "%s with no GPU below: %s", model.Count(len(bare), "CPU or PCI device"), model.Few(bare))
	}
	if len(b.out.elements) > 0 {
		n.Add(model.LeftOut, "elements that are not known here: %s", model.Few(b.out.elements))
	}
	if b.order != "rank" {
		n.Add(model.Assumed, "ranks in the order of %s: not every GPU has a rank of its own in the file", map[string]string{"dev": "their devices", "": "the file"}[b.order])
	}
	if b.switches > 1 {
		n.Add(model.Assumed, "one switch for the %d NVSwitches of the file: what a GPU has towards them is shared between its peers", b.switches)
	}
	for _, x := range []struct {
		count       int
		thing, what string
	}{
		{b.guess.pci, "PCI device", "8 GT/s, or 16 lanes, or both: the file does not state them for %s"},
		{b.guess.nvlink, "NVLink", "as much bandwidth as NCCL takes for %s of an unknown compute capability"},
		{b.guess.xgmi, "xGMI link", "24 GB/s, as RCCL takes for %s of an unknown architecture"},
		{b.guess.cpu, "CPU", "6 GB/s, as NCCL takes from %s of an unknown model to others"},
	} {
		if x.count > 0 {
			n.Add(model.Assumed, x.what, model.Count(x.count, x.thing))
		}
	}
	if len(b.gpus) > 1 {
		n.Add(model.Fact, "bandwidths of %s are those that NCCL takes, not measured ones", b.taken())
	}
}

// taken names the kinds of links of the topology whose bandwidths are not in the file.
func (b *builder) taken() string {
	kinds := []string{"PCIe"}
	for _, g := range b.gpus {
		for _, e := range g.e.children {
			if name := map[string]string{"nvlink": "NVLink", "xgmi": "xGMI"}[e.name]; name != "" && !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
		}
	}
	return strings.Join(kinds, ", ") + " and links between CPUs"
}

// states reports whether a PCI device has its speed and its width in the file.
func states(e *element) bool {
	speed, _, _ := strings.Cut(strings.TrimSpace(e.attr["link_speed"]), " ")
	v, err := strconv.ParseFloat(speed, 64)
	width := e.attr["link_width"]
	return err == nil && slices.Contains([]float64{2.5, 5, 8, 16, 32, 64}, v) && width != "" && width != "0"
}

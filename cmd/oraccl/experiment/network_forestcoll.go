package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// forestcollNetwork builds a network of topologies.py: a100:N, N boxes of 8 GPUs at an
// NVSwitch of 300 GB/s with a NIC of 25 GB/s a GPU, those of even and of odd GPUs at a
// switch each; mi250:N, N boxes of 16 dies with links of 50 GB/s, and 16 GB/s a die to one
// switch.
func forestcollNetwork(name string) (*model.Topology, error) {
	family, count, _ := strings.Cut(name, ":")
	boxes, err := strconv.Atoi(count)
	if err != nil || boxes < 1 || boxes > 16 {
		return nil, fmt.Errorf("network %q: want a100:N or mi250:N", name)
	}
	switch family {
	case "a100":
		return forestcollA100(name, boxes)
	case "mi250":
		return forestcollMI250(name, boxes)
	}
	return nil, fmt.Errorf("network %q: want a100:N or mi250:N", name)
}

const gigabyte = 1_000_000_000

// wiring is a topology that is being built, of links without latencies.
type wiring struct{ model.Topology }

func (w *wiring) node(name string) int {
	w.Switches = append(w.Switches, model.Switch{Name: name})
	return w.Ranks + len(w.Switches) - 1
}

func (w *wiring) duplex(u, v int, bandwidth int64) {
	w.Links = append(w.Links, model.Link{Src: u, Dst: v, Bandwidth: bandwidth}, model.Link{Src: v, Dst: u, Bandwidth: bandwidth})
}

func forestcollA100(name string, boxes int) (*model.Topology, error) {
	w := &wiring{model.Topology{Name: "forestcoll " + name, Ranks: 8 * boxes}}
	var rails [2]int
	if boxes > 1 {
		rails = [2]int{w.node("ib0"), w.node("ib1")}
	}
	for a := range boxes {
		s := w.node(fmt.Sprintf("nvswitch%d", a))
		for g := range 8 {
			w.duplex(8*a+g, s, 300*gigabyte)
			if boxes > 1 {
				nic := w.node(fmt.Sprintf("nic%d-%d", a, g))
				w.duplex(8*a+g, nic, 25*gigabyte)
				w.duplex(nic, rails[g%2], 25*gigabyte)
			}
		}
	}
	return &w.Topology, w.Validate()
}

// forestcollDies says how many links there are between two dies of a box.
var forestcollDies = [][3]int{
	{0, 1, 4}, {0, 4, 2}, {0, 8, 1}, {1, 5, 1}, {1, 9, 1}, {1, 10, 1}, {2, 3, 4}, {2, 6, 1}, {2, 9, 1}, {2, 10, 1},
	{3, 7, 2}, {3, 11, 1}, {4, 5, 4}, {4, 6, 1}, {5, 6, 1}, {5, 7, 1}, {6, 7, 4}, {8, 9, 4}, {8, 12, 2}, {9, 13, 1},
	{10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4},
}

func forestcollMI250(name string, boxes int) (*model.Topology, error) {
	w := &wiring{model.Topology{Name: "forestcoll " + name, Ranks: 16 * boxes}}
	for a := range boxes {
		for _, l := range forestcollDies {
			w.duplex(16*a+l[0], 16*a+l[1], int64(l[2])*50*gigabyte)
		}
	}
	if boxes > 1 {
		s := w.node("ib")
		for g := range w.Ranks {
			w.duplex(g, s, 16*gigabyte)
		}
	}
	return &w.Topology, w.Validate()
}

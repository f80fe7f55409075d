package solvetest

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Machine returns a machine of some ranks and planes: switches to each of which each rank has a link of 50 GB/s. From rank to rank it takes 700 ns.
func Machine(ranks, planes int) *model.Topology {
	t := &model.Topology{Ranks: ranks}
	for p := range planes {
		t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprint(p)})
		for r := range ranks {
			t.Links = append(t.Links, model.Link{Src: r, Dst: ranks + p, Alpha: 300_000, Bandwidth: 50e9}, model.Link{Src: ranks + p, Dst: r, Alpha: 400_000, Bandwidth: 50e9})
		}
	}
	return t
}

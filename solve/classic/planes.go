//go:build !js

package classic

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// worthParts is the part of the time that a rank needs to send all by which that is longer if blocks are not cut, where they are.
const worthParts = 500

// planeParts is how many parts of blocks each rank sends equally many of on each plane of a machine, if there are several: 18 for 71 blocks on the 18 planes
// of 72 ranks. It is one where a plane that carries a block more than others costs little.
func planeParts(p *model.Problem) int {
	if passesOn(p) || p.Collective.Kind == model.Custom {
		return 1
	}
	x := network.PlanesOf(p)
	if x == nil || len(x.Up) == 1 {
		return 1
	}
	blocks, planes := len(p.Members())-1, len(x.Up)
	link := &p.Topology.Links[x.Up[0][0]]
	block := model.TransferTime(p.Space()/int64(p.DefaultChunks(1)), link.Bandwidth)
	least, most := model.Time(blocks)*block/model.Time(planes), model.Time((blocks+planes-1)/planes)*block
	if parts := planes / divisor(planes, blocks); most-least > (2*link.Alpha+least)/worthParts && p.Space() >= int64(p.DefaultChunks(parts)) {
		return parts
	}
	return 1
}

// divisor returns the greatest number by which both can be divided.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

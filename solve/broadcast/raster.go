package broadcast

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
)

// raster is slots of a length and how large chunks are: they take a number of slots on the fastest links.
type raster struct {
	ejection.Raster
	span model.Time
}

// bytes returns how large a chunk is that takes a span.
func (r raster) bytes(t *model.Topology) int64 {
	fastest, most := fastestOf(t), r.Unit*r.span/r.Slots
	size := max(1, int64(float64(most)/1e12*float64(fastest)))
	for size > 1 && model.TransferTime(size, fastest) > most {
		size--
	}
	return size
}

// cut returns p with chunks that are as large as a span allows.
func (r raster) cut(p *model.Problem) *model.Problem {
	q := *p
	q.Chunks = solve.OfSize(p.Space(), r.bytes(p.Topology))
	return &q
}

const (
	// mostCoarse is into how many chunks the buffer is cut at first at most: where there are more, latencies hardly count.
	mostCoarse = 128
	// maxEjected is for how many members there are ejections.
	maxEjected = 256
	// perLatency is how many slots the shortest latency between ranks has at first, and fewestSlots how many the buffer.
	perLatency, fewestSlots = 32, 16
)

// ejectable reports whether there may be ejections: there are several switches, and few ranks.
func ejectable(p *model.Problem) bool {
	return len(p.Topology.Switches) >= 2 && len(p.Members()) <= maxEjected && p.Cost == model.Pipelined
}

// coarsest returns the raster of the coarsest grid, without slots if ejections are not worth while: there must be several
// switches, few ranks, and latencies that count.
func coarsest(p *model.Problem) (r raster) {
	if !ejectable(p) {
		return r
	}
	unit, fastest, least := ejection.UnitOf(p.Topology), fastestOf(p.Topology), model.MaxTime
	for _, route := range routes(p.Topology, 1) {
		latency := model.Time(0)
		for _, l := range route {
			latency += p.Topology.Links[l].Alpha
		}
		least = min(least, latency)
	}
	r.span = spanOf(p.Topology)
	most := min(least/perLatency, model.TransferTime(p.Space(), fastest)/fewestSlots) / r.span
	if unit == 0 || most <= 0 {
		return r
	}
	r.Unit = unit
	if r.Slots = (unit + most - 1) / most; p.Space()/r.bytes(p.Topology) > mostCoarse {
		return raster{}
	}
	return r
}

// spanOf returns how many slots a chunk takes on the fastest links: slower links waste a part of their last slot.
func spanOf(t *model.Topology) (best model.Time) {
	fastest, waste := fastestOf(t), 0.0
	for span := range model.Time(mostSpan) {
		most := 1.0
		for _, l := range t.Links {
			slots := float64(span+1) * float64(fastest) / float64(l.Bandwidth)
			most = max(most, math.Ceil(slots*(1-alike))/slots)
		}
		if best == 0 || most < waste*(1-alike) {
			best, waste = span+1, most
		}
	}
	return best
}

// fastestOf returns the largest bandwidth of a link.
func fastestOf(t *model.Topology) int64 {
	return slices.MaxFunc(t.Links, func(a, b model.Link) int { return cmp.Compare(a.Bandwidth, b.Bandwidth) }).Bandwidth
}

// mostSpan is how many slots a chunk takes on the fastest links at most.
const mostSpan = 4

// paced returns a raster with about as many chunks as a number, without slots if there is none.
func paced(p *model.Problem, chunks int64) raster {
	unit := ejection.UnitOf(p.Topology)
	r := raster{span: spanOf(p.Topology)}
	slot := model.TransferTime(p.Space(), fastestOf(p.Topology)) / model.Time(chunks) / r.span
	if unit > 0 && slot > 0 {
		r.Unit, r.Slots = unit, max(1, unit/slot)
	}
	return r
}

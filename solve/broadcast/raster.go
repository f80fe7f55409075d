package broadcast

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
)

// raster is slots of a length: some of them together last a unit, which divides all latencies.
type raster struct {
	unit  model.Time
	slots model.Time // in a unit
	span  model.Time // slots that a chunk takes on the fastest links
}

// time returns when a slot begins.
func (r raster) time(slot int32) model.Time {
	return (model.Time(slot)*r.unit + r.slots - 1) / r.slots
}

// up returns how many slots a time takes.
func (r raster) up(t model.Time) int32 { return int32((t*r.slots + r.unit - 1) / r.unit) }

// counts reports whether there are few enough slots until a time that they can be counted.
func (r raster) counts(t model.Time) bool {
	product := float64(t) * float64(r.slots)
	return product < 1<<60 && product/float64(r.unit) < never/2
}

// slot returns the slot in which a time is.
func (r raster) slot(t model.Time) int32 { return int32(t * r.slots / r.unit) }

// bytes returns how large a chunk is that takes a span.
func (r raster) bytes(t *model.Topology) int64 {
	fastest, most := fastestOf(t), r.unit*r.span/r.slots
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
	unit, fastest, least := unitOf(p.Topology), fastestOf(p.Topology), model.MaxTime
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
	r.unit = unit
	if r.slots = (unit + most - 1) / most; p.Space()/r.bytes(p.Topology) > mostCoarse {
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

// unitOf returns the longest time that divides all latencies, or 0 if there is none or it is longer than mostUnit.
func unitOf(t *model.Topology) model.Time {
	all := int64(0)
	for _, l := range t.Links {
		all = arborescence.GCD(all, int64(l.Alpha))
	}
	if all > mostUnit {
		return 0
	}
	return model.Time(all)
}

// mostUnit is the longest unit, in picoseconds: with mostSlots of them times stay within 64 bits.
const mostUnit = 1 << 36

// fastestOf returns the largest bandwidth of a link.
func fastestOf(t *model.Topology) int64 {
	return slices.MaxFunc(t.Links, func(a, b model.Link) int { return cmp.Compare(a.Bandwidth, b.Bandwidth) }).Bandwidth
}

// mostSpan is how many slots a chunk takes on the fastest links at most.
const mostSpan = 4

// paced returns a raster with about as many chunks as a number, without slots if there is none.
func paced(p *model.Problem, chunks int64) raster {
	unit := unitOf(p.Topology)
	r := raster{span: spanOf(p.Topology)}
	slot := model.TransferTime(p.Space(), fastestOf(p.Topology)) / model.Time(chunks) / r.span
	if unit > 0 && slot > 0 {
		r.unit, r.slots = unit, max(1, unit/slot)
	}
	return r
}

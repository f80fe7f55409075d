package ejection

import "github.com/oraccl/oraccl/model"

// Raster divides a unit of time, which divides all latencies, into slots.
type Raster struct {
	Unit  model.Time
	Slots model.Time // in a unit
}

// Time returns when a slot begins.
func (r Raster) Time(slot int32) model.Time { return (model.Time(slot)*r.Unit + r.Slots - 1) / r.Slots }

// Up returns how many slots a time takes.
func (r Raster) Up(t model.Time) int32 { return int32((t*r.Slots + r.Unit - 1) / r.Unit) }

// Slot returns the slot in which a time is.
func (r Raster) Slot(t model.Time) int32 { return int32(t * r.Slots / r.Unit) }

// Counts reports whether there are few enough slots until a time that they can be counted.
func (r Raster) Counts(t model.Time) bool {
	product := float64(t) * float64(r.Slots)
	return product < 1<<60 && product/float64(r.Unit) < Nowhere/2
}

// Way returns how a hop of some bytes over a route takes its links, whose numbers are those of machines: each for as long as the slowest does.
func (r Raster) Way(t *model.Topology, route []int, bytes int64) (w Way) {
	before, beta := model.Time(0), model.Time(0)
	for _, k := range route {
		beta = max(beta, model.TransferTime(bytes, t.Links[k].Bandwidth))
	}
	width := max(1, r.Up(beta))
	for _, k := range route {
		w.Stays = append(w.Stays, Stay{Machine: int32(k), Off: r.Up(before), Width: width})
		before += t.Links[k].Alpha
	}
	w.Lasts = r.Up(before) + width
	return w
}

// UnitOf returns the longest time that divides all latencies of a network, or 0 if there is none or it is longer than mostUnit.
func UnitOf(t *model.Topology) model.Time {
	all := model.Time(0)
	for _, l := range t.Links {
		for rest := l.Alpha; rest != 0; { // Euclid's algorithm
			all, rest = rest, all%rest
		}
	}
	if all > mostUnit {
		return 0
	}
	return all
}

// mostUnit is the longest unit, in picoseconds: with 2^24 slots times stay within 64 bits.
const mostUnit = 1 << 36

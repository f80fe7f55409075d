package exact

import (
	"fmt"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/hop"
)

const (
	mostParts = 8     // of the quickest hop, into which the finest grid divides it
	mostGrids = 3     // tried one after the other
	exactly   = 0.001 // by how much a grid may round up and count as exact
)

// grids returns the epoch lengths to try, the coarsest first: the time of the quickest hop,
// and those fractions of it that round the times of all hops up less than any before, until
// one divides them. In rounds there is one.
func grids(p *model.Problem, hops []hop.Hop) []model.Time {
	if p.Cost.Synchronous() {
		return []model.Time{0}
	}
	times := durations(p, hops)
	quickest, slowest := model.MaxTime, model.Time(0)
	for _, t := range times {
		quickest, slowest = min(quickest, t.delay), max(slowest, t.delay)
	}
	first := quickest
	if slowest-quickest <= quickest/1000 {
		first = slowest // all hops take one epoch
	}
	list := []model.Time{first}
	for parts, least := model.Time(2), roundedUp(times, first); parts <= mostParts && least > exactly && len(list) < mostGrids; parts++ {
		epoch := (quickest + parts - 1) / parts
		if up := roundedUp(times, epoch); up < 0.8*least {
			list, least = append(list, epoch), up
		}
	}
	return list
}

// duration is how long a transfer occupies links, and how long it takes to arrive.
type duration struct{ busy, delay model.Time }

// durations returns those of the largest and the smallest chunk over each hop.
func durations(p *model.Problem, hops []hop.Hop) []duration {
	small, large := p.Chunks[0].Size, p.Chunks[0].Size
	for _, c := range p.Chunks {
		small, large = min(small, c.Size), max(large, c.Size)
	}
	seen := map[duration]bool{}
	var times []duration
	for _, h := range hops {
		for _, size := range []int64{small, large} {
			d := duration{delay: p.Topology.Duration(h.Routes[0], size)}
			for _, s := range p.Topology.Busy(p.Cost, h.Routes[0], size, nil) {
				d.busy = max(d.busy, s.To-s.From)
			}
			if !seen[d] {
				seen[d] = true
				times = append(times, d)
			}
		}
	}
	return times
}

// roundedUp returns the largest part of itself by which a time grows when it is rounded up
// to whole epochs.
func roundedUp(times []duration, epoch model.Time) float64 {
	most := 0.0
	for _, t := range times {
		for _, d := range []model.Time{t.busy, t.delay} {
			if d > 0 {
				most = max(most, float64((d+epoch-1)/epoch*epoch-d)/float64(d))
			}
		}
	}
	return most
}

// leastOf returns what nothing ends before if no schedule on the grid ends within a number of
// epochs, 0 where that is not known. A schedule that is stretched by what the grid rounds
// up, and whose starts are then rounded up, is one on the grid; so if there is none within
// the epochs, none ends before that time, shrunk as much. That needs each link to be
// entered equally long after the start by all hops over it, for the grid knows no offsets, and that
// nothing can wait in a switch.
func (r *run) leastOf(p *model.Problem, hops []hop.Hop, epoch model.Time, epochs int) model.Time {
	if r.w.reading() || epochs < 1 || p.Late() || p.Cost.Synchronous() {
		return 0
	}
	offset := map[int]model.Time{}
	for _, h := range hops {
		for _, route := range h.Routes {
			at := model.Time(0)
			for _, l := range route {
				if before, known := offset[l]; known && before != at {
					return 0
				}
				offset[l] = at
				at = at.Add(p.Topology.Links[l].Alpha)
			}
		}
	}
	return model.Time(float64(epoch.Mul(int64(epochs))) / (1 + roundedUp(durations(p, hops), epoch)))
}

// error states what the grid may cost, given the least number of epochs with a schedule.
func (r *run) error(p *model.Problem, hops []hop.Hop, epoch model.Time, horizon int) string {
	if p.Cost.Synchronous() {
		return ""
	}
	up := roundedUp(durations(p, hops), epoch)
	var text string
	switch {
	case up == 0:
		text = "; no time is rounded"
	case up < 1:
		text = fmt.Sprintf("; times are rounded up by at most %.2g %%", 100*up)
	default: // the number of epochs tells little of the time then
		return fmt.Sprintf("; some times are rounded up to %.0f times as much", math.Ceil(1+up))
	}
	if least := r.leastOf(p, hops, epoch, horizon-1); least > 0 && r.p.Collective.Kind != model.AllReduce {
		text = fmt.Sprintf("%s, so that according to the solver nothing ends before %v", text, least)
	}
	return text
}

package network

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
)

// Distances are the times that the largest chunk needs from each rank to each
// destination of a pattern, if it meets no other.
type Distances struct {
	Ranks int
	Class int32        // of the largest chunk
	Row   []int32      // by rank: its row in To, or -1 if it is no destination
	To    []model.Time // by row and rank
}

// From returns the distance from a rank to a destination, MaxTime if there is no path.
func (d *Distances) From(r, to int32) model.Time {
	return d.To[int(d.Row[to])*d.Ranks+int(r)]
}

// Leads reports whether a hop leads towards a destination, on a path which is at most
// half as long again as the shortest.
func (d *Distances) Leads(n *Network, x *Hop, to int32) bool {
	before, after := d.From(x.Src, to), d.From(x.Dst, to)
	return after < before && 2*(n.Lasts(x, d.Class)+after) <= 3*before
}

// Ways returns for each rank and row how many hops lead from the rank towards the
// destination. It takes O(destinations·hops).
func Ways(n *Network, d *Distances) []int32 {
	count := make([]int32, len(d.To))
	for to, row := range d.Row {
		if row < 0 {
			continue
		}
		for i := range n.Hops {
			if x := &n.Hops[i]; int(x.Dst) == to || d.Leads(n, x, int32(to)) {
				count[int(row)*d.Ranks+int(x.Src)]++
			}
		}
	}
	return count
}

// NewDistances returns the distances to all destinations of a pattern. It takes O(destinations·hops·log ranks) time,
// and returns nil if stop ends it.
func NewDistances(n *Network, pt *Pattern, stop func() bool) *Distances {
	ranks := n.Problem.Topology.Ranks
	d := &Distances{Ranks: ranks, Row: make([]int32, ranks)}
	for r := range d.Row {
		d.Row[r] = -1
	}
	d.Class = n.Largest()
	for k := range pt.From {
		for _, r := range pt.Goals(k, ranks) {
			if d.Row[r] < 0 {
				if stop() {
					return nil
				}
				d.Row[r] = int32(len(d.To) / ranks)
				d.To = n.DistancesTo(d.To, r, d.Class)
			}
		}
	}
	return d
}

// DistancesTo appends the distances of all ranks to one (Dijkstra's algorithm).
func (n *Network) DistancesTo(to []model.Time, r, class int32) []model.Time {
	base := len(to)
	for range n.Problem.Topology.Ranks {
		to = append(to, model.MaxTime)
	}
	dist := to[base:]
	dist[r] = 0
	queue := events.Queue{{ID: r}}
	for len(queue) > 0 {
		q := queue.Take()
		if q.At > dist[q.ID] {
			continue
		}
		for l := n.Into[q.ID]; l < n.Into[q.ID+1]; l++ {
			x := &n.Hops[l]
			if at := q.At.Add(n.Lasts(x, class)); at < dist[x.Src] {
				dist[x.Src] = at
				queue.Add(events.Event{At: at, ID: x.Src})
			}
		}
	}
	return to
}

// Unreachable returns an error that names a destination which no holder of a chunk
// reaches, or nil.
func (d *Distances) Unreachable(n *Network, pt *Pattern) error {
	for k, holders := range pt.From {
		for _, to := range pt.Goals(k, d.Ranks) {
			nearest := model.MaxTime
			for _, r := range holders {
				nearest = min(nearest, d.From(r, to))
			}
			if nearest == model.MaxTime {
				from := holders[0]
				if n.Mirrored {
					from, to = to, from
				}
				return fmt.Errorf("rank %d cannot reach rank %d on %s", from, to, n.Problem.Topology.Name)
			}
		}
	}
	return nil
}

package tacos

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// distances are the times that the largest chunk needs from each rank to each
// destination of a pattern, if it meets no other.
type distances struct {
	ranks int
	class int32   // of the largest chunk
	row   []int32 // by rank: its row in to, or -1 if it is no destination
	to    []model.Time
}

// from returns the distance from a rank to a destination, MaxTime if there is no way.
func (d *distances) from(r, to int32) model.Time {
	return d.to[int(d.row[to])*d.ranks+int(r)]
}

// leads says whether a lane leads towards a destination, on a way which is at most
// half as long again as the shortest.
func (d *distances) leads(n *network, x *lane, to int32) bool {
	before, after := d.from(x.src, to), d.from(x.dst, to)
	return after < before && 2*(n.lasts(x, d.class)+after) <= 3*before
}

// exits returns for each rank and row how many lanes lead from the rank towards the
// destination. It takes O(destinations·lanes).
func exits(n *network, d *distances) []int32 {
	count := make([]int32, len(d.to))
	for to, row := range d.row {
		if row < 0 {
			continue
		}
		for i := range n.lanes {
			if x := &n.lanes[i]; int(x.dst) == to || d.leads(n, x, int32(to)) {
				count[int(row)*d.ranks+int(x.src)]++
			}
		}
	}
	return count
}

// newDistances takes O(destinations·lanes·log ranks) time.
func newDistances(n *network, pt *pattern) *distances {
	ranks := n.p.Topology.Ranks
	d := &distances{ranks: ranks, row: make([]int32, ranks)}
	for r := range d.row {
		d.row[r] = -1
	}
	for c := range n.sizes {
		if n.sizes[c] > n.sizes[d.class] {
			d.class = int32(c)
		}
	}
	for k := range pt.from {
		for _, r := range pt.goals(k, ranks) {
			if d.row[r] < 0 {
				d.row[r] = int32(len(d.to) / ranks)
				d.to = n.distancesTo(d.to, r, d.class)
			}
		}
	}
	return d
}

// distancesTo appends the distances of all ranks to one (Dijkstra's algorithm).
func (n *network) distancesTo(to []model.Time, r, class int32) []model.Time {
	base := len(to)
	for range n.p.Topology.Ranks {
		to = append(to, model.MaxTime)
	}
	dist := to[base:]
	dist[r] = 0
	queue := alarms{{rank: r}}
	for len(queue) > 0 {
		q := queue.take()
		if q.at > dist[q.rank] {
			continue
		}
		for l := n.into[q.rank]; l < n.into[q.rank+1]; l++ {
			x := &n.lanes[l]
			if at := q.at.Add(n.lasts(x, class)); at < dist[x.src] {
				dist[x.src] = at
				queue.add(alarm{at: at, rank: x.src})
			}
		}
	}
	return to
}

// unreachable returns an error that names a destination which no holder of a chunk
// reaches, or nil.
func (d *distances) unreachable(n *network, pt *pattern) error {
	for k, holders := range pt.from {
		for _, to := range pt.goals(k, d.ranks) {
			nearest := model.MaxTime
			for _, r := range holders {
				nearest = min(nearest, d.from(r, to))
			}
			if nearest == model.MaxTime {
				from := holders[0]
				if n.mirrored {
					from, to = to, from
				}
				return fmt.Errorf("rank %d cannot reach rank %d on %s", from, to, n.p.Topology.Name)
			}
		}
	}
	return nil
}

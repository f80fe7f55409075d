package dual

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// hop is what an arc takes of a chunk of a size.
type passage struct {
	soonest  model.Time // when its ranks have arrived
	duration model.Time
	busy     []model.Interval // of its bundles, from its start
}

// task is a demand of a group, with exact times.
type task struct {
	group, index int
	source       []bool       // by rank: has at the start what is demanded
	dest         int          // rank
	early        []model.Time // by rank: when what is demanded can be there; MaxTime: never
	late         []model.Time // by rank: the time from there to dest; MaxTime: never
}

// measure computes hops and tasks.
func (n *network) measure() {
	n.hops = map[int64][]passage{}
	for i := range n.groups {
		g := &n.groups[i]
		if _, known := n.hops[g.size]; !known {
			hops := make([]passage, len(n.arcs))
			for j := range n.arcs {
				a := &n.arcs[j]
				hops[j] = passage{max(n.p.ReleaseOf(a.Src), n.p.ReleaseOf(a.Dst)),
					n.p.Topology.Duration(a.route, g.size), n.p.Topology.Busy(n.p.Cost, a.route, g.size, nil)}
			}
			n.hops[g.size] = hops
		}
		for j, d := range g.demands {
			n.tasks = append(n.tasks, n.task(i, j, g.holders[d.Source], d.Dest))
			n.reach = max(n.reach, n.tasks[len(n.tasks)-1].early[d.Dest])
		}
	}
	n.offsets()
}

func (n *network) task(group, index int, holders []int, dest int) task {
	ranks := n.p.Topology.Ranks
	t := task{group, index, make([]bool, ranks), dest, slices.Repeat([]model.Time{model.MaxTime}, ranks), slices.Repeat([]model.Time{model.MaxTime}, ranks)}
	for _, r := range holders {
		t.source[r], t.early[r] = true, n.p.ReleaseOf(r)
	}
	t.late[dest] = 0
	hops := n.hops[n.groups[group].size]
	for again := true; again; {
		again = false
		for i, a := range n.arcs {
			h := &hops[i]
			if t.early[a.Src] < model.MaxTime {
				if at := max(t.early[a.Src], h.soonest).Add(h.duration); at < t.early[a.Dst] {
					t.early[a.Dst], again = at, true
				}
			}
			if t.late[a.Dst] < model.MaxTime {
				if at := t.late[a.Dst].Add(h.duration); at < t.late[a.Src] {
					t.late[a.Src], again = at, true
				}
			}
		}
	}
	return t
}

// offsets are the least times after which transfers occupy a bundle; bundles that share a
// resource are looked at at the same instants.
func (n *network) offsets() {
	n.offset = slices.Repeat([]model.Time{model.MaxTime}, len(n.bundles))
	for i := range n.arcs {
		a := &n.arcs[i]
		for k, b := range n.p.Topology.Busy(n.p.Cost, a.route, 1, nil) {
			n.offset[a.Bundles[k]] = min(n.offset[a.Bundles[k]], b.From)
		}
	}
	for again := true; again; {
		again = false
		for _, r := range n.resources {
			least := model.MaxTime
			for _, b := range r.bundles {
				least = min(least, n.offset[b])
			}
			for _, b := range r.bundles {
				if n.offset[b] > least {
					n.offset[b], again = least, true
				}
			}
		}
	}
}

// maxSums limits how many times are kept; beyond it they are thinned out.
const maxSums = 1 << 12

// sums returns the times up to a limit that are sums of what hops last and of how long
// they occupy links: when something can happen in a schedule without idle time. If
// there are too many, of those that are close together one is kept.
func (n *network) sums(limit model.Time) []model.Time {
	var steps []model.Time
	for _, hops := range n.hops {
		for i := range hops {
			steps = append(steps, hops[i].duration)
			for _, b := range hops[i].busy {
				steps = append(steps, b.To-b.From)
			}
		}
	}
	starts := []model.Time{0}
	for r := range n.p.Topology.Ranks {
		starts = append(starts, n.p.ReleaseOf(r))
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for gap := model.Time(1); ; gap *= 2 {
		if all, ok := sums(starts, steps, limit, gap); ok {
			return all
		}
	}
}

// sums adds steps to starts again and again, and keeps times that are at least gap apart.
// ok is false if there are too many.
func sums(starts, steps []model.Time, limit, gap model.Time) (all []model.Time, ok bool) {
	seen := map[model.Time]bool{}
	var queue []model.Time
	add := func(t model.Time) {
		if t <= limit && !seen[t/gap] {
			seen[t/gap] = true
			queue = append(queue, t)
		}
	}
	for _, s := range starts {
		add(s)
	}
	for i := 0; i < len(queue); i++ {
		for _, s := range steps {
			add(queue[i] + s)
		}
		if len(queue) > maxSums {
			return nil, false
		}
	}
	slices.Sort(queue)
	return queue, true
}

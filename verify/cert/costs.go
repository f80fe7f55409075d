package cert

import (
	"container/heap"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// hop is an arc as a chunk of a size takes it: for how long, and when it occupies which
// bundle, counted from its start.
type hop struct {
	dst      int
	earliest model.Time // no earlier than its ranks' arrivals
	duration model.Time
	bundles  []int
	busy     []model.Interval
}

// hopsFor returns the hops of a chunk of a size, by the rank that they leave.
func (m *market) hopsFor(size int64) [][]hop {
	if h, known := m.hops[size]; known {
		return h
	}
	all := make([][]hop, m.t.Ranks)
	for r, out := range m.net.out {
		for _, a := range out {
			m.work.Go(len(a.route))
			m.kept += len(a.route)
			all[r] = append(all[r], hop{
				dst: a.dst, earliest: max(m.p.ReleaseOf(r), m.p.ReleaseOf(a.dst)),
				duration: m.t.Duration(a.route, size), bundles: a.bundles,
				busy: m.t.Busy(m.p.Cost, a.route, size, nil),
			})
		}
	}
	if m.kept > maxHops {
		clear(m.hops)
		m.kept = 0
	}
	m.hops[size] = all
	return all
}

// stair says that from a time on, and until the next one, something costs so much.
type stair struct {
	at   model.Time
	cost int64
}

// label says that a chain can have come to a rank at a time for a cost.
type label struct {
	stair
	rank int
}

type labels []label

func (q labels) Len() int { return len(q) }
func (q labels) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].cost < q[j].cost
}
func (q labels) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *labels) Push(x any)   { *q = append(*q, x.(label)) }
func (q *labels) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// cheapest returns C(T) of (instants) for one demand: the costs, falling, from each time
// on at which a chain can end that costs no more; none if no chain leads there.
//
// Lemma (starts). Among the chains that end by T and pay least there is one in which
// each transfer starts as soon as it can, or 1 ps after an instant up to which it would
// have occupied something that has a price.
//
// Proof. Take a cheapest chain with the least sum of starts. If a transfer of it could
// start 1 ps earlier, doing so makes the chain dearer, by the choice; the later transfers
// may stay as they are. What it occupies then and did not before is one instant for each
// bundle, 1 ps before what it occupies now, and one of these has a price. ∎
//
// Labels are taken in order of time. One that costs no less than one before it at its
// rank is of no use: whatever continues it continues the other one. A hop that occupies
// a bundle from x on starts at θ-x+1 to begin just after θ.
func (m *market) cheapest(shares map[int]*priced, holders []int, dest int, size int64) ([]stair, error) {
	hops := m.hopsFor(size)
	m.work.Go(m.t.Ranks / 8)
	best := slices.Repeat([]int64{math.MaxInt64}, m.t.Ranks) // by rank, up to the time now
	var queue labels
	for _, r := range holders {
		queue = append(queue, label{stair{m.p.ReleaseOf(r), 0}, r})
	}
	heap.Init(&queue)
	var stairs []stair
	for len(queue) > 0 && best[dest] > 0 && m.work.Go(1) {
		at := heap.Pop(&queue).(label)
		if at.cost >= best[at.rank] {
			continue
		}
		best[at.rank] = at.cost
		if at.rank == dest {
			stairs = append(stairs, at.stair)
			continue
		}
		for i := range hops[at.rank] {
			h := &hops[at.rank][i]
			if at.cost >= best[h.dst] {
				continue
			}
			soonest := max(at.at, h.earliest)
			paid := m.pays(h, shares, soonest)
			heap.Push(&queue, label{stair{soonest.Add(h.duration), at.cost + paid}, h.dst})
			if paid == 0 {
				continue
			}
			for n, b := range h.bundles {
				p := shares[b]
				if p == nil {
					continue
				}
				first, _ := slices.BinarySearch(p.at, soonest.Add(h.busy[n].From))
				for _, instant := range p.at[first:] {
					if !m.work.Go(1) {
						break
					}
					start := instant - h.busy[n].From + 1
					if cost := at.cost + m.pays(h, shares, start); cost < best[h.dst] && cost < at.cost+paid {
						heap.Push(&queue, label{stair{start.Add(h.duration), cost}, h.dst})
					}
				}
			}
			if m.left < 0 {
				return nil, stopped(fmt.Sprintf("more than %d looks at prices in search of the cheapest ways, too many", int64(maxSteps)))
			}
			if len(queue) > maxLabels {
				return nil, stopped(fmt.Sprintf("more than %d ways at a time in search of the cheapest ones, too many", maxLabels))
			}
		}
	}
	return stairs, nil
}

// pays returns what a hop that starts at a time pays.
func (m *market) pays(h *hop, shares map[int]*priced, start model.Time) int64 {
	sum := int64(0)
	for n, b := range h.bundles {
		m.left--
		if p := shares[b]; p != nil {
			sum += p.between(start.Add(h.busy[n].From), start.Add(h.busy[n].To))
		}
	}
	return sum
}
